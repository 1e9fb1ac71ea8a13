// Collective operations between GPUs on cards of their own, in one process: NCCL does them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/cuda/collectives/cards.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

using ::testing::HasSubstr;

Tensor Int(int32_t value) { return Tensor::Scalar(value); }

Attrs Reduction(std::string_view merge, std::string_view final_op) {
  return {{"merge_op", Attribute(merge)}, {"final_op", Attribute(final_op)}};
}
Attrs Sum() { return Reduction("Add", "Id"); }

// Calls of GPU:0, GPU:1, ... with a value each.
std::vector<MemberCall> Calls(const std::string& op, const Attrs& attrs, const std::vector<Tensor>& values, int key) {
  std::vector<MemberCall> calls;
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n; ++i)
    calls.push_back({i, op, {values[static_cast<size_t>(i)], Int(n), Int(n), Int(key)}, attrs});
  return calls;
}

void ExpectAll(const std::vector<StatusOr<Tensor>>& results, const std::vector<Tensor>& expected) {
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << i << ": " << results[i].status();
    ExpectTensorNear(*results[i], expected[expected.size() == 1 ? 0 : i]);
  }
}

// Runs the calls, and says how many of NCCL's they were.
int64_t NcclCallsOf(const std::vector<MemberCall>& calls, const std::vector<Tensor>& expected) {
  CardsRuntime();
  const int64_t before = NcclCalls();
  ExpectAll(RunMembers(calls), expected);
  return NcclCalls() - before;
}

// A key for a group of which nothing is known yet.
int NewGroup() {
  static int last = 1000;
  return ++last;
}

TEST(NcclCollectives, ReducesOfAllKindsAndTypes) {
  const Tensor a = Tensor::Vector<float>({1, 5}), b = Tensor::Vector<float>({4, 2}), c = Tensor::Vector<float>({1, 8});
  auto expect = [&](std::string_view merge, std::string_view final_op, std::vector<float> expected, int key) {
    EXPECT_EQ(NcclCallsOf(Calls("CollectiveReduceV2", Reduction(merge, final_op), {a, b, c}, key),
                          {Tensor::Vector<float>(std::span<const float>(expected))}),
              3);
  };
  expect("Add", "Id", {6, 15}, 11);
  expect("Add", "Div", {2, 5}, 12);
  expect("Mul", "Id", {4, 80}, 13);
  expect("Min", "Id", {1, 2}, 14);
  expect("Max", "Id", {4, 8}, 15);
  EXPECT_EQ(
      NcclCallsOf(Calls("CollectiveReduceV2", Sum(), {Tensor::Vector<int64_t>({1}), Tensor::Vector<int64_t>({2})}, 16),
                  {Tensor::Vector<int64_t>({3})}),
      2);
  EXPECT_EQ(NcclCallsOf(Calls("CollectiveReduceV2", Reduction("Add", "Div"),
                              {Tensor::Vector<Half>({Half(1.0f)}), Tensor::Vector<Half>({Half(2.0f)})}, 17),
                        {Tensor::Vector<Half>({Half(1.5f)})}),
            2);
}

TEST(NcclCollectives, GathersScattersAndExchanges) {
  const Tensor a = Tensor::Vector<float>({1, 2}), b = Tensor::Vector<float>({3, 4});
  EXPECT_EQ(NcclCallsOf(Calls("CollectiveGatherV2", {}, {a, b}, 21), {Tensor::Vector<float>({1, 2, 3, 4})}), 2);
  // Different numbers of rows are a broadcast from each member.
  const Tensor more = Tensor::Vector<float>({3, 4, 5});
  EXPECT_EQ(NcclCallsOf(Calls("CollectiveGatherV2", {}, {a, more}, 22), {Tensor::Vector<float>({1, 2, 3, 4, 5})}), 4);
  EXPECT_EQ(NcclCallsOf(Calls("CollectiveReduceScatterV2", Sum(), {a, b}, 23),
                        {Tensor::Vector<float>({4}), Tensor::Vector<float>({6})}),
            2);
  EXPECT_EQ(NcclCallsOf(Calls("CollectiveAllToAllV2", {}, {a, b}, 24),
                        {Tensor::Vector<float>({1, 3}), Tensor::Vector<float>({2, 4})}),
            8);  // a Send and a Recv between each pair
}

