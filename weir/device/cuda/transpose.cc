#include "weir/device/cuda/transpose.h"

#include <algorithm>

#include "weir/base/strings.h"

namespace weir::cuda {

std::string_view MovedAs(DType dtype) {
  switch (SizeOf(dtype)) {
    case 1:
      return "uint8";
    case 2:
      return "uint16";
    case 4:
      return "uint32";
    case 8:
      return "uint64";
    default:
      return "complex128";
  }
}

Status SwapRowsAndColumns(KernelContext& ctx, DType dtype, DeviceAddress from, DeviceAddress to, int64_t batch,
                          int64_t rows, int64_t columns, bool conjugate) {
  const int64_t tiles = batch * ((rows + 31) / 32) * ((columns + 31) / 32);
  if (tiles == 0) return OkStatus();
  conjugate = conjugate && IsComplex(dtype);
  const std::string_view type = conjugate ? DeviceTypeName(dtype) : MovedAs(dtype);
  const LaunchShape shape{.grid = static_cast<unsigned>(std::min<int64_t>(tiles, 1 << 20)), .block = 32, .block_y = 8};
  return Launch(ctx,
                {"weir/device/cuda/device_code/transpose.cuh", Cat("SwapRowsAndColumns<", type, ", ", conjugate, ">")},
                shape, from, to, batch, rows, columns);
}

}  // namespace weir::cuda
