// Training in several processes with weir::collective. Each test forks its ranks, which check their results themselves:
// this process itself starts nothing of weir, so that it may fork.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <random>

#include "weir/base/free_ports.h"
#include "weir/client/collective_ops.h"
#include "weir/client/nn/collective_callbacks.h"
#include "weir/weir.h"

namespace weir {
namespace {

using testing::ElementsAre;

void InRanks(int size, int hosts, const std::function<void()>& body) {
  static int count = 0;
  const std::string job = Cat("training_test_", getpid(), "_", ++count);
  const std::string address = Cat("127.0.0.1:", FreePorts(1)[0]);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const int local = size / hosts;
      const collective::Place place{rank,    size,    rank % local, local, job, "test", Cat("host", rank / local),
                                    address, "secret"};
      EXPECT_EQ(collective::Init(place, {.timeout = absl::Seconds(60)}), OkStatus());
      body();
      collective::Shutdown();
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

nn::Batch RandomBatch(int step, int64_t rows) {
  std::mt19937 random(1000 + step);
  std::vector<float> x;
  std::vector<int64_t> y;
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int j = 0; j < 6; ++j) sum += x.emplace_back(static_cast<float>(random() % 2000) / 1000 - 1);
    y.push_back(sum > 0.5f ? 2 : sum > -0.5f ? 1 : 0);
  }
  return {{Tensor::FromSpan<float>(x, {rows, 6})}, Tensor::FromSpan<int64_t>(y, {rows})};
}

nn::LayerPtr Network() { return nn::Sequential({nn::Dense(16, {.activation = "tanh"}), nn::Dense(3)}); }

nn::CompileOptions Training(const Optimizer& optimizer) {
  return {.optimizer = optimizer,
          .loss = loss::SparseCategoricalCrossentropy(),
          .metrics = {metric::SparseCategoricalAccuracy()},
          .limits = {.global_norm = 1.0}};
}

TEST(DistributedTraining, TwoRanksLoseAsOneWorkerOnTheJoinedBatch) {
  for (const int hosts : {1, 2}) {
    InRanks(2, hosts, [] {
      const Optimizer adam = optimizer::Adam({.learning_rate = 0.01});
      nn::Model alone(Network(), {{6}}, /*seed=*/7), together(Network(), {{6}}, /*seed=*/7);
      ASSERT_EQ(alone.Compile(Training(adam)), OkStatus());
      ASSERT_EQ(together.Compile(Training(collective::DistributedOptimizer(adam))), OkStatus());
      double last = 0;
      for (int step = 0; step < 100; ++step) {
        const nn::Batch joined = RandomBatch(step, 32);
        const int64_t begin = collective::Rank() * 16;
        const nn::Batch mine{{joined.inputs[0].Slice(begin, begin + 16)}, joined.labels.Slice(begin, begin + 16)};
        auto expected = alone.TrainOnBatch(joined), got = together.TrainOnBatch(mine);
        ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
        auto mean = collective::AllReduce("loss", Tensor::Scalar((*got)[0].second));
        ASSERT_TRUE(mean.ok()) << mean.status();
        last = (*expected)[0].second;
        ASSERT_NEAR(mean->scalar<double>(), last, 2e-5 * (1 + step / 10.0)) << step;
      }
      EXPECT_LT(last, 0.5);
    });
  }
}

TEST(DistributedTraining, MultiWorkerMirroredLosesAsOneWorker) {
  for (const int local : {1, 2}) {
    InRanks(2, 1, [&] {
      auto environment = MakeEnvironment({.num_cpu_devices = 2}).value();
      const Optimizer adam = optimizer::Adam({.learning_rate = 0.01});
      nn::Model alone(Network(), {{6}}, /*seed=*/7, environment);
      ASSERT_EQ(alone.Compile(Training(adam)), OkStatus());
      std::vector<std::string> devices;
      if (local == 2) devices = {"/device:CPU:0", "/device:CPU:1"};
      auto strategy = distribute::MultiWorkerMirrored(devices);
      ASSERT_TRUE(strategy.ok()) << strategy.status();
      EXPECT_EQ(strategy->num_replicas(), 2 * local);
      distribute::StrategyScope scope(*strategy);
      // The first values of rank 0 count.
      nn::Model together(Network(), {{6}}, /*seed=*/7 + collective::Rank(), environment);
      ASSERT_EQ(together.Compile(Training(adam)), OkStatus());
      for (int step = 0; step < 100; ++step) {
        const nn::Batch batch = RandomBatch(step, step == 50 ? 1 : 32);
        auto expected = alone.TrainOnBatch(batch), got = together.TrainOnBatch(batch);
        ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
        ASSERT_NEAR((*got)[0].second, (*expected)[0].second, 2e-5 * (1 + step / 10.0)) << step;
        ASSERT_NEAR((*got)[1].second, (*expected)[1].second, 1e-6) << step;
      }
    });
  }
}

TEST(DistributedTraining, GradientsInInt8TrainAsWell) {
  InRanks(2, 2, [] {
    const Optimizer adam = optimizer::Adam({.learning_rate = 0.01});
    nn::Model exact(Network(), {{6}}, /*seed=*/7), small(Network(), {{6}}, /*seed=*/7);
    ASSERT_EQ(exact.Compile(Training(collective::DistributedOptimizer(adam))), OkStatus());
    ASSERT_EQ(small.Compile(
                  Training(collective::DistributedOptimizer(adam, {.compression = collective::Compression::kInt8}))),
              OkStatus());
    double first = 0, loss_exact = 0, loss_small = 0;
    for (int step = 0; step < 100; ++step) {
      const nn::Batch batch = RandomBatch(2 * step + collective::Rank(), 16);
      auto a = exact.TrainOnBatch(batch), b = small.TrainOnBatch(batch);
      ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
      loss_exact = (*a)[0].second;
      loss_small = (*b)[0].second;
      if (step == 0) first = loss_exact;
    }
    EXPECT_LT(loss_small, 0.7 * first);
    EXPECT_NEAR(loss_small, loss_exact, 0.02);
    EXPECT_NE(loss_small, loss_exact);
  });
}

TEST(DistributedTraining, CallbacksOfFit) {
  InRanks(2, 1, [] {
    // Ranks begin with different weights and have different data.
    nn::Model model(Network(), {{6}}, /*seed=*/1 + collective::Rank());
    ASSERT_EQ(model.Compile(Training(collective::DistributedOptimizer(optimizer::Adam({.learning_rate = 0.02})))),
              OkStatus());
    const nn::Batch data = RandomBatch(collective::Rank(), 64);
    nn::FitOptions options;
    options.epochs = 3;
    options.verbosity = nn::Verbosity::kSilent;
    std::vector<double> rates;
    options.callbacks = {nn::callback::BroadcastVariables(), nn::callback::AverageMetrics(),
                         nn::callback::LearningRateWarmup({.learning_rate = 0.02, .epochs = 2})};
    struct Watcher : nn::Callback {
      explicit Watcher(std::vector<double>* seen) : seen(seen) {}
      Status OnEpochEnd(nn::Model& m, int64_t, const nn::Logs&) override {
        WEIR_ASSIGN_OR_RETURN(seen->emplace_back(), m.learning_rate());
        return OkStatus();
      }
      std::vector<double>* seen;
    };
    options.callbacks.push_back(std::make_shared<Watcher>(&rates));
    auto history = model.Fit(data.inputs[0], data.labels, options);
    ASSERT_TRUE(history.ok()) << history.status();
    EXPECT_THAT(rates, ElementsAre(testing::DoubleNear(0.01, 1e-7), testing::DoubleNear(0.015, 1e-7),
                                   testing::DoubleNear(0.02, 1e-7)));
    // The same loss and the same weights everywhere.
    const double loss = history->epochs[2][0].second;
    EXPECT_EQ(collective::Broadcast("loss", Tensor::Scalar(loss), 0)->scalar<double>(), loss);
    for (const Variable& variable : model.variables()) {
      Tensor own = *model.session().Evaluate(variable);
      Tensor first = *collective::Broadcast(Cat("check/", variable.name()), own, 0);
      EXPECT_EQ(std::memcmp(own.raw_data(), first.raw_data(), own.num_bytes()), 0) << variable.name();
    }
  });
}

TEST(DistributedTraining, GradientsOfCollectives) {
  InRanks(2, 1, [] {
    const float r = static_cast<float>(collective::Rank());
    Scope root = Scope::NewRoot();
    Output x = Constant(root, Tensor::Vector<float>({1 + r, 2}));
    auto gradient = [&](const Output& y, float weight) {
      // The loss of each rank weighs its own y.
      std::vector<Output> out = ops::Gradients(root, {ops::Sum(root, y * weight, Constant(root, {0}))}, {x});
      auto session = ClientSession::Create(root);
      EXPECT_TRUE(session.ok()) << session.status();
      auto value = (*session)->Evaluate(out[0]);
      EXPECT_TRUE(value.ok()) << value.status();
      return value.ok() ? std::vector<float>(value->span<float>().begin(), value->span<float>().end())
                        : std::vector<float>();
    };
    using collective::ReduceOp;
    const float w = r + 1;  // 1 and 2
    EXPECT_THAT(gradient(collective::AllReduce(root, x, {.op = ReduceOp::kSum}, "sum"), w), ElementsAre(3, 3));
    EXPECT_THAT(gradient(collective::AllReduce(root, x, {}, "mean"), w), ElementsAre(1.5, 1.5));
    EXPECT_THAT(gradient(collective::AllGather(root, x, "gather"), w), ElementsAre(3, 3));
    EXPECT_THAT(gradient(collective::Broadcast(root, x, 1, "broadcast"), w),
                r == 1 ? ElementsAre(3, 3) : ElementsAre(0, 0));
    EXPECT_THAT(gradient(collective::ReduceScatter(root, x, {.op = ReduceOp::kSum}, "scatter"), w), ElementsAre(1, 2));
    auto all = collective::AllToAll(root, x, Constant(root, Tensor::Vector<int64_t>({1, 1})), "all");
    EXPECT_THAT(gradient(all.output, w), ElementsAre(1, 2));
  });
}

TEST(DistributedTraining, EagerAndCompiled) {
  InRanks(2, 1, [] {
    const float r = static_cast<float>(collective::Rank());
    eager::Variable w(Tensor::Vector<float>({r, r + 1}));
    ASSERT_EQ(collective::BroadcastVariables(std::vector<eager::Variable>{w}, 1), OkStatus());
    EXPECT_THAT(w.Read().value()->span<float>(), ElementsAre(1, 2));
    GradientTape tape;
    EagerTensor mean = collective::AllReduce(w.Read() * eager::Constant(r + 1));
    EXPECT_THAT(mean.value()->span<float>(), ElementsAre(1.5, 3));
    auto gradients = tape.Gradients({mean}, {w});
    EXPECT_THAT(gradients[0].value()->span<float>(), ElementsAre(r + 1, r + 1));
    eager::Optimizer descent(collective::DistributedOptimizer(optimizer::GradientDescent({.learning_rate = 1})));
    GradientTape second;
    EagerTensor loss = w.Read() * eager::Constant(r);
    ASSERT_EQ(descent.Apply({w}, second.SparseGradients({loss}, {w})), OkStatus());
    EXPECT_THAT(w.Read().value()->span<float>(), ElementsAre(0.5, 1.5));
    auto doubled = eager::Compile(
        [](const EagerTensor& x) { return collective::AllReduce(x, {.op = collective::ReduceOp::kSum}); });
    for (int i = 0; i < 3; ++i) {
      EagerTensor out = doubled(eager::Constant(r + 1));
      ASSERT_EQ(out.status(), OkStatus());
      EXPECT_EQ(out.value()->scalar<float>(), 3);
    }
  });
}

TEST(DistributedTraining, SparseGradientsStaySparse) {
  InRanks(2, 1, [] {
    const int64_t row = collective::Rank();
    Scope root = Scope::NewRoot();
    Variable table(root, "table",
                   Constant(root, Tensor::FromSpan<float>(std::vector<float>{1, 1, 1, 1, 1, 1}, {3, 2})));
    Output rows =
        ops::ResourceGather(root, table.handle(), Constant(root, Tensor::Vector<int64_t>({row, 2})), DType::kFloat);
    Output loss = ops::Sum(root, rows, Constant(root, {0, 1}));
    auto training = collective::DistributedOptimizer(optimizer::Momentum({.learning_rate = 1})).Minimize(root, loss);
    auto session = ClientSession::Create(root);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_EQ((*session)->RunTargets({InitializeVariables(root)}), OkStatus());
    ASSERT_EQ((*session)->RunTargets({training.op}), OkStatus());
    EXPECT_THAT((*session)->Evaluate(table)->span<float>(), ElementsAre(0.5, 0.5, 0.5, 0.5, 0, 0));
  });
}

}  // namespace
}  // namespace weir
