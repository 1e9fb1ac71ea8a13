// Datasets that a function makes of each element, in turns, several read at once. The order is that of interleave, or
// with `sloppy` that in which elements come.
#include <algorithm>
#include <deque>
#include <optional>

#include "weir/base/processors.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/threads.h"

namespace weir {
namespace {

struct InterleaveOptions {
  int64_t cycle_length = 1;
  int64_t block_length = 1;
  int64_t num_parallel_calls = 1;  // -1: left to us
  int64_t buffer = 1;              // elements of each dataset that are read ahead
  bool deterministic = true;
};

class ParallelInterleaveDataset : public Dataset {
 public:
  ParallelInterleaveDataset(ElementSpec spec, DatasetPtr input, CapturedFunctionPtr function, InterleaveOptions options)
      : Dataset(std::move(spec), {std::move(input)}), function_(std::move(function)), options_(options) {}
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    auto iterator = std::make_unique<Iterator>(ctx, Self<ParallelInterleaveDataset>());
    WEIR_RETURN_IF_ERROR(iterator->Open());
    return IteratorPtr(std::move(iterator));
  }

 private:
  // One dataset of the cycle. While `busy` a thread works on `iterator`, without the lock.
  struct Place {
    bool used = false;
    bool was_used = false;  // and is empty now
    bool busy = false;
    bool ended = false;  // nothing comes after what is in the buffer
    int64_t index = 0;
    Element arguments;
    DatasetPtr dataset;
    IteratorPtr iterator;
    std::deque<AheadResult> buffer;
  };

  class Iterator : public DatasetIterator {
   public:
    Iterator(IteratorContext& ctx, std::shared_ptr<const ParallelInterleaveDataset> dataset)
        : dataset_(std::move(dataset)), options_(dataset_->options_), threads_(ctx, &mu_) {
      max_threads_ =
          std::min({ParallelCalls(ctx, options_.num_parallel_calls), options_.cycle_length, kMaxWorkerThreads});
    }
    ~Iterator() override { threads_.Stop(); }
    Status Open() {
      WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(threads_.context()));
      WEIR_ASSIGN_OR_RETURN(caller_, FunctionCaller::Make(threads_.context(), dataset_->function_));
      return OkStatus();
    }

    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (true) {
        if (threads_.context().cancellation->cancelled()) return threads_.reason();
        FillAhead();
        if (places_.empty() || (input_ == nullptr && used_ == 0)) break;
        if (options_.deterministic && !places_[turn_]->used) {
          // Empty since its last turn: the next of the input takes it over.
          if (!FillPlace(*places_[turn_])) NextPlace();
          continue;
        }
        WEIR_RETURN_IF_ERROR(StartThreads());
        std::optional<AheadResult> result = TakeNext();
        if (result.has_value()) {
          *out = std::move(result->element);
          return std::move(result->status);
        }
      }
      *end = true;
      return OkStatus();
    }

    Status Save(IteratorContext& ctx, StateWriter state) override {
      {
        absl::MutexLock lock(&mu_);
        paused_ = true;
        mu_.Await(absl::Condition(this, &Iterator::IsIdle));
      }
      // No thread touches a place now, and no consumer but the caller.
      Status status = SavePlaces(state);
      absl::MutexLock lock(&mu_);
      paused_ = false;
      return status;
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(turn_, state.GetCount("turn", options_.cycle_length));
      WEIR_ASSIGN_OR_RETURN(in_block_, state.GetCount("in_block", options_.block_length));
      WEIR_ASSIGN_OR_RETURN(index_, state.GetInt("index"));
      WEIR_ASSIGN_OR_RETURN(int64_t places, state.GetCount("places", options_.cycle_length));
      if (turn_ > places) return DataLoss("A saved interleave is damaged");
      for (int64_t i = 0; i < places; ++i) WEIR_RETURN_IF_ERROR(RestorePlace(state.Child(i)));
      if (state.Has("exhausted")) {
        input_ = nullptr;
        return OkStatus();
      }
      return input_->Restore(threads_.context(), state.Child("input"));
    }

