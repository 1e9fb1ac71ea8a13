// GraphCompiler: turns a pruned graph into one graph per device, ready to be compiled into execution plans.
//
// Device-independent rewrites run first (passes/optimizer.h), then placement and partitioning, then the rewrites of
// each device on its partition (Environment::rewrites). Partitions for other tasks are sent unrewritten: each task
// rewrites its own, so that tasks with different devices or releases can work together. Sessions, the parts of steps
// that workers run, function bodies and compiled eager functions are all compiled here.
#ifndef WEIR_RUNTIME_GRAPH_COMPILER_H_
#define WEIR_RUNTIME_GRAPH_COMPILER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/graph/function_library.h"
#include "weir/graph/graph.h"
#include "weir/passes/partition.h"
#include "weir/passes/rewrite_context.h"
#include "weir/runtime/kernel_cache.h"
#include "weir/runtime/loop_work.h"
#include "weir/runtime/session.h"

namespace weir {

// The partition of a graph that one device runs.
struct DeviceGraph {
  Device* device;
  Graph graph;
};

// The devices that hold the arguments of a function's body, and where its results have to be.
struct BodyPlaces {
  std::vector<std::string> arguments;  // device names by index; empty or missing: the host
  bool results_stay = false;           // each result stays on the device that computes it; false: copied to the host
  auto operator<=>(const BodyPlaces&) const = default;
};

// Thread-safe.
class GraphCompiler {
 public:
  // Where to place nodes that request no device.
  enum class Preference { kAccelerators, kHost };

  // REQUIRES: `environment` and `intra_op` outlive the compiler. Only the options for placement, transfers and rewrites
  // are used. `functions` tells which ops are function calls.
  GraphCompiler(const Environment& environment, const DeviceSet& devices,
                std::shared_ptr<const FunctionLibrary> functions, ThreadPool* intra_op, SessionOptions options,
                Preference preference = Preference::kAccelerators);

  // Runs all phases. Constant folding uses kernels of `kernels`. With `late_args`, arguments arrive while the step
  // runs, so results must not be delayed until the end of the step.
  StatusOr<std::vector<DeviceGraph>> Compile(Graph graph, KernelCache& kernels, bool late_args = false) const;
  // For a graph that another task rewrote and placed: only partitions it and runs the rewrites of this task's devices.
  StatusOr<std::vector<DeviceGraph>> CompilePlaced(Graph graph) const;
  // For the body of a function, which runs in this task: requests for devices of other tasks are ignored.
  StatusOr<std::vector<DeviceGraph>> CompileBody(Graph graph, KernelCache& kernels,
                                                 const BodyPlaces& places = {}) const;

  // Where the state of a graph lives, by the name of the node that makes its handle: on a device that all of its users
  // in the whole graph can run on, so that every step finds it in the same place. Empty if there is only one memory.
  StatusOr<StringMap<std::string>> PlaceState(Graph whole) const;

  const DeviceSet& devices() const { return devices_; }
  // A compiler for function bodies that run outside of any step: on the host, unless they request another device.
  std::unique_ptr<GraphCompiler> ForDetachedCalls() const;

  // Whether there are devices that have their own memory.
  bool HasAccelerators() const;
  // The accelerator that holds a tensor, or the resource that the tensor is a handle of; null for the host.
  Device* HomeOf(const Tensor& tensor) const;

 private:
  Status Optimize(RewriteContext& context, KernelCache& kernels) const;
  Status RewriteForDevice(const Device& device, RewriteContext& context) const;
  Status Place(Graph* graph, const BodyPlaces& places = {}) const;
  void LeaveResults(Graph& graph) const;
  // Moves the graph out of the context.
  StatusOr<std::vector<DeviceGraph>> PlaceAndCut(RewriteContext& context, bool late_args,
                                                 const BodyPlaces& places = {}) const;
  StatusOr<std::vector<Partition>> Cut(RewriteContext& context, bool late_args) const;
  // The host device, if all nodes are on it; null otherwise.
  Device* OnlyHost(const Graph& graph) const;
  bool IsLossy(std::string_view from, std::string_view to) const;
  std::vector<std::string> SupportedDeviceTypes(const Node& node, LoopWork loop) const;
  bool IsDeviceWork(const Node& node) const;

  const Environment& environment_;
  const DeviceSet devices_;
  const std::shared_ptr<const FunctionLibrary> functions_;
  ThreadPool* const intra_op_;
  const SessionOptions options_;
  const Preference preference_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_GRAPH_COMPILER_H_
