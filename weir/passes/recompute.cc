#include "weir/passes/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "weir/base/strings.h"

namespace weir {
namespace {

constexpr int64_t kUnknownSize = 64;      // of a dimension; batches mostly
constexpr int64_t kLargeElements = 1024;  // smaller tensors are not worth a copy of what computes them

bool IsInScope(std::string_view name, std::string_view scope) {
  for (size_t at = 0; at < name.size();) {
    if (name.substr(at).starts_with(scope)) return name.find('/', at) != std::string_view::npos;
    const size_t slash = name.find('/', at);
    if (slash == std::string_view::npos) return false;
    at = slash + 1;
  }
  return false;
}

struct ByPlace {
  bool operator()(Endpoint a, Endpoint b) const { return std::pair(a.node, a.index) < std::pair(b.node, b.index); }
};
template <typename Value>
using EndpointMap = std::map<Endpoint, Value, ByPlace>;
using EndpointSet = std::set<Endpoint, ByPlace>;

bool IsCheap(const OpSchema& op) { return op.is_elementwise || op.is_rowwise || op.is_view || op.is_recomputable; }

// What is computed again together.
struct Block {
  std::vector<NodeId> nodes;  // in the order in which they run
  bool is_marked = false;
};

class Recomputer {
 public:
  Recomputer(RewriteContext& context, const RecomputeOptions& options)
      : context_(context), graph_(context.graph()), options_(options), consumers_(context.consumers()) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(order_, TopologicalOrder(graph_));
    position_.resize(graph_.num_node_ids());
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = static_cast<int>(i);
    if (!FindBackward()) return OkStatus();
    std::vector<Block> blocks = FindBlocks();
    // From the last to the first: what flows into a block that is computed again is kept.
    std::ranges::sort(
        blocks, [&](const Block& a, const Block& b) { return position_[a.nodes.back()] > position_[b.nodes.back()]; });
    for (const Block& block : blocks) WEIR_RETURN_IF_ERROR(Recompute(block));
    return OkStatus();
  }

 private:
  // Which nodes belong to the backward pass. Of those in the scope of gradients, what is made of activations alone and
  // meets a gradient only then, as the derivative of an activation, counts as an activation itself.
  bool FindBackward() {
    is_backward_.assign(graph_.num_node_ids(), false);
    std::vector<bool> needs_no_gradient = is_backward_;
    for (NodeId id : order_) {
      const Node& node = *graph_.node(id);
      is_backward_[id] = IsOfGradients(node);
      needs_no_gradient[id] =
          is_backward_[id] && IsCheap(*node.schema) && IsPure(node) &&
          std::ranges::all_of(node.inputs, [&](Endpoint input) {
            return !is_backward_[input.node] || needs_no_gradient[input.node] || IsConstant(*graph_.node(input.node));
          });
    }
    std::vector<bool> is_activation(is_backward_.size(), false);
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      is_activation[*id] =
          needs_no_gradient[*id] && std::ranges::any_of(consumers_.of(*id), [&](const Consumers::Use& use) {
            return use.input >= 0 && (!needs_no_gradient[use.consumer] || is_activation[use.consumer]);
          });
      if (is_activation[*id]) is_backward_[*id] = false;
    }
    return std::ranges::count(is_backward_, true) > 0;
  }

  // By its name. TensorFlow's functions have their gradients in a scope of their own.
  bool IsOfGradients(const Node& node) const {
    return IsInScope(node.name, options_.gradient_scope) || IsInScope(node.name, "gradient_tape");
  }

  bool MayRunAgain(const Node& node) const {
    if (is_backward_[node.id] || !IsPure(node) || IsConstant(node) || context_.waits().MayBeDead(node.id)) return false;
    auto is_data = [](DType type) { return !IsRef(type) && type != DType::kResource && type != DType::kVariant; };
    return std::ranges::all_of(node.types->outputs, is_data) && std::ranges::all_of(node.types->inputs, is_data);
  }

