// Sparse tensors in another order, shape or arrangement.
#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/rearrange.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

class SparseReorderKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    SparseOutput out{sparse.rank()};
    for (int64_t row : sparse.SortedRows()) out.Add({sparse.index(row), static_cast<size_t>(sparse.rank())}, row);
    return out.Write(ctx, 0, 1, sparse.values);
  }
};

class SparseReshapeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(0), target = ctx.input(2);
    if (!target.shape().IsVector()) {
      return InvalidArgument("Target shape should be a vector but received shape ", target.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Shape from, SparseShape(ctx.input(1)));
    if (!indices.shape().IsMatrix()) {
      return InvalidArgument("Input indices should be a matrix but received shape ", indices.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor no_values, Tensor::Zeros(DType::kBool, Shape({indices.dim(0)})));
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(indices, no_values, ctx.input(1)));
    Dims dims(target.span<int64_t>().begin(), target.span<int64_t>().end());
    int unknown = -1;
    int64_t known = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == -1) {
        if (unknown >= 0) return InvalidArgument("only one output dimension may be -1, not both ", unknown, " and ", d);
        unknown = static_cast<int>(d);
        continue;
      }
      if (dims[d] < 0) return InvalidArgument("size ", d, " must be non-negative, not ", dims[d]);
      std::optional<int64_t> product = CheckedMultiply(known, dims[d]);
      if (!product) return InvalidArgument("The target shape is too large");
      known = *product;
    }
    if (unknown >= 0) {
      if (known == 0)
        return InvalidArgument(
            "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
            "non-zero");
      if (from.num_elements() % known != 0) {
        dims[unknown] = 1;
        return InvalidArgument("Input to reshape is a SparseTensor with ", from.num_elements(),
                               " dense values, but the requested shape requires a multiple of ", known,
                               ". input_shape=", from.ToString(), " output_shape=[", absl::StrJoin(dims, ","), "]");
      }
      dims[unknown] = from.num_elements() / known;
    }
    WEIR_ASSIGN_OR_RETURN(Shape to, Shape::Make(dims));
    if (to.num_elements() != from.num_elements()) {
      return InvalidArgument("Input to reshape is a tensor with ", from.num_elements(),
                             " dense values, but the requested shape has ", to.num_elements(),
                             ". input_shape=", from.ToString(), " output_shape=", to.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({indices.dim(0), to.rank()})));
    for (int64_t i = 0; i < sparse.count(); ++i) {
      // An index that is outside goes where its place would be; what is left over is of the first dimension.
      int64_t place = 0, stride = to.num_elements();
      for (int d = 0; d < from.rank(); ++d) place = WrapAdd(WrapMul(place, from.dim(d)), sparse.index(i)[d]);
      for (int d = 0; d < to.rank(); ++d) {
        stride = to.dim(d) == 0 ? 0 : stride / to.dim(d);
        out->data<int64_t>()[i * to.rank() + d] = stride == 0 ? 0 : place / stride;
        place = stride == 0 ? 0 : place % stride;
      }
    }
    ctx.set_output(1, ShapeVector(to));
    return OkStatus();
  }
};

class SparseConcatKernel : public Kernel {
 public:
  explicit SparseConcatKernel(int64_t axis) : axis_(axis) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(int64_t axis, init.Attr<int64_t>("concat_dim"));
    return std::unique_ptr<Kernel>(std::make_unique<SparseConcatKernel>(axis));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseConcatPlan plan, PlanSparseConcat(ctx, axis_));
    const Shape& shape = plan.shape;
    const std::vector<SparseInput>& parts = plan.parts;
    const int64_t total = plan.count;
    const int axis = plan.axis;
    // One sparse tensor of all, then put in order.
    WEIR_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kInt64, Shape({total, shape.rank()})));
    WEIR_ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(parts[0].values.dtype(), Shape({total})));
    int64_t at = 0, offset = 0;
    for (const SparseInput& part : parts) {
      for (int64_t i = 0; i < part.count(); ++i) {
        int64_t* to = indices.data<int64_t>() + (at + i) * shape.rank();
        std::copy_n(part.index(i), shape.rank(), to);
        to[axis] = WrapAdd(to[axis], offset);
      }
      CopyElements(values.dtype(), part.values.raw_data(),
                   static_cast<char*>(values.raw_data()) + at * static_cast<int64_t>(SizeOf(values.dtype())),
                   part.count());
      at += part.count();
      offset += part.shape.dim(axis);
    }
    SparseInput all{indices, values, shape};
    SparseOutput out{shape.rank()};
    for (int64_t row : all.SortedRows()) out.Add({all.index(row), static_cast<size_t>(shape.rank())}, row);
    ctx.set_output(2, ShapeVector(shape));
    return out.Write(ctx, 0, 1, values);
  }

 private:
  const int64_t axis_;
};

