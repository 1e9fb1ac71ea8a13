// Slices: Slice, StridedSlice and its gradient, TensorStridedSliceUpdate.
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/strided_slice.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class SliceKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const Tensor &begin_input = ctx.input(1), &size_input = ctx.input(2);
    const int rank = x.rank();
    if (!begin_input.shape().IsVector() || !size_input.shape().IsVector() || begin_input.num_elements() != rank ||
        size_input.num_elements() != rank) {
      return InvalidArgument("Expected begin and size arguments to be 1-D tensors of size ", rank, ", but got shapes ",
                             begin_input.shape().ToString(), " and ", size_input.shape().ToString(), " instead.");
    }
    WEIR_ASSIGN_OR_RETURN(Dims begin, IntElements(begin_input, "begin"));
    WEIR_ASSIGN_OR_RETURN(Dims size, IntElements(size_input, "size"));
    bool whole = true, rows_only = true;
    for (int d = 0; d < rank; ++d) {
      if (size[d] == -1) size[d] = x.dim(d) - begin[d];
      if (x.dim(d) == 0 && (begin[d] != 0 || size[d] != 0)) {
        return InvalidArgument("Expected begin[", d, "] == 0 (got ", begin[d], ") and size[", d, "] == 0 (got ",
                               size[d], ") when input.dim_size(", d, ") == 0");
      }
      if (begin[d] < 0 || begin[d] > x.dim(d)) {
        return InvalidArgument("Expected begin[", d, "] in [0, ", x.dim(d), "], but got ", begin[d]);
      }
      if (size[d] < 0 || size[d] > x.dim(d) - begin[d]) {
        return InvalidArgument("Expected size[", d, "] in [0, ", x.dim(d) - begin[d], "], but got ", size[d]);
      }
      whole = whole && size[d] == x.dim(d);
      rows_only = rows_only && (d == 0 || size[d] == x.dim(d));
    }
    if (whole) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(size));
    if (rows_only) {
      Tensor part = x.Slice(begin[0], begin[0] + size[0]);
      if (part.is_aligned()) {
        ctx.set_output(0, std::move(part));
        return OkStatus();
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const Dims strides = DenseStrides(x.shape().dims());
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) offset += begin[d] * strides[d];
    const char* from = static_cast<const char*>(x.raw_data()) + offset * static_cast<int64_t>(SizeOf(x.dtype()));
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), size, from, strides, out->raw_data(), DenseStrides(size)));
    return OkStatus();
  }
};

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeSliced(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(StridedSliceMasks masks, StridedSliceMasks::FromAttrs(init));
  return std::unique_ptr<Kernel>(std::make_unique<K>(masks));
}

class SlicedKernel : public Kernel {
 public:
  explicit SlicedKernel(const StridedSliceMasks& masks) : masks_(masks) {}

 protected:
  const StridedSliceMasks masks_;
};

class StridedSliceKernel : public SlicedKernel {
 public:
  using SlicedKernel::SlicedKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(SolvedSlice slice,
                          SolveStridedSlice(x.shape(), ctx.input(1), ctx.input(2), ctx.input(3), masks_));
    // All of it, or whole rows: share the memory.
    bool rows_only = slice.shape.num_elements() > 0 && x.rank() > 0;
    for (int d = 0; d < x.rank() && rows_only; ++d) {
      bool in_order = slice.ranges.ranges[d].stride == 1 || slice.sizes[d] == 1;
      rows_only = in_order && (d == 0 || slice.sizes[d] == x.dim(d));
    }
    if (rows_only || (x.rank() == 0)) {
      const int64_t first = x.rank() == 0 ? 0 : slice.ranges.ranges[0].first;
      Tensor part = x.rank() == 0 ? x : x.Slice(first, first + slice.sizes[0]);
      if (part.is_aligned() || part.num_bytes() == x.num_bytes()) {
        WEIR_ASSIGN_OR_RETURN(part, part.Reshaped(slice.shape));
        ctx.set_output(0, std::move(part));
        return OkStatus();
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, slice.shape));
    WEIR_RETURN_IF_ERROR(ReadSlice(ctx, x.dtype(), slice, x.raw_data(), out->raw_data()));
    return OkStatus();
  }
};

class StridedSliceGradKernel : public SlicedKernel {
 public:
  using SlicedKernel::SlicedKernel;
  Status Compute(KernelContext& ctx) override {
    if (!ctx.input(0).shape().IsVector()) {
      return InvalidArgument("shape must be 1-D, got shape.shape = ", ctx.input(0).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(0), "shape"));
    WEIR_ASSIGN_OR_RETURN(SolvedSlice slice,
                          SolveStridedSlice(shape, ctx.input(1), ctx.input(2), ctx.input(3), masks_));
    const Tensor dy = ctx.input(4);
    if (!(dy.shape() == slice.shape)) {
      return InvalidArgument("shape of dy was ", dy.shape().ToString(), " instead of ", slice.shape.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(ClearElements(ctx, *out));
    WEIR_RETURN_IF_ERROR(WriteSlice(ctx, dy.dtype(), slice, dy.raw_data(), out->raw_data()));
    return OkStatus();
  }
};

class StridedSliceUpdateKernel : public SlicedKernel {
 public:
  using SlicedKernel::SlicedKernel;
  Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    WEIR_ASSIGN_OR_RETURN(SolvedSlice slice,
                          SolveStridedSlice(shape, ctx.input(1), ctx.input(2), ctx.input(3), masks_));
    const Tensor value = ctx.input(4);
    WEIR_RETURN_IF_ERROR(CheckAssignable(slice, value.shape()));
    Tensor x = ctx.TakeInput(0);
    if (!x.unique() && slice.shape.num_elements() > 0) {
      WEIR_ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemp(x.dtype(), x.shape()));
      const Dims dense = DenseStrides(shape.dims());
      WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), shape.dims(), x.raw_data(), dense, copy.raw_data(), dense));
      x = std::move(copy);
    }
    WEIR_RETURN_IF_ERROR(AssignSlice(ctx, slice, value, x.raw_data()));
    ctx.set_output(0, std::move(x));
    return OkStatus();
  }
};

}  // namespace

void RegisterSliceKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Slice").Types("Index", IndexTypes{}), MakeKernel<SliceKernel>);
}

void RegisterStridedSliceKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StridedSlice"), MakeSliced<StridedSliceKernel>);
  registry.Add(KernelBuilder("StridedSliceGrad"), MakeSliced<StridedSliceGradKernel>);
  registry.Add(KernelBuilder("TensorStridedSliceUpdate"), MakeSliced<StridedSliceUpdateKernel>);
}

}  // namespace weir
