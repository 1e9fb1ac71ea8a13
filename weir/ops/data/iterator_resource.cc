#include "weir/ops/data/iterator_resource.h"

#include <deque>
#include <list>
#include <optional>
#include <system_error>
#include <thread>

#include "weir/ops/data/prefetch.h"
#include "weir/proto/dataset_options.pb.h"

namespace weir {
namespace {

DatasetOptions OptionsOf(const Dataset& dataset) {
  DatasetOptions options;
  if (!options.ParseFromString(dataset.Options())) options.Clear();  // what is malformed says nothing
  return options;
}

// TensorFlow's rewrites of pipelines, by default or by name.
bool AppliesByDefault(const DatasetOptimizationOptions& asked) {
  return !asked.has_apply_default_optimizations() || asked.apply_default_optimizations();
}
bool FusesMapAndBatch(const DatasetOptimizationOptions& asked) {
  return asked.has_map_and_batch_fusion() ? asked.map_and_batch_fusion() : AppliesByDefault(asked);
}
bool ReadsAhead(const DatasetOptions& options) {
  if (options.autotune_options().has_enabled() && !options.autotune_options().enabled()) return false;
  const DatasetOptimizationOptions& asked = options.optimization_options();
  return asked.has_inject_prefetch() ? asked.inject_prefetch() : AppliesByDefault(asked);
}

// What may wait is read ahead, so that steps and their input overlap.
DatasetPtr ReadAhead(DatasetPtr dataset) {
  if (!dataset->MayWait() || dataset->RunsAhead() || !ReadsAhead(OptionsOf(*dataset))) return dataset;
  return MakePrefetchDataset(std::move(dataset));
}

}  // namespace

StatusOr<WalkSetup> WalkSetup::From(const KernelContext& ctx) {
  WalkSetup setup;
  setup.device = &ctx.device();
  setup.deterministic = ctx.step().deterministic;
  if (ctx.step().functions != nullptr) {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionRuntime> functions, ctx.step().functions->Detach());
    setup.functions = std::move(functions);
  }
  return setup;
}

IteratorContext WalkSetup::MakeContext(CancellationManager* cancellation) const {
  IteratorContext ctx;
  ctx.functions = functions;
  ctx.device = device;
  ctx.intra_op = functions != nullptr ? functions->intra_op() : nullptr;
  ctx.cancellation = cancellation;
  ctx.deterministic = deterministic;
  return ctx;
}

// Shared with its thread, which may be the one to drop the last reference to the walk.
class Walk::State : public std::enable_shared_from_this<Walk::State> {
 public:
  State(DatasetPtr dataset, WalkSetup setup)
      : dataset_(ReadAhead(std::move(dataset))),
        setup_(std::move(setup)),
        runs_anywhere_(!dataset_->MayWait()),
        ctx_(setup_.MakeContext(&cancellation_)) {
    ctx_.fuses_map_and_batch = FusesMapAndBatch(OptionsOf(*dataset_).optimization_options());
  }

  Status Begin(const IteratorState* position) {
    WEIR_ASSIGN_OR_RETURN(iterator_, dataset_->MakeIterator(ctx_));
    if (position == nullptr) return OkStatus();
    StateReader reader(position);
    WEIR_RETURN_IF_ERROR(iterator_->Restore(ctx_, reader.Child("iterator")));
    WEIR_ASSIGN_OR_RETURN(std::vector<Element> elements, reader.GetElements("left_over"));
    absl::MutexLock lock(&mu_);
    for (Element& element : elements) left_over_.push_back(std::move(element));
    return OkStatus();
  }

