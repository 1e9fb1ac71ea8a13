// Steps that are recorded and replayed: they compute what steps that run node by node compute.
#include "weir/device/cuda/recording.h"

#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

// A small network whose inputs are fed.
struct Trainer {
  std::unique_ptr<ClientSession> session;
  Output x, labels, loss, weights, reset;
  Operation train, assign;

  static StatusOr<Trainer> Make(const std::string& device, SessionOptions options = {}) {
    Trainer t;
    options.isolate_state = true;
    Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice(device);
    t.x = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 8}});
    t.labels = ops::Placeholder(root, DType::kInt64, {.shape = {-1}});
    Variable w1(root, "w1", Random(DType::kFloat, {8, 16}, 7)), b1(root, "b1", Shape({16}), init::Zeros());
    Variable w2(root, "w2", Random(DType::kFloat, {16, 3}, 8));
    Output hidden = ops::Tanh(root, ops::MatMul(root, t.x, w1.value()) + b1.value());
    Output logits = ops::MatMul(root, hidden, w2.value());
    t.loss = loss::SparseCategoricalCrossentropy()(root, t.labels, logits);
    t.train = optimizer::Momentum({.learning_rate = 0.05f}).Minimize(root, t.loss).op;
    t.weights = ops::Identity(root, w2.value());
    t.assign = w2.Assign(root, Random(DType::kFloat, {16, 3}, 9));
    WEIR_ASSIGN_OR_RETURN(t.session, ClientSession::Create(root, options));
    WEIR_RETURN_IF_ERROR(t.session->RunTargets({InitializeVariables(root)}));
    return t;
  }

  ClientSession::Feeds Batch(int64_t size, int seed, int64_t label = 2) const {
    Tensor classes = Tensor::Allocate(DType::kInt64, Shape({size})).value();
    for (int64_t i = 0; i < size; ++i) classes.data<int64_t>()[i] = (i + seed) % (label + 1);
    return {{x, Random(DType::kFloat, {size, 8}, seed)}, {labels, classes}};
  }
  StatusOr<float> Step(int64_t size, int seed) const {
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out, session->Run(Batch(size, seed), {loss}, {train}));
    return out[0].scalar<float>();
  }
};

TEST(GpuRecording, StepsWithFeedsAndFetchesAreReplayed) {
  auto host = Trainer::Make("/device:CPU:0"), gpu = Trainer::Make("/device:GPU:0");
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  const int64_t before = cuda::CountReplays();
  for (int i = 0; i < 24; ++i) {
    const int64_t size = i % 3 == 2 ? 5 : 12;  // two shapes, each with a recording
    auto expected = host->Step(size, i), actual = gpu->Step(size, i);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_NEAR(*actual, *expected, 2e-3) << "step " << i;
  }
  EXPECT_GE(cuda::CountReplays() - before, 16);
}

TEST(GpuRecording, VariablesMayBeReadAndReplacedBetweenSteps) {
  auto host = Trainer::Make("/device:CPU:0"), gpu = Trainer::Make("/device:GPU:0");
  ASSERT_TRUE(host.ok() && gpu.ok());
  std::vector<Tensor> seen, copies;
  for (int i = 0; i < 20; ++i) {
    if (i == 10) {
      for (Trainer* each : {&*host, &*gpu}) ASSERT_TRUE(each->session->RunTargets({each->assign}).ok());
    }
    auto expected = host->Step(12, i), actual = gpu->Step(12, i);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_NEAR(*actual, *expected, 2e-3) << "step " << i;
    auto weights = gpu->session->Run({gpu->weights});
    ASSERT_TRUE(weights.ok()) << weights.status();
    seen.push_back((*weights)[0]);
    copies.push_back((*weights)[0].Clone().value());
  }
  for (size_t i = 0; i < seen.size(); ++i) ExpectTensorEqual(seen[i], copies[i]);
  auto expected = host->session->Run({host->weights});
  ASSERT_TRUE(expected.ok());
  ExpectTensorNear(seen.back(), (*expected)[0], 2e-3, 2e-3);
}

TEST(GpuRecording, MemoryIsGivenBackWithTheSession) {
  Device* device = GpuEnvironment()->devices.Find("/job:localhost/replica:0/task:0/device:GPU:0");
  ASSERT_NE(device, nullptr);
  const int64_t before = device->allocator()->Stats().bytes_in_use;
  {
    auto gpu = Trainer::Make("/device:GPU:0");
    ASSERT_TRUE(gpu.ok()) << gpu.status();
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(gpu->Step(12, i).ok());
    EXPECT_GT(device->allocator()->Stats().bytes_in_use, before);
  }
  EXPECT_EQ(device->allocator()->Stats().bytes_in_use, before);
}

TEST(GpuRecording, EveryReplayDrawsNewRandomNumbers) {
  Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice("/device:GPU:0");
  Output drawn = ops::RandomUniform(root, Tensor::Vector<int32_t>({3, 5}), DType::kFloat, {.seed = 3, .seed2 = 4});
  Output changed = ops::Mul(root, drawn, 2.0f);
  Scope host = Scope::NewRoot(GpuEnvironment()).WithDevice("/device:CPU:0");
  Output same = ops::RandomUniform(host, Tensor::Vector<int32_t>({3, 5}), DType::kFloat, {.seed = 3, .seed2 = 4});
  auto gpu_session = ClientSession::Create(root), host_session = ClientSession::Create(host);
  ASSERT_TRUE(gpu_session.ok() && host_session.ok());
  const int64_t before = cuda::CountReplays();
  for (int i = 0; i < 8; ++i) {
    auto values = (*gpu_session)->Run({drawn, changed}), expected = (*host_session)->Run({same});
    ASSERT_TRUE(values.ok()) << values.status();
    ASSERT_TRUE(expected.ok()) << expected.status();
    SCOPED_TRACE(i);
    ExpectTensorEqual((*values)[0], (*expected)[0]);
  }
  EXPECT_GE(cuda::CountReplays() - before, 6);
}

TEST(GpuRecording, PipelinedStepsEndBeforeTheirWorkAndTellErrorsLater) {
  SessionOptions options;
  options.pipelined_steps = 4;
  auto host = Trainer::Make("/device:CPU:0"), gpu = Trainer::Make("/device:GPU:0", options);
  ASSERT_TRUE(host.ok() && gpu.ok());
  for (int i = 0; i < 20; ++i) {
    for (Trainer* each : {&*host, &*gpu}) {
      Status status = each->session->RunTargets({each->train}, each->Batch(12, i));
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  auto expected = host->Step(12, 50), actual = gpu->Step(12, 50);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_NEAR(*actual, *expected, 2e-3);
  // A label that is none of the three classes.
  Status late = gpu->session->RunTargets({gpu->train}, gpu->Batch(12, 1, /*label=*/7));
  for (int i = 0; i < 10 && late.ok(); ++i) late = gpu->session->RunTargets({gpu->train}, gpu->Batch(12, i));
  EXPECT_EQ(late.code(), absl::StatusCode::kInvalidArgument) << late;
  EXPECT_NE(late.ToString().find("label"), std::string::npos) << late;
  Status after;
  for (int i = 0; i < 8; ++i) after = gpu->session->RunTargets({gpu->train}, gpu->Batch(12, i));
  EXPECT_TRUE(after.ok()) << after;
}

}  // namespace
}  // namespace weir::gpu_testing
