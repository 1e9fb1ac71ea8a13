// Calls from the network to the services and back.
#include <google/protobuf/io/zero_copy_stream.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <array>

#include "absl/synchronization/notification.h"
#include "weir/distributed/grpc_bytes_internal.h"
#include "weir/distributed/grpc_client_internal.h"
#include "weir/distributed/grpc_service_internal.h"

namespace weir {
namespace {

enum Method { kEcho, kWait, kRelease, kForget };
constexpr std::array<std::string_view, 4> kMethods = {"Echo", "Wait", "Release", "Forget"};

std::string Read(IncomingCall* call) {
  std::string out;
  const void* data = nullptr;
  for (int size = 0; call->request()->Next(&data, &size);) out.append(static_cast<const char*>(data), size);
  return out;
}

// A server of one service, and a client whose answers come to the server's own queue.
class GrpcServiceTest : public testing::Test {
 protected:
  GrpcServiceTest() {
    builder_.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder_.RegisterAsyncGenericService(calls_.generic());
    server_ = builder_.BuildAndStart();
    calls_.Start();
    client_ =
        std::make_unique<GrpcClient>("TestService", kMethods, address(), grpc::InsecureChannelCredentials(), &queue_);
  }
  ~GrpcServiceTest() override {
    client_ = nullptr;
    server_->Shutdown();
    calls_.AwaitEnd();
    server_ = nullptr;
  }

  std::string address() const { return Cat("127.0.0.1:", port_); }
  struct Answer {
    absl::Notification came;
    Status status;
    std::string bytes;
  };
  void Call(Method method, const std::string& request, Answer* answer, const GrpcClient::Options& options = {}) {
    WireBuffer bytes;
    bytes.Append(request);
    client_->Call(method, std::move(bytes), options, [answer](const Status& status, grpc::ByteBuffer& response) {
      answer->status = status;
      grpc::Slice whole;
      if (status.ok() && response.DumpToSingleSlice(&whole).ok()) {
        answer->bytes.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
      }
      answer->came.Notify();
    });
  }

  void Serve(int method, IncomingCall* call) {
    const std::string request = Read(call);
    WireBuffer answer;
    answer.Append(request);
    switch (method) {
      case kWait:  // longer than a service should
        released_.WaitForNotification();
        break;
      case kRelease:
        released_.Notify();
        break;
      case kForget:  // until the client does not want it any more
        (void)call->cancellation.Register([call] { call->Finish(call->cancellation.reason(), {}); });
        return;
    }
    call->Finish(OkStatus(), std::move(answer));
  }

  int port_ = 0;
  absl::Notification released_;
  grpc::ServerBuilder builder_;
  CallQueue queue_{builder_.AddCompletionQueue(), /*num_threads=*/2, absl::ZeroDuration()};
  GrpcService service_{"TestService", kMethods, [this](int method, IncomingCall* call) { Serve(method, call); }};
  GrpcCalls calls_{&queue_, std::array{&service_}};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<GrpcClient> client_;
};

TEST_F(GrpcServiceTest, AnswersManyCallsAtOnce) {
  std::vector<Answer> answers(200);
  for (size_t i = 0; i < answers.size(); ++i) Call(kEcho, std::string(i * 100, 'x'), &answers[i]);
  for (size_t i = 0; i < answers.size(); ++i) {
    answers[i].came.WaitForNotification();
    EXPECT_EQ(answers[i].status, OkStatus());
    EXPECT_EQ(answers[i].bytes.size(), i * 100);
  }
  EXPECT_TRUE(service_.AwaitIdle(absl::InfiniteFuture()));
}

// The first call keeps the thread that polls: another has to take its place for the second one to be served.
TEST_F(GrpcServiceTest, ACallThatTakesLongDoesNotKeepOthersWaiting) {
  Answer waits, releases;
  Call(kWait, "a", &waits);
  Call(kRelease, "b", &releases);
  releases.came.WaitForNotification();
  waits.came.WaitForNotification();
  EXPECT_EQ(waits.status, OkStatus());
  EXPECT_EQ(waits.bytes, "a");
}

TEST_F(GrpcServiceTest, ADroppedCallIsCancelled) {
  CancellationManager cancellation;
  Answer answer;
  GrpcClient::Options options;
  options.cancellation = &cancellation;
  Call(kForget, "", &answer, options);
  cancellation.StartCancel(Cancelled("not wanted"));
  answer.came.WaitForNotification();
  EXPECT_EQ(answer.status, Cancelled("not wanted"));
  EXPECT_TRUE(service_.AwaitIdle(absl::InfiniteFuture()));
}

TEST_F(GrpcServiceTest, ADeadlineIsTheCallsDeadline) {
  Answer answer;
  GrpcClient::Options options;
  options.deadline = absl::Now() + absl::Milliseconds(20);
  Call(kForget, "", &answer, options);
  answer.came.WaitForNotification();
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status)) << answer.status;
  EXPECT_TRUE(service_.AwaitIdle(absl::InfiniteFuture()));
}

grpc::StatusCode CodeOf(grpc::GenericStub& stub, const std::string& path, bool has_request) {
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::Status status;
  auto next = [&] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return ok;
  };
  auto stream = stub.PrepareCall(&context, path, &queue);
  stream->StartCall(nullptr);
  EXPECT_TRUE(next());
  if (has_request) {
    grpc::Slice slice("request");
    stream->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  } else {
    stream->WritesDone(nullptr);
  }
  next();
  grpc::ByteBuffer response;  // the status comes behind it
  stream->Read(&response, nullptr);
  next();
  stream->Finish(&status, nullptr);
  next();
  queue.Shutdown();
  return status.error_code();
}

TEST_F(GrpcServiceTest, RefusesWhatItDoesNotKnow) {
  grpc::GenericStub stub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
  EXPECT_EQ(CodeOf(stub, "/tensorflow.TestService/Echo", true), grpc::StatusCode::OK);
  EXPECT_EQ(CodeOf(stub, "/tensorflow.TestService/Sing", true), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(CodeOf(stub, "/tensorflow.OtherService/Echo", true), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(CodeOf(stub, "/tensorflow.TestService/Echo", false), grpc::StatusCode::INTERNAL);
}

}  // namespace
}  // namespace weir
