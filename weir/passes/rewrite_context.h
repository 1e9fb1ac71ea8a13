// RewriteContext: what all rewriting passes share about the graph they change.
//
// A pass asks the context who consumes a tensor, which shape it has and whether a node may be touched at all, and makes
// its changes through it. Consumers are those from before the pass: a pass decides by a picture that stays still, and
// calls EndPass when it is done. Shapes are inferred once, at the first question, and followed from then on: a node
// that a pass adds is inferred when it is added, and a node that is replaced by another of the same value keeps its
// shape.
//
// docs/adding_a_pass.md goes through an example.
#ifndef WEIR_PASSES_REWRITE_CONTEXT_H_
#define WEIR_PASSES_REWRITE_CONTEXT_H_

#include <optional>
#include <string_view>
#include <vector>

#include "weir/graph/shape_inference.h"
#include "weir/passes/rewrite.h"
#include "weir/passes/wait_analysis.h"

namespace weir {

class RewriteContext {
 public:
  // Before placement nodes may still go to different devices; a placed graph is all of one device.
  enum class Stage { kUnplaced, kPlaced };

  // REQUIRES: `graph` outlives the context and is changed by nobody else. What nothing consumes now is what the step
  // asked for, and is never removed.
  explicit RewriteContext(Graph* graph, Stage stage = Stage::kUnplaced);

  Graph& graph() const { return graph_; }
  Stage stage() const { return stage_; }
  void set_stage(Stage stage) { stage_ = stage; }

  // As they were when the pass began.
  const Consumers& consumers();
  // Which nodes may wait for each other, as of the same time.
  const WaitAnalysis& waits();

  // Unknown where the graph's shapes contradict each other: that is for the step to complain about.
  const PartialShape& ShapeOf(Endpoint tensor);
  std::optional<Shape> KnownShape(Endpoint tensor) { return ShapeOf(tensor).ToShape(); }
  // The value of a constant, or of a small integer computation on shapes; without a value if it is not known.
  const Tensor& ValueOf(Endpoint tensor);
  // False if the graph's shapes contradict each other. Passes that move errors elsewhere then leave the graph alone.
  bool ShapesAgree();

  // Whether a pass may replace the node or make it part of another one: its outputs depend on its inputs alone
  // (IsPure), it names no kernel (`_kernel`), and no colocation constraint (`_class`) waits for the placer.
  bool MayRewrite(const Node& node) const;
  // Whether both nodes go to the same device, as far as is known.
  bool AreTogether(const Node& a, const Node& b) const;
  // The one node that takes a tensor, if no other node takes it or waits for its producer, and it may be rewritten
  // together with the producer; null otherwise. `input`, if not null, gets the index among the consumer's inputs.
  Node* OnlyConsumer(Endpoint tensor, int* input = nullptr);
  // The value of a Const node that waits for nothing; null for other tensors.
  const Tensor* ConstantOf(Endpoint tensor) const;

  // To be called after a node's op, attributes or inputs were changed. Outputs that the node had before keep their
  // shapes: they must have the values they had.
  Status Changed(Node* node);
  // The same for a node that now stands for another value.
  Status Redefined(Node* node);
  Status TurnIntoIdentity(Node* node, Endpoint input);
  // A new node beside `like` (rewrite.h).
  StatusOr<Node*> AddBeside(const Node& like, std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs);

  // Removes what nothing needs any more, and forgets who consumed what.
  void EndPass();
  // For a pass of several rounds: consumers are from now on those of the graph as it is.
  void ForgetConsumers();
  // Forgets shapes: after constants were folded more can be inferred.
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
