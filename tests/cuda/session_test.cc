// Graphs on GPUs: placement, partitions, variables, training.
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "tests/cuda/gpu_fixture.h"
#include "weir/proto/config.pb.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

std::shared_ptr<Environment> HostEnvironment() {
  static auto* environment = [] {
    ChooseDriver();
    EnvironmentOptions options;
    options.gpu.enabled = false;
    return new std::shared_ptr<Environment>(MakeEnvironment(options).value());
  }();
  return *environment;
}

// A small classifier, trained for some steps; the losses.
StatusOr<std::vector<float>> Train(const std::shared_ptr<Environment>& environment, int steps) {
  Scope root = Scope::NewRoot(environment);
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 8}});
  Output labels = ops::Placeholder(root, DType::kInt64, {.shape = {-1}});
  Variable w1(root, "w1", Random(DType::kFloat, {8, 16}, 7));
  Variable b1(root, "b1", Shape({16}), init::Zeros());
  Variable w2(root, "w2", Random(DType::kFloat, {16, 3}, 8));
  Output hidden = ops::Tanh(root, ops::MatMul(root, x, w1.value()) + b1.value());
  Output logits = ops::MatMul(root, hidden, w2.value());
  Output loss = loss::SparseCategoricalCrossentropy()(root, labels, logits);
  Training training = optimizer::Adam({.learning_rate = 0.05f}).Minimize(root, loss);
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  Tensor inputs = Random(DType::kFloat, {12, 8}, 3);
  Tensor classes = Tensor::Allocate(DType::kInt64, Shape({12})).value();
  for (int i = 0; i < 12; ++i) classes.data<int64_t>()[i] = i % 3;
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                          session->Run({{x, inputs}, {labels, classes}}, {loss}, {training.op}));
    losses.push_back(out[0].scalar<float>());
  }
  return losses;
}

TEST(GpuSession, TrainsAsTheHostDoes) {
  auto host = Train(HostEnvironment(), 10);
  auto gpu = Train(GpuEnvironment(), 10);
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_LT(host->back(), host->front());
  for (size_t i = 0; i < host->size(); ++i) EXPECT_NEAR((*gpu)[i], (*host)[i], 1e-4) << "step " << i;
}

TEST(GpuSession, NodesGoToTheGpuWhereItHasKernels) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  Output x = ops::Placeholder(root.WithName("x"), DType::kFloat, {.shape = {-1}});
  Output y = ops::Exp(root.WithName("y"), ops::Mul(root, x, x));
  Output text = ops::AsString(root.WithName("text"), y);
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({{x, Tensor::Vector<float>({0, 1})}}, {y, text});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_NEAR((*out)[0].data<float>()[1], 2.7182817f, 1e-5);
  EXPECT_EQ((*out)[1].data<std::string>()[0].substr(0, 3), "1.0");
}

TEST(GpuSession, TwoLogicalGpusExchangeTensors) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1}});
  Output a = ops::Square(root.WithDevice("/device:GPU:0"), x);
  Output b = ops::Exp(root.WithDevice("/device:GPU:1"), a);
  Output c = ops::AddV2(root.WithDevice("/device:GPU:0"), b, a);
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({{x, Tensor::Vector<float>({0, 1, 2})}}, {c});
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorNear((*out)[0], Tensor::Vector<float>({1, 3.7182817f, 58.598150f}));
}

TEST(GpuSession, LoopsRunOnTheGpu) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {2}});
  std::vector<Output> out = While(
      root, {Constant(root, 0), x},
      [](const Scope& s, const std::vector<Output>& v) { return ops::Less(s, v[0], Constant(s, 5)); },
      [](const Scope& s, const std::vector<Output>& v) {
        return std::vector<Output>{ops::AddV2(s, v[0], Constant(s, 1)), ops::Mul(s, v[1], v[1])};
      });
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  auto result = (*session)->Run({{x, Tensor::Vector<float>({1.0f, 1.1f})}}, {out[1]});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR((*result)[0].data<float>()[1], 21.1137f, 1e-2);
}

