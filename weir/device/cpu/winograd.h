// Convolutions with 3x3 and 5x5 windows by Winograd's method: 16 multiplications where the sum of a 3x3 window takes
// 36, and 49 instead of 100 for a 5x5 one.
//
// A tile of 2x2 results is made from 4x4 elements of the image. Both the tile and the window are transformed to 4x4
// numbers (sums and differences), these are multiplied one by one and added up over the channels - 16 matrix products
// over all tiles - and the sums are transformed back. A 5x5 window is four windows of at most 3x3 side by side, whose
// sums are added before they are transformed back, as if there were four times the channels. The gradient by the filter
// is found the same way: there a tile's 2x2 gradients are the window that moves over its 4x4 elements. The result is
// that of the convolution up to rounding (about twice the error of the plain sum); but an infinity reaches all results
// of the tiles it is in, as NaN. Kernels therefore use it only where the graph's rewriting allows it
// (weir/passes/fuse.h).
#ifndef WEIR_DEVICE_CPU_WINOGRAD_H_
#define WEIR_DEVICE_CPU_WINOGRAD_H_

#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/device/cpu/contraction.h"
#include "weir/tensor/allocator.h"

namespace weir {

// Belongs to one kernel. Thread-safe. As in contraction.h, false means that nothing was written, because the case does
// not fit, would not gain, or there is no memory.
class WinogradConvolver {
 public:
  WinogradConvolver();
  ~WinogradConvolver();
  // Whether this processor has what it takes.
  static bool IsAvailable();
  bool Convolve(const KernelContext& ctx, const ConvolutionShape& shape, const float* input, const Weights& filter,
                const Epilogue& epilogue, float* output);
  bool BackwardInput(const KernelContext& ctx, const ConvolutionShape& shape, const float* filter,
                     const float* gradient, float* input_gradient);
  // Not for deterministic steps: how the sum over the tiles is split depends on the threads.
  static bool BackwardFilter(const KernelContext& ctx, const ConvolutionShape& shape, const float* input,
                             const float* gradient, float* filter_gradient);

 private:
  struct Kept;
  // The transformed filter of a constant that is worth keeping; null if there is no memory.
  const float* Find(const KernelContext& ctx, const ConvolutionShape& shape, const Weights& filter);

  absl::Mutex mu_;
  std::vector<std::unique_ptr<Kept>> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_WINOGRAD_H_
