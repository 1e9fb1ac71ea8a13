// nn::Model on parameter servers, with variables that are cut into parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/in_process_cluster.h"
#include "weir/client/nn/model.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

distribute::Strategy OnServers(const Cluster& cluster, int worker, const Partitioner& partitioner = nullptr) {
  distribute::ParameterServers servers{.target = cluster.target("worker", worker)};
  servers.devices = {.ps_tasks = 2, .worker_device = Cat("/job:worker/task:", worker)};
  servers.partitioner = partitioner;
  servers.worker = worker;
  servers.workers = 2;
  servers.ready_timeout = absl::Seconds(60);
  return {.name = "ParameterServer", .servers = servers};
}

// Texts of five words of eleven, and whether their numbers add up to more than usual.
nn::Batch Texts(int seed, int64_t rows) {
  std::mt19937 random(seed);
  std::vector<int64_t> words, labels;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t sum = 0;
    for (int j = 0; j < 5; ++j) sum += words.emplace_back(static_cast<int64_t>(random() % 11));
    labels.push_back(sum > 25 ? 1 : 0);
  }
  return {{Tensor::FromSpan<int64_t>(words, {rows, 5})}, Tensor::FromSpan<int64_t>(labels, {rows})};
}

std::unique_ptr<nn::Model> MakeModel(const distribute::Strategy& strategy) {
  distribute::StrategyScope scope(strategy);
  auto network =
      nn::Sequential({nn::Embedding(11, 7), nn::Flatten(), nn::Dense(9, {.activation = "tanh"}), nn::Dense(2)});
  auto model = std::make_unique<nn::Model>(network, std::vector<nn::InputSpec>{{{5}, DType::kInt64}}, /*seed=*/3);
  EXPECT_EQ(model->Compile({.optimizer = optimizer::Adam({.learning_rate = 0.02}),
                            .loss = loss::SparseCategoricalCrossentropy(),
                            .metrics = {metric::SparseCategoricalAccuracy()}}),
            OkStatus());
  return model;
}

double Loss(StatusOr<nn::Logs> logs) {
  EXPECT_TRUE(logs.ok()) << logs.status();
  return logs.ok() ? (*logs)[0].second : -1;
}

// Checkpoints hold variables, and an optimizer's slots, as if they had never been cut.
TEST(ParameterServerStrategy, TrainsAsOneProcessDoesAndSharesItsCheckpoints) {
  Cluster cluster;
  cluster.StartAll();
  int number = 0;
  const Partitioner too_many = [](const Shape&, DType) { return 1000; };
  for (const Partitioner& partitioner :
       {Partitioner(), distribute::FixedShards(3), distribute::MinSize(64, 2), too_many}) {
    auto alone = MakeModel({});
    auto together = MakeModel(OnServers(cluster, 0, partitioner));
    const std::string prefix = Cat(testing::TempDir(), "/parameter_servers_", getpid(), "_", ++number);
    ASSERT_EQ(alone->TrainOnBatch(Texts(0, 16)).status(), OkStatus());
    ASSERT_EQ(together->Load(alone->Save(prefix + "_alone").value()), OkStatus());
    for (int step = 1; step < 20; ++step) {
      const nn::Batch batch = Texts(step, 16);
      ASSERT_NEAR(Loss(together->TrainOnBatch(batch)), Loss(alone->TrainOnBatch(batch)), 1e-5 * step) << step;
    }
    ASSERT_EQ(alone->Load(together->Save(prefix + "_together").value()), OkStatus());
    EXPECT_EQ(alone->step().value(), 20);
    for (int step = 0; step < 3; ++step) {
      const nn::Batch batch = Texts(100 + step, 16);
      ASSERT_NEAR(Loss(together->TrainOnBatch(batch)), Loss(alone->TrainOnBatch(batch)), 1e-5) << step;
    }
    // The next model must not find this one's values.
    cluster.Start("ps", 0);
    cluster.Start("ps", 1);
    cluster.Start("worker", 0);
  }
}

TEST(ParameterServerStrategy, PartsAreOnDifferentServers) {
  Cluster cluster;
  cluster.StartAll();
  auto model = MakeModel(OnServers(cluster, 0, distribute::FixedShards(2)));
  const Graph& graph = model->scope().graph();
  const auto device = [&](const std::string& name) {
    const Node* node = graph.Find(name);
    return node != nullptr ? node->requested_device : Cat("no node ", name);
  };
  for (const char* slot : {"", "/Adam", "/Adam_1"}) {
    EXPECT_EQ(device(Cat("embedding/embeddings/part_0", slot)), "/job:ps/task:0");
    EXPECT_EQ(device(Cat("embedding/embeddings/part_1", slot)), "/job:ps/task:1");
  }
}

TEST(ParameterServerStrategy, WorkersTrainTheSameVariablesOnTheirOwn) {
  Cluster cluster;
  cluster.StartAll();
  const nn::Batch data = Texts(1, 256), test = Texts(2, 64);
  std::vector<double> losses(2);
  double before = 0;
  const auto work = [&](int worker) {
    auto model = MakeModel(OnServers(cluster, worker, distribute::FixedShards(2)));
    if (worker == 0) before = Loss(model->Evaluate(test.inputs[0], test.labels));
    auto history =
        model->Fit(data.inputs[0], data.labels, {.epochs = 8, .batch_size = 16, .verbosity = nn::Verbosity::kSilent});
    ASSERT_TRUE(history.ok()) << history.status();
    losses[worker] = Loss(model->Evaluate(test.inputs[0], test.labels));
  };
  std::thread other(work, 1);  // waits for the chief
  work(0);
  other.join();
  for (const double loss : losses) EXPECT_LT(loss, before * 0.9);
  // Each has taken its half of the examples eight times.
  EXPECT_EQ(MakeModel(OnServers(cluster, 0, distribute::FixedShards(2)))->step().value(), 2 * 8 * 8);
}

