// A process in the middle: forwards the unary calls for one server, whose messages a test changes on their way.
#ifndef WEIR_TESTS_TAMPERING_PROXY_H_
#define WEIR_TESTS_TAMPERING_PROXY_H_

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <functional>
#include <memory>
#include <string>

namespace weir {

class TamperingProxy final : public grpc::CallbackGenericService {
 public:
  // Changes the bytes of a message; `method` is "/tensorflow.WorkerService/RecvTensor".
  using Change = std::function<void(const std::string& method, std::string* bytes)>;

  // Listens on `address` and calls `server`, both "127.0.0.1:2222".
  TamperingProxy(const std::string& address, const std::string& server, Change request, Change response)
      : change_request_(std::move(request)), change_response_(std::move(response)), stub_(Connect(server)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    builder.SetMaxReceiveMessageSize(-1);
    server_ = builder.BuildAndStart();
  }
  ~TamperingProxy() override { server_->Shutdown(std::chrono::system_clock::now()); }
  bool listens() const { return server_ != nullptr; }

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(TamperingProxy* proxy, std::string method) : proxy_(proxy), method_(std::move(method)) {
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      request_ = Changed(request_, proxy_->change_request_);
      proxy_->stub_.UnaryCall(&context_, method_, grpc::StubOptions(), &request_, &response_,
                              [this](const grpc::Status& status) {
                                if (!status.ok()) return Finish(status);
                                response_ = Changed(response_, proxy_->change_response_);
                                StartWriteAndFinish(&response_, grpc::WriteOptions(), status);
                              });
    }
    void OnCancel() override { context_.TryCancel(); }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer Changed(const grpc::ByteBuffer& message, const Change& change) {
      grpc::Slice whole;
      if (!change || !message.DumpToSingleSlice(&whole).ok()) return message;
      std::string bytes(reinterpret_cast<const char*>(whole.begin()), whole.size());
      change(method_, &bytes);
      grpc::Slice changed(bytes);
      return grpc::ByteBuffer(&changed, 1);
    }

    TamperingProxy* const proxy_;
    const std::string method_;
    grpc::ClientContext context_;
    grpc::ByteBuffer request_, response_;
  };

  static std::shared_ptr<grpc::Channel> Connect(const std::string& server) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
  }
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Call(this, context->method());
  }

  const Change change_request_, change_response_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace weir

#endif  // WEIR_TESTS_TAMPERING_PROXY_H_
