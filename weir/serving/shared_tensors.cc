#include "weir/serving/shared_tensors.h"

#include <cstring>
#include <vector>

#include "absl/hash/hash.h"
#include "weir/graph/graph.h"
#include "weir/resources/variable.h"
#include "weir/tensor/trim.h"

namespace weir {
namespace {

bool IsLarge(const Tensor& tensor) {
  return tensor.has_value() && IsPlain(tensor.dtype()) && tensor.num_bytes() >= SharedTensors::kSmallest &&
         tensor.raw_data() != nullptr && tensor.in_host_memory();
}

std::string_view BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), tensor.num_bytes()};
}

bool AreEqual(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.is_aligned() == b.is_aligned() &&
         std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
}

std::string StringAttr(const Node& node, std::string_view name) {
  const Attribute* value = node.attrs.Find(name);
  const std::string* text = value != nullptr ? value->get_if<std::string>() : nullptr;
  return text != nullptr ? *text : std::string();
}

// The memory of tensors that are gone: the allocator would keep it for others of their sizes, which do not come.
int64_t GiveBack(const std::vector<size_t>& sizes) {
  int64_t total = 0;
  for (size_t bytes : sizes) {
    CpuTrim(bytes);
    total += static_cast<int64_t>(bytes);
  }
  return total;
}

}  // namespace

Tensor SharedTensors::Share(const Tensor& tensor) {
  const uint64_t hash = absl::HashOf(static_cast<int>(tensor.dtype()), tensor.shape().ToString(), BytesOf(tensor));
  absl::MutexLock lock(&mu_);
  auto [begin, end] = known_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (AreEqual(at->second, tensor)) return at->second;
  }
  known_.emplace(hash, tensor);
  return tensor;
}

int64_t SharedTensors::ShareConstants(Graph& graph) {
  std::vector<size_t> freed;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsConstant(*node)) continue;
    const Attribute* value = node->attrs.Find("value");
    const Tensor* tensor = value != nullptr ? value->get_if<Tensor>() : nullptr;
    if (tensor == nullptr || !IsLarge(*tensor)) continue;
    Tensor shared = Share(*tensor);
    if (shared.SharesBufferWith(*tensor)) continue;
    freed.push_back(tensor->num_bytes());
    node->attrs.Set("value", std::move(shared));
  }
  return GiveBack(freed);
}

int64_t SharedTensors::ShareVariables(const Graph& graph, ResourceManager& resources) {
  std::vector<size_t> freed;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != "VarHandleOp") continue;
    std::string name = StringAttr(*node, "shared_name");
    if (name.empty()) name = node->name;
    auto found = resources.LookUp<VariableResource>(StringAttr(*node, "container"), name);
    if (!found.ok()) continue;  // no step has made it
    VariableResource& variable = **found;
    const Tensor tensor = variable.Read();
    if (!IsLarge(tensor)) continue;
    Tensor shared = Share(tensor);
    if (shared.SharesBufferWith(tensor)) continue;
    absl::MutexLock lock(&variable.mu);
    if (!variable.tensor.SharesBufferWith(tensor)) continue;  // written meanwhile
    variable.tensor = std::move(shared);
    freed.push_back(tensor.num_bytes());
  }
  return GiveBack(freed);
}

void SharedTensors::Sweep() {
  std::vector<size_t> freed;
  {
    absl::MutexLock lock(&mu_);
    std::erase_if(known_, [&](const auto& entry) {
      if (!entry.second.unique()) return false;
      freed.push_back(entry.second.num_bytes());
      return true;
    });
  }
  GiveBack(freed);
}

int64_t SharedTensors::num_tensors() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(known_.size());
}

}  // namespace weir