  void Stop() {
    cancellation_.StartCancel(Cancelled("Iterator was deleted"));
    std::list<Request> unserved;
    std::thread thread;
    {
      absl::MutexLock lock(&mu_);
      stopping_ = true;
      unserved.swap(waiting_);
      thread.swap(thread_);
    }
    for (Request& request : unserved) Finish(request, Cancelled("Iterator was deleted"));
    if (!thread.joinable()) return;
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();  // it ends by itself
    } else {
      thread.join();
    }
  }

  void GetNext(CancellationManager& cancellation, Done done) {
    {
      absl::ReleasableMutexLock lock(&mu_);
      if (waiting_.empty() && !busy_ && !stopping_) {
        if (!left_over_.empty()) {
          Element element = std::move(left_over_.front());
          left_over_.pop_front();
          lock.Release();
          return done(OkStatus(), std::move(element), false);
        }
        if (runs_anywhere_ || iterator_->Ready()) {
          busy_ = true;
          lock.Release();
          Result result = Pull();
          SetIdle();
          return done(std::move(result.status), std::move(result.element), result.end);
        }
      }
    }
    Request request;
    request.cancellation = &cancellation;
    request.next = std::move(done);
    Enqueue(std::move(request));
  }

  void Save(CancellationManager& cancellation, SaveDone done) {
    Request request;
    request.cancellation = &cancellation;
    request.save = std::move(done);
    Enqueue(std::move(request));
  }

  const DatasetPtr& dataset() const { return dataset_; }
  const WalkSetup& setup() const { return setup_; }

 private:
  struct Result {
    Status status;
    Element element;
    bool end = false;
  };
  // One of `next` and `save` is set.
  struct Request {
    int64_t id = 0;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kNoToken;
    Done next;
    SaveDone save;
  };

  static void Finish(Request& request, Status error) {
    request.cancellation->Deregister(request.token);
    Fail(request, std::move(error));
  }
  static void Fail(Request& request, Status error) {
    if (request.save) return request.save(std::move(error));
    request.next(std::move(error), {}, false);
  }

  void Enqueue(Request request) {
    CancellationManager& cancellation = *request.cancellation;
    {
      absl::MutexLock lock(&mu_);
      request.id = next_id_++;
    }
    // Registered before it is in the queue: a cancellation in between is remembered.
    request.token = cancellation.Register([self = shared_from_this(), id = request.id] { self->Cancel(id); });
    if (request.token == CancellationManager::kNoToken) return Fail(request, cancellation.reason());
    bool refused = false;
    {
      absl::MutexLock lock(&mu_);
      refused = stopping_ || cancelled_.erase(request.id) > 0;
      if (!refused) {
        refused = !StartThread();
        if (!refused) waiting_.push_back(std::move(request));
      }
    }
    if (refused) Finish(request, Cancelled("The step was cancelled while it waited for an iterator"));
  }

  bool StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (thread_.joinable()) return true;
    try {
      thread_ = std::thread([self = shared_from_this()] { self->Loop(); });
    } catch (const std::system_error&) {
      return false;  // the system has none
    }
    return true;
  }

  void Cancel(int64_t id) {
    Request request;
    {
      absl::MutexLock lock(&mu_);
      auto found = waiting_.begin();
      while (found != waiting_.end() && found->id != id) ++found;
      if (found == waiting_.end()) {
        if (id != serving_) cancelled_.insert(id);
        return;
      }
      request = std::move(*found);
      waiting_.erase(found);
    }
    Fail(request, request.cancellation->reason());
  }

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || (!busy_ && !waiting_.empty()); }

  void Loop() {
    while (true) {
      bool save = false;
      {
        absl::MutexLock lock(&mu_);
        mu_.Await(absl::Condition(this, &State::HasWork));
        if (stopping_) return;
        busy_ = true;
        save = static_cast<bool>(waiting_.front().save);
      }
      if (save) {
        ServeSave();
      } else {
        ServeNext();
      }
    }
  }

  // The request at the head of the queue, if it still waits for the same.
  std::optional<Request> TakeRequest(bool save) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (waiting_.empty() || static_cast<bool>(waiting_.front().save) != save) return std::nullopt;
    Request request = std::move(waiting_.front());
    waiting_.pop_front();
    serving_ = request.id;
    return request;
  }

  void ServeNext() {
    Result result;
    bool kept = false;
    {
      absl::MutexLock lock(&mu_);
      if (!left_over_.empty()) {
        result.element = std::move(left_over_.front());
        left_over_.pop_front();
        kept = true;
      }
    }
    if (!kept) result = Pull();
    std::optional<Request> request;
    {
      absl::MutexLock lock(&mu_);
      request = TakeRequest(/*save=*/false);
      busy_ = false;
      // An end or an error comes again when it is asked for again.
      if (!request && result.status.ok() && !result.end) left_over_.push_front(std::move(result.element));
    }
    if (!request) return;
    request->cancellation->Deregister(request->token);
    Done done = std::move(request->next);
    request.reset();
    done(std::move(result.status), std::move(result.element), result.end);
  }

  void ServeSave() {
    auto position = std::make_shared<IteratorState>();
    StateWriter writer(position.get());
    {
      absl::MutexLock lock(&mu_);
      writer.PutElements("left_over", {left_over_.begin(), left_over_.end()});
    }
    Status status = iterator_->Save(ctx_, writer.Child("iterator"));
    std::optional<Request> request;
    {
      absl::MutexLock lock(&mu_);
      request = TakeRequest(/*save=*/true);
      busy_ = false;
    }
    if (!request) return;
    request->cancellation->Deregister(request->token);
    if (!status.ok()) return request->save(status);
    request->save(Tensor::Scalar(Variant(std::static_pointer_cast<VariantValue>(std::move(position)))));
  }

  Result Pull() {
    Result result;
    result.status = iterator_->GetNext(ctx_, &result.element, &result.end);
    if (result.status.ok() && !result.end) result.status = CheckElement(dataset_->spec(), result.element);
    return result;
  }

  void SetIdle() {
    absl::MutexLock lock(&mu_);
    busy_ = false;
  }

  const DatasetPtr dataset_;
  const WalkSetup setup_;
  const bool runs_anywhere_;
  CancellationManager cancellation_;
  IteratorContext ctx_;
  IteratorPtr iterator_;  // used by whoever set busy_

  absl::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  int64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t serving_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<Request> waiting_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<int64_t> cancelled_ ABSL_GUARDED_BY(mu_);  // before they were in the queue
  std::deque<Element> left_over_ ABSL_GUARDED_BY(mu_);           // made for a step that was cancelled
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

