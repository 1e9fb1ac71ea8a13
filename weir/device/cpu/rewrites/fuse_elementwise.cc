#include "weir/device/cpu/rewrites/fuse_elementwise.h"

#include <algorithm>

#include "weir/device/cpu/float_loops.h"
#include "weir/framework/fused_nodes.h"

namespace weir {
namespace {

// Beyond this a program's blocks leave the nearest cache.
constexpr size_t kMostMembers = 32;
// Operations that are done again for one value.
constexpr size_t kLargestCone = 6;
// Terms of an AddN that is fused.
constexpr size_t kMostTerms = 8;
constexpr int64_t kLongestRow = 4096;
// How many nodes the search for cycles may look at, for each node of the graph; then it is taken that there is one.
constexpr int64_t kMostSteps = 64;

// Groups of nodes that become one. A group takes in a node only if no way leads from the group through others to the
// node: then no cycle can arise.
class ElementwiseFuser {
 public:
  ElementwiseFuser(RewriteContext& context, const OpSchema* schema, const OpSchema* mixed_schema,
                   const FuseElementwiseOptions& options)
      : options_(options),
        context_(context),
        graph_(context.graph()),
        schema_(schema),
        mixed_schema_(mixed_schema),
        consumers_(context.consumers()),
        waits_(context.waits()) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    position_.assign(graph_.num_node_ids(), 0);
    group_of_.assign(graph_.num_node_ids(), kNoGroup);
    visited_.assign(graph_.num_node_ids(), 0);
    steps_left_ = kMostSteps * graph_.num_nodes();
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = static_cast<int>(i);
    for (NodeId id : order) {
      if (IsFusible(*graph_.node(id))) Join(id);
    }
    for (size_t i = order.size(); i-- > 0;) {
      if (group_of_[order[i]] != kNoGroup) CopyIntoReaders(order[i]);
    }
    Replacements replacements(&graph_);
    std::vector<Program> programs;
    for (const Group& group : groups_) {
      if (group.members.size() > 1) programs.push_back(Plan(group));
    }
    for (Program& program : programs) {
      if (program.place != nullptr) WEIR_RETURN_IF_ERROR(Put(std::move(program), replacements));
    }
    replacements.Apply();
    return OkStatus();
  }

 private:
  static constexpr int kNoGroup = -1;

  struct Group {
    std::vector<NodeId> members;  // in topological order; nodes of other groups among them are done again
    NodeId last = kNoNode;        // of its own
    NodeId row_op = kNoNode;      // one that works along rows, if there is any
  };
  // What becomes of a group.
  struct Program {
    Node* place = nullptr;
    std::vector<Endpoint> inputs;
    std::vector<NodeId> control;
    AttrList ops, types, results;
    std::vector<std::vector<int64_t>> operands;   // of each op
    AttrList names;                               // of the nodes, one for each op
    bool is_mixed = false;                        // not all values are of one type
    std::vector<std::pair<NodeId, int>> outputs;  // whose value is which output
    std::vector<NodeId> own;
  };

  bool IsFusible(const Node& node) {
    if (node.num_outputs() != 1 || node.inputs.empty() || !context_.MayRewrite(node)) return false;
    if (mixed_schema_ != nullptr && (node.schema->is_elementwise || IsSumWithRow(node)) && options_.mixes(node)) {
      return true;
    }
    if (std::ranges::count(options_.types, node.output_type(0)) == 0 || node.input_type(0) != node.output_type(0) ||
        !HasFloatLoop(node)) {
      return false;
    }
    if (node.schema->is_elementwise) return true;
    if (!options_.rows && WorksAlongRows(node)) return false;
    if (node.schema->is_rowwise) return HasFusibleRows(node);
    if (node.schema->is_reduction) return IsAlongRows(node) && HasFusibleRows(node);
    return node.op() == "AddN" && IsFusibleSum(node);
  }
  // A bias along the last dimension, known to be as long as that: a sum that broadcasts.
  bool IsSumWithRow(const Node& node) {
    if (node.op() != "BiasAdd" || node.Attr<std::string>("data_format").value_or("NHWC") != "NHWC") return false;
    const PartialShape &x = context_.ShapeOf(node.inputs[0]), &bias = context_.ShapeOf(node.inputs[1]);
    return x.rank() >= 2 && bias.rank() == 1 && bias.dim(0) >= 0 && bias.dim(0) == x.dim(x.rank() - 1);
  }
  static bool WorksAlongRows(const Node& node) { return node.schema->is_reduction || node.schema->is_rowwise; }
  // Whether a loop over floats stands for the whole operation, attributes included.
  bool HasFloatLoop(const Node& node) {
    auto [found, is_new] = has_loop_.try_emplace(node.schema, false);
    if (is_new) {
      found->second = FindFloatLoop(node.op()).has_value() && (!options_.has_loop || options_.has_loop(node.op()));
    }
    return found->second;
  }

