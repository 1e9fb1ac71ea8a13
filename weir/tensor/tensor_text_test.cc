#include <cmath>
#include <complex>
#include <numeric>

#include "gtest/gtest.h"
#include "weir/tensor/tensor.h"

namespace weir {
namespace {

Tensor Whole(const Shape& shape) {
  Tensor out = Tensor::Allocate(DType::kInt64, shape).value();
  std::iota(out.data<int64_t>(), out.data<int64_t>() + out.num_elements(), 0);
  return out;
}

// What TensorFlow's Print shows between its outer brackets.
TEST(SummarizeValues, FirstElementsInNestedBrackets) {
  Tensor t = Whole(Shape({2, 2, 3}));
  EXPECT_EQ(t.SummarizeValues(3), "[[0 1 2]]...");
  EXPECT_EQ(t.SummarizeValues(-1), "[[0 1 2][3 4 5]][[6 7 8][9 10 11]]");
  EXPECT_EQ(t.SummarizeValues(10), "[[0 1 2][3 4 5]][[6 7 8][9...]]...");
  EXPECT_EQ(t.SummarizeValues(0), "...");
  EXPECT_EQ(Whole(Shape({6})).SummarizeValues(3), "0 1 2...");
  EXPECT_EQ(Whole(Shape({7, 7})).SummarizeValues(1), "[0...]...");
  EXPECT_EQ(Whole(Shape({2, 0})).SummarizeValues(3), "");
  EXPECT_EQ(Tensor::Scalar(5).SummarizeValues(3), "5");
  EXPECT_EQ(Tensor::Vector<bool>({true, false}).SummarizeValues(3), "1 0");
  EXPECT_EQ(Tensor::Vector<std::string>({"a\"b", "c\n\xc3\xbf\\", "d'"}).SummarizeValues(2),
            "a\\\"b c\\n\xc3\xbf\\\\...");
  EXPECT_EQ(Tensor::Vector<std::complex<float>>({{1, 2}, {3, 0}}).SummarizeValues(3), "? ?");
}

// What StringFormat and PrintV2 show.
TEST(SummarizeValues, BothEndsOfEveryDimension) {
  EXPECT_EQ(Whole(Shape({2, 2, 3})).SummarizeValues(3, true), "[[[0 1 2]\n  [3 4 5]]\n\n [[6 7 8]\n  [9 10 11]]]");
  EXPECT_EQ(Whole(Shape({2, 2, 3})).SummarizeValues(0, true), "[\n\n ...]");
  EXPECT_EQ(Whole(Shape({6})).SummarizeValues(0, true), "[ ...]");
  EXPECT_EQ(Whole(Shape({6})).SummarizeValues(3, true), "[0 1 2 3 4 5]");
  EXPECT_EQ(Whole(Shape({7, 7})).SummarizeValues(1, true), "[[0 ... 6]\n ...\n [42 ... 48]]");
  EXPECT_EQ(Whole(Shape({7, 7})).SummarizeValues(2, true),
            "[[0 1 ... 5 6]\n [7 8 ... 12 13]\n ...\n [35 36 ... 40 41]\n [42 43 ... 47 48]]");
  EXPECT_EQ(Whole(Shape({0})).SummarizeValues(3, true), "[]");
  EXPECT_EQ(Whole(Shape({2, 0})).SummarizeValues(3, true), "[\n ...]");
  EXPECT_EQ(Whole(Shape({0, 2})).SummarizeValues(3, true), "[]");
  EXPECT_EQ(Whole(Shape({2, 0, 3})).SummarizeValues(3, true), "[\n\n ...]");
  EXPECT_EQ(Tensor::Vector<std::string>({"a\"b", "c", "d'"}).SummarizeValues(1, true), "[\"a\\\"b\" ... \"d\\'\"]");
  EXPECT_EQ(Tensor::Scalar("x\n").SummarizeValues(3, true), "\"x\\n\"");
  EXPECT_EQ(Tensor::Vector<std::complex<double>>({{1, 2}, {3, 0}}).SummarizeValues(3, true), "[? ?]");
}

TEST(SummarizeValues, FloatsReadBackTheSame) {
  EXPECT_EQ(
      Tensor::Vector<float>({1e-20f, 1e20f, 123456.789f, 1234567.8f, 1e6f, -NAN, INFINITY, -INFINITY, -0.0f, 0.1f})
          .SummarizeValues(-1),
      "1e-20 1e+20 123456.789 1234567.75 1e+06 nan inf -inf -0 0.1");
  EXPECT_EQ(Tensor::Vector<double>({1e-20, 123456.789, 1e6, NAN, 0.1, 1.0 / 3, 16777217}).SummarizeValues(-1),
            "1e-20 123456.789 1000000 nan 0.1 0.33333333333333331 16777217");
  EXPECT_EQ(Tensor::Vector<Half>({Half(0.1f), Half(65504)}).SummarizeValues(-1), "0.0999755859 65504");
  EXPECT_EQ(Tensor::Vector<BFloat16>({BFloat16(0.1f), BFloat16(65504)}).SummarizeValues(-1), "0.100097656 65536");
  EXPECT_EQ(Tensor::Vector<Float8E5M2>({Float8E5M2(1.5f)}).SummarizeValues(-1), "1.5");
  EXPECT_EQ(Tensor::Vector<int8_t>({1, -2}).SummarizeValues(-1), "1 -2");
  EXPECT_EQ(Tensor::Vector<QInt8>({QInt8{1}, QInt8{-3}}).SummarizeValues(-1), "1 -3");
  EXPECT_EQ(Tensor::Vector<Int4>({Int4(1), Int4(-3)}).SummarizeValues(-1), "1 -3");
}

TEST(ToString, NamesTypeAndShape) {
  EXPECT_EQ(Whole(Shape({2, 3})).ToString(4), "int64 [2,3]: 0 1 2 3 ...");
  EXPECT_EQ(Whole(Shape({2, 0})).ToString(), "int64 [2,0]:");
  EXPECT_EQ(Tensor().ToString(), "<no value>");
}

}  // namespace
}  // namespace weir
