// Einsum of one or two inputs: each is summed over the labels that nobody else has and laid out as matrices; their
// product is laid out as the equation says.
#include <Eigen/Core>
#include <algorithm>

#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/ops/einsum_equation.h"
#include "weir/ops/linalg/eigen_matrix_internal.h"
#include "weir/ops/linalg/einsum_axes.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

// Sums and products are made in this type: wide enough for 16-bit floats, wrapping for integers.
template <typename T>
struct WorkType {
  using type = ComputeType<T>;
};
template <>
struct WorkType<int32_t> {
  using type = uint32_t;
};
template <>
struct WorkType<int64_t> {
  using type = uint64_t;
};
template <typename T>
using Work = typename WorkType<T>::type;

using linalg::Axes;
using linalg::Axis;
using linalg::Count;
using linalg::Has;
using linalg::IsDense;
using linalg::Join;
using linalg::LabelSizes;
using linalg::SizesOf;

// Elements that lie somewhere in memory.
template <typename T>
struct View {
  Axes axes;
  const T* data = nullptr;
  std::vector<T> own;  // where `data` points, if it is not an input's
};

template <typename T>
View<T> ViewOf(const Tensor& input, const EinsumLabels& labels) {
  View<T> out;
  out.data = input.data<T>();
  out.axes = linalg::AxesOf(input.shape(), labels);
  return out;
}

Status Copy(KernelContext& ctx, DType dtype, const Axes& axes, const void* from, const Dims& to_strides, void* to) {
  Dims dims, strides;
  for (const Axis& axis : axes) {
    dims.push_back(axis.size);
    strides.push_back(axis.stride);
  }
  return StridedCopy(ctx, dtype, dims, from, strides, to, to_strides);
}

// The same elements with their axes in this order, dense.
template <typename T>
void Arrange(KernelContext& ctx, View<T>& view, const Axes& order) {
  view.axes = order;
  if (IsDense(order)) return;
  std::vector<T> moved(static_cast<size_t>(Count(order)));
  const Dims strides = DenseStrides(SizesOf(order));
  Copy(ctx, kDTypeOf<T>, order, view.data, strides, moved.data()).IgnoreError();  // never fails on the host
  for (size_t i = 0; i < order.size(); ++i) view.axes[i].stride = strides[i];
  view.own = std::move(moved);
  view.data = view.own.data();
}

// Sums over the axes that are not in `kept`.
template <typename T>
void SumOthers(KernelContext& ctx, View<T>& view, const EinsumLabels& kept) {
  Axes order, summed;
  for (const Axis& axis : view.axes) (Has(kept, axis.label) ? order : summed).push_back(axis);
  if (summed.empty()) return;
  const int64_t rows = Count(order), depth = Count(summed);
  Axes all = order;
  all.insert(all.end(), summed.begin(), summed.end());
  Arrange(ctx, view, all);
  std::vector<T> sums(static_cast<size_t>(rows));
  ctx.ParallelFor(rows, static_cast<double>(depth), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Work<T> sum(0);
      for (int64_t k = 0; k < depth; ++k) sum += static_cast<Work<T>>(view.data[i * depth + k]);
      sums[i] = static_cast<T>(sum);
    }
  });
  const Dims strides = DenseStrides(SizesOf(order));
  for (size_t i = 0; i < order.size(); ++i) order[i].stride = strides[i];
  view.axes = order;
  view.own = std::move(sums);
  view.data = view.own.data();
}

