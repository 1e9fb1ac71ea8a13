// The executor: runs an ExecutionPlan once.
//
// A PlanRun is the memory of one run: slots, pending counts and loop frames. Runs are pooled: every node resets its own
// count when it fires, so a finished run can be used again. Each thread that works for a run keeps a stack of ready
// nodes. The nodes that a finished node makes ready are pushed onto the stack and executed next; only expensive nodes
// are offered to the thread pool, if the thread has other work to do. The run ends when no thread and no asynchronous
// kernel works for it any more.
//
// Deadness: the output that a Switch did not choose is dead, and so is every node with a dead input. A dead node is not
// executed; it only propagates deadness to its consumers. A Merge runs when its first live input arrives. See frames.h
// for loops.
#ifndef WEIR_RUNTIME_EXECUTOR_H_
#define WEIR_RUNTIME_EXECUTOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "weir/base/mutex.h"
#include "weir/framework/rendezvous.h"
#include "weir/runtime/execution_plan.h"
#include "weir/runtime/frames.h"
#include "weir/runtime/step_report.h"

namespace weir {

class PlanRunPool;

// Receives the statistics of the nodes of a traced run. Thread-safe.
class StatsCollector {
 public:
  virtual ~StatsCollector() = default;
  virtual void Add(const std::string& device, NodeStats stats) = 0;
};

// Provides arguments and takes results while a run is in progress (partial runs). Thread-safe.
class StepExchange {
 public:
  virtual ~StepExchange() = default;
  // Calls `done` when argument `index` has arrived, or with an error: the reason of `cancellation` if that fires first.
  virtual void GetArg(int index, CancellationManager* cancellation, std::function<void(StatusOr<Tensor>)> done) = 0;
  virtual void PutRet(int index, StatusOr<Tensor> value) = 0;
};

class PlanRun {
 public:
  using Done = std::function<void(Status)>;

  explicit PlanRun(std::shared_ptr<const ExecutionPlan> plan);
  ~PlanRun();
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;

  // The inputs of a run. Everything it points to must live until `done` is called.
  struct Setup {
    StepContext context;           // `device` is set to the plan's
    std::span<const Tensor> args;  // in order; unused with `exchange`
    StatsCollector* stats = nullptr;
    StepExchange* exchange = nullptr;
    bool parallel = true;  // false: run all nodes on the calling thread
  };
  // Executes nodes on this thread until none is ready, then returns. The last thread to work for the run calls `done`
  // once, after the device has finished all work of the run. The results are then in rets().
  void Start(const Setup& setup, Done done);
  // Ends the run early with `status`, unless it has already failed. May be called by any thread.
  void Abort(const Status& status);

  std::vector<Tensor>& rets() { return rets_; }
  // The nodes whose asynchronous kernels are in flight: "'dequeue' (QueueDequeueV2)".
  std::vector<std::string> PendingNodes() const;
  // True if the finished run may be used again.
  bool reusable() const { return reusable_; }
  const ExecutionPlan& plan() const { return *plan_; }

 private:
  friend class Propagator;
  struct AsyncOp;
  using Ready = ReadyList;

  void Begin();
  void PushRoots(Ready& ready);
  // Runs of plans with recordings (executor_recording.cc). The run first receives all values from other plans. Then it
  // is replayed or recorded, or its nodes are executed as in any other run.
  void Receive();
  void TakeReceived(const ReadyNode& entry, Tensor tensor, bool dead, Ready& ready);
  void RunReceived(Ready& ready);
  Status Replay(const PlanRecording& recording);
  StatusOr<std::shared_ptr<const PlanRecording>> Record(const std::vector<ReceivedValue>& received);
  Status RecordNodes(const PlanRun& original, const std::vector<ReceivedValue>& received, PlanRecording* recording);
  void RecordSend(const ReadyNode& entry, Ready& ready);
  bool IsUpdate(const ReadyNode& entry) const;
  void Process(Ready& ready);
  void Offload(Ready& ready, size_t first_new);
  void EndActivity(int count = 1);
  void End();
  bool IsExpensive(const ReadyNode& entry) const;
  void RunShared();