TEST(ParameterServerStrategy, AWorkerWithoutAChiefSaysWhatItWaitsFor) {
  Cluster cluster;
  cluster.StartAll();
  distribute::Strategy strategy = OnServers(cluster, 1);
  strategy.servers->ready_timeout = absl::Milliseconds(300);
  distribute::StrategyScope scope(strategy);
  nn::Model model(nn::Dense(2), {{3}});
  const Status status = model.Compile({.loss = loss::SparseCategoricalCrossentropy()});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("chief"), HasSubstr("dense/kernel")));
}

TEST(ParameterServerStrategy, IsFoundInTheEnvironment) {
  std::map<std::string, std::string> variables;
  const auto find = [&] {
    return distribute::ParameterServer({}, [&](const char* name) {
      auto found = variables.find(name);
      return found != variables.end() ? found->second : std::string();
    });
  };
  EXPECT_EQ(find().status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string cluster =
      R"({"cluster": {"chief": ["c:1"], "worker": ["w:1", "w:2"], "ps": ["p:1", "p:2"]}, "task": )";
  variables["TF_CONFIG"] = cluster + R"({"type": "worker", "index": 1}})";
  auto strategy = find();
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  EXPECT_EQ(strategy->servers->target, "grpc://w:2");
  EXPECT_EQ(strategy->servers->worker, 2);
  EXPECT_EQ(strategy->servers->workers, 3);
  EXPECT_EQ(strategy->servers->devices.ps_tasks, 2);
  EXPECT_EQ(strategy->servers->devices.worker_device, "/job:worker/task:1");
  variables["WEIR_TARGET"] = "grpc://here:1";
  EXPECT_EQ(find()->servers->target, "grpc://here:1");
  variables["TF_CONFIG"] = cluster + R"({"type": "ps", "index": 0}})";
  EXPECT_THAT(Message(find().status()), HasSubstr("weir server"));
  variables["TF_CONFIG"] = R"({"cluster": {"worker": ["w:1"]}, "task": {"type": "worker", "index": 0}})";
  EXPECT_THAT(Message(find().status()), HasSubstr("no parameter servers"));
}

TEST(Partitioners, FollowTensorFlowsRules) {
  const auto parts = [](const Partitioner& partitioner, std::initializer_list<int64_t> sizes) {
    return partitioner(Shape(sizes), DType::kFloat);
  };
  EXPECT_EQ(parts(distribute::FixedShards(2), {10, 3}), 2);
  EXPECT_EQ(parts(distribute::FixedShards(2), {1, 3}), 1);
  EXPECT_EQ(parts(distribute::FixedShards(2), {0, 3}), 1);
  EXPECT_EQ(parts(distribute::FixedShards(0), {10, 3}), 1);
  EXPECT_EQ(parts(distribute::MinSize(4, 2), {6, 1}), 2);
  EXPECT_EQ(parts(distribute::MinSize(4, 10), {6, 1}), 6);
  EXPECT_EQ(parts(distribute::MinSize(), {1000, 1000}), 1);
  EXPECT_EQ(parts(distribute::MaxSize(4), {6, 1}), 6);
  EXPECT_EQ(parts(distribute::MaxSize(4, 2), {6, 1}), 2);
  EXPECT_EQ(parts(distribute::MaxSize(1024), {6, 1}), 1);
  EXPECT_EQ(parts(distribute::MaxSize(1024), {0, 1}), 1);
}

TEST(PartitionedVariable, ReadsGathersAndAssigns) {
  Scope root = Scope::NewRoot();
  Variable v = Variable::Partitioned(root, "v", Shape({7, 2}), init::Zeros(), DType::kFloat, {}, 3);
  std::vector<float> numbers(14);
  for (int i = 0; i < 14; ++i) numbers[i] = static_cast<float>(i);
  const Tensor value = Tensor::FromSpan<float>(numbers, Shape({7, 2}));
  Operation assign = v.Assign(root, value);
  Operation add = v.AssignAdd(root, value);
  Output indices = ops::Placeholder(root, DType::kInt32);
  Output rows = v.Gather(root, indices);
  auto session = ClientSession::Create(root).value();
  ASSERT_EQ(session->RunTargets({InitializeVariables(root)}), OkStatus());
  ASSERT_EQ(session->RunTargets({assign}), OkStatus());
  ASSERT_EQ(session->RunTargets({add}), OkStatus());
  const Tensor read = session->Evaluate(v.value()).value();
  for (int i = 0; i < 14; ++i) EXPECT_EQ(read.data<float>()[i], 2 * i);
  const Tensor asked = Tensor::FromSpan<int32_t>(std::vector<int32_t>{6, 0, 3, 3, 2, 5}, Shape({2, 3}));
  const Tensor found = session->Evaluate(rows, {{indices, asked}}).value();
  EXPECT_EQ(found.shape(), Shape({2, 3, 2}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(found.data<float>()[2 * i + 1], 4 * asked.data<int32_t>()[i] + 2);
  const Tensor none = session->Evaluate(rows, {{indices, Tensor::FromSpan<int32_t>({}, Shape({0}))}}).value();
  EXPECT_EQ(none.shape(), Shape({0, 2}));
  for (const int32_t wrong : {7, -1, 100}) {
    EXPECT_EQ(session->Evaluate(rows, {{indices, Tensor::Scalar(wrong)}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << wrong;
  }
}

}  // namespace
}  // namespace weir
