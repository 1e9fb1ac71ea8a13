// Graph: nodes, the tensors that flow between them, and the functions they may call.
//
// A node is an operation with attributes. Its data inputs are endpoints: (node, output index). Its control inputs are
// nodes that must run before it. Edges are stored at the consumer only; for the other direction, build a Consumers
// index of the finished graph. Nodes have small dense ids that stay valid until the graph is compacted; a removed node
// leaves a hole (`nodes()[id]` is null). Values flow forward only, except from the NextIteration of a loop to its
// Merge: that is the only kind of cycle.
//
// Nodes and names are kept in insertion order, so a graph that is imported and exported again is unchanged.
#ifndef WEIR_GRAPH_GRAPH_H_
#define WEIR_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/framework/op_registry.h"

namespace WEIR_PUBLIC weir {

class FunctionLibrary;

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

// One tensor of the graph: an output of a node.
struct Endpoint {
  NodeId node = kNoNode;
  int32_t index = 0;
  bool operator==(const Endpoint&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Endpoint& e) {
    return H::combine(std::move(h), e.node, e.index);
  }
};

struct Node {
  NodeId id = kNoNode;
  std::string name;                  // of a node in a graph: only change it by Graph::Rename
  const OpSchema* schema = nullptr;  // from the registry, or from the function library for a direct call
  AttrMap attrs;                     // complete: defaults filled in
  std::shared_ptr<const ArgTypes> types;
  std::vector<Endpoint> inputs;
  std::vector<NodeId> control_inputs;
  std::string requested_device;  // as requested by the client; may be partial or empty
  std::string assigned_device;   // full name, once placed

  const std::string& op() const { return schema->name; }
  int num_outputs() const { return static_cast<int>(types->outputs.size()); }
  DType input_type(int i) const { return types->inputs[i]; }    // may be a ref type
  DType output_type(int i) const { return types->outputs[i]; }  // may be a ref type
  template <typename T>
  StatusOr<T> Attr(std::string_view attr_name) const {
    return GetAttr<T>(attrs, attr_name);
  }
};

struct GraphVersions {
  int producer = 0;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};
// The GraphDef version that weir reads and writes.
inline constexpr int kGraphDefVersion = 2474;

class Graph {
 public:
  // REQUIRES: `ops` outlives the graph.
  explicit Graph(const OpRegistry& ops, std::shared_ptr<FunctionLibrary> functions = nullptr);
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  // A copy with the same ids; functions are shared.
  Graph Clone() const;

  const OpRegistry& ops() const { return *ops_; }
  // Never null.
  const std::shared_ptr<FunctionLibrary>& functions() const { return functions_; }
  // REQUIRES: no node calls a function that `functions` lacks.
  void set_functions(std::shared_ptr<FunctionLibrary> functions) { functions_ = std::move(functions); }
  GraphVersions& versions() { return versions_; }
  const GraphVersions& versions() const { return versions_; }

  // Adds a node. Checks and completes its attributes; inputs must exist and have the right types (a reference output
  // may feed a plain input). Errors are TensorFlow's and name the node. If the name is empty, one is derived from the
  // op.
  struct NodeSpec {
    std::string name;
    std::string op;
    AttrMap attrs;
    std::vector<Endpoint> inputs;
    std::vector<NodeId> control_inputs;
    std::string device;
  };
  StatusOr<Node*> AddNode(NodeSpec spec);
  // The op of the registry, or the function of the library, with this name. NOT_FOUND otherwise.
  StatusOr<const OpSchema*> FindSchema(std::string_view op) const;
  // For importers and passes: checks nothing except that the name is unused.
  StatusOr<Node*> AddUnchecked(Node node);
  // REQUIRES: no node consumes it.
  void RemoveNode(NodeId id);
  // An unused name: `prefix`, or `prefix_1` ...
  std::string UniqueName(std::string_view prefix) const;
  // Must be called after a node's op, attributes or inputs were changed directly: updates `types`.
  Status RefreshTypes(Node* node);

  // Reserves memory for this number of nodes in total.
  void Reserve(size_t num_nodes);
  // Returns one shared object for equal types of nodes of one op.
  std::shared_ptr<const ArgTypes> Share(const OpSchema* schema, ArgTypes types);

  // All nodes by id; null where one was removed.
  std::span<const std::unique_ptr<Node>> nodes() const { return nodes_; }
  int num_node_ids() const { return static_cast<int>(nodes_.size()); }
  int num_nodes() const { return num_nodes_; }  // not counting holes
  Node* node(NodeId id) const { return nodes_[id].get(); }
  Node* Find(std::string_view name) const;  // null if there is none
  Status Rename(Node* node, std::string_view name);
  DType type(Endpoint tensor) const { return nodes_[tensor.node]->output_type(tensor.index); }

  // "name:1"; ":0" is always written.
  std::string TensorName(Endpoint tensor) const;

 private:
  const OpRegistry* ops_;
  std::shared_ptr<FunctionLibrary> functions_;
  GraphVersions versions_;
  std::vector<std::unique_ptr<Node>> nodes_;
  absl::flat_hash_map<std::string_view, NodeId, StringHash, StringEqual> by_name_;  // keys are the nodes' own names
  int num_nodes_ = 0;
  absl::flat_hash_map<const OpSchema*, std::shared_ptr<const ArgTypes>> last_types_;  // equal types are shared
};

// The users of each node, as a snapshot of the graph.
class Consumers {
 public:
  explicit Consumers(const Graph& graph);
  struct Use {
    NodeId consumer;
    int32_t input;   // index among the consumer's inputs; -1: a control edge
    int32_t output;  // index among the producer's outputs; -1: a control edge
  };
  std::span<const Use> of(NodeId id) const;

 private:
  std::vector<int32_t> begin_;
  std::vector<Use> uses_;
};

// Node ids sorted so that inputs come before their consumers, ignoring NextIteration -> Merge edges. Among ready nodes,
// lower ids come first. INVALID_ARGUMENT, with the nodes of a cycle, if there is one.
StatusOr<std::vector<NodeId>> TopologicalOrder(const Graph& graph);

// "name:1", "name" (index 0), "^name" (index -1). Nothing if malformed.
struct TensorId {
  std::string_view node;
  int index = 0;
};
std::optional<TensorId> ParseTensorName(std::string_view text);

// Kinds of nodes that weir itself has to recognize.
bool IsSwitch(const Node& node);         // Switch, RefSwitch
bool IsMerge(const Node& node);          // Merge, RefMerge
bool IsEnter(const Node& node);          // Enter, RefEnter
bool IsExit(const Node& node);           // Exit, RefExit
bool IsNextIteration(const Node& node);  // NextIteration, RefNextIteration
bool IsLoopCond(const Node& node);
bool IsControlTrigger(const Node& node);
bool IsSend(const Node& node);  // _Send, Send, _HostSend
bool IsRecv(const Node& node);
bool IsConstant(const Node& node);     // Const
bool IsPlaceholder(const Node& node);  // Placeholder, PlaceholderV2, PlaceholderWithDefault
bool IsControlFlow(const Node& node);  // one of the six kinds above

}  // namespace weir

#endif  // WEIR_GRAPH_GRAPH_H_
