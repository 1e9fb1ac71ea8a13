// Contractions of float tensors - matrix products and convolutions - by the host's kernel library, oneDNN.
//
// A function returns false, having written nothing, where the library is not there or has no fast code for the case;
// every caller has plain loops for that, which also define what the result is. oneDNN is loaded when it is first
// wanted (onednn/library.cc says from where) and runs on threads of its own, which sleep between calls.
#ifndef WEIR_DEVICE_CPU_CONTRACTION_H_
#define WEIR_DEVICE_CPU_CONTRACTION_H_

#include <cstdint>
#include <string>

namespace weir {

class KernelContext;

// "oneDNN 3.2.0", or why there is none.
std::string ContractionLibrary();

// A matrix in memory; strides in elements. One of the two of each is 1.
struct MatrixOperand {
  const float* data;
  int64_t row_stride;
  int64_t column_stride;
  int64_t batch_stride;  // 0: the same matrix all along
};

struct ProductShape {
  int64_t batch, m, n, k;
};

// What is done to a result before it is stored: a bias for each column (or channel), then an activation.
struct Epilogue {
  enum class Activation { kNone, kRelu, kRelu6, kElu, kTanh, kSigmoid, kLeakyRelu };
  const float* bias = nullptr;
  Activation activation = Activation::kNone;
  float alpha = 0;  // of a leaky ReLU
};

// out[batch, m, n] = a[batch, m, k] b[batch, k, n].
bool MultiplyMatrices(const KernelContext& ctx, const ProductShape& shape, const MatrixOperand& a,
                      const MatrixOperand& b, const Epilogue& epilogue, float* out);

struct ConvolutionShape {
  struct Axis {
    int64_t input, filter, stride, dilation, before, output;
  };
  int64_t batch, groups, in_channels, out_channels;  // channels of all groups together
  int rank;                                          // 2 or 3
  Axis axes[3];
};

// Images are channels-last; the filter is [axes..., in_channels / groups, out_channels].
bool Convolve(const KernelContext& ctx, const ConvolutionShape& shape, const float* input, const float* filter,
              const Epilogue& epilogue, float* output);
bool ConvolveBackwardInput(const KernelContext& ctx, const ConvolutionShape& shape, const float* filter,
                           const float* gradient, float* input_gradient);
bool ConvolveBackwardFilter(const KernelContext& ctx, const ConvolutionShape& shape, const float* input,
                            const float* gradient, float* filter_gradient);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_CONTRACTION_H_
