// Large tensors between tasks of one machine: through shared memory where both sides are who they say, else through the
// network.
#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/cluster_fixture.h"
#include "tests/master_client.h"
#include "tests/tampering_proxy.h"
#include "weir/client/environment.h"
#include "weir/distributed/peer_buffers.h"
#include "weir/distributed/server.h"
#include "weir/distributed/wire/recv_tensor_messages.h"
#include "weir/proto/worker.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
constexpr char kPs[] = "/job:ps/task:0";
constexpr char kWorker[] = "/job:worker/task:0";

// A worker whose tensors come from a parameter server, perhaps by way of a proxy.
class Sharing : public testing::Test {
 protected:
  void Start(bool share = true, TamperingProxy::Change request = nullptr, TamperingProxy::Change response = nullptr) {
    const std::vector<int> ports = FreePorts(3);
    auto address = [&](int i) { return Cat("127.0.0.1:", ports[i]); };
    const bool tampered = request != nullptr || response != nullptr;
    ps_ = StartTask("ps", share, address(0), address(1));
    worker_ = StartTask("worker", share, address(tampered ? 2 : 0), address(1));
    if (!tampered) return;
    proxy_ = std::make_unique<TamperingProxy>(address(2), address(0), std::move(request), std::move(response));
    ASSERT_TRUE(proxy_->listens());
  }
  static std::unique_ptr<Server> StartTask(const std::string& job, bool share, const std::string& ps,
                                           const std::string& worker) {
    ServerOptions options;
    EXPECT_TRUE(options.cluster.Add("ps", 0, ps).ok());
    EXPECT_TRUE(options.cluster.Add("worker", 0, worker).ok());
    options.job = job;
    options.share_memory = share;
    auto server = Server::Start(options, MakeEnvironment({.task_name = TaskName(job, 0)}).value());
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  // Steps that bring a tensor of so many floats from the parameter server to the worker; the first error.
  Status RunSteps(int count, int floats = 1 << 20) {
    GraphText graph;
    graph.Placeholder("x");
    graph.Identity("there", "x", kPs);
    graph.Identity("here", "there", kWorker);
    MasterClient client(worker_->target());
    WEIR_ASSIGN_OR_RETURN(std::string session, client.CreateSession(graph.def()));
    for (int step = 0; step < count; ++step) {
      Tensor x = Tensor::Zeros(DType::kFloat, Shape({floats})).value();
      for (int i = 0; i < floats; ++i) x.data<float>()[i] = static_cast<float>(i + step);
      WEIR_ASSIGN_OR_RETURN(Tensor here, client.Run(session, {{"x:0", x}}, "here:0"));
      if (here.shape() != x.shape() || memcmp(here.raw_data(), x.raw_data(), x.num_bytes()) != 0) {
        return DataLoss("other numbers came in step ", step);
      }
    }
    return OkStatus();
  }

  std::unique_ptr<Server> ps_, worker_;
  std::unique_ptr<TamperingProxy> proxy_;
};

// Changes what RecvTensor's answers say of where a tensor is.
TamperingProxy::Change ChangeAnswers(std::function<void(OutOfBand*)> change) {
  return [change](const std::string& method, std::string* bytes) {
    if (!method.ends_with("/RecvTensor")) return;
    google::protobuf::io::ArrayInputStream stream(bytes->data(), static_cast<int>(bytes->size()));
    RecvTensorAnswer answer;
    if (!ReadRecvTensorResponse(&stream, bytes->size(), &answer).ok() || !answer.out_of_band.has_value()) return;
    change(&*answer.out_of_band);
    WireBuffer changed;
    EXPECT_TRUE(WriteRecvTensorResponse(answer, &changed).ok());
    *bytes = changed.Flatten();
  };
}

TamperingProxy::Change ChangeRequests(std::function<void(RecvTransport*)> change) {
  return [change](const std::string& method, std::string* bytes) {
    RecvTensorRequest request;
    if (!method.ends_with("/RecvTensor") || !request.ParseFromString(*bytes)) return;
    auto& options = *request.mutable_transport_options();
    StatusOr<RecvTransport> transport = ReadTransport(options.type_url(), options.value());
    if (!transport.ok()) return;
    change(&*transport);
    options.set_value(TransportValue(*transport));
    *bytes = request.SerializeAsString();
  };
}

TEST_F(Sharing, LargeTensorsAreCopiedIntoTheReceiversMemory) {
  Start();
  EXPECT_EQ(RunSteps(5), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 5);
  EXPECT_EQ(RunSteps(5, 100), OkStatus());  // small ones are not
  EXPECT_EQ(worker_->num_shared_tensors(), 5);
  for (int floats : {1 << 18, 3 << 18, 1 << 17, 1 << 21}) EXPECT_EQ(RunSteps(3, floats), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 17);
}

TEST_F(Sharing, NothingIsSharedUnasked) {
  Start(/*share=*/false);
  EXPECT_EQ(RunSteps(3), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 0);
}

TEST_F(Sharing, AParameterServerThatRestartsIsHandedNewMemory) {
  Start();
  EXPECT_EQ(RunSteps(2), OkStatus());
  const std::string ps = ps_->target(), worker = worker_->target();
  auto address = [](const std::string& target) { return target.substr(target.find("://") + 3); };
  ps_ = nullptr;
  ps_ = StartTask("ps", true, address(ps), address(worker));
  Status again = RunSteps(2);
  for (int i = 0; i < 100 && !again.ok(); ++i) again = RunSteps(2);  // the worker has to find it first
  EXPECT_EQ(again, OkStatus());
  EXPECT_GE(worker_->num_shared_tensors(), 4);
}

TEST_F(Sharing, APeerThatNamesASocketNobodyListensOnSendsThroughTheNetwork) {
  Start(true, nullptr, ChangeAnswers([](OutOfBand* there) { there->socket = "weir-nobody"; }));
  EXPECT_EQ(RunSteps(3), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 0);
}

TEST_F(Sharing, APeerThatNamesTheSocketOfAnotherProcessGetsNothingThere) {
  std::atomic<int> asked = 0;
  auto other = PeerBuffers::Listen([&](const std::string&) {
    ++asked;
    return false;  // it has offered nothing
  });
  ASSERT_TRUE(other.ok()) << other.status();
  Start(true, nullptr, ChangeAnswers([&](OutOfBand* there) { there->socket = (*other)->socket(); }));
  EXPECT_EQ(RunSteps(10), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition((*other)->Fill(MakeBufferKey(), 1, Tensor::Scalar(1.0f))));
  EXPECT_GT(asked, 0);
  EXPECT_LE(asked, 3);  // it is not tried for ever
  EXPECT_EQ((*other)->num_buffers(), 0);
}

TEST_F(Sharing, MemoryWithAWrongSecretIsRefused) {
  Start(true, ChangeRequests([](RecvTransport* transport) { transport->key = MakeBufferKey(); }));
  EXPECT_EQ(RunSteps(3), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 0);
}

TEST_F(Sharing, MemoryOfAReceiverThatWasOfferedNothingIsRefused) {
  const std::string wrong = MakeBufferKey();
  Start(true, ChangeRequests([&](RecvTransport* transport) { transport->key = wrong; }));
  EXPECT_EQ(RunSteps(3), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 0);
}

TEST_F(Sharing, ATensorInABufferThatWasNeverGivenIsAnError) {
  Start(true, nullptr, ChangeAnswers([](OutOfBand* there) { there->in_buffer = true; }));
  Status failed = RunSteps(1);
  EXPECT_TRUE(absl::IsInternal(failed)) << failed;
  EXPECT_THAT(Message(failed), HasSubstr("filled a buffer that it does not have"));
}

TEST_F(Sharing, ATensorLargerThanItsBufferIsAnError) {
  Start(true, nullptr, ChangeAnswers([](OutOfBand* there) {
          if (there->in_buffer) there->shape = Shape({int64_t{1} << 40});
        }));
  Status failed = RunSteps(1);
  EXPECT_TRUE(absl::IsInternal(failed)) << failed;
}

TEST_F(Sharing, ReceiversElsewhereGetTheirTensorsThroughTheNetwork) {
  Start(true, ChangeRequests([](RecvTransport* transport) { transport->host = "another machine"; }));
  EXPECT_EQ(RunSteps(3), OkStatus());
  EXPECT_EQ(worker_->num_shared_tensors(), 0);
}

}  // namespace
}  // namespace weir
