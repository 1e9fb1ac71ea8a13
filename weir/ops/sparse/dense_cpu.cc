// Sparse and dense together: SparseToDense, SparseDenseCwise*, SparseTensorDenseAdd and MatMul.
#include "absl/strings/str_join.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/fill_empty_rows.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

class SparseToDenseKernel : public Kernel {
 public:
  explicit SparseToDenseKernel(bool validate) : validate_(validate) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool validate, init.Attr<bool>("validate_indices"));
    return std::unique_ptr<Kernel>(std::make_unique<SparseToDenseKernel>(validate));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor given = ctx.input(0), values = ctx.input(2), fallback = ctx.input(3);
    WEIR_ASSIGN_OR_RETURN(Shape shape, DenseShape(ctx));
    const int64_t count = given.rank() > 0 ? given.dim(0) : 1, rank = given.rank() > 1 ? given.dim(1) : 1;
    WEIR_ASSIGN_OR_RETURN(Dims elements, IntElements(given, "sparse_indices"));
    WEIR_ASSIGN_OR_RETURN(Tensor indices, IndexMatrix(elements, count, static_cast<int>(rank)));
    std::vector<int64_t> rows(count, 0);
    if (values.rank() == 1) {
      for (int64_t i = 0; i < count; ++i) rows[i] = i;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor flat, values.Reshaped(Shape({values.num_elements()})));
    WEIR_ASSIGN_OR_RETURN(Tensor each, TakeRows(flat, rows));
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, validate_
                                                  ? MakeSparse(indices, each, ShapeVector(shape), /*ordered=*/true)
                                                  : MakeUnboundedSparse(indices, each, ShapeVector(shape)));
    if (sparse.FirstOutside()) {
      return InvalidArgument("Indices are not valid (out of bounds).  Shape: ", shape.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillElements(out->dtype(), fallback.raw_data(), out->raw_data(), out->num_elements());
    const int64_t size = static_cast<int64_t>(SizeOf(out->dtype()));
    for (int64_t i = 0; i < count; ++i) {
      CopyElements(out->dtype(), static_cast<const char*>(each.raw_data()) + i * size,
                   static_cast<char*>(out->raw_data()) + sparse.place(i) * size, 1);
    }
    return OkStatus();
  }

 private:
  const bool validate_;
};

class SparseTensorDenseAddKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor given = ctx.input(0);
    if (!given.shape().IsMatrix()) {
      return InvalidArgument("Input a_indices should be a matrix but received shape: ", given.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Dims elements, IntElements(given, "a_indices"));
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(2), "a_shape"));
    WEIR_ASSIGN_OR_RETURN(Tensor indices, IndexMatrix(elements, given.dim(0), static_cast<int>(given.dim(1))));
    WEIR_ASSIGN_OR_RETURN(SparseInput a, MakeUnboundedSparse(indices, ctx.input(1), ShapeVector(shape)));
    if (!(shape == ctx.input(3).shape())) {
      return InvalidArgument("Dimensions of a and b must agree, got ", shape.ToString(), " and ",
                             ctx.input(3).shape().ToString());
    }
    if (const std::optional<int64_t> row = a.FirstOutside()) {
      int d = 0;
      while (a.index(*row)[d] >= 0 && a.index(*row)[d] < shape.dim(d)) ++d;
      return InvalidArgument("Sparse tensor has an invalid index on dimension ", d, ": a_indices(", *row, ",", d,
                             ") = ", a.index(*row)[d], ", dense tensor shape: ", absl::StrJoin(shape.dims(), " "));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor out, ctx.input(3).Clone());
    DispatchDType(out.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < a.count(); ++i) {
        T& to = out.data<T>()[a.place(i)];
        to = static_cast<T>(WrapAdd(Widen(to), Widen(a.values.data<T>()[i])));
      }
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

enum class Cwise { kAdd, kMul, kDiv };

template <Cwise kOp>
class SparseDenseCwiseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    const Tensor dense = ctx.input(3);
    StatusOr<Shape> common = BroadcastShape(sparse.shape, dense.shape());
    if (!common.ok() || !(*common == sparse.shape)) {
      return InvalidArgument("SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: [",
                             absl::StrJoin(sparse.shape.dims(), ","), "] vs. [",
                             absl::StrJoin(dense.shape().dims(), ","), "]");
    }
    if (sparse.FirstOutside()) {
      return InvalidArgument("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape");
    }
    const Dims strides = BroadcastStrides(dense.shape(), sparse.shape);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sparse.values.shape()));
    Status status;
    DispatchDType(out->dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < sparse.count(); ++i) {
        int64_t at = 0;
        for (int d = 0; d < sparse.rank(); ++d) at += sparse.index(i)[d] * strides[d];
        const auto a = Widen(sparse.values.data<T>()[i]), b = Widen(dense.data<T>()[at]);
        if constexpr (kOp == Cwise::kAdd) {
          out->data<T>()[i] = static_cast<T>(WrapAdd(a, b));
        } else if constexpr (kOp == Cwise::kMul) {
          out->data<T>()[i] = static_cast<T>(WrapMul(a, b));
        } else {
          if constexpr (std::is_integral_v<T>) {
            if (b == 0) {
              status = InvalidArgument("Integer division by zero");
              return;
            }
          }
          out->data<T>()[i] = static_cast<T>(WrapDiv(a, b));
        }
      }
    });
    return status;
  }
};

