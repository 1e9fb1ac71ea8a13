#include <thread>

#include "weir/ops/state/variable_fixture.h"
#include "weir/resources/variable.h"

namespace weir {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

TEST_F(VariableTest, HandleNamesDeviceContainerTypeAndShape) {
  auto out = run("VarHandleOp").Name("v").Attr("dtype", DType::kFloat).Attr("shape", PartialShape({2})).Run();
  ASSERT_TRUE(out.ok());
  const ResourceHandle& handle = (*out)[0].scalar<ResourceHandle>();
  EXPECT_EQ(handle.device, run.device().name());
  EXPECT_EQ(handle.container, "localhost");
  EXPECT_EQ(handle.name, "v");
  EXPECT_EQ(handle.type_name, "N10tensorflow3VarE");
  ASSERT_EQ(handle.dtypes_and_shapes.size(), 1);
  EXPECT_EQ(handle.dtypes_and_shapes[0].dtype, DType::kFloat);
  EXPECT_EQ(handle.dtypes_and_shapes[0].shape, PartialShape({2}));
}

TEST_F(VariableTest, ReadBeforeAssignFails) {
  Tensor handle = Handle("v", DType::kFloat);
  ExpectError(Read(handle).status(), kPrecondition,
              "Could not find variable v. This could mean that the variable has been deleted. In TF1, it can also mean "
              "the variable is uninitialized. Debug info: container=localhost, status error message=");
  ExpectError(run("AssignAddVariableOp").Input(handle).Input(Tensor::Scalar(1.f)).Run().status(), kNotFound,
              "Resource localhost/v/N10tensorflow3VarE does not exist.");
}

TEST_F(VariableTest, AssignThenReadSharesTheTensor) {
  Tensor value = Floats({1, 2});
  Tensor handle = Variable("v", value);
  auto read = Read(handle);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->SharesBufferWith(value));
}

TEST_F(VariableTest, AssignChecksTypeAndOnRequestShape) {
  Tensor handle = Variable("v", Floats({1, 2}));
  ExpectError(AssignTo(handle, Tensor::Vector<int32_t>({1, 2})), kInvalid,
              "Trying to assign variable with wrong dtype. Expected float got int32");
  ExpectError(Read(handle, DType::kInt32).status(), kInvalid,
              "Trying to read variable with wrong dtype. Expected int32 got float");
  auto strict = run("AssignVariableOp").Input(handle).Input(Floats({1, 2, 3})).Attr("validate_shape", true).Run();
  ExpectError(strict.status(), kInvalid,
              "Trying to assign to variable with tensor with wrong shape. Expected [2] got [3]");
  EXPECT_EQ(AssignTo(handle, Floats({1, 2, 3})), OkStatus());
  ExpectTensorEqual(*Read(handle), Floats({1, 2, 3}));
}

TEST_F(VariableTest, UpdatesDoNotReachEarlierReads) {
  Tensor handle = Variable("v", Floats({1, 2}));
  Tensor before = *Read(handle);
  ASSERT_EQ(run("AssignAddVariableOp").Input(handle).Input(Floats({10, 20})).Run().status(), OkStatus());
  ExpectTensorEqual(before, Floats({1, 2}));
  ExpectTensorEqual(*Read(handle), Floats({11, 22}));
}

TEST_F(VariableTest, UpdatesOfAnUnsharedValueStayInPlace) {
  Tensor handle = Variable("v", Floats({1, 2}));
  const void* memory = Read(handle)->raw_data();
  ASSERT_EQ(run("AssignSubVariableOp").Input(handle).Input(Floats({10, 20})).Run().status(), OkStatus());
  ExpectTensorEqual(*Read(handle), Floats({-9, -18}));
  EXPECT_EQ(Read(handle)->raw_data(), memory);
}

TEST_F(VariableTest, AddNeedsTheSameTypeAndShape) {
  Tensor handle = Variable("v", Floats({1, 2}));
  ExpectError(run("AssignAddVariableOp").Input(handle).Input(Floats({1, 2, 3})).Run().status(), kInvalid,
              "Cannot update variable with shape [2] using a Tensor with shape [3], shapes must be equal.");
  ExpectError(run("AssignAddVariableOp").Input(handle).Input(Tensor::Vector<int32_t>({1, 2})).Run().status(), kInvalid,
              "DType of variable handle and value does not match.");
}

