#include "weir/graph/import.h"

#include <algorithm>

#include "weir/framework/attr_proto.h"
#include "weir/graph/function_library.h"
#include "weir/graph/node_check.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

Status CheckVersions(const VersionDef& versions) {
  constexpr int kMinProducer = 0;
  if (versions.producer() < kMinProducer) {
    return InvalidArgument("GraphDef producer version ", versions.producer(), " below min producer ", kMinProducer,
                           " supported by weir.  Please regenerate your graph.");
  }
  if (kGraphDefVersion < versions.min_consumer()) {
    return InvalidArgument("GraphDef min consumer version ", versions.min_consumer(), " above current version ",
                           kGraphDefVersion, " for weir.  Please upgrade weir.");
  }
  for (int bad : versions.bad_consumers()) {
    if (bad == kGraphDefVersion) {
      return InvalidArgument("GraphDef disallows consumer version ", bad,
                             ".  Please upgrade weir: this version is likely buggy.");
    }
  }
  return OkStatus();
}

// Makes all nodes apart, so that an error leaves the graph as it was, and moves them in at the end.
class Importer {
 public:
  Importer(const GraphDef& def, const ImportLimits& limits, Graph* graph)
      : def_(def), limits_(limits), graph_(graph), first_id_(graph->num_node_ids()) {}

  Status Run() {
    if (int64_t{graph_->num_nodes()} + def_.node_size() > limits_.max_nodes) {
      return ResourceExhausted("The graph would have more than ", limits_.max_nodes, " nodes");
    }
    WEIR_RETURN_IF_ERROR(CheckVersions(def_.versions()));
    if (def_.has_library()) {
      WEIR_ASSIGN_OR_RETURN(staged_, graph_->functions()->Stage(def_.library()));
    }
    nodes_.reserve(def_.node_size());
    names_.reserve(def_.node_size());
    for (const NodeDef& node : def_.node()) WEIR_RETURN_IF_ERROR(MakeNode(node));
    for (int i = 0; i < def_.node_size(); ++i) WEIR_RETURN_IF_ERROR(Connect(def_.node(i), nodes_[i]));
    WEIR_RETURN_IF_ERROR(CheckCycles());
    if (staged_) WEIR_RETURN_IF_ERROR(graph_->functions()->Commit(std::move(staged_)));
    MergeVersions();
    graph_->Reserve(graph_->num_node_ids() + nodes_.size());
    for (Node& node : nodes_) WEIR_RETURN_IF_ERROR(graph_->AddUnchecked(std::move(node)).status());
    return OkStatus();
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };  // of a node on the search for cycles

  StatusOr<const OpSchema*> FindSchema(const std::string& op) {
    auto [it, added] = schemas_.try_emplace(op, nullptr);
    if (!added) return it->second;
    const OpSchema* schema = staged_ ? FunctionLibrary::FindSchema(*staged_, op) : nullptr;
    if (schema == nullptr) {
      StatusOr<const OpSchema*> found = graph_->FindSchema(op);
      if (!found.ok()) return found;
      schema = *found;
    }
    WEIR_RETURN_IF_ERROR(CheckDeprecation(*schema, def_.versions().producer()));
    return it->second = schema;
  }

  Status MakeNode(const NodeDef& def) {
    if (!IsValidNodeName(def.name(), limits_.allow_internal_names)) {
      return InvalidArgument("Node '", def.name(), "': Node name contains invalid characters");
    }
    if (graph_->Find(def.name()) != nullptr ||
        !names_.try_emplace(def.name(), static_cast<NodeId>(nodes_.size())).second) {
      return InvalidArgument("Node '", def.name(), "' is not unique");
    }
    Node& node = nodes_.emplace_back();
    node.name = def.name();
    node.requested_device = def.device();
    WEIR_ASSIGN_OR_RETURN(node.schema, FindSchema(def.op()));
    StatusOr<AttrMap> attrs = FromProto(def.attr());
    if (!attrs.ok()) return Annotate(attrs.status(), "", Cat("\n\t [[{{node ", def.name(), "}}]]"));
    node.attrs = *std::move(attrs);
    WEIR_RETURN_IF_ERROR(CompleteAttrs(node));
    WEIR_ASSIGN_OR_RETURN(ArgTypes types, ResolveTypes(node));
    node.types = graph_->Share(node.schema, std::move(types));
    return OkStatus();
  }

  // Id and node of a name, among the new nodes or the graph's own.
  std::pair<NodeId, const Node*> Find(std::string_view name) const {
    if (auto it = names_.find(name); it != names_.end()) return {first_id_ + it->second, &nodes_[it->second]};
    const Node* node = graph_->Find(name);
    return {node != nullptr ? node->id : kNoNode, node};
  }

  Status Connect(const NodeDef& def, Node& node) {
    node.inputs.reserve(node.types->inputs.size());
    for (const std::string& text : def.input()) {
      std::optional<TensorId> tensor = ParseTensorName(text);
      auto [id, producer] = tensor ? Find(tensor->node) : std::pair<NodeId, const Node*>(kNoNode, nullptr);
      if (producer == nullptr) return InvalidArgument("Node '", node.name, "': Unknown input node '", text, "'");
      if (tensor->index < 0) {
        if (std::ranges::find(node.control_inputs, id) == node.control_inputs.end()) node.control_inputs.push_back(id);
        continue;
      }
      if (!node.control_inputs.empty()) {
        return InvalidArgument("Node '", node.name, "': Control dependencies must come after regular dependencies");
      }
      if (node.inputs.size() == node.types->inputs.size()) return WrongInputCount(node, CountDataInputs(def));
      WEIR_RETURN_IF_ERROR(CheckInput(node, static_cast<int>(node.inputs.size()), *producer, tensor->index));
      node.inputs.push_back({id, tensor->index});
    }
    if (node.inputs.size() != node.types->inputs.size()) return WrongInputCount(node, node.inputs.size());
    return OkStatus();
  }

