#include "weir/passes/inline_functions.h"

#include <algorithm>

#include "weir/graph/function_library.h"
#include "weir/passes/lower_control_flow.h"
#include "weir/passes/rewrite.h"

namespace weir {
namespace {

constexpr int kMostRounds = 64;

class Inliner {
 public:
  Inliner(Graph* graph, const InlineOptions& options) : graph_(*graph), options_(options) {
    chains_.push_back({"", -1});
  }

  Status Run() {
    for (int round = 0; round < kMostRounds; ++round) {
      NodeId before = graph_.num_node_ids();
      chain_of_.resize(before, 0);
      if (options_.lower_control_flow) {
        std::vector<LoweredCall> calls;
        WEIR_RETURN_IF_ERROR(LowerControlFlow(&graph_, &calls));
        chain_of_.resize(graph_.num_node_ids(), 0);
        for (const LoweredCall& each : calls) chain_of_[each.call] = chain_of_[each.from];
      }
      if (options_.inline_calls) WEIR_RETURN_IF_ERROR(InlineOnce());
      if (graph_.num_node_ids() == before) break;
    }
    return OkStatus();
  }

 private:
  // The functions that a node was inlined from, innermost first; 0: none.
  struct Chain {
    std::string function;
    int outer;
  };

  bool IsInside(int chain, std::string_view function) const {
    for (; chain > 0; chain = chains_[chain].outer) {
      if (chains_[chain].function == function) return true;
    }
    return false;
  }

  // The name of a function in chains. Gradients all have the same name, so the differentiated function is added.
  static std::string ChainName(const FunctionAttr& function) {
    auto forward = GetAttr<FunctionAttr>(function.attrs, "f");
    return function.name == kSymbolicGradient && forward.ok() ? Cat(function.name, " ", forward->name) : function.name;
  }

  // The function that a node calls, if it may be inlined.
  std::optional<FunctionAttr> CalledFunction(const Node& node) const {
    FunctionAttr function;
    if (node.op() == "PartitionedCall" || node.op() == "StatefulPartitionedCall") {
      auto attr = node.Attr<FunctionAttr>("f");
      if (!attr.ok()) return std::nullopt;
      function = *std::move(attr);
    } else if (node.op() == kSymbolicGradient) {
      const Attribute* forward = node.attrs.Find("f");
      if (forward == nullptr) return std::nullopt;
      function.name = kSymbolicGradient;
      function.attrs.Set("f", *forward);
      if (IsInside(chain_of_[node.id], ChainName(function))) return std::nullopt;
      return function;
    } else if (graph_.functions()->FindSchema(node.op()) == node.schema) {
      function = {node.op(), {}};
      for (const AttrSchema& attr : node.schema->attrs) {
        if (const Attribute* value = node.attrs.Find(attr.name)) function.attrs.Set(attr.name, *value);
      }
    } else {
      return std::nullopt;
    }
    const AttrMap* attrs = graph_.functions()->FindAttrs(function.name);
    if (attrs == nullptr || IsInside(chain_of_[node.id], ChainName(function))) return std::nullopt;
    if (const Attribute* noinline = attrs->Find("_noinline")) {
      const bool* set = noinline->get_if<bool>();
      if (set != nullptr && *set) return std::nullopt;
    }
    return function;
  }

  Status InlineOnce() {
    has_control_flow_ = std::ranges::any_of(graph_.nodes(), [](const auto& n) { return n && IsControlFlow(*n); });
    std::vector<NodeId> calls;
    for (const auto& node : graph_.nodes()) {
      if (node && CalledFunction(*node)) calls.push_back(node->id);
    }
    Replacements replacements(&graph_);
    for (NodeId id : calls) {
      if (graph_.num_nodes() >= options_.max_nodes) break;
      replacements.Update(graph_.node(id));  // the inputs may be results of a call that has been inlined already
      WEIR_RETURN_IF_ERROR(Inline(graph_.node(id), replacements));
    }
    replacements.Apply();
    return OkStatus();
  }

