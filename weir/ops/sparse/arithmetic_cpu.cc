// Sums, extremes, reductions and softmax of sparse tensors.
#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_join.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

constexpr int64_t kNone = -1;

// Two sparse tensors of one shape, walked together in order: visit(row of a or kNone, row of b or kNone).
struct Operands {
  SparseInput a, b;

  static StatusOr<Operands> Read(KernelContext& ctx) {
    WEIR_ASSIGN_OR_RETURN(SparseInput a, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    WEIR_ASSIGN_OR_RETURN(SparseInput b, MakeUnboundedSparse(ctx.input(3), ctx.input(4), ctx.input(5)));
    if (a.rank() != b.rank())
      return InvalidArgument("Ranks of input tensors must match: ", a.rank(), " vs. ", b.rank());
    for (int d = 0; d < a.rank(); ++d) {
      if (a.shape.dim(d) != b.shape.dim(d)) {
        return InvalidArgument("Input shapes must match: got ", a.shape.dim(d), " and ", b.shape.dim(d),
                               " for dimension ", d);
      }
    }
    return Operands{std::move(a), std::move(b)};
  }

  template <typename Visit>
  void Walk(Visit&& visit) const {
    int64_t i = 0, j = 0;
    const int rank = a.rank();
    auto before = [rank](const int64_t* x, const int64_t* y) {
      return std::lexicographical_compare(x, x + rank, y, y + rank);
    };
    while (i < a.count() || j < b.count()) {
      if (j == b.count() || (i < a.count() && before(a.index(i), b.index(j)))) {
        visit(i++, kNone);
      } else if (i == a.count() || before(b.index(j), a.index(i))) {
        visit(kNone, j++);
      } else {
        visit(i++, j++);
      }
    }
  }
  const int64_t* index(int64_t i, int64_t j) const { return i != kNone ? a.index(i) : b.index(j); }
};

Status CheckInside(const SparseInput& sparse) {
  const std::optional<int64_t> row = sparse.FirstOutside();
  if (!row) return OkStatus();
  const int64_t* index = sparse.index(*row);
  return InvalidArgument("Sparse index tuple indices[", *row, ", :] = [",
                         absl::StrJoin(index, index + sparse.rank(), ", "), "] is out of bounds");
}

class SparseAddKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Operands in, Operands::Read(ctx));
    const Tensor threshold = ctx.input(6);
    if (!threshold.shape().IsScalar()) {
      return InvalidArgument("The magnitude threshold must be a scalar: got shape ", threshold.shape().ToString());
    }
    double limit = 0;
    DispatchDType(threshold.dtype(), RealTypes{}, [&](auto tag) {
      limit = static_cast<double>(Widen(threshold.scalar<typename decltype(tag)::type>()));
    });
    std::vector<int64_t> indices;
    Tensor values;
    DispatchDType(in.a.values.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<T> sums;
      in.Walk([&](int64_t i, int64_t j) {
        ComputeType<T> sum(0);
        if (i != kNone) sum = Widen(in.a.values.data<T>()[i]);
        if (j != kNone) sum = WrapAdd(sum, Widen(in.b.values.data<T>()[j]));
        double size;
        if constexpr (kIsComplex<T>)
          size = static_cast<double>(std::abs(sum));
        else
          size = std::abs(static_cast<double>(sum));
        // What only one side has is kept however small it is.
        if (i != kNone && j != kNone && size < limit) return;
        const int64_t* index = in.index(i, j);
        indices.insert(indices.end(), index, index + in.a.rank());
        sums.push_back(static_cast<T>(sum));
      });
      values = Tensor::Vector<T>(sums);
    });
    WEIR_ASSIGN_OR_RETURN(Tensor matrix, IndexMatrix(indices, values.num_elements(), in.a.rank()));
    ctx.set_output(0, std::move(matrix));
    ctx.set_output(1, std::move(values));
    ctx.set_output(2, ShapeVector(in.a.shape));
    return OkStatus();
  }
};

