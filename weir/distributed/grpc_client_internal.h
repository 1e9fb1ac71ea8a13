// GrpcClient: calls the unary methods of one service of another process, in bytes. Only files of this folder include
// this header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_GRPC_CLIENT_INTERNAL_H_
#define WEIR_DISTRIBUTED_GRPC_CLIENT_INTERNAL_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/distributed/wire/wire_buffer.h"

namespace google::protobuf {
class MessageLite;
}

namespace weir {

class CallQueue;

// Thread-safe.
class GrpcClient {
 public:
  // `service` is "WorkerService". The channel connects at its first call, and again whenever the connection breaks.
  // Answers are dealt with by the threads of `queue`, which must outlive the client, or if that is null by gRPC's own.
  // In a server it is better to have one queue for both directions: what a thread reads from the network for another
  // queue has to wake a thread there.
  GrpcClient(std::string_view service, std::span<const std::string_view> methods, std::string address,
             const std::shared_ptr<grpc::ChannelCredentials>& credentials, CallQueue* queue = nullptr);
  // Shuts down. REQUIRES: not called by the `done` of a call.
  ~GrpcClient();
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;

  const std::string& address() const { return address_; }

  struct Options {
    absl::Time deadline = absl::InfiniteFuture();
    bool wait_for_ready = false;                  // true: a process that does not listen yet is waited for
    CancellationManager* cancellation = nullptr;  // ends the call with its reason; must live until `done`
  };
  // Never blocks; `done` is called once, perhaps by this thread.
  using Done = std::function<void(const Status& status, grpc::ByteBuffer& response)>;
  void Call(size_t method, WireBuffer request, const Options& options, Done done);
  // The same for plain messages; the response is parsed into `*response`, which must live until `done`.
  using PlainDone = std::function<void(const Status&)>;
  void Call(size_t method, const google::protobuf::MessageLite& request,
            std::shared_ptr<google::protobuf::MessageLite> response, const Options& options, PlainDone done);

  // Waits for the calls on their way until `grace_end`, cancels those that are left and waits for their ends: gRPC must
  // not call back into a process that is ending, nor destroy a channel in the thread that serves it. Later calls are
  // answered with CANCELLED. REQUIRES: not called by the `done` of a call.
  void Shutdown(absl::Time grace_end);

 private:
  struct Link;
  struct Outgoing;
  class InFlight;
  const std::string address_;
  CallQueue* const queue_;
  const std::shared_ptr<InFlight> in_flight_;
  const std::unique_ptr<Link> link_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_CLIENT_INTERNAL_H_
