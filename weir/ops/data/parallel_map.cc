#include "weir/ops/data/parallel_map.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "absl/time/clock.h"
#include "weir/ops/data/map_result.h"
#include "weir/ops/data/threads.h"

namespace weir {
namespace {

class ParallelMapDataset : public Dataset {
 public:
  ParallelMapDataset(ElementSpec spec, DatasetPtr input, ElementFunctionFactory factory, ParallelMapOptions options)
      : Dataset(std::move(spec), {std::move(input)}), factory_(std::move(factory)), options_(options) {}
  int64_t Cardinality() const override { return options_.preserve_cardinality ? input().Cardinality() : kUnknown; }
  bool MayWait() const override { return true; }
  bool RunsAhead() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    auto iterator = std::make_unique<Iterator>(ctx, Self<ParallelMapDataset>());
    WEIR_RETURN_IF_ERROR(iterator->Open());
    return IteratorPtr(std::move(iterator));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    Iterator(IteratorContext& ctx, std::shared_ptr<const ParallelMapDataset> dataset)
        : dataset_(std::move(dataset)), threads_(ctx, &mu_) {
      const int64_t calls = ParallelCalls(ctx, dataset_->options_.num_parallel_calls);
      max_threads_ = std::min(calls, kMaxWorkerThreads);
      // Some room between the threads and the consumer where the number is left to us.
      capacity_ = dataset_->options_.num_parallel_calls > 0 ? calls : 4 * calls;
    }
    ~Iterator() override { threads_.Stop(); }
    Status Open() {
      WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(threads_.context()));
      WEIR_ASSIGN_OR_RETURN(function_, dataset_->factory_(threads_.context()));
      return OkStatus();
    }

    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (true) {
        std::unique_ptr<Call> call;
        {
          absl::MutexLock lock(&mu_);
          if (threads_.count() == 0 && !threads_.stopped() && !ended_ && !StartThread()) {
            return ResourceExhausted("No thread can be started for a parallel map");
          }
          mu_.Await(absl::Condition(this, &Iterator::HasNext));
          call = TakeFinished();
          if (call == nullptr) {
            if (!calls_.empty() || !ended_) return threads_.reason();
            *end = true;
            return OkStatus();
          }
        }
        if (call->result.status.ok() && !call->keep) continue;
        *out = std::move(call->result.element);
        return EndOfMap(std::move(call->result.status), dataset_->options_.preserve_cardinality, end);
      }
    }
    bool Ready() override {
      absl::MutexLock lock(&mu_);
      return !calls_.empty() && calls_.front()->done && calls_.front()->keep;
    }

    Status Save(IteratorContext& ctx, StateWriter state) override {
      bool ended = false;
      {
        absl::MutexLock lock(&mu_);
        paused_ = true;
        mu_.Await(absl::Condition(this, &Iterator::IsIdle));
        state.PutInt("index", index_);
        state.PutInt("count", static_cast<int64_t>(calls_.size()));
        for (size_t i = 0; i < calls_.size(); ++i) {
          state.PutElement(Cat("element", i), calls_[i]->result.element);
          state.PutStatus(Cat("status", i), calls_[i]->result.status);
          state.PutInt(Cat("keep", i), calls_[i]->keep);
        }
        ended = ended_;
        state.PutInt("ended", ended);
      }
      // Without the lock: a cancellation must get through while the input waits for its own threads.
      Status status = ended ? OkStatus() : input_->Save(threads_.context(), state.Child("input"));
      absl::MutexLock lock(&mu_);
      paused_ = false;
      return status;
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      absl::MutexLock lock(&mu_);
      WEIR_ASSIGN_OR_RETURN(index_, state.GetInt("index"));
      WEIR_ASSIGN_OR_RETURN(int64_t ended, state.GetInt("ended"));
      ended_ = ended != 0;
      WEIR_ASSIGN_OR_RETURN(int64_t count, state.GetCount("count", std::numeric_limits<int64_t>::max()));
      for (int64_t i = 0; i < count; ++i) {
        auto call = std::make_unique<Call>();
        call->done = true;
        WEIR_ASSIGN_OR_RETURN(call->result.element, state.GetElement(Cat("element", i)));
        WEIR_ASSIGN_OR_RETURN(call->result.status, state.GetStatus(Cat("status", i)));
        WEIR_ASSIGN_OR_RETURN(int64_t keep, state.GetInt(Cat("keep", i)));
        call->keep = keep != 0;
        calls_.push_back(std::move(call));
      }
      return ended_ ? OkStatus() : input_->Restore(threads_.context(), state.Child("input"));
    }

   private:
    // One element on its way.
    struct Call {
      AheadResult result;
      bool keep = true;
      bool done = false;
    };

