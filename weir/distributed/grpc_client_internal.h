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
  // `service` is "WorkerService". The channel connects on the first call, and again whenever the connection breaks.
  // The threads of `queue`, which must outlive the client, handle the answers; if it is null, gRPC's threads do. A
  // server should use one queue for both directions: a thread that reads an event of another queue has to wake a thread
  // there.
  GrpcClient(std::string_view service, std::span<const std::string_view> methods, std::string address,
             const std::shared_ptr<grpc::ChannelCredentials>& credentials, CallQueue* queue = nullptr);
  // Shuts down. REQUIRES: not called by the `done` of a call.
  ~GrpcClient();
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;

  const std::string& address() const { return address_; }

  struct Options {
    absl::Time deadline = absl::InfiniteFuture();
    bool wait_for_ready = false;                  // true: wait for a process that does not listen yet
    CancellationManager* cancellation = nullptr;  // ends the call with its reason; must live until `done`
  };
  // Never blocks. `done` is called once, possibly on this thread.
  using Done = std::function<void(const Status& status, grpc::ByteBuffer& response)>;
  void Call(size_t method, WireBuffer request, const Options& options, Done done);
  // The same for plain messages; the response is parsed into `*response`, which must live until `done`.
  using PlainDone = std::function<void(const Status&)>;
  void Call(size_t method, const google::protobuf::MessageLite& request,
            std::shared_ptr<google::protobuf::MessageLite> response, const Options& options, PlainDone done);

  // Waits for calls in flight until `grace_end`, cancels the remaining ones and waits for them to end: gRPC must not
  // call back into a process that is exiting, nor destroy a channel on the thread that serves it. Later calls fail with
  // CANCELLED. REQUIRES: not called by the `done` of a call.
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
