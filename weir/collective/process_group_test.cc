// Collectives between processes; here the ranks are threads, which the shared memory cannot tell from processes.
#include "weir/collective/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <thread>

#include "weir/base/strings.h"

namespace weir::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string UniqueJob() {
  static int count = 0;
  return Cat("test_", getpid(), "_", ++count);
}

Place PlaceOf(const std::string& job, int rank, int size) { return {rank, size, rank, size, job, "test"}; }

// Runs the body once for every rank, at the same time.
void ForRanks(int size, const std::function<void(ProcessGroup&)>& body, GroupOptions options = {}) {
  const std::string job = UniqueJob();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto group = ProcessGroup::Init(PlaceOf(job, rank, size), options);
      ASSERT_TRUE(group.ok()) << group.status();
      body(**group);
      // Nobody leaves before all are done.
      EXPECT_TRUE((*group)->Barrier().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ProcessGroupTest, SumsOfEverySizeAreTheSameOnAllRanks) {
  for (int size : {1, 2, 3, 4}) {
    ForRanks(size, [size](ProcessGroup& group) {
      for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{8192}, int64_t{8193}, int64_t{400'001}}) {
        Tensor value = *Tensor::Allocate(DType::kFloat, Shape({count}));
        for (int64_t i = 0; i < count; ++i) value.data<float>()[i] = static_cast<float>(i % 1000 + group.rank());
        StatusOr<Tensor> sum = group.AllReduce(value, {.op = ReduceOp::kSum});
        ASSERT_TRUE(sum.ok()) << sum.status();
        for (int64_t i = 0; i < count; ++i) {
          const float expected = static_cast<float>(size * (i % 1000) + size * (size - 1) / 2);
          ASSERT_EQ(sum->data<float>()[i], expected) << size << " " << count << " " << i;
        }
      }
    });
  }
}

TEST(ProcessGroupTest, ReductionsAndScales) {
  ForRanks(2, [](ProcessGroup& group) {
    const float r = static_cast<float>(group.rank());
    const Tensor value = Tensor::Vector<float>({1 + r, 3 - r});
    EXPECT_THAT(group.AllReduce(value)->span<float>(), ElementsAre(1.5, 2.5));
    EXPECT_THAT(group.AllReduce(value, {.op = ReduceOp::kMin})->span<float>(), ElementsAre(1, 2));
    EXPECT_THAT(group.AllReduce(value, {.op = ReduceOp::kMax})->span<float>(), ElementsAre(2, 3));
    EXPECT_THAT(group.AllReduce(value, {.op = ReduceOp::kProduct})->span<float>(), ElementsAre(2, 6));
    EXPECT_THAT(group.AllReduce(value, {ReduceOp::kSum, 2.0, 0.5})->span<float>(), ElementsAre(3, 5));
    const Tensor whole = Tensor::Vector<int32_t>({-3, 4});
    EXPECT_THAT(group.AllReduce(group.rank() == 0 ? whole : Tensor::Vector<int32_t>({0, 1}))->span<int32_t>(),
                ElementsAre(-1, 2));
    EXPECT_FALSE(group.AllReduce(whole, {ReduceOp::kSum, 2.0, 1.0}).ok());
    EXPECT_FALSE(group.AllReduce(Tensor::Scalar("text")).ok());
  });
}

TEST(ProcessGroupTest, GroupedTensorsOfSeveralTypes) {
  ForRanks(2, [](ProcessGroup& group) {
    const std::vector<Tensor> values{Tensor::Vector<float>({1, 2}), Tensor::Scalar<int64_t>(3), Tensor::Scalar(4.0f)};
    auto sums = group.AllReduce(values, {.op = ReduceOp::kSum});
    ASSERT_TRUE(sums.ok()) << sums.status();
    EXPECT_THAT((*sums)[0].span<float>(), ElementsAre(2, 4));
    EXPECT_EQ((*sums)[1].scalar<int64_t>(), 6);
    EXPECT_EQ((*sums)[2].scalar<float>(), 8);
  });
}

TEST(ProcessGroupTest, GatherBroadcastAndExchange) {
  ForRanks(3, [](ProcessGroup& group) {
    const int32_t r = group.rank();
    std::vector<int32_t> rows(r, r);
    EXPECT_THAT(group.AllGather(Tensor::Vector<int32_t>(std::span<const int32_t>(rows)))->span<int32_t>(),
                ElementsAre(1, 2, 2));
    EXPECT_THAT(group.Broadcast(Tensor::Vector<int32_t>({r, r + 10}), 2)->span<int32_t>(), ElementsAre(2, 12));
    EXPECT_THAT(group.AllToAll(Tensor::Vector<int32_t>({10 * r, 10 * r + 1, 10 * r + 2}))->span<int32_t>(),
                ElementsAre(r, 10 + r, 20 + r));
    // Everything goes to rank 0.
    std::vector<int64_t> received;
    auto all = group.AllToAll(Tensor::Vector<int32_t>({r}), std::vector<int64_t>{1, 0, 0}, &received);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->num_elements(), r == 0 ? 3 : 0);
    EXPECT_THAT(received, r == 0 ? ElementsAre(1, 1, 1) : ElementsAre(0, 0, 0));
  });
}