  bool HasFusibleRows(const Node& node) {
    const PartialShape& shape = context_.ShapeOf(node.inputs[0]);
    if (shape.rank() < 1) return false;
    const int64_t row = shape.dim(shape.rank() - 1);
    return row > 1 && row <= kLongestRow;
  }
  // A reduction of the last dimension alone, which stays as 1.
  bool IsAlongRows(const Node& node) {
    const Node& axis = *graph_.node(node.inputs[1].node);
    if (!node.Attr<bool>("keep_dims").value_or(false) || !IsConstant(axis) || !axis.control_inputs.empty())
      return false;
    const Tensor* value = axis.attrs.Find("value")->get_if<Tensor>();
    if (value == nullptr || value->num_elements() != 1) return false;
    const int64_t dimension = value->dtype() == DType::kInt32 ? value->data<int32_t>()[0] : value->data<int64_t>()[0];
    const PartialShape& shape = context_.ShapeOf(node.inputs[0]);
    return shape.has_rank() && (dimension == -1 || dimension == shape.rank() - 1);
  }
  bool IsFusibleSum(const Node& node) {
    if (node.inputs.size() < 2 || node.inputs.size() > kMostTerms) return false;
    const PartialShape& first = context_.ShapeOf(node.inputs[0]);
    return first.has_rank() &&
           std::ranges::all_of(node.inputs, [&](Endpoint input) { return context_.ShapeOf(input) == first; });
  }

  // Makes a group of the node and of those its operands are in, as far as they may be.
  void Join(NodeId id) {
    const int group = static_cast<int>(groups_.size());
    groups_.push_back({{id}, id, WorksAlongRows(*graph_.node(id)) ? id : kNoNode});
    group_of_[id] = group;
    for (Endpoint input : graph_.node(id)->inputs) {
      const int other = group_of_[input.node];
      if (other == kNoGroup || other == group || !MayJoin(other, id)) continue;
      for (NodeId member : groups_[other].members) group_of_[member] = group;
      groups_[group].members.insert(groups_[group].members.end(), groups_[other].members.begin(),
                                    groups_[other].members.end());
      if (groups_[group].row_op == kNoNode) groups_[group].row_op = groups_[other].row_op;
      groups_[other] = {};
    }
    waits_.Join(groups_[group].members);
    SortByPosition(groups_[group].members);
  }
  void SortByPosition(std::vector<NodeId>& nodes) const {
    std::ranges::sort(nodes, {}, [&](NodeId node) { return position_[node]; });
  }

  bool MayJoin(int other, NodeId id) {
    const Group& first = groups_[other];
    const Group& second = groups_[group_of_[id]];
    if (first.members.size() + second.members.size() > kMostMembers || !FitTogether(first, second)) return false;
    for (NodeId member : first.members) {
      if (!context_.AreTogether(*graph_.node(member), *graph_.node(id))) return false;
      for (const Consumers::Use& use : consumers_.of(member)) {
        if (IsInside(use, other, group_of_[id])) continue;
        // Others see the member's value: it must not come to depend on what may be dead, or waits for them.
        if (waits_.MayBeDead(member) || waits_.MayBeDead(id) || !waits_.MayDelay(use.consumer, member, id))
          return false;
        if (Reaches(use.consumer, id)) return false;
      }
    }
    return true;
  }
  bool IsInside(const Consumers::Use& use, int a, int b) const {
    const int group = group_of_[use.consumer];
    return use.input >= 0 && (group == a || group == b);
  }

  // Where one of two groups works along rows, all of both must have these rows, or one number for each.
  bool FitTogether(const Group& first, const Group& second) {
    const NodeId row_op = first.row_op != kNoNode ? first.row_op : second.row_op;
    if (row_op == kNoNode) return true;
    auto fits = [&](NodeId member) { return HasRowsOf(member, row_op); };
    return std::ranges::all_of(first.members, fits) && std::ranges::all_of(second.members, fits);
  }
  bool HasRowsOf(NodeId member, NodeId row_op) {
    const PartialShape& whole = context_.ShapeOf(graph_.node(row_op)->inputs[0]);
    const PartialShape& shape = context_.ShapeOf({member, 0});
    if (WorksAlongRows(*graph_.node(member)) && !(context_.ShapeOf(graph_.node(member)->inputs[0]) == whole))
      return false;
    if (shape.rank() != whole.rank()) return false;
    for (int i = 0; i + 1 < shape.rank(); ++i) {
      if (shape.dim(i) != whole.dim(i)) return false;
    }
    const int64_t last = shape.dim(shape.rank() - 1);
    return last == 1 || last == whole.dim(whole.rank() - 1);
  }