  StatusOr<std::shared_ptr<FunctionBody>> BodyOf(const FunctionAttr& function) {
    auto& bucket = bodies_[absl::HashOf(function.name, Hash(function.attrs))];
    for (const auto& [known, body] : bucket) {
      if (known == function) return body;
    }
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<FunctionBody> body,
                          graph_.functions()->Instantiate(function, graph_.functions()));
    bucket.emplace_back(function, body);
    return body;
  }

  Status Inline(Node* call, Replacements& replacements) {
    const FunctionAttr function = *CalledFunction(*call);
    StatusOr<std::shared_ptr<FunctionBody>> found = BodyOf(function);
    // If the body cannot be built or does not match the call, the step that runs the call reports the error.
    if (!found.ok()) return OkStatus();
    const FunctionBody& body = **found;
    if (body.args.size() != call->inputs.size() || body.rets.size() != static_cast<size_t>(call->num_outputs())) {
      return OkStatus();
    }
    for (size_t i = 0; i < body.args.size(); ++i) {
      if (BaseType(graph_.type(call->inputs[i])) != BaseType(body.types.inputs[i])) return OkStatus();
    }
    for (size_t i = 0; i < body.rets.size(); ++i) {
      if (BaseType(call->output_type(static_cast<int>(i))) != BaseType(body.types.outputs[i])) return OkStatus();
    }
    const int chain = static_cast<int>(chains_.size());
    chains_.push_back({ChainName(function), chain_of_[call->id]});

    WEIR_ASSIGN_OR_RETURN(NodeId start, AddStart(*call));
    std::vector<NodeId> new_id(body.graph.num_node_ids(), kNoNode);
    std::vector<Endpoint> argument(body.graph.num_node_ids());
    for (size_t i = 0; i < body.args.size(); ++i) argument[body.args[i]] = call->inputs[i];
    for (const auto& node : body.graph.nodes()) {
      if (!node || node->op() == "_Arg" || node->op() == "_Retval") continue;
      WEIR_ASSIGN_OR_RETURN(new_id[node->id], Copy(*node, *call, chain));
    }
    auto translate = [&](Endpoint tensor) {
      return new_id[tensor.node] == kNoNode ? argument[tensor.node] : Endpoint{new_id[tensor.node], tensor.index};
    };
    for (const auto& node : body.graph.nodes()) {
      if (!node || new_id[node->id] == kNoNode) continue;
      Node* copy = graph_.node(new_id[node->id]);
      copy->inputs.clear();
      copy->control_inputs.clear();
      for (Endpoint input : node->inputs) copy->inputs.push_back(translate(input));
      bool reads_body = false;
      for (Endpoint input : node->inputs) reads_body |= new_id[input.node] != kNoNode;
      for (NodeId input : node->control_inputs) {
        NodeId id = new_id[input] == kNoNode ? argument[input].node : new_id[input];
        reads_body |= new_id[input] != kNoNode;
        AddControlInput(copy, id);
      }
      if (start == kNoNode) continue;
      bool is_source = copy->inputs.empty() && copy->control_inputs.empty();
      if ((has_control_flow_ && is_source) || (node->schema->is_stateful && !reads_body) ||
          (node->schema->is_stateful && !call->control_inputs.empty())) {
        AddControlInput(copy, start);
      }
    }
    std::vector<NodeId> done;
    for (size_t i = 0; i < body.rets.size(); ++i) {
      Endpoint result = translate(body.graph.node(body.rets[i])->inputs[0]);
      replacements.Replace(Endpoint{call->id, static_cast<int32_t>(i)}, result);
      if (std::ranges::find(done, result.node) == done.end()) done.push_back(result.node);
    }
    for (NodeId id : body.control_rets) {
      NodeId effect = new_id[id] == kNoNode ? argument[id].node : new_id[id];
      if (std::ranges::find(done, effect) == done.end()) done.push_back(effect);
    }
    if (start != kNoNode) done.push_back(start);
    WEIR_ASSIGN_OR_RETURN(call->schema, graph_.ops().LookUp("NoOp"));
    call->attrs = AttrMap();
    call->inputs.clear();
    call->control_inputs = std::move(done);
    return graph_.RefreshTypes(call);
  }

