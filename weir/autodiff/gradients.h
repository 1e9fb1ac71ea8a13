// AddGradients: adds nodes that compute symbolic derivatives to a graph.
//
// For ys = f(xs) it adds the nodes that compute sum_j grad_ys[j] * dys[j]/dxs[i] for every i. The sweep goes backwards
// from the ys to the xs in reverse topological order. It handles one unit at a time: a node, or a whole loop. The
// gradient of a node comes from its GradientFunction (gradient_registry.h). Switch and Merge, loops and function calls
// are differentiated here:
//
// - A loop gets an iteration counter and, for every forward value that the backward loop needs, a list to which each
//   iteration appends one element. The backward loop runs the same number of iterations and pops the elements.
// - A call, If, Case or While calls a forward function that also returns the values that its backward function needs,
//   so that nothing is computed twice and both see the same random numbers.
//
// The names of new nodes begin with `options.scope`. The gradients are ordinary nodes: calling AddGradients on them
// gives second derivatives.
#ifndef WEIR_AUTODIFF_GRADIENTS_H_
#define WEIR_AUTODIFF_GRADIENTS_H_

#include <span>
#include <string>
#include <vector>

#include "weir/autodiff/gradient_registry.h"
#include "weir/base/export.h"
#include "weir/graph/graph.h"

namespace WEIR_PUBLIC weir {

// The gradient of one x. A sparse gradient has values, indices and dense_shape (see GradientValue in value.h).
struct GraphGradient {
  Endpoint dense;
  Endpoint values;
  Endpoint indices;
  Endpoint dense_shape;
  bool is_none() const { return dense.node == kNoNode && values.node == kNoNode; }
  bool is_sparse() const { return values.node != kNoNode; }
};

struct GradientOptions {
  // Treated as constants: no gradient flows through these tensors, but their own gradients can be computed.
  std::vector<Endpoint> stop_gradients;
  // The gradient of an x that no y depends on: none, or zeros.
  enum class Unconnected { kNone, kZero };
  Unconnected unconnected = Unconnected::kNone;
  // How the terms of one gradient are summed: by one AddN, or pairwise, which frees terms as soon as they are added.
  enum class Aggregation { kAddN, kTree };
  Aggregation aggregation = Aggregation::kAddN;
  // Place each gradient node on the device of its forward node.
  bool colocate = false;
  std::string scope = "gradients";
};

// Returns one gradient for each x. `grad_ys` is empty (ones for every y) or has one endpoint per y, where an empty
// endpoint means ones. INVALID_ARGUMENT if the type of a y or an x has no derivative (integers, strings); NOT_FOUND,
// with the name of the node, if an op between the ys and the xs has no gradient function. After an error the graph may
// contain unused nodes.
StatusOr<std::vector<GraphGradient>> AddGradients(Graph& graph, const GradientRegistry& registry,
                                                  std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                                                  std::span<const Endpoint> grad_ys = {},
                                                  const GradientOptions& options = {});

// Like AddGradients, but converts sparse gradients to dense ones. An empty endpoint means that there is no gradient.
StatusOr<std::vector<Endpoint>> AddDenseGradients(Graph& graph, const GradientRegistry& registry,
                                                  std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                                                  std::span<const Endpoint> grad_ys = {},
                                                  const GradientOptions& options = {});

}  // namespace weir

#endif  // WEIR_AUTODIFF_GRADIENTS_H_