   private:
    // Takes the next element of the input into a place. False if there is none; an error takes the place of what the
    // dataset would have given.
    bool FillPlace(Place& place) {
      if (input_ == nullptr) return false;
      Element arguments;
      bool ended = false;
      Status status = input_->GetNext(threads_.context(), &arguments, &ended);
      if (status.ok() && ended) {
        input_ = nullptr;
        return false;
      }
      absl::MutexLock lock(&mu_);
      if (place.was_used) --empty_;
      place = Place();
      place.used = true;
      place.index = index_++;
      place.arguments = std::move(arguments);
      if (!status.ok()) {
        place.ended = true;
        place.buffer.push_back({std::move(status), {}, false});
      }
      ++used_;
      return true;
    }
    // In the first round places come into being shortly before their turn. Without an order to keep, empty places are
    // filled too.
    void FillAhead() {
      const int64_t wanted = std::min(options_.cycle_length, turn_ + 1 + 2 * max_threads_);
      while (input_ != nullptr && static_cast<int64_t>(places_.size()) < wanted) {
        auto place = std::make_unique<Place>();
        if (!FillPlace(*place)) break;
        absl::MutexLock lock(&mu_);
        places_.push_back(std::move(place));
      }
      for (size_t i = 0; !options_.deterministic && empty_ > 0 && input_ != nullptr && i < places_.size(); ++i) {
        if (!places_[i]->used) FillPlace(*places_[i]);
      }
      absl::MutexLock lock(&mu_);
      if (turn_ >= static_cast<int64_t>(places_.size())) turn_ = 0;
    }
    Status StartThreads() {
      absl::MutexLock lock(&mu_);
      while (threads_.count() < max_threads_ && threads_.count() < used_ && !threads_.stopped()) {
        if (threads_.Start([this] { Loop(); })) continue;
        if (threads_.count() == 0) return ResourceExhausted("No thread can be started for a parallel interleave");
        break;
      }
      return OkStatus();
    }
    // The next result of the place whose turn it is, or of any; nothing if that place has ended, or the walk.
    std::optional<AheadResult> TakeNext() {
      Place* place = nullptr;
      {
        absl::MutexLock lock(&mu_);
        mu_.Await(absl::Condition(this, &Iterator::HasNext));
        if (threads_.stopped()) return std::nullopt;
        if (!options_.deterministic) FindAvailable();
        place = places_[turn_].get();
        if (!place->buffer.empty()) {
          AheadResult result = std::move(place->buffer.front());
          place->buffer.pop_front();
          if (++in_block_ == options_.block_length) AdvanceTurn();
          return result;
        }
        *place = Place();
        place->was_used = true;
        --used_;
        ++empty_;
      }
      // Places are filled in the order in which they became empty, after the first round.
      const bool first_round = input_ != nullptr && static_cast<int64_t>(places_.size()) < options_.cycle_length;
      if (!first_round && empty_ == 1) FillPlace(*place);
      NextPlace();
      return std::nullopt;
    }
    void NextPlace() {
      absl::MutexLock lock(&mu_);
      AdvanceTurn();
    }
    void AdvanceTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      in_block_ = 0;
      ++turn_;
      const bool all_there = input_ == nullptr || static_cast<int64_t>(places_.size()) >= options_.cycle_length;
      if (turn_ >= static_cast<int64_t>(places_.size()) && all_there) turn_ = 0;
    }
    static bool Available(const Place& place) { return place.used && (!place.buffer.empty() || place.ended); }
    bool HasNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      if (threads_.stopped()) return true;
      if (options_.deterministic) return Available(*places_[turn_]);
      return std::any_of(places_.begin(), places_.end(), [](const auto& place) { return Available(*place); });
    }
    void FindAvailable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      const int64_t count = static_cast<int64_t>(places_.size());
      while (!Available(*places_[turn_])) {
        turn_ = (turn_ + 1) % count;
        in_block_ = 0;
      }
    }
    bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return std::none_of(places_.begin(), places_.end(), [](const auto& place) { return place->busy; });
    }
    bool NeedsWork(const Place& place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return place.used && !place.busy && !place.ended && static_cast<int64_t>(place.buffer.size()) < options_.buffer;
    }
    // The place that the consumer comes to first among those that need work; null if none does.
    Place* FindWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      const int64_t count = static_cast<int64_t>(places_.size());
      for (int64_t i = 0; i < count; ++i) {
        Place* place = places_[(turn_ + i) % count].get();
        if (NeedsWork(*place)) return place;
      }
      return nullptr;
    }
    bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return threads_.stopped() || (!paused_ && FindWork() != nullptr);
    }

    void Loop() {
      while (true) {
        Place* place = nullptr;
        {
          absl::MutexLock lock(&mu_);
          mu_.Await(absl::Condition(this, &Iterator::HasWork));
          if (threads_.stopped()) return;
          place = FindWork();
          place->busy = true;
        }
        AheadResult result = Work(*place);
        absl::MutexLock lock(&mu_);
        place->busy = false;
        place->ended = result.end;
        if (!result.end || !result.status.ok()) place->buffer.push_back(std::move(result));
      }
    }
    // The next element of a place; its dataset is made first. REQUIRES: the place is busy.
    AheadResult Work(Place& place) {
      AheadResult result;
      if (place.iterator == nullptr) {
        result.status = OpenPlace(place);
        result.end = !result.status.ok();
        if (result.end) return result;
      }
      result.status = place.iterator->GetNext(threads_.context(), &result.element, &result.end);
      return result;
    }
    Status OpenPlace(Place& place) {
      WEIR_ASSIGN_OR_RETURN(place.dataset, caller_->CallForDataset(threads_.context(), place.arguments, place.index));
      WEIR_RETURN_IF_ERROR(CheckTypesMatch(dataset_->spec().types, place.dataset->spec().types));
      WEIR_ASSIGN_OR_RETURN(place.iterator, place.dataset->MakeIterator(threads_.context()));
      return OkStatus();
    }

    Status SavePlaces(StateWriter state) {
      state.PutInt("turn", turn_);
      state.PutInt("in_block", in_block_);
      state.PutInt("index", index_);
      state.PutInt("places", static_cast<int64_t>(places_.size()));
      for (size_t i = 0; i < places_.size(); ++i) {
        const Place& place = *places_[i];
        StateWriter child = state.Child(i);
        child.PutInt("used", place.used);
        if (!place.used) continue;
        child.PutInt("ended", place.ended);
        child.PutInt("index", place.index);
        child.PutElement("arguments", place.arguments);
        child.PutInt("count", static_cast<int64_t>(place.buffer.size()));
        for (size_t k = 0; k < place.buffer.size(); ++k) {
          child.PutElement(Cat("element", k), place.buffer[k].element);
          child.PutStatus(Cat("status", k), place.buffer[k].status);
        }
        if (place.iterator == nullptr || place.ended) continue;
        child.PutInt("open", 1);
        WEIR_RETURN_IF_ERROR(place.iterator->Save(threads_.context(), child.Child("iterator")));
      }
      if (input_ != nullptr) return input_->Save(threads_.context(), state.Child("input"));
      state.PutInt("exhausted", 1);
      return OkStatus();
    }
    Status RestorePlace(const StateReader& state) {
      auto place = std::make_unique<Place>();
      WEIR_ASSIGN_OR_RETURN(int64_t used, state.GetInt("used"));
      if (used != 0) {
        place->used = true;
        WEIR_ASSIGN_OR_RETURN(int64_t ended, state.GetInt("ended"));
        place->ended = ended != 0;
        WEIR_ASSIGN_OR_RETURN(place->index, state.GetInt("index"));
        WEIR_ASSIGN_OR_RETURN(place->arguments, state.GetElement("arguments"));
        WEIR_ASSIGN_OR_RETURN(int64_t count, state.GetCount("count", std::numeric_limits<int64_t>::max()));
        for (int64_t i = 0; i < count; ++i) {
          AheadResult result;
          WEIR_ASSIGN_OR_RETURN(result.element, state.GetElement(Cat("element", i)));
          WEIR_ASSIGN_OR_RETURN(result.status, state.GetStatus(Cat("status", i)));
          place->buffer.push_back(std::move(result));
        }
        if (state.Has("open")) {
          WEIR_RETURN_IF_ERROR(OpenPlace(*place));
          WEIR_RETURN_IF_ERROR(place->iterator->Restore(threads_.context(), state.Child("iterator")));
        }
      }
      absl::MutexLock lock(&mu_);
      place->was_used = !place->used;
      ++(place->used ? used_ : empty_);
      places_.push_back(std::move(place));
      return OkStatus();
    }

    const std::shared_ptr<const ParallelInterleaveDataset> dataset_;
    const InterleaveOptions options_;
    int64_t max_threads_ = 1;
    std::unique_ptr<FunctionCaller> caller_;
    mutable absl::Mutex mu_;
    // Written under the lock, by the consumer alone, which may read them without.
    int64_t used_ = 0;   // places in use
    int64_t empty_ = 0;  // places that were in use and are not now
    int64_t turn_ = 0;
    int64_t in_block_ = 0;
    int64_t index_ = 0;
    bool paused_ ABSL_GUARDED_BY(mu_) = false;
    WorkerThreads threads_;
    std::vector<std::unique_ptr<Place>> places_;  // after the threads' cancellation, which their iterators refer to
    IteratorPtr input_;                           // used by the consumer alone
  };
  const CapturedFunctionPtr function_;
  const InterleaveOptions options_;
};

