#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>

#include "weir/ops/queue/queue_kinds.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Tuple = Queue::Tuple;

// What a call ended with, if it has.
struct Result {
  std::shared_ptr<std::optional<StatusOr<Tuple>>> slot = std::make_shared<std::optional<StatusOr<Tuple>>>();
  Queue::Done done() const {
    return [slot = slot](StatusOr<Tuple> tuple) { slot->emplace(std::move(tuple)); };
  }
  bool pending() const { return !slot->has_value(); }
  Status status() const { return (*slot)->status(); }
  std::vector<int32_t> values() const {
    std::span<const int32_t> span = (***slot)[0].span<int32_t>();
    return {span.begin(), span.end()};
  }
};

class QueueTest : public testing::Test {
 protected:
  std::shared_ptr<Queue> Make(std::string kind, int64_t capacity = -1,
                              std::vector<PartialShape> shapes = {PartialShape(Shape())}) {
    QueueSpec spec;
    spec.kind = std::move(kind);
    spec.capacity = capacity;
    spec.types = {DType::kInt32};
    spec.shapes = std::move(shapes);
    EXPECT_TRUE(NormalizeQueueSpec(spec).ok());
    return MakeQueue("q", spec).value();
  }
  Result Enqueue(Queue& queue, int32_t value) {
    Result result;
    queue.Enqueue({Tensor::Scalar(value)}, cancellation_, result.done());
    return result;
  }
  Result EnqueueMany(Queue& queue, std::initializer_list<int32_t> values) {
    Result result;
    queue.EnqueueMany({Tensor::Vector<int32_t>(values)}, cancellation_, result.done());
    return result;
  }
  Result Dequeue(Queue& queue) {
    Result result;
    queue.Dequeue(cancellation_, result.done());
    return result;
  }
  Result DequeueMany(Queue& queue, int64_t count, bool allow_small_batch = false) {
    Result result;
    queue.DequeueMany(count, allow_small_batch, cancellation_, result.done());
    return result;
  }
  Result Close(Queue& queue, bool cancel_pending_enqueues = false) {
    Result result;
    queue.Close(cancel_pending_enqueues, cancellation_, result.done());
    return result;
  }
  CancellationManager cancellation_;
};

TEST_F(QueueTest, GivesElementsInTheirOrder) {
  auto queue = Make("FIFOQueue");
  EXPECT_TRUE(Enqueue(*queue, 1).status().ok());
  EXPECT_TRUE(EnqueueMany(*queue, {2, 3, 4}).status().ok());
  EXPECT_EQ(queue->size(), 4);
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(1));
  EXPECT_THAT(DequeueMany(*queue, 2).values(), ElementsAre(2, 3));
  EXPECT_THAT(DequeueMany(*queue, 0).values(), ElementsAre());
}

TEST_F(QueueTest, EnqueueWaitsForRoom) {
  auto queue = Make("FIFOQueue", 1);
  Enqueue(*queue, 1);
  Result second = Enqueue(*queue, 2);
  Result third = Enqueue(*queue, 3);
  EXPECT_TRUE(second.pending());
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(1));
  EXPECT_FALSE(second.pending());
  EXPECT_TRUE(third.pending());
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(2));
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(3));
}

