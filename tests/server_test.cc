// A server under good and bad clients.
#include "weir/distributed/server.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/master_client.h"
#include "weir/base/processors.h"
#include "weir/client/environment.h"

namespace weir {
namespace {

using testing::HasSubstr;

// x is fed; y = x + x; a queue with enqueue and dequeue.
GraphDef SmallGraph() {
  constexpr char kText[] = R"pb(
    node {
      name: "x"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "y"
      op: "AddV2"
      input: "x"
      input: "x"
      attr {
        key: "T"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "q"
      op: "FIFOQueueV2"
      attr {
        key: "component_types"
        value { list { type: DT_FLOAT } }
      }
      attr {
        key: "capacity"
        value { i: 4 }
      }
      attr {
        key: "shared_name"
        value { s: "q" }
      }
    }
    node {
      name: "put"
      op: "QueueEnqueueV2"
      input: "q"
      input: "x"
      attr {
        key: "Tcomponents"
        value { list { type: DT_FLOAT } }
      }
    }
    node {
      name: "take"
      op: "QueueDequeueV2"
      input: "q"
      attr {
        key: "component_types"
        value { list { type: DT_FLOAT } }
      }
    }
    versions { producer: 2474 }
  )pb";
  GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kText, &graph));
  return graph;
}

Tensor Number(float value) { return Tensor::Scalar(value); }

class ServerTest : public testing::Test {
 protected:
  void Start(const ServerOptions& options = {}) {
    auto started = Server::Start(options, *MakeEnvironment());
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    client_ = std::make_unique<MasterClient>(server_->target());
  }
  std::string NewSession() {
    auto handle = client_->CreateSession(SmallGraph());
    EXPECT_TRUE(handle.ok()) << handle.status();
    return handle.value_or("");
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<MasterClient> client_;
};

TEST_F(ServerTest, RunsAStep) {
  Start();
  std::string session = NewSession();
  EXPECT_EQ(session.size(), 16u);
  auto result = client_->Run(session, {{"x:0", Number(3)}}, "y:0");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->scalar<float>(), 6);
  EXPECT_TRUE(client_->Close(session).ok());
  EXPECT_EQ(client_->Run(session, {}, "y:0").status(), Aborted("Session ", session, " is not found."));
  EXPECT_THAT(Message(client_->Close(session)), HasSubstr("Possibly, this master has restarted."));
}

TEST_F(ServerTest, LargeTensorsTravelBothWays) {
  Start();
  std::string session = NewSession();
  Tensor big = *Tensor::Allocate(DType::kFloat, Shape({5'000'000}));
  for (int64_t i = 0; i < big.num_elements(); ++i) big.data<float>()[i] = static_cast<float>(i);
  auto result = client_->Run(session, {{"x:0", big}}, "y:0");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->num_elements(), 5'000'000);
  for (int64_t i : {0, 1, 4'999'999}) EXPECT_EQ(result->data<float>()[i], 2 * static_cast<float>(i));
}

TEST_F(ServerTest, AStepWhoseCallWasDroppedTakesNothing) {
  Start();
  std::string session = NewSession();
  grpc::ClientContext context;
  std::thread blocked([&] {
    auto result = client_->Run(session, {}, "take:0", {}, &context);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled) << result.status();
  });
  context.TryCancel();
  blocked.join();
  // Closing waits until the dropped step has ended.
  ASSERT_TRUE(client_->Close(session).ok());
  session = NewSession();
  ASSERT_TRUE(client_->Run(session, {{"x:0", Number(5)}}, "", {"put"}).ok());
  auto taken = client_->Run(session, {}, "take:0");
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->scalar<float>(), 5);
}

TEST_F(ServerTest, ADeadlineEndsTheStep) {
  Start();
  std::string session = NewSession();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  EXPECT_EQ(client_->Run(session, {}, "take:0", {}, &context).status().code(), absl::StatusCode::kDeadlineExceeded);

  RunStepRequest request;
  request.set_session_handle(session);
  request.add_fetch("take:0");
  request.mutable_options()->set_timeout_in_ms(50);
  RunStepResponse response;
  EXPECT_EQ(client_->Call("RunStep", request, &response).code(), absl::StatusCode::kDeadlineExceeded);

  ASSERT_TRUE(client_->Run(session, {{"x:0", Number(5)}}, "", {"put"}).ok());
  EXPECT_EQ(client_->Run(session, {}, "take:0")->scalar<float>(), 5);
}

TEST_F(ServerTest, ClosingASessionEndsItsSteps) {
  Start();
  std::string session = NewSession();
  Status status;
  std::thread blocked([&] { status = client_->Run(session, {}, "take:0").status(); });
  // The step cannot be seen from outside; closing is right whether it has begun or not.
  EXPECT_TRUE(client_->Close(session).ok());
  blocked.join();
  EXPECT_TRUE(absl::IsCancelled(status) || absl::IsAborted(status)) << status;
}

