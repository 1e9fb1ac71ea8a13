// Joining tensors: Concat, ConcatV2, Pack, ParallelConcat, ConcatOffset.
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

// The output seen as [outer, sum of widths]; each input is [outer, its width].
Status JoinColumns(KernelContext& ctx, int first, int count, Tensor& out, int64_t outer,
                   std::span<const int64_t> widths) {
  int64_t total = 0;
  for (int64_t width : widths) total += width;
  const DType dtype = out.dtype();
  const int64_t size = static_cast<int64_t>(SizeOf(dtype));
  char* to = static_cast<char*>(out.raw_data());
  if (!ctx.device().is_host()) {
    for (int i = 0; i < count; to += widths[i++] * size) {
      const int64_t dims[] = {outer, widths[i]}, from_strides[] = {widths[i], 1}, to_strides[] = {total, 1};
      WEIR_RETURN_IF_ERROR(
          StridedCopy(ctx, dtype, dims, ctx.input(first + i).raw_data(), from_strides, to, to_strides));
    }
    return OkStatus();
  }
  auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char* at = to + row * total * size;
      for (int i = 0; i < count; ++i) {
        const char* from = static_cast<const char*>(ctx.input(first + i).raw_data());
        CopyElements(dtype, from + row * widths[i] * size, at, widths[i]);
        at += widths[i] * size;
      }
    }
  };
  if (outer * total < 16384) {
    rows(0, outer);
  } else {
    ctx.ParallelFor(outer, 5.0 * count + total * size * 0.05, rows);
  }
  return OkStatus();
}

class ConcatKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ConcatKernel>();
    kernel->axis_first_ = init.schema().name == "Concat";
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const int count = ctx.num_inputs() - 1;
    const int first = axis_first_ ? 1 : 0;
    const Tensor& axis_input = ctx.input(axis_first_ ? 0 : count);
    if (axis_input.num_elements() != 1 || axis_input.rank() > 1) {
      return InvalidArgument(axis_first_ ? "concat_dim" : "axis", " tensor should be a scalar integer, but got shape ",
                             axis_input.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(int64_t given, IntScalar(axis_input, "axis"));
    const Shape& base = ctx.input(first).shape();
    const int rank = base.rank();
    if (rank == 0) return InvalidArgument("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    if (given < -rank || given >= rank) {
      return InvalidArgument("ConcatOp : Expected concatenating dimensions in the range [", -rank, ", ", rank,
                             "), but got ", given);
    }
    const int axis = static_cast<int>(given < 0 ? given + rank : given);
    int64_t joined = 0;
    for (int i = 0; i < count; ++i) {
      const Shape& shape = ctx.input(first + i).shape();
      if (shape.rank() != rank) {
        return InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = ", base.ToString(),
                               " vs. shape[", i, "] = ", shape.ToString());
      }
      for (int d = 0; d < rank; ++d) {
        if (d != axis && shape.dim(d) != base.dim(d)) {
          return InvalidArgument("ConcatOp : Dimension ", d,
                                 " in both shapes must be equal: shape[0] = ", base.ToString(), " vs. shape[", i,
                                 "] = ", shape.ToString());
        }
      }
      auto sum = CheckedAdd(joined, shape.dim(axis));
      if (!sum) return InvalidArgument("ConcatOp : the result is too large");
      joined = *sum;
    }
    if (count == 1) {
      ctx.set_output(0, ctx.TakeInput(first));
      return OkStatus();
    }
    Shape shape = base;
    WEIR_RETURN_IF_ERROR(shape.SetDim(axis, joined));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    int64_t inner = shape.Slice(axis + 1, rank).num_elements();
    Dims widths;
    for (int i = 0; i < count; ++i) widths.push_back(ctx.input(first + i).dim(axis) * inner);
    return JoinColumns(ctx, first, count, *out, shape.Slice(0, axis).num_elements(), widths);
  }

 private:
  bool axis_first_ = false;
};

class PackKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<PackKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const int count = ctx.num_inputs();
    const Shape base = ctx.input(0).shape();
    for (int i = 1; i < count; ++i) {
      if (!(ctx.input(i).shape() == base)) {
        return InvalidArgument("Shapes of all inputs must match: values[0].shape = ", base.ToString(), " != values[", i,
                               "].shape = ", ctx.input(i).shape().ToString());
      }
    }
    const int rank = base.rank() + 1;
    int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
    if (axis < 0 || axis >= rank) return InvalidArgument("axis = ", axis_, " not in [", -rank, ", ", rank, ")");
    Shape shape = base;
    WEIR_RETURN_IF_ERROR(shape.InsertDim(static_cast<int>(axis), count));
    if (count == 1) {
      WEIR_ASSIGN_OR_RETURN(Tensor out, ctx.input(0).Reshaped(shape));
      ctx.set_output(0, std::move(out));
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    int64_t inner = base.Slice(static_cast<int>(axis), base.rank()).num_elements();
    Dims widths(count, inner);
    return JoinColumns(ctx, 0, count, *out, base.Slice(0, static_cast<int>(axis)).num_elements(), widths);
  }

 private:
  int64_t axis_ = 0;
};