class SparseTensorDenseMatMulKernel : public Kernel {
 public:
  SparseTensorDenseMatMulKernel(bool adjoint_a, bool adjoint_b) : adjoint_a_(adjoint_a), adjoint_b_(adjoint_b) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool adjoint_a, init.Attr<bool>("adjoint_a"));
    WEIR_ASSIGN_OR_RETURN(bool adjoint_b, init.Attr<bool>("adjoint_b"));
    return std::unique_ptr<Kernel>(std::make_unique<SparseTensorDenseMatMulKernel>(adjoint_a, adjoint_b));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor given = ctx.input(0), values = ctx.input(1), b = ctx.input(3);
    if (!b.shape().IsMatrix()) return InvalidArgument("Tensor 'b' is not a matrix");
    if (ctx.input(2).num_elements() != 2) return InvalidArgument("Tensor 'a_shape' must have 2 elements");
    WEIR_ASSIGN_OR_RETURN(Dims elements, IntElements(given, "a_indices"));
    if (!given.shape().IsMatrix()) return InvalidArgument("Tensor 'a_indices' is not a matrix");
    if (given.dim(1) != 2) {
      return InvalidArgument("Number of columns of a_indices does not match number of entries in a_shape");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor indices, IndexMatrix(elements, given.dim(0), 2));
    WEIR_ASSIGN_OR_RETURN(SparseInput a, MakeUnboundedSparse(indices, values, ctx.input(2)));
    const int row_of = adjoint_a_ ? 1 : 0;
    const int64_t rows = a.shape.dim(row_of), inner = a.shape.dim(1 - row_of);
    const int64_t columns = b.dim(adjoint_b_ ? 0 : 1), inner_b = b.dim(adjoint_b_ ? 1 : 0);
    if (inner != inner_b) {
      return InvalidArgument("Cannot multiply A and B because inner dimension does not match: ", inner, " vs. ",
                             inner_b, ".  Did you forget a transpose?  Dimensions of A: [", a.shape.dim(0), ", ",
                             a.shape.dim(1), ").  Dimensions of B: ", b.shape().ToString());
    }
    for (int64_t i = 0; i < a.count(); ++i) {
      for (int side : {1 - row_of, row_of}) {  // k is looked at before m
        const int64_t at = a.index(i)[side];
        if (at >= 0 && at < a.shape.dim(side)) continue;
        return InvalidArgument(side == row_of ? "m" : "k", " (", at, ") from index[", i, ",", side,
                               "] out of bounds (>=", a.shape.dim(side), ")");
      }
    }
    const int64_t dims[] = {rows, columns};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(out->dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      std::vector<C> sums(static_cast<size_t>(rows * columns), C(0));
      for (int64_t i = 0; i < a.count(); ++i) {
        const int64_t row = a.index(i)[row_of], k = a.index(i)[1 - row_of];
        const C value = Conjugated(Widen(a.values.data<T>()[i]), adjoint_a_);
        C* to = sums.data() + row * columns;
        const int64_t first = adjoint_b_ ? k : k * columns, step = adjoint_b_ ? inner : 1;
        for (int64_t j = 0; j < columns; ++j) {
          to[j] = WrapAdd(to[j], WrapMul(value, Conjugated(Widen(b.data<T>()[first + j * step]), adjoint_b_)));
        }
      }
      for (size_t i = 0; i < sums.size(); ++i) out->data<T>()[i] = static_cast<T>(sums[i]);
    });
    return OkStatus();
  }

  using Types = decltype(FloatTypes{} + ComplexTypes{} + TypeList<int32_t>{});

 private:
  template <typename C>
  static C Conjugated(C value, bool conjugate) {
    if constexpr (kIsComplex<C>) return conjugate ? std::conj(value) : value;
    return value;
  }
  const bool adjoint_a_, adjoint_b_;
};

}  // namespace

void RegisterSparseDenseKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseToDense"), MakeKernel<SparseToDenseKernel>);
  registry.Add(KernelBuilder("SparseDenseCwiseAdd").Types("T", NumberTypes{}),
               MakeKernel<SparseDenseCwiseKernel<Cwise::kAdd>>);
  registry.Add(KernelBuilder("SparseDenseCwiseMul").Types("T", NumberTypes{}),
               MakeKernel<SparseDenseCwiseKernel<Cwise::kMul>>);
  registry.Add(KernelBuilder("SparseDenseCwiseDiv").Types("T", NumberTypes{}),
               MakeKernel<SparseDenseCwiseKernel<Cwise::kDiv>>);
  registry.Add(KernelBuilder("SparseTensorDenseAdd").Types("T", NumberTypes{}), MakeKernel<SparseTensorDenseAddKernel>);
  registry.Add(KernelBuilder("SparseTensorDenseMatMul").Types("T", SparseTensorDenseMatMulKernel::Types{}),
               MakeKernel<SparseTensorDenseMatMulKernel>);
}

}  // namespace weir
