#include <limits>

#include "gtest/gtest.h"
#include "weir/ops/math/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct BinaryCase {
  const char* op;
  DType dtype;
  std::vector<double> a, b, expected;
};

Tensor Numbers(DType dtype, const std::vector<double>& values) {
  Tensor out = Tensor::Allocate(dtype, Shape({static_cast<int64_t>(values.size())})).value();
  DispatchDType(dtype, decltype(RealTypes{} + TypeList<bool>{}){}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        out.data<T>()[i] = T(static_cast<float>(values[i]));
      } else {
        out.data<T>()[i] = static_cast<T>(values[i]);
      }
    }
  });
  return out;
}

TEST(ArithmeticTest, EdgeValues) {
  KernelRunner run({RegisterMathKernels});
  const double least32 = -2147483648.0, most32 = 2147483647.0;
  const BinaryCase cases[] = {
      {"AddV2", DType::kInt32, {most32, 1}, {1, 2}, {least32, 3}},
      {"AddV2", DType::kInt8, {127}, {1}, {-128}},
      {"Sub", DType::kUInt8, {0}, {1}, {255}},
      {"Mul", DType::kInt32, {65536, 3}, {65536, -4}, {0, -12}},
      {"Mul", DType::kUInt16, {65535}, {65535}, {1}},
      {"AddV2", DType::kHalf, {2048, 1.5}, {1, 0.25}, {2048, 1.75}},
      {"AddV2", DType::kBFloat16, {256}, {1}, {256}},
      {"Maximum", DType::kFloat, {1, kNaN, 2, -0.0}, {kNaN, 1, 3, -1}, {kNaN, kNaN, 3, 0}},
      {"Minimum", DType::kDouble, {1, kNaN, 2}, {kNaN, 1, 3}, {kNaN, kNaN, 2}},
      {"FloorDiv", DType::kInt32, {7, -7, 7, -7, least32}, {2, 2, -2, -2, -1}, {3, -4, -4, 3, least32}},
      {"FloorDiv", DType::kFloat, {7.5, -7.5, 1}, {2, 2, 0}, {3, -4, kInf}},
      {"FloorMod", DType::kInt32, {7, -7, 7, -7, least32}, {3, 3, -3, -3, -1}, {1, 2, -2, -1, 0}},
      {"FloorMod", DType::kFloat, {-7.5, 7.5, 1, 5}, {2, -2, 0, kInf}, {0.5, -0.5, kNaN, 5}},
      {"TruncateDiv", DType::kInt64, {-7, 7}, {2, -2}, {-3, -3}},
      {"TruncateMod", DType::kInt32, {-7, 7}, {3, -3}, {-1, 1}},
      {"Div", DType::kInt16, {-7, -32768}, {2, -1}, {-3, -32768}},
      {"RealDiv", DType::kFloat, {1, -1, 0}, {0, 0, 0}, {kInf, -kInf, kNaN}},
      {"DivNoNan", DType::kFloat, {1, kNaN, 6}, {0, 0, 3}, {0, 0, 2}},
      {"MulNoNan", DType::kFloat, {kInf, kNaN, 6}, {0, 0, 3}, {0, 0, 18}},
      {"Xlogy", DType::kFloat, {0, 0, 1}, {0, kNaN, 0}, {0, 0, -kInf}},
      {"Xdivy", DType::kFloat, {0, 3}, {0, 2}, {0, 1.5}},
      {"Pow", DType::kInt32, {0, 2, -3, 2}, {0, 10, 3, 32}, {1, 1024, -27, 0}},
      {"Pow", DType::kDouble, {-8, 2}, {1.0 / 3, 0.5}, {kNaN, 1.4142135623730951}},
      {"SquaredDifference", DType::kInt32, {5}, {8}, {9}},
      {"LeftShift", DType::kInt32, {1, 1, 1}, {4, 40, -1}, {16, least32, 1}},
      {"RightShift", DType::kInt32, {-8, -8, 8}, {1, 40, 40}, {-4, -1, 0}},
      {"BitwiseXor", DType::kUInt8, {0xf0}, {0xff}, {0x0f}},
  };
  for (const BinaryCase& c : cases) {
    SCOPED_TRACE(Cat(c.op, " of ", Name(c.dtype)));
    auto out = run(c.op).Input(Numbers(c.dtype, c.a)).Input(Numbers(c.dtype, c.b)).Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorNear((*out)[0], Numbers(c.dtype, c.expected), 1e-15, 0);
  }
}

TEST(ArithmeticTest, RefusesWhatIntegersCannotDo) {
  KernelRunner run({RegisterMathKernels});
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "Mod"}) {
    auto out = run(op).Input(Tensor::Vector<int32_t>({1, 2})).Input(Tensor::Vector<int32_t>({1, 0})).Run();
    EXPECT_EQ(out.status(), InvalidArgument("Integer division by zero")) << op;
  }
  auto out = run("Pow").Input(Tensor::Scalar<int32_t>(2)).Input(Tensor::Scalar<int32_t>(-1)).Run();
  EXPECT_EQ(out.status(), InvalidArgument("Integers to negative integer powers are not allowed"));
  // Nothing to divide, nothing to refuse.
  EXPECT_TRUE(run("Div").Input(Numbers(DType::kInt32, {})).Input(Tensor::Scalar<int32_t>(0)).Run().ok());
}

