#include "weir/runtime/function_runtime.h"

#include "weir/graph/function_fingerprint.h"
#include "weir/runtime/memory_types.h"
#include "weir/runtime/remote.h"

namespace weir {
namespace {

// Calls that nest more deeply are taken for endless recursion.
constexpr int kMaxCallDepth = 2000;
// After so many nested calls, the next one starts on a fresh stack.
constexpr int kCallsPerStack = 40;

// An error that the abort of another part caused is not the reason of a failure.
bool IsConsequence(const Status& status) { return absl::IsCancelled(status) || IsDerived(status); }

}  // namespace

// One call in flight; owns itself.
struct LocalFunctionRuntime::Call {
  Instance* instance;
  std::vector<std::unique_ptr<PlanRun>> runs;
  std::vector<Tensor> arguments;
  std::unique_ptr<CancellationManager> cancellation;
  std::unique_ptr<LocalRendezvous> rendezvous;  // null if there is one plan only
  PlanRun::Setup setup;
  FunctionRuntime::Done done;
  std::atomic<int> remaining{0};
  absl::Mutex mu;
  Status status ABSL_GUARDED_BY(mu);
};

LocalFunctionRuntime::LocalFunctionRuntime(std::shared_ptr<FunctionLibrary> library, const KernelRegistry& kernels,
                                           ThreadPool* intra_op, std::shared_ptr<const GraphCompiler> compiler)
    : library_(std::move(library)), kernels_(kernels), intra_op_(intra_op), compiler_(std::move(compiler)) {}
LocalFunctionRuntime::~LocalFunctionRuntime() = default;

StatusOr<std::unique_ptr<FunctionRuntime>> LocalFunctionRuntime::Detach() const {
  return std::unique_ptr<FunctionRuntime>(
      std::make_unique<LocalFunctionRuntime>(library_, kernels_, intra_op_, compiler_->ForDetachedCalls()));
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
  // Without the lock, because kernels of the body may instantiate further functions.
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Instance> instance, Compile(function, {}));
  absl::MutexLock lock(&mu_);
  auto [found, fresh] = handles_.try_emplace(key, instances_.size());
  if (fresh) instances_.push_back(std::move(instance));
  return found->second;
}

void LocalFunctionRuntime::Forget(std::span<const std::string> names) {
  std::vector<std::unique_ptr<Instance>> dropped;  // destroyed after the lock is released
  absl::MutexLock lock(&mu_);
  for (const std::string& name : names) {
    auto found = handles_.find(name);  // functions with attributes stay: language bindings create none
    if (found == handles_.end()) continue;
    dropped.push_back(std::move(instances_[found->second]));
    handles_.erase(found);
  }
}

StatusOr<std::unique_ptr<LocalFunctionRuntime::Instance>> LocalFunctionRuntime::Compile(const FunctionAttr& function,
                                                                                        const BodyPlaces& places) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> body, library_->Instantiate(function, library_));
  auto instance = std::make_unique<Instance>();
  instance->function = function;
  instance->types = body->types;
  instance->kernels = std::make_unique<KernelCache>(kernels_, this);
  WEIR_ASSIGN_OR_RETURN(std::vector<DeviceGraph> parts,
                        compiler_->CompileBody(std::move(body->graph), *instance->kernels, places));
  for (const DeviceGraph& part : parts) {
    PlanOptions options;
    options.device = part.device;
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const ExecutionPlan> plan,
                          CompilePlan(part.graph, *instance->kernels, options));
    instance->runs.push_back(std::make_unique<PlanRunPool>(std::move(plan)));
  }
  instance->is_local = parts.size() == 1 && parts[0].device->is_host();
  return instance;
}

