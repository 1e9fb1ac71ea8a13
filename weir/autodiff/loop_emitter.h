// Emitters for the two halves of a differentiated loop of Enter, Merge, Switch, NextIteration and Exit.
//
// The backward half runs as often as the forward one did, last iteration first. A forward value that it needs goes
// through a list: a variable of the forward loop that grows by one element an iteration and, after the loop, a variable
// of the backward loop that loses one. Being loop variables, lists need no order between iterations but the values'
// own. A value inside a conditional is put on and taken off its list on the same side of the same conditional. What
// does not change in the loop is handed in, constants are copied, and of a value whose shape alone is asked for, only
// the shape is kept.
#ifndef WEIR_AUTODIFF_LOOP_EMITTER_H_
#define WEIR_AUTODIFF_LOOP_EMITTER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/autodiff/region.h"

namespace weir {

// The shape of a list's elements as TensorList ops take it.
Tensor ElementShape(const PartialShape& shape);

// One variable of a loop.
struct LoopVariable {
  NodeId enter = kNoNode;
  NodeId merge = kNoNode;
  NodeId turn = kNoNode;  // the Switch
  NodeId next = kNoNode;
  NodeId exit = kNoNode;  // may be missing in a forward loop
};

// Adds variables to a frame. `outside` is where the loop stands.
class LoopBuilder {
 public:
  LoopBuilder(GraphEmitter& outside, std::string frame_name, int64_t parallel_iterations)
      : outside_(outside), frame_name_(std::move(frame_name)), parallel_iterations_(parallel_iterations) {}

  void set_condition(NodeId loop_cond) { loop_cond_ = loop_cond; }
  StatusOr<Endpoint> Enter(Endpoint value, bool is_constant);
  // Enter and Merge; its value in each iteration is output 0 of the Merge.
  StatusOr<LoopVariable> Begin(Endpoint initial);
  // Switch and Exit. The body's value is output 1 of the Switch. REQUIRES: the condition is set.
  Status Turn(LoopVariable* variable);
  // NextIteration, which closes the circle.
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
  // REQUIRES: all outlive it.
  LoopForward(GraphEmitter& outside, const Region& region, LoopBuilder builder)
      : GraphEmitter(outside.graph(), outside.shapes()),
        outside_(outside),
        region_(region),
        builder_(std::move(builder)) {}

  GraphEmitter& outside() { return outside_; }
  LoopBuilder& builder() { return builder_; }
  std::vector<Guard> GuardsOf(Endpoint tensor) const;
  // Nodes in `outside` that the loop starts from and that have no input wait for this one.
  void set_start(NodeId start) { start_ = start; }
  // A list with one element an iteration; its value after the loop, a tensor of `outside`.
  StatusOr<Endpoint> Collect(Endpoint value);
  // How often the loop has turned, after it. Also gives the body its pivot: call it first.
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

  // Makes the counter, the condition and the pivot of the body. `count` is a tensor of `outside`.
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

// A list handle on the side of conditionals where a value is alive, and how to get back from there.
class GuardedList {
 public:
  GuardedList(GraphEmitter& emitter, Value list, const std::vector<Value>& predicates,
              const std::vector<int>& branches);
  Value inside() const { return inside_; }
  // The handle again, wherever the conditionals went: `changed` from inside, or the one that came in.
  Value Leave(Value changed) const;

 private:
  Value inside_;
  std::vector<Value> others_;
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_LOOP_EMITTER_H_
