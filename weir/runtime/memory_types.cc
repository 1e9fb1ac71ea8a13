#include "weir/runtime/memory_types.h"

#include <algorithm>

#include "weir/runtime/execution_plan.h"

namespace weir {
namespace {

bool HostOnly(DType dtype) { return IsRef(dtype) || !IsPlain(dtype); }

bool IsPredicate(const Node& node, int input) {
  return node.op() == "LoopCond" || ((node.op() == "Switch" || node.op() == "RefSwitch") && input == 1);
}

}  // namespace

MemoryType NativeMemory(DType dtype) {
  return HostOnly(dtype) || dtype == DType::kInt32 ? MemoryType::kHost : MemoryType::kDevice;
}

MemoryType MemoryTypes::Input(const Node& node, int index) const {
  if (IsOnHost(node)) return MemoryType::kDevice;
  DType dtype = node.input_type(index);
  if (IsExecutorNative(*node.schema)) return IsPredicate(node, index) ? MemoryType::kHost : NativeMemory(dtype);
  return HostOnly(dtype) || IsNamed(node, node.schema->inputs, index) ? MemoryType::kHost : MemoryType::kDevice;
}

MemoryType MemoryTypes::Output(const Node& node, int index) const {
  if (IsOnHost(node)) return MemoryType::kDevice;
  DType dtype = node.output_type(index);
  if (IsExecutorNative(*node.schema)) return IsPredicate(node, 0) ? MemoryType::kHost : NativeMemory(dtype);
  return HostOnly(dtype) || IsNamed(node, node.schema->outputs, index) ? MemoryType::kHost : MemoryType::kDevice;
}

bool MemoryTypes::IsOnHost(const Node& node) const {
  const Device* device = devices_.Find(node.assigned_device);
  return device == nullptr || device->is_host();
}

// True if the node's kernel names the argument that tensor `index` belongs to.
bool MemoryTypes::IsNamed(const Node& node, const std::vector<ArgSchema>& args, int index) const {
  const Device* device = devices_.Find(node.assigned_device);
  StatusOr<const KernelEntry*> kernel = kernels_.Find(node.op(), device->type(), node.attrs);
  if (!kernel.ok()) return false;
  for (size_t i = 0; i < args.size(); ++i) {
    StatusOr<ArgRange> range = ResolveArgRange(args, node.attrs, static_cast<int>(i));
    if (!range.ok() || index < range->begin || index >= range->end) continue;
    const std::vector<std::string>& named = (*kernel)->host_memory;
    return std::find(named.begin(), named.end(), args[i].name) != named.end();
  }
  return false;
}

}  // namespace weir
