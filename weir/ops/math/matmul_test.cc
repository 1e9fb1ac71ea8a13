// Products of floats, which the kernel library computes, held against those of doubles, which the loops compute.
#include <gtest/gtest.h>

#include <cmath>

#include "weir/ops/math/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

struct ProductRow {
  std::vector<int64_t> a, b;
  bool transpose_a = false, transpose_b = false;
};

template <typename T>
Tensor Wave(const Shape& shape, double frequency) {
  Tensor out = Tensor::Zeros(kDTypeOf<T>, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<T>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * frequency));
  }
  return out;
}

class ProductTest : public testing::Test {
 protected:
  template <typename T>
  Tensor Run(const ProductRow& row) {
    const bool is_batch = row.a.size() > 2 || row.b.size() > 2;
    KernelCall call = run(is_batch ? "BatchMatMulV2" : "MatMul");
    call.Inputs({Wave<T>(Shape::Make(row.a).value(), 0.7), Wave<T>(Shape::Make(row.b).value(), 0.3)});
    call.Attr(is_batch ? "adj_x" : "transpose_a", Attribute(row.transpose_a));
    call.Attr(is_batch ? "adj_y" : "transpose_b", Attribute(row.transpose_b));
    auto out = call.Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? (*out)[0] : Tensor();
  }
  KernelRunner run{RegisterMathKernels};
};

TEST_F(ProductTest, AreWhatTheLoopsCompute) {
  const ProductRow kRows[] = {
      {{64, 96}, {96, 128}},
      {{96, 64}, {96, 128}, true},
      {{64, 96}, {128, 96}, false, true},
      {{96, 64}, {128, 96}, true, true},
      {{1, 512}, {512, 33}},
      {{513, 40}, {40, 1}},
      {{37, 1}, {1, 500}},
      {{300, 301}, {301, 302}},
      {{4, 3, 20, 30}, {4, 3, 30, 25}},
      {{4, 3, 30, 20}, {4, 3, 25, 30}, true, true},
      {{4, 3, 20, 30}, {30, 25}},
      {{20, 30}, {6, 30, 25}},
      {{4, 1, 20, 30}, {1, 3, 30, 25}},
  };
  for (const ProductRow& row : kRows) {
    SCOPED_TRACE(Cat(Shape::Make(row.a).value().ToString(), " ", Shape::Make(row.b).value().ToString(), row.transpose_a,
                     row.transpose_b));
    Tensor wide = Run<double>(row), expected = Tensor::Zeros(DType::kFloat, wide.shape()).value();
    for (int64_t i = 0; i < wide.num_elements(); ++i) {
      expected.data<float>()[i] = static_cast<float>(wide.data<double>()[i]);
    }
    ExpectTensorNear(Run<float>(row), expected, 1e-4, 1e-4);
  }
}

TEST_F(ProductTest, OfNothingAreZero) {
  Tensor product = Run<float>({{30, 0}, {0, 40}});
  ASSERT_EQ(product.shape(), (Shape{30, 40}));
  for (float x : product.span<float>()) EXPECT_EQ(x, 0);
}

}  // namespace
}  // namespace weir