  // Whether the node reads a variable in a lowered branch. The variable may be uninitialized, so only nodes that use
  // its value may wait for it.
  bool ReadsChosenVariable(const Node& node) const {
    return node.op() == "Identity" && graph_.node(node.inputs[0].node)->op() == "RefSwitch";
  }

  // Adds the node that the body waits for. It has the call's control inputs; if values may be dead or belong to an
  // iteration, it also has the call's data inputs.
  StatusOr<NodeId> AddStart(const Node& call) {
    std::vector<NodeId> waits = call.control_inputs;
    if (has_control_flow_) {
      for (Endpoint input : call.inputs) {
        if (ReadsChosenVariable(*graph_.node(input.node))) continue;
        if (std::ranges::find(waits, input.node) == waits.end() && !IsSwitch(*graph_.node(input.node))) {
          waits.push_back(input.node);
        } else if (IsSwitch(*graph_.node(input.node))) {
          // A control edge from a Switch would be live on both sides, so an Identity of its output takes its place.
          Graph::NodeSpec spec{.name = graph_.UniqueName(Cat(call.name, "/input")), .op = "Identity"};
          spec.attrs.Set("T", BaseType(graph_.type(input)));
          spec.inputs = {input};
          spec.device = call.requested_device;
          WEIR_ASSIGN_OR_RETURN(Node * pivot, graph_.AddNode(std::move(spec)));
          pivot->assigned_device = call.assigned_device;
          waits.push_back(pivot->id);
          break;
        }
      }
    }
    if (waits.empty()) return kNoNode;
    Graph::NodeSpec spec{.name = graph_.UniqueName(Cat(call.name, "/start")), .op = "NoOp"};
    spec.control_inputs = std::move(waits);
    spec.device = call.requested_device;
    WEIR_ASSIGN_OR_RETURN(Node * start, graph_.AddNode(std::move(spec)));
    start->assigned_device = call.assigned_device;
    return start->id;
  }

  StatusOr<NodeId> Copy(const Node& node, const Node& call, int chain) {
    Node copy = node;
    copy.name = graph_.UniqueName(Cat(call.name, "/", node.name));
    if (copy.requested_device.empty()) copy.requested_device = call.requested_device;
    copy.assigned_device = call.assigned_device;
    if (IsEnter(copy)) {
      std::string frame = copy.Attr<std::string>("frame_name").value_or("");
      copy.attrs.Set("frame_name", Cat(call.name, "/", frame));
    }
    if (const Attribute* attr = copy.attrs.Find("_class"); attr != nullptr && attr->get_if<AttrList>() != nullptr) {
      AttrList classes = *attr->get_if<AttrList>();
      constexpr std::string_view kPrefix = "loc:@";
      for (std::string& each : classes.s) {
        if (each.starts_with(kPrefix)) each = Cat(kPrefix, call.name, "/", each.substr(kPrefix.size()));
      }
      copy.attrs.Set("_class", Attribute(std::move(classes)));
    }
    WEIR_ASSIGN_OR_RETURN(Node * added, graph_.AddUnchecked(std::move(copy)));
    chain_of_.resize(graph_.num_node_ids(), 0);
    chain_of_[added->id] = chain;
    return added->id;
  }

  Graph& graph_;
  const InlineOptions& options_;
  bool has_control_flow_ = false;
  std::vector<Chain> chains_;
  std::vector<int> chain_of_;  // by node id
  absl::flat_hash_map<uint64_t, std::vector<std::pair<FunctionAttr, std::shared_ptr<FunctionBody>>>> bodies_;
};

}  // namespace

Status InlineFunctions(Graph* graph, const InlineOptions& options) { return Inliner(graph, options).Run(); }

}  // namespace weir
