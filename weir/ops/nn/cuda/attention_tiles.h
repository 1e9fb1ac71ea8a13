// Attention without a matrix of scores on GPUs: long sequences of half and bfloat16 without a mask by cuDNN, others,
// and those of float if TensorFloat-32 is allowed, by kernels of weir's own.
#ifndef WEIR_OPS_NN_CUDA_ATTENTION_TILES_H_
#define WEIR_OPS_NN_CUDA_ATTENTION_TILES_H_

#include "weir/device/cuda/dnn_attention.h"
#include "weir/ops/nn/attention.h"

namespace weir::cuda {

struct TiledAttention {
  DType dtype = DType::kBFloat16;
  nn::AttentionSizes sizes;
  nn::AttentionMask mask;
  bool is_causal = false;
  float mask_value = 0;  // of scores that a mask of bools hides
  HeadsAt q, k, v, out;
  DeviceAddress stats = 0;
  HeadsAt dout, dq, dk, dv;  // of the gradient
};

// The heads of a whole tensor of so many times.
HeadsAt HeadsOf(const Tensor& tensor, const nn::AttentionSizes& sizes, int64_t times);

// A mask as device code takes it, and the type of its elements there.
struct DeviceMask {
  DeviceAddress data = 0;
  int64_t batch = 0, head = 0, query = 0, key = 0;
  float value = 0;
};
DeviceMask DeviceMaskOf(const nn::AttentionMask& mask, float value);
std::string MaskTypeOf(const nn::AttentionMask& mask);

// Whether there are such kernels for heads of these sizes.
bool HasTiles(const nn::AttentionSizes& sizes, DType dtype);
// Enqueue the output with its statistics, or the gradients. REQUIRES: HasTiles; no size is 0.
Status AttendInTiles(KernelContext& ctx, const TiledAttention& attention);
Status AttendBackInTiles(KernelContext& ctx, const TiledAttention& attention);
// For each query the sum of its output times the gradient, of all types.
Status SumOutputsTimesGradients(KernelContext& ctx, const TiledAttention& attention, const Tensor& sums);

}  // namespace weir::cuda

#endif  // WEIR_OPS_NN_CUDA_ATTENTION_TILES_H_
