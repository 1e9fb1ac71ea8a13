#include "weir/passes/prune.h"

#include <algorithm>

namespace weir {
namespace {

class Pruner {
 public:
  Pruner(const Graph& graph, const StepSignature& signature) : graph_(graph), signature_(signature) {}

  StatusOr<Graph> Prune() {
    if (signature_.fetches.empty() && signature_.targets.empty()) {
      return InvalidArgument("Must specify at least one target to fetch or execute.");
    }
    WEIR_RETURN_IF_ERROR(ResolveFeeds());
    WEIR_RETURN_IF_ERROR(ResolveFetches());
    WEIR_RETURN_IF_ERROR(ResolveTargets());
    Mark();
    return Build();
  }

 private:
  Status ResolveFeeds() {
    for (size_t i = 0; i < signature_.feeds.size(); ++i) {
      const std::string& name = signature_.feeds[i];
      auto id = ParseTensorName(name);
      const Node* node = id ? graph_.Find(id->node) : nullptr;
      if (node == nullptr) return NotFound("FeedInputs: unable to find feed output ", name);
      if (id->index < 0 || id->index >= node->num_outputs()) {
        return InvalidArgument("FeedInputs: ", name, " should have output index < ", node->num_outputs());
      }
      auto [found, fresh] = fed_.try_emplace(Endpoint{node->id, id->index}, static_cast<int>(i));
      if (!fresh) return InvalidArgument("Endpoint \"", name, "\" fed more than once.");
    }
    return OkStatus();
  }

  Status ResolveFetches() {
    for (const std::string& name : signature_.fetches) {
      auto id = ParseTensorName(name);
      const Node* node = id ? graph_.Find(id->node) : nullptr;
      if (node == nullptr) return NotFound("FetchOutputs node ", name, ": not found");
      if (node->num_outputs() == 0) {
        return InvalidArgument("Tried to fetch data for '", name,
                               "', which produces no output.  To run to a node but not fetch any data, pass '", name,
                               "' as an argument to the 'target_node_names' argument of the Session::Run API.");
      }
      if (id->index < 0 || id->index >= node->num_outputs()) {
        return InvalidArgument("FetchOutputs ", name, ": output index too large, must be < ", node->num_outputs());
      }
      Endpoint endpoint{node->id, id->index};
      if (fed_.contains(endpoint)) return InvalidArgument(name, " is both fed and fetched.");
      fetched_.push_back(endpoint);
    }
    return OkStatus();
  }

  Status ResolveTargets() {
    std::string missing;
    for (const std::string& name : signature_.targets) {
      std::string_view node_name = name;
      if (auto id = ParseTensorName(name)) node_name = id->node;
      const Node* node = graph_.Find(node_name);
      if (node == nullptr) {
        missing += Cat(name, " ");
      } else {
        targets_.push_back(node->id);
      }
    }
    if (!missing.empty()) return NotFound("PruneForTargets: Some target nodes not found: ", missing);
    return OkStatus();
  }

  // True if feeding cuts the control edges that leave a node.
  bool IsFedPlaceholder(const Node& node) const {
    return (node.op() == "Placeholder" || node.op() == "PlaceholderV2") && fed_.contains(Endpoint{node.id, 0});
  }

  void Mark() {
    wanted_.assign(graph_.num_node_ids(), false);
    std::vector<NodeId> stack;
    auto want = [&](NodeId id) {
      if (wanted_[id]) return;
      wanted_[id] = true;
      stack.push_back(id);
    };
    for (const Endpoint& endpoint : fetched_) want(endpoint.node);
    for (NodeId id : targets_) want(id);
    while (!stack.empty()) {
      const Node& node = *graph_.node(stack.back());
      stack.pop_back();
      for (const Endpoint& input : node.inputs) {
        if (fed_.empty() || !fed_.contains(input)) want(input.node);
      }
      for (NodeId input : node.control_inputs) {
        if (!IsFedPlaceholder(*graph_.node(input))) want(input);
      }
    }
  }

