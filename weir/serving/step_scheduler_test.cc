#include "weir/serving/step_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "weir/serving/batch_tensors.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor Rows(std::initializer_list<float> values) {
  return *Tensor::Vector<float>(values).Reshaped(Shape({static_cast<int64_t>(values.size()), 1}));
}

// A model whose first step waits until it is let go; each step gives its input back and notes how many rows it had.
class SchedulerTest : public ::testing::Test {
 protected:
  std::shared_ptr<StepScheduler::Queue> MakeQueue(BatchOptions rules, std::string model = "m",
                                                  bool independent = true) {
    StepScheduler::QueueOptions options;
    options.model = model;
    options.share = std::make_shared<StepScheduler::Share>();
    options.batching = rules;
    options.rows_are_independent = independent;
    options.run = [this, model](const StepOptions&, std::span<const Tensor> inputs, std::vector<Tensor>* outputs,
                                StepReport*) -> Status {
      {
        absl::MutexLock lock(&mu_);
        steps_.push_back({model, inputs[0].dim(0)});
        if (steps_.size() == 1) {
          entered_.Notify();
          mu_.Await(absl::Condition(&let_go_));
        }
      }
      for (float value : inputs[0].span<float>()) {
        if (value < 0) return InvalidArgument("negative");
      }
      outputs->assign(inputs.begin(), inputs.end());
      return OkStatus();
    };
    return scheduler_.MakeQueue(std::move(options));
  }
  struct Answer {
    absl::Notification ended;
    Status status;
    std::vector<Tensor> outputs;
  };
  std::shared_ptr<Answer> Submit(const std::shared_ptr<StepScheduler::Queue>& queue, Tensor input,
                                 Priority priority = Priority::kNormal, absl::Time deadline = absl::InfiniteFuture()) {
    auto answer = std::make_shared<Answer>();
    StepScheduler::Job job;
    job.inputs = {std::move(input)};
    job.priority = priority;
    job.deadline = deadline;
    job.done = [answer](Status status, std::vector<Tensor> outputs) {
      answer->status = std::move(status);
      answer->outputs = std::move(outputs);
      answer->ended.Notify();
    };
    scheduler_.Submit(queue, std::move(job));
    return answer;
  }
  // Occupies the only slot; the thread runs the first step until LetGo.
  std::shared_ptr<Answer> Occupy(const std::shared_ptr<StepScheduler::Queue>& queue) {
    auto out = std::make_shared<Answer>();
    blocked_ = std::thread([this, queue, out] {
      auto answer = Submit(queue, Rows({1}));
      answer->ended.WaitForNotification();
      out->status = answer->status;
      out->ended.Notify();
    });
    entered_.WaitForNotification();
    return out;
  }
  void LetGo() {
    {
      absl::MutexLock lock(&mu_);
      let_go_ = true;
    }
    blocked_.join();
  }
  std::vector<int64_t> Sizes() {
    absl::MutexLock lock(&mu_);
    std::vector<int64_t> out;
    for (const auto& step : steps_) out.push_back(step.second);
    return out;
  }
  std::vector<std::string> Models() {
    absl::MutexLock lock(&mu_);
    std::vector<std::string> out;
    for (const auto& step : steps_) out.push_back(step.first);
    return out;
  }

  ServingMetrics metrics_;
  absl::Mutex mu_;
  bool let_go_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::pair<std::string, int64_t>> steps_ ABSL_GUARDED_BY(mu_);
  absl::Notification entered_;
  std::thread blocked_;
  StepScheduler scheduler_{1, &metrics_};
};

TEST_F(SchedulerTest, WhatWaitsRunsAsOneBatchAndEachGetsItsRows) {
  auto queue = MakeQueue({});
  Occupy(queue);
  auto a = Submit(queue, Rows({2, 3}));
  auto b = Submit(queue, Rows({4}));
  EXPECT_EQ(scheduler_.num_waiting(), 2);
  LetGo();
  a->ended.WaitForNotification();
  b->ended.WaitForNotification();
  EXPECT_THAT(Sizes(), ElementsAre(1, 3));
  EXPECT_THAT(a->outputs[0].span<float>(), ElementsAre(2, 3));
  EXPECT_THAT(b->outputs[0].span<float>(), ElementsAre(4));
}

TEST_F(SchedulerTest, RowsThatDependOnEachOtherRunApart) {
  auto queue = MakeQueue({}, "m", /*independent=*/false);
  Occupy(queue);
  auto a = Submit(queue, Rows({2}));
  auto b = Submit(queue, Rows({4}));
  LetGo();
  a->ended.WaitForNotification();
  b->ended.WaitForNotification();
  EXPECT_THAT(Sizes(), ElementsAre(1, 1, 1));
}

TEST_F(SchedulerTest, RaggedRequestsArePaddedWhenAsked) {
  BatchOptions rules;
  rules.pad = true;
  auto queue = MakeQueue(rules);
  Occupy(queue);
  auto a = Submit(queue, *Rows({2, 3}).Reshaped(Shape({1, 2})));
  auto b = Submit(queue, *Rows({4, 5, 6}).Reshaped(Shape({1, 3})));
  LetGo();
  a->ended.WaitForNotification();
  b->ended.WaitForNotification();
  EXPECT_THAT(Sizes(), ElementsAre(1, 2));
  EXPECT_THAT(a->outputs[0].span<float>(), ElementsAre(2, 3, 0));
  EXPECT_THAT(b->outputs[0].span<float>(), ElementsAre(4, 5, 6));
}

