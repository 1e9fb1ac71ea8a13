// Collectives between the devices of one process.
#include "weir/collective/domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "weir/collective/algorithm.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Members are CPU devices of the tasks of one worker job, all of this process.
class Members {
 public:
  explicit Members(int tasks, int devices_per_task = 1) {
    for (int task = 0; task < tasks; ++task) {
      for (int device = 0; device < devices_per_task; ++device) {
        infos_.push_back({Cat("/job:worker/replica:0/task:", task, "/device:CPU:", device), "CPU", 0,
                          static_cast<uint64_t>(100 + infos_.size()), ""});
      }
    }
  }
  int size() const { return static_cast<int>(infos_.size()); }
  DeviceInfo& info(int i) { return infos_[i]; }

  CollectiveCall Call(int member, const CollectiveSpec& spec, Tensor input) {
    CollectiveCall call;
    call.name = Cat("node", member);
    call.device = &infos_[member];
    call.group_key = 1;
    call.group_size = size();
    call.instance_key = 7;
    call.spec = spec;
    call.input = std::move(input);
    call.timeout = absl::Seconds(30);
    return call;
  }
  // Runs one call for each member and waits for all.
  std::vector<StatusOr<Tensor>> Run(std::vector<CollectiveCall> calls) {
    std::vector<StatusOr<Tensor>> results(calls.size(), Unknown("not run"));
    absl::BlockingCounter left(static_cast<int>(calls.size()));
    for (size_t i = 0; i < calls.size(); ++i) {
      domain_->Execute(std::move(calls[i]), [&results, &left, i](StatusOr<Tensor> result) {
        results[i] = std::move(result);
        left.DecrementCount();
      });
    }
    left.Wait();
    return results;
  }
  std::vector<StatusOr<Tensor>> Run(CollectiveSpec spec, const std::vector<Tensor>& inputs) {
    std::vector<CollectiveCall> calls;
    for (int i = 0; i < size(); ++i) {
      spec.dtype = inputs[i].dtype();
      spec.shape = inputs[i].shape();
      calls.push_back(Call(i, spec, inputs[i]));
    }
    return Run(std::move(calls));
  }
  CollectiveDomain& domain() { return *domain_; }

 private:
  std::vector<DeviceInfo> infos_;
  std::shared_ptr<CollectiveDomain> domain_ = CollectiveDomain::Make({}, nullptr);
};

CollectiveSpec Spec(CollectiveKind kind, MergeOp merge = MergeOp::kAdd, bool divide = false) {
  CollectiveSpec spec;
  spec.kind = kind;
  spec.merge = merge;
  spec.divide = divide;
  return spec;
}

std::vector<float> Values(const StatusOr<Tensor>& tensor) {
  if (!tensor.ok()) {
    ADD_FAILURE() << tensor.status();
    return {};
  }
  return {tensor->span<float>().begin(), tensor->span<float>().end()};
}

// What TensorFlow's ring computes: piece p begins at rank p, and each member adds what it received to its own value.
std::vector<float> RingSum(const std::vector<Tensor>& inputs, bool divide) {
  const int n = static_cast<int>(inputs.size());
  const int64_t total = inputs[0].num_elements();
  const int64_t step = PieceElements(total, n, sizeof(float));
  std::vector<float> out(total);
  for (int64_t i = 0; i < total; ++i) {
    const int start = static_cast<int>(i / step);
    float value = inputs[start].data<float>()[i];
    for (int hop = 1; hop < n; ++hop) value = inputs[(start + hop) % n].data<float>()[i] + value;
    out[i] = divide ? value / static_cast<float>(n) : value;
  }
  return out;
}

