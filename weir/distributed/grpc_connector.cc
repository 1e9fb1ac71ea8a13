#include "weir/distributed/grpc_connector.h"

#include <google/protobuf/message_lite.h>

#include <future>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "weir/distributed/grpc_session_internal.h"
#include "weir/proto/master.pb.h"

namespace weir {
namespace {

constexpr std::string_view kScheme = "grpc://";

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const SessionOptions& options) {
  if (options.tls_root.empty() && options.tls_certificate.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({options.tls_root, options.tls_key, options.tls_certificate});
}

// "host:port" of a target.
StatusOr<std::string> AddressOf(const std::string& target) {
  std::string_view address = target;
  if (address.starts_with(kScheme)) {
    address.remove_prefix(kScheme.size());
    const size_t colon = address.rfind(':');
    int port = 0;
    if (colon != address.npos && colon > 0 && absl::SimpleAtoi(ToAbsl(address.substr(colon + 1)), &port) && port > 0 &&
        port < 65536) {
      return std::string(address);
    }
  }
  return InvalidArgument("The target '", target, "' is not of the form grpc://host:port");
}

class GrpcConnector final : public SessionConnector {
 public:
  StatusOr<std::unique_ptr<Session>> Connect(const SessionOptions& options) override {
    return GrpcSession::Create(options);
  }

  Status Reset(const SessionOptions& options, std::span<const std::string> containers) override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<MasterStub> stub, MasterStub::Connect(options));
    ResetRequest request;
    for (const std::string& container : containers) request.add_container(container);
    for (const std::string& filter : options.device_filters) request.add_device_filters(filter);
    GrpcClient::Options call;
    call.deadline = absl::Now() + std::min(options.connect_timeout, options.operation_timeout);
    call.wait_for_ready = true;
    return stub->Call(MasterMethod::kReset, request, std::make_shared<ResetResponse>(), call);
  }
};

}  // namespace

std::shared_ptr<SessionConnector> MakeGrpcConnector() { return std::make_shared<GrpcConnector>(); }

StatusOr<std::unique_ptr<MasterStub>> MasterStub::Connect(const SessionOptions& options) {
  WEIR_ASSIGN_OR_RETURN(std::string address, AddressOf(options.target));
  return std::unique_ptr<MasterStub>(new MasterStub(options, std::move(address)));
}

MasterStub::MasterStub(const SessionOptions& options, std::string address)
    : target_(options.target),
      client_("MasterService", kMasterMethodNames, std::move(address), ClientCredentials(options)) {}

Status MasterStub::Named(MasterMethod method, const Status& status) const {
  const std::string_view name = kMasterMethodNames[static_cast<size_t>(method)];
  if (absl::IsUnavailable(status)) {
    return Unavailable("The server at ", target_, " cannot be reached (", name, "): ", Message(status));
  }
  // gRPC's own message only repeats the code.
  if (absl::IsDeadlineExceeded(status) && Message(status) == "Deadline Exceeded") {
    return DeadlineExceeded("No answer from the server at ", target_, " to ", name, " before the deadline");
  }
  return status;
}

Status MasterStub::Call(MasterMethod method, const google::protobuf::MessageLite& request,
                        const std::shared_ptr<google::protobuf::MessageLite>& response,
                        const GrpcClient::Options& options) {
  if (request.ByteSizeLong() > static_cast<size_t>(INT32_MAX)) {
    return ResourceExhausted("The request takes ", request.ByteSizeLong(), " bytes, more than a message can carry");
  }
  std::promise<Status> answered;
  client_.Call(static_cast<size_t>(method), request, response, options,
               [&answered](const Status& status) { answered.set_value(status); });
  return Named(method, answered.get_future().get());
}

void MasterStub::CallAsync(MasterMethod method, WireBuffer request, const GrpcClient::Options& options,
                           GrpcClient::Done done) {
  client_.Call(static_cast<size_t>(method), std::move(request), options,
               [this, method, done = std::move(done)](const Status& status, grpc::ByteBuffer& response) {
                 done(Named(method, status), response);
               });
}

}  // namespace weir
