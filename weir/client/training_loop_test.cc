#include "weir/client/training_loop.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "weir/client/averages.h"
#include "weir/client/data/elements.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/saver.h"
#include "weir/client/tensor_math.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// w goes to 5: loss (w - 5)^2, a step takes away 20% of the distance.
struct Line {
  Scope root = Scope::NewRoot();
  Variable w{root, "w", Input(0.0f)};
  Output loss = ops::Square(root, w - 5);
  Training training = optimizer::GradientDescent({.learning_rate = 0.1}).Minimize(root, loss);
  std::unique_ptr<ClientSession> session = ClientSession::Create(root).value();
};

TEST(TrainUntil, GoesOnFromTheLastCheckpoint) {
  const std::string folder = testing::TempDir() + "/train_until";
  std::filesystem::remove_all(folder);
  Line first;
  TrainingLoopOptions options{.folder = folder, .last_step = 3, .save_every_steps = 2, .summary_every_steps = 1};
  options.summaries = {{"rate", first.training.learning_rate}};
  auto steps = TrainUntil(*first.session, first.training, first.loss, options);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(*steps, 3);
  EXPECT_EQ(LatestCheckpoint(folder).value(), folder + "/model-3");
  Line second;
  options.last_step = 4;
  options.summaries.clear();
  EXPECT_EQ(TrainUntil(*second.session, second.training, second.loss, options).value(), 4);
  ExpectTensorNear(second.session->Evaluate(second.w).value(), Tensor::Scalar(5 - 5 * 0.8f * 0.8f * 0.8f * 0.8f));
}

TEST(TrainUntil, StopsWhenToldOrWhenDataEnd) {
  struct StopAtTwo : TrainingHook {
    Status OnStep(ClientSession&, int64_t step, double loss, bool* stop) override {
      *stop = step == 2;
      return OkStatus();
    }
  };
  Line line;
  TrainingLoopOptions options{.last_step = 100, .hooks = {std::make_shared<StopAtTwo>()}};
  EXPECT_EQ(TrainUntil(*line.session, line.training, line.loss, options).value(), 2);
  Line other;
  options = {.last_step = 100};
  options.feeds = [](int64_t step) -> StatusOr<ClientSession::Feeds> {
    if (step == 5) return OutOfRange("no more");
    return ClientSession::Feeds();
  };
  EXPECT_EQ(TrainUntil(*other.session, other.training, other.loss, options).value(), 5);
  options.feeds = [](int64_t) -> StatusOr<ClientSession::Feeds> { return DataLoss("broken"); };
  EXPECT_EQ(TrainUntil(*other.session, other.training, other.loss, options).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(TrainUntil, MakesANewSessionWhenTheLastIsLost) {
  struct LoseOnce : TrainingHook {
    Status OnStep(ClientSession&, int64_t step, double, bool*) override {
      return step == 5 && !lost ? Unavailable("a task is lost") : OkStatus();
    }
    Status OnError(ClientSession&, const Status& error) override {
      lost = true;
      return error;
    }
    bool lost = false;
  };
  Line line;
  const std::string folder = testing::TempDir() + "/lost_session";
  std::filesystem::remove_all(folder);
  TrainingLoopOptions options{.folder = folder, .last_step = 8, .save_every_steps = 2};
  auto hook = std::make_shared<LoseOnce>();
  options.hooks = {hook};
  std::vector<int64_t> steps;
  options.feeds = [&](int64_t step) -> StatusOr<ClientSession::Feeds> {
    steps.push_back(step);
    return ClientSession::Feeds();
  };
  auto connect = [&] { return ClientSession::Create(line.root); };
  EXPECT_EQ(TrainUntil(line.root, connect, line.training, line.loss, options).value(), 8);
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1, 2, 3, 4, 4, 5, 6, 7}));  // step 5 was lost
  // Other errors are not, and nobody tries for ever.
  hook->lost = false;
  options.last_step = 100;
  options.feeds = [](int64_t) -> StatusOr<ClientSession::Feeds> { return DataLoss("broken"); };
  EXPECT_TRUE(absl::IsDataLoss(TrainUntil(line.root, connect, line.training, line.loss, options).status()));
  options.max_recoveries = 2;
  int tries = 0;
  auto nobody = [&]() -> StatusOr<std::unique_ptr<ClientSession>> { return ++tries, Unavailable("nobody is there"); };
  EXPECT_TRUE(absl::IsUnavailable(TrainUntil(line.root, nobody, line.training, line.loss, options).status()));
  EXPECT_EQ(tries, 3);
}

