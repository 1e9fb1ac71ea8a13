// WorkerClient: calls the worker service of another task. Only files of this folder include this header: it brings gRPC
// along.
#ifndef WEIR_DISTRIBUTED_WORKER_CLIENT_INTERNAL_H_
#define WEIR_DISTRIBUTED_WORKER_CLIENT_INTERNAL_H_

#include <memory>
#include <string>

#include "weir/distributed/grpc_client_internal.h"
#include "weir/distributed/worker_methods.h"

namespace weir {

// Thread-safe.
class WorkerClient {
 public:
  // `queue` as for GrpcClient.
  WorkerClient(std::string task, std::string address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
               CallQueue* queue = nullptr)
      : task_(std::move(task)), client_("WorkerService", kWorkerMethodNames, std::move(address), credentials, queue) {}

  const std::string& task() const { return task_; }  // "/job:ps/replica:0/task:0"
  const std::string& address() const { return client_.address(); }

  using Options = GrpcClient::Options;
  using Done = GrpcClient::Done;
  using PlainDone = GrpcClient::PlainDone;
  // Like GrpcClient's. An UNAVAILABLE error names the task.
  void Call(WorkerMethod method, WireBuffer request, const Options& options, Done done);
  void Call(WorkerMethod method, const google::protobuf::MessageLite& request,
            std::shared_ptr<google::protobuf::MessageLite> response, const Options& options, PlainDone done);
  // Ignores the answer.
  void Tell(WorkerMethod method, const google::protobuf::MessageLite& request);
  // Like GrpcClient's. Must be called before the last reference is dropped, which may happen in the `done` of a call.
  void Shutdown(absl::Time grace_end) { client_.Shutdown(grace_end); }

 private:
  Status Named(WorkerMethod method, const Status& status) const;

  const std::string task_;
  GrpcClient client_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WORKER_CLIENT_INTERNAL_H_
