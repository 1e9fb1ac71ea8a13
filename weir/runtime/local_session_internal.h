// Private to the runtime: a session of this process.
#ifndef WEIR_RUNTIME_LOCAL_SESSION_INTERNAL_H_
#define WEIR_RUNTIME_LOCAL_SESSION_INTERNAL_H_

#include "weir/runtime/session_impl.h"
#include "weir/runtime/session_parts.h"

namespace weir {

class LocalSession final : public Session {
 public:
  static StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<Environment> environment, SessionOptions options,
                                                   std::shared_ptr<RemoteTasks> remote);
  ~LocalSession() override;

  Status Extend(const GraphDef& def) override;
  Status Extend(const Graph& graph) override;
  Status Extend(Graph&& graph) override;
  int64_t graph_version() const override;

  Status Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
             std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report) override;
  void RunAsync(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                std::span<const std::string> targets, StepReport* report, RunDone done) override;

  StatusOr<Callable> MakeCallable(const CallableSpec& spec) override;
  Status RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                     StepReport* report) override;
  void RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                        StepReport* report, RunDone done) override;
  Status ReleaseCallable(Callable callable) override;

  StatusOr<std::string> PartialRunSetup(std::span<const std::string> feeds, std::span<const std::string> fetches,
                                        std::span<const std::string> targets) override;
  void PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                       std::span<const std::string> fetches, RunDone done) override;

  StatusOr<Part> AddPart(const GraphDef& def) override;
  void RunPart(Part part, int64_t step_id, std::shared_ptr<Rendezvous> rendezvous, const StepOptions& options,
               StepReport* report, std::function<void(Status)> done) override;
  Status RemovePart(Part part) override;

  const SessionOptions& options() const override;
  Status Close() override;
  void StartClose(const Status& reason) override;
  std::vector<DeviceInfo> ListDevices() const override;
  int running_steps() const override;

 private:
  explicit LocalSession(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  // The rest of a step that was made ready: waited for, or answered later.
  Status Await(Impl::ReadyStep ready, const Impl::FetchOrder& order, std::vector<Tensor>* outputs);
  void Detach(Impl::ReadyStep ready, std::shared_ptr<const Impl::FetchOrder> order, RunDone done);

  const std::shared_ptr<Impl> impl_;  // steps that run keep it alive
  SessionParts parts_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_LOCAL_SESSION_INTERNAL_H_