  static size_t CountDataInputs(const NodeDef& def) {
    return std::ranges::count_if(def.input(), [](const std::string& input) { return !input.starts_with('^'); });
  }

  // Nodes that the graph has already cannot depend on new ones, so only these can close a cycle.
  Status CheckCycles() const {
    auto is_back_edge = [this](Endpoint input, bool to_merge) {
      return to_merge && input.node >= first_id_ && IsNextIteration(nodes_[input.node - first_id_]);
    };
    auto for_each_new_input = [&](const Node& node, auto visit) {
      bool is_merge = IsMerge(node);
      for (Endpoint input : node.inputs) {
        if (input.node >= first_id_ && !is_back_edge(input, is_merge)) visit(input.node - first_id_);
      }
      for (NodeId input : node.control_inputs) {
        if (input >= first_id_) visit(input - first_id_);
      }
    };
    // Depth first; most graphs come in topological order, where every input is done already.
    std::vector<State> state(nodes_.size(), State::kNew);
    std::vector<int32_t> stack;
    for (int32_t root = 0; root < static_cast<int32_t>(nodes_.size()); ++root) {
      if (state[root] == State::kNew) stack.push_back(root);
      while (!stack.empty()) {
        int32_t top = stack.back();
        if (state[top] != State::kNew) {
          stack.pop_back();
          state[top] = State::kDone;
          continue;
        }
        state[top] = State::kOpen;
        bool cycle = false;
        for_each_new_input(nodes_[top], [&](int32_t input) {
          if (state[input] == State::kNew) stack.push_back(input);
          cycle |= state[input] == State::kOpen;
        });
        if (cycle) return CycleError(stack, state);
      }
    }
    return OkStatus();
  }

  // The open nodes of the stack are one path; the node at its end has an input on it.
  Status CycleError(const std::vector<int32_t>& stack, const std::vector<State>& state) const {
    std::vector<int32_t> path;
    absl::flat_hash_set<int32_t> seen;  // a node may wait further down a second time
    for (auto id = stack.rbegin(); id != stack.rend(); ++id) {
      if (state[*id] == State::kOpen && seen.insert(*id).second) path.push_back(*id);
    }
    std::ranges::reverse(path);
    const Node& last = nodes_[path.back()];
    auto feeds_last = [&](int32_t id) {
      return std::ranges::any_of(last.inputs, [&](Endpoint e) { return e.node == first_id_ + id; }) ||
             std::ranges::find(last.control_inputs, first_id_ + id) != last.control_inputs.end();
    };
    auto start = std::ranges::find_if(path, feeds_last);
    std::string names;
    constexpr int kMostNames = 10;
    for (auto it = start; it != path.end() && it - start < kMostNames; ++it) {
      names += Cat(names.empty() ? "" : ", ", nodes_[*it].name);
    }
    return InvalidArgument(path.end() - start, " nodes in a cycle: ", names);
  }

  void MergeVersions() {
    GraphVersions& versions = graph_->versions();
    const VersionDef& def = def_.versions();
    bool first = graph_->num_node_ids() == 0 && versions.producer == 0;
    versions.producer = first ? def.producer() : std::min(versions.producer, def.producer());
    versions.min_consumer = std::max(versions.min_consumer, def.min_consumer());
    for (int bad : def.bad_consumers()) {
      if (std::ranges::find(versions.bad_consumers, bad) == versions.bad_consumers.end()) {
        versions.bad_consumers.push_back(bad);
      }
    }
  }

  const GraphDef& def_;
  const ImportLimits& limits_;
  Graph* graph_;
  const NodeId first_id_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<std::string_view, NodeId, StringHash, StringEqual> names_;  // keys are of def_
  absl::flat_hash_map<std::string_view, const OpSchema*, StringHash, StringEqual> schemas_;
  std::shared_ptr<FunctionLibrary::Staged> staged_;
};

}  // namespace

Status ImportGraphDef(const GraphDef& def, Graph* graph, const ImportLimits& limits) {
  return Importer(def, limits, graph).Run();
}

Status ImportGraph(const Graph& from, Graph* graph, const ImportLimits& limits) {
  constexpr size_t kLarge = 4096;
  GraphDef def;
  ExportLibrary(from, &def);
  std::vector<std::pair<std::string_view, Attribute>> shared;  // by the constant's name
  for (const auto& node : from.nodes()) {
    if (node == nullptr) continue;
    const Attribute* value = IsConstant(*node) ? node->attrs.Find("value") : nullptr;
    const Tensor* tensor = value != nullptr ? value->get_if<Tensor>() : nullptr;
    if (tensor == nullptr || tensor->num_bytes() < kLarge || !tensor->is_aligned() || !IsPlain(tensor->dtype())) {
      WEIR_RETURN_IF_ERROR(ExportNode(from, *node, def.add_node()));
      continue;
    }
    shared.emplace_back(node->name, *value);
    Node light = *node;
    WEIR_ASSIGN_OR_RETURN(Tensor none, Tensor::Allocate(tensor->dtype(), Shape({0})));
    light.attrs.Set("value", std::move(none));
    WEIR_RETURN_IF_ERROR(ExportNode(from, light, def.add_node()));
  }
  WEIR_RETURN_IF_ERROR(ImportGraphDef(def, graph, limits));
  for (auto& [name, value] : shared) graph->Find(name)->attrs.Set("value", std::move(value));
  return OkStatus();
}

}  // namespace weir