  void Execute(const ReadyNode& entry, Ready& ready);
  void ExecuteDead(const ReadyNode& entry, Ready& ready);
  void ExecuteKernel(const ReadyNode& entry, Ready& ready);
  void RunKernel(const ReadyNode& entry, Slot* outputs, Ready& ready);
  void ExecuteAsync(const ReadyNode& entry, Ready& ready);
  void ExecuteArg(const ReadyNode& entry, Ready& ready);
  void ExecuteRetval(const ReadyNode& entry, Ready& ready);
  void ExecuteSwitch(const ReadyNode& entry, Ready& ready);
  void ExecuteMerge(const ReadyNode& entry, Ready& ready);
  void ExecuteSend(const ReadyNode& entry, Ready& ready);
  void ExecuteRecv(const ReadyNode& entry, Ready& ready);
  static std::string KeyIn(const TransferKey& key, const Iteration& iteration);
  void StartAsync(AsyncOp* op);
  void ReturnAsync(AsyncOp* op, Ready& ready);
  void CompleteAsync(AsyncOp* op, Status status);
  void Resume(AsyncOp* op);
  void FinishAsync(AsyncOp* op, Ready& ready);

  // Replaces references by their values, or checks that they have one.
  Status ResolveRefs(const PlanNode& node, Slot* inputs);
  Status CopyRefResults();
  Status SendLast();
  Status CheckOutputs(const PlanNode& node, const Slot* outputs) const;
  void ClearInputs(const PlanNode& node, Slot* inputs);
  void Fail(const PlanNode& node, const Status& status);
  void Record(const PlanNode& node, int64_t scheduled_ns, int64_t start_ns, int64_t op_end_ns, const Slot* outputs);
  NodeStats Describe(const PlanNode& node, int64_t scheduled_ns, int64_t start_ns, int64_t op_end_ns,
                     const Slot* outputs) const;
  // Delivers the outputs to the consumers and accounts for the end of the node.
  void Finish(const ReadyNode& entry, bool dead, Slot* outputs, Ready& ready);

  const std::shared_ptr<const ExecutionPlan> plan_;
  StepContext context_;
  std::shared_ptr<DeviceRun> device_run_;  // null on the host
  std::span<const Tensor> args_;
  std::vector<Tensor> rets_;
  StatsCollector* stats_ = nullptr;
  StepExchange* exchange_ = nullptr;
  bool parallel_ = true;
  bool measure_ = false;
  bool is_receiving_ = false;  // still receiving, before the nodes of a plan with recordings run
  bool is_recording_ = false;
  bool reusable_ = true;
  Done done_;

  Iteration root_;
  Propagator loops_;
  std::vector<Tensor> static_by_slot_;   // empty if the plan has none
  std::vector<ReceivedValue> received_;  // by transfer; empty if the plan has no recordings
  std::atomic<int> missing_{0};          // how many of them have not arrived
  std::vector<PlanRecording::Sent> recorded_sends_;
  // Nodes of a recorded run that change variables. They run last, when nothing else holds the old values.
  std::vector<ReadyNode> updates_;
  std::vector<bool> may_update_;  // by node
  std::atomic<int> active_{0};
  std::atomic<bool> stopped_{false};

  mutable FastMutex mu_;
  Status status_ ABSL_GUARDED_BY(mu_);
  std::vector<ReadyNode> shared_ ABSL_GUARDED_BY(mu_);  // offered to the pool
  std::vector<AsyncOp*> waiting_ ABSL_GUARDED_BY(mu_);
  std::vector<std::pair<int, RefPtr<RefCell>>>
      ret_refs_;  // results that are references; guarded by mu_ while the run goes on
  std::vector<std::pair<std::string, Slot>> last_sends_;  // by key, sent at the end of the run; guarded as ret_refs_
};

// The idle runs of one plan. Thread-safe.
class PlanRunPool {
 public:
  explicit PlanRunPool(std::shared_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {}
  std::unique_ptr<PlanRun> Acquire();
  void Release(std::unique_ptr<PlanRun> run);
  const ExecutionPlan& plan() const { return *plan_; }

 private:
  const std::shared_ptr<const ExecutionPlan> plan_;
  FastMutex mu_;
  std::vector<std::unique_ptr<PlanRun>> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_EXECUTOR_H_
