// Whether the inputs and outputs of a node on a device with its own memory are in that memory or in host memory.
//
// The registration of a kernel names the arguments that must be in host memory (KernelBuilder::HostMemory). Ops that
// the executor implements itself (Const, Switch, Enter ...) keep int32 tensors, which are mostly shapes, indices and
// counters, and predicates in host memory. Types that only the host supports (strings, handles) always stay in host
// memory. A variant is a host object; its memory type refers to the tensors inside it, except int32 tensors, which stay
// in host memory there, too.
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

  // REQUIRES: the node has an assigned device. Host devices have only one memory, kDevice.
  MemoryType Input(const Node& node, int index) const;
  MemoryType Output(const Node& node, int index) const;

 private:
  bool IsOnHost(const Node& node) const;
  // Whether the host keeps the tensor.
  bool IsKept(const Node& node, const std::vector<ArgSchema>& args, DType dtype, int index) const;
  bool IsNamed(const Node& node, const std::vector<ArgSchema>& args, int index) const;

  const KernelRegistry& kernels_;
  const DeviceSet& devices_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_MEMORY_TYPES_H_
