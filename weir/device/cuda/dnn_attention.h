// Attention by cuDNN: softmax(scale q k^T) v as one kernel, and its gradient as a few, without a matrix of scores in
// memory. Half and bfloat16.
#ifndef WEIR_DEVICE_CUDA_DNN_ATTENTION_H_
#define WEIR_DEVICE_CUDA_DNN_ATTENTION_H_

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// Heads in memory. Distances are in elements; those of a head are next to each other.
struct HeadsAt {
  DeviceAddress address = 0;
  int64_t batch = 0, head = 0, time = 0;
};

struct DnnAttention {
  DType dtype = DType::kBFloat16;
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, size = 0;
  bool is_causal = false;
  float scale = 1;
  HeadsAt q, k, v, out;
  DeviceAddress stats = 0;   // logarithms of the softmax's denominators, [batch, heads, queries] in float
  HeadsAt dout, dq, dk, dv;  // of the gradient
};

// Enqueue the forward pass, which writes `out` and `stats`, or the gradient, which reads them and writes dq, dk and dv.
// False: cuDNN does not take such attention.
StatusOr<bool> RunDnnAttention(KernelContext& ctx, const DnnAttention& attention);
StatusOr<bool> RunDnnAttentionGradient(KernelContext& ctx, const DnnAttention& attention);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_DNN_ATTENTION_H_
