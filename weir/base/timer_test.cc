#include "weir/base/timer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace weir {
namespace {

bool FiresAtOnce() {
  absl::Notification fired;
  Timer::Global().CallAt(absl::Now(), [&fired] { fired.Notify(); });
  fired.WaitForNotification();
  return true;
}

TEST(Timer, CallsBack) { EXPECT_TRUE(FiresAtOnce()); }

TEST(Timer, CancelledCallsAreNotMade) {
  Timer timer;
  bool called = false;
  const Timer::Id id = timer.CallAt(absl::Now() + absl::Hours(1), [&called] { called = true; });
  EXPECT_TRUE(timer.Cancel(id));
  EXPECT_FALSE(timer.Cancel(id));
  EXPECT_FALSE(called);
}

TEST(Timer, AnEarlierCallIsMadeBeforeALaterOne) {
  Timer timer;
  const Timer::Id later = timer.CallAt(absl::Now() + absl::Hours(1), [] {});
  for (int i = 0; i < 100; ++i) {  // while the thread sleeps, wakes and falls asleep
    absl::Notification called;
    timer.CallAt(absl::Now() + absl::Microseconds(i), [&] { called.Notify(); });
    EXPECT_TRUE(called.WaitForNotificationWithTimeout(absl::Minutes(1)));
  }
  EXPECT_TRUE(timer.Cancel(later));
}

TEST(Timer, CallsBackInTheChildOfAFork) {
  EXPECT_TRUE(FiresAtOnce());
  const pid_t child = fork();
  if (child == 0) _exit(FiresAtOnce() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weir
