// Gradients of nodes that call functions: Sweep uses these for calls, If, Case and While.
//
// The forward functions are replaced by others that also return what the backward functions need; the node itself gets
// more outputs behind its own. A backward function takes what flows into the results, then what it needs of the forward
// one, and returns the gradients of the arguments.
#ifndef WEIR_AUTODIFF_CALL_GRADIENT_H_
#define WEIR_AUTODIFF_CALL_GRADIENT_H_

#include <memory>
#include <vector>

#include "weir/autodiff/graph_emitter.h"
#include "weir/autodiff/sweep.h"
#include "weir/graph/function_library.h"

namespace weir {

// Emits into a backward function; what it needs of the forward one becomes an argument.
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

// A function's body and the backward body that belongs to it.
class DifferentiatedBody {
 public:
  // `flows` by result: the type of what flows into it, kInvalid if nothing does. `wanted` by argument.
  static StatusOr<std::unique_ptr<DifferentiatedBody>> Make(const SweepSettings& settings,
                                                            std::unique_ptr<FunctionBody> body,
                                                            const std::vector<DType>& flows,
                                                            const std::vector<bool>& wanted);

  FunctionBody& forward() { return *forward_; }
  GraphEmitter& forward_emitter() { return *forward_emitter_; }
  FunctionBody& backward() { return backward_; }
  FunctionBackward& emitter() { return *emitter_; }
  const std::vector<NodeId>& flow_args() const { return flow_args_; }
  // By argument of the forward function; empty if nothing flows to it.
  std::vector<Value>& gradients() { return gradients_; }
  // The argument of the forward function that a tensor is, or -1.
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

// Ends of bodies.
StatusOr<NodeId> AddArgument(FunctionBody& body, std::string_view name, DType type);
Status AddResult(FunctionBody& body, Endpoint value);
Attribute TypesAttr(const std::vector<DType>& types);

// One that calls functions, taken apart.
struct CallNode {
  std::vector<FunctionAttr> functions;  // one; or a branch each; or condition and body
  int first_argument = 0;               // index of the first input that is an argument
  bool is_loop = false;
};
// Nothing if the node calls no function of the library.
std::optional<CallNode> TakeApart(const Graph& graph, const Node& node);

// What a call's gradient works with.
struct CallContext {
  const SweepSettings& settings;
  GraphEmitter& forward;
  GraphEmitter& backward;
  Node* node;  // of the forward graph
  const CallNode& call;
  const std::vector<GradientValue>& grads;  // by output
  const std::vector<bool>& reached;         // by input: may something flow to it
};
// The gradient of each input; none where nothing flows. Calls, If and Case.
StatusOr<std::vector<GradientValue>> DifferentiateBranches(const CallContext& context);
StatusOr<std::vector<GradientValue>> DifferentiateWhile(const CallContext& context);

}  // namespace weir

#endif  // WEIR_AUTODIFF_CALL_GRADIENT_H_
