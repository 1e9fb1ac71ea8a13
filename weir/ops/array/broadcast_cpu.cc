// Repeating elements: BroadcastTo, Tile.
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class BroadcastToKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (ctx.input(1).rank() != 1) {
      return InvalidArgument("shape must be a vector of {int32,int64}, got shape ", ctx.input(1).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Dims dims, IntElements(ctx.input(1), "shape"));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    if (x.shape() == shape) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    if (x.rank() > shape.rank()) {
      return InvalidArgument("Rank of input (", x.rank(), ") must be no greater than rank of output shape (",
                             shape.rank(), ").");
    }
    auto common = BroadcastShape(x.shape(), shape);
    if (!common.ok() || !(*common == shape)) {
      return InvalidArgument("Incompatible shapes: ", x.shape().ToString(), " vs. ", shape.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), shape.dims(), x.raw_data(), BroadcastStrides(x.shape(), shape),
                                     out->raw_data(), DenseStrides(shape.dims())));
    return OkStatus();
  }
};

class TileKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const int rank = x.rank();
    const Tensor& input = ctx.input(1);
    if (!input.shape().IsVector()) {
      return InvalidArgument("Expected multiples to be 1-D, but got shape ", input.shape().ToString());
    }
    if (input.num_elements() != rank) {
      return InvalidArgument("Expected multiples argument to be a vector of length ", rank, " but got length ",
                             input.num_elements());
    }
    WEIR_ASSIGN_OR_RETURN(Dims multiples, IntElements(input, "multiples"));
    Dims sizes, split, from;  // each dimension as (copies, size)
    const Dims dense = DenseStrides(x.shape().dims());
    for (int d = 0; d < rank; ++d) {
      if (multiples[d] < 0) return InvalidArgument("Expected multiples[", d, "] >= 0, but got ", multiples[d]);
      auto size = CheckedMultiply(x.dim(d), multiples[d]);
      if (!size) return InvalidArgument("Tile overflows dimension ", d);
      sizes.push_back(*size);
      split.insert(split.end(), {multiples[d], x.dim(d)});
      from.insert(from.end(), {0, dense[d]});
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(sizes));
    if (shape == x.shape()) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), split, x.raw_data(), from, out->raw_data(), DenseStrides(split)));
    return OkStatus();
  }
};

}  // namespace

void RegisterBroadcastKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("BroadcastTo").Types("Tidx", IndexTypes{}), MakeKernel<BroadcastToKernel>);
  registry.Add(KernelBuilder("Tile").Types("Tmultiples", IndexTypes{}), MakeKernel<TileKernel>);
}

}  // namespace weir
