// Staging areas through their kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "weir/ops/queue/register.h"
#include "weir/ops/queue/waiting_room.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

Tensor I(int32_t value) { return Tensor::Scalar(value); }

class StagingTest : public testing::Test {
 protected:
  KernelCall Op(std::string_view op, std::vector<DType> dtypes = {DType::kInt32}) {
    KernelCall call = run_(op);
    call.Attr("shared_name", "s").Attr("dtypes", std::move(dtypes)).Attr("capacity", capacity_);
    return call;
  }
  int32_t Size(std::string_view op = "StageSize") { return (*Op(op).Run())[0].scalar<int32_t>(); }
  // Starts a node that may wait; the result stands in *status when it ends.
  std::shared_ptr<Status> Start(KernelCall call) {
    auto status = std::make_shared<Status>(Unknown("waiting"));
    last_ = call.RunAsync([status](Status s, std::vector<Slot>) { *status = std::move(s); });
    return status;
  }
  KernelCall MapStage(int64_t key, std::initializer_list<int32_t> indices, std::vector<Tensor> values) {
    KernelCall call = Op("MapStage", kTwo);
    call.Input(Tensor::Scalar(key)).Input(Tensor::Vector<int32_t>(indices)).Inputs(std::move(values));
    return call;
  }
  KernelCall MapTake(std::string_view op, int64_t key, std::initializer_list<int32_t> indices,
                     std::vector<DType> dtypes) {
    KernelCall call = Op(op, std::move(dtypes));
    call.Input(Tensor::Scalar(key)).Input(Tensor::Vector<int32_t>(indices));
    return call;
  }

  const std::vector<DType> kTwo = {DType::kInt32, DType::kFloat};
  int capacity_ = 0;
  std::shared_ptr<CancellationManager> last_;
  KernelRunner run_{RegisterQueueKernels};
};

TEST_F(StagingTest, GivesTuplesInTheirOrder) {
  EXPECT_EQ(Size(), 0);
  ASSERT_TRUE(Op("Stage").Input(I(1)).Run().ok());
  ASSERT_TRUE(Op("Stage").Input(I(5)).Run().ok());
  EXPECT_EQ(Size(), 2);
  ExpectTensorEqual((*Op("StagePeek").Input(I(1)).Run())[0], I(5));
  ExpectTensorEqual((*Op("Unstage").Run())[0], I(1));
  EXPECT_EQ(Op("StagePeek").Input(I(-1)).Run().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Op("Unstage", {DType::kFloat}).Run().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Size(), 1) << "an unstage that fails takes nothing";
  ASSERT_TRUE(Op("StageClear").Run().ok());
  EXPECT_EQ(Size(), 0);
}

TEST_F(StagingTest, FullAreaMakesStageWait) {
  capacity_ = 1;
  ASSERT_TRUE(Op("Stage").Input(I(1)).Run().ok());
  auto second = Start(Op("Stage").Input(I(2)));
  EXPECT_EQ(Message(*second), "waiting");
  ExpectTensorEqual((*Op("Unstage").Run())[0], I(1));
  EXPECT_TRUE(second->ok());
  auto third = Start(Op("Stage").Input(I(3)));
  last_->StartCancel();
  EXPECT_EQ(third->code(), absl::StatusCode::kCancelled);
  ExpectTensorEqual((*Op("Unstage").Run())[0], I(2));
  EXPECT_EQ(Size(), 0);
}

TEST_F(StagingTest, MemoryLimitHolds) {
  auto stage = [&](Tensor value) {
    KernelCall call = run_("Stage");
    call.Attr("shared_name", "m").Attr("memory_limit", 12).Input(std::move(value));
    return call;
  };
  EXPECT_EQ(stage(Tensor::Vector<int32_t>({1, 2, 3, 4})).Run().status(),
            ResourceExhausted("Attempted to insert tensors with combined size of '16' bytes into Staging Area with a "
                              "memory limit of '12'."));
  ASSERT_TRUE(stage(Tensor::Vector<int32_t>({1, 2})).Run().ok());
  auto waiting = Start(stage(Tensor::Vector<int32_t>({1, 2})));
  EXPECT_EQ(Message(*waiting), "waiting");
  ASSERT_TRUE(run_("StageClear").Attr("shared_name", "m").Attr("dtypes", std::vector<DType>{DType::kInt32}).Run().ok());
  EXPECT_TRUE(waiting->ok());
}

