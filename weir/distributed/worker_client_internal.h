// WorkerClient: calls the worker service of another task. Only files of this folder include this header: it brings gRPC
// along.
#ifndef WEIR_DISTRIBUTED_WORKER_CLIENT_INTERNAL_H_
#define WEIR_DISTRIBUTED_WORKER_CLIENT_INTERNAL_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/distributed/wire/wire_buffer.h"
#include "weir/distributed/worker_methods.h"

namespace google::protobuf {
class MessageLite;
}

namespace weir {

// Thread-safe. Calls in flight may outlive it.
class WorkerClient {
 public:
  // The channel connects at its first call, and again whenever the connection breaks.
  WorkerClient(std::string task, std::string address, const std::shared_ptr<grpc::ChannelCredentials>& credentials);

  const std::string& task() const { return task_; }  // "/job:ps/replica:0/task:0"
  const std::string& address() const { return address_; }

  struct Options {
    absl::Time deadline = absl::InfiniteFuture();
    bool wait_for_ready = false;                  // true: a task that does not listen yet is waited for
    CancellationManager* cancellation = nullptr;  // ends the call with its reason; must live until `done`
  };
  // Never blocks; `done` is called once, perhaps by this thread. UNAVAILABLE names the task if it cannot be reached.
  using Done = std::function<void(const Status& status, grpc::ByteBuffer& response)>;
  void Call(WorkerMethod method, WireBuffer request, const Options& options, Done done);

  // The same for plain messages; the response is parsed into `*response`, which must live until `done`.
  using PlainDone = std::function<void(const Status&)>;
  void Call(WorkerMethod method, const google::protobuf::MessageLite& request,
            std::shared_ptr<google::protobuf::MessageLite> response, const Options& options, PlainDone done);
  // Nobody waits for the answer.
  void Tell(WorkerMethod method, const google::protobuf::MessageLite& request);

 private:
  struct Link;
  struct Outgoing;
  const std::string task_;
  const std::string address_;
  std::shared_ptr<Link> link_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WORKER_CLIENT_INTERNAL_H_