TEST_F(ServerTest, ShutdownEndsRunningSteps) {
  Start();
  std::string session = NewSession();
  Status status;
  std::thread blocked([&] { status = client_->Run(session, {}, "take:0").status(); });
  server_->Shutdown();
  blocked.join();
  EXPECT_FALSE(status.ok());
  server_->Join();
}

TEST_F(ServerTest, ResetEndsAllSessionsAndEmptiesContainers) {
  Start();
  std::string first = NewSession(), second = NewSession();
  ASSERT_TRUE(client_->Run(first, {{"x:0", Number(5)}}, "", {"put"}).ok());
  ResetRequest request;
  ResetResponse response;
  ASSERT_TRUE(client_->Call("Reset", request, &response).ok());
  EXPECT_TRUE(absl::IsAborted(client_->Run(first, {}, "take:0").status()));
  EXPECT_TRUE(absl::IsAborted(client_->Run(second, {}, "take:0").status()));
  std::string third = NewSession();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  EXPECT_EQ(client_->Run(third, {}, "take:0", {}, &context).status().code(), absl::StatusCode::kDeadlineExceeded);
}

// Their clients never come back.
TEST_F(ServerTest, PartialRunsThatWaitForFeedsEndWithTheirSession) {
  Start();
  auto begin = [this](const std::string& session) {
    PartialRunSetupRequest request;
    request.set_session_handle(session);
    request.add_feed("x:0");
    request.add_fetch("y:0");
    PartialRunSetupResponse response;
    ASSERT_TRUE(client_->Call("PartialRunSetup", request, &response).ok());
  };
  std::string closed = NewSession(), reset = NewSession();
  begin(closed);
  begin(reset);
  EXPECT_TRUE(client_->Close(closed).ok());
  ResetRequest request;
  ResetResponse response;
  EXPECT_TRUE(client_->Call("Reset", request, &response).ok());
  begin(NewSession());
  server_->Shutdown();
  server_.reset();  // waits for the sessions to be gone
}

TEST_F(ServerTest, ARequestIsRunOnce) {
  Start();
  RunStepRequest request;
  request.set_session_handle(NewSession());
  request.add_target("q");
  request.set_request_id(77);
  RunStepResponse response;
  EXPECT_TRUE(client_->Call("RunStep", request, &response).ok());
  EXPECT_TRUE(absl::IsAborted(client_->Call("RunStep", request, &response)));
}

TEST_F(ServerTest, GraphVersionsMustMatch) {
  Start();
  ExtendSessionRequest request;
  request.set_session_handle(NewSession());
  auto* node = request.mutable_graph_def()->add_node();
  node->set_name("more");
  node->set_op("NoOp");
  request.set_current_graph_version(7);
  ExtendSessionResponse response;
  EXPECT_EQ(client_->Call("ExtendSession", request, &response), Aborted("Current version is 0 but caller expected 7."));
  request.set_current_graph_version(0);
  ASSERT_TRUE(client_->Call("ExtendSession", request, &response).ok());
  EXPECT_EQ(response.new_graph_version(), 1);
}

