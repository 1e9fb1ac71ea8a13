// Scope: determines where nodes of a graph are added, and their names and devices.
//
// All scopes derived from one root add to the same graph. A scope is a cheap value: deriving one (`SubScope`,
// `WithDevice` ...) does not change the original. Names are made unique as in TensorFlow: "dense/MatMul",
// "dense/MatMul_1", "dense_1/MatMul".
//
// Errors are sticky: the graph keeps the first one, and every later operation does nothing and returns an Output
// without a node. So a whole model can be written without checks; call `status()` once at the end.
//
//   Scope root = Scope::NewRoot();
//   Output x = ops::Placeholder(root.WithName("x"), DType::kFloat, {.shape = {-1, 2}});
//   Output y = ops::Relu(root, x) * 2 + 1;
//   WEIR_RETURN_IF_ERROR(root.status());
//
// Only one thread at a time may build a graph.
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
struct ScopeState;  // shared by the scopes of one graph (scope_internal.h)
struct ScopePlace;  // the data of one scope

class Scope {
 public:
  // A new graph with the ops of an environment; null: DefaultEnvironment().
  static Scope NewRoot(std::shared_ptr<Environment> environment = nullptr);

  // A scope whose nodes get the prefix "<name>/", made unique: a second SubScope("dense") is "dense_1".
  Scope SubScope(std::string_view name) const;
  // A scope with exactly this prefix, even if it is in use.
  Scope WithPrefix(std::string_view prefix) const;
  // The name of the next operation (also made unique).
  Scope WithName(std::string_view name) const;
  // May be partial: "/device:CPU:1". It is merged over the scope's own device.
  Scope WithDevice(std::string_view device) const;
  Scope ColocateWith(const Operation& op) const;
  Scope WithControlDependencies(std::span<const Operation> before) const;
  Scope WithControlDependencies(std::initializer_list<Operation> before) const;
  Scope WithoutControlDependencies() const;
  // For a block of a network: sessions that recompute (SessionOptions::recompute) keep only what flows into the block
  // and compute the rest again for the backward pass. Each call begins a block; one within another is part of it.
  Scope WithRecomputation() const;

  // The first error of the graph, if there was one.
  Status status() const;
  bool ok() const { return status().ok(); }
  // Records an error, unless there is one already.
  void Fail(Status error) const;

  Graph& graph() const;
  const std::shared_ptr<Environment>& environment() const;
  // "a/b", without a slash at the end; empty for the root.
  const std::string& prefix() const;
  // An unused full name: the prefix and `name`, made unique.
  std::string UniqueName(std::string_view name) const;
  // The same scope without a name from WithName.
  Scope WithoutName() const;

  // For adding nodes directly: adds one with this scope's name (or the op's), device and control inputs. kNoNode after
  // an error. `spec.name`, if set, is a full name.
  NodeId AddNode(Graph::NodeSpec spec) const;
  // As far as it is known.
  PartialShape shape(Endpoint tensor) const;
  // The value of a tensor if it is known already (constants, shapes); otherwise no value.
  Tensor constant_value(Endpoint tensor) const;
  // Must be called after nodes were added to graph() without this class: infers their shapes.
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

// A tensor of the graph. It remembers its scope: operators (`a + b`) add their nodes there.
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
  // REQUIRES: it is the result of an operation, possibly a failed one.
  const Scope& scope() const { return *scope_; }
  bool has_scope() const { return scope_ != nullptr; }

 private:
  std::shared_ptr<const Scope> scope_;
  Endpoint endpoint_;
};

}  // namespace weir

#endif  // WEIR_CLIENT_SCOPE_H_