TEST_F(SchedulerTest, AModelThatHadLessTimeGoesFirst) {
  BatchOptions rules;
  rules.merge = false;
  auto busy = MakeQueue(rules, "busy"), quiet = MakeQueue(rules, "quiet");
  Occupy(busy);
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(Submit(busy, Rows({1})));
  answers.push_back(Submit(quiet, Rows({1})));
  LetGo();
  for (auto& answer : answers) answer->ended.WaitForNotification();
  EXPECT_THAT(Models(), ElementsAre("busy", "quiet", "busy", "busy", "busy"));
}

TEST_F(SchedulerTest, ABadRequestFailsAlone) {
  auto queue = MakeQueue({});
  Occupy(queue);
  auto good = Submit(queue, Rows({2}));
  auto bad = Submit(queue, Rows({-1}));
  LetGo();
  good->ended.WaitForNotification();
  bad->ended.WaitForNotification();
  EXPECT_TRUE(good->status.ok()) << good->status;
  EXPECT_EQ(bad->status.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SchedulerTest, AFullQueueRefusesAtOnce) {
  BatchOptions rules;
  rules.max_batch_size = 2;
  rules.max_enqueued_batches = 1;
  auto queue = MakeQueue(rules);
  Occupy(queue);
  auto a = Submit(queue, Rows({1, 2}));
  auto b = Submit(queue, Rows({3}));
  ASSERT_TRUE(b->ended.HasBeenNotified());
  EXPECT_EQ(b->status.code(), absl::StatusCode::kResourceExhausted);
  LetGo();
  a->ended.WaitForNotification();
  EXPECT_TRUE(a->status.ok());
}

TEST_F(SchedulerTest, HighPriorityGoesFirst) {
  BatchOptions rules;
  rules.max_batch_size = 1;
  auto low = MakeQueue(rules, "low"), high = MakeQueue(rules, "high");
  Occupy(low);
  auto a = Submit(low, Rows({1}), Priority::kLow);
  auto b = Submit(high, Rows({2}), Priority::kHigh);
  LetGo();
  a->ended.WaitForNotification();
  b->ended.WaitForNotification();
  EXPECT_THAT(Models(), ElementsAre("low", "high", "low"));
}

TEST_F(SchedulerTest, ARequestWhoseDeadlineHasPassedIsNotRun) {
  auto queue = MakeQueue({});
  Occupy(queue);
  // Nothing is known of how long steps take, so it may wait; its time is over when its turn comes.
  const absl::Time deadline = absl::Now() + absl::Milliseconds(3);
  auto late = Submit(queue, Rows({2}), Priority::kNormal, deadline);
  while (absl::Now() < deadline) {
  }
  LetGo();
  late->ended.WaitForNotification();
  EXPECT_THAT(Sizes(), ElementsAre(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late->status) || absl::IsResourceExhausted(late->status)) << late->status;
}

TEST_F(SchedulerTest, ARequestWithHardlyAnyTimeLeftIsNotRunEvenIfTheServerIsIdle) {
  auto queue = MakeQueue({});
  auto late = Submit(queue, Rows({2}), Priority::kNormal, absl::Now() + absl::Microseconds(1));
  late->ended.WaitForNotification();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late->status)) << late->status;
  EXPECT_THAT(Sizes(), IsEmpty());
}

TEST_F(SchedulerTest, TensorFlowServingsRules) {
  BatchOptions rules;
  rules.adaptive = false;
  rules.max_batch_size = 4;
  rules.allowed_sizes = {2, 4};
  {
    absl::MutexLock lock(&mu_);
    let_go_ = true;
  }
  auto queue = MakeQueue(rules, "m", /*independent=*/false);
  auto three = Submit(queue, Rows({1, 2, 3}));
  three->ended.WaitForNotification();
  EXPECT_THAT(Sizes(), ElementsAre(4));
  EXPECT_THAT(three->outputs[0].span<float>(), ElementsAre(1, 2, 3));
  auto five = Submit(queue, Rows({1, 2, 3, 4, 5}));
  five->ended.WaitForNotification();
  EXPECT_THAT(five->status.message(), HasSubstr("Task size 5 is larger than maximum input batch size 4"));
}

TEST_F(SchedulerTest, LargeRequestsAreSplitAndJoined) {
  BatchOptions rules;
  rules.adaptive = false;
  rules.max_batch_size = 8;
  rules.max_execution_size = 2;
  rules.split_large = true;
  {
    absl::MutexLock lock(&mu_);
    let_go_ = true;
  }
  auto queue = MakeQueue(rules);
  auto five = Submit(queue, Rows({1, 2, 3, 4, 5}));
  five->ended.WaitForNotification();
  EXPECT_THAT(Sizes(), ElementsAre(2, 2, 1));
  EXPECT_THAT(five->outputs[0].span<float>(), ElementsAre(1, 2, 3, 4, 5));
}

TEST(ConcatRowsTest, PadsWithZerosAndRepeatsTheFirstRowOfTheLast) {
  Tensor a = *Tensor::Vector<int32_t>({1, 2}).Reshaped(Shape({1, 2}));
  Tensor b = *Tensor::Vector<int32_t>({3}).Reshaped(Shape({1, 1}));
  const Tensor* both[] = {&a, &b};
  EXPECT_EQ(ConcatRows(both, 3, /*pad=*/false).status().code(), absl::StatusCode::kFailedPrecondition);
  StatusOr<Tensor> out = ConcatRows(both, 3, /*pad=*/true);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(out->span<int32_t>(), ElementsAre(1, 2, 3, 0, 3, 0));
}

}  // namespace
}  // namespace weir
