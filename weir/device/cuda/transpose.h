// Batches of matrices with their rows and columns swapped.
#ifndef WEIR_DEVICE_CUDA_TRANSPOSE_H_
#define WEIR_DEVICE_CUDA_TRANSPOSE_H_

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// [batch, rows, columns] to [batch, columns, rows]; complex numbers are conjugated on the way if told.
Status SwapRowsAndColumns(KernelContext& ctx, DType dtype, DeviceAddress from, DeviceAddress to, int64_t batch,
                          int64_t rows, int64_t columns, bool conjugate = false);

// The type of device code that elements of this type are moved as.
std::string_view MovedAs(DType dtype);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_TRANSPOSE_H_