  // Whether a way leads from one node to the group of the other, going through whole groups. All groups are of nodes up
  // to the other one's position, so nothing behind it leads back.
  bool Reaches(NodeId from, NodeId to) {
    ++search_;
    stack_.assign(1, from);
    while (!stack_.empty()) {
      const NodeId id = stack_.back();
      stack_.pop_back();
      if (visited_[id] == search_ || position_[id] > position_[to]) continue;
      visited_[id] = search_;
      if (group_of_[id] == group_of_[to] || --steps_left_ < 0) return true;
      if (group_of_[id] == kNoGroup) {
        for (const Consumers::Use& use : consumers_.of(id)) stack_.push_back(use.consumer);
        continue;
      }
      for (NodeId member : groups_[group_of_[id]].members) {
        visited_[member] = search_;
        for (const Consumers::Use& use : consumers_.of(member)) {
          if (group_of_[use.consumer] != group_of_[id]) stack_.push_back(use.consumer);
        }
      }
    }
    return false;
  }

  // A value that is made quickly of one other, or of what the takers read anyway, is made again in each group that
  // takes it, and not stored.
  void CopyIntoReaders(NodeId id) {
    const Node& node = *graph_.node(id);
    if (!node.control_inputs.empty()) return;
    std::vector<int> readers;
    for (const Consumers::Use& use : consumers_.of(id)) {
      if (use.input < 0 || group_of_[use.consumer] == kNoGroup) return;
      if (!context_.AreTogether(*graph_.node(use.consumer), node)) return;
      AddReaders(use.consumer, group_of_[id], readers);
    }
    if (readers.empty()) return;
    if (node.schema->cost == OpCost::kCheap && LargeOperands(node).size() <= 1 && !IsNarrower(node)) {
      const NodeId nodes[] = {id};
      if (MayCopy(nodes, readers)) Copy(nodes, readers);
      return;
    }
    const std::vector<NodeId> cone = Cone(id, readers);
    if (!cone.empty() && MayCopy(cone, readers)) Copy(cone, readers);
  }
  // Whether storing the value takes less than storing what it is made of.
  bool IsNarrower(const Node& node) {
    return std::ranges::any_of(LargeOperands(node), [&](Endpoint input) {
      return SizeOf(BaseType(node.output_type(0))) < SizeOf(BaseType(graph_.type(input)));
    });
  }
  bool MayCopy(std::span<const NodeId> nodes, std::span<const int> readers) {
    return std::ranges::all_of(readers, [&](int reader) {
      const Group& group = groups_[reader];
      if (group.members.size() + nodes.size() > kMostMembers) return false;
      return group.row_op == kNoNode ||
             std::ranges::all_of(nodes, [&](NodeId node) { return HasRowsOf(node, group.row_op); });
    });
  }
  void Copy(std::span<const NodeId> nodes, std::span<const int> readers) {
    for (int reader : readers) {
      std::vector<NodeId>& members = groups_[reader].members;
      for (NodeId node : nodes) {
        if (std::ranges::find(members, node) != members.end()) continue;
        members.push_back(node);
        copied_into_[node].push_back(reader);
      }
      SortByPosition(members);
    }
  }

