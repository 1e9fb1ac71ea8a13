// GraphEmitter: an Emitter that adds nodes to a graph.
#ifndef WEIR_AUTODIFF_GRAPH_EMITTER_H_
#define WEIR_AUTODIFF_GRAPH_EMITTER_H_

#include <string>
#include <vector>

#include "weir/autodiff/emitter.h"
#include "weir/base/export.h"
#include "weir/graph/graph.h"
#include "weir/graph/shape_inference.h"

namespace WEIR_PUBLIC weir {

// The inferred shapes and values of the tensors of a growing graph. Contradicting shapes count as unknown: the session
// will report them.
class GraphShapes {
 public:
  // REQUIRES: `graph` outlives this object. Nodes may only be added; after other changes call Forget.
  explicit GraphShapes(const Graph& graph);
  const InferredTensor& Of(Endpoint tensor);
  // Must be called after a node was changed.
  void Forget(NodeId node);

 private:
  void Infer(NodeId id);
  const Graph& graph_;
  InferredShapes shapes_;
};

// Emits into one region of a graph: the top level or a loop frame. Several emitters may share a graph.
class GraphEmitter : public Emitter {
 public:
  // REQUIRES: both outlive the emitter.
  GraphEmitter(Graph& graph, GraphShapes& shapes) : graph_(graph), shapes_(shapes) {}

  Graph& graph() { return graph_; }
  GraphShapes& shapes() { return shapes_; }
  Value At(Endpoint tensor) { return Value(this, tensor.node, tensor.index); }
  // The endpoint of a value; imports the value if it is borrowed. Errors go to status().
  Endpoint ToEndpoint(Value value);

  // New nodes are named `scope/Op`.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }
  // New nodes are colocated with this node; null: no constraint.
  void set_colocation(const Node* node) { colocation_ = node; }
  // New nodes without inputs get a control edge from this node, which puts them into its frame.
  void set_pivot(NodeId node) { pivot_ = node; }

  // Adds a node. All attributes must be given: none are inferred from the inputs.
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