  std::vector<Block> FindBlocks() {
    parent_.resize(graph_.num_node_ids());
    for (NodeId id = 0; id < static_cast<NodeId>(parent_.size()); ++id) parent_[id] = id;
    std::vector<std::optional<std::string>> key(parent_.size());
    std::map<std::string, NodeId> first_of;  // trees with the same operand are one
    roots_.assign(parent_.size(), Endpoint{kNoNode, 0});
    for (NodeId id : order_) {
      const Node& node = *graph_.node(id);
      if (!MayRunAgain(node)) continue;
      if (const Attribute* hint = node.attrs.Find(kRecomputeHint)) {
        key[id] = Cat("m", hint->ToString());
      } else if (const std::optional<std::string> block = BlockOfDerivative(node, key)) {
        key[id] = block;
      } else if (options_.what == Recomputation::kChosen && IsCheap(*node.schema)) {
        roots_[id] = LargeOperand(node);
        if (roots_[id].node != kNoNode) key[id] = Cat("c", roots_[id].node, ":", roots_[id].index);
      }
      if (!key[id]) continue;
      if (key[id]->starts_with('c')) parent_[Find(id)] = Find(first_of.try_emplace(*key[id], id).first->second);
      for (Endpoint input : node.inputs) {
        if (key[input.node] == key[id]) parent_[Find(id)] = Find(input.node);
      }
    }
    std::map<NodeId, Block> blocks;
    for (NodeId id : order_) {
      if (!key[id]) continue;
      Block& block = blocks[Find(id)];
      block.nodes.push_back(id);
      block.is_marked = key[id]->starts_with('m');
    }
    std::vector<Block> out;
    for (auto& [id, block] : blocks) out.push_back(std::move(block));
    return out;
  }
  // What gradients make of a marked block's activations is part of the block.
  std::optional<std::string> BlockOfDerivative(const Node& node,
                                               const std::vector<std::optional<std::string>>& key) const {
    if (!IsOfGradients(node)) return std::nullopt;
    for (Endpoint input : node.inputs) {
      if (key[input.node] && key[input.node]->starts_with('m')) return key[input.node];
    }
    return std::nullopt;
  }
  NodeId Find(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  // The only large tensor that a tree which ends with this node takes; no node if there are several or none.
  Endpoint LargeOperand(const Node& node) {
    Endpoint only{kNoNode, 0};
    for (Endpoint input : node.inputs) {
      if (!IsLarge(input)) continue;
      const Endpoint root = roots_[input.node].node != kNoNode ? roots_[input.node] : input;
      if (only.node != kNoNode && only != root) return {kNoNode, 0};
      only = root;
    }
    return only;
  }
  int64_t NumBytes(Endpoint tensor) {
    const PartialShape& shape = context_.ShapeOf(tensor);
    if (!shape.has_rank()) return 0;
    auto bytes = static_cast<double>(SizeOf(graph_.type(tensor)));
    for (int i = 0; i < shape.rank(); ++i) {
      bytes *= static_cast<double>(shape.dim(i) < 0 ? kUnknownSize : shape.dim(i));
    }
    return static_cast<int64_t>(std::min(bytes, 1e18));
  }
  bool IsLarge(Endpoint tensor) {
    return graph_.type(tensor) != DType::kString && NumBytes(tensor) >= kLargeElements * 4;
  }

  // A gradient that this node of the backward pass takes: it cannot run before.
  NodeId GradientOf(const Node& taker) const {
    NodeId last = kNoNode;
    for (Endpoint input : taker.inputs) {
      const Node& producer = *graph_.node(input.node);
      if (input.node >= std::ssize(is_backward_) || !is_backward_[input.node] || IsConstant(producer) ||
          !IsFloating(graph_.type(input)) || context_.waits().MayBeDead(input.node)) {
        continue;
      }
      if (last == kNoNode || position_[input.node] > position_[last]) last = input.node;
    }
    return last;
  }

  // What the backward pass takes of a block, and who takes it.
  struct Demand {
    EndpointMap<std::vector<Consumers::Use>> takers;
    NodeId first = kNoNode;  // of the takers
  };
  Demand DemandFor(const Block& block) {
    Demand demand;
    for (NodeId id : block.nodes) {
      for (const Consumers::Use& use : consumers_.of(id)) {
        const Endpoint tensor{id, use.output};
        if (use.input < 0 || !is_backward_[use.consumer] || kept_.contains(tensor)) continue;
        if (!block.is_marked && !IsLarge(tensor)) continue;
        const Node& taker = *graph_.node(use.consumer);
        if (taker.inputs[static_cast<size_t>(use.input)] != tensor || GradientOf(taker) == kNoNode) continue;
        demand.takers[tensor].push_back(use);
        if (demand.first == kNoNode || position_[taker.id] < position_[demand.first]) demand.first = taker.id;
      }
    }
    return demand;
  }

  // The nodes of the block that compute what is wanted, and the tensors that these take from elsewhere.
  struct Work {
    std::vector<NodeId> nodes;
    EndpointSet sources;
  };
  Work WorkFor(const Block& block, const Demand& demand) const {
    std::set<NodeId> wanted;
    for (const auto& [tensor, takers] : demand.takers) wanted.insert(tensor.node);
    const std::set<NodeId> members(block.nodes.begin(), block.nodes.end());
    Work work;
    for (auto id = block.nodes.rbegin(); id != block.nodes.rend(); ++id) {
      if (!wanted.contains(*id)) continue;
      work.nodes.push_back(*id);
      for (Endpoint input : graph_.node(*id)->inputs) {
        if (members.contains(input.node) && !kept_.contains(input)) {
          wanted.insert(input.node);
        } else {
          work.sources.insert(input);
        }
      }
    }
    std::ranges::reverse(work.nodes);
    return work;
  }

  bool SavesMemory(const Demand& demand, const Work& work) {
    int64_t saved = 0, added = 0;
    for (const auto& [tensor, takers] : demand.takers) saved += NumBytes(tensor);
    for (Endpoint source : work.sources) {
      if (IsLarge(source) && !IsKeptAnyway(source)) added += NumBytes(source);
    }
    return saved > added;
  }
  bool IsKeptAnyway(Endpoint tensor) const {
    const Node& producer = *graph_.node(tensor.node);
    if (kept_.contains(tensor) || IsConstant(producer) || !IsPure(producer)) return true;
    return std::ranges::any_of(consumers_.of(tensor.node), [&](const Consumers::Use& use) {
      return use.output == tensor.index && is_backward_[use.consumer] &&
             GradientOf(*graph_.node(use.consumer)) != kNoNode;
    });
  }

  // Whether all takers may wait for the gradient.
  bool MayWait(const Demand& demand, NodeId gradient) const {
    return std::ranges::all_of(demand.takers, [&](const auto& entry) {
      return std::ranges::all_of(entry.second, [&](const Consumers::Use& use) {
        return !context_.waits().MayBeDead(use.consumer) &&
               context_.waits().MayDelay(use.consumer, entry.first.node, gradient);
      });
    });
  }

  Status Recompute(const Block& block) {
    const Demand demand = DemandFor(block);
    if (demand.first == kNoNode) return OkStatus();
    const NodeId gradient = GradientOf(*graph_.node(demand.first));
    const Work work = WorkFor(block, demand);
    if ((!block.is_marked && !SavesMemory(demand, work)) || !MayWait(demand, gradient)) return OkStatus();
    EndpointMap<Endpoint> late;  // sources that wait for the gradient
    for (Endpoint source : work.sources) {
      const Node& producer = *graph_.node(source.node);
      kept_.insert(source);
      if (IsConstant(producer) || IsRef(graph_.type(source))) continue;
      AttrMap attrs;
      attrs.Set("T", graph_.type(source));
      WEIR_ASSIGN_OR_RETURN(Node * gate, context_.AddBeside(producer, "Identity", {source}, std::move(attrs)));
      AddControlInput(gate, gradient);
      late[source] = {gate->id, 0};
    }
    std::map<NodeId, NodeId> copies;
    for (NodeId id : work.nodes) {
      WEIR_ASSIGN_OR_RETURN(copies[id], Copy(*graph_.node(id), late, copies, gradient));
    }
    for (const auto& [tensor, takers] : demand.takers) {
      for (const Consumers::Use& use : takers) {
        Node* taker = graph_.node(use.consumer);
        taker->inputs[static_cast<size_t>(use.input)] = {copies.at(tensor.node), tensor.index};
        WEIR_RETURN_IF_ERROR(context_.Changed(taker));
      }
    }
    return OkStatus();
  }

  StatusOr<NodeId> Copy(const Node& node, const EndpointMap<Endpoint>& late, const std::map<NodeId, NodeId>& copies,
                        NodeId gradient) {
    std::vector<Endpoint> inputs;
    bool waits = false;
    for (Endpoint input : node.inputs) {
      if (auto gate = late.find(input); gate != late.end()) {
        input = gate->second;
        waits = true;
      } else if (auto copy = copies.find(input.node); copy != copies.end() && !kept_.contains(input)) {
        input.node = copy->second;
        waits = true;
      }
      inputs.push_back(input);
    }
    AttrMap attrs = node.attrs;
    attrs.Erase(kRecomputeHint);
    WEIR_ASSIGN_OR_RETURN(Node * copy, context_.AddBeside(node, node.op(), std::move(inputs), std::move(attrs)));
    if (!waits) AddControlInput(copy, gradient);
    return copy->id;
  }

  RewriteContext& context_;
  Graph& graph_;
  const RecomputeOptions& options_;
  const Consumers& consumers_;
  std::vector<NodeId> order_;
  std::vector<int> position_;  // in order_
  std::vector<bool> is_backward_;
  std::vector<NodeId> parent_;   // of the sets of nodes that become blocks
  std::vector<Endpoint> roots_;  // by node: the large operand of the tree it is chosen for
  EndpointSet kept_;             // what copies take
};

}  // namespace

StatusOr<Recomputation> ParseRecomputation(std::string_view name) {
  for (Recomputation known : {Recomputation::kNone, Recomputation::kMarked, Recomputation::kChosen}) {
    if (name == Name(known)) return known;
  }
  return InvalidArgument("What is recomputed must be none, marked or chosen, not '", name, "'");
}

std::string_view Name(Recomputation recomputation) {
  switch (recomputation) {
    case Recomputation::kMarked:
      return "marked";
    case Recomputation::kChosen:
      return "chosen";
    case Recomputation::kNone:
      break;
  }
  return "none";
}

Status RecomputeActivations(RewriteContext& context, const RecomputeOptions& options) {
  if (options.what == Recomputation::kNone || !context.ShapesAgree()) return OkStatus();
  return Recomputer(context, options).Run();
}

}  // namespace weir
