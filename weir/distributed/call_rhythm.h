// CallRhythm: detects a latency-bound conversation: a single client that sends each call as soon as it has the answer
// to the previous one.
#ifndef WEIR_DISTRIBUTED_CALL_RHYTHM_H_
#define WEIR_DISTRIBUTED_CALL_RHYTHM_H_

#include <chrono>
#include <cstddef>

namespace weir {

// Not thread-safe. Times must be monotonic.
class CallRhythm {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kQuickCalls = 4;  // so many quick calls make a conversation
  static constexpr int kCrowd = 3;       // so many calls in a row that had to wait must come from several clients
  static constexpr int kWorthIt = 32;    // busy-waiting should serve at least so many calls
  // How long not to busy-wait after giving up; doubled each time that it was not worth it.
  static constexpr Clock::duration kPause = std::chrono::milliseconds(10);
  static constexpr Clock::duration kLongestPause = std::chrono::seconds(5);

  // The maximum time between an answer and the next call of a conversation; zero: there are no conversations.
  explicit CallRhythm(Clock::duration window) : window_(window) {}

  // A call of that client arrived. `waited`: it arrived before the previous answer could have reached a client.
  void Begin(Clock::time_point now, size_t client, bool waited);
  // The handler of the call returned. `answered`: the call was answered; otherwise other threads will answer it later.
  void End(Clock::time_point now, bool answered);
  // A thread busy-waited, served so many calls, and gave up: no conversation is reported for a while.
  void GiveUp(Clock::time_point now, int num_calls);

  // Whether a conversation goes on: the next call is likely to come within the window.
  bool IsQuick(Clock::time_point now) const { return row_ >= kQuickCalls && open_ == 0 && now - last_end_ <= window_; }

 private:
  const Clock::duration window_;
  Clock::time_point last_end_;
  Clock::time_point paused_until_;
  size_t client_ = 0;               // of the last call
  Clock::duration pause_ = kPause;  // the length of the next pause
  int open_ = 0;                    // calls between Begin and End
  int row_ = 0;                     // quick calls in a row: each came alone and was answered immediately
  int crowded_ = 0;                 // calls in a row that had waited
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_CALL_RHYTHM_H_