struct BroadcastCase {
  Shape a, b, expected;
};

TEST(ArithmeticTest, Broadcasts) {
  KernelRunner run({RegisterMathKernels});
  const BroadcastCase cases[] = {
      {{}, {}, {}},
      {{3}, {}, {3}},
      {{}, {2, 3}, {2, 3}},
      {{2, 3}, {3}, {2, 3}},
      {{2, 1}, {1, 3}, {2, 3}},
      {{1}, {1, 1}, {1, 1}},
      {{2, 1, 4}, {3, 1}, {2, 3, 4}},
      {{0, 3}, {3}, {0, 3}},
      {{2, 3, 1, 5}, {1, 3, 4, 1}, {2, 3, 4, 5}},
      {{1, 3}, {3}, {1, 3}},
  };
  for (const BroadcastCase& c : cases) {
    SCOPED_TRACE(Cat(c.a.ToString(), " + ", c.b.ToString()));
    auto count = [](const Shape& shape, float first) {
      Tensor out = Tensor::Allocate(DType::kFloat, shape).value();
      for (int64_t i = 0; i < out.num_elements(); ++i) out.data<float>()[i] = first + i;
      return out;
    };
    Tensor a = count(c.a, 0), b = count(c.b, 1000);
    auto out = run("Sub").Input(a).Input(b).Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ASSERT_EQ((*out)[0].shape(), c.expected);
    // Element by element through the full index.
    for (int64_t i = 0; i < c.expected.num_elements(); ++i) {
      int64_t rest = i, at_a = 0, at_b = 0, step_a = 1, step_b = 1;
      for (int d = 0; d < c.expected.rank(); ++d) {
        int64_t size = c.expected.dim(c.expected.rank() - 1 - d), k = rest % size;
        rest /= size;
        int64_t size_a = d < c.a.rank() ? c.a.dim(c.a.rank() - 1 - d) : 1;
        int64_t size_b = d < c.b.rank() ? c.b.dim(c.b.rank() - 1 - d) : 1;
        at_a += size_a == 1 ? 0 : k * step_a;
        at_b += size_b == 1 ? 0 : k * step_b;
        step_a *= size_a;
        step_b *= size_b;
      }
      ASSERT_EQ((*out)[0].data<float>()[i], a.data<float>()[at_a] - b.data<float>()[at_b]) << i;
    }
  }
  auto wrong = run("AddV2").Input(Tensor::Vector<float>({1, 2})).Input(Tensor::Vector<float>({1, 2, 3})).Run();
  EXPECT_EQ(wrong.status(), InvalidArgument("Incompatible shapes: [2] vs. [3]"));
}

TEST(ArithmeticTest, ReusesTheMemoryOfAnInputNobodyElseHolds) {
  KernelRunner run({RegisterMathKernels});
  Tensor a = Tensor::Vector<float>({1, 2}), b = Tensor::Scalar(10.f);
  auto kernel = run("Mul").Input(a).Input(b).Prepare();
  ASSERT_TRUE(kernel.ok());
  const void* memory = a.raw_data();
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(a));
  inputs.push_back(b);
  // The call above kept its own reference, so the first run copies; a clone is taken over.
  auto clone = inputs[0].Clone().value();
  const void* clone_memory = clone.raw_data();
  auto out = kernel->Run(std::move(inputs));
  ASSERT_TRUE(out.ok());
  ExpectTensorEqual((*out)[0], Tensor::Vector<float>({10, 20}));
  std::vector<Tensor> again;
  again.push_back(std::move(clone));
  again.push_back(b);
  auto reused = kernel->Run(std::move(again));
  ASSERT_TRUE(reused.ok());
  EXPECT_EQ((*reused)[0].raw_data(), clone_memory);
  EXPECT_NE(memory, clone_memory);
}

TEST(ArithmeticTest, LargeTensorsAreSplitOverThreads) {
  KernelRunner run({RegisterMathKernels});
  const int64_t n = 300001;
  Tensor a = Tensor::Allocate(DType::kInt32, Shape({n})).value();
  for (int64_t i = 0; i < n; ++i) a.data<int32_t>()[i] = static_cast<int32_t>(i);
  auto out = run("Mul").Input(a).Input(Tensor::Scalar<int32_t>(3)).Run();
  ASSERT_TRUE(out.ok());
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ((*out)[0].data<int32_t>()[i], 3 * i);
}

TEST(ArithmeticTest, JoinsStrings) {
  KernelRunner run({RegisterMathKernels});
  auto out = run("Add").Input(Tensor::Vector<std::string>({"a", "b"})).Input(Tensor::Scalar("-x")).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::Vector<std::string>({"a-x", "b-x"}));
}

TEST(ArithmeticTest, SumsManyTensors) {
  KernelRunner run({RegisterMathKernels});
  Tensor x = Tensor::Vector<float>({1, 2});
  auto out = run("AddN").Input(x).Input(x).Input(x).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::Vector<float>({3, 6}));
  auto wrong = run("AddN").Input(x).Input(Tensor::Scalar(1.f)).Run();
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
