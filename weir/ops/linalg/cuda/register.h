// Kernels of the linalg family for GPUs, by file.
#ifndef WEIR_OPS_LINALG_CUDA_REGISTER_H_
#define WEIR_OPS_LINALG_CUDA_REGISTER_H_

#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterDecompositionKernels(GpuRegistry& registry);
void RegisterEinsumKernels(GpuRegistry& registry);
void RegisterLuKernels(GpuRegistry& registry);
void RegisterTriangularKernels(GpuRegistry& registry);

// A kernel of matrices.cu for a type.
inline DeviceFunction MatrixFunction(std::string_view name, DType dtype, std::string_view more = "") {
  return {"weir/ops/linalg/cuda/matrices.cu", Cat(name, "<", DeviceTypeName(dtype), more, ">")};
}

}  // namespace weir::cuda

#endif  // WEIR_OPS_LINALG_CUDA_REGISTER_H_
