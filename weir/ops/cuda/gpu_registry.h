// Registering kernels for GPUs by TensorFlow's own table (gpu_kernels.txt): for which types an op has one, and which
// arguments it takes in the host's memory. A node then goes where TensorFlow would put it.
//
//   registry.Add("Cumsum", MakeKernel<CumulativeSum>);
#ifndef WEIR_OPS_CUDA_GPU_REGISTRY_H_
#define WEIR_OPS_CUDA_GPU_REGISTRY_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/framework/kernel_registry.h"
#include "weir/framework/op_registry.h"

namespace weir::cuda {

// One combination of types of an op.
struct GpuCombination {
  std::vector<KernelEntry::Constraint> types;
  std::vector<std::string> host_memory;
  bool all_on_host = false;  // so the host's kernel runs it
};

// The types of numbers, and bool: for ops whose table has variants, too.
std::vector<DType> PlainElementTypes();

class GpuRegistry {
 public:
  // Both must outlive this object, and `kernels` what it registers.
  GpuRegistry(const OpRegistry& ops, KernelRegistry& kernels);

  // Registers a kernel for all types in the table whose arguments are not all on the host; not for types that only the
  // host has, such as variants. `only` restricts the types
  // of one attribute further, for kernels that do not have all of them.
  void Add(std::string_view op, const KernelFactory& factory);
  void Add(std::string_view op, const KernelFactory& factory, std::string_view attr, const std::vector<DType>& only,
           const std::vector<std::string>& also_on_host = {});
  // The host's kernel, which only moves the tensors that are in the GPU's memory. REQUIRES: it never looks at their
  // elements, nor makes a tensor that is to be in the GPU's memory.
  void AddMoving(std::string_view op);
  // The same with something around it.
  using KernelWrapper = std::function<std::unique_ptr<Kernel>(std::unique_ptr<Kernel>)>;
  void AddMoving(std::string_view op, KernelWrapper wrapper);
  // The host's kernel as it is, on the GPU: one that only moves elements by StridedCopy and its kin.
  // `also_on_host` names further arguments whose values it reads.
  void AddPortable(std::string_view op, const std::vector<std::string>& also_on_host = {});
  // The same for an op on containers of tensors, whose types may be such that only the host has.
  void AddContainer(std::string_view op);
  // The host's kernel for variants, which does by KernelArithmetic what is done to the tensors in them.
  void AddVariants(std::string_view op);
  // For all ops of the table: the host's kernel where all arguments are on the host.
  void AddHostKernels();
  // Kernels that the table does not know.
  KernelRegistry& kernels() { return kernels_; }

  const std::map<std::string, std::vector<GpuCombination>, std::less<>>& table() const { return table_; }

 private:
  void Register(std::string_view op, const KernelFactory& factory, std::string_view attr,
                const std::vector<DType>& only, const std::vector<std::string>& also_on_host, bool plain_only);
  // Makes the host's kernel, which then runs with the GPU as its device.
  KernelFactory PortableFactory() const;

  const OpRegistry& ops_;
  KernelRegistry& kernels_;
  std::map<std::string, std::vector<GpuCombination>, std::less<>> table_;
};

}  // namespace weir::cuda

#endif  // WEIR_OPS_CUDA_GPU_REGISTRY_H_
