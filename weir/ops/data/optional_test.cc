#include "weir/ops/data/optional.h"

#include "gtest/gtest.h"
#include "weir/ops/data/register.h"
#include "weir/testing/float_arithmetic.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

class OptionalTest : public ::testing::Test {
 protected:
  Tensor Some(float value) { return run("OptionalFromValue").Input(Tensor::Scalar(value)).Run().value()[0]; }
  Tensor None() { return run("OptionalNone").Run().value()[0]; }
  bool HasValue(const Tensor& optional) {
    return run("OptionalHasValue").Input(optional).Run().value()[0].scalar<bool>();
  }
  StatusOr<std::vector<Tensor>> Get(const Tensor& optional, PartialShape shape) {
    return run("OptionalGetValue")
        .Input(optional)
        .Attr("output_types", std::vector<DType>{DType::kFloat})
        .Attr("output_shapes", AttrList{.shape = {shape}})
        .Run();
  }
  KernelRunner run{{RegisterDataKernels}};
};

TEST_F(OptionalTest, HoldsAValueOrNone) {
  EXPECT_TRUE(HasValue(Some(1)));
  EXPECT_FALSE(HasValue(None()));
  auto value = Get(Some(2), Shape());
  ASSERT_TRUE(value.ok()) << value.status();
  ExpectTensorEqual((*value)[0], Tensor::Scalar(2.f));
  EXPECT_EQ(Message(Get(None(), Shape()).status()), "The given optional does not have a value.");
  EXPECT_FALSE(Get(Some(2), PartialShape({3})).ok());
  EXPECT_FALSE(run("OptionalHasValue").Input(Tensor::Scalar(Variant())).Run().ok());
}

TEST_F(OptionalTest, AddsAndTravels) {
  const Tensor kept = Some(3), none = None();
  const Optional* three = kept.scalar<Variant>().get_if<Optional>();
  FloatArithmetic arithmetic;
  auto sum = three->Add(*three, arithmetic);
  ASSERT_TRUE(sum.ok());
  ExpectTensorEqual((*dynamic_cast<Optional&>(**sum).components)[0], Tensor::Scalar(6.f));
  EXPECT_FALSE(three->Add(*none.scalar<Variant>().get(), arithmetic).ok());
  auto zero = three->ZerosLike(arithmetic);
  ASSERT_TRUE(zero.ok());
  ExpectTensorEqual((*dynamic_cast<Optional&>(**zero).components)[0], Tensor::Scalar(0.f));
  auto data = three->Encode();
  ASSERT_TRUE(data.ok());
  auto back = DecodeVariant(*std::move(data));
  ASSERT_TRUE(back.ok());
  ExpectTensorEqual((*back->get_if<Optional>()->components)[0], Tensor::Scalar(3.f));
}

}  // namespace
}  // namespace weir