// Each operand's value gets the gradient of the sum at its index, zero if the sum dropped it.
class SparseAddGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor grad = ctx.input(0), sum = ctx.input(3);
    for (int i = 1; i <= 3; ++i) {
      const Shape& shape = ctx.input(i).shape();
      if (!shape.IsMatrix() || !sum.shape().IsMatrix() || shape.dim(1) != sum.dim(1)) {
        return InvalidArgument("The densified shapes of a, b and their sum must have one rank, got indices of shape ",
                               shape.ToString());
      }
    }
    if (!grad.shape().IsVector() || grad.dim(0) != sum.dim(0)) {
      return InvalidArgument(
          "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): got ",
          grad.num_elements(), " and ", sum.dim(0));
    }
    const int64_t rank = sum.dim(1);
    using Key = std::vector<int64_t>;
    auto key = [rank](const Tensor& t, int64_t i) {
      return Key(t.data<int64_t>() + i * rank, t.data<int64_t>() + (i + 1) * rank);
    };
    std::map<Key, int64_t> rows;
    for (int64_t i = 0; i < sum.dim(0); ++i) rows[key(sum, i)] = i;
    const size_t size = SizeOf(grad.dtype());
    for (int side = 0; side < 2; ++side) {
      const Tensor indices = ctx.input(1 + side);
      WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(grad.dtype(), Shape({indices.dim(0)})));
      for (int64_t i = 0; i < indices.dim(0); ++i) {
        auto found = rows.find(key(indices, i));
        if (found == rows.end()) continue;
        CopyElements(grad.dtype(), static_cast<const char*>(grad.raw_data()) + found->second * size,
                     static_cast<char*>(out.raw_data()) + i * size, 1);
      }
      ctx.set_output(side, std::move(out));
    }
    return OkStatus();
  }
};

template <bool kMax>
class SparseSparseExtremeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Operands in, Operands::Read(ctx));
    WEIR_RETURN_IF_ERROR(CheckInside(in.a));
    WEIR_RETURN_IF_ERROR(CheckInside(in.b));
    std::vector<int64_t> indices;
    Tensor values;
    DispatchDType(in.a.values.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<T> chosen;
      in.Walk([&](int64_t i, int64_t j) {
        const T a = i != kNone ? in.a.values.data<T>()[i] : T(0), b = j != kNone ? in.b.values.data<T>()[j] : T(0);
        chosen.push_back(kMax == (Widen(a) < Widen(b)) ? b : a);
        const int64_t* index = in.index(i, j);
        indices.insert(indices.end(), index, index + in.a.rank());
      });
      values = Tensor::Vector<T>(chosen);
    });
    WEIR_ASSIGN_OR_RETURN(Tensor matrix, IndexMatrix(indices, values.num_elements(), in.a.rank()));
    ctx.set_output(0, std::move(matrix));
    ctx.set_output(1, std::move(values));
    return OkStatus();
  }
};