// The part of `sparse` in the box that begins at `start`.
SparseOutput Cut(const SparseInput& sparse, std::span<const int64_t> start, const Shape& box) {
  SparseOutput out{sparse.rank()};
  Dims index(sparse.rank());
  for (int64_t i = 0; i < sparse.count(); ++i) {
    bool inside = true;
    for (int d = 0; d < sparse.rank(); ++d) {
      index[d] = WrapSub(sparse.index(i)[d], start[d]);
      inside = inside && index[d] >= 0 && index[d] < box.dim(d);
    }
    if (inside) out.Add(index, i);
  }
  return out;
}

class SparseSliceKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    WEIR_ASSIGN_OR_RETURN(Shape box, SparseSliceBox(ctx, sparse));
    ctx.set_output(2, ShapeVector(box));
    return Cut(sparse, ctx.input(3).span<int64_t>(), box).Write(ctx, 0, 1, sparse.values);
  }
};

class SparseSplitKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseSplitPlan plan, PlanSparseSplit(ctx));
    const SparseInput& sparse = plan.sparse;
    const int n = plan.parts, axis = plan.axis;
    if (const std::optional<int64_t> row = sparse.FirstOutside()) {
      const int64_t* index = sparse.index(*row);
      return InvalidArgument("Sparse index tuple indices[", *row, ", :] = [",
                             absl::StrJoin(index, index + sparse.rank(), ", "), "] is out of bounds");
    }
    Dims start(sparse.rank(), 0);
    for (int i = 0; i < n; ++i) {
      Shape box = sparse.shape;
      WEIR_RETURN_IF_ERROR(box.SetDim(axis, plan.Size(i)));
      WEIR_RETURN_IF_ERROR(Cut(sparse, start, box).Write(ctx, i, n + i, sparse.values));
      ctx.set_output(2 * n + i, ShapeVector(box));
      start[axis] += box.dim(axis);
    }
    return OkStatus();
  }
};

// Gradients of the values that a slice kept, zero for the others.
class SparseSliceGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor grad = ctx.input(0), indices = ctx.input(1), start = ctx.input(2), kept = ctx.input(3);
    WEIR_RETURN_IF_ERROR(CheckSparseSliceGrad(ctx));
    const int64_t rank = indices.dim(1);
    auto key = [&](const Tensor& matrix, int64_t row, bool shift) {
      Dims index(matrix.data<int64_t>() + row * rank, matrix.data<int64_t>() + (row + 1) * rank);
      for (int64_t d = 0; shift && d < rank; ++d) index[d] = WrapAdd(index[d], start.data<int64_t>()[d]);
      return index;
    };
    absl::flat_hash_map<Dims, int64_t> rows;
    for (int64_t i = 0; i < kept.dim(0); ++i) rows[key(kept, i, true)] = i;
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(grad.dtype(), Shape({indices.dim(0)})));
    const size_t size = SizeOf(grad.dtype());
    for (int64_t i = 0; i < indices.dim(0); ++i) {
      auto found = rows.find(key(indices, i, false));
      if (found == rows.end()) continue;
      CopyElements(grad.dtype(), static_cast<const char*>(grad.raw_data()) + found->second * size,
                   static_cast<char*>(out.raw_data()) + i * size, 1);
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseRearrangeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseReorder"), MakeKernel<SparseReorderKernel>);
  registry.Add(KernelBuilder("SparseReshape"), MakeKernel<SparseReshapeKernel>);
  registry.Add(KernelBuilder("SparseConcat"), MakeKernel<SparseConcatKernel>);
  registry.Add(KernelBuilder("SparseSlice"), MakeKernel<SparseSliceKernel>);
  registry.Add(KernelBuilder("SparseSliceGrad"), MakeKernel<SparseSliceGradKernel>);
  registry.Add(KernelBuilder("SparseSplit"), MakeKernel<SparseSplitKernel>);
}

}  // namespace weir
