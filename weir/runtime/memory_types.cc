#include "weir/runtime/memory_types.h"

#include <algorithm>

#include "weir/runtime/execution_plan.h"

namespace weir {
namespace {

bool HostOnly(DType dtype) { return !IsPlain(BaseType(dtype)) && BaseType(dtype) != DType::kVariant; }

bool IsPredicate(const Node& node, int input) {
  return node.op() == "LoopCond" || ((node.op() == "Switch" || node.op() == "RefSwitch") && input == 1);
}

// int32 tensors in variants are in host memory on every device, so int32 inputs and outputs of these nodes are, too.
bool HandsVariantsOn(const Node& node) {
  auto is_variant = [](DType type) { return BaseType(type) == DType::kVariant; };
  return std::ranges::any_of(node.types->inputs, is_variant) || std::ranges::any_of(node.types->outputs, is_variant);
}

}  // namespace

MemoryType NativeMemory(DType dtype) {
  return HostOnly(dtype) || BaseType(dtype) == DType::kInt32 ? MemoryType::kHost : MemoryType::kDevice;
}

MemoryType MemoryTypes::Input(const Node& node, int index) const {
  if (IsOnHost(node)) return MemoryType::kDevice;
  DType dtype = node.input_type(index);
  if (IsExecutorNative(*node.schema)) return IsPredicate(node, index) ? MemoryType::kHost : NativeMemory(dtype);
  return IsKept(node, node.schema->inputs, dtype, index) ? MemoryType::kHost : MemoryType::kDevice;
}

MemoryType MemoryTypes::Output(const Node& node, int index) const {
  if (IsOnHost(node)) return MemoryType::kDevice;
  DType dtype = node.output_type(index);
  if (IsExecutorNative(*node.schema)) return IsPredicate(node, 0) ? MemoryType::kHost : NativeMemory(dtype);
  return IsKept(node, node.schema->outputs, dtype, index) ? MemoryType::kHost : MemoryType::kDevice;
}

bool MemoryTypes::IsOnHost(const Node& node) const {
  const Device* device = devices_.Find(node.assigned_device);
  return device == nullptr || device->is_host();
}

bool MemoryTypes::IsKept(const Node& node, const std::vector<ArgSchema>& args, DType dtype, int index) const {
  if (HostOnly(dtype) || (dtype == DType::kInt32 && HandsVariantsOn(node))) return true;
  return IsNamed(node, args, index);
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