// out[batch, m, n] = a[batch, m, k] b[batch, n, k]
template <typename T>
void Multiply(KernelContext& ctx, const T* a, const T* b, int64_t batch, int64_t m, int64_t n, int64_t k, T* out) {
  using W = Work<T>;
  if constexpr (std::is_same_v<T, float>) {
    const bool done = MultiplyMatrices(ctx, {batch, m, n, k}, {a, k, 1, m * k}, {b, 1, k, n * k}, Epilogue(), out);
    if (done) return;
  }
  constexpr bool kSameBits = sizeof(W) == sizeof(T);
  const double cost = 0.5 * static_cast<double>(n) * static_cast<double>(std::max<int64_t>(k, 1));
  ctx.ParallelFor(batch * m, cost, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t i = begin / m, row = begin % m, rows = std::min(m - row, end - begin);
      const T *x = a + (i * m + row) * k, *y = b + i * n * k;
      T* z = out + (i * m + row) * n;
      if constexpr (kSameBits) {
        Eigen::Map<linalg::Matrix<W>>(reinterpret_cast<W*>(z), rows, n).noalias() =
            Eigen::Map<const linalg::Matrix<W>>(reinterpret_cast<const W*>(x), rows, k) *
            Eigen::Map<const linalg::Matrix<W>>(reinterpret_cast<const W*>(y), n, k).transpose();
      } else {
        linalg::Matrix<W> wide_x(rows, k), wide_y(n, k);
        for (int64_t j = 0; j < rows * k; ++j) wide_x.data()[j] = static_cast<W>(x[j]);
        for (int64_t j = 0; j < n * k; ++j) wide_y.data()[j] = static_cast<W>(y[j]);
        const linalg::Matrix<W> product = wide_x * wide_y.transpose();
        for (int64_t j = 0; j < rows * n; ++j) z[j] = static_cast<T>(product.data()[j]);
      }
      begin += rows;
    }
  });
}

template <typename T>
View<T> Product(KernelContext& ctx, View<T> a, View<T> b, const EinsumLabels& output) {
  const auto [batch_a, batch_b, depth_a, depth_b, free_a, free_b] = linalg::AxesOfProduct(a.axes, b.axes, output);
  Arrange(ctx, a, Join({batch_a, free_a, depth_a}));
  Arrange(ctx, b, Join({batch_b, free_b, depth_b}));
  View<T> out;
  out.axes = Join({batch_a, free_a, free_b});
  const Dims strides = DenseStrides(SizesOf(out.axes));
  for (size_t i = 0; i < out.axes.size(); ++i) out.axes[i].stride = strides[i];
  out.own.resize(static_cast<size_t>(Count(out.axes)));
  out.data = out.own.data();
  if (!out.own.empty()) {
    Multiply(ctx, a.data, b.data, Count(batch_a), Count(free_a), Count(free_b), Count(depth_a), out.own.data());
  }
  return out;
}

// Writes a view whose labels are all the output's; a label that the output has several times fills a diagonal.
template <typename T>
Status Write(KernelContext& ctx, const View<T>& view, const EinsumLabels& labels, const LabelSizes& sizes) {
  Shape shape;
  for (int label : labels) WEIR_RETURN_IF_ERROR(shape.AddDim(sizes[label]));
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  const auto [axes, to_strides, has_diagonal] = linalg::OutputAxes(shape, labels, view.axes, sizes);
  if (has_diagonal) std::fill_n(out->data<T>(), shape.num_elements(), T(0));
  return Copy(ctx, out->dtype(), axes, view.data, to_strides, out->raw_data());
}

template <typename T>
class EinsumKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<EinsumKernel>();
    WEIR_ASSIGN_OR_RETURN(std::string equation, init.Attr<std::string>("equation"));
    WEIR_ASSIGN_OR_RETURN(kernel->equation_, EinsumEquation::Parse(equation));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const linalg::EinsumOperands operands, linalg::ReadOperands(ctx, equation_));
    const EinsumLabels& output = operands.output;
    View<T> result = ViewOf<T>(ctx.input(0), operands.inputs[0]);
    if (ctx.num_inputs() == 1) {
      SumOthers(ctx, result, output);
    } else {
      View<T> other = ViewOf<T>(ctx.input(1), operands.inputs[1]);
      EinsumLabels of_first = output, of_other = output;
      for (const Axis& axis : result.axes) of_other.push_back(axis.label);
      for (const Axis& axis : other.axes) of_first.push_back(axis.label);
      SumOthers(ctx, result, of_first);
      SumOthers(ctx, other, of_other);
      result = Product(ctx, std::move(result), std::move(other), output);
    }
    return Write(ctx, result, output, operands.sizes);
  }

 private:
  EinsumEquation equation_;
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Add(KernelBuilder("Einsum").Types("T", TypeList<Ts>{}), MakeKernel<EinsumKernel<Ts>>), ...);
}

}  // namespace

void RegisterEinsumKernels(KernelRegistry& registry) {
  RegisterAll(registry, FloatTypes{} + TypeList<int32_t, int64_t>{} + ComplexTypes{});
}

}  // namespace weir
