// Sweep: reverse-mode differentiation of one region.
//
// Seed gives the gradients of the region's results. Run then visits the units of the region in reverse topological
// order. When a unit is visited, all its consumers have been visited, so the sum of the terms collected for each of its
// outputs is the complete gradient. The gradient function of the unit turns these sums into terms for its inputs. Units
// that do not lie on a path from an x to a result are skipped. Loops inside the region are differentiated by a sweep of
// their own over the loop's body.
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

// The settings that all sweeps of one AddGradients share.
struct SweepSettings {
  const GradientRegistry* registry;
  GradientOptions::Aggregation aggregation = GradientOptions::Aggregation::kAddN;
  bool colocate = false;
  std::string source;  // Emitter::source
};

struct CallNode;

class Sweep {
 public:
  // The forward nodes are those of `region` in the graph of `forward`. Gradients are emitted into `backward`, which may
  // be the same emitter. REQUIRES: all arguments outlive the sweep; `frames` belongs to the forward graph.
  Sweep(const SweepSettings& settings, const LoopFrames& frames, const Region& region, GraphEmitter& forward,
        GraphEmitter& backward);

  // Adds a term to the gradient of a tensor, from outside the region.
  void Seed(Endpoint tensor, GradientValue gradient);
  // Propagates gradients back to `xs`, but not through `stops`.
  Status Run(std::span<const Endpoint> xs, std::span<const Endpoint> stops = {});
  // The gradient of a tensor: the sum of its terms.
  GradientValue Total(Endpoint tensor);

 private:
  void MarkReached(std::span<const Endpoint> xs);
  bool IsReached(Endpoint tensor) const;
  void Flow(Endpoint tensor, GradientValue gradient);
  GradientValue Add(const std::vector<GradientValue>& terms);
  Value AddInPairs(std::vector<Value> terms);

  const Node* Colocation(const Node& node) const;
  Status DifferentiateNode(const Node& node);
  Status CallGradientFunction(const Node& node, std::vector<GradientValue> grads);
  Status DifferentiateCall(const Node& node, const CallNode& call, const std::vector<GradientValue>& grads);
  Status CallCustomGradient(const Node& node, const FunctionAttr& function, const std::vector<GradientValue>& grads,
                            bool with_inputs);
  // The gradient of an IdentityN that a client made around a computation whose gradient it knows. The function
  // `_gradient_function` takes the gradients of the outputs, and in place of those of the last `_gradient_captures`
  // outputs the inputs themselves; it returns the gradients of the inputs `_gradient_inputs`.
  Status CallTracedGradient(const Node& node, const FunctionAttr& function, const std::vector<GradientValue>& grads);
  // Adds the results of a gradient function to the gradients of the node's inputs.
  Status FlowAll(const Node& node, const std::vector<GradientValue>& results);
  Status DifferentiateSwitch(const Node& node, const std::vector<GradientValue>& grads);
  Status DifferentiateMerge(const Node& node, const std::vector<GradientValue>& grads);
  Status DifferentiateLoop(const RegionUnit& loop);

  const SweepSettings& settings_;
  const LoopFrames& frames_;
  const Region& region_;
  GraphEmitter& forward_;
  GraphEmitter& backward_;
  Graph& graph_;               // the forward graph
  std::vector<bool> reached_;  // by node: depends on an x
  absl::flat_hash_set<Endpoint> stops_;
  absl::flat_hash_map<Endpoint, std::vector<GradientValue>> flows_;  // the terms of each tensor's gradient
};

// Whether the sweep differentiates the op itself, without a gradient function: control flow and calls.
bool IsDifferentiatedByStructure(std::string_view op);

}  // namespace weir

#endif  // WEIR_AUTODIFF_SWEEP_H_
