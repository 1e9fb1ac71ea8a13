#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::gpu_testing {
namespace {

const std::vector<DType> kTypes = {DType::kFloat,  DType::kDouble, DType::kHalf,      DType::kBFloat16,  DType::kInt8,
                                   DType::kUInt8,  DType::kInt16,  DType::kUInt16,    DType::kInt64,     DType::kUInt32,
                                   DType::kUInt64, DType::kBool,   DType::kComplex64, DType::kComplex128};

TEST(GpuElementwise, BinaryOperationsAgreeWithTheHostForAllTypes) {
  for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "Equal", "Less",
                         "GreaterEqual", "BitwiseXor", "LogicalAnd", "Pow", "FloorMod", "DivNoNan"}) {
    int count = 0;
    for (DType dtype : kTypes) {
      if (!HasGpuKernel(op, {{"T", dtype}})) continue;
      ++count;
      const bool positive = std::string(op) == "Pow" || std::string(op) == "FloorMod";
      auto make = positive ? RandomPositive : Random;
      ExpectAgree(op, {make(dtype, {3, 5}, 1), make(dtype, {3, 5}, 2)}, {});
    }
    EXPECT_GT(count, 0) << op;
  }
}

TEST(GpuElementwise, OperandsBroadcast) {
  ExpectAgree("AddV2", {Random(DType::kFloat, {2, 3, 4}), Random(DType::kFloat, {4}, 2)});
  ExpectAgree("Mul", {Random(DType::kFloat, {2, 1, 4}), Random(DType::kFloat, {3, 1}, 2)});
  ExpectAgree("Sub", {Random(DType::kFloat, {}), Random(DType::kFloat, {3, 1}, 2)});
  ExpectAgree("AddV2", {Random(DType::kFloat, {0, 4}), Random(DType::kFloat, {4}, 2)});
  ExpectAgree("AddV2", {Random(DType::kFloat, {2}), Random(DType::kFloat, {3}, 2)});  // an error
  ExpectAgree("SelectV2",
              {Random(DType::kBool, {2, 1}), Random(DType::kFloat, {3}, 2), Random(DType::kFloat, {2, 3}, 3)});
}

TEST(GpuElementwise, LargeTensorsAreReadInVectors) {
  ExpectAgree("AddV2", {Random(DType::kFloat, {128, 64}), Random(DType::kFloat, {128, 64}, 2)});
  ExpectAgree("Mul", {Random(DType::kHalf, {128, 64}), Random(DType::kHalf, {}, 2)});
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kInt8}) {
    for (int64_t row : {64, 36, 42, 43}) {
      const Tensor x = Random(dtype, {40, 3, row}), last = Random(dtype, {row}, 2),
                   first = Random(dtype, {40, 1, 1}, 3), middle = Random(dtype, {3, 1}, 4),
                   both = Random(dtype, {40, 1, row}, 5);
      for (const Tensor& y : {last, first, middle, both}) ExpectAgree("AddV2", {x, y});
      ExpectAgree("Sub", {both, middle});
      ExpectAgree("Mul", {Random(dtype, {40, 3, 1}, 6), last});
    }
  }
}

TEST(GpuElementwise, FunctionsAgreeWithTheHost) {
  for (const char* op :
       {"Exp",   "Log",   "Tanh",  "Sigmoid", "Sqrt", "Rsqrt", "Erf",  "Lgamma",   "Softplus", "Elu", "Sin",
        "Floor", "Log1p", "Expm1", "Square",  "Neg",  "Abs",   "Sign", "IsFinite", "Relu",     "Selu"}) {
    for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kComplex64}) {
      if (HasGpuKernel(op, {{"T", dtype}})) ExpectAgree(op, {RandomPositive(dtype, {7, 3})}, {});
    }
  }
}

