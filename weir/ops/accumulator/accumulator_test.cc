#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "weir/ops/accumulator/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Ints(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }

// A take that may not have ended.
struct Pending {
  absl::Notification done;
  Status status;
  std::vector<Slot> outputs;
  std::shared_ptr<CancellationManager> cancellation;
};

class AccumulatorTest : public testing::Test {
 protected:
  using Ref = RefPtr<RefCell>;

  Ref Make(std::string_view op, std::string_view name, PartialShape shape, std::string_view reduction = "MEAN",
           DType dtype = DType::kFloat) {
    std::vector<Slot> slots;
    EXPECT_EQ(run(op)
                  .Attr("shared_name", name)
                  .Attr("dtype", dtype)
                  .Attr("shape", shape)
                  .Attr("reduction_type", reduction)
                  .RunSlots(slots),
              OkStatus());
    return slots.empty() ? nullptr : slots[0].ref;
  }
  Ref Dense(std::string_view name, PartialShape shape = PartialShape({2}), std::string_view reduction = "MEAN") {
    return Make("ConditionalAccumulator", name, shape, reduction);
  }
  Ref Sparse(std::string_view name, PartialShape shape = PartialShape({4, 2}), std::string_view reduction = "MEAN") {
    return Make("SparseConditionalAccumulator", name, shape, reduction);
  }
  Status Apply(const Ref& ref, int64_t step, Tensor gradient) {
    return run("AccumulatorApplyGradient")
        .RefInput(ref)
        .Input(Tensor::Scalar<int64_t>(step))
        .Input(std::move(gradient))
        .Run()
        .status();
  }
  Status Apply(const Ref& ref, Tensor indices, Tensor values, std::initializer_list<int64_t> shape = {}) {
    return run("SparseAccumulatorApplyGradient")
        .RefInput(ref)
        .Input(Tensor::Scalar<int64_t>(0))
        .Input(std::move(indices))
        .Input(std::move(values))
        .Input(Ints(shape))
        .Attr("has_known_shape", shape.size() > 0)
        .Run()
        .status();
  }
  KernelCall TakeCall(const Ref& ref, int32_t count, bool sparse = false) {
    KernelCall call = run(sparse ? "SparseAccumulatorTakeGradient" : "AccumulatorTakeGradient");
    call.RefInput(ref).Input(Tensor::Scalar<int32_t>(count)).Attr("dtype", DType::kFloat);
    return call;
  }
  StatusOr<Tensor> Take(const Ref& ref, int32_t count) {
    auto out = TakeCall(ref, count).Run();
    if (!out.ok()) return out.status();
    return (*out)[0];
  }
  std::shared_ptr<Pending> StartTake(const Ref& ref, int32_t count) {
    auto pending = std::make_shared<Pending>();
    pending->cancellation = TakeCall(ref, count).RunAsync([pending](Status status, std::vector<Slot> outputs) {
      pending->status = std::move(status);
      pending->outputs = std::move(outputs);
      pending->done.Notify();
    });
    return pending;
  }
  int32_t Count(const Ref& ref) { return (*run("AccumulatorNumAccumulated").RefInput(ref).Run())[0].scalar<int32_t>(); }
  Status SetStep(const Ref& ref, int64_t step) {
    return run("AccumulatorSetGlobalStep").RefInput(ref).Input(Tensor::Scalar<int64_t>(step)).Run().status();
  }
  static void ExpectError(const Status& status, absl::StatusCode code, std::string_view text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(std::string(text)));
  }

  KernelRunner run{RegisterAccumulatorKernels};
};

TEST_F(AccumulatorTest, MeanAndSumOfAllThatCame) {
  for (std::string_view reduction : {"MEAN", "SUM"}) {
    Ref ref = Dense(reduction, PartialShape({2}), reduction);
    ASSERT_EQ(Apply(ref, 0, Floats({1, 2})), OkStatus());
    ASSERT_EQ(Apply(ref, 0, Floats({3, 5})), OkStatus());
    ASSERT_EQ(Apply(ref, 5, Floats({1, 1})), OkStatus());
    EXPECT_EQ(Count(ref), 3);
    ExpectTensorNear(*Take(ref, 2), reduction == "SUM" ? Floats({5, 8}) : Floats({1.6666666, 2.6666667}));
    EXPECT_EQ(Count(ref), 0);
  }
}

