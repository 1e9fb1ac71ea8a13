// The worker's calls as a master of another make sends them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/cluster_fixture.h"
#include "tests/in_process_cluster.h"
#include "tests/master_client.h"
#include "weir/proto/worker.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

class WorkerCalls {
 public:
  explicit WorkerCalls(const std::string& target)
      : client_(target, grpc::InsecureChannelCredentials(), "WorkerService") {}
  template <typename Response, typename Request>
  StatusOr<Response> Call(const std::string& method, const Request& request) {
    Response response;
    WEIR_RETURN_IF_ERROR(client_.Call(method, request, &response));
    return response;
  }

 private:
  MasterClient client_;
};

// A master that feeds and fetches with the calls for a part, as TensorFlow's do, and a part that hands "x:0" on as
// "y:0" and "v:0" as "w:0".
class ForeignMaster {
 public:
  explicit ForeignMaster(const std::string& target) : worker_(target) {
    auto status = worker_.Call<GetStatusResponse>("GetStatus", GetStatusRequest());
    EXPECT_TRUE(status.ok()) << status.status();
    device_ = status->device_attributes(0);
    CreateWorkerSessionRequest create;
    create.set_session_handle("s1");
    EXPECT_TRUE(worker_.Call<CreateWorkerSessionResponse>("CreateWorkerSession", create).ok());
    GraphText graph;
    for (auto [from, to] : {std::pair("x", "y"), std::pair("v", "w")}) {
      const std::string recv = Cat("_recv_", from, "_0");
      Transfer(graph.Add(recv, "_Recv", {}, device_.name()).Type("tensor_type", DT_FLOAT), Cat(from, ":0"));
      graph.Identity(to, recv, device_.name());
      Transfer(graph.Add(Cat("_send_", to, "_0"), "_Send", {to}, device_.name()).Type("T", DT_FLOAT), Cat(to, ":0"));
    }
    RegisterGraphRequest add;
    add.set_session_handle("s1");
    *add.mutable_graph_def() = graph.def();
    auto added = worker_.Call<RegisterGraphResponse>("RegisterGraph", add);
    EXPECT_TRUE(added.ok()) << added.status();
    run_.set_session_handle("s1");
    run_.set_graph_handle(added->graph_handle());
  }

  // A call for step 77 with these feeds; what it fetches, in order.
  StatusOr<std::vector<float>> Run(const std::map<std::string, float>& feeds, const std::vector<std::string>& fetches,
                                   bool is_partial = false, bool is_last = false) {
    RunGraphRequest run = run_;
    run.set_step_id(77);
    run.set_is_partial(is_partial);
    run.set_is_last_partial_run(is_last);
    for (const auto& [name, value] : feeds) {
      run.add_send()->set_name(Key(name));
      EXPECT_TRUE(ToProto(Tensor::Scalar(value), run.mutable_send(run.send_size() - 1)->mutable_tensor()).ok());
    }
    for (const std::string& name : fetches) run.add_recv_key(Key(name));
    WEIR_ASSIGN_OR_RETURN(RunGraphResponse ran, worker_.Call<RunGraphResponse>("RunGraph", run));
    std::vector<float> out;
    for (const auto& received : ran.recv()) out.push_back(FromProto(received.tensor())->scalar<float>());
    return out;
  }
  void CleanUp() {
    CleanupGraphRequest clean;
    clean.set_step_id(77);
    EXPECT_TRUE(worker_.Call<CleanupGraphResponse>("CleanupGraph", clean).ok());
  }
  RunGraphRequest& run() { return run_; }
  const DeviceAttributes& device() const { return device_; }

