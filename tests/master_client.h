// Speaks the session service to a server, as a client without TensorFlow.
#ifndef WEIR_TESTS_MASTER_CLIENT_H_
#define WEIR_TESTS_MASTER_CLIENT_H_

#include <google/protobuf/message.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>

#include <string>

#include "absl/synchronization/notification.h"
#include "weir/distributed/grpc_bytes_internal.h"
#include "weir/proto/master.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {

class MasterClient {
 public:
  explicit MasterClient(const std::string& target,
                        std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials(),
                        std::string service = "MasterService")
      : service_(std::move(service)) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(target.substr(target.find("://") + 3), credentials, arguments);
  }

  // Bytes in, bytes out; `method` is "RunStep".
  Status CallBytes(const std::string& method, const std::string& request, std::string* response,
                   grpc::ClientContext* context = nullptr) {
    grpc::ClientContext own;
    if (context == nullptr) {
      context = &own;
      context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    }
    std::string path = "/tensorflow." + service_ + "/" + method;
    grpc::Slice slice(request);
    grpc::ByteBuffer in(&slice, 1), out;
    grpc::GenericStub stub(channel_);
    grpc::Status status;
    absl::Notification answered;
    stub.UnaryCall(context, path, grpc::StubOptions(), &in, &out, [&](const grpc::Status& outcome) {
      status = outcome;
      answered.Notify();
    });
    answered.WaitForNotification();
    if (!status.ok()) return FromGrpcStatus(status);
    grpc::Slice whole;
    if (!out.DumpToSingleSlice(&whole).ok()) return Internal("no bytes");
    response->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    return OkStatus();
  }

  Status Call(const std::string& method, const google::protobuf::Message& request, google::protobuf::Message* response,
              grpc::ClientContext* context = nullptr) {
    std::string bytes;
    WEIR_RETURN_IF_ERROR(CallBytes(method, request.SerializeAsString(), &bytes, context));
    return response->ParseFromString(bytes) ? OkStatus() : DataLoss("the response is no ", response->GetTypeName());
  }

  StatusOr<std::string> CreateSession(const GraphDef& graph, const ConfigProto& config = {}) {
    CreateSessionRequest request;
    *request.mutable_graph_def() = graph;
    *request.mutable_config() = config;
    CreateSessionResponse response;
    WEIR_RETURN_IF_ERROR(Call("CreateSession", request, &response));
    return response.session_handle();
  }

  // One fetch ("" for none), or targets; errors in the body become the status.
  StatusOr<Tensor> Run(const std::string& session, std::vector<std::pair<std::string, Tensor>> feeds,
                       const std::string& fetch, std::vector<std::string> targets = {},
                       grpc::ClientContext* context = nullptr) {
    RunStepRequest request;
    request.set_session_handle(session);
    for (auto& [name, tensor] : feeds) {
      NamedTensorProto* feed = request.add_feed();
      feed->set_name(name);
      WEIR_RETURN_IF_ERROR(ToProto(tensor, feed->mutable_tensor()));
    }
    if (!fetch.empty()) request.add_fetch(fetch);
    for (const std::string& target : targets) request.add_target(target);
    request.set_store_errors_in_response_body(true);
    RunStepResponse response;
    WEIR_RETURN_IF_ERROR(Call("RunStep", request, &response, context));
    if (response.status_code() != 0) {
      return Status(static_cast<absl::StatusCode>(response.status_code()), response.status_error_message());
    }
    if (fetch.empty()) return Tensor();
    return FromProto(response.tensor(0).tensor());
  }

  Status Close(const std::string& session) {
    CloseSessionRequest request;
    request.set_session_handle(session);
    CloseSessionResponse response;
    return Call("CloseSession", request, &response);
  }

 private:
  std::string service_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace weir

#endif  // WEIR_TESTS_MASTER_CLIENT_H_
