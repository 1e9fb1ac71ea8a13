#include "weir/ops/math/matmul_sizes.h"

#include "weir/device/cpu/broadcast.h"

namespace weir {

StatusOr<MatMulSizes> SizesOfMatMul(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
  if (a.rank() != 2 || b.rank() != 2) {
    if (a.rank() != b.rank()) {
      return InvalidArgument("In[0] and In[1] has different ndims: ", a.ToString(), " vs. ", b.ToString());
    }
    return InvalidArgument("In[0] is not a matrix. Instead it has shape ", a.ToString());
  }
  MatMulSizes sizes;
  sizes.m = a.dim(transpose_a);
  sizes.k = a.dim(!transpose_a);
  sizes.n = b.dim(!transpose_b);
  if (b.dim(transpose_b) != sizes.k) {
    return InvalidArgument("Matrix size-incompatible: In[0]: ", a.ToString(), ", In[1]: ", b.ToString());
  }
  const int64_t dims[] = {sizes.m, sizes.n};
  WEIR_ASSIGN_OR_RETURN(sizes.output, Shape::Make(dims));
  return sizes;
}

StatusOr<MatMulSizes> SizesOfBatchMatMul(const Shape& a, const Shape& b, bool adjoint_a, bool adjoint_b,
                                         bool broadcasts) {
  if (a.rank() < 2 || b.rank() < 2) {
    return InvalidArgument(a.rank() < 2 ? "In[0]" : "In[1]",
                           " ndims must be >= 2: ", a.rank() < 2 ? a.rank() : b.rank());
  }
  MatMulSizes sizes;
  sizes.a_batch = a.Slice(0, a.rank() - 2);
  sizes.b_batch = b.Slice(0, b.rank() - 2);
  auto batch = BroadcastShape(sizes.a_batch, sizes.b_batch);
  if (!batch.ok() || (!broadcasts && !(sizes.a_batch == sizes.b_batch))) {
    return InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ", a.ToString(), " vs. ",
                           b.ToString());
  }
  sizes.batch = *batch;
  const int64_t a_rows = a.dim(a.rank() - 2), a_columns = a.dim(a.rank() - 1);
  const int64_t b_rows = b.dim(b.rank() - 2), b_columns = b.dim(b.rank() - 1);
  sizes.m = adjoint_a ? a_columns : a_rows;
  sizes.k = adjoint_a ? a_rows : a_columns;
  sizes.n = adjoint_b ? b_rows : b_columns;
  if ((adjoint_b ? b_columns : b_rows) != sizes.k) {
    return InvalidArgument("Matrix size-incompatible: In[0]: ", a.ToString(), ", In[1]: ", b.ToString());
  }
  sizes.output = sizes.batch;
  WEIR_RETURN_IF_ERROR(sizes.output.AddDim(sizes.m));
  WEIR_RETURN_IF_ERROR(sizes.output.AddDim(sizes.n));
  return sizes;
}

}  // namespace weir
