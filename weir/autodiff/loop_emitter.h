// Emitters for the two halves of a differentiated loop of Enter, Merge, Switch, NextIteration and Exit.
//
// The backward loop runs as many iterations as the forward loop, in reverse order. Forward values that it needs are
// kept in lists. A list is a variable of the forward loop, to which each iteration appends an element, and then a
// variable of the backward loop, from which each iteration pops one. Since lists are loop variables, data dependencies
// alone order the appends and pops. A value inside a conditional is appended and popped in the same branch of the same
// conditional. Loop invariants are passed into the backward loop, constants are copied, and if only the shape of a
// value is needed, only the shape is kept.
#ifndef WEIR_AUTODIFF_LOOP_EMITTER_H_
#define WEIR_AUTODIFF_LOOP_EMITTER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/autodiff/region.h"

namespace weir {

// The element shape in the form that TensorList ops expect.
Tensor ElementShape(const PartialShape& shape);

// One variable of a loop.
struct LoopVariable {
  NodeId enter = kNoNode;
  NodeId merge = kNoNode;
  NodeId turn = kNoNode;  // the Switch
  NodeId next = kNoNode;
  NodeId exit = kNoNode;  // may be missing in a forward loop
};

// Adds variables to a loop. `outside` emits into the region that contains the loop.
class LoopBuilder {
 public:
  LoopBuilder(GraphEmitter& outside, std::string frame_name, int64_t parallel_iterations)
      : outside_(outside), frame_name_(std::move(frame_name)), parallel_iterations_(parallel_iterations) {}

  void set_condition(NodeId loop_cond) { loop_cond_ = loop_cond; }
  StatusOr<Endpoint> Enter(Endpoint value, bool is_constant);
  // Adds Enter and Merge. Output 0 of the Merge is the variable's value in each iteration.
  StatusOr<LoopVariable> Begin(Endpoint initial);
  // Adds Switch and Exit. Output 1 of the Switch is the value in the body. REQUIRES: the condition is set.
  Status Turn(LoopVariable* variable);
  // Adds NextIteration, which closes the loop.
  Status End(LoopVariable* variable, Endpoint next);

 private:
  GraphEmitter& outside_;
  const std::string frame_name_;
  const int64_t parallel_iterations_;
  NodeId loop_cond_ = kNoNode;
};

// Emits into the body of the forward loop.
class LoopForward : public GraphEmitter {
 public:
  // REQUIRES: all arguments outlive the emitter.
  LoopForward(GraphEmitter& outside, const Region& region, LoopBuilder builder)
      : GraphEmitter(outside.graph(), outside.shapes()),
        outside_(outside),
        region_(region),
        builder_(std::move(builder)) {}

  GraphEmitter& outside() { return outside_; }
  LoopBuilder& builder() { return builder_; }
  std::vector<Guard> GuardsOf(Endpoint tensor) const;
  // Initial values in `outside` that have no inputs get a control edge from this node.
  void set_start(NodeId start) { start_ = start; }
  // Collects the value of each iteration in a list. Returns the list after the loop, a tensor of `outside`.
  StatusOr<Endpoint> Collect(Endpoint value);
  // The number of iterations, available after the loop. Must be called first, because it also creates the pivot of the
  // body.
  StatusOr<Endpoint> Count();

 protected:
  StatusOr<std::vector<Value>> AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) override;

 private:
  StatusOr<Endpoint> StartConstant(Tensor value);

  GraphEmitter& outside_;
  const Region& region_;
  LoopBuilder builder_;
  NodeId start_ = kNoNode;
  absl::flat_hash_map<NodeId, std::vector<Guard>> guards_;  // of nodes added here
};

// Emits into the body of the backward loop.
class LoopBackward : public GraphEmitter {
 public:
  LoopBackward(GraphEmitter& outside, LoopForward& forward, LoopBuilder builder)
      : GraphEmitter(outside.graph(), outside.shapes()),
        outside_(outside),
        forward_(forward),
        builder_(std::move(builder)) {}

  // Adds the counter, the condition and the pivot of the body. `count` is a tensor of `outside`.
  Status Begin(Endpoint count);
  LoopBuilder& builder() { return builder_; }

 protected:
  StatusOr<Value> Import(Value foreign) override;

 private:
  StatusOr<Endpoint> TakeFromList(Endpoint forward_value);

  GraphEmitter& outside_;
  LoopForward& forward_;
  LoopBuilder builder_;
};

// Routes a list handle through Switches into the branch in which a value is live, and back out through Merges.
class GuardedList {
 public:
  GuardedList(GraphEmitter& emitter, Value list, const std::vector<Value>& predicates,
              const std::vector<int>& branches);
  Value inside() const { return inside_; }
  // The handle outside of the conditionals: `changed` if the branch was taken, else the original handle.
  Value Leave(Value changed) const;

 private:
  Value inside_;
  std::vector<Value> others_;
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_LOOP_EMITTER_H_