 private:
  void Transfer(GraphText::Added node, const std::string& tensor) {
    node.Text("tensor_name", tensor).Text("send_device", device_.name()).Text("recv_device", device_.name());
    node.Int("send_device_incarnation", static_cast<int64_t>(device_.incarnation())).Bool("client_terminated", true);
  }
  std::string Key(const std::string& tensor) const {
    std::string hex(16, '0');
    snprintf(hex.data(), hex.size() + 1, "%016lx", static_cast<unsigned long>(device_.incarnation()));
    return Cat(device_.name(), ";", hex, ";", device_.name(), ";", tensor, ";0:0");
  }

  WorkerCalls worker_;
  DeviceAttributes device_;
  RunGraphRequest run_;
};

TEST(WorkerService, RunsAPartWithFeedsAndFetches) {
  Cluster cluster;
  cluster.Start("ps", 0);
  ForeignMaster master(cluster.target("ps", 0));
  EXPECT_EQ(master.device().name(), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_THAT(master.Run({{"x:0", 4}, {"v:0", 5}}, {"w:0", "y:0"}).value(), ElementsAre(5, 4));
  master.CleanUp();
  master.run().set_graph_handle("abc");
  EXPECT_TRUE(absl::IsAborted(master.Run({}, {}).status()));
  master.run().set_session_handle("nobody");
  EXPECT_TRUE(absl::IsAborted(master.Run({}, {}).status()));
}

TEST(WorkerService, RunsAPartInSeveralCalls) {
  Cluster cluster;
  cluster.Start("ps", 0);
  ForeignMaster master(cluster.target("ps", 0));
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(master.Run({{"x:0", 1}}, {"y:0"}, true).value(), ElementsAre(1));
    EXPECT_THAT(master.Run({{"v:0", 2}}, {}, true).value(), ElementsAre());
    EXPECT_THAT(master.Run({}, {"w:0"}, true, true).value(), ElementsAre(2));
    master.CleanUp();
  }
  // One that is given up half-way leaves nothing behind.
  EXPECT_THAT(master.Run({{"x:0", 1}}, {"y:0"}, true).value(), ElementsAre(1));
  master.CleanUp();
  EXPECT_THAT(master.Run({{"x:0", 4}, {"v:0", 5}}, {"w:0", "y:0"}).value(), ElementsAre(5, 4));
}

TEST(WorkerService, RefusesMastersOfOtherClusters) {
  Cluster cluster;
  cluster.Start("ps", 0);
  WorkerCalls worker(cluster.target("ps", 0));
  CreateWorkerSessionRequest create;
  create.set_session_handle("s1");
  create.set_master_task("/job:stranger/replica:0/task:0");
  EXPECT_EQ(worker.Call<CreateWorkerSessionResponse>("CreateWorkerSession", create).status().code(),
            absl::StatusCode::kPermissionDenied);
  create.set_master_task("/job:worker/replica:0/task:1");
  EXPECT_TRUE(worker.Call<CreateWorkerSessionResponse>("CreateWorkerSession", create).ok());
}

TEST(WorkerService, RefusesWhatIsNotItsOwn) {
  Cluster cluster;
  cluster.Start("ps", 0);
  WorkerCalls worker(cluster.target("ps", 0));
  auto recv = [&](const std::string& key) {
    RecvTensorRequest request;
    request.set_step_id(5);
    request.set_rendezvous_key(key);
    return worker.Call<RecvTensorResponse>("RecvTensor", request).status();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(recv("x")));
  EXPECT_TRUE(absl::IsInvalidArgument(recv("/job:ps/replica:0/task:9/device:CPU:0;01;/job:a/device:CPU:0;e;0:0")));
  EXPECT_TRUE(absl::IsAborted(recv("/job:ps/replica:0/task:0/device:CPU:0;01;/job:a/device:CPU:0;e;0:0")));
  EXPECT_TRUE(absl::IsUnimplemented(worker.Call<TracingResponse>("Tracing", TracingRequest()).status()));
  EXPECT_TRUE(worker.Call<LoggingResponse>("Logging", LoggingRequest()).ok());
}

}  // namespace
}  // namespace weir
