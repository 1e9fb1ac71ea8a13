// Private to the session: a compiled signature and one step over it.
#ifndef WEIR_RUNTIME_STEP_H_
#define WEIR_RUNTIME_STEP_H_

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/mutex.h"
#include "weir/base/timer.h"
#include "weir/runtime/executor.h"
#include "weir/runtime/local_rendezvous.h"
#include "weir/runtime/remote.h"
#include "weir/runtime/session.h"

namespace weir {

class Step;
class StepTable;

// Steps that occupy their thread for less than this are not handed to another thread.
inline constexpr int64_t kShortStepNs = 100'000;

// A signature, compiled into one plan per device.
struct CompiledStep {
  std::vector<std::shared_ptr<const ExecutionPlan>> plans;
  std::vector<std::shared_ptr<RemotePart>> remote_parts;  // the partitions of other tasks
  std::vector<std::vector<int>> plan_rets;  // for each plan: which fetches it computes (its ret types are sparse)
  std::vector<DType> feed_types;
  std::vector<std::string> feed_names;
  std::vector<PartialShape> feed_shapes;  // as declared by placeholders; the compiled graph relies on them
  size_t num_fetches = 0;
  // How long the last step occupied the thread that started it; the maximum value before the first step.
  std::atomic<int64_t> last_start_ns{std::numeric_limits<int64_t>::max()};
  // The same for the local plans only, in steps with remote parts.
  std::atomic<int64_t> last_plans_ns{std::numeric_limits<int64_t>::max()};
  // The graphs that the plans were compiled from, serialized. Computed on demand, because few callers need them.
  std::function<std::vector<std::string>()> export_partitions;
  // The same graphs as a serialized CostGraphDef with the costs of a step.
  std::function<std::string(const std::vector<DeviceStats>&)> export_costs;
  std::atomic<int64_t> num_steps{0};  // so far; only counted if the session builds cost graphs
  // Compiles the same signature for feeds whose shapes differ from the declared ones.
  std::function<StatusOr<std::shared_ptr<CompiledStep>>()> compile_for_any_shape;

  // Whether the feeds have the declared shapes.
  bool Takes(std::span<const Tensor> feeds) const {
    for (size_t i = 0; i < feed_shapes.size(); ++i) {
      if (feed_shapes[i].has_rank() && !feed_shapes[i].IsCompatibleWith(feeds[i].shape())) return false;
    }
    return true;
  }
  // The result of compile_for_any_shape, computed once.
  StatusOr<std::shared_ptr<CompiledStep>> ForAnyShape();

  ~CompiledStep();
  // Returns an idle step, or a new one.
  std::unique_ptr<Step> Acquire();
  void Release(std::unique_ptr<Step> step);

 private:
  FastMutex mu_;
  std::vector<std::unique_ptr<Step>> free_ ABSL_GUARDED_BY(mu_);
  absl::Mutex for_any_shape_mu_;
  std::shared_ptr<CompiledStep> for_any_shape_ ABSL_GUARDED_BY(for_any_shape_mu_);
};

// Collects the statistics of all nodes of a step, by device.
class StepStatsCollector : public StatsCollector {
 public:
  void Add(const std::string& device, NodeStats stats) override;
  void MoveTo(StepReport* report);

 private:
  absl::Mutex mu_;
  std::vector<DeviceStats> devices_ ABSL_GUARDED_BY(mu_);
};

// One execution of a compiled step. It owns itself while it runs.
class Step {
 public:
  using Done = std::function<void(Status, std::vector<Tensor>)>;
  explicit Step(CompiledStep* compiled);
  ~Step();