TEST_F(AccumulatorTest, GivenGradientsAreNotChanged) {
  Ref ref = Dense("a");
  Tensor first = Floats({1, 2});
  ASSERT_EQ(Apply(ref, 0, first), OkStatus());
  ASSERT_EQ(Apply(ref, 0, Floats({3, 4})), OkStatus());
  ExpectTensorEqual(*Take(ref, 2), Floats({2, 3}));
  ExpectTensorEqual(first, Floats({1, 2}));
}

TEST_F(AccumulatorTest, StaleGradientsAreDropped) {
  Ref ref = Dense("a");
  ASSERT_EQ(Apply(ref, 0, Floats({1, 2})), OkStatus());
  ASSERT_TRUE(Take(ref, 1).ok());
  EXPECT_EQ(Apply(ref, 0, Floats({9, 9})), OkStatus());
  EXPECT_EQ(Count(ref), 0);
  EXPECT_EQ(Apply(ref, 1, Floats({9, 9})), OkStatus());
  EXPECT_EQ(Count(ref), 1);
  ASSERT_EQ(SetStep(ref, 4), OkStatus());
  EXPECT_EQ(Apply(ref, 3, Floats({9, 9})), OkStatus());
  EXPECT_EQ(Count(ref), 1);
  ASSERT_EQ(SetStep(ref, 2), OkStatus());
  EXPECT_EQ(Apply(ref, 3, Floats({9, 9})), OkStatus());
  EXPECT_EQ(Count(ref), 2);
}

TEST_F(AccumulatorTest, ShapesAreChecked) {
  ExpectError(Apply(Dense("a"), 0, Floats({1, 2, 3})), kInvalid, "Shape mismatch: expected [2], got [3]");
  Ref any = Dense("b", PartialShape());
  ASSERT_EQ(Apply(any, 0, Floats({1, 2, 3})), OkStatus());
  ExpectError(Apply(any, 0, Floats({1, 2})), kInvalid, "Shape mismatch: expected [3], got [2]");
  ExpectError(Apply(Dense("c", PartialShape({-1})), 0, TensorOf<float>({1, 1}, {1})), kInvalid,
              "Shape mismatch: expected [?], got [1,1]");
}

TEST_F(AccumulatorTest, WrongArgumentsAreRefused) {
  Ref ref = Dense("a");
  ExpectError(Take(ref, 0).status(), kInvalid, "Argument num_required must be positive, but was 0");
  ExpectError(Take(ref, -1).status(), kInvalid, "Argument num_required must be positive, but was -1");
  EXPECT_EQ(Apply(ref, 0, Ints({1, 2})).code(), kInvalid);
  EXPECT_EQ(run("AccumulatorTakeGradient")
                .RefInput(ref)
                .Input(Tensor::Vector<int32_t>({1}))
                .Attr("dtype", DType::kFloat)
                .Run()
                .status()
                .code(),
            kInvalid);
  EXPECT_EQ(run("AccumulatorTakeGradient")
                .RefInput(ref)
                .Input(Tensor::Scalar<int32_t>(1))
                .Attr("dtype", DType::kDouble)
                .Run()
                .status()
                .code(),
            kInvalid);
  EXPECT_EQ(TakeCall(ref, 1, /*sparse=*/true).Run().status().code(), kInvalid);
  EXPECT_EQ(Apply(ref, Ints({0}), TensorOf<float>({1, 2}, {1, 2})).code(), kInvalid);
}

