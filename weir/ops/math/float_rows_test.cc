// Rows of floats have loops of their own for extremes and orders; they must agree with those of doubles.
#include <gtest/gtest.h>

#include <cmath>

#include "weir/ops/math/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// Few different values, so that many are equal; some zeros of both signs, some NaN.
template <typename T>
Tensor Steps(const Shape& shape) {
  Tensor out = Tensor::Zeros(kDTypeOf<T>, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const int64_t step = i * 7919 % 101 - 50;
    out.data<T>()[i] = i % 37 == 5 ? T(NAN) : i % 11 == 3 ? T(-0.0) : static_cast<T>(step) / 8;
  }
  return out;
}

class FloatRowsTest : public testing::Test {
 protected:
  std::vector<Tensor> RunAll(KernelCall call) {
    auto out = call.Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *out : std::vector<Tensor>(2);
  }
  KernelRunner run{RegisterMathKernels};
};

TEST_F(FloatRowsTest, Extremes) {
  for (int64_t columns : {1, 15, 64, 1000}) {
    SCOPED_TRACE(columns);
    const Shape shape{50, columns};
    for (std::string_view op : {"ArgMax", "ArgMin"}) {
      ExpectTensorEqual(RunAll(run(op).Inputs({Steps<float>(shape), Tensor::Scalar<int32_t>(1)}))[0],
                        RunAll(run(op).Inputs({Steps<double>(shape), Tensor::Scalar<int32_t>(1)}))[0]);
    }
  }
  Tensor none = TensorOf<float>({3, 2}, {NAN, NAN, NAN, -INFINITY, -INFINITY, -INFINITY});
  ExpectTensorEqual(RunAll(run("ArgMax").Inputs({none, Tensor::Scalar<int32_t>(1)}))[0],
                    TensorOf<int64_t>({3}, {0, 1, 0}));
}

TEST_F(FloatRowsTest, LongOrders) {
  const Shape shape{2, 3000};
  for (int32_t k : {1, 500, 3000}) {
    SCOPED_TRACE(k);
    std::vector<Tensor> narrow = RunAll(run("TopKV2").Inputs({Steps<float>(shape), Tensor::Scalar(k)}));
    std::vector<Tensor> wide = RunAll(run("TopKV2").Inputs({Steps<double>(shape), Tensor::Scalar(k)}));
    ExpectTensorEqual(narrow[1], wide[1]);
  }
}

// The first few are those of the whole order, also where there are ties.
TEST_F(FloatRowsTest, TheFirstFewOfAnOrder) {
  const int64_t columns = 300;
  Tensor x = Steps<float>({2, columns});
  for (int64_t i = 0; i < columns; ++i) {
    if (std::isnan(x.data<float>()[i])) x.data<float>()[i] = -100;
    x.data<float>()[columns + i] = static_cast<float>(i % 7);
  }
  Tensor all = RunAll(run("TopKV2").Inputs({x, Tensor::Scalar(static_cast<int32_t>(columns))}))[1];
  for (int32_t k : {1, 2, 7, 60}) {
    Tensor few = RunAll(run("TopKV2").Inputs({x, Tensor::Scalar(k)}))[1];
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_EQ(few.data<int32_t>()[row * k + i], all.data<int32_t>()[row * columns + i]) << row << " " << i;
      }
    }
  }
}

TEST_F(FloatRowsTest, LogarithmsOutsideTheirDomain) {
  Tensor x = Tensor::Zeros(DType::kFloat, {64}).value();
  for (int64_t i = 0; i < 64; ++i) x.data<float>()[i] = static_cast<float>(i % 8) - 4;
  x.data<float>()[9] = NAN;
  x.data<float>()[10] = INFINITY;
  Tensor log = RunAll(run("Log").Input(x))[0], log1p = RunAll(run("Log1p").Input(x))[0];
  for (int64_t i = 0; i < 64; ++i) {
    auto expect_same = [](float got, float want) {
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got));
      } else {
        EXPECT_FLOAT_EQ(got, want);
      }
    };
    expect_same(log.data<float>()[i], std::log(x.data<float>()[i]));
    expect_same(log1p.data<float>()[i], std::log1p(x.data<float>()[i]));
  }
}

}  // namespace
}  // namespace weir
