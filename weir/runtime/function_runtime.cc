#include "weir/runtime/function_runtime.h"

#include "weir/graph/function_fingerprint.h"

namespace weir {
namespace {

// A call that nests deeper than this is a recursion without an end.
constexpr int kMaxCallDepth = 2000;
// Deeper calls start on a fresh stack.
constexpr int kCallsPerStack = 40;

// One call in flight; owned by the completion of its run.
struct Call {
  std::unique_ptr<PlanRun> run;
  std::vector<Tensor> arguments;
  std::unique_ptr<CancellationManager> cancellation;
  PlanRun::Setup setup;
  FunctionRuntime::Done done;
};

}  // namespace

LocalFunctionRuntime::LocalFunctionRuntime(std::shared_ptr<FunctionLibrary> library, const KernelRegistry& kernels,
                                           Device* device, ThreadPool* intra_op, Prepare prepare)
    : library_(std::move(library)),
      kernels_(kernels),
      device_(device),
      intra_op_(intra_op),
      prepare_(std::move(prepare)) {}
LocalFunctionRuntime::~LocalFunctionRuntime() = default;

StatusOr<std::unique_ptr<FunctionRuntime>> LocalFunctionRuntime::Detach() const {
  return std::unique_ptr<FunctionRuntime>(
      std::make_unique<LocalFunctionRuntime>(library_, kernels_, device_, intra_op_, prepare_));
}

StatusOr<uint64_t> LocalFunctionRuntime::Fingerprint(const FunctionAttr& function) const {
  return FunctionFingerprint(function, library_);
}

StatusOr<FunctionRuntime::Handle> LocalFunctionRuntime::Instantiate(const FunctionAttr& function) {
  std::string key = function.name;
  for (const auto& [name, value] : function.attrs) key += Cat(";", name, "=", value.ToString());
  {
    absl::MutexLock lock(&mu_);
    auto found = handles_.find(key);
    if (found != handles_.end()) return found->second;
  }
  // Without the lock: kernels of the body may instantiate further functions.
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Instance> instance, Compile(function));
  absl::MutexLock lock(&mu_);
  auto [found, fresh] = handles_.try_emplace(key, instances_.size());
  if (fresh) instances_.push_back(std::move(instance));
  return found->second;
}

StatusOr<std::unique_ptr<LocalFunctionRuntime::Instance>> LocalFunctionRuntime::Compile(const FunctionAttr& function) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> body, library_->Instantiate(function, library_));
  auto instance = std::make_unique<Instance>();
  instance->types = body->types;
  instance->kernels = std::make_unique<KernelCache>(kernels_, this);
  WEIR_RETURN_IF_ERROR(prepare_(&body->graph, *instance->kernels));
  PlanOptions options;
  options.device = device_;
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const ExecutionPlan> plan,
                        CompilePlan(body->graph, *instance->kernels, options));
  instance->runs = std::make_unique<PlanRunPool>(std::move(plan));
  return instance;
}

LocalFunctionRuntime::Instance* LocalFunctionRuntime::Get(Handle handle) const {
  absl::MutexLock lock(&mu_);
  return handle < instances_.size() ? instances_[handle].get() : nullptr;
}

const ArgTypes& LocalFunctionRuntime::Types(Handle handle) const { return Get(handle)->types; }

void LocalFunctionRuntime::Run(const StepContext& caller, Handle handle, std::vector<Tensor> arguments, Done done) {
  Instance* instance = Get(handle);
  if (instance == nullptr) return done(Internal("Unknown function handle ", handle), {});
  const std::vector<DType>& types = instance->types.inputs;
  if (arguments.size() != types.size()) {
    return done(InvalidArgument("Expects ", types.size(), " arguments, but ", arguments.size(), " were given"), {});
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (arguments[i].dtype() == types[i]) continue;
    return done(InvalidArgument("Expects arg[", i, "] to be ", Name(types[i]), " but ", Name(arguments[i].dtype()),
                                " is provided"),
                {});
  }
  if (caller.call_depth >= kMaxCallDepth) {
    return done(ResourceExhausted("Functions call each other more than ", kMaxCallDepth, " deep"), {});
  }
  auto* call = new Call;
  call->run = instance->runs->Acquire();
  call->arguments = std::move(arguments);
  // An error inside ends what waits inside; whether it ends the caller's step is the caller's business.
  call->cancellation = std::make_unique<CancellationManager>(caller.cancellation);
  call->done = std::move(done);
  call->setup.context = caller;
  call->setup.context.cancellation = call->cancellation.get();
  call->setup.context.functions = this;
  call->setup.context.rendezvous = nullptr;
  ++call->setup.context.call_depth;
  call->setup.args = call->arguments;
  auto start = [call, instance] {
    call->run->Start(call->setup, [call, instance](Status status) {
      std::unique_ptr<Call> owner(call);
      std::vector<Tensor> results = std::move(call->run->rets());
      instance->runs->Release(std::move(call->run));
      owner->cancellation.reset();
      Done finished = std::move(owner->done);
      owner.reset();
      finished(std::move(status), std::move(results));
    });
  };
  if (call->setup.context.call_depth % kCallsPerStack == 0) {
    caller.runner(start);
  } else {
    start();
  }
}

}  // namespace weir
