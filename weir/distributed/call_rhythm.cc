#include "weir/distributed/call_rhythm.h"

#include <algorithm>
#include <utility>

namespace weir {

void CallRhythm::Begin(Clock::time_point now, size_t client, bool waited) {
  const bool same = std::exchange(client_, client) == client;
  if (open_++ > 0 || !same || now - last_end_ > window_) row_ = 0;
  crowded_ = waited ? crowded_ + 1 : 0;
  if (crowded_ >= kCrowd) row_ = 0;
}

void CallRhythm::End(Clock::time_point now, bool answered) {
  --open_;
  last_end_ = now;
  const bool counts =
      answered && open_ == 0 && crowded_ < kCrowd && now >= paused_until_ && window_ > Clock::duration::zero();
  row_ = counts ? std::min(row_ + 1, kQuickCalls) : 0;
}

void CallRhythm::GiveUp(Clock::time_point now, int num_calls) {
  if (num_calls >= kWorthIt) pause_ = kPause;
  paused_until_ = now + pause_;
  if (num_calls < kWorthIt) pause_ = std::min(2 * pause_, kLongestPause);
  row_ = crowded_ = 0;
}

}  // namespace weir
