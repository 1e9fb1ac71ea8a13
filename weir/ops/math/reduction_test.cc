#include <limits>

#include "gtest/gtest.h"
#include "weir/ops/math/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using F = float;
using I = int32_t;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class ReductionTest : public ::testing::Test {
 protected:
  void Expect(KernelCall& call, const Tensor& expected, int output = 0) {
    auto out = call.Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorNear((*out)[output], expected);
  }
  void ExpectError(KernelCall& call, std::string_view message) {
    Status status = call.Run().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(status), message);
  }
  Tensor Ints(std::initializer_list<I> values) { return Tensor::Vector<I>(values); }

  KernelRunner run{{RegisterMathKernels}};
  const Tensor matrix = TensorOf<F>({2, 3}, {1, 2, 3, 4, 5, 6});
};

// Wherever in a row it is, and however long the row.
TEST_F(ReductionTest, ExtremesOfRowsFindEveryElementAndEveryNaN) {
  for (int64_t n : {3, 16, 21, 64, 75, 130, 1100}) {
    Tensor rows = Tensor::Zeros(DType::kFloat, {n, n}).value();
    for (int64_t i = 0; i < n; ++i) rows.data<F>()[i * n + i] = 1;
    Tensor ones = Tensor::Zeros(DType::kFloat, {n}).value();
    for (F& x : ones.span<F>()) x = 1;
    Expect(run("Max").Input(rows).Input(Ints({1})), ones);
    Expect(run("Sum").Input(rows).Input(Ints({1})), ones);
    for (F& x : rows.span<F>()) x = -x;
    for (F& x : ones.span<F>()) x = -x;
    Expect(run("Min").Input(rows).Input(Ints({1})), ones);
    for (int64_t i = 0; i < n; ++i) rows.data<F>()[i * n + i] = kNaN;
    for (F& x : ones.span<F>()) x = kNaN;
    for (std::string_view op : {"Max", "Min", "Sum", "Mean"}) Expect(run(op).Input(rows).Input(Ints({1})), ones);
  }
}

TEST_F(ReductionTest, OverAnyAxes) {
  Expect(run("Sum").Input(matrix).Input(Ints({0})), Tensor::Vector<F>({5, 7, 9}));
  Expect(run("Sum").Input(matrix).Input(Ints({-1})), Tensor::Vector<F>({6, 15}));
  Expect(run("Sum").Input(matrix).Input(Ints({0, 1})), Tensor::Scalar<F>(21));
  Expect(run("Sum").Input(matrix).Input(Ints({})), matrix);
  Expect(run("Max").Attr("keep_dims", true).Input(matrix).Input(Ints({1})), TensorOf<F>({2, 1}, {3, 6}));
  Tensor cube = TensorOf<I>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Expect(run("Sum").Input(cube).Input(Ints({0, 2})), Ints({14, 22}));
  Expect(run("Prod").Input(cube).Input(Ints({1})), TensorOf<I>({2, 2}, {3, 8, 35, 48}));
  ExpectError(run("Sum").Input(matrix).Input(Ints({0, -2})),
              "Invalid reduction arguments: Axes contains duplicate dimension: 0");
}

TEST_F(ReductionTest, OverNothing) {
  Tensor empty = TensorOf<F>({0, 2}, {});
  Expect(run("Sum").Input(empty).Input(Ints({0})), Tensor::Vector<F>({0, 0}));
  Expect(run("Prod").Input(empty).Input(Ints({0})), Tensor::Vector<F>({1, 1}));
  Expect(run("Max").Input(empty).Input(Ints({0})), Tensor::Vector<F>({-kInf, -kInf}));
  Expect(run("Mean").Input(empty).Input(Ints({0})), Tensor::Vector<F>({kNaN, kNaN}));
  Expect(run("All").Input(TensorOf<bool>({0}, {})).Input(Ints({0})), Tensor::Scalar<bool>(true));
  Expect(run("Any").Input(TensorOf<bool>({0}, {})).Input(Ints({0})), Tensor::Scalar<bool>(false));
}

TEST_F(ReductionTest, SpecialValues) {
  Expect(run("Max").Input(Tensor::Vector<F>({1, kNaN, 2})).Input(Ints({0})), Tensor::Scalar<F>(kNaN));
  Expect(run("Mean").Input(Ints({-1, -2})).Input(Ints({0})), Tensor::Scalar<I>(-1));
  Expect(run("Mean").Input(Tensor::Vector<uint8_t>({200, 100})).Input(Ints({0})), Tensor::Scalar<uint8_t>(150));
  Expect(run("EuclideanNorm").Input(Tensor::Vector<F>({3, -4})).Input(Ints({0})), Tensor::Scalar<F>(5));
  Expect(run("EuclideanNorm").Input(Tensor::Vector<F>({-4})).Input(Ints({0})), Tensor::Scalar<F>(4));
}

TEST_F(ReductionTest, LargeSumsAreAccurate) {
  const int64_t n = 1 << 20;
  Tensor x = Tensor::Allocate(DType::kFloat, Shape({n})).value();
  for (float& v : x.span<float>()) v = 0.1f;
  auto out = run("Sum").Input(x).Input(Ints({0})).Run();
  ASSERT_TRUE(out.ok());
  EXPECT_NEAR((*out)[0].scalar<float>(), 0.1f * n, 1.0);
}