TEST(GpuSession, MemoryThatIsOutIsAnErrorThatSaysWhoHoldsIt) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  Output x = ops::Placeholder(root, DType::kFloat);
  Output y = ops::BroadcastTo(root.WithDevice("/device:GPU:0"), x, {1 << 15, 1 << 14});
  Output z = ops::Sum(root.WithDevice("/device:GPU:0"), y, {0, 1});
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({{x, Tensor::Scalar(1.0f)}}, {z});
  EXPECT_EQ(out.status().code(), absl::StatusCode::kResourceExhausted) << out.status();
  EXPECT_NE(Message(out.status()).find("Largest holders:"), std::string::npos) << out.status();
  auto again = (*session)->Run({{y, Random(DType::kFloat, {3, 2})}}, {z});
  EXPECT_TRUE(again.ok()) << again.status();
}

// Traces tell how much of the device's memory was in use after each operation, also in their wire format.
TEST(GpuSession, TracesHaveTheMemoryInUse) {
  const Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice("/device:GPU:0");
  Output x = ops::Placeholder(root, DType::kFloat);
  Output large = ops::BroadcastTo(root.WithName("large"), x, {1 << 10, 1 << 10});
  Output sum = ops::Sum(root.WithName("sum"), ops::Cumsum(root, large, 0), {0, 1});
  SessionOptions options;
  options.rewrites.disable_all = true;
  auto session = ClientSession::Create(root, options);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->Update().ok());
  StepOptions step;
  step.trace = TraceLevel::kFull;
  std::vector<Tensor> out;
  StepReport report;
  const std::vector<Feed> feeds = {{x.name(), Tensor::Scalar(1.0f)}};
  const std::vector<std::string> fetches = {sum.name()};
  ASSERT_EQ((*session)->session().Run(step, feeds, fetches, {}, &out, &report), OkStatus());
  RunMetadata metadata;
  report.ToProto(&metadata);
  const StepReport again = StepReport::FromProto(metadata);
  int gpus = 0;
  for (const DeviceStats& device : again.devices) {
    const NodeStats* peak = PeakMemory(device);
    if (!device.device.ends_with("GPU:0")) {
      EXPECT_EQ(peak, nullptr) << device.device;
      continue;
    }
    ++gpus;
    ASSERT_NE(peak, nullptr);
    EXPECT_GE(peak->device_bytes, 4 << 20);
  }
  EXPECT_EQ(gpus, 1);
  EXPECT_NE(report.ToChromeTrace().find("\"memory in use\""), std::string::npos);
}

TEST(GpuSession, SummariesHaveThePeakOfMemory) {
  nn::Model model(nn::Dense(3), {{4}}, /*seed=*/1, GpuEnvironment());
  EXPECT_NE(model.Summary().find("15 parameters"), std::string::npos) << model.Summary();
  ASSERT_EQ(model.Predict(Random(DType::kFloat, {2, 4})).status(), OkStatus());
  EXPECT_NE(model.Summary().find("device:GPU:0: "), std::string::npos) << model.Summary();
}

// The last one who needs the devices may be a callback of theirs.
TEST(GpuSession, AnEnvironmentMayEndInACallbackOfItsDevice) {
  ChooseDriver();
  std::shared_ptr<Environment> environment = MakeEnvironment().value();
  Device* gpu = environment->devices.Find("/job:localhost/replica:0/task:0/device:GPU:0");
  ASSERT_NE(gpu, nullptr);
  struct Last {
    std::shared_ptr<Environment> environment;
    absl::Notification may_end, *ended;
    ~Last() {
      environment.reset();
      ended->Notify();
    }
  };
  absl::Notification ended;
  auto last = std::make_shared<Last>();
  last->environment = environment;
  last->ended = &ended;
  Last& waiting = *last;
  Tensor tensor;
  gpu->CopyFromHost(Tensor::Scalar(1.0f), nullptr, [&](StatusOr<Tensor> copied) { tensor = *copied; });
  gpu->CopyToHost(tensor, nullptr, [last](StatusOr<Tensor>) { last->may_end.WaitForNotification(); });
  tensor = {};
  last.reset();
  environment.reset();
  waiting.may_end.Notify();
  ended.WaitForNotification();
}

}  // namespace
}  // namespace weir::gpu_testing
