// Matrix products in every type. Floats go to the kernel library where it takes them; the rest, and all that it leaves,
// to loops over blocks of rows and columns that stay in cache.
#include <vector>

#include "absl/container/inlined_vector.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/framework/constant_taker.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/matmul.h"
#include "weir/ops/math/matmul_sizes.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// A matrix in memory, perhaps transposed, perhaps conjugated.
struct MatrixView {
  const void* data;
  int64_t row_stride;
  int64_t column_stride;
  bool conjugate;
};

constexpr int64_t kDepthBlock = 256;
constexpr int64_t kColumnBlock = 256;

template <typename T, typename A>
A Element(const T* data, int64_t at, bool conjugate) {
  A x = static_cast<A>(Widen(data[at]));
  if constexpr (kIsComplex<A>) {
    if (conjugate) x = std::conj(x);
  }
  return x;
}

// Rows [begin, end) of out[m, n] = a[m, k] b[k, n]. The accumulator is as wide as the compute type of the result.
template <typename Ta, typename Tb, typename Tout>
void MultiplyRows(const MatrixView& a, const MatrixView& b, Tout* out, int64_t begin, int64_t end, int64_t n,
                  int64_t k) {
  using A = ComputeType<Tout>;
  const Ta* x = static_cast<const Ta*>(a.data);
  const Tb* y = static_cast<const Tb*>(b.data);
  absl::InlinedVector<A, 1024> panel(std::min(k, kDepthBlock) * std::min(n, kColumnBlock));
  absl::InlinedVector<A, 1024> sums((end - begin) * std::min(n, kColumnBlock));
  for (int64_t j0 = 0; j0 < n; j0 += kColumnBlock) {
    const int64_t width = std::min(kColumnBlock, n - j0);
    std::fill(sums.begin(), sums.end(), A(0));
    for (int64_t p0 = 0; p0 < k; p0 += kDepthBlock) {
      const int64_t depth = std::min(kDepthBlock, k - p0);
      for (int64_t p = 0; p < depth; ++p) {
        for (int64_t j = 0; j < width; ++j) {
          panel[p * width + j] = Element<Tb, A>(y, (p0 + p) * b.row_stride + (j0 + j) * b.column_stride, b.conjugate);
        }
      }
      for (int64_t i = begin; i < end; ++i) {
        A* row = sums.data() + (i - begin) * width;
        for (int64_t p = 0; p < depth; ++p) {
          const A factor = Element<Ta, A>(x, i * a.row_stride + (p0 + p) * a.column_stride, a.conjugate);
          const A* line = panel.data() + p * width;
#pragma GCC ivdep
          for (int64_t j = 0; j < width; ++j) row[j] = WrapAdd(row[j], WrapMul(factor, line[j]));
        }
      }
    }
    for (int64_t i = begin; i < end; ++i) {
      const A* row = sums.data() + (i - begin) * width;
      for (int64_t j = 0; j < width; ++j) out[i * n + j0 + j] = static_cast<Tout>(row[j]);
    }
  }
}

using RowsFunction = void (*)(const MatrixView&, const MatrixView&, void*, int64_t, int64_t, int64_t, int64_t);

template <typename Ta, typename Tb, typename Tout>
void MultiplyRowsOf(const MatrixView& a, const MatrixView& b, void* out, int64_t begin, int64_t end, int64_t n,
                    int64_t k) {
  MultiplyRows<Ta, Tb, Tout>(a, b, static_cast<Tout*>(out), begin, end, n, k);
}

using MatMulTypes = TypeList<Half, BFloat16, float, double, int32_t, int64_t, int16_t, int8_t, uint8_t, uint16_t,
                             uint32_t, uint64_t, std::complex<float>, std::complex<double>>;
using ByteTypes = TypeList<int8_t, uint8_t>;

RowsFunction FindRows(DType a, DType b, DType out) {
  RowsFunction found = nullptr;
  if (a == b && a == out) {
    DispatchDType(a, MatMulTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      found = &MultiplyRowsOf<T, T, T>;
    });
    return found;
  }
  // The mixed products of BatchMatMulV3.
  DispatchDType(a, ByteTypes{}, [&](auto x) {
    using Ta = typename decltype(x)::type;
    if (b == DType::kBFloat16 && out == DType::kBFloat16) found = &MultiplyRowsOf<Ta, BFloat16, BFloat16>;
    DispatchDType(b, ByteTypes{}, [&](auto y) {
      if (out == DType::kInt32) found = &MultiplyRowsOf<Ta, typename decltype(y)::type, int32_t>;
    });
  });
  if (a == DType::kBFloat16 && out == DType::kBFloat16) {
    DispatchDType(b, ByteTypes{},
                  [&](auto y) { found = &MultiplyRowsOf<BFloat16, typename decltype(y)::type, BFloat16>; });
  }
  return found;
}

