// Coordinator: threads that work until one of them asks all to stop. And queue runners: threads that keep a queue of
// the graph filled.
//
//   Coordinator coordinator;
//   StartQueueRunner(*session, coordinator, MakeQueueRunner(root, queue, enqueue, 4));
//   while (!coordinator.ShouldStop()) { ... session->Run(...) ... }
//   coordinator.RequestStop();
//   WEIR_RETURN_IF_ERROR(coordinator.Join());
#ifndef WEIR_CLIENT_COORDINATOR_H_
#define WEIR_CLIENT_COORDINATOR_H_

#include <functional>
#include <list>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/base/export.h"
#include "weir/client/client_session.h"

namespace WEIR_PUBLIC weir {

// Thread-safe.
class Coordinator {
 public:
  Coordinator() = default;
  ~Coordinator();  // asks to stop and joins
  Coordinator(const Coordinator&) = delete;

  // Runs `body` in a thread. An error that it returns asks all to stop; OUT_OF_RANGE, the end of data, does too but is
  // no error.
  void Start(std::function<Status()> body);
  bool ShouldStop() const;
  // The first error that is given counts.
  void RequestStop(Status error = OkStatus());
  // False if nobody has asked for it within this time.
  bool WaitForStop(absl::Duration timeout = absl::InfiniteDuration());
  // Called once somebody has asked to stop, in that thread; at once if that was before. For what ends other threads'
  // waits.
  void OnStop(std::function<void()> callback);
  // Waits until all threads have ended; gives the first error. REQUIRES: not one of its threads.
  Status Join();

 private:
  mutable absl::Mutex mu_;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  Status error_ ABSL_GUARDED_BY(mu_);
  std::vector<std::function<void()>> callbacks_ ABSL_GUARDED_BY(mu_);
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mu_);
};

struct QueueRunner {
  std::vector<Operation> enqueue;  // one a thread
  Operation close;                 // when all threads have come to the end of their data
  Operation cancel;                // when the coordinator stops: also ends what waits for room
};
// `enqueue` in so many threads at once. `queue` is a handle (FIFOQueueV2 ...).
QueueRunner MakeQueueRunner(const Scope& scope, const Output& queue, const Operation& enqueue, int threads = 1);

// Runs the enqueue operations again and again, until they end with OUT_OF_RANGE, fail or the coordinator stops.
// REQUIRES: the session outlives the coordinator's threads.
void StartQueueRunner(ClientSession& session, Coordinator& coordinator, const QueueRunner& runner);

}  // namespace weir

#endif  // WEIR_CLIENT_COORDINATOR_H_
