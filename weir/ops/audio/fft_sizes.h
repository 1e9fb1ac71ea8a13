// The sizes of Fourier transforms over the last dimensions, checked: what the kernels of all devices share.
#ifndef WEIR_OPS_AUDIO_FFT_SIZES_H_
#define WEIR_OPS_AUDIO_FFT_SIZES_H_

#include <array>

#include "weir/framework/kernel.h"

namespace weir {

struct FftKind {
  int axes;
  bool inverse, real;
};

struct FftSizes {
  int64_t batch = 1;
  // Of the last three axes, of which those before the transform's have size 1.
  std::array<int64_t, 3> input = {1, 1, 1};
  std::array<int64_t, 3> transform = {1, 1, 1};
  Shape output;

  int64_t count() const { return transform[0] * transform[1] * transform[2]; }
};

// Reads fft_length, input 1, of real transforms.
StatusOr<FftSizes> SizesOfFft(const KernelContext& ctx, const FftKind& kind);

}  // namespace weir

#endif  // WEIR_OPS_AUDIO_FFT_SIZES_H_
