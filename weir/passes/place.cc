#include "weir/passes/place.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "weir/base/fingerprint.h"
#include "weir/framework/device.h"
#include "weir/graph/loop_frames.h"
#include "weir/passes/reference_views.h"

namespace weir {
namespace {

// Calls pass resources to functions whose bodies are placed separately.
bool IsCall(const Node& node) {
  const std::string& op = node.op();
  return op == "PartitionedCall" || op == "StatefulPartitionedCall" || op == "If" || op == "StatelessIf" ||
         op == "While" || op == "StatelessWhile" || op == "Case" || op == "StatelessCase" || op == "SymbolicGradient" ||
         op == "RemoteCall" || op == "_Arg" || op == "_Retval";
}

// Datasets are passed in variants that cannot leave their process.
bool IsDataset(const Node& node) {
  return node.op().find("Dataset") != std::string::npos || node.op().find("Iterator") != std::string::npos;
}

bool IsMetadata(const Node& node) {
  return node.op() == "Shape" || node.op() == "Size" || node.op() == "Rank" || node.op() == "ShapeN";
}

// Nodes without inputs and with one plain result, which can be placed wherever the result is used.
bool IsGenerator(const Node& node) {
  return node.inputs.empty() && node.control_inputs.empty() && node.num_outputs() == 1 && !IsRef(node.output_type(0)) &&
         node.output_type(0) != DType::kResource && node.op() != "_Arg";
}

// Whether the node has state, or a value that is only meaningful where it was created: a handle, a dataset.
bool IsBoundToState(const Node& node) {
  auto is_local = [](DType type) { return IsRef(type) || type == DType::kResource || type == DType::kVariant; };
  return node.schema->is_stateful || std::ranges::any_of(node.types->inputs, is_local) ||
         std::ranges::any_of(node.types->outputs, is_local);
}

// The intersection of two requests; nothing if they contradict each other.
std::optional<DeviceName> Intersect(const DeviceName& a, const DeviceName& b) {
  DeviceName merged = a.MergedOver(b);
  if (!merged.Matches(a) || !merged.Matches(b)) return std::nullopt;
  return merged;
}

// Places a graph in two rounds. MakeGroups joins nodes that must share memory into groups (union-find; the root of a
// group is its node with the lowest id) and intersects the requests and devices of the members. Then every group gets
// its first feasible device, or the one that `choose` selects. Constants and the like, and nodes that only look at a
// shape, are placed last, beside their consumers or inputs.
class GraphPlacer {
 public:
  GraphPlacer(Graph* graph, const PlacementOptions& options) : graph_(*graph), options_(options) {}

  Status Run() {
    if (options_.devices.empty()) return InvalidArgument("There is no device to place nodes on");
    for (const PlaceableDevice& device : options_.devices) {
      WEIR_ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(device.name));
      device_names_.push_back(std::move(name));
    }
    Status grouped = MakeGroups(options_.whole_loops);
    if (!grouped.ok() && options_.whole_loops) grouped = MakeGroups(false);
    WEIR_RETURN_IF_ERROR(grouped);
    if (options_.choose) WEIR_RETURN_IF_ERROR(ChooseForAll());
    for (const auto& node : graph_.nodes()) {
      if (node && !ChoosesLate(*node)) WEIR_RETURN_IF_ERROR(Assign(*node));
    }
    return AssignLate();
  }

 private:
  // The requests and devices that all members of a group have in common.
  struct Group {
    DeviceName request;
    std::vector<int> devices;  // indices of the devices that have kernels for all members, best first
    int size = 0;
    bool done = false;
    bool has_state = false;
    NodeId reads = kNoNode;  // the reference whose memory a member shares
  };

  Status MakeGroups(bool whole_loops) {
    parent_.resize(graph_.num_node_ids());
    std::iota(parent_.begin(), parent_.end(), 0);
    follows_.assign(graph_.num_node_ids(), false);
    first_of_class_.clear();
    groups_.clear();
    for (const auto& node : graph_.nodes()) {
      if (node) WEIR_RETURN_IF_ERROR(JoinNeighbours(*node));
    }
    if (whole_loops) WEIR_RETURN_IF_ERROR(JoinLoops());
    WEIR_RETURN_IF_ERROR(CollectGroups());
    if (options_.variants_stay) JoinVariants();
    return OkStatus();
  }