template <bool kMax, bool kSparse>
class SparseReduceKernel : public Kernel {
 public:
  explicit SparseReduceKernel(bool keep_dims) : keep_dims_(keep_dims) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool keep_dims, init.Attr<bool>("keep_dims"));
    return std::unique_ptr<Kernel>(std::make_unique<SparseReduceKernel>(keep_dims));
  }
  using Types = std::conditional_t<kMax, RealTypes, NumberTypes>;

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    if (ctx.input(3).rank() > 1) {
      return InvalidArgument("Expected reduction_axes to be a scalar or a vector; got shape: ",
                             ctx.input(3).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Dims axes, IntElements(ctx.input(3), "reduction_axes"));
    std::vector<bool> reduced(sparse.rank(), false);
    for (int64_t axis : axes) {
      if (axis < -sparse.rank() || axis >= sparse.rank()) {
        return InvalidArgument("Invalid reduction dimension ", axis, ", for input with ", sparse.rank(),
                               " dimensions.");
      }
      reduced[axis < 0 ? axis + sparse.rank() : axis] = true;
    }
    Shape shape;
    for (int d = 0; d < sparse.rank(); ++d) {
      if (!reduced[d]) WEIR_RETURN_IF_ERROR(shape.AddDim(sparse.shape.dim(d)));
      if (reduced[d] && keep_dims_) WEIR_RETURN_IF_ERROR(shape.AddDim(1));
    }
    Groups groups;
    for (int64_t i = 0; i < sparse.count(); ++i) {
      Dims index;
      for (int d = 0; d < sparse.rank(); ++d) {
        if (!reduced[d]) index.push_back(sparse.index(i)[d]);
        if (reduced[d] && keep_dims_) index.push_back(0);
      }
      groups[index].push_back(i);
    }
    if (kSparse) return WriteSparse(ctx, sparse, shape, groups);
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(sparse.values.dtype(), shape));
    Status status;
    DispatchDType(out.dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const auto& [index, rows] : groups) {
        int64_t place = 0;
        for (int d = 0; d < shape.rank(); ++d) place = WrapAdd(WrapMul(place, shape.dim(d)), index[d]);
        if (place < 0 || place >= out.num_elements()) {
          status = Internal("Obtained a write index of ", place, " which is outside of bounds of [0, ",
                            out.num_elements(), ")");
          return;
        }
        out.data<T>()[place] = Reduce(sparse.values.data<T>(), rows);
      }
    });
    ctx.set_output(0, std::move(out));
    return status;
  }

 private:
  using Groups = std::map<Dims, std::vector<int64_t>>;  // rows by index in the output

  template <typename T>
  static T Reduce(const T* values, const std::vector<int64_t>& rows) {
    ComputeType<T> result = Widen(values[rows[0]]);
    for (size_t i = 1; i < rows.size(); ++i) {
      const ComputeType<T> value = Widen(values[rows[i]]);
      if constexpr (kMax) {
        result = std::max(result, value);
      } else {
        result = WrapAdd(result, value);
      }
    }
    return static_cast<T>(result);
  }

  static Status WriteSparse(KernelContext& ctx, const SparseInput& sparse, const Shape& shape, const Groups& groups) {
    const int64_t count = static_cast<int64_t>(groups.size());
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({count, shape.rank()})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({count})));
    DispatchDType(values->dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      int64_t at = 0;
      for (const auto& [index, rows] : groups) {
        std::copy(index.begin(), index.end(), indices->data<int64_t>() + at * shape.rank());
        values->data<T>()[at++] = Reduce(sparse.values.data<T>(), rows);
      }
    });
    ctx.set_output(2, ShapeVector(shape));
    return OkStatus();
  }

  const bool keep_dims_;
};

// Over the values of each row of the last dimension; what is not there counts as minus infinity.
class SparseSoftmaxKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    const int rank = sparse.rank();
    if (rank < 2) {
      return InvalidArgument("Input should have rank >= 2, but received shape: ",
                             absl::StrJoin(sparse.shape.dims(), " "));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sparse.values.shape()));
    DispatchDType(out->dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      const T* from = sparse.values.data<T>();
      for (int64_t begin = 0, end; begin < sparse.count(); begin = end) {
        C largest = Widen(from[begin]), sum(0);
        for (end = begin + 1;
             end < sparse.count() && std::equal(sparse.index(begin), sparse.index(begin) + rank - 1, sparse.index(end));
             ++end) {
          largest = std::max(largest, Widen(from[end]));
        }
        for (int64_t i = begin; i < end; ++i) sum += std::exp(Widen(from[i]) - largest);
        for (int64_t i = begin; i < end; ++i)
          out->data<T>()[i] = static_cast<T>(std::exp(Widen(from[i]) - largest) / sum);
      }
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseArithmeticKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseAdd").Types("T", NumberTypes{}), MakeKernel<SparseAddKernel>);
  registry.Add(KernelBuilder("SparseAddGrad").Types("T", NumberTypes{}), MakeKernel<SparseAddGradKernel>);
  registry.Add(KernelBuilder("SparseSparseMaximum").Types("T", RealTypes{}),
               MakeKernel<SparseSparseExtremeKernel<true>>);
  registry.Add(KernelBuilder("SparseSparseMinimum").Types("T", RealTypes{}),
               MakeKernel<SparseSparseExtremeKernel<false>>);
  registry.Add(KernelBuilder("SparseReduceSum").Types("T", NumberTypes{}),
               MakeKernel<SparseReduceKernel<false, false>>);
  registry.Add(KernelBuilder("SparseReduceSumSparse").Types("T", NumberTypes{}),
               MakeKernel<SparseReduceKernel<false, true>>);
  registry.Add(KernelBuilder("SparseReduceMax").Types("T", RealTypes{}), MakeKernel<SparseReduceKernel<true, false>>);
  registry.Add(KernelBuilder("SparseReduceMaxSparse").Types("T", RealTypes{}),
               MakeKernel<SparseReduceKernel<true, true>>);
  registry.Add(KernelBuilder("SparseSoftmax").Types("T", FloatTypes{}), MakeKernel<SparseSoftmaxKernel>);
}

}  // namespace weir
