// Einsum of one or two inputs: each is summed over the labels that nobody else has and laid out as matrices; their
// product is laid out as the equation says.
#include <Eigen/Core>
#include <algorithm>

#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/ops/einsum_equation.h"
#include "weir/ops/linalg/eigen_matrix_internal.h"
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

// An axis of a label; the strides of one that is there several times (a diagonal) add up.
struct Axis {
  int label;
  int64_t size;
  int64_t stride;
};
using Axes = absl::InlinedVector<Axis, 8>;

const Axis* Find(const Axes& axes, int label) {
  auto found = std::ranges::find(axes, label, &Axis::label);
  return found == axes.end() ? nullptr : &*found;
}
bool Has(const EinsumLabels& labels, int label) { return std::ranges::count(labels, label) > 0; }
int64_t Count(const Axes& axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

// Elements that lie somewhere in memory.
template <typename T>
struct View {
  Axes axes;
  const T* data = nullptr;
  std::vector<T> own;  // where `data` points, if it is not an input's
};

// How large each label is, checked while inputs are read.
class LabelSizes {
 public:
  Status Add(int label, int64_t size, int axis, const Shape& shape) {
    for (auto& [known, other] : sizes_) {
      if (known != label) continue;
      if (label < 0 && (other == 1 || size == 1)) {  // broadcasts
        if (other == 1) other = size;
        return OkStatus();
      }
      if (other == size) return OkStatus();
      return InvalidArgument("Expected dimension ", other, " at axis ", axis, " of the input shaped ", shape.ToString(),
                             " but got dimension ", size);
    }
    sizes_.emplace_back(label, size);
    return OkStatus();
  }
  int64_t operator[](int label) const {
    for (const auto& [known, size] : sizes_) {
      if (known == label) return size;
    }
    return 1;  // a broadcasting axis that no input has
  }

 private:
  absl::InlinedVector<std::pair<int, int64_t>, 8> sizes_;
};

template <typename T>
View<T> ViewOf(const Tensor& input, const EinsumLabels& labels) {
  View<T> out;
  out.data = input.data<T>();
  const Dims strides = DenseStrides(input.shape().dims());
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t size = input.dim(static_cast<int>(i));
    if (labels[i] < 0 && size == 1) continue;  // what it broadcasts to is the others' matter
    auto known = std::ranges::find(out.axes, labels[i], &Axis::label);
    if (known != out.axes.end()) {
      known->stride += strides[i];
    } else {
      out.axes.push_back({labels[i], size, strides[i]});
    }
  }
  return out;
}

// True if the elements lie one after the other in the order of the axes.
bool IsDense(const Axes& axes) {
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].size != 1 && axes[i].stride != stride) return false;
    stride *= axes[i].size;
  }
  return true;
}

Status Copy(KernelContext& ctx, DType dtype, const Axes& axes, const void* from, const Dims& to_strides, void* to) {
  Dims dims, strides;
  for (const Axis& axis : axes) {
    dims.push_back(axis.size);
    strides.push_back(axis.stride);
  }
  return StridedCopy(ctx, dtype, dims, from, strides, to, to_strides);
}

Dims SizesOf(const Axes& axes) {
  Dims out;
  for (const Axis& axis : axes) out.push_back(axis.size);
  return out;
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

// The axes whose labels `wanted` accepts.
template <typename Wanted>
Axes Choose(const Axes& axes, Wanted wanted) {
  Axes out;
  for (const Axis& axis : axes) {
    if (wanted(axis.label)) out.push_back(axis);
  }
  return out;
}

Axes Join(std::initializer_list<Axes> parts) {
  Axes out;
  for (const Axes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

template <typename T>
View<T> Product(KernelContext& ctx, View<T> a, View<T> b, const EinsumLabels& output) {
  auto in_both = [&](int label) { return Find(a.axes, label) && Find(b.axes, label); };
  const Axes batch_a = Choose(a.axes, [&](int label) { return in_both(label) && Has(output, label); });
  const Axes depth_a = Choose(a.axes, [&](int label) { return in_both(label) && !Has(output, label); });
  const Axes free_a = Choose(a.axes, [&](int label) { return !in_both(label); });
  const Axes free_b = Choose(b.axes, [&](int label) { return !in_both(label); });
  Axes batch_b, depth_b;  // in the order of a
  for (const Axis& axis : batch_a) batch_b.push_back(*Find(b.axes, axis.label));
  for (const Axis& axis : depth_a) depth_b.push_back(*Find(b.axes, axis.label));
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
  const Dims strides = DenseStrides(shape.dims());
  Axes axes;
  Dims to_strides;
  bool has_diagonal = false;
  for (size_t i = 0; i < labels.size(); ++i) {
    auto known = std::ranges::find(axes, labels[i], &Axis::label);
    if (known != axes.end()) {
      to_strides[known - axes.begin()] += strides[i];
      has_diagonal = true;
      continue;
    }
    const Axis* axis = Find(view.axes, labels[i]);
    axes.push_back(axis ? *axis : Axis{labels[i], sizes[labels[i]], 0});
    to_strides.push_back(strides[i]);
  }
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
    const int n = equation_.num_inputs();
    if (ctx.num_inputs() != n) return InvalidArgument("Expected ", n, " inputs but got: ", ctx.num_inputs());
    std::vector<EinsumLabels> labels;
    LabelSizes sizes;
    int broadcast_rank = 0;
    for (int i = 0; i < n; ++i) {
      const Shape& shape = ctx.input(i).shape();
      WEIR_ASSIGN_OR_RETURN(EinsumLabels of_input, equation_.InputLabels(i, shape.rank()));
      broadcast_rank = std::max(broadcast_rank, equation_.BroadcastRank(i, shape.rank()));
      for (int axis = 0; axis < shape.rank(); ++axis) {
        WEIR_RETURN_IF_ERROR(sizes.Add(of_input[axis], shape.dim(axis), axis, shape));
      }
      labels.push_back(std::move(of_input));
    }
    WEIR_ASSIGN_OR_RETURN(EinsumLabels output, equation_.OutputLabels(broadcast_rank));
    View<T> result = ViewOf<T>(ctx.input(0), labels[0]);
    if (n == 1) {
      SumOthers(ctx, result, output);
    } else {
      View<T> other = ViewOf<T>(ctx.input(1), labels[1]);
      EinsumLabels of_first = output, of_other = output;
      for (const Axis& axis : result.axes) of_other.push_back(axis.label);
      for (const Axis& axis : other.axes) of_first.push_back(axis.label);
      SumOthers(ctx, result, of_first);
      SumOthers(ctx, other, of_other);
      result = Product(ctx, std::move(result), std::move(other), output);
    }
    return Write(ctx, result, output, sizes);
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