  // Joins the groups of the producer and the consumer of a variant, if there is a device for both. The producer's order
  // of preference counts.
  void JoinVariants() {
    for (const auto& node : graph_.nodes()) {
      for (size_t i = 0; node && i < node->inputs.size(); ++i) {
        const Node& producer = *graph_.node(node->inputs[i].node);
        if (node->input_type(static_cast<int>(i)) != DType::kVariant || IsCall(*node) || IsCall(producer)) continue;
        MergeGroups(Root(producer.id), Root(node->id));
      }
    }
  }
  void MergeGroups(NodeId a, NodeId b) {
    if (a == b) return;
    Group &first = groups_[group_of_root_[a]], &second = groups_[group_of_root_[b]];
    std::optional<DeviceName> request = Intersect(first.request, second.request);
    if (!request) return;
    Group both = first;
    both.request = *std::move(request);
    std::erase_if(both.devices, [&](int d) { return std::ranges::find(second.devices, d) == second.devices.end(); });
    if (Matching(both, both.request).empty()) return;
    both.size += second.size;
    both.has_state |= second.has_state;
    if (both.reads == kNoNode) both.reads = second.reads;
    first = std::move(both);
    const int index = group_of_root_[a];
    Join(a, b);
    group_of_root_[Root(a)] = index;
  }

  // Joins all nodes of a loop, including nested loops, and its Exits, which are outside the frame.
  Status JoinLoops() {
    WEIR_ASSIGN_OR_RETURN(LoopFrames frames, FindLoopFrames(graph_));
    if (!frames.any()) return OkStatus();
    std::vector<NodeId> first(frames.frames.size(), kNoNode);
    for (const auto& node : graph_.nodes()) {
      if (!node) continue;
      int frame = frames.of_node[IsExit(*node) ? node->inputs[0].node : node->id];
      if (frame == 0) continue;
      while (frames.frames[frame].parent > 0) frame = frames.frames[frame].parent;
      if (first[frame] == kNoNode) first[frame] = node->id;
      Join(node->id, first[frame]);
    }
    return OkStatus();
  }

