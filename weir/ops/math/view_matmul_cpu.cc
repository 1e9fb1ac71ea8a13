// Products of matrices that take transposed operands, and give a transposed result, without copying them
// (passes/fold_transposes.h).
#include <optional>
#include <vector>

#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/matmul.h"
#include "weir/ops/math/permutation.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// Which part of a tensor an operand is.
struct ViewSpec {
  std::vector<int64_t> perm;
  int64_t slice = -1;
};

// Dimensions and strides in elements, outermost first.
struct View {
  Dims dims, strides;
  int64_t offset = 0;
  int rank() const { return static_cast<int>(dims.size()); }
};

StatusOr<View> ViewOf(const Shape& shape, const ViewSpec& spec) {
  if (spec.perm.size() != static_cast<size_t>(shape.rank()) || !IsPermutation(spec.perm)) {
    return InvalidArgument("A view of a tensor of shape ", shape.ToString(), " by ", spec.perm.size(), " dimensions");
  }
  const Dims dense = DenseStrides(shape.dims());
  View view;
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
void Transpose(View& view, bool transpose) {
  if (!transpose) return;
  const size_t last = view.dims.size() - 1;
  std::swap(view.dims[last], view.dims[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
}

// Four dimensions: those missing in front have one element.
void Extend(View& view) {
  view.dims.insert(view.dims.begin(), 4 - view.dims.size(), 1);
  view.strides.insert(view.strides.begin(), 4 - view.strides.size(), 0);
}

class ViewMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ViewMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adj_x_, init.Attr<bool>("adj_x"));
    WEIR_ASSIGN_OR_RETURN(kernel->adj_y_, init.Attr<bool>("adj_y"));
    WEIR_ASSIGN_OR_RETURN(kernel->x_.perm, init.Attr<std::vector<int64_t>>("perm_x"));
    WEIR_ASSIGN_OR_RETURN(kernel->x_.slice, init.Attr<int64_t>("slice_x"));
    WEIR_ASSIGN_OR_RETURN(kernel->y_.perm, init.Attr<std::vector<int64_t>>("perm_y"));
    WEIR_ASSIGN_OR_RETURN(kernel->y_.slice, init.Attr<int64_t>("slice_y"));
    WEIR_ASSIGN_OR_RETURN(kernel->perm_output_, init.Attr<std::vector<int64_t>>("perm_output"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0), y = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(View a, ViewOf(x.shape(), x_));
    WEIR_ASSIGN_OR_RETURN(View b, ViewOf(y.shape(), y_));
    Transpose(a, adj_x_);
    Transpose(b, adj_y_);
    const int rank = a.rank();
    const bool same_batch = b.rank() == rank && std::equal(a.dims.begin(), a.dims.end() - 2, b.dims.begin());
    if (!same_batch || a.dims[rank - 1] != b.dims[rank - 2] || perm_output_.size() != static_cast<size_t>(rank) ||
        !IsPermutation(perm_output_)) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", x.shape().ToString(),
                             ", In[1]: ", y.shape().ToString());
    }
    View out;  // of the product, in the output's memory
    out.dims = a.dims;
    out.dims[rank - 1] = b.dims[rank - 1];
    Dims sizes;
    for (int64_t d : perm_output_) sizes.push_back(out.dims[static_cast<size_t>(d)]);
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(sizes));
    WEIR_ASSIGN_OR_RETURN(Tensor * result, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const Dims dense = DenseStrides(shape.dims());
    out.strides.resize(dense.size());
    for (size_t i = 0; i < dense.size(); ++i) out.strides[static_cast<size_t>(perm_output_[i])] = dense[i];
    Extend(a);
    Extend(b);
    Extend(out);
    const float *from_a = x.data<float>() + a.offset, *from_b = y.data<float>() + b.offset;
    float* to = result->data<float>();
    const StridedProduct product = {out.dims[0], out.dims[1], out.dims[2], out.dims[3],
                                    a.dims[3],   Strides(a),  Strides(b),  Strides(out)};
    if (HasRows(a) && HasRows(b) && out.strides[3] == 1 && MultiplyStridedMatrices(ctx, product, from_a, from_b, to)) {
      return OkStatus();
    }
    return OneByOne(ctx, product, from_a, from_b, to);
  }

 private:
  static MatrixStrides Strides(const View& view) {
    return {view.strides[0], view.strides[1], view.strides[2], view.strides[3]};
  }
  static bool HasRows(const View& view) { return view.strides[2] == 1 || view.strides[3] == 1; }

  static Status OneByOne(KernelContext& ctx, const StridedProduct& p, const float* a, const float* b, float* out) {
    const int64_t dims[] = {p.m, p.n}, dense[] = {p.n, 1}, strides[] = {p.out.row, p.out.column};
    WEIR_ASSIGN_OR_RETURN(Tensor apart, Tensor::Allocate(DType::kFloat, Shape({p.m, p.n})));
    for (int64_t i = 0; i < p.outer; ++i) {
      for (int64_t j = 0; j < p.inner; ++j) {
        MultiplyFloatMatrices(ctx, {a + i * p.a.outer + j * p.a.inner, p.a.row, p.a.column, 0},
                              {b + i * p.b.outer + j * p.b.inner, p.b.row, p.b.column, 0}, apart.data<float>(), p.m,
                              p.n, p.k);
        WEIR_RETURN_IF_ERROR(StridedCopy(ctx, DType::kFloat, dims, apart.data<float>(), dense,
                                         out + i * p.out.outer + j * p.out.inner, strides));
      }
    }
    return OkStatus();
  }

  bool adj_x_ = false, adj_y_ = false;
  ViewSpec x_, y_;
  std::vector<int64_t> perm_output_;
};

}  // namespace

void RegisterViewMatMulKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("_BatchMatMulOfViews").Types("T", TypeList<float>{}), MakeKernel<ViewMatMulKernel>);
}

}  // namespace weir
