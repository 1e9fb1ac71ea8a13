#include "weir/runtime/session.h"

#include "weir/graph/import.h"
#include "weir/runtime/session_impl.h"

namespace weir {
namespace {

// A caller that waits for a step.
class Waiter {
 public:
  void Finish(Status status, std::vector<Tensor> outputs) {
    status_ = std::move(status);
    outputs_ = std::move(outputs);
    if (state_.exchange(kDone, std::memory_order_acq_rel) != kWaiting) return;
    // The waiting thread destroys this object once it sees the flag, so it is set under the lock.
    absl::MutexLock lock(&mu_);
    woken_ = true;
  }
  Status Await(std::vector<Tensor>* outputs) {
    // Most steps end in this thread, before it comes here.
    int idle = kIdle;
    if (!state_.compare_exchange_strong(idle, kWaiting, std::memory_order_acq_rel)) return Take(outputs);
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&woken_));
    }
    return Take(outputs);
  }

 private:
  Status Take(std::vector<Tensor>* outputs) {
    if (status_.ok() && outputs != nullptr) *outputs = std::move(outputs_);
    return std::move(status_);
  }
  enum : int { kIdle, kWaiting, kDone };
  std::atomic<int> state_{kIdle};
  Status status_;
  std::vector<Tensor> outputs_;
  absl::Mutex mu_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
};

// What the caller asked for, from what the step computed.
void Arrange(const std::vector<int>& positions, std::vector<Tensor>* tensors) {
  thread_local std::vector<Tensor> computed;  // keeps its memory
  computed.swap(*tensors);
  tensors->clear();
  for (int position : positions) tensors->push_back(computed[position]);
  computed.clear();
}

// The memory of results that the caller has done with.
std::vector<Tensor> TakeMemory(std::vector<Tensor>* outputs) {
  if (outputs == nullptr) return {};
  outputs->clear();
  return std::move(*outputs);
}

}  // namespace

Session::Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Session::~Session() {
  if (impl_ != nullptr) Close().IgnoreError();
}

StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<Environment> environment, SessionOptions options,
                                                   std::shared_ptr<RemoteTasks> remote) {
  auto impl = std::make_shared<Impl>(std::move(environment), std::move(options), std::move(remote));
  WEIR_RETURN_IF_ERROR(impl->Init());
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Status Session::Extend(const GraphDef& def) { return impl_->Extend(def); }
Status Session::Extend(const Graph& graph) { return impl_->Extend(graph); }
Status Session::Extend(Graph&& graph) { return impl_->Extend(std::move(graph)); }
int64_t Session::graph_version() const { return impl_->graph_version(); }

Status Session::Run(std::span<const Feed> feeds, std::span<const std::string> fetches,
                    std::span<const std::string> targets, std::vector<Tensor>* outputs) {
  return Run(StepOptions(), feeds, fetches, targets, outputs, nullptr);
}

Status Session::Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                    std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report) {
  WEIR_ASSIGN_OR_RETURN(const Impl::Signature* signature, impl_->FindSignature(feeds, fetches, targets));
  Step::Config config = impl_->MakeConfig(options, report);
  std::unique_ptr<Step> step = signature->compiled->Acquire();
  config.feeds = step->TakeFeedMemory();
  WEIR_RETURN_IF_ERROR(impl_->OrderFeeds(*signature, feeds, &config.feeds));
  config.spare = TakeMemory(outputs);
  Waiter waiter;
  impl_->StartStep(
      signature->compiled, std::move(step), std::move(config), /*detach=*/false,
      [&waiter](Status status, std::vector<Tensor> out) { waiter.Finish(std::move(status), std::move(out)); });
  WEIR_RETURN_IF_ERROR(waiter.Await(outputs));
  if (outputs != nullptr && !signature->plain_order) Arrange(signature->fetch_positions, outputs);
  return OkStatus();
}

void Session::RunAsync(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                       std::span<const std::string> targets, StepReport* report, RunDone done) {
  auto signature = impl_->FindSignature(feeds, fetches, targets);
  if (!signature.ok()) return done(signature.status(), {});
  Step::Config config = impl_->MakeConfig(options, report);
  std::unique_ptr<Step> step = (*signature)->compiled->Acquire();
  config.feeds = step->TakeFeedMemory();
  Status ordered = impl_->OrderFeeds(**signature, feeds, &config.feeds);
  if (!ordered.ok()) return done(ordered, {});
  // The signature belongs to the session, which must outlive the step.
  impl_->StartStep(
      (*signature)->compiled, std::move(step), std::move(config), /*detach=*/true,
      [impl = impl_, signature = *signature, done = std::move(done)](Status status, std::vector<Tensor> out) {
        if (status.ok() && !signature->plain_order) Arrange(signature->fetch_positions, &out);
        done(std::move(status), std::move(out));
      });
}