// Rows of one element along dimension 0 put together; the attribute says the result's shape.
class ParallelConcatKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, init.Attr<PartialShape>("shape"));
    if (!shape.has_rank() || shape.rank() < 1 || shape.dim(0) != init.num_inputs()) {
      return InvalidArgument("ParallelConcat of ", init.num_inputs(), " rows cannot have the shape ", shape.ToString());
    }
    return std::make_unique<ParallelConcatKernel>();
  }
  Status Compute(KernelContext& ctx) override {
    const Shape base = ctx.input(0).shape();
    if (base.rank() < 1) return InvalidArgument("ParallelConcat takes no scalars");
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& shape = ctx.input(i).shape();
      if (!(shape == base) || shape.dim(0) != 1) {
        return InvalidArgument("All input shapes must match and have size 1 in dimension 0, got ", shape.ToString());
      }
    }
    Shape shape = base;
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, ctx.num_inputs()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    Dims widths(ctx.num_inputs(), base.num_elements());
    return JoinColumns(ctx, 0, ctx.num_inputs(), *out, 1, widths);
  }
};

// Where each of the joined tensors begins, as the gradient of Concat needs it.
class ConcatOffsetKernel : public Kernel {
 public:
  bool is_expensive() const override { return false; }
  Status Compute(KernelContext& ctx) override {
    if (!ctx.input(0).shape().IsScalar()) {
      return InvalidArgument("Concat dim tensor should be a scalar integer, but got shape ",
                             ctx.input(0).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(int64_t given, IntScalar(ctx.input(0), "concat_dim"));
    const int count = ctx.num_inputs() - 1;
    for (int i = 0; i < count; ++i) {
      if (!ctx.input(1 + i).shape().IsVector()) {
        return InvalidArgument("input ", i, " should be a vector, but got shape ", ctx.input(1 + i).shape().ToString());
      }
    }
    WEIR_ASSIGN_OR_RETURN(Dims base, IntElements(ctx.input(1), "shape"));
    const int rank = static_cast<int>(base.size());
    const int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) return InvalidArgument("Concat dim is out of range: ", axis, " vs. ", rank);
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) {
      WEIR_ASSIGN_OR_RETURN(Dims dims, IntElements(ctx.input(1 + i), "shape"));
      if (dims.size() != base.size()) {
        return InvalidArgument("input ", i, " should contain ", rank, " elements, but got ", dims.size());
      }
      for (int d = 0; d < rank; ++d) {
        if (d != axis && dims[d] != base[d]) {
          return InvalidArgument("All dimensions except ", axis, " must match. Input ", i, " has shape [", Join(dims),
                                 "] and doesn't match input 0 with shape [", Join(base), "].");
        }
      }
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, Shape({rank})));
      for (int d = 0; d < rank; ++d) {
        int64_t value = d == axis ? offset : 0;
        if (out->dtype() == DType::kInt64) {
          out->data<int64_t>()[d] = value;
        } else {
          out->data<int32_t>()[d] = static_cast<int32_t>(value);
        }
      }
      auto sum = CheckedAdd(offset, dims[axis]);
      if (!sum) return InvalidArgument("Concat offsets overflow");
      offset = *sum;
    }
    return OkStatus();
  }

 private:
  static std::string Join(const Dims& dims) {
    std::string out;
    for (size_t i = 0; i < dims.size(); ++i) out += Cat(i > 0 ? " " : "", dims[i]);
    return out;
  }
};

}  // namespace

void RegisterConcatKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Concat"), MakeKernel<ConcatKernel>);
  registry.Add(KernelBuilder("ConcatV2"), MakeKernel<ConcatKernel>);
  registry.Add(KernelBuilder("ConcatOffset"), MakeKernel<ConcatOffsetKernel>);
  registry.Add(KernelBuilder("Pack"), MakeKernel<PackKernel>);
  registry.Add(KernelBuilder("ParallelConcat"), ParallelConcatKernel::Make);
}

}  // namespace weir