TEST_F(QueueTest, BatchesLargerThanTheCapacityPassThrough) {
  auto queue = Make("FIFOQueue", 2);
  Result put = EnqueueMany(*queue, {1, 2, 3, 4, 5});
  EXPECT_TRUE(put.pending());
  EXPECT_EQ(queue->size(), 2);
  EXPECT_THAT(DequeueMany(*queue, 5).values(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_TRUE(put.status().ok());
}

TEST_F(QueueTest, DequeuesWaitInLine) {
  auto queue = Make("FIFOQueue");
  Result many = DequeueMany(*queue, 2);
  Result one = Dequeue(*queue);
  Enqueue(*queue, 1);
  EXPECT_TRUE(many.pending());
  EXPECT_TRUE(one.pending());
  Enqueue(*queue, 2);
  EXPECT_THAT(many.values(), ElementsAre(1, 2));
  EXPECT_TRUE(one.pending());
  Enqueue(*queue, 3);
  EXPECT_THAT(one.values(), ElementsAre(3));
}

TEST_F(QueueTest, ClosedQueueGivesWhatItHasAndThenFails) {
  auto queue = Make("FIFOQueue");
  EnqueueMany(*queue, {1, 2, 3});
  EXPECT_TRUE(Close(*queue).status().ok());
  EXPECT_TRUE(queue->is_closed());
  EXPECT_EQ(Close(*queue).status(), Cancelled("Queue 'q' is already closed."));
  EXPECT_EQ(Enqueue(*queue, 4).status(), Cancelled("FIFOQueue 'q' is closed."));
  EXPECT_TRUE(EnqueueMany(*queue, {}).status().ok());
  EXPECT_EQ(DequeueMany(*queue, 4).status(),
            OutOfRange("FIFOQueue 'q' is closed and has insufficient elements (requested 4, current size 3)"));
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(1));
  EXPECT_THAT(DequeueMany(*queue, 4, true).values(), ElementsAre(2, 3));
  EXPECT_EQ(Dequeue(*queue).status(),
            OutOfRange("FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)"));
  EXPECT_EQ(DequeueMany(*queue, 3, true).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(QueueTest, CloseWaitsForEnqueuesBeforeIt) {
  auto queue = Make("FIFOQueue", 1);
  Enqueue(*queue, 1);
  Result before = Enqueue(*queue, 2);
  Result close = Close(*queue);
  Result after = Enqueue(*queue, 3);
  EXPECT_TRUE(close.pending());
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(1));
  EXPECT_TRUE(before.status().ok());
  EXPECT_TRUE(close.status().ok());
  EXPECT_EQ(after.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(queue->size(), 1);
}

TEST_F(QueueTest, CloseCanCancelEnqueues) {
  auto queue = Make("FIFOQueue", 1);
  Enqueue(*queue, 1);
  Result waiting = Enqueue(*queue, 2);
  EXPECT_TRUE(Close(*queue, true).status().ok());
  EXPECT_EQ(waiting.status(), Cancelled("Enqueue operation was cancelled"));
}

TEST_F(QueueTest, CloseEndsDequeuesThatCannotBeServed) {
  auto queue = Make("FIFOQueue", 2);
  Result many = DequeueMany(*queue, 3);
  Result small = DequeueMany(*queue, 3, true);
  EnqueueMany(*queue, {1, 2});
  EXPECT_TRUE(many.pending());
  Close(*queue);
  EXPECT_EQ(many.status(),
            OutOfRange("FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)"));
  EXPECT_THAT(small.values(), ElementsAre(1, 2));
}

TEST_F(QueueTest, CancelledDequeueConsumesNothing) {
  auto queue = Make("FIFOQueue");
  CancellationManager step;
  Result many;
  queue->DequeueMany(3, false, step, many.done());
  EnqueueMany(*queue, {1, 2});
  Result next = Dequeue(*queue);
  EXPECT_TRUE(many.pending());
  EXPECT_TRUE(next.pending());
  step.StartCancel();
  EXPECT_EQ(many.status(), Cancelled("Dequeue operation was cancelled"));
  EXPECT_THAT(next.values(), ElementsAre(1));
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(2));
}

TEST_F(QueueTest, CancelledStepEndsAllItsWaits) {
  auto queue = Make("FIFOQueue");
  CancellationManager step;
  std::vector<Result> waits(3);
  for (Result& wait : waits) queue->DequeueMany(2, false, step, wait.done());
  Enqueue(*queue, 7);
  step.StartCancel();
  for (Result& wait : waits) EXPECT_EQ(wait.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Dequeue(*queue).values(), ElementsAre(7));
  Result late;
  queue->Dequeue(step, late.done());
  EXPECT_EQ(late.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(QueueTest, RefusesWrongElements) {
  auto queue = Make("FIFOQueue", -1, {PartialShape({2})});
  Result wrong;
  queue->Enqueue({Tensor::Vector<int32_t>({1, 2, 3})}, cancellation_, wrong.done());
  EXPECT_EQ(wrong.status(), InvalidArgument("Shape mismatch in tuple component 0. Expected [2], got [3]"));
  Result batch;
  queue->EnqueueMany({Tensor::Vector<int32_t>({1, 2, 3})}, cancellation_, batch.done());
  EXPECT_EQ(batch.status(), InvalidArgument("Shape mismatch in tuple component 0. Expected [3,2], got [3]"));
  Result scalar;
  queue->EnqueueMany({Tensor::Scalar<int32_t>(1)}, cancellation_, scalar.done());
  EXPECT_EQ(scalar.status().code(), absl::StatusCode::kInvalidArgument);
  auto free = Make("FIFOQueue", -1, {});
  EXPECT_THAT(Message(DequeueMany(*free, 2).status()), HasSubstr("require the components to have specified shapes."));
}

TEST_F(QueueTest, PaddingQueueFillsUpWithZeros) {
  auto queue = Make("PaddingFIFOQueue", -1, {PartialShape({-1, 2})});
  for (int rows : {1, 2, 0}) {
    std::vector<int32_t> values(rows * 2, 7 + rows);
    Result put;
    queue->Enqueue({Tensor::FromSpan<int32_t>(values, Shape({rows, 2}))}, cancellation_, put.done());
    ASSERT_TRUE(put.status().ok());
  }
  EXPECT_THAT(DequeueMany(*queue, 3).values(), ElementsAre(8, 8, 0, 0, 9, 9, 9, 9, 0, 0, 0, 0));
}

TEST_F(QueueTest, PriorityQueueGivesTheSmallestFirst) {
  auto queue = Make("PriorityQueue");
  Result put;
  queue->EnqueueMany({Tensor::Vector<int64_t>({3, 1, 1, 2}), Tensor::Vector<int32_t>({10, 11, 12, 13})}, cancellation_,
                     put.done());
  queue->Enqueue({Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int32_t>(14)}, cancellation_, put.done());
  Result got = DequeueMany(*queue, 5);
  std::span<const int32_t> values = (***got.slot)[1].span<int32_t>();
  EXPECT_THAT(std::vector<int32_t>(values.begin(), values.end()), ElementsAre(14, 12, 11, 13, 10));
}

TEST_F(QueueTest, PriorityQueueSortsABatchThatWaited) {
  auto queue = Make("PriorityQueue");
  Result put;
  auto enqueue = [&](std::initializer_list<int64_t> priorities) {
    const Tensor values = Tensor::Vector<int32_t>(std::vector<int32_t>(priorities.begin(), priorities.end()));
    queue->EnqueueMany({Tensor::Vector<int64_t>(priorities), values}, cancellation_, put.done());
  };
  enqueue({9, 8});
  Result got = DequeueMany(*queue, 4, /*allow_small_batch=*/true);
  EXPECT_TRUE(got.pending());
  EXPECT_EQ(queue->size(), 2);
  enqueue({0, 100, 50});
  ASSERT_FALSE(got.pending());
  std::span<const int32_t> values = (***got.slot)[1].span<int32_t>();
  EXPECT_THAT(std::vector<int32_t>(values.begin(), values.end()), ElementsAre(0, 8, 9, 50));
}

TEST_F(QueueTest, ClosedPriorityQueueLosesASmallBatch) {
  for (bool allow_small_batch : {false, true}) {
    auto queue = Make("PriorityQueue");
    Result put;
    queue->EnqueueMany({Tensor::Vector<int64_t>({2, 1}), Tensor::Vector<int32_t>({2, 1})}, cancellation_, put.done());
    Close(*queue);
    Result got = DequeueMany(*queue, 4, allow_small_batch);
    ASSERT_FALSE(got.pending());
    EXPECT_EQ(got.status(), OutOfRange("PriorityQueue 'q' is closed and has insufficient elements (requested ",
                                       allow_small_batch ? 2 : 4, ", current size ", allow_small_batch ? 0 : 2, ")"));
    EXPECT_EQ(queue->size(), allow_small_batch ? 0 : 2);
  }
}

TEST_F(QueueTest, ShuffleQueueKeepsSomeBack) {
  QueueSpec spec{.kind = "RandomShuffleQueue", .capacity = 10, .types = {DType::kInt32}, .min_after_dequeue = 2};
  spec.shapes = {PartialShape(Shape())};
  spec.seed = 87654321;
  spec.seed2 = 42;
  ASSERT_TRUE(NormalizeQueueSpec(spec).ok());
  auto queue = MakeQueue("q", spec).value();
  EnqueueMany(*queue, {0, 1, 2});
  EXPECT_FALSE(Dequeue(*queue).pending());
  Result held = Dequeue(*queue);
  EXPECT_TRUE(held.pending());
  Close(*queue);
  EXPECT_FALSE(held.pending());
  EXPECT_EQ(DequeueMany(*queue, 1).values().size(), 1u);
}

TEST_F(QueueTest, ManyProducersAndConsumersLoseNothing) {
  constexpr int kProducers = 4;
  constexpr int kEach = 200;
  auto queue = Make("FIFOQueue", 3);
  std::vector<std::thread> threads;
  std::atomic<int> enqueued{0};
  absl::Mutex mu;
  std::multiset<int32_t> seen;
  std::atomic<int> ended{0};
  // Each consumer asks again from its own callback until the queue is closed and empty.
  std::function<void(int64_t)> consume = [&](int64_t count) {
    queue->DequeueMany(count, true, cancellation_, [&, count](StatusOr<Tuple> batch) {
      if (!batch.ok()) {
        ++ended;
        return;
      }
      {
        absl::MutexLock lock(&mu);
        for (int32_t value : (*batch)[0].span<int32_t>()) seen.insert(value);
      }
      consume(count);
    });
  };
  for (int count : {1, 2, 5}) threads.emplace_back([&, count] { consume(count); });
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 0; i < kEach; i += 2) {
        Tuple batch = {Tensor::Vector<int32_t>({p * kEach + i, p * kEach + i + 1})};
        queue->EnqueueMany(std::move(batch), cancellation_, [&](StatusOr<Tuple> done) {
          if (done.ok() && (enqueued += 2) == kProducers * kEach)
            queue->Close(false, cancellation_, [](StatusOr<Tuple>) {});
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 3);
  absl::MutexLock lock(&mu);
  ASSERT_EQ(seen.size(), static_cast<size_t>(kProducers * kEach));
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(std::set<int32_t>(seen.begin(), seen.end()).size(), seen.size());
}

TEST_F(QueueTest, CancellationRacesWithEverythingElse) {
  auto queue = Make("FIFOQueue", 2);
  std::atomic<int> got{0};
  std::atomic<int> put{0};
  std::atomic<int> ended{0};
  constexpr int kRounds = 100;
  std::vector<std::unique_ptr<CancellationManager>> steps;
  for (int i = 0; i < kRounds; ++i) steps.push_back(std::make_unique<CancellationManager>());
  std::thread dequeuer([&] {
    for (auto& step : steps) {
      queue->DequeueMany(3, false, *step, [&](StatusOr<Tuple> batch) {
        if (batch.ok()) got += 3;
        ++ended;
      });
    }
  });
  std::thread enqueuer([&] {
    for (auto& step : steps) {
      queue->Enqueue({Tensor::Scalar<int32_t>(1)}, *step, [&](StatusOr<Tuple> done) {
        if (done.ok()) ++put;
        ++ended;
      });
    }
  });
  std::thread canceller([&] {
    for (auto& step : steps) step->StartCancel();
  });
  dequeuer.join();
  enqueuer.join();
  canceller.join();
  EXPECT_EQ(ended, 2 * kRounds);
  EXPECT_EQ(got + queue->size(), put);
}

}  // namespace
}  // namespace weir
