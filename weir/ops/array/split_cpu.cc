// Taking tensors apart: Split, SplitV, Unpack.
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

// Output i gets columns [start, start + width) of x seen as [outer, columns]; without a copy where rows are whole.
Status TakeColumns(KernelContext& ctx, const Tensor& x, int output, const Shape& shape, int64_t outer, int64_t columns,
                   int64_t start, int64_t width) {
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, shape));
  if (shape.num_elements() == 0) return OkStatus();
  const int64_t dims[] = {outer, width}, from_strides[] = {columns, 1}, to_strides[] = {width, 1};
  const char* from = static_cast<const char*>(x.raw_data()) + start * static_cast<int64_t>(SizeOf(x.dtype()));
  WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, from, from_strides, out->raw_data(), to_strides));
  return OkStatus();
}

// The pieces of x along `axis`, of the given sizes.
Status SplitInto(KernelContext& ctx, const Tensor& x, int axis, std::span<const int64_t> sizes) {
  const int64_t outer = x.shape().Slice(0, axis).num_elements();
  const int64_t inner = x.shape().Slice(axis + 1, x.rank()).num_elements();
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = x.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(axis, sizes[i]));
    Tensor part = axis == 0 ? x.Slice(begin, begin + sizes[i]) : Tensor();
    if (part.has_value() && part.is_aligned()) {
      ctx.set_output(static_cast<int>(i), std::move(part));
    } else {
      WEIR_RETURN_IF_ERROR(
          TakeColumns(ctx, x, static_cast<int>(i), shape, outer, x.dim(axis) * inner, begin * inner, sizes[i] * inner));
    }
    begin += sizes[i];
  }
  return OkStatus();
}

StatusOr<int> SplitAxis(const Tensor& axis_input, const Tensor& x) {
  if (axis_input.num_elements() != 1) {
    return InvalidArgument("split_dim_tensor must have exactly one element.");
  }
  WEIR_ASSIGN_OR_RETURN(Dims axis, IntElements(axis_input, "split_dim"));
  if (axis[0] < -x.rank() || axis[0] >= x.rank()) {
    return InvalidArgument("-input rank(-", x.rank(), ") <= split_dim < input rank (", x.rank(), "), but got ",
                           axis[0]);
  }
  return static_cast<int>(axis[0] < 0 ? axis[0] + x.rank() : axis[0]);
}

class SplitKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(1);
    if (ctx.input(0).rank() != 0)
      return InvalidArgument("split_dim must be a scalar but has rank ", ctx.input(0).rank());
    WEIR_ASSIGN_OR_RETURN(int axis, SplitAxis(ctx.input(0), x));
    const int count = ctx.num_outputs();
    if (count <= 0) return InvalidArgument("Number of ways to split should be > 0, but got ", count);
    if (x.dim(axis) % count != 0) {
      return InvalidArgument("Number of ways to split should evenly divide the split dimension, but got split_dim ",
                             axis, " (size = ", x.dim(axis), ") and num_split ", count);
    }
    if (count == 1) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    return SplitInto(ctx, x, axis, Dims(count, x.dim(axis) / count));
  }
};

class SplitVKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const Tensor& size_input = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(int axis, SplitAxis(ctx.input(2), x));
    const int count = ctx.num_outputs();
    if (size_input.rank() != 1 || size_input.num_elements() != count) {
      return InvalidArgument("size of the split_tensor must be 1-D and have the same elements as outputs got ",
                             size_input.rank(), " -D and ", size_input.num_elements(), " elements");
    }
    WEIR_ASSIGN_OR_RETURN(Dims sizes, IntElements(size_input, "size_splits"));
    if (count == 1 && sizes[0] != x.dim(axis)) {
      return InvalidArgument("If there is only one output, it must have the same size as the input. Input size: ",
                             x.dim(axis), " output size: ", sizes[0]);
    }
    int unknown = -1;
    int64_t known = 0;
    for (int i = 0; i < count; ++i) {
      if (sizes[i] == -1) {
        if (unknown >= 0) return InvalidArgument("There can only be one -1 in the input.");
        unknown = i;
        continue;
      }
      if (sizes[i] < 0) return InvalidArgument("Split size at index ", i, " must be >= 0. Got: ", sizes[i]);
      auto sum = CheckedAdd(known, sizes[i]);
      if (!sum) return InvalidArgument("size_splits are too large");
      known = *sum;
    }
    if (unknown < 0 ? known != x.dim(axis) : known > x.dim(axis)) {
      return InvalidArgument(
          "Determined shape must either match input shape along split_dim exactly if fully "
          "specified, or be less than the size of the input along split_dim if not fully "
          "specified.  Got: ",
          known);
    }
    if (unknown >= 0) sizes[unknown] = x.dim(axis) - known;
    return SplitInto(ctx, x, axis, sizes);
  }
};

class UnpackKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<UnpackKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const int rank = x.rank(), count = ctx.num_outputs();
    const int64_t given = axis_ < 0 ? axis_ + rank : axis_;
    if (given < 0 || given >= rank) return InvalidArgument("axis = ", axis_, " not in [", -rank, ", ", rank, ")");
    const int axis = static_cast<int>(given);
    if (x.dim(axis) != count) {
      return InvalidArgument("Input shape axis ", axis, " must equal ", count, ", got shape ", x.shape().ToString());
    }
    Shape shape = x.shape();
    shape.RemoveDim(axis);
    const int64_t outer = x.shape().Slice(0, axis).num_elements();
    const int64_t inner = x.shape().Slice(axis + 1, rank).num_elements();
    for (int i = 0; i < count; ++i) {
      Tensor part = axis == 0 ? x.SubTensor(i) : Tensor();
      if (part.has_value() && part.is_aligned()) {
        ctx.set_output(i, std::move(part));
      } else {
        WEIR_RETURN_IF_ERROR(TakeColumns(ctx, x, i, shape, outer, count * inner, i * inner, inner));
      }
    }
    return OkStatus();
  }

 private:
  int64_t axis_ = 0;
};

}  // namespace

void RegisterSplitKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Split"), MakeKernel<SplitKernel>);
  registry.Add(KernelBuilder("SplitV"), MakeKernel<SplitVKernel>);
  registry.Add(KernelBuilder("Unpack"), MakeKernel<UnpackKernel>);
}

}  // namespace weir
