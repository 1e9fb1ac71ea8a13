// Coordinator: stops a group of threads together as soon as one of them asks for it. Queue runners: threads that keep a
// queue of the graph filled.
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
  ~Coordinator();  // requests a stop and joins
  Coordinator(const Coordinator&) = delete;

  // Runs `body` on a thread. An error that it returns stops all threads; so does OUT_OF_RANGE (end of data), but that
  // is not reported as an error.
  void Start(std::function<Status()> body);
  bool ShouldStop() const;
  // The first error is kept.
  void RequestStop(Status error = OkStatus());
  // False if no stop was requested within this time.
  bool WaitForStop(absl::Duration timeout = absl::InfiniteDuration());
  // `callback` is called when a stop is requested, on the requesting thread; immediately if that has happened already.
  // For ending the waits of other threads.
  void OnStop(std::function<void()> callback);
  // Waits until all threads have ended and returns the first error. REQUIRES: not called on one of these threads.
  Status Join();

 private:
  mutable absl::Mutex mu_;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  Status error_ ABSL_GUARDED_BY(mu_);
  std::vector<std::function<void()>> callbacks_ ABSL_GUARDED_BY(mu_);
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mu_);
};

struct QueueRunner {
  std::vector<Operation> enqueue;  // one per thread
  Operation close;                 // runs when all threads have reached the end of their data
  Operation cancel;                // runs when the coordinator stops; also ends waits for free space
};
// Runs `enqueue` on this number of threads. `queue` is a handle (FIFOQueueV2 ...).
QueueRunner MakeQueueRunner(const Scope& scope, const Output& queue, const Operation& enqueue, int threads = 1);

// Runs the enqueue operations repeatedly until they return OUT_OF_RANGE, fail, or the coordinator stops. REQUIRES: the
// session outlives the coordinator's threads.
void StartQueueRunner(ClientSession& session, Coordinator& coordinator, const QueueRunner& runner);

}  // namespace weir

#endif  // WEIR_CLIENT_COORDINATOR_H_
