// Session: a graph that grows, and steps over parts of it.
//
// Run(feeds, fetches, targets) executes what the fetches and targets need, with the fed tensors in place of what would
// have made them. A signature (the names, not the values) is compiled once and cached. Any number of threads may run
// steps at once; they share variables, queues and every other resource, and each sees the graph as it was when it
// began.
//
// The session is this process's own, or, if SessionOptions names a target, one that the server there keeps.
#ifndef WEIR_RUNTIME_SESSION_H_
#define WEIR_RUNTIME_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/framework/device.h"
#include "weir/passes/placer_kind.h"
#include "weir/runtime/environment.h"
#include "weir/runtime/step_report.h"
#include "weir/tensor/tensor.h"

namespace weir {

class ConfigProto;  // wire format
class CostTable;
class Graph;
class GraphDef;  // wire format
class RemoteTasks;
class Rendezvous;

enum class Toggle { kDefault, kOn, kOff };

// Which graph rewrites a session does; kDefault is on. `disable_all` switches off all but two: functions are inlined
// unless that is off by itself, and If, Case and While always become Switch, Merge and loops.
struct RewriteOptions {
  bool disable_all = false;
  Toggle inline_functions = Toggle::kDefault;
  Toggle constant_folding = Toggle::kDefault;
  Toggle common_subexpressions = Toggle::kDefault;
  Toggle arithmetic = Toggle::kDefault;
  Toggle dependencies = Toggle::kDefault;
  Toggle fusion = Toggle::kDefault;
  int64_t max_folded_constant_bytes = 10 << 20;
};

struct SessionOptions {
  // "grpc://host:port" of a server that speaks TensorFlow's session protocol, whose tasks and devices the session uses
  // then; empty: this process's.
  std::string target;
  absl::Duration connect_timeout = absl::Minutes(5);  // until the target, and the tasks of its cluster, answer
  // For a target with TLS, as PEM texts: the certificate authority to trust, and the client certificate and key to
  // present.
  std::string tls_root;
  std::string tls_certificate;
  std::string tls_key;

  int inter_op_threads =
      0;  // 0: the process's shared pool, one thread per core; < 0: steps run in the caller's thread alone
  int intra_op_threads = 0;
  bool own_threads = false;                 // pools of this session's own
  std::map<std::string, int> device_count;  // at most so many devices of a type
  std::vector<std::string> device_filters;
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  bool spread_nodes = false;  // see PlacementOptions::spread
  // How a device is chosen where a node may be on several, and the measured costs of earlier steps; may be null.
  PlacerKind placer = PlacerKind::kDefault;
  std::shared_ptr<const CostTable> costs;
  // Floats go to other tasks as bfloat16, which halves the bytes and loses 16 of 24 significant bits.
  bool lossy_transfers = false;
  // Tensors of other devices are asked for when they will be needed, not at once (passes/recv_schedule.h).
  bool schedule_recvs = false;
  bool isolate_state = false;  // resources of this session's own, gone with it
  bool deterministic = false;  // what a step computes does not depend on the number of threads
  absl::Duration operation_timeout = absl::InfiniteDuration();  // default for every step
  // How long closing waits for steps whose kernels do not heed that they were cancelled.
  absl::Duration close_timeout = absl::Minutes(1);
  RewriteOptions rewrites;
  // Every so many steps of a signature, after the first `build_cost_model_after`, the report holds a cost graph; 0:
  // never.
  int64_t build_cost_model = 0;
  int64_t build_cost_model_after = 0;
  // Sizes beyond which a graph is refused with RESOURCE_EXHAUSTED.
  int64_t max_graph_nodes = 50'000'000;

  // The config decides threads, filters, placement, state and rewrites, also where it leaves them at their defaults.
  // Other options, the timeout of steps if the config has none, and what it does not switch on for transfers stay as in
  // `defaults`. A placer is named by an entry "weir_placer" of graph_options.rewrite_options.custom_optimizers,
  // parameter "placer"; INVALID_ARGUMENT if there is none of that name.
  static StatusOr<SessionOptions> FromConfig(const ConfigProto& config, const SessionOptions& defaults);
  // Writes what a server is told: all but the target itself, spread_nodes, costs, deterministic, close_timeout and
  // max_graph_nodes.
  void ToConfig(ConfigProto* config) const;
};

enum class TraceLevel { kNone = 0, kSoftware = 1, kHardware = 2, kFull = 3 };

struct StepOptions {
  TraceLevel trace = TraceLevel::kNone;
  absl::Duration timeout = absl::InfiniteDuration();
  bool partition_graphs = false;                // put them into the report
  bool in_caller_thread = false;                // inter_op_thread_pool = -1
  CancellationManager* cancellation = nullptr;  // cancels the step from outside; must outlive it
};

using Feed = std::pair<std::string, Tensor>;

class Session {
 public:
  using RunDone = std::function<void(Status, std::vector<Tensor>)>;

