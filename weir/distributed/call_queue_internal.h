// CallQueue: the completion queue of a server's calls, and the threads that wait on it. Only files of this folder
// include this header: it brings gRPC along.
//
// One thread polls at a time: it waits for network events and handles them itself, since waking another thread takes
// longer than most handlers. Before handling an event that is likely to take long, it lets another thread poll
// (LetOthersPoll). If a handler takes long unexpectedly, a watchdog thread takes over the polling; it is active only
// while there are calls. All threads of an idle server sleep.
//
// A client that sends one call after another, each when it has the answer to the last, is latency-bound: most of the
// time of a small call is spent on waking threads. While such a conversation goes on (call_rhythm.h), the polling
// thread busy-waits on the queue instead of sleeping. It goes back to sleep when no call arrives within the window,
// when a call is not answered immediately, when another client calls, and when another thread needs the processor.
#ifndef WEIR_DISTRIBUTED_CALL_QUEUE_INTERNAL_H_
#define WEIR_DISTRIBUTED_CALL_QUEUE_INTERNAL_H_

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/distributed/call_rhythm.h"

namespace weir {

// Thread-safe.
class CallQueue {
 public:
  // The tag of an operation on the queue. `Happen` is called once, when the operation has completed; `ok` is gRPC's.
  class Event {
   public:
    virtual void Happen(bool ok) = 0;

   protected:
    ~Event() = default;
  };

  // `stay_awake` is how long to busy-wait for the next call of a latency-bound client; zero: never.
  CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, int num_threads, absl::Duration stay_awake);
  // Waits until every operation has completed. REQUIRES: no new operations are started.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  grpc::ServerCompletionQueue* queue() { return queue_.get(); }

  // Must be called by a handler that is likely to take long from now on. Does nothing while the thread busy-waits.
  void LetOthersPoll();
  // Whether the event that this thread handles was already queued when the previous handler returned.
  bool CameAtOnce() const;
  // Must be called before and after a call is served that may belong to a latency-bound conversation, in the event that
  // brought it. `client` is the same for all calls of a connection, `at_once` is CameAtOnce() of the call's first
  // event. `answered`: the call has been answered already.
  void BeginCall(size_t client, bool at_once);
  void EndCall(bool answered);
  // From now on, no thread busy-waits.
  void StopStaying();

  bool may_stay() const { return window_ > CallRhythm::Clock::duration::zero(); }
  // The number of calls for which a thread was busy-waiting.
  int64_t num_awaited_calls() const { return num_awaited_calls_.load(std::memory_order_relaxed); }

 private:
  using Clock = CallRhythm::Clock;

  void Work();
  // False if the queue has ended.
  bool AwaitTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Poll(int64_t turn);
  // Must be called before and after an event, and after a poll that found none.
  void BeginEvent(Clock::time_point now);
  bool GoOn(int64_t turn, Clock::time_point now, bool* stays);  // false: another thread's turn

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  const Clock::duration window_;
  std::atomic<int64_t> num_awaited_calls_{0};

  absl::Mutex mu_;
  absl::CondVar changed_;
  int64_t turn_ ABSL_GUARDED_BY(mu_) = 0;      // incremented when a thread begins or ends to poll
  bool polled_ ABSL_GUARDED_BY(mu_) = false;   // a thread is polling
  bool working_ ABSL_GUARDED_BY(mu_) = false;  // that thread is handling an event
  Clock::time_point last_event_ ABSL_GUARDED_BY(mu_);
  bool busy_ ABSL_GUARDED_BY(mu_) = false;         // there were events recently, so the polling thread is watched
  bool watched_ ABSL_GUARDED_BY(mu_) = false;      // a thread is watching
  bool stays_ ABSL_GUARDED_BY(mu_) = false;        // the polling thread busy-waits
  int64_t calls_before_ ABSL_GUARDED_BY(mu_) = 0;  // num_awaited_calls_ when it began to do so
  CallRhythm rhythm_ ABSL_GUARDED_BY(mu_);
  bool stop_staying_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_CALL_QUEUE_INTERNAL_H_
