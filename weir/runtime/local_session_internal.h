// Private to the runtime: LocalSession, a session that runs in this process.
//
// Ownership: the owner of the session and every step in flight hold a reference to it. The owner's reference is
// `self_`, because the public interface hands out a std::unique_ptr<Session>: deleting that pointer closes the session
// and drops the reference (see `operator delete`), and whoever drops the last reference destroys the session. So a step
// that does not react to its cancellation can end after its session was deleted.
//
// local_session.cc creates, extends and closes sessions, local_session_run.cc runs steps, session_compile.cc turns a
// signature into plans, partial_run.cc and session_parts.cc are about partial runs and about parts of other sessions'
// steps.
#ifndef WEIR_RUNTIME_LOCAL_SESSION_INTERNAL_H_
#define WEIR_RUNTIME_LOCAL_SESSION_INTERNAL_H_

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "weir/framework/constant_taker.h"
#include "weir/graph/function_library.h"
#include "weir/graph/graph.h"
#include "weir/passes/prune.h"
#include "weir/runtime/function_runtime.h"
#include "weir/runtime/graph_compiler.h"
#include "weir/runtime/session.h"
#include "weir/runtime/session_parts.h"
#include "weir/runtime/step.h"

namespace weir {

class PartialRunState;

class LocalSession final : public Session, public std::enable_shared_from_this<LocalSession> {
 public:
  static StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<Environment> environment, SessionOptions options,
                                                   std::shared_ptr<RemoteTasks> remote);
  // For Create, which must call Init before anything else.
  LocalSession(std::shared_ptr<Environment> environment, SessionOptions options, std::shared_ptr<RemoteTasks> remote);
  ~LocalSession() override;
  // Closes the session and drops the owner's reference. If steps do not end within `close_timeout`, a thread waits for
  // them and destroys the session then.
  static void operator delete(LocalSession* session, std::destroying_delete_t);

  Status Extend(const GraphDef& def) override;
  Status Extend(const Graph& graph) override;
  Status Extend(Graph&& graph) override;
  int64_t graph_version() const override;