TEST(ProcessGroupTest, LargeValuesStreamThroughTheBuffers) {
  ForRanks(2, [](ProcessGroup& group) {
    const int64_t count = 1'000'000;
    Tensor value = *Tensor::Allocate(DType::kInt32, Shape({count}));
    for (int64_t i = 0; i < count; ++i) value.data<int32_t>()[i] = static_cast<int32_t>(i + group.rank());
    Tensor gathered = *group.AllGather(value);
    Tensor root = *group.Broadcast(value, 1);
    Tensor swapped = *group.AllToAll(value);
    Tensor part = *group.ReduceScatter(value, {.op = ReduceOp::kSum});
    const int64_t mine = group.rank() * count / 2;
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(gathered.data<int32_t>()[i], i);
      ASSERT_EQ(gathered.data<int32_t>()[count + i], i + 1);
      ASSERT_EQ(root.data<int32_t>()[i], i + 1);
    }
    for (int64_t i = 0; i < count / 2; ++i) {
      ASSERT_EQ(swapped.data<int32_t>()[i], mine + i);
      ASSERT_EQ(swapped.data<int32_t>()[count / 2 + i], mine + i + 1);
      ASSERT_EQ(part.data<int32_t>()[i], 2 * (mine + i) + 1);
    }
  });
}

TEST(ProcessGroupTest, UnevenReduceScatterGivesTheFirstRanksMore) {
  ForRanks(3, [](ProcessGroup& group) {
    auto part = group.ReduceScatter(Tensor::Vector<float>({1, 2, 3, 4}));
    ASSERT_TRUE(part.ok()) << part.status();
    if (group.rank() == 0) {
      EXPECT_THAT(part->span<float>(), ElementsAre(1, 2));
    }
    if (group.rank() == 1) {
      EXPECT_THAT(part->span<float>(), ElementsAre(3));
    }
    if (group.rank() == 2) {
      EXPECT_THAT(part->span<float>(), ElementsAre(4));
    }
  });
}

TEST(ProcessGroupTest, DisagreementIsAnErrorOnAllRanksAndTheNextCallWorks) {
  ForRanks(3, [](ProcessGroup& group) {
    const std::vector<float> values(group.rank() == 1 ? 3 : 2, 1.0f);
    const Status status = group.AllReduce(Tensor::Vector<float>(std::span<const float>(values))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr("rank 1 a AllReduce of float with 3 elements"));
    EXPECT_THAT(group.AllReduce(Tensor::Vector<float>({1}), {.op = ReduceOp::kSum})->span<float>(), ElementsAre(3));
  });
}

TEST(ProcessGroupTest, RankThatLeavesIsNamed) {
  const std::string job = UniqueJob();
  std::thread other([&] {
    auto group = ProcessGroup::Init(PlaceOf(job, 1, 2));
    ASSERT_TRUE(group.ok()) << group.status();
  });
  auto group = ProcessGroup::Init(PlaceOf(job, 0, 2));
  ASSERT_TRUE(group.ok()) << group.status();
  other.join();
  const Status status = (*group)->Barrier();
  EXPECT_EQ(status, Aborted("Rank 1 has left the job"));
  EXPECT_EQ((*group)->Barrier(), status);
}

TEST(ProcessGroupTest, RankThatDiesIsNamed) {
  const std::string job = UniqueJob();
  const pid_t child = fork();
  if (child == 0) {
    auto group = ProcessGroup::Init(PlaceOf(job, 1, 2));
    _exit(group.ok() ? 0 : 1);  // without a farewell
  }
  auto group = ProcessGroup::Init(PlaceOf(job, 0, 2));
  ASSERT_TRUE(group.ok()) << group.status();
  const Status status = (*group)->AllReduce(Tensor::Scalar(1.0f)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("Rank 1"));
  int ignored = 0;
  waitpid(child, &ignored, 0);
}

TEST(ProcessGroupTest, LateRanksAreNamed) {
  auto group = ProcessGroup::Init(PlaceOf(UniqueJob(), 0, 3), {.timeout = absl::Milliseconds(20)});
  EXPECT_EQ(group.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(group.status()), HasSubstr("have not come: 1, 2"));
}

Variables From(std::map<std::string, std::string> values) {
  return [values](const char* name) { return values.contains(name) ? values.at(name) : std::string(); };
}

TEST(PlaceTest, LaunchersAreRecognized) {
  EXPECT_EQ(FindPlace(From({}))->size, 1);
  Place torch = *FindPlace(From({{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}));
  EXPECT_EQ(torch.rank, 3);
  EXPECT_EQ(torch.local_size, 4);
  EXPECT_EQ(torch.job, "a_1");
  Place mpi = *FindPlace(From({{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"PMIX_NAMESPACE", "x"}}));
  EXPECT_EQ(mpi.launcher, "Open MPI");
  EXPECT_EQ(mpi.local_size, 2);
  std::map<std::string, std::string> slurm{{"SLURM_PROCID", "4"},
                                           {"SLURM_NTASKS", "5"},
                                           {"SLURM_LOCALID", "0"},
                                           {"SLURM_NODEID", "2"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                                           {"SLURM_JOB_ID", "7"},
                                           {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(FindPlace(From(slurm))->local_size, 1);
  EXPECT_EQ(FindPlace(From(slurm))->job, "7_0");
  slurm["SLURM_STEP_TASKS_PER_NODE"] = "2(x";
  EXPECT_FALSE(FindPlace(From(slurm)).ok());
  EXPECT_FALSE(FindPlace(From({{"RANK", "4"}, {"WORLD_SIZE", "4"}})).ok());
  EXPECT_FALSE(FindPlace(From({{"RANK", "x"}, {"WORLD_SIZE", "4"}})).ok());
}

}  // namespace
}  // namespace weir::collective
