#include <grpc/support/time.h>
#include <pthread.h>

#include <algorithm>

#include "weir/distributed/call_queue_internal.h"

namespace weir {
namespace {

using Clock = CallRhythm::Clock;

// How often a thread checks on the polling thread, and for how long after the last event.
constexpr Clock::duration kLook = std::chrono::milliseconds(5);
constexpr Clock::duration kBusy = std::chrono::milliseconds(100);
// A client cannot receive an answer and send the next call faster than this.
constexpr Clock::duration kAtOnce = std::chrono::microseconds(10);

// What the polling thread knows about itself.
struct Polling {
  const CallQueue* queue = nullptr;
  int64_t turn = 0;
  bool stays = false;
  Clock::duration idle{};  // how long it waited for the event
};
thread_local Polling t_polling;

}  // namespace

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, int num_threads, absl::Duration stay_awake)
    : queue_(std::move(queue)),
      window_(absl::ToChronoNanoseconds(std::max(stay_awake, absl::ZeroDuration()))),
      rhythm_(window_) {
  for (int i = 0; i < std::max(1, num_threads); ++i) threads_.emplace_back([this] { Work(); });
}

CallQueue::~CallQueue() {
  StopStaying();
  queue_->Shutdown();
  for (std::thread& thread : threads_) thread.join();
}

void CallQueue::Work() {
  pthread_setname_np(pthread_self(), "weir_calls");
  while (true) {
    int64_t turn = 0;
    {
      absl::MutexLock lock(&mu_);
      if (!AwaitTurn()) return;
      polled_ = true;
      working_ = stays_ = false;
      turn = ++turn_;
      if (busy_ && !watched_) changed_.Signal();  // lets another thread watch this one
    }
    Poll(turn);
  }
}

bool CallQueue::AwaitTurn() {
  while (polled_ && !ended_) {
    if (watched_ || !busy_) {
      changed_.Wait(&mu_);
      continue;
    }
    watched_ = true;
    changed_.WaitWithTimeout(&mu_, absl::FromChrono(kLook));
    watched_ = false;
    const Clock::duration age = Clock::now() - last_event_;
    if (working_ && age > kLook) break;  // the handler takes long: another thread takes over
    if (!working_ && age > kBusy) busy_ = false;
  }
  return !ended_;
}

void CallQueue::Poll(int64_t turn) {
  bool stays = false;
  Clock::time_point now = Clock::now(), last_event = now;
  do {
    void* tag = nullptr;
    bool ok = false;
    using Queue = grpc::CompletionQueue;
    const gpr_timespec until = stays ? gpr_time_0(GPR_CLOCK_MONOTONIC) : gpr_inf_future(GPR_CLOCK_MONOTONIC);
    const Queue::NextStatus got = queue_->AsyncNext(&tag, &ok, until);
    now = Clock::now();
    if (got == Queue::SHUTDOWN) {
      absl::MutexLock lock(&mu_);
      ended_ = true;
      changed_.SignalAll();
      break;
    }
    if (got == Queue::GOT_EVENT) {
      BeginEvent(now);
      t_polling = {this, turn, stays, now - last_event};
      static_cast<Event*>(tag)->Happen(ok);
      t_polling = {};
      now = last_event = Clock::now();
    } else {
      // Lets the client run on this processor. If another thread keeps the processor for longer than the window, this
      // thread stops busy-waiting.
      std::this_thread::yield();
    }
  } while (GoOn(turn, now, &stays));
}

void CallQueue::BeginEvent(Clock::time_point now) {
  absl::MutexLock lock(&mu_);
  working_ = true;
  last_event_ = now;
  if (std::exchange(busy_, true)) return;
  changed_.Signal();  // lets another thread watch this one
}

bool CallQueue::GoOn(int64_t turn, Clock::time_point now, bool* stays) {
  absl::MutexLock lock(&mu_);
  if (turn_ != turn) return false;
  working_ = false;
  *stays = !stop_staying_ && rhythm_.IsQuick(now);
  if (std::exchange(stays_, *stays) == *stays) return true;
  if (stays_) {
    calls_before_ = num_awaited_calls();
  } else {
    rhythm_.GiveUp(now, static_cast<int>(num_awaited_calls() - calls_before_));
  }
  return true;
}

void CallQueue::LetOthersPoll() {
  if (t_polling.queue != this) return;
  absl::MutexLock lock(&mu_);
  if (turn_ != t_polling.turn || stays_) return;
  ++turn_;
  polled_ = false;
  changed_.Signal();
}

bool CallQueue::CameAtOnce() const { return t_polling.queue == this && t_polling.idle < kAtOnce; }

void CallQueue::BeginCall(size_t client, bool at_once) {
  if (!may_stay()) return;
  if (t_polling.stays) num_awaited_calls_.fetch_add(1, std::memory_order_relaxed);
  const bool waited = t_polling.stays && at_once;
  absl::MutexLock lock(&mu_);
  rhythm_.Begin(Clock::now(), client, waited);
}

void CallQueue::EndCall(bool answered) {
  if (!may_stay()) return;
  absl::MutexLock lock(&mu_);
  rhythm_.End(Clock::now(), answered);
}

void CallQueue::StopStaying() {
  absl::MutexLock lock(&mu_);
  stop_staying_ = true;
}

}  // namespace weir