  NodeId Root(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Join(NodeId a, NodeId b) {
    a = Root(a), b = Root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  Status JoinNeighbours(const Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      DType type = node.input_type(static_cast<int>(i));
      const Node& producer = *graph_.node(node.inputs[i].node);
      if (type == DType::kVariant && IsDataset(node) && IsDataset(producer)) {
        Join(node.id, producer.id);
        continue;
      }
      if (!IsRef(type) && type != DType::kResource) continue;
      if (!IsRef(type) && (IsCall(node) || IsCall(producer))) {
        if (!options_.calls_keep_handles) continue;
        if (options_.calls_follow_handles && (IsCall(node) || producer.op() != "_Arg")) continue;
      }
      Join(node.id, producer.id);
      follows_[node.id] = true;
    }
    if (node.attrs.Find("_class") == nullptr) return OkStatus();
    auto classes = node.Attr<std::vector<std::string>>("_class");
    if (!classes.ok()) return OkStatus();
    constexpr std::string_view kPrefix = "loc:@";
    for (std::string_view name : *classes) {
      if (!name.starts_with(kPrefix)) continue;
      name.remove_prefix(kPrefix.size());
      // The named node may have been pruned; nodes that name it must still be placed together.
      const Node* other = graph_.Find(name);
      auto [it, fresh] = first_of_class_.try_emplace(std::string(name), other != nullptr ? other->id : node.id);
      if (options_.allow_soft_placement && !fresh && !MayShare(node, *graph_.node(it->second))) continue;
      if (options_.allow_soft_placement && other != nullptr && !MayShare(node, *other)) continue;
      Join(node.id, it->second);
    }
    return OkStatus();
  }

  bool MayShare(const Node& a, const Node& b) {
    const std::vector<int>& of_a = DevicesFor(a);
    const std::vector<int> copy(of_a.begin(), of_a.end());
    const std::vector<int>& of_b = DevicesFor(b);
    return std::ranges::any_of(copy, [&](int d) { return std::ranges::find(of_b, d) != of_b.end(); });
  }

  // The devices for which the node has kernels, best type first.
  const std::vector<int>& DevicesFor(const Node& node) {
    std::vector<std::string> types = options_.supported_types(node);
    std::string key;
    for (const std::string& type : types) key += Cat(type, ";");
    auto [it, fresh] = devices_of_types_.try_emplace(std::move(key));
    if (fresh) {
      for (const std::string& type : types) {
        for (size_t i = 0; i < options_.devices.size(); ++i) {
          if (options_.devices[i].type == type) it->second.push_back(static_cast<int>(i));
        }
      }
    }
    return it->second;
  }

  // The target of a RemoteCall, if it is known and exists.
  std::optional<DeviceName> CallTarget(const Node& node) const {
    if (node.op() != "RemoteCall" || node.inputs.empty()) return std::nullopt;
    const Node& target = *graph_.node(node.inputs[0].node);
    if (target.op() != "Const") return std::nullopt;
    StatusOr<Tensor> text = target.Attr<Tensor>("value");
    if (!text.ok() || text->dtype() != DType::kString || !text->shape().IsScalar()) return std::nullopt;
    StatusOr<DeviceName> name = DeviceName::Parse(text->scalar<std::string>());
    const bool exists =
        name.ok() && std::ranges::any_of(device_names_, [&](const DeviceName& d) { return d.Matches(*name); });
    return exists ? std::optional(*std::move(name)) : std::nullopt;
  }

  StatusOr<DeviceName> Requested(const Node& node) {
    if (std::optional<DeviceName> target = CallTarget(node)) return *std::move(target);
    const std::string& text = node.assigned_device.empty() ? node.requested_device : node.assigned_device;
    auto it = parsed_.find(text);
    if (it != parsed_.end()) return it->second;
    StatusOr<DeviceName> name = DeviceName::Parse(text);
    if (!name.ok()) {
      return InvalidArgument("Malformed device specification '", text, "' in node: {{node ", node.name, "}}");
    }
    parsed_.emplace(text, *name);
    return name;
  }

  Status CollectGroups() {
    group_of_root_.assign(graph_.num_node_ids(), -1);
    for (const auto& node : graph_.nodes()) {
      if (node && !follows_[node->id]) WEIR_RETURN_IF_ERROR(AddToGroup(*node));
    }
    for (const auto& node : graph_.nodes()) {
      if (node && follows_[node->id]) WEIR_RETURN_IF_ERROR(AddToGroup(*node));
    }
    return OkStatus();
  }

  Status AddToGroup(const Node& node) {
    int& index = group_of_root_[Root(node.id)];
    WEIR_ASSIGN_OR_RETURN(DeviceName request, Requested(node));
    const std::vector<int>& devices = DevicesFor(node);
    if (devices.empty()) return NoKernel(node);
    if (index < 0) {
      index = static_cast<int>(groups_.size());
      groups_.push_back({std::move(request), devices, 1, false, node.schema->is_stateful});
      NoteReads(node, groups_.back());
      return OkStatus();
    }
    Group& group = groups_[index];
    ++group.size;
    group.has_state |= node.schema->is_stateful;
    NoteReads(node, group);
    std::erase_if(group.devices, [&](int d) { return std::ranges::find(devices, d) == devices.end(); });
    const Node& first = *graph_.node(Root(node.id));
    if (group.devices.empty()) {
      return InvalidArgument("Cannot colocate nodes {{colocation_node ", node.name, "}} and {{colocation_node ",
                             first.name,
                             "}} because no device type supports both of those nodes and the other nodes "
                             "colocated with them.");
    }
    std::optional<DeviceName> merged = Intersect(group.request, request);
    if (merged) {
      group.request = *std::move(merged);
    } else if (!options_.allow_soft_placement && !follows_[node.id]) {
      return InvalidArgument("Cannot colocate nodes {{colocation_node ", node.name, "}} and {{colocation_node ",
                             first.name, "}}: Cannot merge devices with incompatible ",
                             WhatDiffers(group.request, request), ": '", group.request.ToString(), "' and '",
                             request.ToString(), "'");
    }
    return OkStatus();
  }

  void NoteReads(const Node& node, Group& group) const {
    if (!options_.spread) return;
    for (Endpoint input : node.inputs) {
      if (group.reads == kNoNode) group.reads = ReferenceBehind(graph_, input);
    }
  }

  static std::string_view WhatDiffers(const DeviceName& a, const DeviceName& b) {
    if (a.job != b.job) return "jobs";
    if (a.replica != b.replica) return "replicas";
    if (a.task != b.task) return "tasks";
    return a.type != b.type ? "types" : "ids";
  }

  Group& GroupOf(const Node& node) { return groups_[group_of_root_[Root(node.id)]]; }

  // The devices of the group that match a request, best first.
  std::vector<int> Matching(const Group& group, const DeviceName& request) const {
    std::vector<int> out;
    std::ranges::copy_if(group.devices, std::back_inserter(out),
                         [&](int d) { return device_names_[d].Matches(request); });
    return out;
  }

  bool ChoosesLate(const Node& node) {
    if (!node.assigned_device.empty()) return false;
    // With one device there is no choice. Errors about requests for others are still reported last.
    if (options_.devices.size() == 1 && node.requested_device.empty()) return false;
    if (options_.spread && node.schema->is_stateful) return false;  // state is on one device only
    return GroupOf(node).size == 1 && (IsGenerator(node) || (IsMetadata(node) && !options_.choose));
  }

  // Reduces the devices of every group to one. Groups with state have no choice: every signature, and every session
  // that shares the state, must find it on the same device, but costs differ between them.
  Status ChooseForAll() {
    PlacementChoices choices;
    choices.group_of.assign(graph_.num_node_ids(), -1);
    std::vector<int> place(groups_.size(), -1);  // by group: its index in `choices`
    std::vector<int> group_of_place;
    std::vector<bool> bound(groups_.size(), false);
    for (const auto& node : graph_.nodes()) {
      if (node && IsBoundToState(*node)) bound[group_of_root_[Root(node->id)]] = true;
    }
    for (const auto& node : graph_.nodes()) {
      if (!node || ChoosesLate(*node)) continue;
      const int group = group_of_root_[Root(node->id)];
      if (place[group] < 0) {
        place[group] = static_cast<int>(group_of_place.size());
        group_of_place.push_back(group);
        WEIR_ASSIGN_OR_RETURN(std::vector<int> devices, Feasible(*node, groups_[group]));
        if (bound[group]) devices.resize(1);
        choices.devices.push_back(std::move(devices));
      }
      choices.group_of[node->id] = place[group];
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<int> chosen, options_.choose(choices));
    if (chosen.size() != group_of_place.size()) return Internal("A placer left groups of nodes without a device");
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (std::ranges::find(choices.devices[i], chosen[i]) == choices.devices[i].end()) {
        return Internal("A placer chose a device that a group of nodes cannot run on");
      }
      groups_[group_of_place[i]].devices = {chosen[i]};
      groups_[group_of_place[i]].done = true;
    }
    return OkStatus();
  }

