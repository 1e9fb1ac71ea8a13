// weir::collective between processes with a GPU each. Each test forks its ranks, which check their results themselves:
// this process itself starts nothing of weir, so that it may fork.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "tests/cuda/collectives/cards.h"
#include "weir/client/collective_ops.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

using testing::HasSubstr;

// Two ranks; rank r sees the card cards[r] only. Rank 1 is expected to end by this signal, if there is one.
void InRanks(const std::vector<int>& cards, const std::function<void()>& body, int signal_of_last = 0) {
  static int count = 0;
  const std::string job = Cat("cuda_ranks_test_", getpid(), "_", ++count);
  const int size = static_cast<int>(cards.size());
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("CUDA_VISIBLE_DEVICES", Cat(cards[rank]).c_str(), 1);
      ChooseCards();
      const collective::Place place{rank, size, rank, size, job, "test"};
      EXPECT_EQ(collective::Init(place, {.timeout = absl::Seconds(60)}), OkStatus());
      body();
      collective::Shutdown();
      std::fflush(stdout);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (int rank = 0; rank < size; ++rank) {
    int code = 0;
    waitpid(children[rank], &code, 0);
    const bool is_killed = signal_of_last != 0 && rank == size - 1;
    EXPECT_EQ(is_killed ? WTERMSIG(code) : code, is_killed ? signal_of_last : 0) << "rank " << rank;
  }
}

const std::shared_ptr<Environment>& OneCard() {
  static const auto* environment = [] {
    EnvironmentOptions options;
    options.gpu.logical_devices = {{64 << 20}};
    StatusOr<std::shared_ptr<Environment>> made = MakeEnvironment(options);
    EXPECT_TRUE(made.ok()) << made.status();
    return new std::shared_ptr<Environment>(*made);
  }();
  return *environment;
}

// Builds a graph at a device, and returns what its outputs are.
StatusOr<std::vector<Tensor>> RunAt(const std::string& device,
                                    const std::function<std::vector<Output>(const Scope&)>& build) {
  const Scope root = Scope::NewRoot(OneCard());
  const std::vector<Output> outputs = build(root.WithDevice(device));
  WEIR_RETURN_IF_ERROR(root.status());
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  return session->Run({}, outputs);
}

// This rank's value: {10 rank, 10 rank + 1, ...}.
Output Value(const Scope& scope, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(10 * collective::Rank() + i));
  return Constant(scope, Tensor::Vector<float>(std::span<const float>(values)));
}

TEST(CudaRanks, NcclExchangesWhatIsOnGpus) {
  InRanks({0, 1}, [] {
    const StatusOr<std::vector<Tensor>> out = RunAt("/device:GPU:0", [](const Scope& scope) -> std::vector<Output> {
      const Output splits = Constant(scope.WithDevice("/device:CPU:0"), Tensor::Vector<int64_t>({1, 3}));
      return {collective::AllReduce(scope, Value(scope, 2), {}, "mean"),
              collective::AllReduce(scope, Value(scope, 2), {.op = collective::ReduceOp::kMax}, "max"),
              collective::AllGather(scope, Value(scope, collective::Rank() + 1), "gather"),
              collective::Broadcast(scope, Value(scope, 2), 1, "broadcast"),
              collective::ReduceScatter(scope, Value(scope, 2), {.op = collective::ReduceOp::kSum}, "scatter"),
              collective::AllToAll(scope, Value(scope, 4), splits, "exchange").output};
    });
    ASSERT_TRUE(out.ok()) << out.status();
    const bool first = collective::Rank() == 0;
    ExpectTensorEqual((*out)[0], Tensor::Vector<float>({5, 6}));
    ExpectTensorEqual((*out)[1], Tensor::Vector<float>({10, 11}));
    ExpectTensorEqual((*out)[2], Tensor::Vector<float>({0, 10, 11}));
    ExpectTensorEqual((*out)[3], Tensor::Vector<float>({10, 11}));
    ExpectTensorEqual((*out)[4], Tensor::Vector<float>({first ? 10.f : 12.f}));
    ExpectTensorEqual((*out)[5], first ? Tensor::Vector<float>({0, 10}) : Tensor::Vector<float>({1, 2, 3, 11, 12, 13}));
    EXPECT_GE(NcclCalls(), 6);
  });
}

TEST(CudaRanks, SmallTensorsTravelInOneBuffer) {
  InRanks({0, 1}, [] {
    constexpr int kTensors = 20;
    const StatusOr<std::vector<Tensor>> out = RunAt("/device:GPU:0", [](const Scope& scope) {
      std::vector<Output> sums;
      for (int i = 0; i < kTensors; ++i) {
        sums.push_back(
            collective::AllReduce(scope, Value(scope, i + 1), {.op = collective::ReduceOp::kSum}, Cat("sum", i)));
      }
      return sums;
    });
    ASSERT_TRUE(out.ok()) << out.status();
    for (int i = 0; i < kTensors; ++i) {
      ASSERT_EQ((*out)[i].num_elements(), i + 1);
      EXPECT_EQ((*out)[i].data<float>()[i], static_cast<float>(10 + 2 * i));
    }
    EXPECT_GE(NcclCalls(), 1);
  });
}

