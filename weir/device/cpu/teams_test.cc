#include "weir/device/cpu/teams.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace weir {
namespace {

template <typename Body>
void InTeam(int threads, Body body) {
  RunTeam([](void* data) { (*static_cast<Body*>(data))(); }, &body, threads);
}

TEST(Teams, EveryMemberRunsOnce) {
  for (int threads : {1, 2, 5}) {
    for (int turn = 0; turn < 200; ++turn) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(threads));
      InTeam(threads, [&] {
        EXPECT_EQ(TeamSize(), threads);
        ++runs[static_cast<size_t>(TeamMember())];
      });
      for (auto& count : runs) ASSERT_EQ(count, 1);
    }
  }
  EXPECT_EQ(TeamSize(), 1);
  EXPECT_EQ(TeamMember(), 0);
}

TEST(Teams, NobodyPassesABarrierBeforeAllHaveComeToIt) {
  constexpr int kThreads = 4, kBarriers = 100;
  std::atomic<int> arrived = 0;
  std::atomic<bool> is_early = false;
  InTeam(kThreads, [&] {
    for (int i = 1; i <= kBarriers; ++i) {
      ++arrived;
      TeamBarrier();
      if (arrived < i * kThreads) is_early = true;
      TeamBarrier();
    }
  });
  EXPECT_FALSE(is_early);
  EXPECT_EQ(arrived, kThreads * kBarriers);
}

TEST(Teams, AMemberThatComesLateIsWaitedFor) {
  std::atomic<int> done = 0;
  InTeam(3, [&] {
    // Longer than the others look for it: they sleep by then.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (TeamMember() == 1 && std::chrono::steady_clock::now() < end) {
    }
    TeamBarrier();
    while (TeamMember() == 2 && std::chrono::steady_clock::now() < end + std::chrono::milliseconds(2)) {
    }
    ++done;
  });
  EXPECT_EQ(done, 3);
}

TEST(Teams, ATeamWithinATeamIsTheThreadItself) {
  std::atomic<int> runs = 0;
  InTeam(3, [&] {
    const int member = TeamMember();
    InTeam(3, [&] {
      EXPECT_EQ(TeamSize(), 1);
      EXPECT_EQ(TeamMember(), 0);
      ++runs;
    });
    EXPECT_EQ(TeamSize(), 3);
    EXPECT_EQ(TeamMember(), member);
  });
  EXPECT_EQ(runs, 3);
}

TEST(Teams, OfManyThreadsAtOnce) {
  std::atomic<int> runs = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&, i] {
      SetTeamSize(1 + i % 3);
      for (int turn = 0; turn < 300; ++turn) {
        InTeam(0, [&] {
          EXPECT_EQ(TeamSize(), 1 + i % 3);
          TeamBarrier();
          ++runs;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(runs, 300 * 2 * (1 + 2 + 3));
}

TEST(Teams, StaticLoopsAreSharedOut) {
  struct Row {
    long start, end, step, chunk;
  };
  const Row kRows[] = {{0, 10, 1, 0}, {0, 2, 1, 0},    {5, 5, 1, 0}, {3, 50, 4, 0},
                       {0, 17, 1, 3}, {20, -1, -2, 0}, {9, 0, -1, 2}};
  for (const Row& row : kRows) {
    std::vector<int> counts(100, 0);
    std::mutex mu;
    InTeam(3, [&] {
      long first, last;
      for (bool more = FirstStaticPart(row.start, row.end, row.step, row.chunk, &first, &last); more;
           more = NextStaticPart(&first, &last)) {
        std::lock_guard<std::mutex> lock(mu);
        for (long i = first; row.step > 0 ? i < last : i > last; i += row.step) ++counts[static_cast<size_t>(i)];
      }
    });
    for (long i = 0; i < 100; ++i) {
      const bool is_in = row.step > 0 ? i >= row.start && i < row.end && (i - row.start) % row.step == 0
                                      : i <= row.start && i > row.end && (row.start - i) % -row.step == 0;
      EXPECT_EQ(counts[static_cast<size_t>(i)], is_in ? 1 : 0)
          << row.start << " " << row.end << " " << row.step << " " << i;
    }
  }
}

}  // namespace
}  // namespace weir
