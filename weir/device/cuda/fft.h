// Fourier transforms by cuFFT. The plan for a transform's sizes is made once and kept.
#ifndef WEIR_DEVICE_CUDA_FFT_H_
#define WEIR_DEVICE_CUDA_FFT_H_

#include <cstdint>
#include <vector>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// `batch` transforms over up to three axes, elements in rows one behind the other. Not scaled.
struct FourierTransforms {
  enum class Kind { kComplex, kFromReal, kToReal };
  Kind kind = Kind::kComplex;
  bool is_double = false;
  bool inverse = false;  // of kComplex
  int64_t batch = 1;
  std::vector<int64_t> lengths;  // of the whole transform; of the complex side of a real one the last is n / 2 + 1
};

// Enqueues them. REQUIRES: no size is 0. kToReal may destroy what it reads.
Status Transform(KernelContext& ctx, const FourierTransforms& transforms, DeviceAddress in, DeviceAddress out);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_FFT_H_
