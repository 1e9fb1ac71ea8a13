// Networks of convolutions on GPUs: trained as on the host, and the same in every run if told.
#include <gtest/gtest.h>

#include <limits>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

std::shared_ptr<Environment> HostAlone() {
  static auto* environment = [] {
    ChooseDriver();
    EnvironmentOptions options;
    options.gpu.enabled = false;
    return new std::shared_ptr<Environment>(MakeEnvironment(options).value());
  }();
  return *environment;
}

// A convolution, a batch norm, a pool and a dense layer, trained for some steps; the losses.
StatusOr<std::vector<float>> TrainNetwork(const std::shared_ptr<Environment>& environment, int steps,
                                          const SessionOptions& options = {}) {
  Scope root = Scope::NewRoot(environment);
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 8, 8, 3}});
  Output labels = ops::Placeholder(root, DType::kInt64, {.shape = {-1}});
  Variable filter(root, "filter", Random(DType::kFloat, {3, 3, 3, 8}, 7));
  Variable scale(root, "scale", Shape({8}), init::Ones()), offset(root, "offset", Shape({8}), init::Zeros());
  Variable weights(root, "weights", Random(DType::kFloat, {128, 4}, 8)), bias(root, "bias", Shape({4}), init::Zeros());
  const Tensor none = Tensor::Vector<float>({});
  Output image = ops::Conv2D(root, x, filter.value(), {1, 1, 1, 1}, "SAME");
  image = ops::FusedBatchNormV3(root, image, scale.value(), offset.value(), none, none).y;
  image = ops::MaxPool(root, ops::Relu(root, image), {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  Output flat = ops::Reshape(root, image, Tensor::Vector<int32_t>({-1, 128}));
  Output logits = ops::BiasAdd(root, ops::MatMul(root, flat, weights.value()), bias.value());
  Output loss = loss::SparseCategoricalCrossentropy()(root, labels, logits);
  Training training = optimizer::Adam({.learning_rate = 0.01f}).Minimize(root, loss);
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root, options));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  const Tensor images = Random(DType::kFloat, {6, 8, 8, 3}, 3);
  const Tensor classes = Tensor::Vector<int64_t>({0, 1, 2, 3, 0, 1});
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                          session->Run({{x, images}, {labels, classes}}, {loss}, {training.op}));
    losses.push_back(out[0].scalar<float>());
  }
  return losses;
}

TEST(GpuNetwork, TrainsAsTheHostDoes) {
  auto host = TrainNetwork(HostAlone(), 6);
  auto gpu = TrainNetwork(GpuEnvironment(), 6);
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_LT(host->back(), host->front());
  for (size_t i = 0; i < host->size(); ++i) EXPECT_NEAR((*gpu)[i], (*host)[i], 1e-3) << "step " << i;
}

TEST(GpuNetwork, MixedPrecisionTrainsAsFloat32Does) {
  auto exact = TrainNetwork(GpuEnvironment(), 6);
  ASSERT_TRUE(exact.ok()) << exact.status();
  for (DType precision : {DType::kBFloat16, DType::kHalf}) {
    SessionOptions options;
    options.mixed_precision = precision;
    auto mixed = TrainNetwork(GpuEnvironment(), 6, options);
    ASSERT_TRUE(mixed.ok()) << mixed.status();
    EXPECT_NE((*mixed)[1], (*exact)[1]);
    for (size_t i = 0; i < exact->size(); ++i) {
      EXPECT_NEAR((*mixed)[i], (*exact)[i], 0.02f * (*exact)[i]) << Name(precision) << ", step " << i;
    }
  }
}

// A step whose gradients are not finite updates nothing: what is dead on the host is dead on the GPU.
TEST(GpuNetwork, StepsThatAreNotFiniteAreSkipped) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {4}});
  Variable w(root, "w", Random(DType::kFloat, {4}, 3));
  Training training = optimizer::Adam({.learning_rate = 0.1})
                          .Minimize(root, ops::Sum(root, ops::Mul(root, w.value(), x), {0}),
                                    {.loss_scale = LossScaleOptions(), .accumulation_steps = 2});
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->RunTargets({InitializeVariables(root)}).ok());
  auto step = [&](float value) {
    const Status status = (*session)->RunTargets({training.op}, {{x, Tensor::Vector<float>({1, value, 2, 3})}});
    EXPECT_TRUE(status.ok()) << status;
    return (*session)->Evaluate(training.step).value().scalar<int64_t>();
  };
  const Tensor before = (*session)->Evaluate(w).value();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(step(infinity), 0);
  EXPECT_EQ(step(1), 0);
  ExpectTensorEqual((*session)->Evaluate(w).value(), before);
  EXPECT_EQ(step(1), 0);
  EXPECT_EQ(step(1), 1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR((*session)->Evaluate(w).value().data<float>()[i], before.data<float>()[i] - 0.1f, 1e-3f);
  }
}

// Kernels that otherwise add up in any order.
TEST(GpuNetwork, DeterministicSessionsAddInOrder) {
  Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice("/device:GPU:0");
  const Tensor image = Random(DType::kFloat, {2, 4, 4, 3}), gradient = Random(DType::kFloat, {2, 3, 3, 3}, 2);
  auto pool = ops::MaxPoolWithArgmax(root, image, {1, 2, 2, 1}, {1, 1, 1, 1}, "VALID");
  Output spread = ops::MaxPoolGradWithArgmax(root, image, gradient, pool.argmax, {1, 2, 2, 1}, {1, 1, 1, 1}, "VALID");
  const Tensor places = Tensor::FromSpan<int64_t>(std::vector<int64_t>{0, 1, 0, 2, 2, 0}, Shape({3, 2}));
  const Tensor values = Random(DType::kFloat, {3}, 4), dense = Random(DType::kFloat, {3, 5}, 5);
  Output product = ops::SparseTensorDenseMatMul(root, places, values, Tensor::Vector<int64_t>({3, 3}), dense);
  SessionOptions options;
  options.deterministic = true;
  auto session = ClientSession::Create(root, options);
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({}, {spread, product});
  ASSERT_TRUE(out.ok()) << out.status();
  const Attrs windows = {
      {"ksize", AttrList{.i = {1, 2, 2, 1}}}, {"strides", AttrList{.i = {1, 1, 1, 1}}}, {"padding", "VALID"}};
  const std::vector<Tensor> pooled = RunOn("/device:CPU:0", "MaxPoolWithArgmax", {image}, windows).value();
  const std::vector<Tensor> expected =
      RunOn("/device:CPU:0", "MaxPoolGradWithArgmax", {image, gradient, pooled[1]}, windows).value();
  ExpectTensorNear((*out)[0], expected[0], 1e-6, 1e-6);
  const std::vector<Tensor> multiplied =
      RunOn("/device:CPU:0", "SparseTensorDenseMatMul", {places, values, Tensor::Vector<int64_t>({3, 3}), dense}, {})
          .value();
  ExpectTensorNear((*out)[1], multiplied[0], 1e-6, 1e-6);
}

}  // namespace
}  // namespace weir::gpu_testing