  // Devices and kernels are the environment's, unless the options name a target. With `remote` steps use other tasks'
  // devices too (remote.h).
  static StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<Environment> environment,
                                                   SessionOptions options = {},
                                                   std::shared_ptr<RemoteTasks> remote = nullptr);
  // Closes, and waits for running steps to end, at most for `close_timeout`; what steps still use then is freed when
  // they end.
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Adds nodes; on an error none. The bytes are a serialized GraphDef.
  virtual Status Extend(const GraphDef& def) = 0;
  Status ExtendBytes(std::string_view graph_def);
  virtual Status Extend(const Graph& graph);
  virtual Status Extend(Graph&& graph);  // takes the nodes over where the session has none yet
  // Counts the successful Extends that added something.
  virtual int64_t graph_version() const = 0;

  // One step. Outputs come in the order of the fetches.
  Status Run(std::span<const Feed> feeds, std::span<const std::string> fetches, std::span<const std::string> targets,
             std::vector<Tensor>* outputs);
  virtual Status Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                     std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report);
  // The same without holding a thread while the step waits; `done` may be called before this returns. `report` (may be
  // null) must live until then.
  virtual void RunAsync(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                        std::span<const std::string> targets, StepReport* report, RunDone done) = 0;

  // A signature made ready: running it skips the look-up by names. `connections` copy fetched tensors onto feeds.
  using Callable = int64_t;
  struct CallableSpec {
    std::vector<std::string> feeds;
    std::vector<std::string> fetches;
    std::vector<std::string> targets;
    std::vector<std::pair<std::string, std::string>> connections;  // from tensor, to tensor
    StepOptions options;
  };
  virtual StatusOr<Callable> MakeCallable(const CallableSpec& spec) = 0;
  // Feeds by position. INVALID_ARGUMENT if the handle is unknown or the number of feeds is wrong.
  virtual Status RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                             StepReport* report = nullptr);
  virtual void RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                                StepReport* report, RunDone done) = 0;
  virtual Status ReleaseCallable(Callable callable) = 0;

  // One step in several calls: each feeds some of the announced feeds and fetches some of the announced fetches.
  virtual StatusOr<std::string> PartialRunSetup(std::span<const std::string> feeds,
                                                std::span<const std::string> fetches,
                                                std::span<const std::string> targets) = 0;
  Status PartialRun(const std::string& handle, std::span<const Feed> feeds, std::span<const std::string> fetches,
                    std::vector<Tensor>* outputs);
  virtual void PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                               std::span<const std::string> fetches, RunDone done) = 0;

  // Parts of other sessions' steps, for a worker: graphs whose nodes have devices of this task and that are joined to
  // the rest of their step by Send and Recv. They share the session's stateful kernels and functions, not its graph.
  // Only sessions of this process have them.
  using Part = int64_t;
  virtual StatusOr<Part> AddPart(const GraphDef& def);
  // `done` gets no tensors: all that a part gives goes through the rendezvous. ABORTED if the part is unknown.
  virtual void RunPart(Part part, int64_t step_id, std::shared_ptr<Rendezvous> rendezvous, const StepOptions& options,
                       StepReport* report, std::function<void(Status)> done);
  virtual Status RemovePart(Part part);

  virtual const SessionOptions& options() const = 0;
  // Ends running steps with CANCELLED; every later call fails with it too. Waits for the steps to end;
  // DEADLINE_EXCEEDED, naming them and what they wait for, if they do not within `close_timeout`.
  virtual Status Close() = 0;
  // As Close, without waiting.
  virtual void StartClose(const Status& reason) = 0;
  // None if a target does not answer.
  virtual std::vector<DeviceInfo> ListDevices() const = 0;
  // Steps running now.
  virtual int running_steps() const = 0;

 protected:
  Session() = default;
  class Impl;  // of this process's sessions
};

// How an environment reaches sessions of other processes.
class SessionConnector {
 public:
  virtual ~SessionConnector() = default;
  // A session that the server at options.target keeps.
  virtual StatusOr<std::unique_ptr<Session>> Connect(const SessionOptions& options) = 0;
  // Empties containers of the tasks of options.target that options.device_filters allow.
  virtual Status Reset(const SessionOptions& options, std::span<const std::string> containers) = 0;
};

// Empties containers of all devices; none named: the one of resources that name none.
void ResetContainers(Environment& environment, std::span<const std::string> containers);
// The same where the options' target is; sessions that are there end.
Status ResetContainers(Environment& environment, const SessionOptions& options,
                       std::span<const std::string> containers);

}  // namespace weir

#endif  // WEIR_RUNTIME_SESSION_H_
