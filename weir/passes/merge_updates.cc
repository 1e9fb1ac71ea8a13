#include "weir/passes/merge_updates.h"

#include <algorithm>
#include <optional>

#include "weir/framework/fused_nodes.h"

namespace weir {
namespace {

constexpr char kMergedOp[] = "_ResourceApplyMany";

// The condition under which a value is live: each of these Switches chose the given output. If a Merge or a Recv is
// involved, the condition is not known.
struct Liveness {
  std::vector<std::pair<Endpoint, int>> switches;  // predicates and outputs, without duplicates
  bool is_known = true;
  void Add(const std::pair<Endpoint, int>& one) {
    if (std::ranges::find(switches, one) == switches.end()) switches.push_back(one);
  }
  bool operator==(const Liveness& other) const {
    return is_known && other.is_known && std::ranges::is_permutation(switches, other.switches);
  }
};

// An update, taken apart as its schema describes it: handles, then scalars and the gradient.
struct Update {
  Node* node = nullptr;
  int level = 0;  // the length of the longest chain of updates before it
  DType dtype = DType::kInvalid, gradient_type = DType::kInvalid;
  bool flag = false;
  bool is_large = false;  // must not wait for other gradients
  std::vector<Endpoint> states, scalars;
  Endpoint gradient;
  Liveness liveness;
};

// The value of the only flag of a rule, besides use_locking; nothing if it has several.
std::optional<bool> FlagOf(const Node& node) {
  std::optional<bool> flag;
  for (const AttrSchema& attr : node.schema->attrs) {
    if (attr.type != "bool" || attr.name == "use_locking") continue;
    if (flag) return std::nullopt;
    flag = node.Attr<bool>(attr.name).value_or(false);
  }
  return flag.value_or(false);
}

std::optional<Update> ReadUpdate(Node* node) {
  const std::vector<ArgSchema>& args = node->schema->inputs;
  if (node->num_outputs() > 0 || node->inputs.size() != args.size()) return std::nullopt;
  const std::optional<bool> flag = FlagOf(*node);
  const StatusOr<DType> dtype = node->Attr<DType>("T");
  if (!flag || !dtype.ok() || node->attrs.Find("_kernel") != nullptr) return std::nullopt;
  Update update{.node = node, .dtype = *dtype, .flag = *flag};
  bool has_gradient = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].type == DType::kResource) {
      update.states.push_back(node->inputs[i]);
    } else if (args[i].type_attr != "T") {
      return std::nullopt;
    } else if (args[i].name == "grad" || args[i].name == "delta") {
      update.gradient = node->inputs[i];
      has_gradient = true;
    } else {
      update.scalars.push_back(node->inputs[i]);
    }
  }
  update.gradient_type = *dtype;
  if (!has_gradient || update.states.empty() || update.scalars.empty()) return std::nullopt;
  return update;
}

class UpdateMerger {
 public:
  UpdateMerger(RewriteContext& context, const MergeUpdatesOptions& options)
      : context_(context),
        graph_(context.graph()),
        options_(options),
        consumers_(context.consumers()),
        waits_(context.waits()) {}

  Status Run() {
    WEIR_RETURN_IF_ERROR(FindUpdates());
    for (Update& update : updates_) AddToGroup(std::move(update));
    Replacements replacements(&graph_);
    std::vector<NodeId> merged;
    for (const auto& group : groups_) {
      if (group.size() == 1 && group[0].gradient_type == group[0].dtype) continue;
      WEIR_RETURN_IF_ERROR(Merge(group));
      for (size_t i = 1; i < group.size(); ++i) {
        replacements.Replace(group[i].node->id, group[0].node->id);
        merged.push_back(group[i].node->id);
      }
    }
    replacements.Apply();
    for (NodeId id : merged) graph_.RemoveNode(id);
    return OkStatus();
  }