    std::unique_ptr<Call> TakeFinished() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      auto found = calls_.begin();
      if (!dataset_->options_.deterministic) {
        found = std::find_if(calls_.begin(), calls_.end(), [](const auto& call) { return call->done; });
      }
      if (found == calls_.end() || !(*found)->done) return nullptr;
      std::unique_ptr<Call> call = std::move(*found);
      calls_.erase(found);
      return call;
    }
    bool HasNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      if (threads_.stopped() || (calls_.empty() && ended_)) return true;
      if (dataset_->options_.deterministic) return !calls_.empty() && calls_.front()->done;
      return std::any_of(calls_.begin(), calls_.end(), [](const auto& call) { return call->done; });
    }
    bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return !pulling_ && std::all_of(calls_.begin(), calls_.end(), [](const auto& call) { return call->done; });
    }
    bool MayPull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return threads_.stopped() || ended_ || (!pulling_ && !paused_ && static_cast<int64_t>(calls_.size()) < Room());
    }
    // Elements that may be on their way: more if they are quick, which large ones are not, and the number is left to
    // us.
    int64_t Room() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      const bool is_ours = dataset_->options_.num_parallel_calls <= 0;
      return is_quick_ && is_ours ? capacity_ + 2 * max_threads_ * static_cast<int64_t>(kTogether) : capacity_;
    }
    bool StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return threads_.Start([this] { Loop(); });
    }

    // Elements whose calls take less than this are handed on together: waking another thread takes as long.
    static constexpr int64_t kQuickNs = 20'000;
    static constexpr size_t kTogether = 8;

    struct Pulled {
      Status status;
      Element element;
      Call* call = nullptr;
      Element out;
      bool keep = true;
    };

    void Loop() {
      while (true) {
        size_t together = 1;
        {
          absl::MutexLock lock(&mu_);
          ++idle_;
          mu_.Await(absl::Condition(this, &Iterator::MayPull));
          --idle_;
          if (threads_.stopped() || ended_) return;
          pulling_ = true;
          if (is_quick_) together = std::min(kTogether, static_cast<size_t>(Room()) - calls_.size());
        }
        std::vector<Pulled> pulled;
        const bool end = Pull(together, pulled);
        int64_t index = 0;
        {
          absl::MutexLock lock(&mu_);
          pulling_ = false;
          ended_ = end;
          index = index_;
          index_ += static_cast<int64_t>(pulled.size());
          for (Pulled& each : pulled) {
            calls_.push_back(std::make_unique<Call>());
            each.call = calls_.back().get();
          }
          if (!end && idle_ == 0 && threads_.count() < max_threads_ && !threads_.stopped()) StartThread();
        }
        const int64_t start = absl::GetCurrentTimeNanos();
        for (Pulled& each : pulled) {
          if (each.status.ok()) {
            each.status = function_(threads_.context(), std::move(each.element), index, &each.out, &each.keep);
          }
          ++index;
        }
        const int64_t spent = absl::GetCurrentTimeNanos() - start;
        absl::MutexLock lock(&mu_);
        is_quick_ = spent < kQuickNs * static_cast<int64_t>(pulled.size());
        for (Pulled& each : pulled) {
          each.call->result.status = std::move(each.status);
          each.call->result.element = std::move(each.out);
          each.call->keep = each.keep;
          each.call->done = true;
        }
      }
    }

    // Up to `count` elements, fewer if they have to be waited for. True at the end of the input.
    bool Pull(size_t count, std::vector<Pulled>& pulled) {
      const int64_t start = absl::GetCurrentTimeNanos();
      while (pulled.size() < count) {
        Pulled next;
        bool end = false;
        next.status = input_->GetNext(threads_.context(), &next.element, &end);
        if (next.status.ok() && end) return true;
        pulled.push_back(std::move(next));
        if (!pulled.back().status.ok()) return false;
        if (count > 1 && absl::GetCurrentTimeNanos() - start > kQuickNs) return false;
      }
      return false;
    }

    const std::shared_ptr<const ParallelMapDataset> dataset_;
    int64_t max_threads_ = 1;
    int64_t capacity_ = 1;
    ElementFunction function_;
    mutable absl::Mutex mu_;
    std::deque<std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);  // in the order of the input
    int64_t index_ ABSL_GUARDED_BY(mu_) = 0;
    int idle_ ABSL_GUARDED_BY(mu_) = 0;
    bool is_quick_ ABSL_GUARDED_BY(mu_) = false;
    bool pulling_ ABSL_GUARDED_BY(mu_) = false;  // a thread is in the input
    bool paused_ ABSL_GUARDED_BY(mu_) = false;
    bool ended_ ABSL_GUARDED_BY(mu_) = false;
    WorkerThreads threads_;
    IteratorPtr input_;  // after the threads' cancellation, which it may refer to
  };
  const ElementFunctionFactory factory_;
  const ParallelMapOptions options_;
};

}  // namespace

DatasetPtr MakeParallelMapDataset(ElementSpec spec, DatasetPtr input, ElementFunctionFactory factory,
                                  ParallelMapOptions options) {
  return std::make_shared<ParallelMapDataset>(std::move(spec), std::move(input), std::move(factory), options);
}

}  // namespace weir
