#include "weir/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace weir {
namespace {

TEST(ThreadPool, RunsWhatIsQueuedBeforeItEnds) {
  std::atomic<int> runs = 0;
  {
    ThreadPool pool("test", 3);
    for (int i = 0; i < 1000; ++i) pool.Schedule([&runs] { ++runs; });
  }
  EXPECT_EQ(runs, 1000);
}

TEST(ThreadPool, MayBeEndedByOneOfItsThreads) {
  absl::Notification ended;
  auto pool = std::make_shared<ThreadPool>("test", 2);
  ThreadPool* raw = pool.get();
  raw->Schedule([pool = std::move(pool), &ended]() mutable {
    pool.reset();
    ended.Notify();
  });
  ended.WaitForNotification();
}

TEST(ThreadPool, ParallelForCoversEveryIndexOnce) {
  ThreadPool pool("test", 3);
  std::vector<std::atomic<int>> seen(10'000);
  pool.ParallelFor(10'000, 1'000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[i];
  });
  for (const auto& count : seen) ASSERT_EQ(count, 1);
}

TEST(ThreadPool, ParallelForHandsAnExceptionToItsCaller) {
  ThreadPool pool("test", 4);
  std::atomic<int64_t> seen = 0;
  auto body = [&](int64_t begin, int64_t end) {
    seen += end - begin;
    if (begin == 0) throw std::bad_alloc();
  };
  EXPECT_THROW(pool.ParallelFor(1000, 1e6, body), std::bad_alloc);
  EXPECT_EQ(seen, 1000);  // nobody uses the body any more
}

TEST(ThreadPool, LoopsOfManyCallersAreDoneByNoMoreThreadsThanThePoolHas) {
  constexpr int kCallers = 5, kThreads = 3;
  auto pool = std::make_unique<ThreadPool>("test", kThreads);
  std::atomic<int> at_once = 0, most = 0;
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) {
        // Also one within another.
        pool->ParallelFor(4, 1e6, [&](int64_t begin, int64_t end) {
          const int now = ++at_once;
          for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
          }
          pool->ParallelFor(8, 1e6, [&](int64_t first, int64_t last) { sum += (last - first) * (end - begin); });
          --at_once;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  pool.reset();  // a worker that comes too late finds nothing to do, and no pool
  EXPECT_EQ(sum, int64_t{kCallers} * 200 * 4 * 8);
  EXPECT_LE(most, kCallers + kThreads);
}

TEST(ThreadPool, KnowsItsThreads) {
  ThreadPool pool("test", 2);
  EXPECT_EQ(pool.CurrentThread(), -1);
  absl::Notification done;
  int index = -1;
  pool.Schedule([&] {
    index = pool.CurrentThread();
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_GE(index, 0);
}

}  // namespace
}  // namespace weir
