#ifndef WEIR_OPS_CUDA_GPU_KERNELS_TEXT_H_
#define WEIR_OPS_CUDA_GPU_KERNELS_TEXT_H_

#include <string_view>

namespace weir {

std::string_view GpuKernelsText();  // gpu_kernels.txt

}  // namespace weir

#endif  // WEIR_OPS_CUDA_GPU_KERNELS_TEXT_H_