TEST_F(AccumulatorTest, TakesWaitInLine) {
  Ref ref = Dense("a");
  auto first = StartTake(ref, 2);
  auto second = StartTake(ref, 1);
  ASSERT_EQ(Apply(ref, 9, Floats({1, 1})), OkStatus());
  EXPECT_FALSE(first->done.HasBeenNotified());
  EXPECT_FALSE(second->done.HasBeenNotified());
  ASSERT_EQ(Apply(ref, 9, Floats({3, 3})), OkStatus());
  first->done.WaitForNotification();
  ASSERT_EQ(first->status, OkStatus());
  ExpectTensorEqual(first->outputs[0].tensor, Floats({2, 2}));
  EXPECT_FALSE(second->done.HasBeenNotified());
  ASSERT_EQ(Apply(ref, 9, Floats({5, 5})), OkStatus());
  second->done.WaitForNotification();
  ExpectTensorEqual(second->outputs[0].tensor, Floats({5, 5}));
}

TEST_F(AccumulatorTest, CancelledTakeTakesNothing) {
  Ref ref = Dense("a");
  auto first = StartTake(ref, 2);
  auto second = StartTake(ref, 1);
  ASSERT_EQ(Apply(ref, 0, Floats({1, 1})), OkStatus());
  first->cancellation->StartCancel();
  first->done.WaitForNotification();
  EXPECT_EQ(first->status, Cancelled("TakeGrad operation was cancelled"));
  second->done.WaitForNotification();  // its turn came
  ExpectTensorEqual(second->outputs[0].tensor, Floats({1, 1}));
  auto third = StartTake(ref, 1);
  third->cancellation->StartCancel(DeadlineExceeded("too late"));
  third->done.WaitForNotification();
  EXPECT_EQ(third->status, DeadlineExceeded("too late"));
  ASSERT_EQ(Apply(ref, 1, Floats({7, 7})), OkStatus());
  EXPECT_EQ(Count(ref), 1);
}

TEST_F(AccumulatorTest, HalfPrecisionRoundsLikeTensorFlow) {
  Ref ref = Make("ConditionalAccumulator", "h", PartialShape({2}), "MEAN", DType::kHalf);
  for (auto values : {std::initializer_list<double>{1, 2}, {2, 5}, {4, 8}}) {
    ASSERT_EQ(Apply(ref, 0, NumbersOf(DType::kHalf, Shape({2}), values)), OkStatus());
  }
  auto out =
      run("AccumulatorTakeGradient").RefInput(ref).Input(Tensor::Scalar<int32_t>(2)).Attr("dtype", DType::kHalf).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], NumbersOf(DType::kHalf, Shape({2}), {2.333984375, 5}));
}

TEST_F(AccumulatorTest, ResourceHandlesToo) {
  auto made = run("ResourceConditionalAccumulator")
                  .Attr("shared_name", "r")
                  .Attr("dtype", DType::kFloat)
                  .Attr("shape", PartialShape({2}))
                  .Run();
  ASSERT_TRUE(made.ok()) << made.status();
  Tensor handle = (*made)[0];
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run("ResourceAccumulatorApplyGradient")
                  .Input(handle)
                  .Input(Tensor::Scalar<int64_t>(0))
                  .Input(Floats({1, 2}))
                  .Run()
                  .status(),
              OkStatus());
  }
  ExpectTensorEqual((*run("ResourceAccumulatorNumAccumulated").Input(handle).Run())[0], Tensor::Scalar<int32_t>(2));
  ASSERT_EQ(run("ResourceAccumulatorSetGlobalStep").Input(handle).Input(Tensor::Scalar<int64_t>(4)).Run().status(),
            OkStatus());
  auto out = run("ResourceAccumulatorTakeGradient")
                 .Input(handle)
                 .Input(Tensor::Scalar<int32_t>(1))
                 .Attr("dtype", DType::kFloat)
                 .Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Floats({1, 2}));
}

