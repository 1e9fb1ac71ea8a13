// Tensor lists and maps through their kernels.
#include "weir/ops/queue/tensor_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/ops/queue/register.h"
#include "weir/testing/float_arithmetic.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using testing::HasSubstr;

Tensor F(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor F(float value) { return Tensor::Scalar(value); }
Tensor I(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor I(int32_t value) { return Tensor::Scalar(value); }
const Tensor kAny = Tensor::Scalar<int32_t>(-1);

class TensorListTest : public testing::Test {
 protected:
  using Result = StatusOr<Tensor>;
  Result First(StatusOr<std::vector<Tensor>> outputs, int output = 0) {
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[output];
  }
  Result Empty(Tensor shape = kAny, int32_t max = -1) {
    return First(
        run_("EmptyTensorList").Attr("element_dtype", DType::kFloat).Input(std::move(shape)).Input(I(max)).Run());
  }
  Result Reserve(int32_t size, Tensor shape = kAny) {
    return First(
        run_("TensorListReserve").Attr("element_dtype", DType::kFloat).Input(std::move(shape)).Input(I(size)).Run());
  }
  Result Push(Result list, Tensor value) {
    if (!list.ok()) return list;
    return First(run_("TensorListPushBack").Input(*list).Input(std::move(value)).Run());
  }
  Result Get(Result list, int32_t index, Tensor shape = kAny) {
    return First(run_("TensorListGetItem")
                     .Attr("element_dtype", DType::kFloat)
                     .Input(*list)
                     .Input(I(index))
                     .Input(std::move(shape))
                     .Run());
  }
  Result Set(Result list, int32_t index, Tensor value, bool resize = false) {
    return First(run_("TensorListSetItem")
                     .Attr("resize_if_index_out_of_bounds", resize)
                     .Input(*list)
                     .Input(I(index))
                     .Input(std::move(value))
                     .Run());
  }
  Result Stack(Result list, Tensor shape = kAny, int num_elements = -1) {
    if (!list.ok()) return list;
    return First(run_("TensorListStack")
                     .Attr("element_dtype", DType::kFloat)
                     .Attr("num_elements", num_elements)
                     .Input(*list)
                     .Input(std::move(shape))
                     .Run());
  }
  Result From(Tensor value, Tensor shape = kAny) {
    return First(run_("TensorListFromTensor").Input(std::move(value)).Input(std::move(shape)).Run());
  }
  Result Pop(Result list, Tensor shape = kAny, int output = 1) {
    return First(
        run_("TensorListPopBack").Attr("element_dtype", DType::kFloat).Input(*list).Input(std::move(shape)).Run(),
        output);
  }
  Result Gather(Result list, Tensor indices, Tensor shape = kAny) {
    return First(run_("TensorListGather")
                     .Attr("element_dtype", DType::kFloat)
                     .Input(*list)
                     .Input(std::move(indices))
                     .Input(std::move(shape))
                     .Run());
  }
  Result Scatter(Tensor value, Tensor indices, int32_t size = -1, Tensor shape = kAny) {
    return First(run_("TensorListScatterV2")
                     .Input(std::move(value))
                     .Input(std::move(indices))
                     .Input(std::move(shape))
                     .Input(I(size))
                     .Run());
  }
  StatusOr<std::vector<Tensor>> Concat(Result list, Tensor shape = kAny, std::initializer_list<int64_t> leading = {}) {
    return run_("TensorListConcatV2")
        .Attr("element_dtype", DType::kFloat)
        .Input(*list)
        .Input(std::move(shape))
        .Input(Tensor::Vector<int64_t>(leading))
        .Run();
  }
  Result Split(Tensor value, std::initializer_list<int64_t> lengths, Tensor shape = kAny) {
    return First(run_("TensorListSplit")
                     .Input(std::move(value))
                     .Input(std::move(shape))
                     .Input(Tensor::Vector<int64_t>(lengths))
                     .Run());
  }
  int32_t Length(Result list) { return (*run_("TensorListLength").Input(*list).Run())[0].scalar<int32_t>(); }
  static std::string Why(const Result& result) { return Message(result.status()); }
  static TensorList& ListOf(const Result& result) { return *result->scalar<Variant>().get_if<TensorList>(); }

  KernelRunner run_{RegisterQueueKernels};
};

TEST_F(TensorListTest, PushesPopsAndStacks) {
  Result list = Push(Push(Empty(), F({1, 2})), F({3, 4}));
  ExpectTensorEqual(*Stack(list), TensorOf<float>({2, 2}, {1, 2, 3, 4}));
  ExpectTensorEqual(*Pop(list), F({3, 4}));
  EXPECT_EQ(Length(Pop(list, kAny, 0)), 1);
  EXPECT_EQ(Length(list), 2) << "a list that others hold does not change";
  EXPECT_EQ(Why(Pop(Empty())), "Trying to pop from an empty list.");
  EXPECT_EQ(Why(Push(Push(Empty(kAny, 1), F(1)), F(2))),
            "Tried to push item into a full list list size: 1 max_num_elements: 1");
  EXPECT_EQ(Why(Push(Empty(I({3})), F({1, 2}))),
            "Tried to append a tensor with incompatible shape to a list. Op element shape: [2] list shape: [3]");
  EXPECT_EQ(Why(Stack(Push(Push(Empty(), F({1, 2})), F({3})))),
            "PartialTensorShape: Incompatible shapes during merge: [2] vs. [1]");
}

TEST_F(TensorListTest, ChangesInPlaceWhatNobodyElseHolds) {
  Tensor list = *Empty();
  const TensorList* before = list.scalar<Variant>().get_if<TensorList>();
  std::vector<Slot> outputs;
  PreparedKernel push = *run_("TensorListPushBack").Input(list).Input(F(1)).Prepare();
  std::vector<Slot> inputs(2);
  inputs[0].tensor = std::move(list);
  inputs[1].tensor = F(1);
  ASSERT_TRUE(push.RunSlots(std::move(inputs), outputs).ok());
  EXPECT_EQ(outputs[0].tensor.scalar<Variant>().get_if<TensorList>(), before);
}

TEST_F(TensorListTest, ItemsThatWereNeverSetAreZeros) {
  ExpectTensorEqual(*Get(Reserve(2, I({2})), 0), F({0, 0}));
  ExpectTensorEqual(*Get(Set(Reserve(2), 1, F({1, 2})), 0), F({0, 0}));
  ExpectTensorEqual(*Get(Reserve(2, I({-1, 3})), 0, I({2, -1})), *Tensor::Zeros(DType::kFloat, Shape({2, 3})));
  EXPECT_EQ(Why(Get(Reserve(2, I({-1, 3})), 0, I({2, 4}))),
            "PartialTensorShape: Incompatible shapes during merge: [2,4] vs. [?,3]");
  EXPECT_EQ(Why(Get(Reserve(2), 0)),
            "Trying to read an uninitialized tensor but element_shape is not fully defined: <unknown> and no list "
            "element is set.");
  ExpectTensorEqual(*Pop(Reserve(2), I({2})), F({0, 0}));
  EXPECT_EQ(Why(Pop(Reserve(2))),
            "Trying to read an uninitialized tensor but element_shape is not fully defined.<unknown>");
  ExpectTensorEqual(*Stack(Set(Reserve(3), 1, F({1, 2}))), TensorOf<float>({3, 2}, {0, 0, 1, 2, 0, 0}));
}

TEST_F(TensorListTest, ChecksIndices) {
  EXPECT_EQ(Why(Get(From(F({1, 2})), 2)), "Trying to access element 2 in a list with 2 elements.");
  EXPECT_EQ(Why(Get(From(F({1, 2})), -1)), "Trying to access element -1 in a list with 2 elements.");
  EXPECT_EQ(Why(Set(Reserve(2), 2, F(1))), "Trying to modify element 2 in a list with 2 elements.");
  EXPECT_EQ(Length(Set(Reserve(2), 5, F(1), true)), 6);
  EXPECT_FALSE(Set(Reserve(2), -5, F(1), true).ok());
  EXPECT_EQ(Set(Reserve(2), 2147483647, F(1), true).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Why(Set(Reserve(2), 0, I(1))), "Invalid data types; op elements int32 but list elements float");
  EXPECT_EQ(Why(Reserve(-1)), "The num_elements to reserve must be a non negative number, but got -1");
}

TEST_F(TensorListTest, StackNeedsAShape) {
  EXPECT_EQ(Why(Stack(Empty())),
            "Tried to stack elements of an empty list with non-fully-defined element_shape: <unknown>");
  EXPECT_EQ(Why(Stack(Reserve(2))),
            "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: "
            "<unknown>");
  ExpectTensorEqual(*Stack(Empty(), I({3})), *Tensor::Zeros(DType::kFloat, Shape({0, 3})));
  EXPECT_EQ(Why(Stack(From(F({1, 2})), kAny, 3)),
            "Operation expected a list with 3 elements but got a list with 2 elements.");
  EXPECT_EQ(Why(Stack(From(F({1, 2})), I({2}))), "PartialTensorShape: Incompatible ranks during merge: 1 vs. 0");
  Tensor map = (*run_("EmptyTensorMap").Run())[0];
  EXPECT_EQ(Why(Stack(map)),
            "Input handle is not a list. Saw: 'Variant<type: tensorflow::TensorMap value: TensorMap>'");
}

TEST_F(TensorListTest, GathersAndScatters) {
  ExpectTensorEqual(*Gather(From(F({1, 2})), I({1, 0, 1})), F({2, 1, 2}));
  EXPECT_EQ(Why(Gather(From(F({1, 2})), I({2}))), "Trying to gather element 2 in a list with 2 elements.");
  EXPECT_EQ(Why(Gather(Empty(), I({}))),
            "Tried to gather 0-elements from a list with non-fully-defined shape: <unknown>");
  Result list = Scatter(F({1, 2}), I({3, 0}));
  EXPECT_EQ(Length(list), 4);
  ExpectTensorEqual(*Get(list, 3), F(1));
  EXPECT_EQ(Length(Scatter(F({1, 2}), I({3, 0}), 7)), 7);
  EXPECT_EQ(Why(Scatter(F({1, 2}), I({3, 0}), 2)),
            "TensorListScatter: Trying to scatter at index 3 in list with size 2");
  EXPECT_EQ(Why(Scatter(F({1, 2}), I({-3, 0}))), "Indices in TensorListScatter must all be non-negative.");
  EXPECT_EQ(Why(Scatter(F({1, 2}), I({0, 1, 2}))), "Invalid number of rows in input tensor. Expected: 3 Actual: 2");
  Result grown = First(
      run_("TensorListScatterIntoExistingList").Input(*Reserve(1, I({}))).Input(F({7, 8})).Input(I({2, 0})).Run());
  ExpectTensorEqual(*Stack(grown, I({})), F({8, 0, 7}));
}

TEST_F(TensorListTest, SplitsAndConcats) {
  Result list = Split(F({1, 2, 3}), {1, 2});
  ExpectTensorEqual(*Get(list, 1), F({2, 3}));
  auto joined = Concat(list);
  ExpectTensorEqual((*joined)[0], F({1, 2, 3}));
  ExpectTensorEqual((*joined)[1], Tensor::Vector<int64_t>({1, 2}));
  EXPECT_EQ(Why(Split(F({1, 2, 3}), {1, 1})), "Unused values in tensor. Length of tensor: 3 Values used: 2");
  EXPECT_EQ(Why(Split(F({1, 2, 3}), {1, 5})), "Attempting to slice [1, 6] from tensor with length 3");
  EXPECT_EQ(Why(Split(F({1, 2, 3}), {-1, 4})), "Invalid value in lengths: -1");
  EXPECT_EQ(Why(Split(TensorOf<float>({2, 1}, {1, 2}), {1, 1}, I({-1, 5}))),
            "tensor shape [2,1] is not compatible with element_shape [?,5]");
  ExpectTensorEqual((*Concat(Set(Reserve(2), 0, F({1}))))[0], F({1, 0}));
  auto led = Concat(Reserve(2, I({-1, 2})), I({-1, 2}), {1, 2});
  ExpectTensorEqual((*led)[0], *Tensor::Zeros(DType::kFloat, Shape({3, 2})));
  EXPECT_EQ(Message(Concat(Reserve(2, I({-1, 2})), I({-1, 2}), {1}).status()),
            "List contains uninitialized tensor at index 1 but leading_dims has only 1 elements.");
  ExpectTensorEqual((*Concat(Set(Reserve(2), 0, F({1})), I({-1}), {1}))[0], F({1, 0}));
  EXPECT_EQ(Message(Concat(Empty()).status()),
            "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: "
            "<unknown>");
  EXPECT_EQ(Message(Concat(Push(Empty(), F(1))).status()),
            "Concat saw a scalar shape at index 0 but requires at least vectors.");
}

TEST_F(TensorListTest, JoinsAndGrowsManyLists) {
  Result joined = First(run_("TensorListConcatLists")
                            .Attr("element_dtype", DType::kFloat)
                            .Input(*From(F({1, 2})))
                            .Input(*From(F({3})))
                            .Run());
  ExpectTensorEqual(*Stack(joined), F({1, 2, 3}));
  std::vector<Variant> lists = {From(F({1}))->scalar<Variant>(), From(F({2}))->scalar<Variant>()};
  Tensor both = Tensor::Vector<Variant>(std::span<const Variant>(lists));
  auto grown = run_("TensorListPushBackBatch").Input(both).Input(F({3, 4})).Run();
  ASSERT_TRUE(grown.ok()) << grown.status();
  ExpectTensorEqual(*Stack((*grown)[0].SubTensor(1)), F({2, 4}));
  EXPECT_EQ(Message(run_("TensorListPushBackBatch").Input(both).Input(F({3, 4, 5})).Run().status()),
            "Expected tensor.shape[0] == input_handles.size, but saw 3 vs. 2");
}

TEST_F(TensorListTest, AddsAndZeroes) {
  FloatArithmetic arithmetic;
  auto sum = ListOf(Set(Reserve(2), 0, F({1}))).Add(ListOf(Set(Reserve(2), 1, F({4}))), arithmetic);
  ASSERT_TRUE(sum.ok());
  ExpectTensorEqual(*Stack(Tensor::Scalar(Variant(*sum))), TensorOf<float>({2, 1}, {1, 4}));
  EXPECT_EQ(Message(ListOf(From(F({1, 2}))).Add(ListOf(From(F({3}))), arithmetic).status()),
            "Trying to add two lists of tensors with different lengths. One is 2 and the other is 1");
  auto zeros = ListOf(From(F({1, 2}))).ZerosLike(arithmetic);
  ExpectTensorEqual(*Stack(Tensor::Scalar(Variant(*zeros))), F({0, 0}));
}

TEST_F(TensorListTest, TravelsAsTensorFlowWritesIt) {
  Result list = Set(Reserve(3, I({-1, 2})), 1, TensorOf<float>({1, 2}, {1, 2}));
  VariantData data = *ListOf(list).Encode();
  EXPECT_EQ(data.type_name, "tensorflow::TensorList");
  EXPECT_EQ(data.metadata, std::string("\x02\x00\x02\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x0b\x08\xff\xff"
                                       "\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02\x08\x02",
                                       31));
  ASSERT_EQ(data.tensors.size(), 1u);
  Variant back = *DecodeVariant(data);
  const TensorList& copy = *back.get_if<TensorList>();
  EXPECT_EQ(copy.elements.size(), 3u);
  EXPECT_EQ(copy.element_shape, PartialShape({-1, 2}));
  EXPECT_EQ(copy.max_num_elements, -1);
  EXPECT_FALSE(copy.elements[0].has_value());
  ExpectTensorEqual(copy.elements[1], TensorOf<float>({1, 2}, {1, 2}));
  for (size_t cut = 0; cut < 14; ++cut) {
    VariantData broken = data;
    broken.metadata.resize(cut);
    EXPECT_FALSE(DecodeVariant(broken).ok()) << cut;
  }
}

class TensorMapTest : public testing::Test {
 protected:
  Tensor New() { return (*run_("EmptyTensorMap").Run())[0]; }
  Tensor Insert(const Tensor& map, Tensor key, Tensor value) {
    return (*run_("TensorMapInsert").Input(map).Input(std::move(key)).Input(std::move(value)).Run())[0];
  }
  StatusOr<std::vector<Tensor>> LookUp(const Tensor& map, Tensor key) {
    return run_("TensorMapLookup").Attr("value_dtype", DType::kFloat).Input(map).Input(std::move(key)).Run();
  }
  int32_t Size(const Tensor& map) { return (*run_("TensorMapSize").Input(map).Run())[0].scalar<int32_t>(); }
  KernelRunner run_{RegisterQueueKernels};
};

TEST_F(TensorMapTest, FindsWhatWasInserted) {
  Tensor map = Insert(Insert(New(), Tensor::Scalar("a"), F(1)), Tensor::Scalar("a"), F(2));
  EXPECT_EQ(Size(map), 1);
  ExpectTensorEqual((*LookUp(map, Tensor::Scalar("a")))[0], F(2));
  EXPECT_EQ(Message(LookUp(map, Tensor::Scalar("b")).status()),
            "Trying to lookup non-existent key. Could not find key \"b\".");
  auto has = run_("TensorMapHasKey").Input(map).Input(Tensor::Scalar("q")).Run();
  ExpectTensorEqual((*has)[0], Tensor::Scalar(false));
  auto erased = run_("TensorMapErase").Attr("value_dtype", DType::kFloat).Input(map).Input(Tensor::Scalar("a")).Run();
  EXPECT_EQ(Size((*erased)[0]), 0);
  EXPECT_EQ(Size(map), 1);
}

TEST_F(TensorMapTest, StacksKeysOfOneShape) {
  Tensor map = Insert(Insert(New(), I(1), F(1)), I(2), F(2));
  auto keys = run_("TensorMapStackKeys").Attr("key_dtype", DType::kInt32).Input(map).Run();
  ExpectTensorEqual((*keys)[0], I({1, 2}));
  auto why = [&](const Tensor& m) {
    return Message(run_("TensorMapStackKeys").Attr("key_dtype", DType::kInt32).Input(m).Run().status());
  };
  EXPECT_EQ(why(New()), "TensorMapStackKeys cannot be called on empty map.");
  EXPECT_EQ(why(Insert(map, I({1}), F(1))), "Keys must all have the same shape.");
}

}  // namespace
}  // namespace weir