TEST(CudaRanks, TrainingOnGpusAveragesGradientsByNccl) {
  InRanks({0, 1}, [] {
    const Scope root = Scope::NewRoot(OneCard());
    const Scope scope = root.WithDevice("/device:GPU:0");
    Variable w(scope, "w", Constant(scope, Tensor::Vector<float>({1, 2})));
    const Output loss = ops::Sum(scope, ops::Mul(scope, Value(scope, 2), w.value()), {0});
    const Training training =
        collective::DistributedOptimizer(optimizer::GradientDescent({.learning_rate = 0.1})).Minimize(scope, loss);
    ASSERT_TRUE(root.ok()) << root.status();
    auto session = ClientSession::Create(root);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_EQ((*session)->RunTargets({InitializeVariables(root)}), OkStatus());
    ASSERT_EQ((*session)->RunTargets({training.op}), OkStatus());
    const StatusOr<Tensor> after = (*session)->Evaluate(w);
    ASSERT_TRUE(after.ok()) << after.status();
    ExpectTensorNear(*after, Tensor::Vector<float>({0.5f, 1.4f}));  // the mean gradient is {5, 6}
    EXPECT_GE(NcclCalls(), 1);
  });
}

TEST(CudaRanks, RanksOnOneCardExchangeThroughTheHost) {
  InRanks({0, 0}, [] {
    const StatusOr<std::vector<Tensor>> out = RunAt("/device:GPU:0", [](const Scope& scope) -> std::vector<Output> {
      return {collective::AllReduce(scope, Value(scope, 2), {}, "mean"), collective::AllGather(scope, Value(scope, 1))};
    });
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorEqual((*out)[0], Tensor::Vector<float>({5, 6}));
    ExpectTensorEqual((*out)[1], Tensor::Vector<float>({0, 10}));
    EXPECT_EQ(NcclCalls(), 0);
  });
}

TEST(CudaRanks, ATensorOnAGpuMeetsOneInHostMemory) {
  InRanks({0, 1}, [] {
    const std::string device = collective::Rank() == 0 ? "/device:GPU:0" : "/device:CPU:0";
    for (int step = 0; step < 2; ++step) {
      const StatusOr<std::vector<Tensor>> out = RunAt(device, [](const Scope& scope) -> std::vector<Output> {
        return {collective::AllReduce(scope, Value(scope, 2), {}, "mean")};
      });
      ASSERT_TRUE(out.ok()) << out.status();
      ExpectTensorEqual((*out)[0], Tensor::Vector<float>({5, 6}));
    }
    EXPECT_EQ(NcclCalls(), 0);
  });
}

TEST(CudaRanks, WhereNcclDoesNotWorkTheHostExchanges) {
  InRanks({0, 1}, [] {
    if (collective::Rank() == 1) FailNcclCalls(1);  // the trial
    testing::internal::CaptureStderr();
    for (int step = 0; step < 2; ++step) {
      const StatusOr<std::vector<Tensor>> out = RunAt("/device:GPU:0", [](const Scope& scope) -> std::vector<Output> {
        return {collective::AllReduce(scope, Value(scope, 2), {}, "mean")};
      });
      ASSERT_TRUE(out.ok()) << out.status();
      ExpectTensorEqual((*out)[0], Tensor::Vector<float>({5, 6}));
    }
    EXPECT_LE(NcclCalls(), 1);
    const std::string log = testing::internal::GetCapturedStderr();
    if (collective::Rank() == 0) {
      EXPECT_THAT(log, HasSubstr("run without NCCL: rank 1: a reduction over GPUs: NCCL says internal error"));
    }
  });
}

TEST(CudaRanks, AnErrorOfNcclOnOneRankEndsAll) {
  InRanks({0, 1}, [] {
    auto reduce = [] {
      return RunAt("/device:GPU:0", [](const Scope& scope) -> std::vector<Output> {
        return {collective::AllReduce(scope, Value(scope, 2), {}, "mean")};
      });
    };
    ASSERT_TRUE(reduce().ok());
    if (collective::Rank() == 1) FailNcclCalls(1);
    const Status failed = reduce().status();
    const bool is_own = collective::Rank() == 1;
    EXPECT_EQ(failed.code(), is_own ? absl::StatusCode::kInternal : absl::StatusCode::kAborted) << failed;
    EXPECT_THAT(Message(failed), HasSubstr(is_own ? "NCCL says" : "Rank 1 has given up"));
  });
}

TEST(CudaRanks, ARankThatDiesWithinNcclIsNamed) {
  InRanks(
      {0, 1},
      [] {
        auto reduce = [] {
          return RunAt("/device:GPU:0", [](const Scope& scope) -> std::vector<Output> {
            return {collective::AllReduce(scope, Value(scope, 2), {}, "mean")};
          });
        };
        ASSERT_TRUE(reduce().ok());
        if (collective::Rank() == 1) {
          std::thread([before = NcclCalls()] {
            while (NcclCalls() == before) std::this_thread::yield();
            kill(getpid(), SIGKILL);
          }).detach();
        } else {
          HoldNcclCalls(true);
        }
        // Rank 1 must not be in its call before rank 0 keeps calls waiting.
        ASSERT_TRUE(collective::Barrier().ok());
        const Status lost = reduce().status();
        EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable) << lost;
        EXPECT_THAT(Message(lost), HasSubstr("ank 1"));
        HoldNcclCalls(false);
      },
      SIGKILL);
}

}  // namespace
}  // namespace weir::gpu_testing
