// GrpcSession: a session on a server, used through the protocol of TensorFlow's clients. Only files of this folder
// include this header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_GRPC_SESSION_INTERNAL_H_
#define WEIR_DISTRIBUTED_GRPC_SESSION_INTERNAL_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/distributed/grpc_client_internal.h"
#include "weir/distributed/master.h"
#include "weir/runtime/session.h"

namespace weir {

struct RunStepAnswer;
struct RunStepCall;

// The session service of one server. Thread-safe.
class MasterStub {
 public:
  // INVALID_ARGUMENT if the target is not "grpc://host:port".
  static StatusOr<std::unique_ptr<MasterStub>> Connect(const SessionOptions& options);

  const std::string& target() const { return target_; }
  // Waits for the answer. An UNAVAILABLE error names the server.
  Status Call(MasterMethod method, const google::protobuf::MessageLite& request,
              const std::shared_ptr<google::protobuf::MessageLite>& response, const GrpcClient::Options& options);
  void CallAsync(MasterMethod method, WireBuffer request, const GrpcClient::Options& options, GrpcClient::Done done);
  void Shutdown() { client_.Shutdown(absl::InfinitePast()); }

 private:
  MasterStub(const SessionOptions& options, std::string address);
  Status Named(MasterMethod method, const Status& status) const;

  const std::string target_;
  GrpcClient client_;
};

class GrpcSession final : public Session {
 public:
  static StatusOr<std::unique_ptr<Session>> Create(const SessionOptions& options);
  ~GrpcSession() override;

  using Session::Extend;
  Status Extend(const GraphDef& def) override;
  int64_t graph_version() const override;
  void RunAsync(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                std::span<const std::string> targets, StepReport* report, RunDone done) override;

  StatusOr<Callable> MakeCallable(const CallableSpec& spec) override;
  void RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                        StepReport* report, RunDone done) override;
  Status ReleaseCallable(Callable callable) override;

  StatusOr<std::string> PartialRunSetup(std::span<const std::string> feeds, std::span<const std::string> fetches,
                                        std::span<const std::string> targets) override;
  void PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                       std::span<const std::string> fetches, RunDone done) override;

  const SessionOptions& options() const override { return options_; }
  Status Close() override;
  void StartClose(const Status& reason) override;
  std::vector<DeviceInfo> ListDevices() const override;
  int running_steps() const override { return running_steps_; }

 private:
  GrpcSession(SessionOptions options, std::unique_ptr<MasterStub> stub, std::string handle, int64_t version)
      : options_(std::move(options)), stub_(std::move(stub)), handle_(std::move(handle)), version_(version) {}

  Status closed() const;
  // Marks the session as closed; false if it was closed before.
  bool BeginClose();
  GrpcClient::Options Plain() const;  // for calls other than steps
  GrpcClient::Options ForStep(absl::Duration timeout, CancellationManager* cancellation) const;
  void RunStep(const RunStepCall& call, const StepOptions& options, StepReport* report, RunDone done);
  // `names` empty: the tensors as they come.
  void Finish(RunStepAnswer& answer, const std::vector<std::string>& names, StepReport* report, const RunDone& done);
  void End(const Status& status, std::vector<Tensor> tensors, const RunDone& done);

  const SessionOptions options_;
  const std::unique_ptr<MasterStub> stub_;
  const std::string handle_;
  std::atomic<int> running_steps_{0};
  absl::Mutex extend_mu_;  // one Extend at a time
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int64_t version_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Callable, absl::Duration> timeouts_ ABSL_GUARDED_BY(mu_);  // of callables that have one
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_SESSION_INTERNAL_H_
