#include "weir/tensor/shape.h"

#include "gtest/gtest.h"
#include "weir/tensor/dtype.h"

namespace weir {
namespace {

TEST(DType, NamesAreReadBack) {
  for (int i = 1; i <= kMaxDType; ++i) {
    for (int number : {i, i + 100}) {
      DType dtype = static_cast<DType>(number);
      EXPECT_TRUE(IsValidDType(number));
      EXPECT_EQ(ParseDType(Name(dtype)), dtype) << Name(dtype);
      EXPECT_EQ(ParseDType(ShortName(dtype)), dtype) << ShortName(dtype);
      EXPECT_EQ(ParseDType(PythonName(dtype)), dtype) << PythonName(dtype);
      EXPECT_GT(SizeOf(dtype), 0u);
    }
  }
  EXPECT_EQ(Name(DType::kFloat), "float");
  EXPECT_EQ(Name(RefType(DType::kFloat)), "float_ref");
  EXPECT_EQ(PythonName(DType::kHalf), "float16");
  EXPECT_EQ(ShortName(DType::kQUInt8), "qu8");
  EXPECT_FALSE(ParseDType("float31"));
  EXPECT_FALSE(ParseDType(""));
  for (int number : {-1, 0, 34, 100, 134, 255}) EXPECT_FALSE(IsValidDType(number));
}

TEST(DType, SizesAreThoseOfTheCppTypes) {
  auto check = [](auto tag) {
    using T = typename decltype(tag)::type;
    EXPECT_EQ(SizeOf(kDTypeOf<T>), sizeof(T)) << Name(kDTypeOf<T>);
    EXPECT_TRUE(IsPlain(kDTypeOf<T>));
  };
  for (int i = 1; i <= kMaxDType; ++i) DispatchDType(static_cast<DType>(i), PlainTypes{}, check);
  EXPECT_FALSE(IsPlain(DType::kString));
  EXPECT_FALSE(IsPlain(DType::kInvalid));
}

TEST(Shape, RefusesWhatDoesNotFit) {
  using Dims = std::vector<int64_t>;
  EXPECT_FALSE(Shape::Make(Dims{-1}).ok());
  EXPECT_FALSE(Shape::Make(Dims{int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(Shape::Make(Dims{0, int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(Shape::Make(Dims(255, 1)).ok());
  EXPECT_TRUE(Shape::Make(Dims(254, 1)).ok());
  EXPECT_EQ(Shape::Make(Dims{INT64_MAX})->num_elements(), INT64_MAX);
}

TEST(Shape, ChangesAreChecked) {
  Shape shape({2, 3});
  EXPECT_TRUE(shape.AddDim(4).ok());
  EXPECT_TRUE(shape.InsertDim(0, 5).ok());
  EXPECT_EQ(shape, Shape({5, 2, 3, 4}));
  EXPECT_EQ(shape.num_elements(), 120);
  EXPECT_FALSE(shape.SetDim(1, INT64_MAX).ok());
  EXPECT_FALSE(shape.SetDim(1, -1).ok());
  EXPECT_FALSE(shape.SetDim(4, 1).ok());
  EXPECT_EQ(shape, Shape({5, 2, 3, 4}));
  EXPECT_TRUE(shape.SetDim(1, 0).ok());
  EXPECT_EQ(shape.num_elements(), 0);
  shape.RemoveDim(1);
  EXPECT_EQ(shape.num_elements(), 60);
  EXPECT_EQ(shape.Slice(1, 3), Shape({3, 4}));
  EXPECT_EQ(Shape({2}).Concat(Shape({3, 4}))->ToString(), "[2,3,4]");
  EXPECT_FALSE(Shape({INT64_MAX}).Concat(Shape({2})).ok());
  EXPECT_EQ(Shape().ToString(), "[]");
}

TEST(Shape, ArithmeticIsChecked) {
  EXPECT_EQ(CheckedMultiply(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_FALSE(CheckedMultiply(INT64_MAX, 2));
  EXPECT_FALSE(CheckedAdd(INT64_MAX, 1));
  EXPECT_EQ(CheckedAdd(-1, 1), 0);
}

TEST(PartialShape, MergesWhatBothKnow) {
  PartialShape a({2, -1}), b({-1, 3});
  EXPECT_EQ(a.Merge(b)->ToString(), "[2,3]");
  EXPECT_EQ(a.Merge(PartialShape::Unknown())->ToString(), "[2,?]");
  EXPECT_FALSE(a.Merge(PartialShape({3, -1})).ok());
  EXPECT_FALSE(a.Merge(PartialShape({2})).ok());
  EXPECT_FALSE(a.IsFullyDefined());
  EXPECT_EQ(a.num_elements(), -1);
  EXPECT_EQ(a.Merge(b)->ToShape(), Shape({2, 3}));
  EXPECT_EQ(PartialShape::Unknown().ToString(), "<unknown>");
  EXPECT_EQ(PartialShape::UnknownOfRank(2).ToString(), "[?,?]");
  EXPECT_FALSE(PartialShape::Make(std::vector<int64_t>{-2}).ok());
  EXPECT_FALSE(PartialShape::Make(std::vector<int64_t>{-1, int64_t{1} << 40, int64_t{1} << 40}).ok());
}

}  // namespace
}  // namespace weir
