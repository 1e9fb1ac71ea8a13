#include "weir/ops/audio/fft_sizes.h"

#include "weir/device/cpu/index_input.h"
#include "weir/ops/audio/fourier.h"

namespace weir {

StatusOr<FftSizes> SizesOfFft(const KernelContext& ctx, const FftKind& kind) {
  const Shape& in = ctx.input(0).shape();
  const int rank = in.rank(), first = rank - kind.axes;
  if (rank < kind.axes) {
    return InvalidArgument("Input must have rank of at least ", kind.axes, " but got: ", in.ToString());
  }
  FftSizes sizes;
  sizes.output = in;
  sizes.batch = in.Slice(0, first).num_elements();
  Dims lengths;
  if (kind.real) {
    if (ctx.input(1).rank() != 1 || ctx.input(1).dim(0) != kind.axes) {
      return InvalidArgument("fft_length must have shape [", kind.axes, "]");
    }
    WEIR_ASSIGN_OR_RETURN(lengths, IntElements(ctx.input(1), "fft_length"));
  }
  for (int i = 0; i < kind.axes; ++i) {
    const int axis = 3 - kind.axes + i;
    sizes.input[axis] = in.dim(first + i);
    sizes.transform[axis] = kind.real ? lengths[i] : sizes.input[axis];
    const bool is_last = i == kind.axes - 1;
    int64_t wanted = sizes.transform[axis], given = sizes.transform[axis];
    if (kind.real) {
      if (lengths[i] < 0) return InvalidArgument("fft_length[", i, "] must >= 0, but got: ", lengths[i]);
      if (is_last && kind.inverse) wanted = lengths[i] == 0 ? 0 : lengths[i] / 2 + 1;
      if (is_last && !kind.inverse) given = lengths[i] == 0 ? 0 : lengths[i] / 2 + 1;
      if ((in.num_elements() > 0 || sizes.input[axis] > 0) && sizes.input[axis] < wanted) {
        return InvalidArgument("Input dimension ", first + i, " must have length of at least ", wanted,
                               " but got: ", sizes.input[axis]);
      }
    }
    if (sizes.transform[axis] > FourierTransform::kMaxLength) {
      return InvalidArgument("A transform of length ", sizes.transform[axis], " is too long");
    }
    WEIR_RETURN_IF_ERROR(sizes.output.SetDim(first + i, given));
  }
  return sizes;
}

}  // namespace weir
