// What the convolution kernels share: sizes and channels of one convolution.
#ifndef WEIR_OPS_NN_CONVOLUTION_H_
#define WEIR_OPS_NN_CONVOLUTION_H_

#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/winograd.h"
#include "weir/framework/kernel.h"
#include "weir/ops/nn/window.h"

namespace weir::nn {

struct ConvGeometry {
  int64_t batch, in_channels, out_channels;
  int64_t group_in, group_out, groups;  // channels of one group
  WindowAxis h, w;

  int64_t in_row() const { return w.input * in_channels; }
  int64_t out_row() const { return w.output * out_channels; }
  int64_t tap() const { return group_in * out_channels; }  // filter elements of one place in the window
  StatusOr<Shape> OutputShape() const;
};

// Of an NHWC image and an HWIO filter.
StatusOr<ConvGeometry> MakeConvGeometry(const Window2D& window, const Shape& input, const Shape& filter);

// The filter of a depthwise convolution, [h, w, in, multiplier], as [h, w, 1, in * multiplier]: the same elements in
// the same order.
StatusOr<Shape> GroupedDepthwiseFilter(const Shape& input, const Shape& filter);

ConvolutionShape::Axis LibraryAxis(const WindowAxis& axis);
ConvolutionShape LibraryShape(const ConvGeometry& g);

// Plain loops, for what the kernel library leaves.
void ConvolveLoops(KernelContext& ctx, const ConvGeometry& g, const float* input, const float* filter, float* output);

// The attribute by which the fusing pass says that the second operand never changes.
inline constexpr char kConstantWeights[] = "_constant_weights";
bool HasConstantWeights(const KernelInit& init);
// The attribute by which it says that a convolution may round otherwise, and the means to make use of it; null without.
inline constexpr char kWinograd[] = "_winograd";
std::unique_ptr<WinogradConvolver> WinogradFor(const KernelInit& init);
// Where to keep such weights in the library's order; null if they may change.
std::shared_ptr<PackedWeights> PackedWeightsFor(const KernelInit& init);
// PlainElements, or why there are none.
StatusOr<const float*> LoopWeights(const Weights& weights);

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_CONVOLUTION_H_