TEST(CollectiveTest, RingAddsInTensorFlowsOrder) {
  for (int n : {1, 2, 3, 5}) {
    for (int64_t total : {0, 1, 17, 1024, 5000}) {
      Members members(n);
      std::vector<Tensor> inputs;
      for (int i = 0; i < n; ++i) {
        Tensor input = *Tensor::Allocate(DType::kFloat, Shape({total}));
        for (int64_t j = 0; j < total; ++j) {
          input.data<float>()[j] = 1.0f / static_cast<float>(1 + (j * 7919 + i * 104729) % 1000);
        }
        inputs.push_back(std::move(input));
      }
      const auto results = members.Run(Spec(CollectiveKind::kReduce, MergeOp::kAdd, true), inputs);
      for (const auto& result : results) EXPECT_EQ(Values(result), RingSum(inputs, true)) << n << " " << total;
    }
  }
}

TEST(CollectiveTest, PiecesAreCutAsTensorFlowDoes) {
  EXPECT_EQ(PieceElements(1024, 2, 4), 528);
  EXPECT_EQ(PieceElements(17, 4, 4), 16);
  EXPECT_EQ(PieceElements(1, 2, 2), 32);
}

TEST(CollectiveTest, SubdividedRingsGiveTheSameSum) {
  Members members(2, 3);
  CollectiveSpec spec = Spec(CollectiveKind::kReduce);
  spec.subdiv_offsets = {0, -1, 2};
  std::vector<Tensor> inputs;
  for (int i = 0; i < 6; ++i) {
    Tensor input = *Tensor::Allocate(DType::kFloat, Shape({1000}));
    for (int j = 0; j < 1000; ++j) input.data<float>()[j] = static_cast<float>(i * j % 17);
    inputs.push_back(std::move(input));
  }
  std::vector<float> sum(1000, 0);
  for (const Tensor& input : inputs) {
    for (int j = 0; j < 1000; ++j) sum[j] += input.data<float>()[j];
  }
  for (const auto& result : members.Run(spec, inputs)) EXPECT_EQ(Values(result), sum);
}

TEST(CollectiveTest, MergesMinMaxAndProduct) {
  Members members(3);
  const std::vector<Tensor> inputs{Tensor::Vector<float>({1, -2}), Tensor::Vector<float>({3, 5}),
                                   Tensor::Vector<float>({-4, 2})};
  EXPECT_THAT(Values(members.Run(Spec(CollectiveKind::kReduce, MergeOp::kMin), inputs)[1]), ElementsAre(-4, -2));
  EXPECT_THAT(Values(members.Run(Spec(CollectiveKind::kReduce, MergeOp::kMax), inputs)[2]), ElementsAre(3, 5));
  EXPECT_THAT(Values(members.Run(Spec(CollectiveKind::kReduce, MergeOp::kMul), inputs)[0]), ElementsAre(-12, -20));
}

TEST(CollectiveTest, GatherTakesDifferentFirstDimensions) {
  Members members(3);
  const auto results = members.Run(
      Spec(CollectiveKind::kGather),
      {Tensor::Vector<float>({1}), *Tensor::Allocate(DType::kFloat, Shape({0})), Tensor::Vector<float>({2, 3})});
  for (const auto& result : results) EXPECT_THAT(Values(result), ElementsAre(1, 2, 3));
}

TEST(CollectiveTest, BroadcastReachesEveryMemberFromAnySource) {
  for (int tasks : {1, 2, 5}) {
    for (int devices : {1, 2, 3}) {
      for (int source = 0; source < tasks * devices; ++source) {
        Members members(tasks, devices);
        std::vector<CollectiveCall> calls;
        for (int i = 0; i < members.size(); ++i) {
          CollectiveSpec spec = Spec(CollectiveKind::kBroadcast);
          spec.dtype = DType::kFloat;
          spec.shape = Shape({2});
          spec.is_source = i == source;
          calls.push_back(members.Call(i, spec, i == source ? Tensor::Vector<float>({4, 5}) : Tensor()));
        }
        for (const auto& result : members.Run(std::move(calls))) EXPECT_THAT(Values(result), ElementsAre(4, 5));
      }
    }
  }
}

