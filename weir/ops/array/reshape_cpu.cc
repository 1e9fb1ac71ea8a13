// The same elements under another shape or type.
#include <algorithm>

#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/cheap_kernel.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

Status OutputReshaped(KernelContext& ctx, const Shape& shape) {
  if (ctx.input(0).shape() == shape) {
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, ctx.input(0).Reshaped(shape));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

class ReshapeKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& sizes = ctx.input(1);
    if (sizes.rank() > 1) return InvalidArgument("sizes input must be 1-D, not ", sizes.shape().ToString());
    WEIR_ASSIGN_OR_RETURN(Dims dims, IntElements(sizes, "shape"));
    int unknown = -1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == -1) {
        if (unknown >= 0) {
          return InvalidArgument("Only one input size may be -1, not both ", unknown, " and ", d);
        }
        unknown = static_cast<int>(d);
      } else if (dims[d] < 0) {
        return InvalidArgument("Size ", d, " must be non-negative, not ", dims[d]);
      }
    }
    if (unknown >= 0) WEIR_RETURN_IF_ERROR(SolveUnknown(x.shape(), dims, unknown));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    if (shape.num_elements() != x.num_elements()) {
      return InvalidArgument("Input to reshape is a tensor with ", x.num_elements(),
                             " values, but the requested shape has ", shape.num_elements());
    }
    return OutputReshaped(ctx, shape);
  }

 private:
  static Status SolveUnknown(const Shape& from, Dims& dims, int unknown) {
    Dims known = dims;
    known[unknown] = 1;
    WEIR_ASSIGN_OR_RETURN(Shape rest, Shape::Make(known));
    int64_t elements = from.num_elements(), product = rest.num_elements();
    if (product == 0) {
      // Zeros cancel, and what is left of the input goes where it is asked; the caller checks the count.
      elements = product = 1;
      for (int64_t size : from.dims()) elements *= size == 0 ? 1 : size;
      for (int64_t size : known) product *= size == 0 ? 1 : size;
      dims[unknown] = elements / product;
      return OkStatus();
    }
    if (elements % product != 0) {
      return InvalidArgument("Input to reshape is a tensor with ", from.num_elements(),
                             " values, but the requested shape requires a multiple of ", product);
    }
    dims[unknown] = elements / product;
    return OkStatus();
  }
};

class ExpandDimsKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Shape shape = ctx.input(0).shape();
    if (ctx.input(1).num_elements() != 1) {
      return InvalidArgument("'dim' must be a tensor with a single value, got dim with shape: ",
                             ctx.input(1).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Dims dim, IntElements(ctx.input(1), "dim"));
    if (dim[0] < -1 - shape.rank() || dim[0] > shape.rank()) {
      return InvalidArgument("Tried to expand dim index ", dim[0], " for tensor with ", shape.rank(), " dimensions.");
    }
    if (dim[0] < 0) dim[0] += shape.rank() + 1;
    WEIR_RETURN_IF_ERROR(shape.InsertDim(static_cast<int>(dim[0]), 1));
    return OutputReshaped(ctx, shape);
  }
};

class SqueezeKernel : public CheapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SqueezeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axes_, init.Attr<std::vector<int64_t>>("squeeze_dims"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Shape& from = ctx.input(0).shape();
    Dims chosen;
    for (int64_t axis : axes_) {
      if (axis < -from.rank() || axis >= from.rank()) {
        return InvalidArgument("Tried to squeeze dim index ", axis, " for tensor with ", from.rank(), " dimensions.");
      }
      chosen.push_back(axis < 0 ? axis + from.rank() : axis);
    }
    Dims dims;
    for (int d = 0; d < from.rank(); ++d) {
      bool named = std::find(chosen.begin(), chosen.end(), d) != chosen.end();
      if (named && from.dim(d) != 1) {
        return InvalidArgument("Can not squeeze dim[", d, "], expected a dimension of 1, got ", from.dim(d));
      }
      bool drop = chosen.empty() ? from.dim(d) == 1 : named;
      if (!drop) dims.push_back(from.dim(d));
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    return OutputReshaped(ctx, shape);
  }

 private:
  std::vector<int64_t> axes_;
};

class BitcastKernel : public CheapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    size_t from = SizeOf(init.input_type(0)), to = SizeOf(init.output_type(0));
    if (!IsPlain(init.input_type(0)) || !IsPlain(init.output_type(0)) || (from % to != 0 && to % from != 0)) {
      return InvalidArgument("cannot convert between datatype ", from, " and ", to);
    }
    return std::unique_ptr<Kernel>(std::make_unique<BitcastKernel>());
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const int64_t from = SizeOf(x.dtype()), to = SizeOf(ctx.output_type(0));
    Shape shape = x.shape();
    if (to > from) {
      if (shape.rank() == 0 || shape.dim(shape.rank() - 1) != to / from) {
        return InvalidArgument("Cannot bitcast from ", Name(x.dtype()), " to ", Name(ctx.output_type(0)), ": shape ",
                               shape.ToString());
      }
      shape.RemoveDim(shape.rank() - 1);
    } else if (to < from) {
      WEIR_RETURN_IF_ERROR(shape.AddDim(from / to));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor out, x.Bitcast(ctx.output_type(0), shape));
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterReshapeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Reshape"), MakeKernel<ReshapeKernel>);
  registry.Add(KernelBuilder("ExpandDims"), MakeKernel<ExpandDimsKernel>);
  registry.Add(KernelBuilder("Squeeze"), MakeKernel<SqueezeKernel>);
  registry.Add(KernelBuilder("Bitcast"), MakeKernel<BitcastKernel>);
}

}  // namespace weir