  Status Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
             std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report) override;
  void RunAsync(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                std::span<const std::string> targets, StepReport* report, RunDone done) override;

  StatusOr<Callable> MakeCallable(const CallableSpec& spec) override;
  Status RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                     StepReport* report) override;
  void RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                        StepReport* report, RunDone done) override;
  Status ReleaseCallable(Callable callable) override;

  StatusOr<std::string> PartialRunSetup(std::span<const std::string> feeds, std::span<const std::string> fetches,
                                        std::span<const std::string> targets) override;
  void PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                       std::span<const std::string> fetches, RunDone done) override;

  StatusOr<Part> AddPart(const GraphDef& def) override;
  void RunPart(Part part, int64_t step_id, std::shared_ptr<Rendezvous> rendezvous, const StepOptions& options,
               StepReport* report, std::function<void(Status)> done) override;
  Status RemovePart(Part part) override;

  const SessionOptions& options() const override { return options_; }
  Status Close() override;
  void StartClose(const Status& reason) override;
  std::vector<DeviceInfo> ListDevices() const override;
  int running_steps() const override { return steps_->size(); }

 private:
  // The positions of a caller's fetches among the results of the compiled step.
  struct FetchOrder {
    std::vector<int> positions;
    bool is_plain = true;  // 0, 1, 2 ...
  };
  // A signature as a caller wrote it: the names in any order, fetches possibly repeated.
  struct Signature {
    std::shared_ptr<CompiledStep> compiled;
    std::vector<int> feed_positions;  // position of feed i in the compiled step
    FetchOrder order;
  };
  struct CallableEntry {
    std::shared_ptr<CompiledStep> compiled;
    StepOptions options;
    size_t num_feeds = 0;
    FetchOrder order;
  };
  // A step that is ready to start.
  struct ReadyStep {
    std::shared_ptr<CompiledStep> compiled;
    std::unique_ptr<Step> step;
    Step::Config config;
  };
  using Connections = std::vector<std::pair<std::string, std::string>>;
  // Whether a compiled step may rely on the shapes that placeholders declare.
  enum class FeedShapes { kAsDeclared, kAny };

  Status Init();
  Status CheckRoomFor(int64_t added) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mu_);

  StatusOr<const Signature*> FindSignature(std::span<const Feed> feeds, std::span<const std::string> fetches,
                                           std::span<const std::string> targets);
  StatusOr<std::shared_ptr<const CallableEntry>> FindCallable(Callable callable, std::span<const Tensor> feeds) const;
  // Puts the feeds into the order of the compiled step. INVALID_ARGUMENT if a type is wrong.
  Status OrderFeeds(const Signature& signature, std::span<const Feed> feeds, std::vector<Tensor>* ordered) const;
  // Gets a step ready: its memory, its configuration and its feeds (`fill` writes them in the step's order). Switches
  // to the step compiled for unknown shapes if the shape of a feed differs from the declared one.
  Status Prepare(const StepOptions& options, StepReport* report, const std::shared_ptr<CompiledStep>& compiled,
                 ReadyStep* ready, absl::FunctionRef<Status(std::vector<Tensor>*)> fill);
  Step::Config MakeConfig(const StepOptions& options, StepReport* report);
  // Starts a step; with `detach`, on a thread of the pool if the last start took long.
  void StartStep(ReadyStep ready, bool detach, Step::Done done);
  // Starts a step and records for how long that occupied the thread.
  static void StartTimed(ReadyStep ready, Step::Done done);
  // Run the step and wait for it, or call `done` when it has ended.
  Status RunAndWait(ReadyStep ready, const FetchOrder& order, std::vector<Tensor>* outputs);
  void RunDetached(ReadyStep ready, std::shared_ptr<const FetchOrder> order, RunDone done);

  StatusOr<std::shared_ptr<CompiledStep>> Compile(const StepSignature& signature, const Connections& connections,
                                                  bool late_args);
  StatusOr<std::shared_ptr<CompiledStep>> CompileGraph(const StepSignature& signature, const Connections& connections,
                                                       bool late_args, FeedShapes shapes);
  // The subgraph that a signature needs, with the connections made.
  StatusOr<Graph> PrepareGraph(const StepSignature& signature, const Connections& connections, FeedShapes shapes);
  // Compiles the partitions of this task into plans and registers the others with their tasks.
  Status CompileParts(const std::vector<DeviceGraph>& partitions, bool late_args, CompiledStep* compiled);
  // A part of another session's step (session_parts.h).
  StatusOr<std::shared_ptr<CompiledStep>> CompilePart(const GraphDef& def);
  // Releases the constants of the session's graph of which the kernels of the plan keep packed copies.
  void GiveUpTaken(const Graph& compiled, const ExecutionPlan& plan);
  // Assigns the nodes that make handles to the devices where their state lives.
  void SendHome(Graph* graph);
  // Unpacks such constants again in a copy of a part of the session's graph.
  Status RestoreTaken(Graph* graph) const;

  void DropPartialRun(const std::string& handle);

  std::shared_ptr<LocalSession> self_;  // the owner's reference

  const std::shared_ptr<Environment> environment_;
  const SessionOptions options_;
  const std::string handle_;                        // distinguishes the tensors that sessions keep
  const std::shared_ptr<RemoteTasks> remote_;       // null if there is only this task
  std::shared_ptr<ResourceManager> own_resources_;  // null if state is shared with other sessions
  DeviceSet devices_;
  std::unique_ptr<ThreadPool> own_inter_op_;
  std::unique_ptr<ThreadPool> own_intra_op_;
  ThreadPool* inter_op_ = nullptr;
  ThreadPool* intra_op_ = nullptr;
  std::unique_ptr<LocalFunctionRuntime> functions_;
  std::unique_ptr<GraphCompiler> compiler_;
  std::unique_ptr<KernelCache> kernels_;
  const std::shared_ptr<StepTable> steps_ = std::make_shared<StepTable>();

  mutable absl::Mutex graph_mu_;
  Graph graph_ ABSL_GUARDED_BY(graph_mu_);
  StringMap<TakenConstant> taken_ ABSL_GUARDED_BY(graph_mu_);  // by node name; absent in the graph
  int64_t version_ ABSL_GUARDED_BY(graph_mu_) = 0;
  // Where state lives (GraphCompiler::PlaceState), for the graph of version `homes_version_`. A home never changes.
  StringMap<std::string> homes_ ABSL_GUARDED_BY(graph_mu_);
  int64_t homes_version_ ABSL_GUARDED_BY(graph_mu_) = -1;

  absl::Mutex signatures_mu_;
  StringMap<std::unique_ptr<Signature>> signatures_ ABSL_GUARDED_BY(signatures_mu_);
  StringMap<std::shared_ptr<CompiledStep>> compiled_ ABSL_GUARDED_BY(signatures_mu_);

  mutable absl::Mutex callables_mu_;
  Callable next_callable_ ABSL_GUARDED_BY(callables_mu_) = 0;
  absl::flat_hash_map<Callable, std::shared_ptr<const CallableEntry>> callables_ ABSL_GUARDED_BY(callables_mu_);

  absl::Mutex partial_mu_;
  int64_t next_partial_ ABSL_GUARDED_BY(partial_mu_) = 0;
  StringMap<std::shared_ptr<PartialRunState>> partial_runs_ ABSL_GUARDED_BY(partial_mu_);

  SessionParts parts_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_LOCAL_SESSION_INTERNAL_H_