TEST_F(AccumulatorTest, SparseMeanCountsEachRow) {
  struct Row {
    std::string_view name, reduction;
    PartialShape shape;
    Tensor values;
    Tensor out_shape;
  };
  Tensor mean = TensorOf<float>({3, 2}, {1, 2, 10, 20, 16.5, 22});
  Tensor sum = TensorOf<float>({3, 2}, {1, 2, 10, 20, 33, 44});
  const Row kRows[] = {{"mean", "MEAN", PartialShape({4, 2}), mean, Ints({4, 2})},
                       {"sum", "SUM", PartialShape({4, 2}), sum, Ints({4, 2})},
                       {"unknown", "MEAN", PartialShape(), mean, Ints({-1, 2})},
                       {"partial", "MEAN", PartialShape({-1, 2}), mean, Ints({-1, 2})}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.name));
    Ref ref = Sparse(row.name, row.shape, row.reduction);
    ASSERT_EQ(Apply(ref, Ints({0, 2}), TensorOf<float>({2, 2}, {1, 2, 3, 4}), {4, 2}), OkStatus());
    ASSERT_EQ(Apply(ref, Ints({1, 2}), TensorOf<float>({2, 2}, {10, 20, 30, 40})), OkStatus());
    auto out = TakeCall(ref, 2, /*sparse=*/true).Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorEqual((*out)[0], Ints({0, 1, 2}));
    ExpectTensorEqual((*out)[1], row.values);
    ExpectTensorEqual((*out)[2], row.out_shape);
    EXPECT_EQ(Count(ref), 0);
  }
}

TEST_F(AccumulatorTest, SparseEmptyGradientsCount) {
  Ref ref = Sparse("a");
  ASSERT_EQ(Apply(ref, Ints({0}), TensorOf<float>({1, 2}, {1, 2})), OkStatus());
  ASSERT_EQ(Apply(ref, Ints({}), TensorOf<float>({0, 2}, {})), OkStatus());
  EXPECT_EQ(Count(ref), 2);
  auto out = TakeCall(ref, 2, /*sparse=*/true).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Ints({0}));
  ExpectTensorEqual((*out)[1], TensorOf<float>({1, 2}, {1, 2}));
}

TEST_F(AccumulatorTest, SparseGradientsAreChecked) {
  Ref ref = Sparse("a");
  Tensor row = TensorOf<float>({1, 2}, {1, 2});
  ExpectError(Apply(ref, Ints({9}), row), kInvalid,
              "Shape mismatch: index of slice 0 exceeded limits of shape; index is 9 exceeded 4");
  ExpectError(Apply(ref, Ints({0}), row, {5, 2}), kInvalid, "Shape mismatch: expected shape dim 0 to be 4, got 5");
  ExpectError(Apply(ref, Ints({0}), TensorOf<float>({1, 3}, {1, 2, 3})), kInvalid,
              "Shape mismatch: expected values dim 1 to be 2, got 3");
  ExpectError(Apply(ref, Ints({0, 1}), row), kInvalid, "Expected 2 non-empty input values, got 1");
  ExpectError(Apply(ref, TensorOf<int64_t>({1, 1}, {0}), row), kInvalid,
              "Input indices should be vector but received shape: [1,1]");
  ExpectError(Apply(ref, Ints({0}), Tensor::Scalar(1.f)), kInvalid, "Values cannot be 0-dimensional.");
  Ref any = Sparse("b", PartialShape());
  ASSERT_EQ(Apply(any, Ints({0}), row), OkStatus());
  ExpectError(Apply(any, Ints({0}), TensorOf<float>({1, 3}, {1, 2, 3})), kInvalid,
              "Shape mismatch: expected values dim 1 to be 2, got 3");
  ExpectError(Apply(any, Ints({0}), Floats({1})), kInvalid, "Shape mismatch: expected values rank 2, got 1");
}

TEST_F(AccumulatorTest, ConcurrentWorkersAndTakers) {
  constexpr int kWorkers = 3;
  constexpr int kSteps = 100;
  Ref ref = Dense("a", PartialShape({2}), "SUM");
  std::vector<std::thread> workers;
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&] {
      for (int i = 0; i < kSteps; ++i) ASSERT_EQ(Apply(ref, 1 << 20, Floats({1, 2})), OkStatus());
    });
  }
  double total = 0;
  std::thread taker([&] {
    // One at a time, and the rest: a take may find more than it asked for.
    while (total < kWorkers * kSteps) total += (*Take(ref, 1)).data<float>()[0];
  });
  for (std::thread& worker : workers) worker.join();
  taker.join();
  EXPECT_EQ(total, kWorkers * kSteps);
  EXPECT_EQ(Count(ref), 0);
}

}  // namespace
}  // namespace weir
