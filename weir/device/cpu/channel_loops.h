// Loops over channels-last tensors of floats, seen as `rows` times `channels`: sums down the rows, and arithmetic with
// one parameter a channel. Sums are taken in pieces of a fixed size, so they do not depend on the number of threads.
#ifndef WEIR_DEVICE_CPU_CHANNEL_LOOPS_H_
#define WEIR_DEVICE_CPU_CHANNEL_LOOPS_H_

#include "weir/framework/kernel.h"

namespace weir {

struct ChannelSize {
  int64_t rows, channels;
};

// Of x.
void SumChannels(const KernelContext& ctx, ChannelSize size, const float* x, double* sums);
// Of x - shift and of its square.
void SumShiftedSquares(const KernelContext& ctx, ChannelSize size, const float* x, const float* shift, double* sums,
                       double* squares);
// Of dy and of dy * (x - shift). Where `output` is given, that of a rectifier, dy counts only where it is positive.
void SumShiftedProducts(const KernelContext& ctx, ChannelSize size, const float* dy, const float* output,
                        const float* x, const float* shift, double* sums, double* products);

// y = x + add. `y` may be `x`.
void AddToChannels(const KernelContext& ctx, ChannelSize size, const float* x, const float* add, float* y);
// y = (x - shift) * factor + add.
void ScaleChannels(const KernelContext& ctx, ChannelSize size, const float* x, const float* shift, const float* factor,
                   const float* add, float* y);
// y = max((x - shift) * factor + add + side, 0); `side` may be null.
void ScaleAndRectifyChannels(const KernelContext& ctx, ChannelSize size, const float* x, const float* shift,
                             const float* factor, const float* add, const float* side, float* y);
// dx = factor * (dy - mean_dy - (x - shift) * slope), with `output` as above.
void ScaleChannelsBackward(const KernelContext& ctx, ChannelSize size, const float* dy, const float* output,
                           const float* x, const float* shift, const float* factor, const float* mean_dy,
                           const float* slope, float* dx);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_CHANNEL_LOOPS_H_
