// What Scope keeps. For weir/client alone.
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
  StringMap<int> names;  // used names of nodes and scopes, and how often they were asked for
  std::vector<std::vector<InferredTensor>> inferred;    // by node id, then output
  std::map<std::string, std::shared_ptr<void>> extras;  // what other files of weir/client keep with a graph

  // Of a function's body: the scope around it, how many there are around, and what makes a tensor from there one of
  // here.
  std::shared_ptr<Scope> outer;
  int depth = 0;
  std::function<Output(const Output&)> capture;
  // Of a function that eager functions build: what makes a tensor that exists one of here. Without a value if it is
  // better a constant.
  std::function<Output(const EagerTensor&)> capture_eager;
  // Operations with effects run in the order in which they were added.
  bool orders_effects = false;
  NodeId last_effect = kNoNode;

  // `output` as a tensor of this graph: itself, or captured from a graph around it. Without a value if it is neither.
  Output Import(const Output& output);
  // The same for a tensor that exists. Without a value: it is to be a constant.
  Output Import(const EagerTensor& tensor);
  // The shapes of all nodes from `inferred.size()` on.
  Status InferNew();
  // ... and of those that gradients have given more outputs: conditions and calls.
  Status InferChanged();
  Status InferNode(NodeId id);
};

// One operation that is run at once instead of being added to a graph.
struct EagerFrame {
  Status status;
  std::shared_ptr<const AttrMap> attrs;  // complete
  std::vector<EagerTensor> outputs;
};

struct ScopePlace {
  std::shared_ptr<ScopeState> state;
  std::string prefix;
  std::string name;  // of the next operation; empty: the op's
  std::string device;
  std::string colocation;  // a node's name
  std::vector<NodeId> control;
  EagerFrame* frame = nullptr;  // set: nothing is added, the operation runs now
};

}  // namespace weir

#endif  // WEIR_CLIENT_SCOPE_INTERNAL_H_
