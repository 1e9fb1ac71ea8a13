// Horovod's way: ranks are processes, which check their results themselves.
#include "weir/collective/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <thread>

#include "weir/base/free_ports.h"
#include "weir/base/strings.h"
#include "weir/collective/negotiation.h"

namespace weir::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Runs the body in a process for every rank, after Init; and with `hosts` as if they were on so many hosts.
void InProcesses(int size, int hosts, const std::function<void()>& body, InitOptions options = {}) {
  static int count = 0;
  const std::string job = Cat("engine_test_", getpid(), "_", ++count);
  const std::string address = Cat("127.0.0.1:", FreePorts(1)[0]);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const int local = size / hosts;
      const Place place{rank, size, rank % local, local, job, "test", Cat("host", rank / local), address, "secret"};
      const Status status = Init(place, options);
      EXPECT_EQ(status, OkStatus());
      if (status.ok()) body();
      Shutdown();
      std::fflush(stdout);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int code = 0;
    waitpid(child, &code, 0);
    EXPECT_EQ(code, 0);
  }
}

TEST(HorovodTest, NamesMeetInAnyOrder) {
  for (const int hosts : {1, 2}) {
    InProcesses(4, hosts, [] {
      EXPECT_EQ(Size(), 4);
      std::vector<Handle> handles(50);
      for (int i = 0; i < 50; ++i) {
        const int which = Rank() % 2 == 0 ? i : 49 - i;
        const float value = static_cast<float>(which * 10 + Rank());
        handles[which] = AllReduceAsync(Cat("t", which), Tensor::Vector<float>({value, 1}), {.op = ReduceOp::kSum});
      }
      for (int i = 0; i < 50; ++i) {
        auto sum = handles[i].Wait();
        ASSERT_TRUE(sum.ok()) << sum.status();
        EXPECT_THAT(sum->span<float>(), ElementsAre(static_cast<float>(40 * i + 6), 4));
      }
    });
  }
}

TEST(HorovodTest, EveryKindOfCall) {
  for (const int hosts : {1, 2}) {
    InProcesses(2, hosts, [] {
      const int r = Rank();
      EXPECT_EQ(AllReduce("mean", Tensor::Scalar(static_cast<float>(r)))->scalar<float>(), 0.5);
      auto grouped = GroupedAllReduceAsync("group", {Tensor::Scalar(1.0f), Tensor::Vector<int64_t>({2, r})},
                                           {.op = ReduceOp::kSum})
                         .WaitAll();
      ASSERT_TRUE(grouped.ok()) << grouped.status();
      EXPECT_EQ((*grouped)[0].scalar<float>(), 2);
      EXPECT_THAT((*grouped)[1].span<int64_t>(), ElementsAre(4, 1));
      std::vector<int32_t> rows(r + 1, r);
      EXPECT_THAT(AllGather("rows", Tensor::Vector<int32_t>(std::span<const int32_t>(rows)))->span<int32_t>(),
                  ElementsAre(0, 1, 1));
      EXPECT_EQ(Broadcast("root", Tensor::Scalar<int32_t>(r + 5), 1)->scalar<int32_t>(), 6);
      Handle swapped = AllToAllAsync("swap", Tensor::Vector<int32_t>({r, r, r}), {1, 2});
      EXPECT_EQ(swapped.Wait()->num_elements(), r == 0 ? 2 : 4);
      EXPECT_EQ(swapped.received_splits().size(), 2);
      EXPECT_THAT(
          ReduceScatterAsync("part", Tensor::Vector<float>({1, 2}), {.op = ReduceOp::kSum}).Wait()->span<float>(),
          ElementsAre(r == 0 ? 2 : 4));
      EXPECT_THAT(AllReduce("ada", Tensor::Vector<float>({1, 2}), {.op = ReduceOp::kAdasum})->span<float>(),
                  ElementsAre(1, 2));
      EXPECT_EQ(Barrier(), OkStatus());
    });
  }
}