 private:
  Status FindUpdates() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    std::vector<int> level(graph_.num_node_ids(), 0);
    liveness_.resize(graph_.num_node_ids());
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      for (Endpoint input : node->inputs) level[id] = std::max(level[id], level[input.node]);
      for (NodeId input : node->control_inputs) level[id] = std::max(level[id], level[input]);
      if (waits_.MayBeDead(id)) FindLiveness(*node);
      if (!options_.has_rule(node->op())) continue;
      std::optional<Update> update = ReadUpdate(node);
      if (!update) continue;
      update->level = level[id]++;
      const std::optional<Shape> shape = context_.KnownShape(update->gradient);
      update->liveness = liveness_[id];
      update->is_large = !shape || shape->num_elements() > options_.most_elements;
      TakeUncast(*update);
      updates_.push_back(*std::move(update));
    }
    return OkStatus();
  }

  // REQUIRES: the inputs of the node have been analyzed.
  void FindLiveness(const Node& node) {
    Liveness& own = liveness_[node.id];
    own.is_known = !IsMerge(node) && !IsRecv(node) && (!IsControlFlow(node) || IsSwitch(node));
    auto add = [&](NodeId before) {
      own.is_known = own.is_known && liveness_[before].is_known;
      for (const auto& one : liveness_[before].switches) own.Add(one);
    };
    for (Endpoint input : node.inputs) {
      add(input.node);
      const Node& producer = *graph_.node(input.node);
      if (IsSwitch(producer)) own.Add({producer.inputs[1], input.index});
    }
    for (NodeId before : node.control_inputs) add(before);
  }
  // Takes the gradient as it was before a cast that only this update reads.
  void TakeUncast(Update& update) const {
    const Node& cast = *graph_.node(update.gradient.node);
    if (cast.op() != "Cast" || update.dtype != DType::kFloat || !cast.control_inputs.empty()) return;
    const DType from = graph_.type(cast.inputs[0]);
    if ((from != DType::kHalf && from != DType::kBFloat16) || !context_.AreTogether(cast, *update.node)) return;
    if (consumers_.of(cast.id).size() != 1) return;
    update.gradient = cast.inputs[0];
    update.gradient_type = from;
  }

  static bool AreAlike(const Update& a, const Update& b) {
    return a.node->schema == b.node->schema && a.level == b.level && a.dtype == b.dtype &&
           a.gradient_type == b.gradient_type && !a.is_large && !b.is_large && a.flag == b.flag &&
           a.scalars == b.scalars && a.liveness == b.liveness;
  }
  bool MayJoin(const Update& a, const Update& b) const {
    if (!AreAlike(a, b) || !context_.AreTogether(*a.node, *b.node)) return false;
    for (Endpoint state : a.states) {
      if (std::ranges::count(b.states, state) > 0) return false;
    }
    const NodeId one = a.node->id, other = b.node->id;
    return waits_.MayDelay(one, one, other) && waits_.MayDelay(other, other, one);
  }
  void AddToGroup(Update update) {
    for (auto& group : groups_) {
      if (!std::ranges::all_of(group, [&](const Update& member) { return MayJoin(member, update); })) continue;
      group.push_back(std::move(update));
      std::vector<NodeId> ids;
      for (const Update& member : group) ids.push_back(member.node->id);
      waits_.Join(ids);
      return;
    }
    groups_.push_back({std::move(update)});
  }

  Status Merge(const std::vector<Update>& group) {
    WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, graph_.ops().LookUp(kMergedOp));
    std::vector<Endpoint> inputs;
    AttrList names;
    for (const Update& update : group) {
      inputs.insert(inputs.end(), update.states.begin(), update.states.end());
      names.s.push_back(update.node->name);
    }
    const auto num_states = static_cast<int64_t>(inputs.size());
    const std::vector<Endpoint>& scalars = group[0].scalars;
    inputs.insert(inputs.end(), scalars.begin(), scalars.end());
    for (const Update& update : group) inputs.push_back(update.gradient);
    Node* node = group[0].node;
    AttrMap attrs;
    attrs.Set("T", group[0].dtype);
    attrs.Set("G", group[0].gradient_type);
    attrs.Set("M", num_states);
    attrs.Set("K", static_cast<int64_t>(scalars.size()));
    attrs.Set("N", static_cast<int64_t>(group.size()));
    attrs.Set("rule", node->op());
    attrs.Set("flag", group[0].flag);
    attrs.Set(kFusedNodes, std::move(names));
    node->schema = schema;
    node->attrs = std::move(attrs);
    node->inputs = std::move(inputs);
    for (const Update& update : group) {
      for (NodeId id : update.node->control_inputs) AddControlInput(node, id);
    }
    return context_.Changed(node);
  }

  RewriteContext& context_;
  Graph& graph_;
  const MergeUpdatesOptions& options_;
  const Consumers& consumers_;
  WaitAnalysis waits_;              // includes the groups found so far
  std::vector<Liveness> liveness_;  // by node
  std::vector<Update> updates_;
  std::vector<std::vector<Update>> groups_;
};

}  // namespace

Status MergeUpdates(RewriteContext& context, const MergeUpdatesOptions& options) {
  if (!context.graph().ops().LookUp(kMergedOp).ok()) return OkStatus();
  return UpdateMerger(context, options).Run();
}

}  // namespace weir