TEST_F(VariableTest, IntegerSumsWrap) {
  Tensor handle = Variable("v", Tensor::Scalar<int32_t>(2147483647));
  ASSERT_EQ(run("AssignAddVariableOp").Input(handle).Input(Tensor::Scalar<int32_t>(1)).Run().status(), OkStatus());
  ExpectTensorEqual(*Read(handle, DType::kInt32), Tensor::Scalar<int32_t>(-2147483647 - 1));
}

TEST_F(VariableTest, InitializedAndShape) {
  Tensor missing = Handle("missing", DType::kFloat);
  Tensor handle = Variable("v", TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  ExpectTensorEqual((*run("VarIsInitializedOp").Input(missing).Run())[0], Tensor::Scalar(false));
  ExpectTensorEqual((*run("VarIsInitializedOp").Input(handle).Run())[0], Tensor::Scalar(true));
  ExpectTensorEqual((*run("VariableShape").Input(handle).Run())[0], Tensor::Vector<int32_t>({2, 3}));
  ExpectTensorEqual((*run("VariableShape").Input(handle).Attr("out_type", DType::kInt64).Run())[0],
                    Tensor::Vector<int64_t>({2, 3}));
}

TEST_F(VariableTest, DestroyedVariablesAreGone) {
  Tensor handle = Variable("v", Floats({1}));
  ASSERT_EQ(run("DestroyResourceOp").Input(handle).Run().status(), OkStatus());
  ExpectError(Read(handle).status(), kPrecondition, "Could not find variable v.");
  EXPECT_EQ(run("DestroyResourceOp").Input(handle).Run().status(), OkStatus());
  ExpectError(run("DestroyResourceOp").Input(handle).Attr("ignore_lookup_error", false).Run().status(), kNotFound, "");
}

TEST_F(VariableTest, AnonymousVariablesLiveWithTheirHandle) {
  auto make = [&] {
    return (*run("VarHandleOp")
                 .Attr("dtype", DType::kFloat)
                 .Attr("shape", PartialShape())
                 .Attr("shared_name", "cd2c89b7-88b7-44c8-ad83-06c2a9158347")
                 .Run())[0];
  };
  Tensor first = make();
  Tensor second = make();
  ASSERT_EQ(AssignTo(first, Floats({1})), OkStatus());
  ExpectTensorEqual(*Read(first), Floats({1}));
  ExpectError(Read(second).status(), kPrecondition, "uninitialized");
}

TEST_F(VariableTest, ManyHandlesAndReadsAtOnce) {
  AttrList names, containers, shapes, types;
  names.s = {"a", "b"};
  containers.s = {"", "other"};
  shapes.shape = {PartialShape(), PartialShape()};
  types.type = {DType::kFloat, DType::kInt32};
  auto handles = run("_VarHandlesOp")
                     .Attr("N", 2)
                     .Attr("shared_names", Attribute(names))
                     .Attr("containers", Attribute(containers))
                     .Attr("shapes", Attribute(shapes))
                     .Attr("dtypes", Attribute(types))
                     .Run();
  ASSERT_TRUE(handles.ok()) << handles.status();
  ASSERT_EQ(AssignTo((*handles)[0], Floats({1})), OkStatus());
  ASSERT_EQ(AssignTo((*handles)[1], Tensor::Scalar<int32_t>(7)), OkStatus());
  auto values = run("_ReadVariablesOp").Inputs(*handles).Attr("dtypes", Attribute(types)).Run();
  ASSERT_TRUE(values.ok()) << values.status();
  ExpectTensorEqual((*values)[0], Floats({1}));
  ExpectTensorEqual((*values)[1], Tensor::Scalar<int32_t>(7));
}

TEST_F(VariableTest, GatherTakesRows) {
  Tensor handle = Variable("v", TensorOf<float>({3, 2}, {0, 1, 2, 3, 4, 5}));
  auto out =
      run("ResourceGather").Input(handle).Input(Tensor::Vector<int32_t>({2, 0})).Attr("dtype", DType::kFloat).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], TensorOf<float>({2, 2}, {4, 5, 0, 1}));
  auto bad =
      run("ResourceGather").Input(handle).Input(TensorOf<int64_t>({1, 2}, {0, 3})).Attr("dtype", DType::kFloat).Run();
  ExpectError(bad.status(), kInvalid, "indices[0,1] = 3 is not in [0, 3)");
  auto scalar = run("ResourceGather")
                    .Input(Variable("s", Tensor::Scalar(3.f)))
                    .Input(Tensor::Vector<int32_t>({0}))
                    .Attr("dtype", DType::kFloat)
                    .Run();
  ExpectError(scalar.status(), kInvalid, "params must be at least 1 dimensional");
}