TEST(HorovodTest, HalvesTravelAndComeBackAsTheyWere) {
  InProcesses(2, 2, [] {
    auto sum =
        AllReduce("x", Tensor::Vector<float>({1.0f / 3, 2}), {.op = ReduceOp::kSum, .compression = Compression::kHalf});
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(sum->dtype(), DType::kFloat);
    EXPECT_EQ(sum->data<float>()[1], 4);
    EXPECT_NE(sum->data<float>()[0], 2.0f / 3);
    EXPECT_NEAR(sum->data<float>()[0], 2.0f / 3, 1e-3);
  });
}

TEST(HorovodTest, WhatInt8LosesComesLater) {
  for (const int hosts : {1, 3}) {
    InProcesses(3, hosts, [] {
      const int64_t count = 700;  // of which the last block is not full
      std::mt19937 random(7);     // the same numbers on all ranks: each knows what the others give
      std::vector<double> expected(count), got(count);
      double largest = 0, worst_step = 0;
      for (int step = 0; step < 60; ++step) {
        std::vector<float> own(count);
        std::vector<double> mean(count);
        for (int r = 0; r < Size(); ++r) {
          for (int64_t i = 0; i < count; ++i) {
            const float value = static_cast<float>(random() % 20001) / 10000 - 1;
            if (r == Rank()) own[i] = value;
            mean[i] += value / Size();
            largest = std::max<double>(largest, std::abs(value));
          }
        }
        auto result = AllReduce("x", Tensor::Vector<float>(std::span<const float>(own)),
                                {.op = ReduceOp::kAverage, .compression = Compression::kInt8});
        ASSERT_TRUE(result.ok()) << result.status();
        auto low = AllReduce("low", *result, {.op = ReduceOp::kMin});
        ASSERT_EQ(std::memcmp(low->raw_data(), result->raw_data(), result->num_bytes()), 0);
        for (int64_t i = 0; i < count; ++i) {
          expected[i] += mean[i];
          got[i] += result->data<float>()[i];
          worst_step = std::max(worst_step, std::abs(result->data<float>()[i] - mean[i]));
        }
      }
      // A step may be off by the quanta of what the ranks gave and of the result; so is the sum of all steps.
      const double quantum = largest / 127;
      EXPECT_LT(worst_step, 4 * quantum);
      EXPECT_GT(worst_step, 0.1 * quantum);
      for (int64_t i = 0; i < count; ++i) ASSERT_NEAR(got[i], expected[i], 3 * quantum) << i;
    });
  }
}

TEST(HorovodTest, Int8IsForSumsOfFloats) {
  InProcesses(2, 1, [] {
    const AllReduceOptions sum{.op = ReduceOp::kSum, .compression = Compression::kInt8};
    EXPECT_EQ(AllReduce("double", Tensor::Scalar(1.0 / 3), sum)->scalar<double>(), 2.0 / 3);
    EXPECT_EQ(AllReduce("int", Tensor::Scalar<int32_t>(300), sum)->scalar<int32_t>(), 600);
    EXPECT_EQ(AllReduce("zero", Tensor::Scalar(0.0f), sum)->scalar<float>(), 0);
    EXPECT_EQ(AllReduce("none", Tensor::Vector<float>({}), sum)->num_elements(), 0);
    EXPECT_EQ(AllReduce("none", Tensor::Vector<float>({0, 0}), sum)->data<float>()[1],
              0);  // another tensor by that name
    const float bad = Rank() == 1 ? std::numeric_limits<float>::infinity() : 1;
    EXPECT_TRUE(std::isnan(AllReduce("bad", Tensor::Scalar(bad), sum)->scalar<float>()));
    EXPECT_NEAR(AllReduce("bad", Tensor::Scalar(3.0f), sum)->scalar<float>(), 6, 1e-5);  // and no trace of it is left
    EXPECT_TRUE(absl::IsInvalidArgument(
        AllReduce("max", Tensor::Scalar(1.0f), {.op = ReduceOp::kMax, .compression = Compression::kInt8}).status()));
  });
}

