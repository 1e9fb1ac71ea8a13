// The geometry of Dilation2D, checked: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_DILATION_H_
#define WEIR_OPS_NN_DILATION_H_

#include <string>
#include <vector>

#include "weir/framework/kernel.h"
#include "weir/ops/nn/window.h"

namespace weir::nn {

struct DilationGeometry {
  int64_t batch, channels;
  WindowAxis h, w;
  Shape output;
};

struct DilationAttrs {
  std::vector<int64_t> strides, rates;
  std::string padding;

  static StatusOr<DilationAttrs> Read(const KernelInit& init) {
    DilationAttrs attrs;
    WEIR_ASSIGN_OR_RETURN(attrs.strides, init.Attr<std::vector<int64_t>>("strides"));
    WEIR_ASSIGN_OR_RETURN(attrs.rates, init.Attr<std::vector<int64_t>>("rates"));
    WEIR_ASSIGN_OR_RETURN(attrs.padding, init.Attr<std::string>("padding"));
    const auto &strides = attrs.strides, &rates = attrs.rates;
    if (strides.size() != 4) return InvalidArgument("Sliding window stride field must specify 4 dimensions");
    if (rates.size() != 4) return InvalidArgument("Input stride (atrous rate) field must specify 4 dimensions");
    if (strides[0] != 1 || strides[3] != 1) {
      return Unimplemented("Stride is only supported across spatial dimensions.");
    }
    if (rates[0] != 1 || rates[3] != 1) return Unimplemented("Rate is only supported across spatial dimensions.");
    return attrs;
  }

  StatusOr<DilationGeometry> MakeGeometry(const Shape& input, const Shape& filter) const {
    if (input.rank() != 4) return InvalidArgument("input must be 4-dimensional: ", input.ToString());
    if (filter.rank() != 3) return InvalidArgument("filter must be 3-dimensional: ", filter.ToString());
    if (filter.dim(2) != input.dim(3)) {
      return InvalidArgument("input and filter must have the same depth: ", input.dim(3), " vs ", filter.dim(2));
    }
    DilationGeometry g{input.dim(0), input.dim(3), {}, {}, {}};
    WEIR_ASSIGN_OR_RETURN(
        g.h, MakeWindowAxis(input.dim(1), filter.dim(0), strides[1], std::max<int64_t>(rates[1], 1), padding, 0, 0));
    WEIR_ASSIGN_OR_RETURN(
        g.w, MakeWindowAxis(input.dim(2), filter.dim(1), strides[2], std::max<int64_t>(rates[2], 1), padding, 0, 0));
    const int64_t dims[] = {g.batch, g.h.output, g.w.output, g.channels};
    WEIR_ASSIGN_OR_RETURN(g.output, Shape::Make(dims));
    return g;
  }
};

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_DILATION_H_
