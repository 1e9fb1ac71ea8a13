#include "weir/distributed/call_rhythm.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::microseconds;

// A server whose clock the test moves: calls take ten microseconds.
class CallRhythmTest : public testing::Test {
 protected:
  void Call(microseconds gap, bool answered = true, bool waited = false) {
    now_ += gap;
    rhythm_.Begin(now_, client_, waited);
    EXPECT_FALSE(rhythm_.IsQuick(now_));
    now_ += microseconds(10);
    rhythm_.End(now_, answered);
  }
  void Calls(int count, microseconds gap = microseconds(100)) {
    while (count-- > 0) Call(gap);
  }
  bool IsQuick() const { return rhythm_.IsQuick(now_); }

  size_t client_ = 1;
  CallRhythm rhythm_{microseconds(300)};
  CallRhythm::Clock::time_point now_ = CallRhythm::Clock::time_point() + std::chrono::hours(1);
};

TEST_F(CallRhythmTest, QuickCallsInARowMakeAConversation) {
  Call(microseconds(0));
  Calls(CallRhythm::kQuickCalls - 2);
  EXPECT_FALSE(IsQuick());
  Calls(1);
  EXPECT_TRUE(IsQuick());
}

TEST_F(CallRhythmTest, ItEndsWhenNoCallComes) {
  Calls(20);
  now_ += microseconds(300);
  EXPECT_TRUE(IsQuick());
  now_ += microseconds(1);
  EXPECT_FALSE(IsQuick());
  Calls(CallRhythm::kQuickCalls - 1);
  EXPECT_FALSE(IsQuick());
}

TEST_F(CallRhythmTest, SlowClientsHaveNone) {
  Calls(100, microseconds(301));
  EXPECT_FALSE(IsQuick());
}

TEST_F(CallRhythmTest, ClientsByTurnsHaveNone) {
  Calls(20);
  EXPECT_TRUE(IsQuick());
  for (int i = 0; i < 20; ++i) {
    client_ = 3 - client_;
    Calls(1);
    EXPECT_FALSE(IsQuick());
  }
}

TEST_F(CallRhythmTest, AStepThatIsLeftToOthersEndsIt) {
  Calls(20);
  Call(microseconds(100), /*answered=*/false);
  EXPECT_FALSE(IsQuick());
}

TEST_F(CallRhythmTest, CallsAtOnceEndIt) {
  Calls(20);
  rhythm_.Begin(now_, client_, false);
  rhythm_.Begin(now_, client_, false);
  rhythm_.End(now_, true);
  rhythm_.End(now_, true);
  EXPECT_FALSE(IsQuick());
}

TEST_F(CallRhythmTest, ACrowdEndsIt) {
  Calls(20);
  for (int i = 1; i < CallRhythm::kCrowd; ++i) Call(microseconds(0), true, /*waited=*/true);
  EXPECT_TRUE(IsQuick());
  for (int i = 0; i < 20; ++i) {
    Call(microseconds(0), true, /*waited=*/true);
    EXPECT_FALSE(IsQuick());
  }
}

TEST_F(CallRhythmTest, WhoeverGivesUpPausesAndLongerIfItWasNotWorthIt) {
  auto pause = [this](int num_calls) {
    Calls(20);
    EXPECT_TRUE(IsQuick());
    rhythm_.GiveUp(now_, num_calls);
    const auto begin = now_;
    while (!IsQuick()) Calls(1);
    return now_ - begin - CallRhythm::kQuickCalls * microseconds(110);
  };
  const auto slack = microseconds(220);
  EXPECT_NEAR(pause(1000).count(), CallRhythm::kPause.count(), slack / std::chrono::nanoseconds(1));
  EXPECT_NEAR(pause(0).count(), CallRhythm::kPause.count(), slack / std::chrono::nanoseconds(1));
  EXPECT_NEAR(pause(0).count(), 2 * CallRhythm::kPause.count(), slack / std::chrono::nanoseconds(1));
  EXPECT_NEAR(pause(0).count(), 4 * CallRhythm::kPause.count(), slack / std::chrono::nanoseconds(1));
  EXPECT_NEAR(pause(1000).count(), CallRhythm::kPause.count(), slack / std::chrono::nanoseconds(1));
  EXPECT_NEAR(pause(0).count(), CallRhythm::kPause.count(), slack / std::chrono::nanoseconds(1));
}

TEST_F(CallRhythmTest, AWindowOfNothingIsNeverQuick) {
  CallRhythm none(microseconds(0));
  for (int i = 0; i < 20; ++i) {
    none.Begin(now_, client_, false);
    none.End(now_, true);
  }
  EXPECT_FALSE(none.IsQuick(now_));
}

}  // namespace
}  // namespace weir
