// Sweep: one walk from the results of a region back to what they depend on.
#ifndef WEIR_AUTODIFF_SWEEP_H_
#define WEIR_AUTODIFF_SWEEP_H_

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "weir/autodiff/gradients.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/autodiff/region.h"

namespace weir {

// What all sweeps of one AddGradients share.
struct SweepSettings {
  const GradientRegistry* registry;
  GradientOptions::Aggregation aggregation = GradientOptions::Aggregation::kAddN;
  bool colocate = false;
  std::string source;  // Emitter::source
};

struct CallNode;

class Sweep {
 public:
  // Forward nodes are those of `region` in `forward`'s graph; gradients are emitted into `backward`, which may be the
  // same emitter. REQUIRES: all outlive the sweep; `frames` is that of the forward graph.
  Sweep(const SweepSettings& settings, const LoopFrames& frames, const Region& region, GraphEmitter& forward,
        GraphEmitter& backward);

  // Something that flows into a tensor from outside.
  void Seed(Endpoint tensor, GradientValue gradient);
  // Walks back to `xs`; nothing flows through `stops`.
  Status Run(std::span<const Endpoint> xs, std::span<const Endpoint> stops = {});
  // All that has flowed into a tensor, as one gradient.
  GradientValue Total(Endpoint tensor);

 private:
  void MarkReached(std::span<const Endpoint> xs);
  bool IsReached(Endpoint tensor) const;
  void Flow(Endpoint tensor, GradientValue gradient);
  GradientValue Add(const std::vector<GradientValue>& terms);
  Value AddInPairs(std::vector<Value> terms);

  Status DifferentiateNode(const Node& node);
  Status CallGradientFunction(const Node& node, std::vector<GradientValue> grads);
  Status DifferentiateCall(const Node& node, const CallNode& call, const std::vector<GradientValue>& grads);
  Status CallCustomGradient(const Node& node, const FunctionAttr& function, const std::vector<GradientValue>& grads,
                            bool with_inputs);
  // What a gradient function gave, to the node's inputs.
  Status FlowAll(const Node& node, const std::vector<GradientValue>& results);
  Status DifferentiateSwitch(const Node& node, const std::vector<GradientValue>& grads);
  Status DifferentiateMerge(const Node& node, const std::vector<GradientValue>& grads);
  Status DifferentiateLoop(const RegionUnit& loop);

  const SweepSettings& settings_;
  const LoopFrames& frames_;
  const Region& region_;
  GraphEmitter& forward_;
  GraphEmitter& backward_;
  Graph& graph_;               // the forward one
  std::vector<bool> reached_;  // by node: depends on an x
  absl::flat_hash_set<Endpoint> stops_;
  absl::flat_hash_map<Endpoint, std::vector<GradientValue>> flows_;  // into each tensor
};

// Ops that the sweep differentiates itself, without a function of the registry: control flow and calls.
bool IsDifferentiatedByStructure(std::string_view op);

}  // namespace weir

#endif  // WEIR_AUTODIFF_SWEEP_H_
