#include <google/protobuf/message_lite.h>

#include "absl/time/clock.h"
#include "weir/distributed/worker_client_internal.h"

namespace weir {
namespace {

// For messages whose answers are ignored.
constexpr absl::Duration kTellTimeout = absl::Seconds(30);

}  // namespace

Status WorkerClient::Named(WorkerMethod method, const Status& status) const {
  if (!absl::IsUnavailable(status)) return status;
  return Unavailable("The task ", task_, " at ", address(), " cannot be reached (",
                     kWorkerMethodNames[static_cast<size_t>(method)], "): ", Message(status));
}

void WorkerClient::Call(WorkerMethod method, WireBuffer request, const Options& options, Done done) {
  client_.Call(static_cast<size_t>(method), std::move(request), options,
               [this, method, done = std::move(done)](const Status& status, grpc::ByteBuffer& response) {
                 done(Named(method, status), response);
               });
}

void WorkerClient::Call(WorkerMethod method, const google::protobuf::MessageLite& request,
                        std::shared_ptr<google::protobuf::MessageLite> response, const Options& options,
                        PlainDone done) {
  client_.Call(static_cast<size_t>(method), request, std::move(response), options,
               [this, method, done = std::move(done)](const Status& status) { done(Named(method, status)); });
}

void WorkerClient::Tell(WorkerMethod method, const google::protobuf::MessageLite& request) {
  WireBuffer bytes;
  bytes.Append(request.SerializeAsString());
  Options options;
  options.deadline = absl::Now() + kTellTimeout;
  Call(method, std::move(bytes), options, [](const Status&, grpc::ByteBuffer&) {});
}

}  // namespace weir
