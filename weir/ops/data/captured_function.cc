#include "weir/ops/data/captured_function.h"

#include <atomic>

#include "absl/synchronization/mutex.h"
#include "weir/base/thread_pool.h"

namespace weir {
namespace {

// Steps of functions that belong to no step of a session.
std::atomic<int64_t> next_step_id{int64_t{1} << 48};

// A closure of a function's run goes on in this thread, so that a walk needs no thread of a session's pool. Only deep
// recursion takes the stack of another thread.
void RunHere(ThreadPool& fresh_stacks, std::function<void()> closure) {
  constexpr int kMaxNesting = 16;
  thread_local int nesting = 0;
  if (nesting >= kMaxNesting) return fresh_stacks.Schedule(std::move(closure));
  ++nesting;
  closure();
  --nesting;
}

// The end of a call, usually reached before anyone waits.
class CallEnd {
 public:
  void Finish(Status status, Element results) {
    absl::MutexLock lock(&mu_);
    status_ = std::move(status);
    results_ = std::move(results);
    done_ = true;
  }
  Status Await(Element* results) {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&done_));
    *results = std::move(results_);
    return std::move(status_);
  }

 private:
  absl::Mutex mu_;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  Status status_ ABSL_GUARDED_BY(mu_);
  Element results_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

StatusOr<std::unique_ptr<FunctionCaller>> FunctionCaller::Make(IteratorContext& ctx, CapturedFunctionPtr function) {
  if (ctx.functions == nullptr) return FailedPrecondition("No function library is provided.");
  WEIR_ASSIGN_OR_RETURN(FunctionRuntime::Handle handle, ctx.functions->Instantiate(function->function));
  const ArgTypes* types = &ctx.functions->Types(handle);
  return std::unique_ptr<FunctionCaller>(new FunctionCaller(std::move(function), handle, types));
}

Status FunctionCaller::Call(IteratorContext& ctx, Element arguments, int64_t index, Element* results) const {
  if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
  arguments.insert(arguments.end(), function_->captured.begin(), function_->captured.end());
  ResourceManager step_resources("step");
  StepContext step;
  step.step_id = next_step_id.fetch_add(1, std::memory_order_relaxed);
  step.device = ctx.device;
  step.intra_op = ctx.intra_op;
  // A cancelled op completes inside the callback of its cancellation, which must return before the call can end.
  step.runner = [pool = ctx.intra_op, cancellation = ctx.cancellation](std::function<void()> closure) {
    if (cancellation->cancelled()) {
      pool->Schedule(std::move(closure));
    } else {
      RunHere(*pool, std::move(closure));
    }
  };
  step.cancellation = ctx.cancellation;
  step.functions = ctx.functions.get();
  step.step_resources = &step_resources;
  step.deterministic = ctx.deterministic;
  CallEnd end;
  ctx.functions->Run(step, handle_, std::move(arguments),
                     [&end](Status status, Element out) { end.Finish(std::move(status), std::move(out)); });
  Status status = end.Await(results);
  step_resources.ClearAll();
  return status.ok() ? status : Explain(status, index);
}

Status FunctionCaller::Explain(const Status& status, int64_t index) const {
  const std::string& name = function_->transformation;
  return Annotate(status,
                  Cat("Error in user-defined function passed to ", name.empty() ? function_->function.name : name,
                      " transformation with iterator: Iterator::Root::", function_->iterator, "[", index, "]: "));
}

StatusOr<bool> FunctionCaller::CallPredicate(IteratorContext& ctx, Element arguments, int64_t index,
                                             std::string_view what) const {
  Element results;
  WEIR_RETURN_IF_ERROR(Call(ctx, std::move(arguments), index, &results));
  if (results.size() != 1 || results[0].dtype() != DType::kBool || results[0].num_elements() != 1) {
    return InvalidArgument(what, " `predicate` must return a scalar bool.");
  }
  return results[0].scalar<bool>();
}

StatusOr<DatasetPtr> FunctionCaller::CallForDataset(IteratorContext& ctx, Element arguments, int64_t index) const {
  Element results;
  WEIR_RETURN_IF_ERROR(Call(ctx, std::move(arguments), index, &results));
  if (results.size() != 1 || results[0].dtype() != DType::kVariant || !results[0].shape().IsScalar()) {
    return InvalidArgument("`f` must return a single scalar of dtype DT_VARIANT.");
  }
  return DatasetFromTensor(results[0]);
}

}  // namespace weir