TEST_F(ReductionTest, Extremes) {
  Expect(run("ArgMax").Input(Tensor::Vector<F>({1, 3, 3, kNaN})).Input(Tensor::Scalar<I>(0)),
         Tensor::Scalar<int64_t>(1));
  Expect(run("ArgMin").Input(matrix).Input(Tensor::Scalar<I>(0)), Tensor::Vector<int64_t>({0, 0, 0}));
  ExpectError(run("ArgMax").Input(TensorOf<F>({0}, {})).Input(Tensor::Scalar<I>(0)),
              "Reduction axis 0 is empty in shape [0]");
  Expect(run("TopKV2").Input(Tensor::Vector<F>({1, 3, kNaN, 3})).Input(Tensor::Scalar<I>(3)), Ints({1, 2, 3}), 1);
  ExpectError(run("TopKV2").Input(matrix).Input(Tensor::Scalar<I>(4)),
              "input must have at least k columns. Had 3, needed 4");
}

TEST_F(ReductionTest, Scans) {
  Expect(run("Cumsum").Input(Ints({1, 2, 3})).Input(Tensor::Scalar<I>(0)), Ints({1, 3, 6}));
  Expect(run("Cumsum").Attr("exclusive", true).Attr("reverse", true).Input(Ints({1, 2, 3})).Input(Tensor::Scalar<I>(0)),
         Ints({5, 3, 0}));
  Expect(run("Cumprod").Input(matrix).Input(Tensor::Scalar<I>(-1)), TensorOf<F>({2, 3}, {1, 2, 6, 4, 20, 120}));
  Expect(run("CumulativeLogsumexp").Input(Tensor::Vector<F>({0, 0, -kInf})).Input(Tensor::Scalar<I>(0)),
         Tensor::Vector<F>({0, 0.6931472f, 0.6931472f}));
}

TEST_F(ReductionTest, Segments) {
  Expect(run("SegmentSum").Input(matrix).Input(Ints({0, 2})), TensorOf<F>({3, 3}, {1, 2, 3, 0, 0, 0, 4, 5, 6}));
  Expect(run("SegmentMean").Input(Ints({1, 2, 4})).Input(Ints({0, 0, 1})), Ints({1, 4}));
  ExpectError(run("SegmentSum").Input(matrix).Input(Ints({1, 0})), "segment ids are not increasing");
  Expect(
      run("UnsortedSegmentSum").Input(Tensor::Vector<F>({1, 2, 4})).Input(Ints({1, -1, 1})).Input(Tensor::Scalar<I>(2)),
      Tensor::Vector<F>({0, 5}));
  Expect(run("UnsortedSegmentMax").Input(Tensor::Vector<F>({1})).Input(Ints({1})).Input(Tensor::Scalar<I>(2)),
         Tensor::Vector<F>({std::numeric_limits<float>::lowest(), 1}));
  Expect(
      run("UnsortedSegmentMin").Input(NumbersOf(DType::kHalf, {1}, {1})).Input(Ints({1})).Input(Tensor::Scalar<I>(2)),
      NumbersOf(DType::kHalf, {2}, {65504, 1}));
  ExpectError(run("UnsortedSegmentSum").Input(Tensor::Vector<F>({1})).Input(Ints({2})).Input(Tensor::Scalar<I>(2)),
              "segment_ids[0] = 2 is out of range [0, 2)");
}

TEST_F(ReductionTest, Counts) {
  Expect(run("Bincount").Input(Ints({0, 2, 2, 9})).Input(Tensor::Scalar<I>(3)).Input(TensorOf<F>({0}, {})),
         Tensor::Vector<F>({1, 0, 2}));
  Expect(run("HistogramFixedWidth")
             .Input(Tensor::Vector<F>({-1, 0, 1.5f, 2, 5, 15}))
             .Input(Tensor::Vector<F>({0, 5}))
             .Input(Tensor::Scalar<I>(5)),
         Ints({2, 1, 1, 0, 2}));
}

TEST_F(ReductionTest, Products) {
  Expect(run("MatMul").Input(matrix).Input(TensorOf<F>({3, 1}, {1, 0, -1})), TensorOf<F>({2, 1}, {-2, -2}));
  Expect(run("MatMul")
             .Attr("transpose_a", true)
             .Attr("transpose_b", true)
             .Input(TensorOf<F>({2, 1}, {1, 2}))
             .Input(TensorOf<F>({3, 2}, {1, 2, 3, 4, 5, 6})),
         TensorOf<F>({1, 3}, {5, 11, 17}));
  Expect(run("MatMul").Input(TensorOf<I>({1, 0}, {})).Input(TensorOf<I>({0, 2}, {})), TensorOf<I>({1, 2}, {0, 0}));
  ExpectError(run("MatMul").Input(matrix).Input(matrix), "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]");
  Expect(run("BatchMatMulV2").Input(TensorOf<F>({2, 1, 2}, {1, 2, 3, 4})).Input(TensorOf<F>({2, 1}, {1, 10})),
         TensorOf<F>({2, 1, 1}, {21, 43}));
  // Larger than the blocks.
  const int64_t n = 300;
  Tensor a = Tensor::Allocate(DType::kDouble, Shape({n, n})).value();
  for (int64_t i = 0; i < n * n; ++i) a.data<double>()[i] = static_cast<double>(i % 7) - 3;
  auto out = run("MatMul").Input(a).Input(a).Run();
  ASSERT_TRUE(out.ok());
  for (int64_t i = 0; i < n; i += 37) {
    for (int64_t j = 0; j < n; j += 41) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += a.data<double>()[i * n + k] * a.data<double>()[k * n + j];
      EXPECT_EQ((*out)[0].data<double>()[i * n + j], sum);
    }
  }
}

}  // namespace
}  // namespace weir
