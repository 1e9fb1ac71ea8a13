#include "weir/client/replica_devices.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/numbers.h"
#include "weir/framework/device.h"

namespace weir {
namespace {

constexpr std::string_view kBeside = "loc:@";

bool IsVariable(const Node& node) {
  return node.op() == "VarHandleOp" || node.op() == "VariableV2" || node.op() == "Variable";
}

bool TakesHandle(const Node& node, size_t input) {
  DType type = node.input_type(static_cast<int>(input));
  return IsRef(type) || type == DType::kResource;
}

// As far as the node says it; an unknown size counts as one element.
int64_t Bytes(const Node& node) {
  auto dtype = node.Attr<DType>("dtype");
  auto shape = node.Attr<PartialShape>("shape");
  int64_t elements = 1;
  if (shape.ok() && shape->has_rank()) {
    for (int64_t dim : shape->dims()) elements *= std::max<int64_t>(dim, 1);
  }
  return elements * static_cast<int64_t>(dtype.ok() && IsPlain(*dtype) ? SizeOf(*dtype) : 1);
}

class Setter {
 public:
  Setter(Graph& graph, const ReplicaDevices& options)
      : graph_(graph), options_(options), parent_(graph.num_node_ids()), load_(options.ps_tasks, 0) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void Run() {
    JoinUsers();
    std::vector<int64_t> bytes(graph_.num_node_ids(), 0);
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr && IsVariable(*node)) bytes[Root(node->id)] += Bytes(*node);
    }
    std::vector<int> server(graph_.num_node_ids(), -1);
    // Variables that an earlier call has placed keep their servers, and those that belong to them follow.
    for (const auto& node : graph_.nodes()) {
      const int chosen = node != nullptr && IsVariable(*node) ? ServerOf(*node) : -1;
      if (chosen < 0 || server[Root(node->id)] >= 0) continue;
      server[Root(node->id)] = chosen;
      load_[chosen] += bytes[Root(node->id)];
      ++next_;
    }
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || !node->requested_device.empty()) continue;
      if (IsVariable(*node)) {
        int& chosen = server[Root(node->id)];
        if (chosen < 0) chosen = Choose(bytes[Root(node->id)]);
        node->requested_device = Cat(options_.ps_device, "/task:", chosen);
      } else if (!UsesHandles(*node) && node->attrs.Find("_class") == nullptr) {
        node->requested_device = options_.worker_device;
      }
    }
  }

 private:
  NodeId Root(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  // Who uses a variable goes where it is, and so does a variable that is to lie beside another.
  void JoinUsers() {
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr) continue;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        if (TakesHandle(*node, i)) Join(node->id, node->inputs[i].node);
      }
      StatusOr<std::vector<std::string>> beside = std::vector<std::string>();
      if (IsVariable(*node)) beside = node->Attr<std::vector<std::string>>("_class");
      if (!beside.ok()) continue;
      for (std::string_view name : *beside) {
        if (!name.starts_with(kBeside)) continue;
        if (const Node* other = graph_.Find(name.substr(kBeside.size()))) Join(node->id, other->id);
      }
    }
  }
  void Join(NodeId a, NodeId b) {
    a = Root(a), b = Root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  static bool UsesHandles(const Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (TakesHandle(node, i)) return true;
    }
    return false;
  }

  // The number of the server that a node's device names; -1 if it is none.
  int ServerOf(const Node& node) const {
    const std::string prefix = Cat(options_.ps_device, "/task:");
    int number = -1;
    if (!node.requested_device.starts_with(prefix) ||
        !absl::SimpleAtoi(node.requested_device.substr(prefix.size()), &number) || number >= options_.ps_tasks) {
      return -1;
    }
    return number;
  }

  int Choose(int64_t bytes) {
    int chosen = next_++ % options_.ps_tasks;
    if (options_.placement == VariablePlacement::kByBytes) {
      chosen = static_cast<int>(std::min_element(load_.begin(), load_.end()) - load_.begin());
    }
    load_[chosen] += bytes;
    return chosen;
  }

  Graph& graph_;
  const ReplicaDevices& options_;
  std::vector<NodeId> parent_;
  std::vector<int64_t> load_;  // bytes of each server
  int next_ = 0;
};

}  // namespace

Status SetReplicaDevices(const Scope& scope, const ReplicaDevices& options) {
  WEIR_RETURN_IF_ERROR(scope.status());
  if (options.ps_tasks < 1)
    return InvalidArgument("variables cannot be placed on ", options.ps_tasks, " parameter servers");
  for (const std::string& device : {options.ps_device, options.worker_device}) {
    WEIR_RETURN_IF_ERROR(DeviceName::Parse(device).status());
  }
  Setter(scope.graph(), options).Run();
  return OkStatus();
}

}  // namespace weir
