// CallRhythm: whether the calls of a server are a quick conversation: one client that sends a call as soon as it has
// the answer to the one before.
#ifndef WEIR_DISTRIBUTED_CALL_RHYTHM_H_
#define WEIR_DISTRIBUTED_CALL_RHYTHM_H_

#include <chrono>
#include <cstddef>

namespace weir {

// Not thread-safe. Times never go back.
class CallRhythm {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kQuickCalls = 4;  // make a conversation
  static constexpr int kCrowd = 3;       // calls in a row that had to wait for others are of several clients
  static constexpr int kWorthIt = 32;    // calls that a wait without sleep should serve
  // After such a wait; twice as long after each that was not worth it.
  static constexpr Clock::duration kPause = std::chrono::milliseconds(10);
  static constexpr Clock::duration kLongestPause = std::chrono::seconds(5);

  // The most time between an answer and the next call; zero: no calls are quick.
  explicit CallRhythm(Clock::duration window) : window_(window) {}

  // A call of that client came. `waited`: it was there before the answer to the one before could reach a client.
  void Begin(Clock::time_point now, size_t client, bool waited);
  // The call was dealt with. `answered`: it has its answer; otherwise that takes longer and is left to others.
  void End(Clock::time_point now, bool answered);
  // Somebody waited for calls without sleep, got so many, and gave up: there is no conversation for a while.
  void GiveUp(Clock::time_point now, int num_calls);

  // Whether a conversation goes on: the next call is likely to come within the window.
  bool IsQuick(Clock::time_point now) const { return row_ >= kQuickCalls && open_ == 0 && now - last_end_ <= window_; }

 private:
  const Clock::duration window_;
  Clock::time_point last_end_;
  Clock::time_point paused_until_;
  size_t client_ = 0;               // of the last call
  Clock::duration pause_ = kPause;  // the next one
  int open_ = 0;                    // calls between Begin and End
  int row_ = 0;                     // calls that came alone, quickly and were answered at once
  int crowded_ = 0;                 // calls in a row that had waited
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_CALL_RHYTHM_H_