// Shuffled numbers are fed; two runs with a loss of the session and an end in between see each once, in one order.
TEST(TrainUntil, GoesOnAtTheSameElement) {
  const std::string folder = testing::TempDir() + "/positions";
  std::filesystem::remove_all(folder);
  const data::Dataset numbers = data::Range(0, 12).Shuffle(5, {.seed = 3, .reshuffle_each_epoch = false});
  data::Elements again(numbers);
  data::Tensors one;
  ASSERT_TRUE(again.Next(&one).value());
  ASSERT_TRUE(again.Restore(Tensor()).ok());
  std::vector<int64_t> expected;
  for (data::Elements all(numbers); const data::Tensors& element : all) {
    expected.push_back(element[0].scalar<int64_t>());
  }

  ASSERT_TRUE(again.Next(&one).value());
  EXPECT_EQ(one[0].scalar<int64_t>(), expected[0]);

  struct LoseAtFive : TrainingHook {
    Status OnStep(ClientSession&, int64_t step, double, bool*) override {
      return step == 5 && !std::exchange(lost, true) ? Unavailable("a task is lost") : OkStatus();
    }
    bool lost = false;
  };
  std::map<int64_t, int64_t> seen;  // by step
  for (const int64_t last : {7, 12}) {
    Line line;
    data::Elements elements(numbers);
    TrainingLoopOptions options{.folder = folder, .last_step = last, .save_every_steps = 2, .save_in_background = true};
    options.feeds = [&](int64_t step) -> StatusOr<ClientSession::Feeds> {
      data::Tensors element;
      WEIR_ASSIGN_OR_RETURN(bool more, elements.Next(&element));
      if (!more) return OutOfRange("no more");
      seen[step] = element[0].scalar<int64_t>();
      return ClientSession::Feeds();
    };
    options.save_position = [&] { return elements.Save(); };
    options.restore_position = [&](const Tensor& position) { return elements.Restore(position); };
    if (last == 7) options.hooks = {std::make_shared<LoseAtFive>()};
    auto connect = [&] { return ClientSession::Create(line.root); };
    auto steps = TrainUntil(line.root, connect, line.training, line.loss, options);
    ASSERT_TRUE(steps.ok()) << steps.status();
    EXPECT_EQ(*steps, last);
  }
  std::vector<int64_t> in_order;
  for (const auto& [step, number] : seen) in_order.push_back(number);
  EXPECT_EQ(in_order, expected);
}

TEST(TrainUntil, AnErrorOfABackgroundSaveEndsTheLoop) {
  Line line;
  TrainingLoopOptions options{.last_step = 4, .save_every_steps = 1, .save_in_background = true};
  options.folder = testing::TempDir() + "/taken_away";
  struct TakeAway : TrainingHook {
    explicit TakeAway(std::string folder) : folder(std::move(folder)) {}
    Status OnStep(ClientSession&, int64_t step, double, bool*) override {
      if (step > 1) return OkStatus();
      std::filesystem::remove_all(folder);
      std::ofstream(folder) << "a file in its place";
      return OkStatus();
    }
    const std::string folder;
  };
  options.hooks = {std::make_shared<TakeAway>(options.folder)};
  EXPECT_FALSE(TrainUntil(*line.session, line.training, line.loss, options).ok());
}

TEST(MovingAverages, FollowTheirVariables) {
  Scope root = Scope::NewRoot();
  Variable w(root, "w", Input(1.0f));
  const Variable variables[] = {w};
  MovingAverages averages(root, variables, 0.75);
  Operation add = w.AssignAdd(root, 4);
  auto session = ClientSession::Create(root).value();
  Status status = session->RunTargets({InitializeVariables(root)});
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(session->RunTargets({add}).ok());
  ASSERT_TRUE(session->RunTargets({averages.update()}).ok());
  ExpectTensorNear(session->Evaluate(averages.Average(w)).value(), Tensor::Scalar(2.0f));
  EXPECT_EQ(averages.RestoreNames().at("w"), "w/ExponentialMovingAverage");
}

TEST(MinimizeAccumulated, TakesTheMeanOfTheParts) {
  Scope root = Scope::NewRoot();
  Variable w(root, "w", Input(0.0f));
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape(Shape())});
  AccumulatedTraining training =
      MinimizeAccumulated(root, optimizer::GradientDescent({.learning_rate = 1}), w.value() * x);
  ASSERT_TRUE(root.ok()) << root.status();
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  float expected = 0;
  for (int round = 0; round < 2; ++round) {
    for (float value : {1.0f, 2.0f, 6.0f}) {
      ASSERT_TRUE(session->RunTargets({training.accumulate}, {{x, Tensor::Scalar(value)}}).ok());
    }
    ASSERT_TRUE(session->RunTargets({training.apply.op}).ok());
    expected -= 3;
    ExpectTensorNear(session->Evaluate(w).value(), Tensor::Scalar(expected));
  }
}

}  // namespace
}  // namespace weir
