// Gradients of nodes that call functions. Sweep uses them for calls, If, Case and While.
//
// Each forward function is replaced by one that also returns the values that its backward function needs; the node gets
// additional outputs after its own. A backward function takes the gradients of the results and the forward values that
// it needs, and returns the gradients of the arguments.
#ifndef WEIR_AUTODIFF_CALL_GRADIENT_H_
#define WEIR_AUTODIFF_CALL_GRADIENT_H_

#include <memory>
#include <vector>

#include "weir/autodiff/graph_emitter.h"
#include "weir/autodiff/sweep.h"
#include "weir/graph/function_library.h"

namespace weir {

// Emits into a backward function. Forward values that it needs (captures) become arguments of the backward function.
class FunctionBackward : public GraphEmitter {
 public:
  FunctionBackward(Graph& graph, GraphShapes& shapes, GraphEmitter& forward)
      : GraphEmitter(graph, shapes), forward_(forward) {}
  struct Capture {
    Endpoint forward;
    NodeId arg;
  };
  const std::vector<Capture>& captures() const { return captures_; }

 protected:
  StatusOr<Value> Import(Value foreign) override;

 private:
  GraphEmitter& forward_;
  std::vector<Capture> captures_;
};

// The body of a function and its backward body.
class DifferentiatedBody {
 public:
  // `flows` has, for each result, the type of its gradient, or kInvalid if it has none. `wanted` tells which arguments
  // need a gradient.
  static StatusOr<std::unique_ptr<DifferentiatedBody>> Make(const SweepSettings& settings,
                                                            std::unique_ptr<FunctionBody> body,
                                                            const std::vector<DType>& flows,
                                                            const std::vector<bool>& wanted);

  FunctionBody& forward() { return *forward_; }
  GraphEmitter& forward_emitter() { return *forward_emitter_; }
  FunctionBody& backward() { return backward_; }
  FunctionBackward& emitter() { return *emitter_; }
  const std::vector<NodeId>& flow_args() const { return flow_args_; }
  // By argument of the forward function; an argument without a gradient has an empty value.
  std::vector<Value>& gradients() { return gradients_; }
  // The index of the argument of the forward function that `tensor` is, or -1.
  int ArgumentOf(Endpoint tensor) const;

 private:
  DifferentiatedBody(std::unique_ptr<FunctionBody> body);

  std::unique_ptr<FunctionBody> forward_;
  FunctionBody backward_;
  std::unique_ptr<GraphShapes> forward_shapes_, backward_shapes_;
  std::unique_ptr<GraphEmitter> forward_emitter_;
  std::unique_ptr<FunctionBackward> emitter_;
  std::vector<NodeId> flow_args_;
  std::vector<Value> gradients_;
};

// Add an argument or a result to a body.
StatusOr<NodeId> AddArgument(FunctionBody& body, std::string_view name, DType type);
Status AddResult(FunctionBody& body, Endpoint value);
Attribute TypesAttr(const std::vector<DType>& types);

// The functions and arguments of a node that calls functions.
struct CallNode {
  std::vector<FunctionAttr> functions;  // the callee; or one per branch; or condition and body
  int first_argument = 0;               // index of the first input that is an argument
  bool is_loop = false;
};
// Empty if the node does not call a function of the library.
std::optional<CallNode> TakeApart(const Graph& graph, const Node& node);

// The inputs for differentiating a call.
struct CallContext {
  const SweepSettings& settings;
  GraphEmitter& forward;
  GraphEmitter& backward;
  Node* node;  // of the forward graph
  const CallNode& call;
  const std::vector<GradientValue>& grads;  // by output
  const std::vector<bool>& reached;         // by input: whether a gradient is needed
};
// Return the gradient of each input, or none. DifferentiateBranches handles calls, If and Case.
StatusOr<std::vector<GradientValue>> DifferentiateBranches(const CallContext& context);
StatusOr<std::vector<GradientValue>> DifferentiateWhile(const CallContext& context);

}  // namespace weir

#endif  // WEIR_AUTODIFF_CALL_GRADIENT_H_