TEST(GpuElementwise, DivisionsOfComplexNumbersAgreeAtTheirEnds) {
  const double parts[] = {0, -0.0, 1, -2, 1e20, INFINITY, -INFINITY, NAN};
  std::vector<std::complex<double>> numbers;
  for (double real : parts) {
    for (double imaginary : parts) numbers.emplace_back(real, imaginary);
  }
  std::vector<std::complex<double>> x, y;
  for (const auto& a : numbers) {
    for (const auto& b : numbers) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const Tensor wide_x = Tensor::Vector<std::complex<double>>(x), wide_y = Tensor::Vector<std::complex<double>>(y);
  ExpectAgree("RealDiv", {wide_x, wide_y});
  ExpectAgree("Xdivy", {wide_x, wide_y});
  auto narrow = [](const Tensor& from) {
    return RunOn("/device:CPU:0", "Cast", {from}, {{"DstT", DType::kComplex64}}).value()[0];
  };
  ExpectAgree("RealDiv", {narrow(wide_x), narrow(wide_y)});
}

// On which side of a cut a number lies, the sign of its zero says.
TEST(GpuElementwise, FunctionsOfComplexNumbersAgreeBesideTheirCuts) {
  const double parts[] = {0, -0.0, 0.5, -0.5, 2, -2};
  std::vector<std::complex<double>> numbers;
  for (double real : parts) {
    for (double imaginary : parts) numbers.emplace_back(real, imaginary);
  }
  const Tensor x = Tensor::Vector<std::complex<double>>(numbers);
  for (const char* op : {"Log", "Log1p", "Sqrt", "Rsqrt", "Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh"}) {
    ExpectAgree(op, {x});
  }
  ExpectAgree("Xlog1py", {x, x});
}

TEST(GpuElementwise, CastsOfSmallIntegersAgree) {
  std::vector<int64_t> values;
  for (int64_t i = -40; i < 40; ++i) values.push_back(i * 7);
  for (DType tiny : {DType::kInt4, DType::kUInt4}) {
    for (DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kInt64, DType::kUInt64}) {
      auto cast = [](const std::string& device, const Tensor& from, DType to) {
        return RunOn(device, "Cast", {from}, {{"DstT", to}}).value()[0];
      };
      const std::string host = "/device:CPU:0", gpu = "/device:GPU:0";
      ASSERT_TRUE(HasGpuKernel("Cast", {{"SrcT", dtype}, {"DstT", tiny}}));
      const Tensor from = cast(host, Tensor::Vector<int64_t>(values), dtype);
      const Tensor small = cast(host, from, tiny);
      ExpectTensorEqual(cast(host, cast(gpu, from, tiny), dtype), cast(host, small, dtype));
      ExpectTensorEqual(cast(gpu, small, dtype), cast(host, small, dtype));
    }
  }
  EXPECT_FALSE(HasGpuKernel("Cast", {{"SrcT", DType::kFloat}, {"DstT", DType::kFloat8E5M2}}));  // the host's
}

TEST(GpuElementwise, ALimitThatIsNotANumberIsNone) {
  const float nan = NAN;
  const std::vector<float> values = {1, -3, 3, nan, 1, -3, 3, nan, 0.5f},
                           lows = {nan, nan, nan, nan, -2, -2, -2, -2, 1}, highs = {2, 2, 2, 2, nan, nan, nan, nan, -1};
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
    auto typed = [&](const std::vector<float>& from) {
      return RunOn("/device:CPU:0", "Cast", {Tensor::Vector<float>(from)}, {{"DstT", dtype}}).value()[0];
    };
    ExpectAgree("ClipByValue", {typed(values), typed(lows), typed(highs)});
  }
}

TEST(GpuElementwise, ReductionsAgreeWithTheHost) {
  const Tensor last = Tensor::Vector<int32_t>({-1}), first = Tensor::Vector<int32_t>({0}),
               both = Tensor::Vector<int32_t>({0, 2}), none = Tensor::Vector<int32_t>({});
  for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod"}) {
    for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kInt64}) {
      if (!HasGpuKernel(op, {{"T", dtype}, {"Tidx", DType::kInt32}})) continue;
      for (const Tensor& axes : {last, first, both, none}) {
        ExpectAgree(op, {Random(dtype, {3, 4, 5}), axes}, {{"keep_dims", true}});
      }
    }
  }
  ExpectAgree("Sum", {Random(DType::kFloat, {64, 300}), Tensor::Vector<int32_t>({0, 1})}, {}, 1e-4);
  ExpectAgree("Mean", {Random(DType::kFloat, {9000}), first}, {}, 1e-4);
  ExpectAgree("Sum", {Random(DType::kFloat, {9000, 3}), first}, {}, 1e-4);
  // Packs of columns and of runs, in pieces and at once, and lengths that make no whole packs.
  for (DType dtype : {DType::kFloat, DType::kBFloat16, DType::kDouble, DType::kComplex128, DType::kInt8}) {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{1200, 64}, {1100, 12}, {5, 4096}, {3, 7}}) {
      for (const Tensor& axes : {first, last}) {
        const double tolerance = dtype == DType::kBFloat16 ? 2e-2 : 1e-4;
        ExpectAgree("Sum", {Random(dtype, shape), axes}, {}, tolerance);
        if (dtype == DType::kFloat) ExpectAgree("Max", {Random(dtype, shape), axes});
      }
    }
  }
  ExpectAgree("Mean", {Random(DType::kHalf, {8, 5000}), last}, {}, 1e-2);
  ExpectAgree("All", {Random(DType::kBool, {700, 32}), first});
  ExpectAgree("Sum", {Random(DType::kFloat, {40, 6, 33}), both}, {}, 1e-4);
  ExpectAgree("Sum", {Random(DType::kFloat, {0, 3}), first});
  ExpectAgree("Any", {Random(DType::kBool, {4, 3}), last});
}

}  // namespace
}  // namespace weir::gpu_testing