  // One of the matching devices of the best type. A node that shares the memory of a variable stays with the variable.
  StatusOr<int> SpreadMatch(const Node& node, const Group& group) {
    std::vector<int> fit;
    for (int d : group.devices) {
      const bool same_type = options_.devices[d].type == options_.devices[group.devices[0]].type;
      if (same_type && device_names_[d].Matches(group.request)) fit.push_back(d);
    }
    if (fit.empty()) return -1;
    if (!group.has_state && group.reads != kNoNode) {
      Node& variable = *graph_.node(group.reads);
      if (GroupOf(variable).has_state) WEIR_RETURN_IF_ERROR(Assign(variable));
      for (int d : fit) {
        if (options_.devices[d].name == variable.assigned_device) return d;
      }
    }
    return group.has_state ? fit.back() : fit[Fingerprint64(node.name) % fit.size()];
  }

  StatusOr<int> Choose(const Node& node, const Group& group) {
    int device = -1;
    if (options_.spread) {
      WEIR_ASSIGN_OR_RETURN(device, SpreadMatch(node, group));
    }
    if (device >= 0) return device;
    WEIR_ASSIGN_OR_RETURN(std::vector<int> devices, Feasible(node, group));
    return devices.front();
  }

  // The possible devices for the group of a node, best first; at least one. Errors name the node.
  StatusOr<std::vector<int>> Feasible(const Node& node, const Group& group) {
    std::vector<int> devices = Matching(group, group.request);
    if (devices.empty() && options_.allow_soft_placement) {
      DeviceName relaxed = group.request;
      relaxed.type.clear();
      relaxed.id = -1;
      devices = Matching(group, relaxed);
    }
    if (!devices.empty()) return devices;
    std::string text = Cat("Cannot assign a device for operation ", node.name, ": ");
    bool exists = std::ranges::any_of(device_names_, [&](const DeviceName& d) { return d.Matches(group.request); });
    if (exists) {
      return InvalidArgument(text, "Could not satisfy explicit device specification '", group.request.ToString(),
                             "' because no supported kernel for ", group.request.type,
                             " devices is available.\n\t [[{{node ", node.name, "}}]]");
    }
    text += Cat("{{node ", node.name, "}} was explicitly assigned to ", group.request.ToString(),
                " but available devices are [ ");
    for (const PlaceableDevice& each : options_.devices)
      text += Cat(&each == &options_.devices[0] ? "" : ", ", each.name);
    return InvalidArgument(text, " ]. Make sure the device specification refers to a valid device.\n\t [[{{node ",
                           node.name, "}}]]");
  }