StatusOr<LocalFunctionRuntime::Instance*> LocalFunctionRuntime::Fit(Instance* instance, const StepContext& caller,
                                                                    std::vector<Tensor>& arguments) {
  if (!compiler_->HasAccelerators()) return instance;
  BodyPlaces places;
  places.results_stay = caller.keeper != nullptr && caller.call_depth == 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Device* home = compiler_->HomeOf(arguments[i]);
    if (home == nullptr) continue;
    if (arguments[i].dtype() != DType::kResource && NativeMemory(arguments[i].dtype()) == MemoryType::kHost) {
      WEIR_ASSIGN_OR_RETURN(arguments[i], CopyToHostNow(*home, arguments[i]));
      continue;
    }
    places.arguments.resize(i + 1);
    places.arguments[i] = home->name();
  }
  if (places == BodyPlaces()) return instance;
  {
    absl::MutexLock lock(&instance->mu);
    if (auto found = instance->placed.find(places); found != instance->placed.end()) return found->second.get();
  }
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Instance> made, Compile(instance->function, places));
  absl::MutexLock lock(&instance->mu);
  return instance->placed.try_emplace(std::move(places), std::move(made)).first->second.get();
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
    return done(ResourceExhausted("Function calls are nested more than ", kMaxCallDepth, " deep"), {});
  }
  StatusOr<Instance*> fit = Fit(instance, caller, arguments);
  if (!fit.ok()) return done(fit.status(), {});
  instance = *fit;
  auto* call = new Call{.instance = instance};
  for (const auto& pool : instance->runs) call->runs.push_back(pool->Acquire());
  call->arguments = std::move(arguments);
  // An error in the body cancels the rest of the body. Whether it also ends the caller's step is up to the caller.
  call->cancellation = std::make_unique<CancellationManager>(caller.cancellation);
  call->done = std::move(done);
  call->setup.context = caller;
  call->setup.context.cancellation = call->cancellation.get();
  call->setup.context.functions = this;
  if (!instance->is_local) call->rendezvous = std::make_unique<LocalRendezvous>();
  call->setup.context.rendezvous = call->rendezvous.get();
  if (++call->setup.context.call_depth > 1) call->setup.context.keeper = nullptr;
  call->setup.args = call->arguments;
  call->remaining.store(static_cast<int>(call->runs.size()), std::memory_order_relaxed);
  if (call->setup.context.call_depth % kCallsPerStack == 0) {
    caller.runner([call] { Start(call); });
  } else {
    Start(call);
  }
}

void LocalFunctionRuntime::Start(Call* call) {
  // All plans but the last start in the pool, because each may keep a thread busy. The last one may end the call.
  const size_t last = call->runs.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    call->setup.context.runner(
        [call, i] { call->runs[i]->Start(call->setup, [call](const Status& status) { OnPlanDone(call, status); }); });
  }
  call->runs[last]->Start(call->setup, [call](const Status& status) { OnPlanDone(call, status); });
}

void LocalFunctionRuntime::OnPlanDone(Call* call, const Status& status) {
  if (!status.ok()) {
    {
      absl::MutexLock lock(&call->mu);
      if (call->status.ok() || (IsConsequence(call->status) && !IsConsequence(status))) call->status = status;
    }
    if (call->rendezvous != nullptr) {
      call->rendezvous->StartAbort(status);
      call->cancellation->StartCancel(status);
    }
  }
  if (call->remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish(call);
}

void LocalFunctionRuntime::Finish(Call* call) {
  std::unique_ptr<Call> owner(call);
  Instance* const instance = call->instance;
  std::vector<Tensor> results;
  for (size_t i = 0; i < call->runs.size(); ++i) {
    std::vector<Tensor>& rets = call->runs[i]->rets();
    if (results.size() < rets.size()) results.resize(rets.size());
    for (size_t k = 0; k < rets.size(); ++k) {
      if (rets[k].has_value()) results[k] = std::move(rets[k]);
    }
    rets.clear();
    instance->runs[i]->Release(std::move(call->runs[i]));
  }
  Status status;
  {
    absl::MutexLock lock(&call->mu);
    status = call->status;
  }
  Done finished = std::move(owner->done);
  owner.reset();
  finished(std::move(status), std::move(results));
}

}  // namespace weir