// A column times a row: nothing but memory written, which the library's products are not made for.
bool MultiplyColumnByRow(KernelContext& ctx, const MatrixView& a, const MatrixView& b, float* out, int64_t m,
                         int64_t n) {
  static const std::optional<FloatLoop> loop = FindFloatLoop("Mul");
  if (!loop || b.data == nullptr || b.column_stride != 1) return false;
  const float* x = static_cast<const float*>(a.data);
  const float* y = static_cast<const float*>(b.data);
  ctx.ParallelFor(m, 0.2 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) loop->binary(x + i * a.row_stride, y, out + i * n, n, 0, 1);
  });
  return true;
}

// `batch` products whose operands lie that many elements apart (0: the same one); false if the loops must do it.
bool MultiplyFloats(KernelContext& ctx, const MatrixView& a, const MatrixView& b, float* out, const ProductShape& shape,
                    int64_t a_step, int64_t b_step, const Weights* constant_b = nullptr) {
  if (shape.batch == 1 && shape.k == 1 && MultiplyColumnByRow(ctx, a, b, out, shape.m, shape.n)) return true;
  const MatrixOperand x{static_cast<const float*>(a.data), a.row_stride, a.column_stride, a_step};
  const MatrixOperand y{static_cast<const float*>(b.data), b.row_stride, b.column_stride, b_step};
  return MultiplyMatrices(ctx, shape, x, y, {}, out, constant_b);
}

// out = a b for one pair of matrices.
void Multiply(KernelContext& ctx, RowsFunction rows, const MatrixView& a, const MatrixView& b, void* out, int64_t m,
              int64_t n, int64_t k) {
  if (rows == &MultiplyRowsOf<float, float, float> &&
      MultiplyFloats(ctx, a, b, static_cast<float*>(out), {1, m, n, k}, 0, 0)) {
    return;
  }
  const double cost = 0.3 * static_cast<double>(n) * static_cast<double>(std::max<int64_t>(k, 1));
  if (m == 1 || cost * m < 20000) return rows(a, b, out, 0, m, n, k);
  ctx.ParallelFor(m, cost, [&](int64_t begin, int64_t end) {
    // Few rows at a time, so that the sums stay in cache.
    for (int64_t i = begin; i < end; i += 64) rows(a, b, out, i, std::min(end, i + 64), n, k);
  });
}

MatrixView View(const void* data, int64_t columns, bool transposed, bool conjugate) {
  return transposed ? MatrixView{data, 1, columns, conjugate} : MatrixView{data, columns, 1, conjugate};
}

class MatMulKernel : public Kernel, public ConstantTaker {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_a_, init.Attr<bool>("transpose_a"));
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_b_, init.Attr<bool>("transpose_b"));
    kernel->rows_ = FindRows(init.input_type(0), init.input_type(1), init.output_type(0));
    if (kernel->rows_ == nullptr) return Unimplemented("MatMul of ", Name(init.input_type(0)));
    // The fusing pass says whether the second operand is a constant.
    if (auto constant = init.Attr<bool>("_constant_weights"); constant.ok() && *constant) {
      kernel->packed_ = MakePackedWeights();
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  std::optional<TakenConstant> TakeConstant(int input, const Tensor& constant) override {
    return input == 1 ? TakeWeights(packed_, constant) : std::nullopt;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const MatMulSizes sizes, SizesOfMatMul(a.shape(), b.shape(), transpose_a_, transpose_b_));
    const int64_t m = sizes.m, k = sizes.k, n = sizes.n;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.output));
    if (out->num_elements() == 0) return OkStatus();
    if (packed_ != nullptr && rows_ == &MultiplyRowsOf<float, float, float>) {
      const MatrixView x = View(a.raw_data(), a.dim(1), transpose_a_, false);
      const MatrixView y = View(b.raw_data(), b.dim(1), transpose_b_, false);
      const Weights weights{&b, packed_.get()};
      if (MultiplyFloats(ctx, x, y, out->data<float>(), {1, m, n, k}, 0, 0, &weights)) return OkStatus();
    }
    const void* elements = IsAbsent(b) ? PlainElements({&b, packed_.get()}) : b.raw_data();
    if (elements == nullptr) return ResourceExhausted("No memory for the weights of shape ", b.shape().ToString());
    Multiply(ctx, rows_, View(a.raw_data(), a.dim(1), transpose_a_, false),
             View(elements, b.dim(1), transpose_b_, false), out->raw_data(), m, n, k);
    return OkStatus();
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
  RowsFunction rows_ = nullptr;
  std::shared_ptr<PackedWeights> packed_;  // null unless the second operand is a constant
};

class BatchMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BatchMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_a_, init.Attr<bool>("adj_x"));
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_b_, init.Attr<bool>("adj_y"));
    kernel->broadcasts_ = init.schema().name != "BatchMatMul";
    kernel->rows_ = FindRows(init.input_type(0), init.input_type(1), init.output_type(0));
    if (kernel->rows_ == nullptr) {
      return InvalidArgument("No OpKernel was registered to support Op '", init.schema().name, "' of ",
                             Name(init.input_type(0)), " and ", Name(init.input_type(1)), " to ",
                             Name(init.output_type(0)));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const MatMulSizes sizes,
                          SizesOfBatchMatMul(a.shape(), b.shape(), adjoint_a_, adjoint_b_, broadcasts_));
    const int64_t m = sizes.m, k = sizes.k, n = sizes.n;
    const int64_t a_rows = a.dim(a.rank() - 2), a_columns = a.dim(a.rank() - 1);
    const int64_t b_rows = b.dim(b.rank() - 2), b_columns = b.dim(b.rank() - 1);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.output));
    if (sizes.output.num_elements() == 0) return OkStatus();
    const Shape* operands[] = {&sizes.a_batch, &sizes.b_batch};
    BroadcastRuns runs(sizes.batch, operands);
    const int64_t a_size = SizeOf(a.dtype()) * a_rows * a_columns, b_size = SizeOf(b.dtype()) * b_rows * b_columns;
    const int64_t out_size = SizeOf(out->dtype()) * m * n;
    // One call for the whole batch, where its matrices lie evenly.
    if (rows_ == &MultiplyRowsOf<float, float, float> && runs.rows() == 1 &&
        MultiplyFloats(ctx, View(a.raw_data(), a_columns, adjoint_a_, false),
                       View(b.raw_data(), b_columns, adjoint_b_, false), out->data<float>(), {runs.run(), m, n, k},
                       runs.step(0) * a_rows * a_columns, runs.step(1) * b_rows * b_columns)) {
      return OkStatus();
    }
    runs.ForRows(0, runs.rows(), [&](int64_t to, const auto& at) {
      for (int64_t i = 0; i < runs.run(); ++i) {
        const char* x = static_cast<const char*>(a.raw_data()) + (at[0] + i * runs.step(0)) * a_size;
        const char* y = static_cast<const char*>(b.raw_data()) + (at[1] + i * runs.step(1)) * b_size;
        Multiply(ctx, rows_, View(x, a_columns, adjoint_a_, adjoint_a_), View(y, b_columns, adjoint_b_, adjoint_b_),
                 static_cast<char*>(out->raw_data()) + (to + i) * out_size, m, n, k);
      }
    });
    return OkStatus();
  }

 private:
  bool adjoint_a_ = false, adjoint_b_ = false, broadcasts_ = true;
  RowsFunction rows_ = nullptr;
};

}  // namespace

void MultiplyFloatMatrices(KernelContext& ctx, const MatrixOperand& a, const MatrixOperand& b, float* out, int64_t m,
                           int64_t n, int64_t k) {
  Multiply(ctx, &MultiplyRowsOf<float, float, float>, {a.data, a.row_stride, a.column_stride, false},
           {b.data, b.row_stride, b.column_stride, false}, out, m, n, k);
}

void RegisterMatMulKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("MatMul").Types("T", MatMulTypes{}), MakeKernel<MatMulKernel>);
  registry.Add(KernelBuilder("BatchMatMul").Types("T", MatMulTypes{}), MakeKernel<BatchMatMulKernel>);
  registry.Add(KernelBuilder("BatchMatMulV2").Types("T", MatMulTypes{}), MakeKernel<BatchMatMulKernel>);
  registry.Add(KernelBuilder("BatchMatMulV3"), MakeKernel<BatchMatMulKernel>);
}

}  // namespace weir