  // All of its group that the node is made of, if that takes no large value that some reader does not read anyway;
  // nothing otherwise.
  std::vector<NodeId> Cone(NodeId id, std::span<const int> readers) {
    std::vector<NodeId> cone{id};
    for (size_t i = 0; i < cone.size(); ++i) {
      const Node& node = *graph_.node(cone[i]);
      if (WorksAlongRows(node) || !node.control_inputs.empty() || cone.size() > kLargestCone) return {};
      for (Endpoint input : LargeOperands(node)) {
        if (group_of_[input.node] == group_of_[id]) {
          if (std::ranges::find(cone, input.node) == cone.end()) cone.push_back(input.node);
        } else if (!std::ranges::all_of(readers, [&](int reader) { return Reads(groups_[reader], input); })) {
          return {};
        }
      }
    }
    return cone;
  }
  bool Reads(const Group& group, Endpoint value) const {
    return std::ranges::any_of(group.members, [&](NodeId member) {
      const std::vector<Endpoint>& inputs = graph_.node(member)->inputs;
      return std::ranges::find(inputs, value) != inputs.end();
    });
  }
  // The groups other than `own` that compute the node.
  void AddReaders(NodeId consumer, int own, std::vector<int>& readers) const {
    auto add = [&](int group) {
      if (group != own && std::ranges::find(readers, group) == readers.end()) readers.push_back(group);
    };
    add(group_of_[consumer]);
    if (auto found = copied_into_.find(consumer); found != copied_into_.end())
      std::ranges::for_each(found->second, add);
  }
  std::vector<Endpoint> LargeOperands(const Node& node) {
    const PartialShape whole = context_.ShapeOf({node.id, 0});
    auto is_small = [&](Endpoint input) {
      const PartialShape& shape = context_.ShapeOf(input);
      if (shape.num_elements() == 1) return true;
      if (!shape.has_rank() || !whole.has_rank()) return false;
      if (shape.rank() < whole.rank()) return true;
      for (int i = 0; i < shape.rank(); ++i) {
        if (shape.dim(i) == 1 && whole.dim(i) != 1) return true;
      }
      return false;
    };
    std::vector<Endpoint> large;
    for (Endpoint input : node.inputs) {
      if (!is_small(input) && std::ranges::find(large, input) == large.end()) large.push_back(input);
    }
    return large;
  }

  // The place of the last member that others see is the program's; what they take of the rest are further outputs.
  Program Plan(const Group& group) const {
    const int number = group_of_[group.last];
    Program program;
    auto is_own = [&](NodeId id) { return group_of_[id] == number; };
    std::vector<NodeId> members, seen;
    for (size_t i = group.members.size(); i-- > 0;) {
      const NodeId id = group.members[i];
      const bool is_used = std::ranges::any_of(consumers_.of(id), [&](const Consumers::Use& use) {
        return use.input >= 0 && std::ranges::find(members, use.consumer) != members.end();
      });
      if (is_own(id)) {
        program.own.push_back(id);
        if (IsSeen(id, number)) seen.push_back(id);
      }
      if (is_used || (!seen.empty() && seen.back() == id)) members.push_back(id);
    }
    if (seen.empty()) return program;
    program.place = graph_.node(seen.front());
    std::ranges::reverse(members);
    auto is_member = [&](NodeId id) { return std::ranges::find(members, id) != members.end(); };
    for (NodeId id : members) {
      const Node& node = *graph_.node(id);
      for (size_t i = 0; i < NumOperands(node); ++i) {
        const Endpoint input = node.inputs[i];
        if (!is_member(input.node) && std::ranges::find(program.inputs, input) == program.inputs.end()) {
          program.inputs.push_back(input);
        }
      }
    }
    for (NodeId id : program.own) {
      for (NodeId before : graph_.node(id)->control_inputs) {
        if (!is_own(before)) program.control.push_back(before);
      }
    }
    absl::flat_hash_map<NodeId, int64_t> value_of;
    for (NodeId id : members) {
      const Node& node = *graph_.node(id);
      auto number_of = [&](Endpoint value) {
        if (auto found = value_of.find(value.node); found != value_of.end()) return found->second;
        return static_cast<int64_t>(std::ranges::find(program.inputs, value) - program.inputs.begin());
      };
      auto add = [&](std::vector<int64_t> operands) {
        program.ops.s.push_back(node.op());
        program.names.s.push_back(node.name);
        program.types.type.push_back(node.output_type(0));
        program.operands.push_back(std::move(operands));
        return static_cast<int64_t>(program.inputs.size() + program.ops.s.size()) - 1;
      };
      std::vector<int64_t> operands;
      for (size_t i = 0; i < NumOperands(node); ++i) operands.push_back(number_of(node.inputs[i]));
      // A sum is one of two terms, and one of that and the next.
      const size_t first = node.op() == "AddN" ? 2 : operands.size();
      int64_t value = add({operands.begin(), operands.begin() + static_cast<ptrdiff_t>(first)});
      for (size_t i = first; i < operands.size(); ++i) value = add({value, operands[i]});
      value_of[id] = value;
    }
    auto add_result = [&](NodeId id) {
      program.outputs.emplace_back(id, static_cast<int>(program.results.i.size()));
      program.results.i.push_back(value_of[id] - static_cast<int64_t>(program.inputs.size()));
    };
    std::ranges::for_each(seen, add_result);
    program.is_mixed = IsMixed(program);
    return program;
  }
  bool IsMixed(const Program& program) const {
    const DType dtype = program.types.type.front();
    if (std::ranges::count(options_.types, dtype) == 0) return true;
    auto is_other = [&](DType other) { return BaseType(other) != dtype; };
    return std::ranges::any_of(program.types.type, is_other) ||
           std::ranges::any_of(program.inputs, [&](Endpoint input) { return is_other(graph_.type(input)); }) ||
           std::ranges::any_of(program.operands, [](const auto& operands) { return operands.size() > 2; });
  }
  // Of an operation; the axis of a reduction is none.
  static size_t NumOperands(const Node& node) { return WorksAlongRows(node) ? 1 : node.inputs.size(); }

