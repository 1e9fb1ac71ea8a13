// RewriteContext: the analyses of a graph that all rewriting passes share, and the operations that change it.
//
// A pass asks the context for the consumers and the shape of a tensor and whether it may rewrite a node, and makes its
// changes through the context. Consumers are a snapshot from the beginning of the pass, so that decisions do not depend
// on changes made by the same pass; EndPass discards the snapshot. Shapes are inferred once, on first use, and kept up
// to date: a new node is inferred when it is added, and a node that is replaced by another of the same value keeps its
// shape.
//
// docs/adding_a_pass.md walks through an example.
#ifndef WEIR_PASSES_REWRITE_CONTEXT_H_
#define WEIR_PASSES_REWRITE_CONTEXT_H_

#include <optional>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/graph/shape_inference.h"
#include "weir/passes/rewrite.h"
#include "weir/passes/wait_analysis.h"

namespace WEIR_PUBLIC weir {

class RewriteContext {
 public:
  // Before placement, nodes may still go to different devices; all nodes of a placed graph are on one device.
  enum class Stage { kUnplaced, kPlaced };

  // REQUIRES: `graph` outlives the context and is only changed through it. Nodes without consumers at this point are
  // the results of the step and are never removed.
  explicit RewriteContext(Graph* graph, Stage stage = Stage::kUnplaced);

  Graph& graph() const { return graph_; }
  Stage stage() const { return stage_; }
  void set_stage(Stage stage) { stage_ = stage; }

  // The consumers of each tensor when the pass began.
  const Consumers& consumers();
  // Which nodes may wait for each other, from the same snapshot.
  const WaitAnalysis& waits();

  // Unknown if the graph's shapes contradict each other; the step will report the error.
  const PartialShape& ShapeOf(Endpoint tensor);
  std::optional<Shape> KnownShape(Endpoint tensor) { return ShapeOf(tensor).ToShape(); }
  // The value of a constant or of a small integer computation on shapes; an empty tensor if it is not known.
  const Tensor& ValueOf(Endpoint tensor);
  // False if the graph's shapes contradict each other. Passes that could hide the error then do nothing.
  bool ShapesAgree();

  // Whether a pass may replace the node or fuse it into another one: its outputs depend only on its inputs (IsPure), it
  // requests no specific kernel (`_kernel`), and it has no colocation constraint (`_class`) that the placer still
  // needs.
  bool MayRewrite(const Node& node) const;
  // Whether both nodes will run on the same device, as far as is known.
  bool AreTogether(const Node& a, const Node& b) const;
  // The single consumer of a tensor, if no other node has a data or control edge from the producer and if the consumer
  // may be fused with the producer; null otherwise. `input`, if not null, receives the index of the consumer's input.
  Node* OnlyConsumer(Endpoint tensor, int* input = nullptr);
  // The value of a Const node without control inputs; null for other tensors.
  const Tensor* ConstantOf(Endpoint tensor) const;

  // Must be called after a node's op, attributes or inputs were changed without changing its values: existing outputs
  // keep their inferred shapes.
  Status Changed(Node* node);
  // Must be called after a change that also changes the node's values.
  Status Redefined(Node* node);
  Status TurnIntoIdentity(Node* node, Endpoint input);
  // Adds a node on the device of `like` (rewrite.h).
  StatusOr<Node*> AddBeside(const Node& like, std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs);

  // Removes dead nodes and discards the snapshot of consumers.
  void EndPass();
  // For passes with several rounds: takes a new snapshot of consumers on next use.
  void ForgetConsumers();
  // Infers all shapes anew on next use: constant folding makes more of them known.
  void ForgetShapes() { shapes_.reset(); }

 private:
  const InferredTensor& Inferred(Endpoint tensor);
  void Infer(const Node& node);

  Graph& graph_;
  Stage stage_;
  std::vector<NodeId> keep_;
  std::optional<Consumers> consumers_;
  std::optional<WaitAnalysis> waits_;
  std::optional<StatusOr<InferredShapes>> shapes_;
};

}  // namespace weir

#endif  // WEIR_PASSES_REWRITE_CONTEXT_H_
