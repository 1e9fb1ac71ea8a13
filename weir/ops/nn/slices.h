// Slices of a tensor along an axis: the elements that share one range when they are quantised.
#ifndef WEIR_OPS_NN_SLICES_H_
#define WEIR_OPS_NN_SLICES_H_

#include "weir/framework/kernel.h"

namespace weir::nn {

struct Slices {
  int64_t outer = 1, count = 1, inner = 1;

  // Calls body(i) for every element of a slice.
  template <typename Body>
  void For(int64_t slice, Body body) const {
    for (int64_t o = 0; inner > 0 && o < outer; ++o) {  // of nothing there may be any number
      const int64_t first = (o * count + slice) * inner;
      for (int64_t i = first; i < first + inner; ++i) body(i);
    }
  }
};

// Of input `input`; without an axis (-1) everything is one slice. Inputs `range` and range + 1 must have an element for
// each slice, unless `range` is negative.
inline StatusOr<Slices> SlicesAlong(const KernelContext& ctx, int input, int64_t axis, int range) {
  const Shape& shape = ctx.input(input).shape();
  Slices out;
  if (axis < 0) {
    out.inner = shape.num_elements();
  } else {
    if (axis >= shape.rank()) {
      return InvalidArgument("Axis is ", axis, " but input tensor is of rank ", shape.rank());
    }
    const int at = static_cast<int>(axis);
    out = {shape.Slice(0, at).num_elements(), shape.dim(at), shape.Slice(at + 1, shape.rank()).num_elements()};
  }
  for (int i = range; range >= 0 && i < range + 2; ++i) {
    const Tensor& limit = ctx.input(i);
    if (limit.num_elements() != out.count || limit.rank() > 1) {
      return InvalidArgument(ctx.node().schema->inputs[i].name, axis < 0 ? " must be a scalar." : " has wrong size: ",
                             axis < 0 ? "" : limit.shape().ToString());
    }
  }
  return out;
}

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_SLICES_H_
