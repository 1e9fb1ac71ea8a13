// Einsum on GPUs: operands are summed over what nobody else has, laid out as matrices where they are not already, and
// multiplied.
#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/reduction.h"
#include "weir/ops/linalg/cuda/register.h"
#include "weir/ops/linalg/einsum_axes.h"

namespace weir::cuda {
namespace {

using linalg::Axes;
using linalg::Axis;
using linalg::Count;

// Elements in the GPU's memory.
struct DeviceView {
  Axes axes;
  Tensor memory;
};

Status CopyAlong(const KernelContext& ctx, const Axes& axes, const Tensor& from, const Dims& strides, Tensor& to) {
  Dims dims, from_strides;
  for (const Axis& axis : axes) {
    dims.push_back(axis.size);
    from_strides.push_back(axis.stride);
  }
  return StridedCopy(ctx, from.dtype(), dims, from.raw_data(), from_strides, to.raw_data(), strides);
}

// The same elements with their axes in this order, dense.
Status ArrangeOnGpu(KernelContext& ctx, DeviceView& view, const Axes& order) {
  view.axes = order;
  if (linalg::IsDense(order)) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(Tensor moved, ctx.AllocateTemp(view.memory.dtype(), Shape({Count(order)})));
  const Dims strides = DenseStrides(linalg::SizesOf(order));
  if (Count(order) > 0) WEIR_RETURN_IF_ERROR(CopyAlong(ctx, order, view.memory, strides, moved));
  for (size_t i = 0; i < order.size(); ++i) view.axes[i].stride = strides[i];
  view.memory = std::move(moved);
  return OkStatus();
}

// Sums over the axes that are not in `kept`.
Status SumOthersOnGpu(KernelContext& ctx, DeviceView& view, const EinsumLabels& kept) {
  Axes order, summed;
  for (const Axis& axis : view.axes) (linalg::Has(kept, axis.label) ? order : summed).push_back(axis);
  if (summed.empty()) return OkStatus();
  const int64_t rows = Count(order), depth = Count(summed);
  WEIR_RETURN_IF_ERROR(ArrangeOnGpu(ctx, view, linalg::Join({order, summed})));
  WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(view.memory.dtype(), Shape({rows})));
  const Tensor terms = Tensor::Wrap(view.memory.dtype(), Shape({rows, depth}), view.memory.raw_data(), nullptr);
  WEIR_RETURN_IF_ERROR(Reduce(ctx, "Sum", terms, {false, true}, sums));
  const Dims strides = DenseStrides(linalg::SizesOf(order));
  for (size_t i = 0; i < order.size(); ++i) order[i].stride = strides[i];
  view.axes = order;
  view.memory = std::move(sums);
  return OkStatus();
}

// Lays an operand out as matrices; either order of their dimensions will do. Returns whether it is [depth, free].
StatusOr<bool> AsMatrices(KernelContext& ctx, DeviceView& view, const Axes& batch, const Axes& free,
                          const Axes& depth) {
  const Axes depth_first = linalg::Join({batch, depth, free});
  if (!linalg::IsDense(linalg::Join({batch, free, depth})) && linalg::IsDense(depth_first)) {
    view.axes = depth_first;
    return true;
  }
  WEIR_RETURN_IF_ERROR(ArrangeOnGpu(ctx, view, linalg::Join({batch, free, depth})));
  return false;
}

StatusOr<DeviceView> MultiplyViews(KernelContext& ctx, DeviceView a, DeviceView b, const EinsumLabels& output) {
  const linalg::ProductAxes axes = linalg::AxesOfProduct(a.axes, b.axes, output);
  WEIR_ASSIGN_OR_RETURN(const bool a_depth_first, AsMatrices(ctx, a, axes.batch_a, axes.free_a, axes.depth_a));
  WEIR_ASSIGN_OR_RETURN(const bool b_depth_first, AsMatrices(ctx, b, axes.batch_b, axes.free_b, axes.depth_b));
  DeviceView out;
  out.axes = linalg::Join({axes.batch_a, axes.free_a, axes.free_b});
  const Dims strides = DenseStrides(linalg::SizesOf(out.axes));
  for (size_t i = 0; i < out.axes.size(); ++i) out.axes[i].stride = strides[i];
  const DType dtype = a.memory.dtype();
  const int64_t batch = Count(axes.batch_a), m = Count(axes.free_a), n = Count(axes.free_b), k = Count(axes.depth_a);
  WEIR_ASSIGN_OR_RETURN(out.memory, ctx.AllocateTemp(dtype, Shape({batch * m * n})));
  if (out.memory.num_elements() == 0) return out;
  if (k == 0) {
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(out.memory), out.memory.num_bytes()));
    return out;
  }
  const MatrixProduct product{.dtype = dtype,
                              .batch = batch,
                              .m = m,
                              .n = n,
                              .k = k,
                              .transpose_a = a_depth_first,
                              .transpose_b = !b_depth_first,
                              .a_step = m * k,
                              .b_step = n * k,
                              .out_step = m * n};
  WEIR_RETURN_IF_ERROR(Multiply(ctx, product, Address(a.memory), Address(b.memory), Address(out.memory)));
  return out;
}

class GpuEinsumKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuEinsumKernel>();
    WEIR_ASSIGN_OR_RETURN(std::string equation, init.Attr<std::string>("equation"));
    WEIR_ASSIGN_OR_RETURN(kernel->equation_, EinsumEquation::Parse(equation));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const linalg::EinsumOperands operands, linalg::ReadOperands(ctx, equation_));
    const EinsumLabels& output = operands.output;
    DeviceView result{linalg::AxesOf(ctx.input(0).shape(), operands.inputs[0]), ctx.input(0)};
    if (ctx.num_inputs() == 1) {
      WEIR_RETURN_IF_ERROR(SumOthersOnGpu(ctx, result, output));
    } else {
      DeviceView other{linalg::AxesOf(ctx.input(1).shape(), operands.inputs[1]), ctx.input(1)};
      EinsumLabels of_first = output, of_other = output;
      for (const Axis& axis : result.axes) of_other.push_back(axis.label);
      for (const Axis& axis : other.axes) of_first.push_back(axis.label);
      WEIR_RETURN_IF_ERROR(SumOthersOnGpu(ctx, result, of_first));
      WEIR_RETURN_IF_ERROR(SumOthersOnGpu(ctx, other, of_other));
      WEIR_ASSIGN_OR_RETURN(result, MultiplyViews(ctx, std::move(result), std::move(other), output));
    }
    return Write(ctx, result, operands);
  }

 private:
  static Status Write(KernelContext& ctx, const DeviceView& view, const linalg::EinsumOperands& operands) {
    Shape shape;
    for (int label : operands.output) WEIR_RETURN_IF_ERROR(shape.AddDim(operands.sizes[label]));
    const linalg::OutputLayout layout = linalg::OutputAxes(shape, operands.output, view.axes, operands.sizes);
    if (!layout.has_diagonal && linalg::IsDense(layout.axes)) {  // all there, in order
      WEIR_ASSIGN_OR_RETURN(Tensor out, view.memory.Bitcast(view.memory.dtype(), shape));
      ctx.set_output(0, std::move(out));
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (layout.has_diagonal) WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
    return CopyAlong(ctx, layout.axes, view.memory, layout.strides, *out);
  }

  EinsumEquation equation_;
};

}  // namespace

void RegisterEinsumKernels(GpuRegistry& registry) { registry.Add("Einsum", MakeKernel<GpuEinsumKernel>); }

}  // namespace weir::cuda
