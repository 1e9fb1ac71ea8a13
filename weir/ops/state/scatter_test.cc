#include <cmath>
#include <cstring>
#include <vector>

#include "weir/ops/state/variable_fixture.h"

namespace weir {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }

struct Row {
  std::string_view op;
  Tensor rows;     // after updates 2, 2, 5 of rows 0, 0, 2 of [1 2 3 4]
  Tensor scalars;  // after 2.5 for each of them
};

TEST_F(VariableTest, ScatterOpsOfBothKinds) {
  const Row kRows[] = {
      {"Update", Floats({2, 2, 5, 4}), Floats({2.5, 2, 2.5, 4})},
      {"Add", Floats({5, 2, 8, 4}), Floats({6, 2, 5.5, 4})},
      {"Sub", Floats({-3, 2, -2, 4}), Floats({-4, 2, 0.5, 4})},
      {"Mul", Floats({4, 2, 15, 4}), Floats({6.25, 2, 7.5, 4})},
      {"Div", Floats({0.25, 2, 0.6, 4}), Floats({0.16, 2, 1.2, 4})},
      {"Min", Floats({1, 2, 3, 4}), Floats({1, 2, 2.5, 4})},
      {"Max", Floats({2, 2, 5, 4}), Floats({2.5, 2, 3, 4})},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.op));
    for (bool scalar : {false, true}) {
      Tensor updates = scalar ? Tensor::Scalar(2.5f) : Floats({2, 2, 5});
      const Tensor& expected = scalar ? row.scalars : row.rows;
      RefPtr<RefCell> ref = RefVariable(Cat(row.op, "_ref", scalar), Floats({1, 2, 3, 4}));
      auto out = run(Cat("Scatter", row.op)).RefInput(ref).Input(Ints({0, 0, 2})).Input(updates).Run();
      ASSERT_TRUE(out.ok()) << out.status();
      ExpectTensorNear((*out)[0], expected);
      Tensor handle = Variable(Cat(row.op, scalar), Floats({1, 2, 3, 4}));
      auto status = run(Cat("ResourceScatter", row.op))
                        .Input(handle)
                        .Input(Ints({0, 0, 2}))
                        .Input(updates)
                        .Attr("dtype", DType::kFloat)
                        .Run()
                        .status();
      ASSERT_TRUE(status.ok()) << status;
      ExpectTensorNear(*Read(handle), expected);
    }
  }
}

// Many updates of few rows: threads share the rows, and each row still gets its updates in order.
TEST_F(VariableTest, ManyScatteredUpdatesComeInOrder) {
  constexpr int64_t kRows = 301, kWidth = 5, kUpdates = 40'000;
  Tensor indices = Tensor::Zeros(DType::kInt32, {kUpdates}).value();
  Tensor updates = Tensor::Zeros(DType::kFloat, {kUpdates, kWidth}).value();
  std::vector<float> expected(static_cast<size_t>(kRows * kWidth));
  uint32_t seed = 1;
  for (int64_t i = 0; i < kUpdates; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const auto row = static_cast<int32_t>((seed >> 8) % kRows);
    indices.data<int32_t>()[i] = row;
    for (int64_t j = 0; j < kWidth; ++j) {
      const float update = std::ldexp(static_cast<float>(seed >> 16), static_cast<int>(seed % 13) - 6);
      updates.data<float>()[i * kWidth + j] = update;
      expected[static_cast<size_t>(row * kWidth + j)] -= update;
    }
  }
  Tensor handle = Variable("many", Tensor::Zeros(DType::kFloat, {kRows, kWidth}).value());
  ASSERT_EQ(run("ResourceScatterSub").Input(handle).Input(indices).Input(updates).Run().status(), OkStatus());
  const Tensor result = *Read(handle);
  EXPECT_EQ(std::memcmp(result.raw_data(), expected.data(), result.num_bytes()), 0);
}

