#include <thread>

#include "weir/base/logging.h"
#include "weir/runtime/local_session_internal.h"
#include "weir/runtime/step_waiter_internal.h"

namespace weir {
namespace {

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

// Gives a step the feeds, which are in its order.
auto CopyOf(std::span<const Tensor> feeds) {
  return [feeds](std::vector<Tensor>* ordered) {
    ordered->assign(feeds.begin(), feeds.end());
    return OkStatus();
  };
}

}  // namespace

LocalSession::~LocalSession() {
  Status closed = Close();
  if (closed.ok()) return;
  WEIR_LOG(ERROR) << "a session is destroyed while its steps run; its memory is freed when they end: "
                  << closed.message();
  // Not by the steps themselves: they run in threads that the session joins.
  std::thread([impl = impl_] { impl->steps().AwaitEmpty(absl::InfiniteDuration()).IgnoreError(); }).detach();
}

StatusOr<std::unique_ptr<Session>> LocalSession::Create(std::shared_ptr<Environment> environment,
                                                        SessionOptions options, std::shared_ptr<RemoteTasks> remote) {
  auto impl = std::make_shared<Impl>(std::move(environment), std::move(options), std::move(remote));
  WEIR_RETURN_IF_ERROR(impl->Init());
  return std::unique_ptr<Session>(new LocalSession(std::move(impl)));
}

Status LocalSession::Extend(const GraphDef& def) { return impl_->Extend(def); }
Status LocalSession::Extend(const Graph& graph) { return impl_->Extend(graph); }
Status LocalSession::Extend(Graph&& graph) { return impl_->Extend(std::move(graph)); }
int64_t LocalSession::graph_version() const { return impl_->graph_version(); }

Status LocalSession::Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                         std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report) {
  WEIR_ASSIGN_OR_RETURN(const Impl::Signature* signature, impl_->FindSignature(feeds, fetches, targets));
  Impl::ReadyStep ready;
  WEIR_RETURN_IF_ERROR(impl_->Prepare(options, report, signature->compiled, &ready, [&](std::vector<Tensor>* ordered) {
    return impl_->OrderFeeds(*signature, feeds, ordered);
  }));
  return Await(std::move(ready), signature->order, outputs);
}

void LocalSession::RunAsync(const StepOptions& options, std::span<const Feed> feeds,
                            std::span<const std::string> fetches, std::span<const std::string> targets,
                            StepReport* report, RunDone done) {
  auto signature = impl_->FindSignature(feeds, fetches, targets);
  if (!signature.ok()) return done(signature.status(), {});
  Impl::ReadyStep ready;
  Status prepared = impl_->Prepare(options, report, (*signature)->compiled, &ready, [&](std::vector<Tensor>* ordered) {
    return impl_->OrderFeeds(**signature, feeds, ordered);
  });
  if (!prepared.ok()) return done(prepared, {});
  // The signature belongs to the session, which the step keeps.
  Detach(std::move(ready), std::shared_ptr<const Impl::FetchOrder>(impl_, &(*signature)->order), std::move(done));
}

Status LocalSession::Await(Impl::ReadyStep ready, const Impl::FetchOrder& order, std::vector<Tensor>* outputs) {
  ready.config.spare = TakeMemory(outputs);
  StepWaiter waiter;
  impl_->StartStep(std::move(ready), /*detach=*/false, waiter.Callback());
  WEIR_RETURN_IF_ERROR(waiter.Await(outputs));
  if (outputs != nullptr && !order.is_plain) Arrange(order.positions, outputs);
  return OkStatus();
}

void LocalSession::Detach(Impl::ReadyStep ready, std::shared_ptr<const Impl::FetchOrder> order, RunDone done) {
  impl_->StartStep(
      std::move(ready), /*detach=*/true,
      [impl = impl_, order = std::move(order), done = std::move(done)](Status status, std::vector<Tensor> out) {
        if (status.ok() && !order->is_plain) Arrange(order->positions, &out);
        done(std::move(status), std::move(out));
      });
}

StatusOr<Session::Callable> LocalSession::MakeCallable(const CallableSpec& spec) { return impl_->MakeCallable(spec); }

Status LocalSession::RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                                 StepReport* report) {
  WEIR_ASSIGN_OR_RETURN(auto entry, impl_->FindCallable(callable, feeds));
  Impl::ReadyStep ready;
  WEIR_RETURN_IF_ERROR(impl_->Prepare(entry->options, report, entry->compiled, &ready, CopyOf(feeds)));
  return Await(std::move(ready), entry->order, outputs);
}

void LocalSession::RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                                    StepReport* report, RunDone done) {
  auto entry = impl_->FindCallable(callable, feeds);
  if (!entry.ok()) return done(entry.status(), {});
  StepOptions options = (*entry)->options;
  options.cancellation = cancellation;
  Impl::ReadyStep ready;
  Status prepared = impl_->Prepare(options, report, (*entry)->compiled, &ready, CopyOf(feeds));
  if (!prepared.ok()) return done(prepared, {});
  Detach(std::move(ready), std::shared_ptr<const Impl::FetchOrder>(*entry, &(*entry)->order), std::move(done));
}

Status LocalSession::ReleaseCallable(Callable callable) { return impl_->ReleaseCallable(callable); }

StatusOr<std::string> LocalSession::PartialRunSetup(std::span<const std::string> feeds,
                                                    std::span<const std::string> fetches,
                                                    std::span<const std::string> targets) {
  StepSignature signature;
  signature.feeds.assign(feeds.begin(), feeds.end());
  signature.fetches.assign(fetches.begin(), fetches.end());
  signature.targets.assign(targets.begin(), targets.end());
  return impl_->PartialRunSetup(signature);
}

void LocalSession::PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                                   std::span<const std::string> fetches, RunDone done) {
  impl_->PartialRun(handle, options, feeds, fetches, std::move(done));
}

StatusOr<Session::Part> LocalSession::AddPart(const GraphDef& def) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<CompiledStep> compiled, impl_->CompilePart(def));
  return parts_.Add(std::move(compiled));
}

void LocalSession::RunPart(Part part, int64_t step_id, std::shared_ptr<Rendezvous> rendezvous,
                           const StepOptions& options, StepReport* report, std::function<void(Status)> done) {
  auto compiled = parts_.Find(part);
  if (!compiled.ok()) return done(compiled.status());
  Impl::ReadyStep ready;
  Status prepared = impl_->Prepare(options, report, *compiled, &ready, CopyOf({}));
  if (!prepared.ok()) return done(prepared);
  ready.config.context.step_id = step_id;
  ready.config.rendezvous = std::move(rendezvous);
  impl_->StartStep(
      std::move(ready), /*detach=*/true,
      [impl = impl_, done = std::move(done)](Status status, const std::vector<Tensor>&) { done(std::move(status)); });
}

Status LocalSession::RemovePart(Part part) { return parts_.Remove(part); }

void LocalSession::StartClose(const Status& reason) { impl_->Close(reason); }

Status LocalSession::Close() {
  impl_->Close(Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  return impl_->steps().AwaitEmpty(impl_->options().close_timeout);
}

std::vector<DeviceInfo> LocalSession::ListDevices() const {
  std::vector<DeviceInfo> out;
  for (const auto& device : impl_->devices().devices()) out.push_back(device->info());
  return out;
}

int LocalSession::running_steps() const { return impl_->steps().size(); }

const SessionOptions& LocalSession::options() const { return impl_->options(); }

}  // namespace weir