  struct Config {
    StepContext context;  // without cancellation, step resources and rendezvous, which the step creates itself
    std::vector<Tensor> feeds;
    std::vector<Tensor> spare;  // a vector to reuse for the results
    absl::Duration timeout = absl::InfiniteDuration();
    CancellationManager* cancellation = nullptr;
    TraceLevel trace = TraceLevel::kNone;
    bool report_partition_graphs = false;
    bool report_costs = false;
    StepReport* report = nullptr;
    StepExchange* exchange = nullptr;
    RemoteTasks* remote = nullptr;           // null if no part is remote
    std::shared_ptr<Rendezvous> rendezvous;  // shared with other parts; null: the step creates one if it needs one
    bool parallel = true;
    StepTable* table = nullptr;
  };
  // Executes nodes on this thread until none is ready. Calls `done` once, after the step was returned to its pool.
  static void Start(std::unique_ptr<Step> step, Config config, Done done);

  // An empty vector for the next feeds that reuses the memory of the last ones.
  std::vector<Tensor> TakeFeedMemory() { return std::move(feed_memory_); }
  // A sentence for error messages that names the nodes that the step waits for.
  std::string DescribePending();
  const std::shared_ptr<CancellationManager>& cancellation() const { return cancellation_; }
  int64_t id() const { return config_.context.step_id; }

 private:
  friend class StepTable;
  void Run();
  Rendezvous* FindRendezvous();
  void StartPlans(PlanRun::Setup& setup);
  void StartRemoteParts();
  void OnPartDone(const std::shared_ptr<RemotePart>& part, RemoteOutcome outcome);
  void OnRunDone(const Status& status);
  void Finish();
  void ExpireAt(absl::Time deadline);

  CompiledStep* const compiled_;
  std::vector<std::unique_ptr<PlanRun>> runs_;
  Config config_;
  std::vector<Tensor> feed_memory_;
  bool accelerated_ = false;  // the step uses a device other than the host
  Done done_;
  std::shared_ptr<CancellationManager> cancellation_;
  CancellationManager::Token outer_token_ = CancellationManager::kNoToken;
  ResourceManager step_resources_;
  std::unique_ptr<LocalRendezvous> own_rendezvous_;
  Rendezvous* rendezvous_ = nullptr;  // own or shared; null if there is none
  std::unique_ptr<StepStatsCollector> stats_;
  Timer::Id timer_ = 0;
  std::atomic<int> remaining_{0};
  std::atomic<bool> failed_{false};
  FastMutex mu_;
  Status status_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> remote_stats_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> waiting_tasks_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<RemotePart>> parts_to_end_ ABSL_GUARDED_BY(mu_);  // whose tasks still keep state
  // Links of the table.
  Step* previous_ = nullptr;
  Step* next_ = nullptr;
};

// The steps of a session that are in flight. Thread-safe. It has shared ownership, because the deadline of a step may
// expire after the session is gone.
class StepTable : public std::enable_shared_from_this<StepTable> {
 public:
  // FAILED_PRECONDITION or CANCELLED if closed.
  Status Add(Step* step);
  void Remove(Step* step);
  // Cancels the step with that id; the error names the nodes it waits for. Does nothing if the step has ended.
  void Expire(Step* step, int64_t id, absl::Duration timeout);
  // Cancels all steps with `reason` and rejects later steps with `refusal`.
  void Close(const Status& reason, const Status& refusal);
  // Waits until all steps have ended. REQUIRES: closed. DEADLINE_EXCEEDED, with the nodes that the steps wait for, if
  // the timeout expires first.
  Status AwaitEmpty(absl::Duration timeout);
  int size() const;
  Status closed() const;

 private:
  mutable FastMutex mu_;
  Step* first_ ABSL_GUARDED_BY(mu_) = nullptr;
  int size_ ABSL_GUARDED_BY(mu_) = 0;
  std::atomic<bool> is_closed_{false};
  Status closed_ ABSL_GUARDED_BY(mu_);
  absl::Mutex empty_mu_;
  bool empty_ ABSL_GUARDED_BY(empty_mu_) = false;  // set once, after closing
};

}  // namespace weir

#endif  // WEIR_RUNTIME_STEP_H_