TEST(HorovodTest, DisagreementFailsThatNameAlone) {
  InProcesses(3, 1, [] {
    Handle good = AllReduceAsync("good", Tensor::Scalar(1.0f));
    const std::vector<float> values(Rank() == 2 ? 3 : 2, 1.0f);
    const Status status = AllReduce("bad", Tensor::Vector<float>(std::span<const float>(values))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr("The ranks disagree about 'bad'"));
    EXPECT_THAT(Message(status), HasSubstr("float [3]"));
    EXPECT_EQ(good.Wait()->scalar<float>(), 1);
    EXPECT_EQ(AllReduce("bad", Tensor::Scalar(2.0f))->scalar<float>(), 2);
    EXPECT_FALSE(AllReduce("text", Tensor::Scalar("text")).ok());
  });
}

TEST(HorovodTest, OneNameManyTimesAndFromManyThreads) {
  InProcesses(2, 1, [] {
    std::vector<Handle> same;
    for (int i = 0; i < 20; ++i) {
      same.push_back(AllReduceAsync("same", Tensor::Scalar(static_cast<float>(i)), {.op = ReduceOp::kSum}));
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(same[i].Wait()->scalar<float>(), static_cast<float>(2 * i));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 50; ++i) {
          EXPECT_EQ(AllReduce(Cat("thread", t), Tensor::Scalar(static_cast<float>(i)))->scalar<float>(),
                    static_cast<float>(i));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(HorovodTest, RanksThatHaveJoinedAddZeros) {
  InProcesses(3, 1, [] {
    // Rank r has r + 1 batches.
    for (int i = 0; i <= Rank(); ++i) {
      auto sum = AllReduce(Cat("batch", i), Tensor::Scalar(1.0f), {.op = ReduceOp::kSum});
      ASSERT_TRUE(sum.ok()) << sum.status();
      EXPECT_EQ(sum->scalar<float>(), static_cast<float>(3 - i));
    }
    auto last = Join();
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_EQ(*last, 2);
    // Afterwards all are there again.
    EXPECT_EQ(AllReduce("again", Tensor::Scalar(1.0f), {.op = ReduceOp::kSum})->scalar<float>(), 3);
  });
}

TEST(HorovodTest, ProcessSets) {
  for (const int hosts : {1, 2}) {
    InProcesses(4, hosts, [] {
      auto even = AddProcessSet({0, 2}), odd = AddProcessSet({1, 3});
      ASSERT_TRUE(even.ok() && odd.ok()) << even.status() << odd.status();
      const bool is_even = Rank() % 2 == 0;
      // The same name in two sets is two collectives.
      auto sum = AllReduce("x", Tensor::Scalar(static_cast<float>(Rank())),
                           {.op = ReduceOp::kSum, .set = is_even ? *even : *odd});
      ASSERT_TRUE(sum.ok()) << sum.status();
      EXPECT_EQ(sum->scalar<float>(), is_even ? 2 : 4);
      EXPECT_EQ(AllReduce("y", Tensor::Scalar(1.0f), {.set = is_even ? *odd : *even}).status().code(),
                absl::StatusCode::kInvalidArgument);
      EXPECT_FALSE(AddProcessSet({7}).ok());
      EXPECT_EQ(Barrier(), OkStatus());
    });
  }
}

TEST(HorovodTest, StallsNameTensorsAndMissingRanks) {
  InitOptions options;
  options.stall_error = absl::Milliseconds(300);
  InProcesses(
      3, 1,
      [] {
        if (Rank() != 1) {
          const Status status = AllReduce("gradient/w", Tensor::Scalar(1.0f)).status();
          EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
          EXPECT_THAT(Message(status), HasSubstr("'gradient/w' (AllReduce (average"));
          EXPECT_THAT(Message(status), HasSubstr("waits too long for ranks 1"));
        }
        // Rank 1 waits here meanwhile, and may wait too long itself.
        Status met = Barrier();
        while (absl::IsDeadlineExceeded(met)) met = Barrier();
        EXPECT_EQ(met, OkStatus());
      },
      options);
}

TEST(HorovodTest, WhatARankThatStopsWasNeededForIsCancelled) {
  InProcesses(2, 1, [] {
    if (Rank() == 1) return;  // shuts down
    const Status status = AllReduce("x", Tensor::Scalar(1.0f)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_THAT(Message(status), HasSubstr("Rank 1 has shut down"));
  });
}

TEST(HorovodTest, ARankThatDiesIsNamed) {
  for (const int hosts : {1, 2}) {
    InProcesses(4, hosts, [] {
      Status status = Barrier();  // a slow rank may hear of it here already
      if (Rank() == 3) _exit(0);
      if (status.ok()) status = AllReduce("x", Tensor::Scalar(1.0f)).status();
      EXPECT_THAT(Message(status), HasSubstr("ank 3")) << status;
      EXPECT_EQ(AllReduce("y", Tensor::Scalar(1.0f)).status(), status);
    });
  }
}

TEST(HorovodTest, TimelineOfRankZero) {
  const std::string path = Cat(testing::TempDir(), "/timeline_", getpid(), ".json");
  InitOptions options;
  options.timeline = path;
  InProcesses(
      2, 1,
      [] {
        Handle a = AllReduceAsync("a", Tensor::Scalar(1.0f)), b = AllGatherAsync("b", Tensor::Vector<float>({1}));
        EXPECT_TRUE(a.Wait().ok() && b.Wait().ok());
      },
      options);
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, testing::StartsWith("[\n"));
  EXPECT_THAT(text, testing::EndsWith("}\n]\n"));
  for (const char* part : {"NEGOTIATE_ALLREDUCE", "\"ALLREDUCE\"", "\"ALLGATHER\"", "\"rank 0\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  unlink(path.c_str());
}

TEST(HorovodTest, WithoutInitThereIsOneRankAndNoCollective) {
  EXPECT_FALSE(IsInitialized());
  EXPECT_EQ(Rank(), 0);
  EXPECT_EQ(Size(), 1);
  EXPECT_EQ(AllReduce("x", Tensor::Scalar(1.0f)).status().code(), absl::StatusCode::kFailedPrecondition);
}

Signature SumOf(int64_t count) {
  Signature out;
  out.dtypes = {DType::kFloat};
  out.shapes = {{count}};
  return out;
}

TEST(NegotiationTest, FusesUpToTheLimitAndRemembers) {
  Negotiation a(2, 4000), b(2, 4000);
  auto cycle = [&](const CycleMessage& first, const CycleMessage& second) {
    const std::string x = a.Encode(first), y = b.Encode(second);
    CycleResult result = *a.Take({x, y});
    EXPECT_EQ(result.buckets.size(), b.Take({x, y})->buckets.size());
    return std::make_pair(result, x.size());
  };
  CycleMessage message;
  for (const int64_t count : {500, 900, 300}) {
    message.announcements.push_back({Cat("0/t", count), SumOf(count).Encode()});
  }
  EXPECT_TRUE(cycle(message, {}).first.buckets.empty());
  EXPECT_TRUE(a.has_waiting());
  auto [result, before] = cycle({}, message);
  ASSERT_EQ(result.buckets.size(), 2);
  EXPECT_THAT(result.buckets[0].keys, ElementsAre("0/t500", "0/t300"));
  EXPECT_THAT(result.buckets[1].keys, ElementsAre("0/t900"));
  // The second time names are numbers.
  auto [again, bytes] = cycle(message, message);
  EXPECT_EQ(again.buckets.size(), 2);
  EXPECT_EQ(bytes, 4 * 6);
  EXPECT_FALSE(a.Take({"x", "y"}).ok());
}

}  // namespace
}  // namespace weir::collective
