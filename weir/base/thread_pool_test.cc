#include "weir/base/thread_pool.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "weir/base/export.h"
#include "weir/base/sanitizers.h"
#include "weir/base/strings.h"

#if defined(__SANITIZE_THREAD__)
// Threads in the child of a program with threads are what is tested here. The sanitizer, a shared library, looks for
// this function.
extern "C" WEIR_PUBLIC const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

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

// While it lives, all threads of the pool are busy.
class Occupied {
 public:
  explicit Occupied(ThreadPool& pool) : state_(std::make_shared<State>(pool.num_threads())) {
    for (int i = 0; i < pool.num_threads(); ++i) {
      pool.Schedule([state = state_] {
        state->begun.DecrementCount();
        state->end.WaitForNotification();
      });
    }
    state_->begun.Wait();
  }
  ~Occupied() { End(); }
  void End() {
    if (!state_->end.HasBeenNotified()) state_->end.Notify();
  }

 private:
  struct State {
    explicit State(int threads) : begun(threads) {}
    absl::BlockingCounter begun;
    absl::Notification end;
  };
  const std::shared_ptr<State> state_;
};

TEST(ThreadPool, StartsThreadsWhenThereIsWorkForThem) {
  ThreadPool pool("test", 3);
  EXPECT_EQ(pool.num_threads(), 3);
  EXPECT_EQ(pool.num_started(), 0);
  pool.ParallelFor(100, 1, [](int64_t, int64_t) {});  // too little to share
  EXPECT_EQ(pool.num_started(), 0);
  absl::Notification done;
  pool.Schedule([&done] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_EQ(pool.num_started(), 1);
  const Occupied occupied(pool);
  for (int i = 0; i < 10; ++i) pool.Schedule([] {});
  EXPECT_EQ(pool.num_started(), 3);
}

TEST(ThreadPool, ShortLoopsWakeNobodyUnlessThereAreManyOfThem) {
  ThreadPool pool("test", 4);
  int64_t sum = 0;
  const auto add = [&](int64_t begin, int64_t end) { sum += end - begin; };
  pool.ParallelFor(3, 20'000, add);  // cut into parts, all of which its caller does
  EXPECT_EQ(sum, 3);
  EXPECT_EQ(pool.num_started(), 0);
  std::atomic<int64_t> count = 0;
  while (pool.num_started() == 0) {
    pool.ParallelFor(3, 20'000, [&](int64_t begin, int64_t end) { count += end - begin; });
  }
  EXPECT_GE(count, 3);
}

TEST(ThreadPool, ALoopNeedsNoFreeThread) {
  ThreadPool pool("test", 2);
  const Occupied occupied(pool);
  int64_t sum = 0;  // in this thread alone
  pool.ParallelFor(100, 1e6, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

TEST(ThreadPool, AThreadThatBecomesFreeHelpsWithALoopThatHasBegun) {
  ThreadPool pool("test", 2);
  absl::Notification helped;
  Occupied occupied(pool);
  pool.ParallelFor(2, 1e6, [&](int64_t begin, int64_t) {
    if (pool.CurrentThread() >= 0) {
      helped.Notify();
    } else {
      occupied.End();
      helped.WaitForNotification();
    }
  });
}

// Of a thread of this process, as /proc has it: R runs, S sleeps.
char StateOf(const std::string& thread) {
  std::ifstream file(Cat("/proc/self/task/", thread, "/stat"));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  return name_end == line.npos || name_end + 2 >= line.size() ? '?' : line[name_end + 2];
}

int CountThreads(const std::string& name, char state) {
  int count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder)) {
    std::ifstream file(Cat("/proc/self/task/", entry->d_name, "/comm"));
    std::string own_name;
    std::getline(file, own_name);
    if (own_name == name && StateOf(entry->d_name) == state) ++count;
  }
  closedir(folder);
  return count;
}

TEST(ThreadPool, IdleThreadsSleep) {
  ThreadPool pool("test-idle", 3);
  Occupied(pool).End();
  pool.ParallelFor(100, 1e6, [](int64_t, int64_t) {});
  // Threads that went on looking for work would never all be seen asleep several times in a row.
  for (int in_a_row = 0; in_a_row < 20; std::this_thread::yield()) {
    in_a_row = CountThreads("test-idle", 'S') == 3 ? in_a_row + 1 : 0;
  }
}

// Runs `body` in a child process; true if it returns true.
template <typename Body>
bool IsTrueInChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

// Closures and loops are run, by as many threads as there may be.
bool Works(ThreadPool& pool) {
  Occupied(pool).End();
  std::atomic<int64_t> sum = 0;
  pool.ParallelFor(1000, 1e6, [&](int64_t begin, int64_t end) { sum += end - begin; });
  return sum == 1000 && pool.num_started() == pool.num_threads();
}

TEST(ThreadPool, WorksInTheChildOfAFork) {
  auto pool = std::make_unique<ThreadPool>("test", 3);
  EXPECT_TRUE(Works(*pool));
  EXPECT_TRUE(IsTrueInChild([&] {
    if (pool->num_started() != 0 || !Works(*pool)) return false;
    ThreadPool fresh("test", 2);
    if (!Works(fresh)) return false;
    return IsTrueInChild([&] {  // which ends them without using them
      pool.reset();
      return true;
    });
  }));
  EXPECT_TRUE(Works(*pool));
}

TEST(ThreadPool, TheChildOfAForkLeavesToItsParentWhatWasQueued) {
  ThreadPool pool("test", 1);
  std::atomic<int> runs = 0;
  Occupied occupied(pool);
  pool.Schedule([&runs] { ++runs; });
  EXPECT_TRUE(IsTrueInChild([&] { return Works(pool) && runs == 0; }));
  occupied.End();
  EXPECT_TRUE(Works(pool));
  EXPECT_EQ(runs, 1);
}

TEST(ThreadPool, MayBeForkedAtAnyMoment) {
  ThreadPool pool("test", 2);
  std::atomic<bool> end = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      while (!end) {
        pool.Schedule([] {});
        pool.ParallelFor(8, 1e6, [](int64_t, int64_t) {});
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(IsTrueInChild([&] { return Works(pool); }));
  end = true;
  for (std::thread& thread : busy) thread.join();
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
