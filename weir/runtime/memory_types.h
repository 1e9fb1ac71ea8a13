// Where nodes of a device with memory of its own keep their tensors: in that memory, or in the host's.
//
// A kernel names the arguments that it wants in the host's memory when it is registered (KernelBuilder::HostMemory).
// What the executor does itself (Const, Switch, Enter ...) keeps int32 there, since those are mostly shapes, indices
// and counters, and predicates. Types that only the host can hold (strings, handles, variants) never leave it.
#ifndef WEIR_RUNTIME_MEMORY_TYPES_H_
#define WEIR_RUNTIME_MEMORY_TYPES_H_

#include "weir/framework/device.h"
#include "weir/framework/kernel_registry.h"
#include "weir/graph/graph.h"

namespace weir {

// The memory in which nodes that need no kernel keep a tensor of this type.
MemoryType NativeMemory(DType dtype);

class MemoryTypes {
 public:
  // Both must outlive this object.
  MemoryTypes(const KernelRegistry& kernels, const DeviceSet& devices) : kernels_(kernels), devices_(devices) {}

  // REQUIRES: the node has an assigned device. Host devices have one memory only, kDevice.
  MemoryType Input(const Node& node, int index) const;
  MemoryType Output(const Node& node, int index) const;

 private:
  bool IsOnHost(const Node& node) const;
  bool IsNamed(const Node& node, const std::vector<ArgSchema>& args, int index) const;

  const KernelRegistry& kernels_;
  const DeviceSet& devices_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_MEMORY_TYPES_H_