  Status Assign(Node& node) {
    if (!node.assigned_device.empty()) return OkStatus();
    Group& group = GroupOf(node);
    if (!group.done) {
      WEIR_ASSIGN_OR_RETURN(int device, Choose(node, group));
      group.devices = {device};
      group.done = true;
    }
    node.assigned_device = options_.devices[group.devices[0]].name;
    return OkStatus();
  }

  // Places nodes without inputs with their consumers, and nodes that look at a shape with their input, if possible.
  Status AssignLate() {
    if (options_.devices.size() == 1) {
      for (const auto& node : graph_.nodes()) {
        if (node) WEIR_RETURN_IF_ERROR(Assign(*node));
      }
      return OkStatus();
    }
    Consumers consumers(graph_);
    for (const auto& node : graph_.nodes()) {
      if (!node || !ChoosesLate(*node)) continue;
      std::string wish;
      if (IsMetadata(*node)) {
        wish = graph_.node(node->inputs.empty() ? node->id : node->inputs[0].node)->assigned_device;
      } else {
        for (const Consumers::Use& use : consumers.of(node->id)) {
          const std::string& device = graph_.node(use.consumer)->assigned_device;
          if (!wish.empty() && wish != device) {
            if (!options_.choose) wish.clear();  // with costs, any of the consumers' devices is better
            break;
          }
          wish = device;
        }
      }
      const Group& group = GroupOf(*node);
      for (int d : group.devices) {
        if (options_.devices[d].name == wish && device_names_[d].Matches(group.request)) node->assigned_device = wish;
      }
      WEIR_RETURN_IF_ERROR(Assign(*node));
    }
    return OkStatus();
  }

  static Status NoKernel(const Node& node) {
    return InvalidArgument("Cannot assign a device for operation ", node.name,
                           ": No OpKernel was registered to support Op '", node.op(), "' used by {{node ", node.name,
                           "}}\n\t [[{{node ", node.name, "}}]]");
  }

  Graph& graph_;
  const PlacementOptions& options_;
  std::vector<DeviceName> device_names_;
  std::vector<NodeId> parent_;
  // By node: takes a handle or reference, so it is placed with the producer whatever it requests.
  std::vector<bool> follows_;
  std::vector<int> group_of_root_;
  std::vector<Group> groups_;
  StringMap<NodeId> first_of_class_;
  StringMap<DeviceName> parsed_;
  std::map<std::string, std::vector<int>> devices_of_types_;
};

}  // namespace

Status PlaceGraph(Graph* graph, const PlacementOptions& options) { return GraphPlacer(graph, options).Run(); }

}  // namespace weir
