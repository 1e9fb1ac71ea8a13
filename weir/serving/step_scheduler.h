// StepScheduler: decides when requests run, and which of them run as one batch.
//
// A model server has few slots for concurrent steps, because each step can use all cores. A request that finds a free
// slot runs immediately, on the thread that received it. Otherwise it waits in the queue of its signature. A thread
// whose step has ended takes the next batch: all compatible requests of one queue. So requests never wait for others
// while the machine is idle, and batches grow with the load. Alternatively, TensorFlow Serving's parameters
// (BatchOptions) can be used; with a timeout, requests then wait for others even if slots are free.
//
// Fairness: each model has a clock that advances by the duration of its steps. After priorities, the model whose clock
// is furthest behind goes first. Overload: a queue is bounded by its number of rows, and by the estimated time to
// process it; requests beyond that are rejected immediately.
//
// If a batch fails, its requests are repeated one by one, so that a bad request only fails by itself.
#ifndef WEIR_SERVING_STEP_SCHEDULER_H_
#define WEIR_SERVING_STEP_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/runtime/session.h"
#include "weir/serving/metrics.h"
#include "weir/tensor/tensor.h"

namespace weir {

struct BatchOptions {
  // False: TensorFlow Serving's rules. A request with more rows than max_batch_size is INVALID_ARGUMENT, a full queue
  // UNAVAILABLE, and all signatures are batched. True: a large request runs by itself, a full queue is
  // RESOURCE_EXHAUSTED, and only signatures with independent rows are batched.
  bool adaptive = true;
  bool merge = true;  // false: never batch requests
  int64_t max_batch_size = 128;
  absl::Duration timeout;  // how long the oldest request of a queue may wait for others
  int64_t max_enqueued_batches = 10;
  std::vector<int64_t> allowed_sizes;  // a batch is padded to the next of these sizes
  bool pad = false;                    // pad inputs whose other dimensions differ
  bool split_large = false;            // split requests with more than max_batch_size rows
  // Adaptive only: limits batches and queues so that a request does not take longer than this.
  absl::Duration target_latency = absl::InfiniteDuration();
  int64_t rows_per_step() const { return max_execution_size > 0 ? max_execution_size : max_batch_size; }
  int64_t max_execution_size = 0;  // if > 0, the maximum number of rows per step; larger requests are split
};

enum class Priority { kLow = 0, kNormal = 1, kHigh = 2 };

// Thread-safe.
class StepScheduler {
 public:
  using Done = std::function<void(Status, std::vector<Tensor>)>;
  // Runs a step; `report` may be null.
  using Run = std::function<Status(const StepOptions&, std::span<const Tensor>, std::vector<Tensor>*, StepReport*)>;

  struct Job {
    std::vector<Tensor> inputs;
    Priority priority = Priority::kNormal;
    absl::Time deadline = absl::InfiniteFuture();
    CancellationManager* cancellation = nullptr;  // may be null; must live until `done` is called
    StepReport* report = nullptr;                 // if not null, the step is traced and not batched
    bool at_once = false;  // run on the calling thread immediately, ignoring slots and queues: for warm-up requests
    Done done;
    // Private to the scheduler.
    int64_t rows = 0;
    absl::Time since;
  };

  // State that the queues of one model share.
  struct Share {
    double weight = 1;
    double clock = 0;  // seconds; guarded by the scheduler
  };

  struct QueueOptions {
    std::string model;
    std::string version;
    std::shared_ptr<Share> share;
    BatchOptions batching;
    bool rows_are_independent = false;
    ServingMetrics::Histogram* wait = nullptr;  // microseconds until a job's step starts; may be null
    Run run;
  };
  class Queue;

  // `slots`: the number of concurrent steps.
  StepScheduler(int slots, ServingMetrics* metrics);
  // REQUIRES: no more jobs are submitted. Waits for running jobs; waiting ones end with CANCELLED.
  ~StepScheduler();

  std::shared_ptr<Queue> MakeQueue(QueueOptions options);
  // May run the job and call its `done` before Submit returns.
  void Submit(const std::shared_ptr<Queue>& queue, Job job);

  int slots() const { return slots_; }
  int64_t num_waiting() const;

 private:
  using Batch = std::vector<Job>;
  Status Enter(const std::shared_ptr<Queue>& queue, Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckLoad(const Queue& queue, const Job& job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SubmitParts(const std::shared_ptr<Queue>& queue, Job job);
  // The queue whose turn it is; null if none is ready. Then `wake` is the time when one will be.
  std::shared_ptr<Queue> PickReady(absl::Time now, absl::Time* wake) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Batch TakeBatch(Queue& queue, absl::Time now, Batch* late) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Work();
  void RunBatch(Queue& queue, Batch batch);
  // True if all jobs have been answered.
  bool RunMerged(Queue& queue, Batch& batch);
  void RunAlone(Queue& queue, Job& job);
  void Took(Queue& queue, absl::Duration duration, int64_t rows);

  const int slots_;
  ServingMetrics* const metrics_;
  mutable absl::Mutex mu_;
  absl::CondVar changed_;
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::shared_ptr<Queue>> waiting_ ABSL_GUARDED_BY(mu_);  // queues that are not empty
  double clock_ ABSL_GUARDED_BY(mu_) = 0;                             // the clock of the model that ran last
  std::vector<std::thread> threads_;
};

}  // namespace weir

#endif  // WEIR_SERVING_STEP_SCHEDULER_H_
