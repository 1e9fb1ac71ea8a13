#include <thread>

#include "weir/ops/state/variable_fixture.h"

namespace weir {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

TEST_F(VariableTest, RefNodesOfOneNameShareTheMemory) {
  RefPtr<RefCell> ref = RefVariable("r", Floats({1, 2}));
  EXPECT_EQ(RefVariable("r", DType::kFloat, PartialShape({2})), ref);
  EXPECT_NE(RefVariable("other", DType::kFloat, PartialShape({2})), ref);
}

TEST_F(VariableTest, RefIsUninitializedUntilAssigned) {
  RefPtr<RefCell> ref = RefVariable("r", DType::kFloat, PartialShape({2}));
  ExpectTensorEqual((*run("IsVariableInitialized").RefInput(ref).Run())[0], Tensor::Scalar(false));
  ExpectError(run("AssignAdd").RefInput(ref).Input(Floats({1, 1})).Run().status(), kPrecondition,
              "Attempting to use uninitialized value r");
  ExpectError(run("ScatterAdd").RefInput(ref).Input(Tensor::Vector<int32_t>({0})).Input(Floats({1})).Run().status(),
              kPrecondition, "Attempting to use uninitialized value r");
  ASSERT_EQ(run("Assign").RefInput(ref).Input(Floats({1, 2})).Run().status(), OkStatus());
  ExpectTensorEqual((*run("IsVariableInitialized").RefInput(ref).Run())[0], Tensor::Scalar(true));
}

TEST_F(VariableTest, RefAssignWritesIntoTheSameMemory) {
  RefPtr<RefCell> ref = RefVariable("r", Floats({1, 2}));
  Tensor alias = Value(ref);
  ASSERT_EQ(run("Assign").RefInput(ref).Input(Floats({3, 4})).Run().status(), OkStatus());
  ExpectTensorEqual(alias, Floats({3, 4}));
  ASSERT_EQ(run("AssignAdd").RefInput(ref).Input(Floats({10, 10})).Run().status(), OkStatus());
  ExpectTensorEqual(alias, Floats({13, 14}));
  ASSERT_EQ(run("AssignSub").RefInput(ref).Input(Floats({1, 2})).Run().status(), OkStatus());
  ExpectTensorEqual(alias, Floats({12, 12}));
}

TEST_F(VariableTest, RefAssignKeepsItsOwnCopyOfTheValue) {
  Tensor value = Floats({1, 2});
  RefPtr<RefCell> ref = RefVariable("r", value);
  ASSERT_EQ(run("AssignAdd").RefInput(ref).Input(Floats({10, 10})).Run().status(), OkStatus());
  ExpectTensorEqual(value, Floats({1, 2}));
}

TEST_F(VariableTest, RefAssignChecksShapes) {
  RefPtr<RefCell> fresh = RefVariable("fresh", DType::kFloat, PartialShape({2}));
  ExpectError(run("Assign").RefInput(fresh).Input(Floats({1, 2, 3})).Run().status(), kInvalid,
              "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]");
  RefPtr<RefCell> ref = RefVariable("r", Floats({1, 2}));
  ExpectError(run("Assign").RefInput(ref).Input(Floats({1, 2, 3})).Run().status(), kInvalid,
              "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]");
  ExpectError(run("AssignAdd").RefInput(ref).Input(Floats({1, 2, 3})).Run().status(), kInvalid,
              "Parameters and update must be the same size");
  auto replaced = run("Assign").RefInput(ref).Input(Floats({1, 2, 3})).Attr("validate_shape", false).Run();
  ASSERT_TRUE(replaced.ok());
  ExpectTensorEqual(Value(ref), Floats({1, 2, 3}));
  ASSERT_EQ(run("Assign")
                .RefInput(ref)
                .Input(TensorOf<float>({3, 1}, {4, 5, 6}))
                .Attr("validate_shape", false)
                .Run()
                .status(),
            OkStatus());
  ExpectTensorEqual(Value(ref), TensorOf<float>({3, 1}, {4, 5, 6}));
}

TEST_F(VariableTest, RefStringsAreAssignedByValue) {
  RefPtr<RefCell> ref = RefVariable("r", Tensor::Vector<std::string>({"a", "b"}));
  ASSERT_EQ(run("Assign").RefInput(ref).Input(Tensor::Vector<std::string>({"c", "d"})).Run().status(), OkStatus());
  ExpectTensorEqual(Value(ref), Tensor::Vector<std::string>({"c", "d"}));
}

TEST_F(VariableTest, TemporaryVariableLivesInItsStep) {
  auto make = [&](std::vector<Slot>& out) {
    return run("TemporaryVariable")
        .Attr("shape", PartialShape({2}))
        .Attr("dtype", DType::kFloat)
        .Attr("var_name", "t")
        .RunSlots(out);
  };
  std::vector<Slot> slots;
  ASSERT_EQ(make(slots), OkStatus());
  RefPtr<RefCell> ref = slots[0].ref;
  EXPECT_EQ(make(slots).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_EQ(run("Assign").RefInput(ref).Input(Floats({1, 2})).Run().status(), OkStatus());
  EXPECT_EQ(run("DestroyTemporaryVariable").RefInput(ref).Attr("var_name", "u").Run().status().code(),
            absl::StatusCode::kNotFound);
  auto value = run("DestroyTemporaryVariable").RefInput(ref).Attr("var_name", "t").Run();
  ASSERT_TRUE(value.ok()) << value.status();
  ExpectTensorEqual((*value)[0], Floats({1, 2}));
  EXPECT_EQ(make(slots), OkStatus());
}

TEST_F(VariableTest, CountUpToGivesTheValueBefore) {
  RefPtr<RefCell> ref = RefVariable("r", Tensor::Scalar<int32_t>(1));
  auto count = [&] { return run("CountUpTo").RefInput(ref).Attr("limit", 3).Run(); };
  ExpectTensorEqual((*count())[0], Tensor::Scalar<int32_t>(1));
  ExpectTensorEqual((*count())[0], Tensor::Scalar<int32_t>(2));
  ExpectError(count().status(), absl::StatusCode::kOutOfRange, "Reached limit of 3");
  Tensor handle = Variable("v", Tensor::Scalar<int64_t>(9));
  auto resource = [&] {
    return run("ResourceCountUpTo").Input(handle).Attr("limit", 10).Attr("T", DType::kInt64).Run();
  };
  ExpectTensorEqual((*resource())[0], Tensor::Scalar<int64_t>(9));
  ExpectError(resource().status(), absl::StatusCode::kOutOfRange, "Reached limit of 10");
  Tensor vector = Variable("w", Tensor::Vector<int64_t>({9}));
  ExpectError(run("ResourceCountUpTo").Input(vector).Attr("limit", 10).Attr("T", DType::kInt64).Run().status(),
              kInvalid, "input is not a scalar: [1]");
}

TEST_F(VariableTest, ConcurrentRefUpdatesAreNotLost) {
  RefPtr<RefCell> ref = RefVariable("r", Tensor::Vector<int64_t>({0, 0}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(run("AssignAdd").RefInput(ref).Input(Tensor::Vector<int64_t>({1, 2})).Run().status(), OkStatus());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectTensorEqual(Value(ref), Tensor::Vector<int64_t>({400, 800}));
}

}  // namespace
}  // namespace weir
