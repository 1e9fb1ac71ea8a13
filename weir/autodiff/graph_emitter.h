// GraphEmitter: emits into a graph.
#ifndef WEIR_AUTODIFF_GRAPH_EMITTER_H_
#define WEIR_AUTODIFF_GRAPH_EMITTER_H_

#include <string>
#include <vector>

#include "weir/autodiff/emitter.h"
#include "weir/graph/graph.h"
#include "weir/graph/shape_inference.h"

namespace weir {

// What is known of the tensors of a graph that grows. Nothing, where shapes contradict each other: the session tells.
class GraphShapes {
 public:
  // REQUIRES: `graph` outlives this and changes only by new nodes.
  explicit GraphShapes(const Graph& graph);
  const InferredTensor& Of(Endpoint tensor);
  // The node was changed by hand.
  void Forget(NodeId node);

 private:
  void Infer(NodeId id);
  const Graph& graph_;
  InferredShapes shapes_;
};

// One region of a graph: the graph itself, or a frame of it. Several may emit into one graph.
class GraphEmitter : public Emitter {
 public:
  // REQUIRES: both outlive the emitter.
  GraphEmitter(Graph& graph, GraphShapes& shapes) : graph_(graph), shapes_(shapes) {}

  Graph& graph() { return graph_; }
  GraphShapes& shapes() { return shapes_; }
  Value At(Endpoint tensor) { return Value(this, tensor.node, tensor.index); }
  // Brings a borrowed value over, or keeps the error.
  Endpoint ToEndpoint(Value value);

  // New nodes are named `scope/Op`.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }
  // New nodes run where this node does; null: anywhere.
  void set_colocation(const Node* node) { colocation_ = node; }
  // Nodes without inputs wait for this one: what runs in a frame must be told so.
  void set_pivot(NodeId node) { pivot_ = node; }

  // A node with everything given; the types of its inputs are not turned into attributes.
  StatusOr<Node*> AddNode(std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs,
                          std::vector<NodeId> control_inputs = {});

 protected:
  StatusOr<const OpSchema*> FindSchema(std::string_view op) const override { return graph_.FindSchema(op); }
  StatusOr<std::vector<Value>> AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) override;
  DType OwnDType(Value value) const override { return BaseType(graph_.type({value.node(), value.index()})); }
  PartialShape OwnShape(Value value) const override { return shapes_.Of({value.node(), value.index()}).shape; }
  Tensor OwnConstant(Value value) const override { return shapes_.Of({value.node(), value.index()}).value; }
  std::vector<ResourceHandle::DTypeAndShape> OwnHandleData(Value value) const override {
    return shapes_.Of({value.node(), value.index()}).handle_data;
  }
  StatusOr<Value> Import(Value foreign) override;

 private:
  Graph& graph_;
  GraphShapes& shapes_;
  std::string scope_;
  const Node* colocation_ = nullptr;
  NodeId pivot_ = kNoNode;
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_GRAPH_EMITTER_H_