StatusOr<Session::Callable> Session::MakeCallable(const CallableSpec& spec) { return impl_->MakeCallable(spec); }

Status Session::RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                            StepReport* report) {
  WEIR_ASSIGN_OR_RETURN(auto entry, impl_->FindCallable(callable, feeds));
  Step::Config config = impl_->MakeConfig(entry->options, report);
  std::unique_ptr<Step> step = entry->compiled->Acquire();
  config.feeds = step->TakeFeedMemory();
  config.feeds.assign(feeds.begin(), feeds.end());
  config.spare = TakeMemory(outputs);
  Waiter waiter;
  impl_->StartStep(
      entry->compiled, std::move(step), std::move(config), /*detach=*/false,
      [&waiter](Status status, std::vector<Tensor> out) { waiter.Finish(std::move(status), std::move(out)); });
  WEIR_RETURN_IF_ERROR(waiter.Await(outputs));
  if (outputs != nullptr && !entry->plain_order) Arrange(entry->fetch_positions, outputs);
  return OkStatus();
}

void Session::RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                               StepReport* report, RunDone done) {
  auto entry = impl_->FindCallable(callable, feeds);
  if (!entry.ok()) return done(entry.status(), {});
  StepOptions options = (*entry)->options;
  options.cancellation = cancellation;
  Step::Config config = impl_->MakeConfig(options, report);
  std::unique_ptr<Step> step = (*entry)->compiled->Acquire();
  config.feeds = step->TakeFeedMemory();
  config.feeds.assign(feeds.begin(), feeds.end());
  impl_->StartStep((*entry)->compiled, std::move(step), std::move(config), /*detach=*/true,
                   [impl = impl_, entry = *entry, done = std::move(done)](Status status, std::vector<Tensor> out) {
                     if (status.ok() && !entry->plain_order) Arrange(entry->fetch_positions, &out);
                     done(std::move(status), std::move(out));
                   });
}

Status Session::ReleaseCallable(Callable callable) { return impl_->ReleaseCallable(callable); }

StatusOr<std::string> Session::PartialRunSetup(std::span<const std::string> feeds, std::span<const std::string> fetches,
                                               std::span<const std::string> targets) {
  StepSignature signature;
  signature.feeds.assign(feeds.begin(), feeds.end());
  signature.fetches.assign(fetches.begin(), fetches.end());
  signature.targets.assign(targets.begin(), targets.end());
  return impl_->PartialRunSetup(signature);
}

Status Session::PartialRun(const std::string& handle, std::span<const Feed> feeds, std::span<const std::string> fetches,
                           std::vector<Tensor>* outputs) {
  Waiter waiter;
  impl_->PartialRun(handle, StepOptions(), feeds, fetches, [&waiter](Status status, std::vector<Tensor> out) {
    waiter.Finish(std::move(status), std::move(out));
  });
  return waiter.Await(outputs);
}

void Session::PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                              std::span<const std::string> fetches, RunDone done) {
  impl_->PartialRun(handle, options, feeds, fetches, std::move(done));
}

StatusOr<Session::Part> Session::AddPart(const GraphDef& def) { return impl_->AddPart(def); }

void Session::RunPart(Part part, int64_t step_id, std::shared_ptr<Rendezvous> rendezvous, const StepOptions& options,
                      StepReport* report, std::function<void(Status)> done) {
  auto compiled = impl_->FindPart(part);
  if (!compiled.ok()) return done(compiled.status());
  Step::Config config = impl_->MakeConfig(options, report);
  config.context.step_id = step_id;
  config.rendezvous = std::move(rendezvous);
  impl_->StartStep(
      *compiled, (*compiled)->Acquire(), std::move(config), /*detach=*/true,
      [impl = impl_, done = std::move(done)](Status status, const std::vector<Tensor>&) { done(std::move(status)); });
}

Status Session::RemovePart(Part part) { return impl_->RemovePart(part); }

void Session::StartClose(const Status& reason) { impl_->Close(reason); }

Status Session::Close() {
  impl_->Close(Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  impl_->steps().AwaitEmpty();
  return OkStatus();
}

std::vector<DeviceInfo> Session::ListDevices() const {
  std::vector<DeviceInfo> out;
  for (const auto& device : impl_->devices().devices()) out.push_back(device->info());
  return out;
}

int Session::running_steps() const { return impl_->steps().size(); }

void ResetContainers(Environment& environment, std::span<const std::string> containers) {
  for (const auto& device : environment.devices.devices()) {
    if (containers.empty()) device->resources().ClearAll();
    for (const std::string& container : containers) device->resources().ClearContainer(container);
  }
}

const SessionOptions& Session::options() const { return impl_->options(); }

}  // namespace weir
