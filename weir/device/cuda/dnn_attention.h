// Attention by cuDNN: softmax(scale q k^T) v as one kernel, and its gradient as a few, without a matrix of scores in
// memory. Half and bfloat16.
#ifndef WEIR_DEVICE_CUDA_DNN_ATTENTION_H_
#define WEIR_DEVICE_CUDA_DNN_ATTENTION_H_

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

struct DnnAttention {
  // Distances in elements; those of a head are next to each other.
  struct Strides {
    int64_t batch = 0, head = 0, time = 0;
  };
  DType dtype = DType::kBFloat16;
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, size = 0;
  Strides query_at;  // of queries, results and their gradients
  Strides key_at;    // of keys, values and their gradients
  bool is_causal = false;
  float scale = 1;
};

// `stats` are logarithms of the softmax's denominators, [batch, heads, queries] in float.
struct DnnAttentionTensors {
  DeviceAddress q = 0, k = 0, v = 0, out = 0, stats = 0;
};
struct DnnAttentionGradients {
  DeviceAddress dout = 0, dq = 0, dk = 0, dv = 0;
};

// Enqueue the forward pass, which writes `out` and `stats`, or the gradients. False: cuDNN does not take such
// attention.
StatusOr<bool> RunDnnAttention(KernelContext& ctx, const DnnAttention& attention, const DnnAttentionTensors& tensors);
StatusOr<bool> RunDnnAttentionGradient(KernelContext& ctx, const DnnAttention& attention,
                                       const DnnAttentionTensors& tensors, const DnnAttentionGradients& gradients);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_DNN_ATTENTION_H_
