// AddGradients: symbolic derivatives as more nodes of a graph.
//
// For ys = f(xs) it adds the nodes that compute sum_j grad_ys[j] * dys[j]/dxs[i] for every i. The walk goes from the ys
// back to the xs, unit by unit in reverse topological order; a unit is a node, or a whole loop. Each node's gradient
// comes from its GradientFunction (gradient_registry.h); Switch and Merge, loops and calls of functions are
// differentiated here:
// - a loop gets a counter and, for every forward value that the backward half needs, a list that grows by one element
// per
//   iteration; the backward loop runs as often and takes the elements off again;
// - a call, If, Case or While gets a forward function that also returns what the backward function needs, so that
//   nothing is computed twice and random numbers are the same in both.
// New nodes are named under `options.scope`. The gradients are ordinary nodes: AddGradients of them gives second
// derivatives.
#ifndef WEIR_AUTODIFF_GRADIENTS_H_
#define WEIR_AUTODIFF_GRADIENTS_H_

#include <span>
#include <string>
#include <vector>

#include "weir/autodiff/gradient_registry.h"
#include "weir/graph/graph.h"

namespace weir {

// The gradient of one x. A sparse one has values, indices and dense_shape (GradientValue of value.h).
struct GraphGradient {
  Endpoint dense;
  Endpoint values;
  Endpoint indices;
  Endpoint dense_shape;
  bool is_none() const { return dense.node == kNoNode && values.node == kNoNode; }
  bool is_sparse() const { return values.node != kNoNode; }
};

struct GradientOptions {
  // Taken as constants: nothing flows through them, though it may flow into them.
  std::vector<Endpoint> stop_gradients;
  // What an x gets that no y depends on: nothing, or zeros.
  enum class Unconnected { kNone, kZero };
  Unconnected unconnected = Unconnected::kNone;
  // How terms of one gradient are added: by one AddN, or in pairs, which lets terms go as soon as they are added.
  enum class Aggregation { kAddN, kTree };
  Aggregation aggregation = Aggregation::kAddN;
  // Each gradient node runs where its forward node does.
  bool colocate = false;
  std::string scope = "gradients";
};

// One gradient for each x. `grad_ys` is empty (ones for every y) or has one endpoint per y, where an empty endpoint
// means ones. INVALID_ARGUMENT if a y or an x is no tensor that can be differentiated (integers, strings), NOT_FOUND
// that names the node if an op on the way has no gradient. After an error the graph may have nodes that nothing uses.
StatusOr<std::vector<GraphGradient>> AddGradients(Graph& graph, const GradientRegistry& registry,
                                                  std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                                                  std::span<const Endpoint> grad_ys = {},
                                                  const GradientOptions& options = {});

// The same, sparse gradients made dense, and none as an empty endpoint.
StatusOr<std::vector<Endpoint>> AddDenseGradients(Graph& graph, const GradientRegistry& registry,
                                                  std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                                                  std::span<const Endpoint> grad_ys = {},
                                                  const GradientOptions& options = {});

}  // namespace weir

#endif  // WEIR_AUTODIFF_GRADIENTS_H_
