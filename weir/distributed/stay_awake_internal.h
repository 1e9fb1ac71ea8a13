// StayAwake: a thread of gRPC's that does not sleep between the calls of a quick client.
//
// A client that sends a call, waits for the answer and sends the next spends most of a small call's time on threads
// that are woken: gRPC's thread that waits for the network, another of them that takes its place there before the call
// is even read, a third that hears that the answer is sent. While such a conversation goes on (call_rhythm.h), one
// thread asks gRPC's queue for the next event again and again instead, from within the reaction that ends a call, and
// runs what it gets. The queue's other threads are kept aside, each in such a reaction, too, or they would be the ones
// that wait for the network.
//
// It is bounded: the threads go back to gRPC when no call came within the window, when a call is not answered at once,
// when another client calls, too, when something else wants the processor, and once a second anyway.
// Those aside also look after the one that stays and go back if it is busy for long. An idle server has no thread here.
//
// gRPC's callback interface takes its events from one queue of the process that threads of its own read. Where a gRPC
// has no such threads, nobody stays. Only files of this folder include this header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_STAY_AWAKE_INTERNAL_H_
#define WEIR_DISTRIBUTED_STAY_AWAKE_INTERNAL_H_

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/distributed/call_rhythm.h"

namespace weir {

// The conversation of one server. Thread-safe.
class StayAwake {
 public:
  // For how long the next call is waited for; zero: not at all.
  explicit StayAwake(absl::Duration window);

  // Around the handler of a call, in gRPC's thread. `answered`: the handler gave the answer.
  void BeginCall(grpc_call* call);
  void EndCall(bool answered);
  // At the end of the last reaction of a call, whose events come from `queue`: returns at once, or stays.
  void AfterCall(grpc::CompletionQueue* queue);
  // Whoever stays goes soon, and nobody stays any more.
  void Stop();

  // Calls that a thread waited for awake.
  int64_t num_calls() const { return num_calls_.load(std::memory_order_relaxed); }

 private:
  bool IsQuick(CallRhythm::Clock::time_point now) const;
  void StayAside();
  void Poll(grpc_completion_queue* queue);

  const CallRhythm::Clock::duration window_;
  std::atomic<int64_t> num_calls_{0};
  mutable absl::Mutex mu_;
  CallRhythm rhythm_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_STAY_AWAKE_INTERNAL_H_