TEST(CollectiveTest, AllToAllReduceScatterAndPermute) {
  Members members(2);
  const std::vector<Tensor> inputs{Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({10, 20})};
  auto all = members.Run(Spec(CollectiveKind::kAllToAll), inputs);
  EXPECT_THAT(Values(all[0]), ElementsAre(1, 10));
  EXPECT_THAT(Values(all[1]), ElementsAre(2, 20));
  auto scattered = members.Run(Spec(CollectiveKind::kReduceScatter), inputs);
  EXPECT_THAT(Values(scattered[0]), ElementsAre(11));
  EXPECT_THAT(Values(scattered[1]), ElementsAre(22));
  CollectiveSpec permute = Spec(CollectiveKind::kPermute);
  permute.permutation = {1, 0};
  auto swapped = members.Run(permute, inputs);
  EXPECT_THAT(Values(swapped[0]), ElementsAre(10, 20));
  EXPECT_THAT(Values(swapped[1]), ElementsAre(1, 2));
}

TEST(CollectiveTest, MismatchIsToldToAllAndTheNextRoundWorks) {
  Members members(3);
  const auto results =
      members.Run(Spec(CollectiveKind::kReduce),
                  {Tensor::Vector<float>({1}), Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1})});
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(result.status()), HasSubstr("disagree about shapes"));
    EXPECT_THAT(Message(result.status()), HasSubstr("/job:worker/replica:0/task:1/device:CPU:0"));
  }
  const Tensor one = Tensor::Vector<float>({1});
  for (const auto& result : members.Run(Spec(CollectiveKind::kReduce), {one, one, one})) {
    EXPECT_THAT(Values(result), ElementsAre(3));
  }
}

TEST(CollectiveTest, DifferentReductionsAreRefused) {
  Members members(2);
  std::vector<CollectiveCall> calls;
  for (int i = 0; i < 2; ++i) {
    CollectiveSpec spec = Spec(CollectiveKind::kReduce, i == 0 ? MergeOp::kAdd : MergeOp::kMax);
    spec.dtype = DType::kFloat;
    spec.shape = Shape({1});
    calls.push_back(members.Call(i, spec, Tensor::Vector<float>({1})));
  }
  for (const auto& result : members.Run(std::move(calls))) {
    EXPECT_THAT(Message(result.status()), HasSubstr("disagree about reductions"));
  }
}

TEST(CollectiveTest, DeadlineNamesTheMissingMember) {
  Members members(2);
  const Tensor one = Tensor::Vector<float>({1});
  members.Run(Spec(CollectiveKind::kReduce), {one, one});  // forms the group
  CollectiveSpec spec = Spec(CollectiveKind::kReduce);
  spec.dtype = DType::kFloat;
  spec.shape = Shape({1});
  std::vector<CollectiveCall> calls{members.Call(0, spec, one)};
  calls[0].timeout = absl::Milliseconds(20);
  const auto late = members.Run(std::move(calls));
  EXPECT_EQ(late[0].status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(late[0].status()), HasSubstr("is not run by /job:worker/replica:0/task:1/device:CPU:0"));
  // Nobody is left at another round.
  for (const auto& result : members.Run(Spec(CollectiveKind::kReduce), {one, one})) {
    EXPECT_THAT(Values(result), ElementsAre(2));
  }
}

TEST(CollectiveTest, GroupThatNeverFormsNamesThoseThatCame) {
  Members members(2);
  CollectiveSpec spec = Spec(CollectiveKind::kReduce);
  spec.dtype = DType::kFloat;
  spec.shape = Shape({1});
  std::vector<CollectiveCall> calls{members.Call(1, spec, Tensor::Vector<float>({1}))};
  calls[0].timeout = absl::Milliseconds(20);
  const auto late = members.Run(std::move(calls));
  EXPECT_EQ(late[0].status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(late[0].status()), HasSubstr("1 of 2 members (/job:worker/replica:0/task:1/device:CPU:0)"));
}