StatusOr<std::unique_ptr<Walk>> Walk::Start(DatasetPtr dataset, WalkSetup setup, const IteratorState* position) {
  auto state = std::make_shared<State>(std::move(dataset), std::move(setup));
  WEIR_RETURN_IF_ERROR(state->Begin(position));
  return std::unique_ptr<Walk>(new Walk(std::move(state)));
}

Walk::~Walk() { Stop(); }
void Walk::Stop() { state_->Stop(); }
void Walk::GetNext(CancellationManager& cancellation, Done done) { state_->GetNext(cancellation, std::move(done)); }
void Walk::Save(CancellationManager& cancellation, SaveDone done) { state_->Save(cancellation, std::move(done)); }
const DatasetPtr& Walk::dataset() const { return state_->dataset(); }
const WalkSetup& Walk::setup() const { return state_->setup(); }

IteratorResource::~IteratorResource() {
  // Steps that wait hold the walk.
  if (walk_ != nullptr) walk_->Stop();
}

Status IteratorResource::Start(DatasetPtr dataset, WalkSetup setup) {
  WEIR_RETURN_IF_ERROR(CheckTypesMatch(spec_.types, dataset->spec().types));
  WEIR_RETURN_IF_ERROR(CheckShapesCompatible(spec_.shapes, dataset->spec().shapes));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Walk> walk, Walk::Start(std::move(dataset), std::move(setup)));
  absl::MutexLock lock(&mu_);
  walk.swap(walk_);
  return OkStatus();
}

StatusOr<std::shared_ptr<Walk>> IteratorResource::walk(std::string_view what) const {
  absl::MutexLock lock(&mu_);
  if (walk_ != nullptr) return walk_;
  return FailedPrecondition(what,
                            "() failed because the iterator has not been initialized. Ensure that you have run the "
                            "initializer operation for this iterator before getting the next element.");
}

Status IteratorResource::Restore(const IteratorState& position) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Walk> before, walk("Restore"));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Walk> walk, Walk::Start(before->dataset(), before->setup(), &position));
  absl::MutexLock lock(&mu_);
  walk_ = std::move(walk);
  return OkStatus();
}

}  // namespace weir