TEST(NcclCollectives, BroadcastsFromAnyMember) {
  const Tensor value = Tensor::Vector<float>({7, 8, 9});
  const std::vector<Tensor> keys = {Int(3), Int(31), Int(31)};
  std::vector<MemberCall> calls = {{1, "CollectiveBcastSendV2", {value, keys[0], keys[1], keys[2]}, {}}};
  for (int gpu : {0, 2}) {
    calls.push_back({gpu,
                     "CollectiveBcastRecvV2",
                     {keys[0], keys[1], keys[2], Tensor::Vector<int32_t>({3})},
                     {{"T", Attribute(DType::kFloat)}}});
  }
  EXPECT_EQ(NcclCallsOf(calls, {value}), 3);
}

TEST(NcclCollectives, CommunicatorsOfTheThirdVersionUseNccl) {
  Scope root = Scope::NewRoot(CardsEnvironment());
  std::vector<Output> sums;
  for (int rank = 0; rank < 2; ++rank) {
    const Scope scope = root.WithDevice(Cat("/device:GPU:", rank));
    Output communicator = ops::CollectiveInitializeCommunicator(scope, 41, rank, 2);
    Output none = Constant(scope, Tensor::Allocate(DType::kInt32, Shape({0, 0})).value());
    Output value = Constant(scope, Tensor::Vector<float>({static_cast<float>(rank), 1}));
    sums.push_back(ops::CollectiveReduceV3(scope, value, communicator, none, "Add"));
  }
  ASSERT_TRUE(root.ok()) << root.status();
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  const int64_t before = NcclCalls();
  auto out = (*session)->Run({}, sums);
  ASSERT_TRUE(out.ok()) << out.status();
  for (const Tensor& sum : *out) ExpectTensorEqual(sum, Tensor::Vector<float>({1, 2}));
  EXPECT_EQ(NcclCalls() - before, 2);
}

