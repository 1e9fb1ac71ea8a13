// The data of a Scope. For weir/client only.
#ifndef WEIR_CLIENT_SCOPE_INTERNAL_H_
#define WEIR_CLIENT_SCOPE_INTERNAL_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/client/eager_tensor.h"
#include "weir/client/scope.h"
#include "weir/framework/shape_context.h"
#include "weir/runtime/environment.h"

namespace weir {

struct ScopeState {
  explicit ScopeState(std::shared_ptr<Environment> env) : environment(std::move(env)), graph(environment->ops) {}

  std::shared_ptr<Environment> environment;
  Graph graph;
  Status status;
  StringMap<int> names;  // used names of nodes and scopes, and how often each was requested
  std::vector<std::vector<InferredTensor>> inferred;    // by node id, then output
  std::map<std::string, std::shared_ptr<void>> extras;  // data that other files of weir/client attach to a graph

  // For a function body: the surrounding scope, the nesting depth, and a function that captures a tensor from there.
  std::shared_ptr<Scope> outer;
  int depth = 0;
  std::function<Output(const Output&)> capture;
  // For a function that is built from eager functions: captures an existing tensor. Returns no value if it should
  // become a constant.
  std::function<Output(const EagerTensor&)> capture_eager;
  // Operations with side effects run in the order in which they were added.
  bool orders_effects = false;
  NodeId last_effect = kNoNode;
  int64_t recomputed_blocks = 0;  // so far

  // `output` as a tensor of this graph: itself, or captured from a surrounding graph. No value if it is neither.
  Output Import(const Output& output);
  // The same for an eager tensor. No value means that it should become a constant.
  Output Import(const EagerTensor& tensor);
  // Infers the shapes of all nodes from `inferred.size()` on.
  Status InferNew();
  // Also infers the shapes of nodes to which gradients have added outputs: conditionals and calls.
  Status InferChanged();
  Status InferNode(NodeId id);
};

// An operation that is executed eagerly instead of being added to a graph.
struct EagerFrame {
  Status status;
  std::shared_ptr<const AttrMap> attrs;  // complete
  std::vector<EagerTensor> outputs;
};

struct ScopePlace {
  std::shared_ptr<ScopeState> state;
  std::string prefix;
  std::string name;  // of the next operation; empty: named after its op
  std::string device;
  std::string colocation;  // the name of a node
  std::vector<NodeId> control;
  int64_t recomputed_block = 0;  // 0: none
  EagerFrame* frame = nullptr;   // if set, the operation is executed now instead of added
};

}  // namespace weir

#endif  // WEIR_CLIENT_SCOPE_INTERNAL_H_