TEST_F(VariableTest, GatherWithBatchDimensions) {
  Tensor handle = Variable("v", TensorOf<float>({2, 3, 1}, {0, 1, 2, 3, 4, 5}));
  auto out = run("ResourceGather")
                 .Input(handle)
                 .Input(TensorOf<int32_t>({2, 2}, {0, 2, 1, 1}))
                 .Attr("dtype", DType::kFloat)
                 .Attr("batch_dims", 1)
                 .Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], TensorOf<float>({2, 2, 1}, {0, 2, 4, 4}));
  auto deep = run("ResourceGather")
                  .Input(handle)
                  .Input(TensorOf<int32_t>({2, 2}, {0, 2, 1, 1}))
                  .Attr("dtype", DType::kFloat)
                  .Attr("batch_dims", 3)
                  .Run();
  EXPECT_EQ(deep.status().code(), kInvalid);
}

TEST_F(VariableTest, GatherNdTakesSlices) {
  Tensor handle = Variable("v", TensorOf<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  auto gather = [&](Tensor indices) {
    return run("ResourceGatherNd").Name("g").Input(handle).Input(std::move(indices)).Attr("dtype", DType::kFloat).Run();
  };
  ExpectTensorEqual((*gather(TensorOf<int32_t>({2, 2}, {0, 1, 1, 2})))[0], Floats({1, 5}));
  ExpectTensorEqual((*gather(TensorOf<int32_t>({1, 1}, {1})))[0], TensorOf<float>({1, 3}, {3, 4, 5}));
  ExpectError(gather(TensorOf<int32_t>({2, 2}, {0, 1, 1, 3})).status(), kInvalid,
              "indices[1] = [1, 3] does not index into param shape [2,3], node name: g");
  EXPECT_EQ(gather(TensorOf<int32_t>({1, 3}, {0, 1, 1})).status().code(), kInvalid);
}

TEST_F(VariableTest, WrongHandlesAreRefused) {
  EXPECT_EQ(Read(Tensor::Vector<ResourceHandle>({ResourceHandle(), ResourceHandle()})).status().code(), kInvalid);
  Tensor mutex = (*run("MutexV2").Name("m").Run())[0];
  EXPECT_EQ(AssignTo(mutex, Floats({1})).code(), kInvalid);
  EXPECT_EQ(Read(mutex).status().code(), kPrecondition);
}

TEST_F(VariableTest, ConcurrentReadersSeeWholeUpdates) {
  constexpr int kRounds = 200;
  Tensor handle = Variable("v", *Tensor::Zeros(DType::kInt64, Shape({256})));
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      Tensor ones = *Tensor::Allocate(DType::kInt64, Shape({256}));
      std::fill_n(ones.data<int64_t>(), 256, 1);
      for (int i = 0; i < kRounds; ++i) {
        ASSERT_EQ(run("AssignAddVariableOp").Input(handle).Input(ones).Run().status(), OkStatus());
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        Tensor value = *Read(handle, DType::kInt64);
        for (int64_t element : value.span<int64_t>()) ASSERT_EQ(element, value.data<int64_t>()[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Read(handle, DType::kInt64)->data<int64_t>()[255], 2 * kRounds);
}

}  // namespace
}  // namespace weir
