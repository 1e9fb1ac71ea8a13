// Products of matrices that are views of tensors (_BatchMatMulOfViews): what the kernels of all devices share.
#ifndef WEIR_OPS_MATH_MATMUL_VIEWS_H_
#define WEIR_OPS_MATH_MATMUL_VIEWS_H_

#include <vector>

#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/kernel.h"
#include "weir/ops/math/permutation.h"

namespace weir {

// Which part of a tensor an operand is.
struct ViewSpec {
  std::vector<int64_t> perm;
  int64_t slice = -1;
};

// Dimensions and strides in elements, outermost first.
struct MatrixView4 {
  Dims dims, strides;
  int64_t offset = 0;
  int rank() const { return static_cast<int>(dims.size()); }
};

inline StatusOr<MatrixView4> ViewOf(const Shape& shape, const ViewSpec& spec) {
  if (spec.perm.size() != static_cast<size_t>(shape.rank()) || !IsPermutation(spec.perm)) {
    return InvalidArgument("A view of a tensor of shape ", shape.ToString(), " by ", spec.perm.size(), " dimensions");
  }
  const Dims dense = DenseStrides(shape.dims());
  MatrixView4 view;
  for (int64_t d : spec.perm) {
    view.dims.push_back(shape.dim(static_cast<int>(d)));
    view.strides.push_back(dense[static_cast<size_t>(d)]);
  }
  if (spec.slice >= 0) {
    if (view.dims.empty() || spec.slice >= view.dims[0]) {
      return InvalidArgument("Element ", spec.slice, " of a view of a tensor of shape ", shape.ToString());
    }
    view.offset = spec.slice * view.strides[0];
    view.dims.erase(view.dims.begin());
    view.strides.erase(view.strides.begin());
  }
  if (view.rank() < 2 || view.rank() > 4) return Unimplemented("A product of views of ", view.rank(), " dimensions");
  return view;
}

// The last two dimensions, swapped if the operand is transposed.
inline void Transpose(MatrixView4& view, bool transpose) {
  if (!transpose) return;
  const size_t last = view.dims.size() - 1;
  std::swap(view.dims[last], view.dims[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
}

// Four dimensions: those missing in front have one element.
inline void Extend(MatrixView4& view) {
  view.dims.insert(view.dims.begin(), 4 - view.dims.size(), 1);
  view.strides.insert(view.strides.begin(), 4 - view.strides.size(), 0);
}

// Four dimensions each: two that count matrices, rows and columns. `out` is the product in the output's memory, which
// has shape `shape`.
struct ViewProduct {
  MatrixView4 a, b, out;
  Shape shape;
};

struct ViewProductSpec {
  bool adj_x = false, adj_y = false;
  ViewSpec x, y;
  std::vector<int64_t> perm_output;

  static StatusOr<ViewProductSpec> Read(const KernelInit& init) {
    ViewProductSpec spec;
    WEIR_ASSIGN_OR_RETURN(spec.adj_x, init.Attr<bool>("adj_x"));
    WEIR_ASSIGN_OR_RETURN(spec.adj_y, init.Attr<bool>("adj_y"));
    WEIR_ASSIGN_OR_RETURN(spec.x.perm, init.Attr<std::vector<int64_t>>("perm_x"));
    WEIR_ASSIGN_OR_RETURN(spec.x.slice, init.Attr<int64_t>("slice_x"));
    WEIR_ASSIGN_OR_RETURN(spec.y.perm, init.Attr<std::vector<int64_t>>("perm_y"));
    WEIR_ASSIGN_OR_RETURN(spec.y.slice, init.Attr<int64_t>("slice_y"));
    WEIR_ASSIGN_OR_RETURN(spec.perm_output, init.Attr<std::vector<int64_t>>("perm_output"));
    return spec;
  }

  StatusOr<ViewProduct> Views(const Shape& x_shape, const Shape& y_shape) const {
    WEIR_ASSIGN_OR_RETURN(MatrixView4 a, ViewOf(x_shape, x));
    WEIR_ASSIGN_OR_RETURN(MatrixView4 b, ViewOf(y_shape, y));
    Transpose(a, adj_x);
    Transpose(b, adj_y);
    const int rank = a.rank();
    const bool same_batch = b.rank() == rank && std::equal(a.dims.begin(), a.dims.end() - 2, b.dims.begin());
    if (!same_batch || a.dims[rank - 1] != b.dims[rank - 2] || perm_output.size() != static_cast<size_t>(rank) ||
        !IsPermutation(perm_output)) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", x_shape.ToString(), ", In[1]: ", y_shape.ToString());
    }
    MatrixView4 out;  // of the product, in the output's memory
    out.dims = a.dims;
    out.dims[rank - 1] = b.dims[rank - 1];
    Dims sizes;
    for (int64_t d : perm_output) sizes.push_back(out.dims[static_cast<size_t>(d)]);
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(sizes));
    const Dims dense = DenseStrides(shape.dims());
    out.strides.resize(dense.size());
    for (size_t i = 0; i < dense.size(); ++i) out.strides[static_cast<size_t>(perm_output[i])] = dense[i];
    Extend(a);
    Extend(b);
    Extend(out);
    return ViewProduct{std::move(a), std::move(b), std::move(out), std::move(shape)};
  }
};

}  // namespace weir

#endif  // WEIR_OPS_MATH_MATMUL_VIEWS_H_