TEST(CollectiveTest, CancelledMemberLeavesNothingBehind) {
  Members members(2);
  const Tensor one = Tensor::Vector<float>({1});
  members.Run(Spec(CollectiveKind::kReduce), {one, one});
  CollectiveSpec spec = Spec(CollectiveKind::kReduce);
  spec.dtype = DType::kFloat;
  spec.shape = Shape({1});
  CancellationManager cancellation;
  CollectiveCall call = members.Call(0, spec, Tensor::Vector<float>({100}));
  call.cancellation = &cancellation;
  Status outcome;
  members.domain().Execute(std::move(call), [&](StatusOr<Tensor> result) { outcome = result.status(); });
  cancellation.StartCancel(Cancelled("enough"));
  EXPECT_EQ(outcome, Cancelled("enough"));
  EXPECT_EQ(members.domain().rounds().num_open(), 0u);
  for (const auto& result : members.Run(Spec(CollectiveKind::kReduce), {one, one})) {
    EXPECT_THAT(Values(result), ElementsAre(2));
  }
  EXPECT_EQ(members.domain().chunks().num_rounds(), 0u);
}

TEST(CollectiveTest, RestartedMemberFormsItsGroupAnew) {
  Members members(2);
  const Tensor one = Tensor::Vector<float>({1});
  members.Run(Spec(CollectiveKind::kReduce), {one, one});
  CollectiveSpec spec = Spec(CollectiveKind::kReduce);
  spec.dtype = DType::kFloat;
  spec.shape = Shape({1});
  Status survivor;
  members.domain().Execute(members.Call(0, spec, one), [&](StatusOr<Tensor> result) { survivor = result.status(); });
  members.info(1).incarnation = 999;
  StatusOr<Tensor> restarted = Unknown("not run");
  members.domain().Execute(members.Call(1, spec, one), [&](StatusOr<Tensor> result) { restarted = std::move(result); });
  EXPECT_EQ(survivor.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Message(survivor), HasSubstr("task:1/device:CPU:0 has restarted"));
  EXPECT_THAT(Values(members.Run({members.Call(0, spec, one)})[0]), ElementsAre(2));
  EXPECT_THAT(Values(restarted), ElementsAre(2));
}

TEST(CollectiveTest, TasksAreOrderedByTheirNamesAsText) {
  std::vector<CollectiveMember> members;
  for (int task : {2, 10, 0}) members.push_back({Cat("/job:worker/replica:0/task:", task, "/device:CPU:0"), "CPU"});
  ASSERT_TRUE(SortMembers(&members).ok());
  EXPECT_THAT(members[1].device, HasSubstr("task:10"));
  members[0].user_rank = 1;
  EXPECT_FALSE(SortMembers(&members).ok());
}

TEST(CollectiveTest, ManyThreadsAndInstances) {
  Members members(4);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int m = 0; m < 4; ++m) {
    threads.emplace_back([&, m] {
      for (int step = 0; step < 50; ++step) {
        absl::BlockingCounter left(4);
        for (int k = 0; k < 4; ++k) {
          const int instance = (k + m) % 4;  // another order at every member
          CollectiveSpec spec = Spec(CollectiveKind::kReduce);
          spec.dtype = DType::kFloat;
          spec.shape = Shape({100});
          Tensor input = *Tensor::Allocate(DType::kFloat, Shape({100}));
          std::fill_n(input.data<float>(), 100, static_cast<float>(step * 4 + instance));
          CollectiveCall call = members.Call(m, spec, std::move(input));
          call.instance_key = instance;
          members.domain().Execute(std::move(call), [&, step, instance](StatusOr<Tensor> result) {
            if (!result.ok() || result->data<float>()[99] != 4.0f * static_cast<float>(step * 4 + instance)) ++wrong;
            left.DecrementCount();
          });
        }
        left.Wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(members.domain().chunks().num_rounds(), 0u);
}

}  // namespace
}  // namespace weir