  StatusOr<Graph> Build() {
    Graph out(graph_.ops(), graph_.functions());
    out.versions() = graph_.versions();
    new_id_.assign(graph_.num_node_ids(), kNoNode);
    WEIR_RETURN_IF_ERROR(AddArgs(out));
    // Two rounds, because the Merge of a loop refers to a later node.
    std::vector<Node*> added;
    for (NodeId id = 0; id < graph_.num_node_ids(); ++id) {
      if (!wanted_[id]) continue;
      Node copy = *graph_.node(id);
      if (copy.op() == "_Arg" || copy.op() == "_Retval") {
        return InvalidArgument("Node '", copy.name, "': ", copy.op(), " may only appear in the bodies of functions");
      }
      WEIR_ASSIGN_OR_RETURN(Node * node, out.AddUnchecked(std::move(copy)));
      new_id_[id] = node->id;
      added.push_back(node);
    }
    for (Node* node : added) Rewire(*node);
    WEIR_RETURN_IF_ERROR(AddRets(out));
    return out;
  }

  void Rewire(Node& node) const {
    for (Endpoint& input : node.inputs) {
      auto fed = fed_.empty() ? fed_.end() : fed_.find(input);
      input = fed != fed_.end() ? Endpoint{args_[fed->second], 0} : Endpoint{new_id_[input.node], input.index};
    }
    size_t kept = 0;
    for (NodeId input : node.control_inputs) {
      // There is no need to wait for a fed placeholder.
      if (!IsFedPlaceholder(*graph_.node(input))) node.control_inputs[kept++] = new_id_[input];
    }
    node.control_inputs.resize(kept);
  }

  StatusOr<NodeId> AddEnd(Graph& out, std::string_view op, Endpoint original, int index, std::vector<Endpoint> inputs) {
    const Node& producer = *graph_.node(original.node);
    Graph::NodeSpec spec;
    spec.op = op;
    spec.name = FreeName(Cat(op, "_", producer.name, "_", original.index));
    spec.attrs.Set("T", BaseType(producer.output_type(original.index)));
    spec.attrs.Set("index", index);
    spec.inputs = std::move(inputs);
    WEIR_ASSIGN_OR_RETURN(Node * node, out.AddNode(std::move(spec)));
    return node->id;
  }

  // A name that neither the original graph nor this one uses.
  std::string FreeName(std::string name) {
    while (graph_.Find(name) != nullptr || !used_names_.insert(name).second) name += "_";
    return name;
  }

  Status AddArgs(Graph& out) {
    args_.assign(signature_.feeds.size(), kNoNode);
    std::vector<std::pair<int, Endpoint>> sorted;
    for (const auto& [endpoint, index] : fed_) sorted.emplace_back(index, endpoint);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [index, endpoint] : sorted) {
      WEIR_ASSIGN_OR_RETURN(args_[index], AddEnd(out, "_Arg", endpoint, index, {}));
      const Node& fed = *graph_.node(endpoint.node);
      Node& arg = *out.node(args_[index]);
      arg.requested_device = fed.requested_device;
      if (fed.op() != "Placeholder" && fed.op() != "PlaceholderV2") continue;
      // Old graphs have [] for unknown shapes.
      auto shape = fed.Attr<PartialShape>("shape");
      if (shape.ok() && shape->rank() > 0) arg.attrs.Set(kDeclaredShapes, AttrList{.shape = {*shape}});
    }
    return OkStatus();
  }

  Status AddRets(Graph& out) {
    for (size_t i = 0; i < fetched_.size(); ++i) {
      const Endpoint& endpoint = fetched_[i];
      WEIR_RETURN_IF_ERROR(
          AddEnd(out, "_Retval", endpoint, static_cast<int>(i), {Endpoint{new_id_[endpoint.node], endpoint.index}})
              .status());
    }
    return OkStatus();
  }

  const Graph& graph_;
  const StepSignature& signature_;
  absl::flat_hash_map<Endpoint, int> fed_;
  std::vector<Endpoint> fetched_;
  std::vector<NodeId> targets_;
  std::vector<bool> wanted_;
  std::vector<NodeId> new_id_;
  std::vector<NodeId> args_;
  StringSet used_names_;
};

}  // namespace

StatusOr<Graph> PruneGraph(const Graph& graph, const StepSignature& signature) {
  return Pruner(graph, signature).Prune();
}

}  // namespace weir
