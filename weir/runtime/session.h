// Session: a graph that can be extended, and steps that execute parts of it.
//
// Run(feeds, fetches, targets) executes the nodes that the fetches and targets depend on; a fed tensor replaces the
// output of the node it names. A signature (the names, not the values) is compiled once and cached. Any number of
// threads may run steps concurrently; the steps share variables, queues and all other resources, and each step sees the
// graph as it was when the step began.
//
// A session runs in this process, unless SessionOptions names a target: then the server at that address runs it.
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
#include "weir/base/export.h"
#include "weir/framework/device.h"
#include "weir/passes/placer_kind.h"
#include "weir/passes/recompute_options.h"
#include "weir/runtime/environment.h"
#include "weir/runtime/step_report.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

class ConfigProto;  // wire format
class CostTable;
class Graph;
class GraphDef;  // wire format
class RemoteTasks;
class Rendezvous;

enum class Toggle { kDefault, kOn, kOff };

// Which graph rewrites a session applies; kDefault means on. `disable_all` switches off all of them except two:
// functions are inlined unless `inline_functions` is kOff, and If, Case and While are always lowered to Switch, Merge
// and loops.
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
  // "grpc://host:port" of a server that speaks TensorFlow's session protocol; the session then uses the tasks and
  // devices of that server's cluster. Empty: the session uses this process.
  std::string target;
  absl::Duration connect_timeout = absl::Minutes(5);  // for the target and the tasks of its cluster to answer
  // For a target with TLS, as PEM texts: the certificate authority to trust, and the client certificate and key to
  // present.
  std::string tls_root;
  std::string tls_certificate;
  std::string tls_key;

  // How many threads run operations concurrently, and how many share the loops of one operation. 0: one for each
  // processor that the process may use (base/processors.h). inter_op_threads < 0: steps run on the calling thread only.
  int inter_op_threads = 0;
  int intra_op_threads = 0;
  bool own_threads = false;                 // the session has its own pools, not the environment's
  std::map<std::string, int> device_count;  // the maximum number of devices, by device type
  GpuOptions gpu;                           // for the GPUs of this process, if no session has started them yet
  std::vector<std::string> device_filters;
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  bool spread_nodes = false;  // see PlacementOptions::spread
  // How to choose a device for a node that several devices could run, and the costs measured in earlier steps (may be
  // null).
  PlacerKind placer = PlacerKind::kDefault;
  std::shared_ptr<const CostTable> costs;
  // Send float tensors to other tasks as bfloat16: half the bytes, but 8 significant bits instead of 24.
  bool lossy_transfers = false;
  // Request tensors from other devices shortly before they are needed instead of when the step starts
  // (passes/recv_schedule.h).
  bool schedule_recvs = false;
  bool isolate_state = false;  // the session has its own resources, which are destroyed with it
  // If not null, the session uses these as its own resources, so that the caller can inspect its state. Implies
  // isolate_state.
  std::shared_ptr<ResourceManager> state;
  bool deterministic = false;  // the results of a step do not depend on the number of threads
  // Up to this many steps may be in flight: a step that fetches nothing returns as soon as its work is enqueued on the
  // device, so that the host runs ahead of the device. An error on the device is then reported by a later step. 0:
  // every step waits for its work.
  int pipelined_steps = 0;
  // kBFloat16 or kHalf: in the parts of steps on devices with memory of their own, matrix products, convolutions and
  // the operations between them run in this type (passes/mixed_precision.h). Variables and their updates stay in
  // float32. Off by default. The second option does the same for the host.
  DType mixed_precision = DType::kInvalid;
  DType host_mixed_precision = DType::kInvalid;
  // What the backward pass computes again instead of keeping it: less memory for more time. Results do not change.
  RecomputeOptions recompute;
  absl::Duration operation_timeout = absl::InfiniteDuration();  // default for every step
  // How long Close waits for steps whose kernels do not react to cancellation.
  absl::Duration close_timeout = absl::Minutes(1);
  RewriteOptions rewrites;
  // Put a cost graph into the report of every n-th step of a signature, not counting the first
  // `build_cost_model_after` steps; 0: never.
  int64_t build_cost_model = 0;
  int64_t build_cost_model_after = 0;
  // Larger graphs are rejected with RESOURCE_EXHAUSTED.
  int64_t max_graph_nodes = 50'000'000;

  // Threads, device filters, placement, state and rewrites are taken from the config, even where it has default values.
  // All other options come from `defaults`; so do the step timeout if the config sets none, and the options for
  // transfers that the config does not switch on. The placer is chosen by an entry "weir_placer" with a parameter
  // "placer" in graph_options.rewrite_options.custom_optimizers; INVALID_ARGUMENT if no placer has that name.
  static StatusOr<SessionOptions> FromConfig(const ConfigProto& config, const SessionOptions& defaults);
  // Writes the options that are sent to a server: all except target, spread_nodes, costs, deterministic, close_timeout
  // and max_graph_nodes.
  void ToConfig(ConfigProto* config) const;
};

enum class TraceLevel { kNone = 0, kSoftware = 1, kHardware = 2, kFull = 3 };