TEST_F(VariableTest, ScatterMovesWholeRowsOfAnyType) {
  Tensor matrix = Variable("m", TensorOf<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(run("ResourceScatterAdd")
                .Input(matrix)
                .Input(TensorOf<int64_t>({1, 1}, {1}))
                .Input(TensorOf<float>({1, 1, 3}, {10, 20, 30}))
                .Run()
                .status(),
            OkStatus());
  ExpectTensorEqual(*Read(matrix), TensorOf<float>({2, 3}, {0, 1, 2, 13, 24, 35}));
  Tensor strings = Variable("s", Tensor::Vector<std::string>({"a", "b", "c"}));
  ASSERT_EQ(run("ResourceScatterUpdate")
                .Input(strings)
                .Input(Ints({2, 0}))
                .Input(Tensor::Vector<std::string>({"x", "y"}))
                .Run()
                .status(),
            OkStatus());
  ExpectTensorEqual(*Read(strings, DType::kString), Tensor::Vector<std::string>({"y", "b", "x"}));
}

TEST_F(VariableTest, ScatterLeavesSnapshotsAlone) {
  Tensor handle = Variable("v", Floats({1, 2}));
  Tensor before = *Read(handle);
  ASSERT_EQ(run("ResourceScatterAdd").Input(handle).Input(Ints({0})).Input(Floats({5})).Run().status(), OkStatus());
  ExpectTensorEqual(before, Floats({1, 2}));
  ExpectTensorEqual(*Read(handle), Floats({6, 2}));
}

TEST_F(VariableTest, ScatterStopsAtABadIndex) {
  RefPtr<RefCell> ref = RefVariable("r", Floats({1, 2, 3, 4}));
  auto scatter = [&](Tensor indices, Tensor updates) {
    return run("ScatterAdd").RefInput(ref).Input(std::move(indices)).Input(std::move(updates)).Run().status();
  };
  ExpectError(scatter(Ints({0, 4}), Floats({1, 2})), kInvalid, "indices[1] = 4 is not in [0, 4)");
  ExpectError(scatter(TensorOf<int32_t>({1, 2}, {0, -1}), TensorOf<float>({1, 2}, {1, 2})), kInvalid,
              "indices[0,1] = -1 is not in [0, 4)");
  ExpectError(
      scatter(Ints({0, 0}), Floats({1, 2, 3})), kInvalid,
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape [3], "
      "indices.shape [2], params.shape [4]");
  ExpectTensorEqual(Value(ref), Floats({3, 2, 3, 4}));  // what came before the bad ones is there
  ExpectError(run("ResourceScatterUpdate")
                  .Input(Variable("v", Floats({1})))
                  .Input(Ints({0, 0}))
                  .Input(Floats({1, 2, 3}))
                  .Run()
                  .status(),
              kInvalid, "The shape of indices ([2]) must be a prefix of the shape of updates ([3])");
  ExpectError(run("ScatterAdd")
                  .RefInput(RefVariable("s", Tensor::Scalar(1.f)))
                  .Input(Ints({0}))
                  .Input(Floats({1}))
                  .Run()
                  .status(),
              kInvalid, "params must be at least 1-D, got shape []");
}

TEST_F(VariableTest, ScatterDivNeverDividesIntegersByZero) {
  Tensor handle = Variable("v", Ints({7, -2147483647 - 1}));
  auto divide = [&](int32_t index, int32_t by) {
    return run("ResourceScatterDiv").Input(handle).Input(Ints({index})).Input(Ints({by})).Run().status();
  };
  ExpectError(divide(0, 0), kInvalid, "updates must not contain 0");
  EXPECT_EQ(divide(0, -2), OkStatus());
  EXPECT_EQ(divide(1, -1), OkStatus());
  ExpectTensorEqual(*Read(handle, DType::kInt32), Ints({-3, -2147483647 - 1}));
}

TEST_F(VariableTest, ScatterMinKeepsNaNOfTheVariableOnly) {
  Tensor handle = Variable("v", Floats({1, NAN}));
  ASSERT_EQ(run("ResourceScatterMin").Input(handle).Input(Ints({0, 1})).Input(Floats({NAN, 1})).Run().status(),
            OkStatus());
  ExpectTensorEqual(*Read(handle), Floats({1, NAN}));
}

TEST_F(VariableTest, ScatterNdOpsOfBothKinds) {
  const std::pair<std::string_view, Tensor> kRows[] = {{"Update", Floats({1, 2, 3, -8})},
                                                       {"Add", Floats({11, 2, 3, -4})},
                                                       {"Sub", Floats({-9, 2, 3, 12})},
                                                       {"Min", Floats({1, 2, 3, -8})},
                                                       {"Max", Floats({9, 2, 3, 4})}};
  Tensor indices = TensorOf<int32_t>({3, 1}, {0, 3, 0});
  for (const auto& [op, expected] : kRows) {
    SCOPED_TRACE(std::string(op));
    RefPtr<RefCell> ref = RefVariable(Cat(op, "_ref"), Floats({1, 2, 3, 4}));
    auto out = run(Cat("ScatterNd", op)).RefInput(ref).Input(indices).Input(Floats({9, -8, 1})).Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorEqual((*out)[0], expected);
    Tensor handle = Variable(op, Floats({1, 2, 3, 4}));
    auto status =
        run(Cat("ResourceScatterNd", op)).Input(handle).Input(indices).Input(Floats({9, -8, 1})).Run().status();
    ASSERT_TRUE(status.ok()) << status;
    ExpectTensorEqual(*Read(handle), expected);
  }
}

TEST_F(VariableTest, ScatterNdShapesAndErrors) {
  Tensor handle = Variable("v", TensorOf<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  auto update = [&](Tensor indices, Tensor updates, std::string policy = "") {
    return run("ResourceScatterNdUpdate")
        .Input(handle)
        .Input(std::move(indices))
        .Input(std::move(updates))
        .Attr("bad_indices_policy", policy)
        .Run()
        .status();
  };
  EXPECT_EQ(update(TensorOf<int32_t>({1, 1}, {1}), TensorOf<float>({1, 3}, {9, 8, 7})), OkStatus());
  EXPECT_EQ(update(TensorOf<int32_t>({2, 2}, {0, 1, 1, 2}), Floats({-1, -2})), OkStatus());
  ExpectTensorEqual(*Read(handle), TensorOf<float>({2, 3}, {0, -1, 2, 9, 8, -2}));
  ExpectError(update(TensorOf<int32_t>({1, 1}, {2}), TensorOf<float>({1, 3}, {9, 8, 7})), kInvalid,
              "indices[0] = [2] does not index into shape [2,3]");
  ExpectError(update(TensorOf<int32_t>({1, 1}, {1}), TensorOf<float>({1, 2}, {9, 8})), kInvalid,
              "Dimensions [1,2) of input[shape=[2,3]] must match dimensions [1,2) of updates[shape=[1,2]]");
  ExpectError(update(TensorOf<int32_t>({1, 1}, {1}), TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6})), kInvalid,
              "Dimensions [0,1) of indices[shape=[1,1]] = 1 must match dimensions [0,1) of updates[shape=[2,3]] = 2");
  ExpectError(update(TensorOf<int32_t>({1, 3}, {1, 0, 0}), Floats({9})), kInvalid, "Dimensions [3,2) of input");
  EXPECT_EQ(update(Tensor::Scalar<int32_t>(1), Floats({1, 2, 3})).code(), kInvalid);
  EXPECT_EQ(update(TensorOf<int32_t>({1, 0}, {}), TensorOf<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6})).code(), kInvalid);
  EXPECT_EQ(update(TensorOf<int32_t>({0, 1}, {}), TensorOf<float>({0, 3}, {})), OkStatus());
  EXPECT_EQ(update(TensorOf<int32_t>({2, 1}, {7, 0}), TensorOf<float>({2, 3}, {1, 1, 1, 6, 6, 6}), "IGNORE"),
            OkStatus());
  ExpectTensorEqual(*Read(handle), TensorOf<float>({2, 3}, {6, 6, 6, 9, 8, -2}));
  ExpectError(update(TensorOf<int32_t>({3, 1}, {7, 0, -1}), TensorOf<float>({3, 3}, {1, 1, 1, 4, 4, 4, 2, 2, 2})),
              kInvalid, "indices[2] = [-1] does not index into shape [2,3]");
  ExpectTensorEqual(*Read(handle), TensorOf<float>({2, 3}, {4, 4, 4, 9, 8, -2}));
  ExpectError(update(TensorOf<int32_t>({1, 1}, {1}), TensorOf<float>({1, 3}, {9, 8, 7}), "FOO"), kInvalid,
              "Unknown bad indices handling attribute: FOO");
}

}  // namespace
}  // namespace weir