TEST_F(StagingTest, MapCollectsTuplesByKey) {
  ASSERT_TRUE(MapStage(3, {0, 1}, {I(1), Tensor::Scalar(2.0f)}).Run().ok());
  ASSERT_TRUE(MapStage(9, {0}, {I(4)}).Run().ok());
  EXPECT_EQ(Size("MapSize"), 1);
  EXPECT_EQ(Size("MapIncompleteSize"), 1);
  EXPECT_EQ(MapStage(9, {0}, {I(4)}).Run().status(),
            InvalidArgument("The tensor for index '0' for key '9' was already initialized '2'."));
  ASSERT_TRUE(MapStage(9, {1}, {Tensor::Scalar(4.0f)}).Run().ok());
  EXPECT_EQ(Size("MapSize"), 2);
  EXPECT_EQ(Size("MapIncompleteSize"), 0);
  EXPECT_EQ(MapTake("MapPeek", 3, {1, 0}, {DType::kFloat, DType::kInt32}).Run().status(),
            InvalidArgument("Indices are not strictly ordered"));
  ExpectTensorEqual((*MapTake("MapUnstage", 3, {0}, {DType::kInt32}).Run())[0], I(1));
  EXPECT_EQ(Size("MapSize"), 2);
  EXPECT_EQ(MapTake("MapUnstage", 3, {0}, {DType::kInt32}).Run().status(),
            InvalidArgument("Tensor at index '0' for key '3' has already been removed."));
  ExpectTensorEqual((*MapTake("MapUnstage", 3, {1}, {DType::kFloat}).Run())[0], Tensor::Scalar(2.0f));
  EXPECT_EQ(Size("MapSize"), 1);
  KernelCall any = Op("MapUnstageNoKey", kTwo);
  auto item = any.Input(Tensor::Vector<int32_t>({0, 1})).Run();
  ExpectTensorEqual((*item)[0], Tensor::Scalar<int64_t>(9));
  ExpectTensorEqual((*item)[1], I(4));
  EXPECT_EQ(MapStage(1, {0, 2}, {I(1), Tensor::Scalar(2.0f)}).Run().status(),
            InvalidArgument("Index '2' for key '1' was out of bounds '2'."));
}

TEST_F(StagingTest, MapUnstageWaitsForItsKey) {
  auto waiting = Start(MapTake("MapUnstage", 5, {0, 1}, kTwo));
  ASSERT_TRUE(MapStage(4, {0, 1}, {I(1), Tensor::Scalar(2.0f)}).Run().ok());
  EXPECT_EQ(Message(*waiting), "waiting");
  ASSERT_TRUE(MapStage(5, {0, 1}, {I(1), Tensor::Scalar(2.0f)}).Run().ok());
  EXPECT_TRUE(waiting->ok());
  EXPECT_EQ(Size("MapSize"), 1);
}

TEST_F(StagingTest, OrderedMapGivesTheSmallestKey) {
  for (int64_t key : {7, 2, 5}) {
    KernelCall stage = Op("OrderedMapStage");
    stage.Input(Tensor::Scalar(key)).Input(Tensor::Vector<int32_t>({0})).Inputs({I(static_cast<int32_t>(key))});
    ASSERT_TRUE(stage.Run().ok());
  }
  for (int64_t key : {2, 5, 7}) {
    auto item = Op("OrderedMapUnstageNoKey").Input(Tensor::Vector<int32_t>({0})).Run();
    ExpectTensorEqual((*item)[0], Tensor::Scalar(key));
  }
}

TEST(WaitingRoomTest, EveryWaiterEndsOnce) {
  auto room = std::make_shared<WaitingRoom>();
  constexpr int kRounds = 200;
  int level = 0;  // under the room's lock
  std::atomic<int> raised{0}, lowered{0}, cancelled{0};
  std::vector<std::unique_ptr<CancellationManager>> steps;
  for (int i = 0; i < kRounds; ++i) steps.push_back(std::make_unique<CancellationManager>());
  auto wait = [&](CancellationManager& step, int change, std::atomic<int>& count) {
    room->Wait(
        step, "stopped",
        [&level, change]() -> std::optional<Status> {
          if (level + change < 0 || level + change > 2) return std::nullopt;
          level += change;
          return OkStatus();
        },
        [&](Status status) { ++(status.ok() ? count : cancelled); });
  };
  std::thread up([&] {
    for (auto& step : steps) wait(*step, 1, raised);
  });
  std::thread down([&] {
    for (auto& step : steps) wait(*step, -1, lowered);
  });
  std::thread stop([&] {
    for (auto& step : steps) step->StartCancel();
  });
  up.join();
  down.join();
  stop.join();
  EXPECT_EQ(raised + lowered + cancelled, 2 * kRounds);
  EXPECT_EQ(raised - lowered, level);
}

}  // namespace
}  // namespace weir