struct StepOptions {
  TraceLevel trace = TraceLevel::kNone;
  absl::Duration timeout = absl::InfiniteDuration();
  bool partition_graphs = false;                // put the partition graphs into the report
  bool in_caller_thread = false;                // inter_op_thread_pool = -1
  CancellationManager* cancellation = nullptr;  // cancels the step from outside; must outlive it
};

using Feed = std::pair<std::string, Tensor>;

class Session {
 public:
  using RunDone = std::function<void(Status, std::vector<Tensor>)>;

  // Uses the devices and kernels of the environment, unless the options name a target. With `remote`, steps also use
  // the devices of other tasks (remote.h).
  static StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<Environment> environment,
                                                   SessionOptions options = {},
                                                   std::shared_ptr<RemoteTasks> remote = nullptr);
  // Closes the session and waits up to `close_timeout` for running steps to end. Steps that take longer keep what they
  // use alive until they end.
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Adds nodes; after an error the graph is unchanged. ExtendBytes takes a serialized GraphDef.
  virtual Status Extend(const GraphDef& def) = 0;
  Status ExtendBytes(std::string_view graph_def);
  virtual Status Extend(const Graph& graph);
  virtual Status Extend(Graph&& graph);  // moves the nodes instead of copying them if the session has none yet
  // The number of successful Extends that added nodes or functions.
  virtual int64_t graph_version() const = 0;

  // Runs one step. The outputs are in the order of the fetches.
  Status Run(std::span<const Feed> feeds, std::span<const std::string> fetches, std::span<const std::string> targets,
             std::vector<Tensor>* outputs);
  virtual Status Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                     std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report);
  // Like Run, but blocks no thread while the step waits. `done` may be called before RunAsync returns. `report` (may be
  // null) must outlive the call of `done`.
  virtual void RunAsync(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                        std::span<const std::string> targets, StepReport* report, RunDone done) = 0;

  // A precompiled signature: running it skips the lookup by name. Each connection feeds a fetched tensor back into the
  // graph.
  using Callable = int64_t;
  struct CallableSpec {
    std::vector<std::string> feeds;
    std::vector<std::string> fetches;
    std::vector<std::string> targets;
    std::vector<std::pair<std::string, std::string>> connections;  // from tensor, to tensor
    StepOptions options;
  };
  virtual StatusOr<Callable> MakeCallable(const CallableSpec& spec) = 0;
  // Feeds are given by position. INVALID_ARGUMENT if the handle is unknown or the number of feeds is wrong.
  virtual Status RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                             StepReport* report = nullptr);
  virtual void RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                                StepReport* report, RunDone done) = 0;
  virtual Status ReleaseCallable(Callable callable) = 0;

  // One step spread over several calls. PartialRunSetup declares all feeds and fetches; each PartialRun supplies some
  // of the feeds and returns some of the fetches.
  virtual StatusOr<std::string> PartialRunSetup(std::span<const std::string> feeds,
                                                std::span<const std::string> fetches,
                                                std::span<const std::string> targets) = 0;
  Status PartialRun(const std::string& handle, std::span<const Feed> feeds, std::span<const std::string> fetches,
                    std::vector<Tensor>* outputs);
  virtual void PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                               std::span<const std::string> fetches, RunDone done) = 0;

  // For workers: partitions of other sessions' steps. All nodes of a part are placed on devices of this task; Send and
  // Recv connect the part to the rest of its step. Parts share the session's stateful kernels and functions, but not
  // its graph. Only sessions that run in this process support parts.
  using Part = int64_t;
  virtual StatusOr<Part> AddPart(const GraphDef& def);
  // `done` receives no tensors: a part sends its results through the rendezvous. ABORTED if the part is unknown.
  virtual void RunPart(Part part, int64_t step_id, std::shared_ptr<Rendezvous> rendezvous, const StepOptions& options,
                       StepReport* report, std::function<void(Status)> done);
  virtual Status RemovePart(Part part);

  virtual const SessionOptions& options() const = 0;
  // Cancels all running steps and waits for them to end; all later calls fail with CANCELLED. DEADLINE_EXCEEDED, with
  // the names of the steps and of the nodes they wait for, if they do not end within `close_timeout`.
  virtual Status Close() = 0;
  // Like Close, but does not wait.
  virtual void StartClose(const Status& reason) = 0;
  // Empty if the target does not answer.
  virtual std::vector<DeviceInfo> ListDevices() const = 0;
  // The number of steps in flight.
  virtual int running_steps() const = 0;

 protected:
  Session() = default;
};

// Creates sessions that run in other processes.
class SessionConnector {
 public:
  virtual ~SessionConnector() = default;
  // Creates a session on the server at options.target.
  virtual StatusOr<std::unique_ptr<Session>> Connect(const SessionOptions& options) = 0;
  // Clears containers on the tasks of options.target that match options.device_filters.
  virtual Status Reset(const SessionOptions& options, std::span<const std::string> containers) = 0;
};

// Clears the named containers on all devices; without names, clears the default container.
void ResetContainers(Environment& environment, std::span<const std::string> containers);
// The same on the tasks of the options' target. Sessions that run there are closed.
Status ResetContainers(Environment& environment, const SessionOptions& options,
                       std::span<const std::string> containers);

}  // namespace weir

#endif  // WEIR_RUNTIME_SESSION_H_
