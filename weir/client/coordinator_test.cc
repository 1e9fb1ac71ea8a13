#include "weir/client/coordinator.h"

#include <gtest/gtest.h>

#include <atomic>

#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/variable.h"

namespace weir {
namespace {

TEST(CoordinatorTest, TheFirstErrorStopsAll) {
  Coordinator coordinator;
  std::atomic<int> ended{0};
  for (int i = 0; i < 3; ++i) {
    coordinator.Start([&] {
      coordinator.WaitForStop();
      ++ended;
      return Cancelled("because of the other");
    });
  }
  coordinator.Start([] { return InvalidArgument("first"); });
  EXPECT_EQ(coordinator.Join(), InvalidArgument("first"));
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(coordinator.ShouldStop());
  bool called = false;
  coordinator.OnStop([&] { called = true; });
  EXPECT_TRUE(called);
}

TEST(CoordinatorTest, TheEndOfDataIsNoError) {
  Coordinator coordinator;
  EXPECT_FALSE(coordinator.WaitForStop(absl::ZeroDuration()));
  coordinator.Start([] { return OutOfRange("no more"); });
  EXPECT_TRUE(coordinator.WaitForStop());
  EXPECT_TRUE(coordinator.Join().ok());
}

class QueueRunnerTest : public testing::Test {
 protected:
  Scope root = Scope::NewRoot();
  Output queue = ops::FIFOQueueV2(root, {DType::kInt64}, {.shapes = {PartialShape(Shape())}, .capacity = 4});
};

TEST_F(QueueRunnerTest, FillsAQueueUntilTheDataEnd) {
  Output numbers = ops::VariableV2(root, PartialShape(Shape()), DType::kInt64);
  Operation begin = ops::Assign(root, numbers, Constant(root, 0, DType::kInt64)).op();
  Operation enqueue = ops::QueueEnqueueV2(root, queue, InputList{ops::CountUpTo(root, numbers, 10)});
  Output dequeued = ops::QueueDequeueV2(root, queue, {DType::kInt64})[0];
  QueueRunner runner = MakeQueueRunner(root, queue, enqueue, 2);
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({begin}).ok()) << root.status();
  Coordinator coordinator;
  StartQueueRunner(*session, coordinator, runner);
  int64_t sum = 0, count = 0;
  while (true) {
    StatusOr<Tensor> value = session->Evaluate(dequeued);
    if (absl::IsOutOfRange(value.status())) break;
    ASSERT_TRUE(value.ok()) << value.status();
    sum += value->scalar<int64_t>();
    ++count;
  }
  EXPECT_EQ(count, 10);
  EXPECT_EQ(sum, 45);
  coordinator.RequestStop();
  EXPECT_TRUE(coordinator.Join().ok());
}

TEST_F(QueueRunnerTest, StopsWhileItWaitsForRoom) {
  Operation enqueue = ops::QueueEnqueueV2(root, queue, InputList{Constant(root, 1, DType::kInt64)});
  Output dequeued = ops::QueueDequeueV2(root, queue, {DType::kInt64})[0];
  QueueRunner runner = MakeQueueRunner(root, queue, enqueue, 3);
  auto session = ClientSession::Create(root).value();
  Coordinator coordinator;
  StartQueueRunner(*session, coordinator, runner);
  EXPECT_TRUE(session->Evaluate(dequeued).ok());
  coordinator.RequestStop();
  EXPECT_TRUE(coordinator.Join().ok());
}

}  // namespace
}  // namespace weir