StatusOr<DatasetPtr> MakeParallelInterleave(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "ParallelInterleave"));
  InterleaveOptions options;
  WEIR_ASSIGN_OR_RETURN(options.cycle_length, node.Scalar<int64_t>("cycle_length"));
  WEIR_ASSIGN_OR_RETURN(options.block_length, node.Scalar<int64_t>("block_length"));
  WEIR_ASSIGN_OR_RETURN(options.deterministic, node.IsDeterministic());
  const bool has_calls = node.HasInput("num_parallel_calls");
  if (has_calls) {
    WEIR_ASSIGN_OR_RETURN(options.num_parallel_calls, node.Scalar<int64_t>("num_parallel_calls"));
    if (options.num_parallel_calls != -1 && options.num_parallel_calls <= 0) {
      return InvalidArgument("`num_parallel_calls` must be > 0");
    }
  }
  if (options.cycle_length == -1) {
    // The order of the elements follows from it: as many datasets at a time as TensorFlow chooses on this machine.
    const int64_t processors = NumUsableProcessors();
    options.cycle_length = has_calls && options.num_parallel_calls > 0
                               ? std::min(options.num_parallel_calls, processors)
                               : (processors + 2) / 3;
  }
  if (options.cycle_length <= 0) return InvalidArgument("`cycle_length` must be > 0");
  if (options.block_length <= 0) return InvalidArgument("`block_length` must be > 0");
  if (!has_calls) options.num_parallel_calls = std::min<int64_t>(options.cycle_length, kMaxWorkerThreads);
  if (options.num_parallel_calls > options.cycle_length) {
    return InvalidArgument(
        "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be either `tf.data.AUTOTUNE` or a value "
        "less than or equal to `cycle_length`. However, `num_parallel_calls` is ",
        options.num_parallel_calls, " and `cycle_length` is ", options.cycle_length);
  }
  int64_t buffer = -1;
  if (node.HasInput("buffer_output_elements")) {
    WEIR_ASSIGN_OR_RETURN(buffer, node.Scalar<int64_t>("buffer_output_elements"));
    WEIR_ASSIGN_OR_RETURN(int64_t prefetch, node.Scalar<int64_t>("prefetch_input_elements"));
    if (buffer < -1 || buffer == 0) return InvalidArgument("`buffer_output_elements` must be > 0");
    if (prefetch < -1) return InvalidArgument("`prefetch_input_elements` must be >= 0");
  }
  // What the consumer takes in one turn, within reason.
  options.buffer = buffer > 0 ? buffer : std::clamp<int64_t>(options.block_length, 4, 1024);
  return std::make_shared<ParallelInterleaveDataset>(std::move(spec), std::move(input), std::move(function), options);
}

}  // namespace

void RegisterParallelInterleaveDatasets(KernelRegistry& registry) {
  RegisterDataset(
      registry,
      {"ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset", "LegacyParallelInterleaveDatasetV2",
       "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3", "ParallelInterleaveDatasetV4"},
      MakeParallelInterleave);
}

}  // namespace weir