TEST_F(ServerTest, LimitsAreRefusedWithAReason) {
  Start({.max_message_bytes = 100'000, .max_sessions = 1, .max_graph_nodes = 5});
  std::string session = NewSession();
  EXPECT_TRUE(absl::IsResourceExhausted(client_->CreateSession(SmallGraph()).status()));
  ASSERT_TRUE(client_->Close(session).ok());

  GraphDef graph = SmallGraph();
  graph.add_node()->set_name("sixth");
  graph.mutable_node(5)->set_op("NoOp");
  EXPECT_TRUE(absl::IsResourceExhausted(client_->CreateSession(graph).status()));

  session = NewSession();
  Tensor big = *Tensor::Zeros(DType::kFloat, Shape({100'000}));
  EXPECT_TRUE(absl::IsResourceExhausted(client_->Run(session, {{"x:0", big}}, "y:0").status()));
  EXPECT_TRUE(client_->Run(session, {{"x:0", Number(1)}}, "y:0").ok());
}

TEST_F(ServerTest, SessionsThatNobodyUsesAreClosed) {
  Start({.idle_session = absl::Milliseconds(20)});
  NewSession();
  // Asking for the devices of no session does not touch the one there is.
  ListDevicesRequest request;
  ListDevicesResponse response;
  while (server_->num_sessions() > 0) ASSERT_TRUE(client_->Call("ListDevices", request, &response).ok());
}

// A window that no pause of a busy machine exceeds.
constexpr absl::Duration kLongStay = absl::Milliseconds(900);

TEST_F(ServerTest, AThreadStaysAwakeForAQuickClient) {
  if (NumUsableProcessors() < 2) GTEST_SKIP() << "one processor";
  Start({.stay_awake = kLongStay});
  std::string session = NewSession();
  // These are answered at once on any machine; steps may take longer under a sanitizer.
  ListDevicesRequest request;
  ListDevicesResponse response;
  request.set_session_handle(session);
  auto converse = [&](int64_t until) {
    for (int i = 0; i < 100'000 && server_->num_awaited_calls() < until; ++i) {
      ASSERT_TRUE(client_->Call("ListDevices", request, &response).ok());
    }
    ASSERT_GE(server_->num_awaited_calls(), until);
  };
  converse(10);
  for (float i = 0; i < 20; ++i) {
    auto result = client_->Run(session, {{"x:0", Number(i)}}, "y:0");
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->scalar<float>(), 2 * i);
  }
  // It serves others as well, also those whose steps take longer.
  MasterClient other(server_->target());
  std::thread blocked([&] { EXPECT_TRUE(other.Run(session, {}, "take:0").ok()); });
  EXPECT_TRUE(client_->Run(session, {{"x:0", Number(1)}}, "", {"put"}).ok());
  blocked.join();
  // The end of the server is not kept waiting.
  converse(server_->num_awaited_calls() + 10);
  server_.reset();
}

TEST_F(ServerTest, ManyQuickClientsAreServedAtOnce) {
  Start({.stay_awake = kLongStay});
  std::string session = NewSession();
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      MasterClient client(server_->target());
      for (float j = 0; j < 100; ++j) {
        auto result = client.Run(session, {{"x:0", Number(j + i)}}, "y:0");
        ASSERT_TRUE(result.ok()) << result.status();
        ASSERT_EQ(result->scalar<float>(), 2 * (j + i));
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(ServerTest, NoThreadStaysAwakeUnasked) {
  Start({.stay_awake = absl::ZeroDuration()});
  std::string session = NewSession();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(client_->Run(session, {{"x:0", Number(1)}}, "y:0").ok());
  EXPECT_EQ(server_->num_awaited_calls(), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(Server::Start({.stay_awake = absl::Seconds(2)}, *MakeEnvironment()).status()));
}

TEST_F(ServerTest, MalformedRequestsAreRefusedWithoutHarm) {
  Start();
  std::string session = NewSession();
  RunStepRequest good;
  good.set_session_handle(session);
  ASSERT_TRUE(ToProto(Number(1), good.add_feed()->mutable_tensor()).ok());
  good.mutable_feed(0)->set_name("x:0");
  good.add_fetch("y:0");
  std::mt19937 random(1);
  for (const char* method : {"CreateSession", "ExtendSession", "PartialRunSetup", "RunStep", "ListDevices",
                             "MakeCallable", "RunCallable", "ReleaseCallable"}) {
    std::string response;
    for (std::string bytes : {std::string("\xff\xff\xff\xff"), std::string("\x0a\xff\xff\xff\xff\x0f"),
                              std::string(3, '\x0a'), good.SerializeAsString()}) {
      client_->CallBytes(method, bytes, &response).IgnoreError();
      for (int i = 0; i < 20; ++i) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
        client_->CallBytes(method, bytes, &response).IgnoreError();
      }
    }
    EXPECT_EQ(client_->CallBytes(method, "\xff\xff\xff\xff", &response).code(), absl::StatusCode::kInvalidArgument);
  }
  std::string response;
  EXPECT_EQ(client_->CallBytes("NoSuchMethod", "", &response).code(), absl::StatusCode::kUnimplemented);
  auto result = client_->Run(session, {{"x:0", Number(3)}}, "y:0");
  EXPECT_TRUE(result.ok()) << result.status();
}

TEST_F(ServerTest, EightClientsAtOnce) {
  Start();
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k) {
    threads.emplace_back([this, k] {
      MasterClient client(server_->target());
      for (int round = 0; round < 4; ++round) {
        auto session = client.CreateSession(SmallGraph());
        ASSERT_TRUE(session.ok()) << session.status();
        for (int i = 0; i < 25; ++i) {
          float x = static_cast<float>(100 * k + i);
          auto result = client.Run(*session, {{"x:0", Number(x)}}, "y:0");
          ASSERT_TRUE(result.ok()) << result.status();
          EXPECT_EQ(result->scalar<float>(), 2 * x);
        }
        EXPECT_TRUE(client.Close(*session).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->num_sessions(), 0u);
}

TEST_F(ServerTest, ATakenPortIsAnError) {
  Start();
  auto second = Server::Start({.port = server_->port()}, *MakeEnvironment());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Server::Start({.port = 70000}, *MakeEnvironment()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Server::Start({.tls_certificate = "x"}, *MakeEnvironment()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
