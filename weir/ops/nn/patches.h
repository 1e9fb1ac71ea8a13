// What all kernels of ExtractImagePatches and ExtractVolumePatches read first.
#ifndef WEIR_OPS_NN_PATCHES_H_
#define WEIR_OPS_NN_PATCHES_H_

#include <array>
#include <vector>

#include "weir/framework/kernel.h"

namespace weir::nn {

struct PatchAxis {
  int64_t input = 1, size = 1, stride = 1, rate = 1, before = 0, output = 1;
};

struct PatchSizes {
  std::array<PatchAxis, 3> axes;  // images are volumes of one plane
  Shape shape;                    // of the result
  int64_t window = 1;             // pixels of a patch
};

struct PatchOptions {
  int rank = 4;
  std::vector<int64_t> sizes, strides, rates;
  bool same = false;

  static StatusOr<PatchOptions> Read(const KernelInit& init);
  StatusOr<PatchSizes> SizesOf(const Shape& input) const;
};

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_PATCHES_H_