  // Whether somebody who does not make it himself takes the node's value, or the step does.
  bool IsSeen(NodeId id, int own) const {
    if (consumers_.of(id).empty()) return true;
    auto copied = copied_into_.find(id);
    auto has = [&](int group) {
      return group == own ||
             (copied != copied_into_.end() && std::ranges::find(copied->second, group) != copied->second.end());
    };
    std::vector<int> readers;
    return std::ranges::any_of(consumers_.of(id), [&](const Consumers::Use& use) {
      if (use.input < 0) return false;
      if (group_of_[use.consumer] == kNoGroup) return true;
      readers.clear();
      AddReaders(use.consumer, own, readers);
      return !std::ranges::all_of(readers, has);
    });
  }

  Status Put(Program program, Replacements& replacements) {
    Node* fused = program.place;
    for (NodeId id : program.own) {
      if (id != fused->id) replacements.Replace(id, fused->id);
    }
    for (const auto& [id, output] : program.outputs) {
      if (id != fused->id) replacements.Replace(Endpoint{id, 0}, Endpoint{fused->id, output});
    }
    AttrList operands;
    for (const std::vector<int64_t>& each : program.operands) {
      operands.i.insert(operands.i.end(), each.begin(), each.end());
      operands.i.resize(operands.i.size() + (program.is_mixed ? 3 : 2) - each.size(), -1);
    }
    AttrMap attrs;
    if (program.is_mixed) {
      AttrList in, out;
      for (Endpoint input : program.inputs) in.type.push_back(BaseType(graph_.type(input)));
      for (int64_t result : program.results.i) out.type.push_back(program.types.type[result]);
      attrs.Set("Tin", std::move(in));
      attrs.Set("Tout", std::move(out));
      attrs.Set("types", std::move(program.types));
    } else {
      attrs.Set("T", fused->output_type(0));
      attrs.Set("N", static_cast<int64_t>(program.inputs.size()));
      attrs.Set("M", static_cast<int64_t>(program.results.i.size()));
    }
    attrs.Set("ops", std::move(program.ops));
    attrs.Set("operands", std::move(operands));
    attrs.Set("results", std::move(program.results));
    attrs.Set(kFusedNodes, std::move(program.names));
    fused->schema = program.is_mixed ? mixed_schema_ : schema_;
    fused->attrs = std::move(attrs);
    fused->inputs = std::move(program.inputs);
    fused->control_inputs.clear();
    for (NodeId id : program.control) AddControlInput(fused, id);
    return context_.Changed(fused);
  }

  const FuseElementwiseOptions& options_;
  RewriteContext& context_;
  Graph& graph_;
  const OpSchema* const schema_;
  const OpSchema* const mixed_schema_;  // null: programs are of one type
  const Consumers& consumers_;
  WaitAnalysis waits_;  // as it is with the groups so far
  absl::flat_hash_map<const OpSchema*, bool> has_loop_;
  std::vector<int> position_;  // in the topological order
  std::vector<int> group_of_;
  std::vector<Group> groups_;
  absl::flat_hash_map<NodeId, std::vector<int>> copied_into_;
  std::vector<int> visited_;  // by which search
  std::vector<NodeId> stack_;
  int search_ = 0;
  int64_t steps_left_ = 0;
};

}  // namespace

Status FuseElementwise(RewriteContext& context) { return FuseElementwise(context, {}); }

Status FuseElementwise(RewriteContext& context, const FuseElementwiseOptions& options) {
  auto schema = context.graph().ops().LookUp("_FusedElementwise");
  if (!schema.ok()) return OkStatus();  // a registry with other operations only
  const OpSchema* mixed_schema = options.mixes ? context.graph().ops().Find("_FusedMixedElementwise") : nullptr;
  return ElementwiseFuser(context, *schema, mixed_schema, options).Run();
}

}  // namespace weir
