// What all kernels of QuantizeAndDequantizeV2, V3, V4 and of V4's gradient read first.
#ifndef WEIR_OPS_NN_ROUNDING_H_
#define WEIR_OPS_NN_ROUNDING_H_

#include "weir/framework/kernel.h"
#include "weir/ops/nn/slices.h"

namespace weir::nn {

struct Rounding {
  bool is_signed = true, range_given = false, is_narrow = false, half_up = false;
  int64_t axis = -1, bits = -1;  // < 0: an input

  static StatusOr<Rounding> Read(const KernelInit& init);
  StatusOr<int64_t> Bits(const KernelContext& ctx) const;
  // The slices that have ranges of their own; checks the shapes of the ranges.
  StatusOr<Slices> SlicesOf(const KernelContext& ctx) const;
  int64_t Lowest(int64_t bits) const { return is_signed ? -(int64_t{1} << (bits - 1)) + (is_narrow ? 1 : 0) : 0; }
  int64_t Highest(int64_t bits) const { return (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1; }

 private:
  Status CheckBits(int64_t bits) const;
};

// Of QuantizeAndDequantizeV4Grad(gradients, input, input_min, input_max).
StatusOr<Slices> RoundingGradSlices(const KernelContext& ctx, int64_t axis);

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_ROUNDING_H_
