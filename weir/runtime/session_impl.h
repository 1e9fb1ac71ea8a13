// Private to the session.
#ifndef WEIR_RUNTIME_SESSION_IMPL_H_
#define WEIR_RUNTIME_SESSION_IMPL_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "weir/framework/constant_taker.h"
#include "weir/graph/function_library.h"
#include "weir/graph/graph.h"
#include "weir/passes/prune.h"
#include "weir/runtime/function_runtime.h"
#include "weir/runtime/graph_compiler.h"
#include "weir/runtime/session.h"
#include "weir/runtime/step.h"

namespace weir {

class PartialRunState;

class Session::Impl : public std::enable_shared_from_this<Session::Impl> {
 public:
  // Where among a step's results the fetches of a caller are.
  struct FetchOrder {
    std::vector<int> positions;
    bool is_plain = true;  // 0, 1, 2 ...
  };
  // A signature as a caller wrote it: its names in any order, a fetch perhaps twice.
  struct Signature {
    std::shared_ptr<CompiledStep> compiled;
    std::vector<int> feed_positions;  // position of feed i in the compiled step
    FetchOrder order;
  };
  // A step that has all it needs to start.
  struct ReadyStep {
    std::shared_ptr<CompiledStep> compiled;
    std::unique_ptr<Step> step;
    Step::Config config;
  };

  Impl(std::shared_ptr<Environment> environment, SessionOptions options, std::shared_ptr<RemoteTasks> remote);
  ~Impl();
  Status Init();

  Status Extend(const GraphDef& def);
  Status Extend(const Graph& graph);
  Status Extend(Graph&& graph);
  int64_t graph_version() const;

  StatusOr<const Signature*> FindSignature(std::span<const Feed> feeds, std::span<const std::string> fetches,
                                           std::span<const std::string> targets);
  // Into the order of the compiled step. INVALID_ARGUMENT if a type is wrong.
  Status OrderFeeds(const Signature& signature, std::span<const Feed> feeds, std::vector<Tensor>* ordered) const;
  StatusOr<std::shared_ptr<CompiledStep>> Compile(const StepSignature& signature,
                                                  const std::vector<std::pair<std::string, std::string>>& connections,
                                                  bool late_args);
  // What every step begins with: its memory, its configuration, its feeds (`fill` puts them into the step's order), and
  // the form of the step that was compiled for feeds of any shape where they do not have the declared shapes.
  Status Prepare(const StepOptions& options, StepReport* report, const std::shared_ptr<CompiledStep>& compiled,
                 ReadyStep* ready, absl::FunctionRef<Status(std::vector<Tensor>*)> fill);
  // Starts a step; with `detach` in a thread of the pool.
  void StartStep(ReadyStep ready, bool detach, Step::Done done);

  struct CallableEntry {
    std::shared_ptr<CompiledStep> compiled;
    StepOptions options;
    size_t num_feeds = 0;
    FetchOrder order;
  };
  StatusOr<Callable> MakeCallable(const CallableSpec& spec);
  StatusOr<std::shared_ptr<const CallableEntry>> FindCallable(Callable callable, std::span<const Tensor> feeds) const;
  Status ReleaseCallable(Callable callable);

  // A part of another session's step (session_parts.h).
  StatusOr<std::shared_ptr<CompiledStep>> CompilePart(const GraphDef& def);

  StatusOr<std::string> PartialRunSetup(const StepSignature& signature);
  void PartialRun(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                  std::span<const std::string> fetches, RunDone done);
  void DropPartialRun(const std::string& handle);

  void Close(const Status& reason);
  StepTable& steps() { return *steps_; }
  const DeviceSet& devices() const { return devices_; }
  const SessionOptions& options() const { return options_; }

 private:
  // Whether feeds may be taken to have the shapes that their placeholders declare.
  enum class FeedShapes { kAsDeclared, kAny };
  Step::Config MakeConfig(const StepOptions& options, StepReport* report);
  // Starts a step and notes how long that kept the thread.
  static void StartTimed(ReadyStep ready, Step::Done done);
  Status CheckRoomFor(int64_t added) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mu_);
  using Connections = std::vector<std::pair<std::string, std::string>>;
  // The part of the graph that a signature needs, with the connections made.
  StatusOr<Graph> PrepareGraph(const StepSignature& signature, const Connections& connections, FeedShapes shapes) const;
  // Constants of the session's graph that kernels of a plan made from `compiled` keep from now on.
  void GiveUpTaken(const Graph& compiled, const ExecutionPlan& plan);
  // Brings those of a part of the session's graph back.
  Status RestoreTaken(Graph* graph) const;
  // Plans of what is in this task, and the registered parts of the others.
  Status CompileParts(const std::vector<DeviceGraph>& partitions, bool late_args, CompiledStep* compiled);
  StatusOr<std::shared_ptr<CompiledStep>> CompileGraph(const StepSignature& signature, const Connections& connections,
                                                       bool late_args, FeedShapes shapes);

  const std::shared_ptr<Environment> environment_;
  const SessionOptions options_;
  const std::string handle_;                        // tells this session's kept tensors from others'
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
  StringMap<TakenConstant> taken_ ABSL_GUARDED_BY(graph_mu_);  // by node; absent in the graph
  int64_t version_ ABSL_GUARDED_BY(graph_mu_) = 0;

  absl::Mutex signatures_mu_;
  StringMap<std::unique_ptr<Signature>> signatures_ ABSL_GUARDED_BY(signatures_mu_);
  StringMap<std::shared_ptr<CompiledStep>> compiled_ ABSL_GUARDED_BY(signatures_mu_);

  mutable absl::Mutex callables_mu_;
  Callable next_callable_ ABSL_GUARDED_BY(callables_mu_) = 0;
  absl::flat_hash_map<Callable, std::shared_ptr<const CallableEntry>> callables_ ABSL_GUARDED_BY(callables_mu_);

  absl::Mutex partial_mu_;
  int64_t next_partial_ ABSL_GUARDED_BY(partial_mu_) = 0;
  StringMap<std::shared_ptr<PartialRunState>> partial_runs_ ABSL_GUARDED_BY(partial_mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_SESSION_IMPL_H_
