// Scope: where the nodes of a graph are added, and how they are named and placed.
//
// All scopes made from one root add to the same graph. A scope is a cheap value: deriving one (`SubScope`, `WithDevice`
// ...) changes nothing in the scope it came from. Names are made unique, as TensorFlow makes them: "dense/MatMul",
// "dense/MatMul_1", "dense_1/MatMul".
//
// Errors are kept: the first one is remembered by the graph, every later operation on it does nothing and returns an
// Output without a node. So a whole model is written without a check, and `status()` is asked once at its end.
//
//   Scope root = Scope::NewRoot();
//   Output x = ops::Placeholder(root.WithName("x"), DType::kFloat, {.shape = {-1, 2}});
//   Output y = ops::Relu(root, x) * 2 + 1;
//   WEIR_RETURN_IF_ERROR(root.status());
//
// One thread at a time builds a graph.
#ifndef WEIR_CLIENT_SCOPE_H_
#define WEIR_CLIENT_SCOPE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/graph/graph.h"
#include "weir/tensor/dtype.h"
#include "weir/tensor/shape.h"

namespace WEIR_PUBLIC weir {

struct Environment;
class Output;
class Operation;
struct ScopeState;  // what the scopes of one graph share (scope_internal.h)
struct ScopePlace;  // what one scope is

class Scope {
 public:
  // A new graph over the ops of an environment; null: DefaultEnvironment().
  static Scope NewRoot(std::shared_ptr<Environment> environment = nullptr);

  // Nodes below get the prefix "<name>/", made unique: a second SubScope("dense") is "dense_1".
  Scope SubScope(std::string_view name) const;
  // Exactly this prefix, used before or not.
  Scope WithPrefix(std::string_view prefix) const;
  // The next operation's name (made unique too).
  Scope WithName(std::string_view name) const;
  // May be partial: "/device:CPU:1". A partial one is merged over the scope's own.
  Scope WithDevice(std::string_view device) const;
  Scope ColocateWith(const Operation& op) const;
  Scope WithControlDependencies(std::span<const Operation> before) const;
  Scope WithControlDependencies(std::initializer_list<Operation> before) const;
  Scope WithoutControlDependencies() const;

  // The first error of the graph, if there was one.
  Status status() const;
  bool ok() const { return status().ok(); }
  // Keeps an error, unless there is one already.
  void Fail(Status error) const;

  Graph& graph() const;
  const std::shared_ptr<Environment>& environment() const;
  // "a/b", without a slash at the end; empty for the root.
  const std::string& prefix() const;
  // A full name that nothing in the graph has yet: the prefix and `name`.
  std::string UniqueName(std::string_view name) const;
  // Marks the end of naming by WithName.
  Scope WithoutName() const;

  // For who adds nodes by hand: adds one with this scope's name (or the op's), device and control inputs. kNoNode
  // after an error. `spec.name`, if set, is a full name.
  NodeId AddNode(Graph::NodeSpec spec) const;
  // As far as it is known.
  PartialShape shape(Endpoint tensor) const;
  // The value of a tensor that is known already (constants, shapes); no value otherwise.
  Tensor constant_value(Endpoint tensor) const;
  // After nodes were added to graph() without this class: computes their shapes.
  Status NoticeNewNodes() const;

  bool operator==(const Scope& other) const = default;
  ScopeState* state() const;
  const ScopePlace* place() const { return place_.get(); }

 private:
  friend class Output;
  friend class EagerCall;
  friend class Variable;
  explicit Scope(std::shared_ptr<const ScopePlace> place) : place_(std::move(place)) {}
  ScopePlace Copy() const;
  std::shared_ptr<const ScopePlace> place_;
};

// A node.
class Operation {
 public:
  Operation() = default;
  Operation(const Scope& scope, NodeId node);
  bool has_value() const { return node_ != kNoNode; }
  NodeId node_id() const { return node_; }
  std::string name() const;  // empty without a node
  int num_outputs() const;
  Output output(int index) const;

 private:
  std::shared_ptr<const Scope> scope_;
  NodeId node_ = kNoNode;
};

// One tensor of the graph. It remembers the scope it was made in: operators (`a + b`) add their nodes there.
class Output {
 public:
  Output() = default;
  Output(const Scope& scope, Endpoint endpoint);
  Output(std::shared_ptr<const Scope> scope, Endpoint endpoint) : scope_(std::move(scope)), endpoint_(endpoint) {}

  // False after an error, and for an Output that was never set.
  bool has_value() const { return endpoint_.node != kNoNode; }
  Endpoint endpoint() const { return endpoint_; }
  Operation op() const;
  DType dtype() const;         // kInvalid without a value
  PartialShape shape() const;  // as far as it is known
  std::string name() const;    // "dense/MatMul:0"; empty without a value
  // REQUIRES: made by an operation, even if that failed.
  const Scope& scope() const { return *scope_; }
  bool has_scope() const { return scope_ != nullptr; }

 private:
  std::shared_ptr<const Scope> scope_;
  Endpoint endpoint_;
};

}  // namespace weir

#endif  // WEIR_CLIENT_SCOPE_H_
