// Operations that run at once on GPUs: where they run, where their results are, when the host waits.
#include "weir/client/eager/eager.h"

#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::gpu_testing {
namespace {

constexpr char kGpu[] = "/job:localhost/replica:0/task:0/device:GPU:0";
constexpr char kSecondGpu[] = "/job:localhost/replica:0/task:0/device:GPU:1";
constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";

class GpuEager : public testing::Test {
 protected:
  void SetUp() override {
    ChooseDriver();
    GpuOptions options;
    options.logical_devices = {{256 << 20, 256 << 20}};
    static const Status status = DefaultEnvironment()->SetGpuOptions(options);
    ASSERT_TRUE(status.ok()) << status;
  }
};

EagerTensor Numbers() { return eager::Constant(Tensor::Vector<float>({1, 2, 3})); }

TEST_F(GpuEager, ResultsStayInTheMemoryOfTheDevice) {
  EagerTensor x = Numbers();
  EXPECT_EQ(x.device(), kGpu);
  EagerTensor y = eager::Square(x) + 1.0f;
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y.device(), kGpu);
  EXPECT_FALSE(y.tensor().in_host_memory());
  StatusOr<Tensor> value = y.value();
  ASSERT_TRUE(value.ok()) << value.status();
  ExpectTensorEqual(*value, Tensor::Vector<float>({2, 5, 10}));
  EXPECT_EQ(eager::Sum(y, {0}).scalar<float>(), 17);
}

TEST_F(GpuEager, FewIntegersAndTextsStayWithTheHost) {
  EagerTensor shape = eager::Shape(Numbers());
  EXPECT_EQ(shape.device(), kCpu);
  EXPECT_EQ((shape + shape).device(), kCpu);
  EXPECT_EQ(eager::Constant(Tensor::Vector<int64_t>({1, 2})).device(), kCpu);
  EagerTensor text = eager::AsString(Numbers());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text.device(), kCpu);
  EXPECT_EQ(text.value()->data<std::string>()[1].substr(0, 1), "2");
}

TEST_F(GpuEager, ScopesOfDevicesSayWhereOperationsRun) {
  EagerTensor x = Numbers(), on_host, on_second;
  {
    eager::OnDevice host("/device:CPU:0");
    on_host = eager::Square(x);
    EXPECT_EQ(eager::Identity(x).device(), kCpu);
  }
  EXPECT_EQ(on_host.device(), kCpu);
  {
    eager::OnDevice second("/device:GPU:1");
    on_second = eager::Square(x);
  }
  EXPECT_EQ(on_second.device(), kSecondGpu);
  EagerTensor sum = on_host + on_second;  // of tensors in three places
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum.device(), kGpu);
  ExpectTensorEqual(*sum.value(), Tensor::Vector<float>({2, 8, 18}));
}

TEST_F(GpuEager, ErrorsThatTheGpuFindsComeOutWhenAResultIsRead) {
  EagerTensor table = Numbers();
  EagerTensor rows = eager::Constant(Tensor::Vector<int64_t>({0, 7}));
  EagerTensor bad = eager::GatherNd(table, eager::ExpandDims(rows, 1));
  StatusOr<Tensor> value = bad.value();
  if (value.ok()) GTEST_SKIP() << "rows out of range are zeros here, as TensorFlow has them";
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << value.status();
  EXPECT_TRUE(eager::Square(table).value().ok());
}

TEST_F(GpuEager, VariablesLiveOnTheDeviceAndTapesReachThem) {
  eager::Variable w(Tensor::Vector<float>({1, 2, 3}));
  ASSERT_TRUE(w.status().ok()) << w.status();
  EXPECT_EQ(w.Read().device(), kGpu);
  GradientTape tape;
  EagerTensor loss = eager::Sum(eager::Square(w.Read()), {0});
  EagerTensor gradient = tape.Gradient(loss, w);
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(gradient.device(), kGpu);
  ASSERT_TRUE(w.AssignSub(gradient * 0.5f).ok());
  ExpectTensorEqual(*w.Read().value(), Tensor::Vector<float>({0, 0, 0}));
  eager::OnDevice host("/device:CPU:0");
  EXPECT_EQ(w.Read().device(), kGpu) << "an operation goes to its variable";
}

TEST_F(GpuEager, VariablesOfIntegersStayWithTheHost) {
  eager::Variable count(Tensor::Scalar(int32_t{3}));
  ASSERT_TRUE(count.AssignAdd(Tensor::Scalar(int32_t{4})).ok());
  EXPECT_EQ(count.Read().device(), kCpu);
  EXPECT_EQ(count.Read().scalar<int32_t>(), 7);
}

TEST_F(GpuEager, FunctionsTakeAndLeaveTensorsOnTheDevice) {
  eager::Variable w(Tensor::Vector<float>({1, 2, 3}));
  auto step = eager::Compile([&](EagerTensor x) {
    GradientTape tape;
    EagerTensor loss = eager::Sum(eager::Square(w.Read() - x), {0});
    w.AssignSub(tape.Gradient(loss, w) * 0.25f).IgnoreError();
    return loss;
  });
  EagerTensor x = eager::Constant(Tensor::Vector<float>({0, 0, 0}));
  float before = 1e9;
  for (int i = 0; i < 3; ++i) {
    EagerTensor loss = step(x);
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_EQ(loss.device(), kGpu);
    EXPECT_LT(loss.scalar<float>(), before);
    before = loss.scalar<float>();
  }
  EXPECT_EQ(w.Read().device(), kGpu);
  ExpectTensorNear(*w.Read().value(), Tensor::Vector<float>({0.125f, 0.25f, 0.375f}));
}

TEST_F(GpuEager, TapesDifferentiateCallsOfFunctions) {
  eager::Variable w(Tensor::Vector<float>({1, 2}));
  auto square = eager::Compile([&](EagerTensor x) { return eager::Sum(eager::Square(x * w.Read()), {0}); });
  EagerTensor x = eager::Constant(Tensor::Vector<float>({3, 4}));
  GradientTape tape;
  EagerTensor loss = square(x);
  EagerTensor gradient = tape.Gradient(loss, w);
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(gradient.device(), kGpu);
  ExpectTensorNear(*gradient.value(), Tensor::Vector<float>({18, 64}));
}

TEST_F(GpuEager, GraphsAreBuiltWithoutStartingTheCards) {
  if (DefaultEnvironment()->devices.is_complete()) GTEST_SKIP() << "another test of this process has started them";
  Scope root = Scope::NewRoot(DefaultEnvironment());
  Output x = ops::Placeholder(root, DType::kFloat);
  EXPECT_TRUE(root.ok());
  EXPECT_FALSE(DefaultEnvironment()->devices.is_complete());
}

}  // namespace
}  // namespace weir::gpu_testing
