// Tensor arrays and stacks through their kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/ops/queue/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

Tensor F(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor I(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }

class TensorArrayTest : public testing::Test {
 protected:
  struct Options {
    PartialShape shape;
    bool dynamic = false;
    bool clear = true;
    bool identical = false;
  };
  Tensor New(int32_t size) { return New(size, Options()); }
  Tensor New(int32_t size, Options options) {
    auto made = run_("TensorArrayV3")
                    .Name("ta")
                    .Attr("dtype", DType::kFloat)
                    .Attr("element_shape", options.shape)
                    .Attr("dynamic_size", options.dynamic)
                    .Attr("clear_after_read", options.clear)
                    .Attr("identical_element_shapes", options.identical)
                    .Input(Tensor::Scalar(size))
                    .Run();
    EXPECT_TRUE(made.ok()) << made.status();
    return (*made)[0];
  }
  Status Write(const Tensor& array, int32_t index, Tensor value) {
    return run_("TensorArrayWriteV3")
        .Input(array)
        .Input(Tensor::Scalar(index))
        .Input(std::move(value))
        .Input(flow_)
        .Run()
        .status();
  }
  StatusOr<Tensor> First(StatusOr<std::vector<Tensor>> outputs) {
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[0];
  }
  StatusOr<Tensor> Read(const Tensor& array, int32_t index) {
    return First(run_("TensorArrayReadV3")
                     .Attr("dtype", DType::kFloat)
                     .Input(array)
                     .Input(Tensor::Scalar(index))
                     .Input(flow_)
                     .Run());
  }
  StatusOr<Tensor> Gather(const Tensor& array, Tensor indices, PartialShape shape = {}) {
    return First(run_("TensorArrayGatherV3")
                     .Attr("dtype", DType::kFloat)
                     .Attr("element_shape", shape)
                     .Input(array)
                     .Input(std::move(indices))
                     .Input(flow_)
                     .Run());
  }
  Status Scatter(const Tensor& array, Tensor indices, Tensor value) {
    return run_("TensorArrayScatterV3")
        .Input(array)
        .Input(std::move(indices))
        .Input(std::move(value))
        .Input(flow_)
        .Run()
        .status();
  }
  StatusOr<std::vector<Tensor>> Concat(const Tensor& array, PartialShape rows = {}) {
    return run_("TensorArrayConcatV3")
        .Attr("dtype", DType::kFloat)
        .Attr("element_shape_except0", rows)
        .Input(array)
        .Input(flow_)
        .Run();
  }
  Status Split(const Tensor& array, Tensor value, std::initializer_list<int64_t> lengths) {
    return run_("TensorArraySplitV3")
        .Input(array)
        .Input(std::move(value))
        .Input(Tensor::Vector<int64_t>(lengths))
        .Input(flow_)
        .Run()
        .status();
  }
  StatusOr<Tensor> Grad(const Tensor& array) {
    return First(run_("TensorArrayGradV3").Attr("source", "grad").Input(array).Input(flow_).Run());
  }
  int32_t Size(const Tensor& array) {
    return (*run_("TensorArraySizeV3").Input(array).Input(flow_).Run())[0].scalar<int32_t>();
  }
  KernelRunner run_{RegisterQueueKernels};
  Tensor flow_ = Tensor::Scalar(0.0f);
};

TEST_F(TensorArrayTest, ReadsBackOnceWhatWasWrittenOnce) {
  Tensor array = New(2);
  ASSERT_TRUE(Write(array, 0, F({1, 2})).ok());
  EXPECT_THAT(Message(Write(array, 0, F({1, 2}))),
              EndsWith("Could not write to TensorArray index 0 because it has already been written to."));
  ExpectTensorEqual(*Read(array, 0), F({1, 2}));
  EXPECT_THAT(Message(Read(array, 0).status()),
              EndsWith("Could not read index 0 twice because it was cleared after a previous read (perhaps try "
                       "setting clear_after_read = false?)."));
  EXPECT_THAT(Message(Write(array, 0, F({1, 2}))),
              EndsWith("Could not write to TensorArray index 0 because it has already been read."));
  Tensor keeps = New(1, {.clear = false});
  ASSERT_TRUE(Write(keeps, 0, F({1})).ok());
  ExpectTensorEqual(*Read(keeps, 0), F({1}));
  ExpectTensorEqual(*Read(keeps, 0), F({1}));
}

TEST_F(TensorArrayTest, ChecksIndices) {
  Tensor array = New(3);
  for (int32_t index : {3, -1}) {
    EXPECT_THAT(Message(Write(array, index, F({1}))),
                EndsWith(Cat("Tried to write to index ", index, " but array is not resizeable and size is: 3")));
    EXPECT_EQ(Read(array, index).status(),
              InvalidArgument("Tried to read from index ", index, " but array size is: 3"));
  }
  Tensor grows = New(0, {.dynamic = true});
  ASSERT_TRUE(Write(grows, 7, F({1})).ok());
  EXPECT_EQ(Size(grows), 8);
  EXPECT_EQ(Write(grows, 2147483647, F({1})).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TensorArrayTest, UnwrittenElementsAreZerosIfTheShapeIsKnown) {
  ExpectTensorEqual(*Read(New(2, {.shape = PartialShape({2})}), 1), F({0, 0}));
  EXPECT_THAT(
      Message(Read(New(2), 1).status()),
      HasSubstr("Could not read from TensorArray index 1.  Furthermore, the element shape is not fully defined: "
                "<unknown>."));
}

TEST_F(TensorArrayTest, ChecksShapes) {
  EXPECT_THAT(Message(Write(New(1, {.shape = PartialShape({2})}), 0, F({1, 2, 3}))),
              HasSubstr("because the value shape is [3] which is incompatible with the TensorArray's inferred element "
                        "shape: [2] (consider setting infer_shape=False)."));
  Tensor same = New(2, {.identical = true});
  ASSERT_TRUE(Write(same, 0, F({1, 2})).ok());
  EXPECT_FALSE(Write(same, 1, F({1})).ok());
  EXPECT_EQ(Write(same, 1, I({1})),
            InvalidArgument("TensorArray dtype is float but Op is trying to write dtype int32."));
}

TEST_F(TensorArrayTest, GathersAndScatters) {
  Tensor array = New(3);
  ASSERT_TRUE(Scatter(array, I({2, 0, 1}), TensorOf<float>({3, 1}, {1, 2, 3})).ok());
  ExpectTensorEqual(*Gather(array, I({0, 1, 2})), TensorOf<float>({3, 1}, {2, 3, 1}));
  EXPECT_EQ(Scatter(New(3), I({9}), F({1})), InvalidArgument("Max scatter index must be < array size (9 vs. 3)"));
  EXPECT_EQ(Scatter(New(3), I({0, 1}), F({1, 2, 3})),
            InvalidArgument("Expected len(indices) == values.shape[0], but saw: 2 vs. 3"));
  EXPECT_FALSE(Scatter(New(3), I({-1}), F({1})).ok());
  Tensor grows = New(0, {.dynamic = true});
  ASSERT_TRUE(Scatter(grows, I({9}), F({1})).ok());
  EXPECT_EQ(Size(grows), 10);
  EXPECT_EQ(Gather(New(0), I({})).status().code(), absl::StatusCode::kUnimplemented);
  ExpectTensorEqual(*Gather(New(0), I({}), PartialShape({2})), *Tensor::Zeros(DType::kFloat, Shape({0, 2})));
  Tensor ragged = New(2);
  ASSERT_TRUE(Write(ragged, 0, F({1})).ok());
  ASSERT_TRUE(Write(ragged, 1, F({1, 2})).ok());
  EXPECT_EQ(Gather(ragged, I({0, 1})).status(),
            InvalidArgument("TensorArray has inconsistent shapes.  Index 0 has shape: [1] but index 1 has shape: [2]"));
}

TEST_F(TensorArrayTest, SplitsAndConcats) {
  Tensor array = New(2);
  ASSERT_TRUE(Split(array, F({1, 2, 3}), {1, 2}).ok());
  auto joined = Concat(array);
  ExpectTensorEqual((*joined)[0], F({1, 2, 3}));
  ExpectTensorEqual((*joined)[1], Tensor::Vector<int64_t>({1, 2}));
  EXPECT_THAT(Message(Split(New(2), F({1, 2, 3}), {1, 3})), HasSubstr("sum of lengths is 4 and value's shape is: [3]"));
  EXPECT_FALSE(Split(New(2), F({1, 2}), {-1, 3}).ok());
  EXPECT_THAT(Message(Split(New(3), F({1, 2, 3}), {1, 2})), HasSubstr("(3 vs. 2)"));
  EXPECT_EQ(Concat(New(0)).status().code(), absl::StatusCode::kUnimplemented);
  Tensor scalar = New(1);
  ASSERT_TRUE(Write(scalar, 0, Tensor::Scalar(1.0f)).ok());
  EXPECT_THAT(Message(Concat(scalar).status()), HasSubstr("Concat saw a scalar shape at index 0"));
}

TEST_F(TensorArrayTest, GradientAddsUp) {
  Tensor array = New(2, {.dynamic = true});
  ASSERT_TRUE(Write(array, 0, F({1, 1})).ok());
  ASSERT_TRUE(Write(array, 1, F({2, 3})).ok());
  Tensor grad = *Grad(array);
  ASSERT_TRUE(Write(grad, 0, F({1, 2})).ok());
  ASSERT_TRUE(Write(grad, 0, F({5, 6})).ok());
  ASSERT_TRUE(Write(*Grad(array), 0, F({10, 10})).ok());
  EXPECT_THAT(
      Message(Write(grad, 0, F({1}))),
      EndsWith("@grad: Could not aggregate to TensorArray index 0 because the existing shape is [2] but the new "
               "input shape is [1]."));
  ExpectTensorEqual(*Read(grad, 0), F({16, 18}));
  ExpectTensorEqual(*Read(grad, 1), F({0, 0}));
  EXPECT_FALSE(Write(array, 5, F({1, 1})).ok()) << "an array with a gradient no longer grows";
  EXPECT_THAT(Message(Grad(grad).status()), HasSubstr("Wrong input container. _tensor_array_grads"));
}

TEST_F(TensorArrayTest, SumLeavesWhatWasWrittenAlone) {
  Tensor grad = *Grad(New(1));
  Tensor value = F({1, 2});
  ASSERT_TRUE(Write(grad, 0, value).ok());
  ASSERT_TRUE(Write(grad, 0, F({1, 1})).ok());
  ASSERT_TRUE(Write(grad, 0, F({1, 1})).ok());
  ExpectTensorEqual(value, F({1, 2}));
  ExpectTensorEqual(*Read(grad, 0), F({3, 4}));
}

TEST_F(TensorArrayTest, GradientWithShapePrependsDimensions) {
  Tensor array = New(1);
  ASSERT_TRUE(Write(array, 0, F({1, 1})).ok());
  auto grad = run_("TensorArrayGradWithShape").Attr("source", "g").Input(array).Input(flow_).Input(I({2, 3})).Run();
  ExpectTensorEqual(*Read((*grad)[0], 0), *Tensor::Zeros(DType::kFloat, Shape({2, 3, 2})));
}

TEST_F(TensorArrayTest, ClosedArrayIsGone) {
  Tensor array = New(1);
  ASSERT_TRUE(run_("TensorArrayCloseV3").Input(array).Run().ok());
  EXPECT_THAT(Message(Write(array, 0, F({1}))), EndsWith("has already been closed."));
}

TEST_F(TensorArrayTest, OldHandlesWork) {
  auto made = run_("TensorArrayV2").Attr("dtype", DType::kFloat).Input(Tensor::Scalar<int32_t>(1)).Run();
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE(run_("TensorArrayWriteV2")
                  .Input((*made)[0])
                  .Input(Tensor::Scalar<int32_t>(0))
                  .Input(F({4}))
                  .Input(flow_)
                  .Run()
                  .ok());
  auto read = run_("TensorArrayReadV2")
                  .Attr("dtype", DType::kFloat)
                  .Input((*made)[0])
                  .Input(Tensor::Scalar<int32_t>(0))
                  .Input(flow_)
                  .Run();
  ExpectTensorEqual((*read)[0], F({4}));
}

class StackTest : public testing::Test {
 protected:
  Tensor New(int32_t max_size) {
    return (*run_("StackV2")
                 .Attr("elem_type", DType::kFloat)
                 .Attr("stack_name", "st")
                 .Input(Tensor::Scalar(max_size))
                 .Run())[0];
  }
  Status Push(const Tensor& stack, Tensor value) {
    return run_("StackPushV2").Input(stack).Input(std::move(value)).Run().status();
  }
  StatusOr<std::vector<Tensor>> Pop(const Tensor& stack) {
    return run_("StackPopV2").Attr("elem_type", DType::kFloat).Input(stack).Run();
  }
  KernelRunner run_{RegisterQueueKernels};
};

TEST_F(StackTest, PopsTheLastFirst) {
  Tensor stack = New(2);
  ASSERT_TRUE(Push(stack, Tensor::Scalar(1.0f)).ok());
  ASSERT_TRUE(Push(stack, Tensor::Scalar(2.0f)).ok());
  EXPECT_THAT(Message(Push(stack, Tensor::Scalar(3.0f))), EndsWith("overflowed its max_size (2)"));
  EXPECT_EQ(Push(stack, I({1})), InvalidArgument("Must have type 1 but got 3"));
  ExpectTensorEqual((*Pop(stack))[0], Tensor::Scalar(2.0f));
  ExpectTensorEqual((*Pop(stack))[0], Tensor::Scalar(1.0f));
  EXPECT_THAT(Message(Pop(stack).status()), EndsWith("is empty when calling Pop()."));
  ASSERT_TRUE(run_("StackCloseV2").Input(stack).Run().ok());
  EXPECT_THAT(Message(Pop(stack).status()), EndsWith("has already been closed."));
}

TEST_F(StackTest, OldHandlesWork) {
  std::vector<Slot> slots;
  ASSERT_TRUE(run_("Stack").Attr("elem_type", DType::kFloat).RunSlots(slots).ok());
  ASSERT_TRUE(run_("StackPush").RefInput(slots[0].ref).Input(Tensor::Scalar(4.0f)).Run().ok());
  auto popped = run_("StackPop").Attr("elem_type", DType::kFloat).RefInput(slots[0].ref).Run();
  ExpectTensorEqual((*popped)[0], Tensor::Scalar(4.0f));
}

}  // namespace
}  // namespace weir
