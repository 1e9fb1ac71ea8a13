// GraphCompiler: from a pruned graph to one graph for each device, ready to become execution plans.
//
// Rewrites that hold everywhere come first (passes/optimizer.h), then placement and cutting, then each device's own
// rewrites of its part (Environment::rewrites). Parts for other tasks are handed over as they were cut: each task
// rewrites its own, so tasks with other devices or releases can work together. Sessions, the parts of steps that
// workers run, function bodies and compiled eager functions all go this way.
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
#include "weir/runtime/session.h"

namespace weir {

// The part of a graph that one device runs.
struct DeviceGraph {
  Device* device;
  Graph graph;
};

// Thread-safe.
class GraphCompiler {
 public:
  // How nodes that ask for no device are placed.
  enum class Preference { kAccelerators, kHost };

  // REQUIRES: `environment` and `intra_op` outlive the compiler; of the options those of placing, transfers and
  // rewriting count. `functions` says which ops are calls.
  GraphCompiler(const Environment& environment, DeviceSet devices, std::shared_ptr<const FunctionLibrary> functions,
                ThreadPool* intra_op, SessionOptions options, Preference preference = Preference::kAccelerators);

  // The whole way. Constants are folded by kernels of `kernels`. With `late_args` arguments arrive while the step runs,
  // so no result may wait for the end of the step.
  StatusOr<std::vector<DeviceGraph>> Compile(Graph graph, KernelCache& kernels, bool late_args = false) const;
  // For a graph that was rewritten and placed elsewhere: only what this task's devices do with their parts.
  StatusOr<std::vector<DeviceGraph>> CompilePlaced(Graph graph) const;
  // For a function's body, which runs in this task: requests for devices that are not here are dropped.
  StatusOr<std::vector<DeviceGraph>> CompileBody(Graph graph, KernelCache& kernels) const;

  const DeviceSet& devices() const { return devices_; }
  // This compiler for bodies that run apart from any step, on the host unless they ask for another device.
  std::unique_ptr<GraphCompiler> ForDetachedCalls() const;

 private:
  Status Optimize(RewriteContext& context, KernelCache& kernels) const;
  Status RewriteForDevice(const Device& device, RewriteContext& context) const;
  Status Place(Graph* graph) const;
  // Takes the graph out of the context.
  StatusOr<std::vector<DeviceGraph>> PlaceAndCut(RewriteContext& context, bool late_args) const;
  StatusOr<std::vector<Partition>> Cut(RewriteContext& context, bool late_args) const;
  // The device that all nodes are on; null if there are several, or if it is not the host.
  Device* OnlyHost(const Graph& graph) const;
  bool IsLossy(std::string_view from, std::string_view to) const;
  bool HasAccelerators() const;  // devices with memory of their own
  std::vector<std::string> SupportedDeviceTypes(const Node& node) const;

  const Environment& environment_;
  const DeviceSet devices_;
  const std::shared_ptr<const FunctionLibrary> functions_;
  ThreadPool* const intra_op_;
  const SessionOptions options_;
  const Preference preference_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_GRAPH_COMPILER_H_