TEST(NcclCollectives, MembersReachInstancesInDifferentOrders) {
  CardsRuntime();
  constexpr int kInstances = 8;
  std::vector<std::vector<StatusOr<Tensor>>> results(3, std::vector<StatusOr<Tensor>>(kInstances, Unknown("not run")));
  std::vector<std::thread> threads;
  for (int gpu = 0; gpu < 3; ++gpu) {
    for (int i = 0; i < kInstances; ++i) {
      // One member starts at the end, one in the middle; sizes differ, which NCCL would not forgive.
      const int at = gpu == 0 ? i : gpu == 1 ? kInstances - 1 - i : (i + 3) % kInstances;
      threads.emplace_back([&results, gpu, at] {
        std::vector<float> ones(static_cast<size_t>(at + 1), 1.f);
        const Tensor value = Tensor::Vector<float>(std::span<const float>(ones));
        results[gpu][at] = RunMember({gpu, "CollectiveReduceV2", {value, Int(3), Int(51), Int(60 + at)}, Sum()});
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_gpu : results) {
    for (int at = 0; at < kInstances; ++at) {
      ASSERT_TRUE(of_gpu[at].ok()) << of_gpu[at].status();
      EXPECT_EQ(of_gpu[at]->num_elements(), at + 1);
      EXPECT_EQ(of_gpu[at]->data<float>()[at], 3);
    }
  }
}

TEST(NcclCollectives, GpusOfOneCardGoWithoutNccl) {
  const Tensor value = Tensor::Vector<float>({1});
  std::vector<MemberCall> calls;
  const int group = NewGroup();
  for (int gpu : {2, 3}) calls.push_back({gpu, "CollectiveReduceV2", {value, Int(2), Int(group), Int(71)}, Sum()});
  testing::internal::CaptureStderr();
  for (int step = 0; step < 2; ++step) EXPECT_EQ(NcclCallsOf(calls, {Tensor::Vector<float>({2})}), 0);
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string line =
      "run without NCCL: /job:localhost/replica:0/task:0/device:GPU:2 and "
      "/job:localhost/replica:0/task:0/device:GPU:3 are on one card";
  EXPECT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find(line), log.rfind(line)) << "once is enough: " << log;
}

TEST(NcclCollectives, NcclCanBeForbidden) {
  CardsRuntime();
  setenv("WEIR_NCCL", "0", 1);
  const Tensor value = Tensor::Vector<float>({1});
  EXPECT_EQ(NcclCallsOf(Calls("CollectiveReduceV2", Sum(), {value, value}, 81), {Tensor::Vector<float>({2})}), 0);
  unsetenv("WEIR_NCCL");
}

TEST(NcclCollectives, AMemberThatNeverComesIsNamedAndLaterStepsWork) {
  const Tensor value = Tensor::Vector<float>({1});
  const std::vector<MemberCall> both = Calls("CollectiveReduceV2", Sum(), {value, value}, 91);
  EXPECT_EQ(NcclCallsOf(both, {Tensor::Vector<float>({2})}), 2);
  MemberCall alone = both[0];
  alone.attrs.push_back({"timeout_seconds", Attribute(0.2f)});
  const Status late = RunMember(alone).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(late), HasSubstr("is not run by /job:localhost/replica:0/task:0/device:GPU:1"));
  EXPECT_EQ(NcclCallsOf(both, {Tensor::Vector<float>({2})}), 2);
}

TEST(NcclCollectives, AStepThatIsCancelledWithinNcclEndsForAllAndLaterStepsWork) {
  const Tensor value = Tensor::Vector<float>({1});
  std::vector<MemberCall> both = Calls("CollectiveReduceV2", Sum(), {value, value}, 101);
  EXPECT_EQ(NcclCallsOf(both, {Tensor::Vector<float>({2})}), 2);
  HoldNcclCalls(true);
  CancellationManager cancellation;
  std::vector<MemberCall> one_cancelled = both;
  one_cancelled[0].cancellation = &cancellation;
  std::vector<StatusOr<Tensor>> results;
  std::thread members([&] { results = RunMembers(one_cancelled); });
  AwaitHeldNcclCalls(2);
  cancellation.StartCancel();
  members.join();
  EXPECT_EQ(results[0].status().code(), absl::StatusCode::kCancelled) << results[0].status();
  EXPECT_EQ(results[1].status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Message(results[1].status()), HasSubstr("was ended by /job:localhost/replica:0/task:0/device:GPU:0"));
  HoldNcclCalls(false);
  EXPECT_EQ(NcclCallsOf(both, {Tensor::Vector<float>({2})}), 2);
}

TEST(NcclCollectives, ANcclThatHasNeverWorkedIsLeftAlone) {
  CardsRuntime();
  const Tensor value = Tensor::Vector<float>({1});
  std::vector<MemberCall> both = Calls("CollectiveReduceV2", Sum(), {value, value}, 121);
  const int group = NewGroup();
  for (MemberCall& call : both) call.inputs[2] = Int(group);
  FailNcclCalls(1);
  for (const auto& result : RunMembers(both)) EXPECT_FALSE(result.ok());
  EXPECT_EQ(NcclCallsOf(both, {Tensor::Vector<float>({2})}), 0);
}

TEST(NcclCollectives, WorkOfTheGpuGoesOnWhileACollectiveWaits) {
  const Tensor value = Tensor::Vector<float>({3});
  std::vector<MemberCall> both = Calls("CollectiveReduceV2", Sum(), {value, value}, 111);
  CardsRuntime();
  HoldNcclCalls(true);
  std::vector<StatusOr<Tensor>> results;
  std::thread members([&] { results = RunMembers(both); });
  AwaitHeldNcclCalls(2);
  const StatusOr<Tensor> square = RunMember({0, "Square", {value}, {}});
  ASSERT_TRUE(square.ok()) << square.status();
  EXPECT_EQ(square->data<float>()[0], 9);
  HoldNcclCalls(false);
  members.join();
  ExpectAll(results, {Tensor::Vector<float>({6})});
}

}  // namespace
}  // namespace weir::gpu_testing
