// Contractions of float tensors - matrix products and convolutions - by the host's kernel library, oneDNN.
//
// A function returns false, having written nothing, where the library is not there or has no fast code for the case;
// every caller has plain loops for that, which also define what the result is. oneDNN is loaded when it is first
// wanted (onednn/library.cc says from where). It starts no threads: large contractions are cut into pieces that run on
// those of the step.
#ifndef WEIR_DEVICE_CPU_CONTRACTION_H_
#define WEIR_DEVICE_CPU_CONTRACTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weir {

class KernelContext;
class Tensor;
struct TakenConstant;

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

// What is done to a result before it is stored, in this order.
struct Epilogue {
  const float* scale = nullptr;   // one a column (or channel), multiplied
  const float* bias = nullptr;    // one a column, added; there must be one if there is a scale
  const float* addend = nullptr;  // of the result's shape, added; may be the result's own memory if `in_place` says so
  bool in_place = false;
  bool relu = false;  // at last, what is not above zero becomes zero, as does what is not a number
  bool empty() const { return scale == nullptr && bias == nullptr && addend == nullptr && !relu; }
};

// Constants in the order that the library likes, kept so that every step finds them ready. Thread-safe; belongs to a
// kernel, which may use it for any number of constants. What it holds lives as long as it does.
class PackedWeights;
std::shared_ptr<PackedWeights> MakePackedWeights();

// The second operand of a contraction.
struct Weights {
  const Tensor* tensor;             // absent if it was taken
  PackedWeights* packed = nullptr;  // not null: the tensor never changes
};

// For the ConstantTaker that has the constant for its Weights: keeps it packed only, where it is large and the library
// is there. `packed` may be null.
std::optional<TakenConstant> TakeWeights(const std::shared_ptr<PackedWeights>& packed, const Tensor& constant);
// The elements in their own order, for what the library leaves to loops; they live as long as `packed`. Null if they
// were taken and there is no memory to bring them back.
const float* PlainElements(const Weights& weights);

// out[batch, m, n] = a[batch, m, k] b[batch, k, n]. `constant_b`: b is all of this tensor, which never changes.
bool MultiplyMatrices(const KernelContext& ctx, const ProductShape& shape, const MatrixOperand& a,
                      const MatrixOperand& b, const Epilogue& epilogue, float* out,
                      const Weights* constant_b = nullptr);

// Products of matrices that lie anywhere: two dimensions of them, with strides in elements. One of the strides of the
// rows and columns of each operand is 1, as is that of the result's columns.
struct MatrixStrides {
  int64_t outer, inner, row, column;
};
struct StridedProduct {
  int64_t outer, inner, m, n, k;
  MatrixStrides a, b, out;
};
// False also in a deterministic step, whose products are done one by one.
bool MultiplyStridedMatrices(const KernelContext& ctx, const StridedProduct& product, const float* a, const float* b,
                             float* out);

struct ConvolutionShape {
  struct Axis {
    int64_t input, filter, stride, dilation, before, output;
  };
  int64_t batch, groups, in_channels, out_channels;  // channels of all groups together
  int rank;                                          // 2 or 3
  Axis axes[3];
};

// Images are channels-last; the filter is [axes..., in_channels / groups, out_channels].
bool Convolve(const KernelContext& ctx, const ConvolutionShape& shape, const float* input, const Weights& filter,
              const Epilogue& epilogue, float* output);
bool ConvolveBackwardInput(const KernelContext& ctx, const ConvolutionShape& shape, const float* filter,
                           const float* gradient, float* input_gradient);
bool ConvolveBackwardFilter(const KernelContext& ctx, const ConvolutionShape& shape, const float* input,
                            const float* gradient, float* filter_gradient);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_CONTRACTION_H_
