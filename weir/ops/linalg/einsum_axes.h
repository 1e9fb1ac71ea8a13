// The axes of an Einsum's operands: what the kernels of all devices share.
#ifndef WEIR_OPS_LINALG_EINSUM_AXES_H_
#define WEIR_OPS_LINALG_EINSUM_AXES_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/kernel.h"
#include "weir/ops/einsum_equation.h"

namespace weir::linalg {

// An axis of a label; the strides of one that is there several times (a diagonal) add up.
struct Axis {
  int label;
  int64_t size;
  int64_t stride;
};
using Axes = absl::InlinedVector<Axis, 8>;

inline const Axis* Find(const Axes& axes, int label) {
  auto found = std::ranges::find(axes, label, &Axis::label);
  return found == axes.end() ? nullptr : &*found;
}
inline bool Has(const EinsumLabels& labels, int label) { return std::ranges::count(labels, label) > 0; }
inline int64_t Count(const Axes& axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

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

// The axes of an input of this shape; the strides of a label that is there several times add up.
inline Axes AxesOf(const Shape& shape, const EinsumLabels& labels) {
  Axes out;
  const Dims strides = DenseStrides(shape.dims());
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t size = shape.dim(static_cast<int>(i));
    if (labels[i] < 0 && size == 1) continue;  // what it broadcasts to is the others' matter
    auto known = std::ranges::find(out, labels[i], &Axis::label);
    if (known != out.end()) {
      known->stride += strides[i];
    } else {
      out.push_back({labels[i], size, strides[i]});
    }
  }
  return out;
}

// True if the elements lie one after the other in the order of the axes.
inline bool IsDense(const Axes& axes) {
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].size != 1 && axes[i].stride != stride) return false;
    stride *= axes[i].size;
  }
  return true;
}

inline Dims SizesOf(const Axes& axes) {
  Dims out;
  for (const Axis& axis : axes) out.push_back(axis.size);
  return out;
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

inline Axes Join(std::initializer_list<Axes> parts) {
  Axes out;
  for (const Axes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// How a view's elements are written to an output with these labels: along which axes of the view, and with which
// strides in the output. A label that the output has several times fills a diagonal.
struct OutputLayout {
  Axes axes;
  Dims strides;
  bool has_diagonal = false;
};
inline OutputLayout OutputAxes(const Shape& shape, const EinsumLabels& labels, const Axes& view,
                               const LabelSizes& sizes) {
  OutputLayout out;
  const Dims strides = DenseStrides(shape.dims());
  for (size_t i = 0; i < labels.size(); ++i) {
    auto known = std::ranges::find(out.axes, labels[i], &Axis::label);
    if (known != out.axes.end()) {
      out.strides[known - out.axes.begin()] += strides[i];
      out.has_diagonal = true;
      continue;
    }
    const Axis* axis = Find(view, labels[i]);
    out.axes.push_back(axis ? *axis : Axis{labels[i], sizes[labels[i]], 0});
    out.strides.push_back(strides[i]);
  }
  return out;
}

// The labels of all operands, and their sizes.
struct EinsumOperands {
  std::vector<EinsumLabels> inputs;
  EinsumLabels output;
  LabelSizes sizes;
};
inline StatusOr<EinsumOperands> ReadOperands(const KernelContext& ctx, const EinsumEquation& equation) {
  const int n = equation.num_inputs();
  if (ctx.num_inputs() != n) return InvalidArgument("Expected ", n, " inputs but got: ", ctx.num_inputs());
  EinsumOperands out;
  int broadcast_rank = 0;
  for (int i = 0; i < n; ++i) {
    const Shape& shape = ctx.input(i).shape();
    WEIR_ASSIGN_OR_RETURN(EinsumLabels of_input, equation.InputLabels(i, shape.rank()));
    broadcast_rank = std::max(broadcast_rank, equation.BroadcastRank(i, shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) {
      WEIR_RETURN_IF_ERROR(out.sizes.Add(of_input[axis], shape.dim(axis), axis, shape));
    }
    out.inputs.push_back(std::move(of_input));
  }
  WEIR_ASSIGN_OR_RETURN(out.output, equation.OutputLabels(broadcast_rank));
  return out;
}

// What a product of two operands is made of: axes of both that stay, axes of both that are summed over, and those that
// only one has. Those of the second operand are in the order of the first.
struct ProductAxes {
  Axes batch_a, batch_b, depth_a, depth_b, free_a, free_b;
};
inline ProductAxes AxesOfProduct(const Axes& a, const Axes& b, const EinsumLabels& output) {
  auto in_both = [&](int label) { return Find(a, label) && Find(b, label); };
  ProductAxes out;
  out.batch_a = Choose(a, [&](int label) { return in_both(label) && Has(output, label); });
  out.depth_a = Choose(a, [&](int label) { return in_both(label) && !Has(output, label); });
  out.free_a = Choose(a, [&](int label) { return !in_both(label); });
  out.free_b = Choose(b, [&](int label) { return !in_both(label); });
  for (const Axis& axis : out.batch_a) out.batch_b.push_back(*Find(b, axis.label));
  for (const Axis& axis : out.depth_a) out.depth_b.push_back(*Find(b, axis.label));
  return out;
}

}  // namespace weir::linalg

#endif  // WEIR_OPS_LINALG_EINSUM_AXES_H_
