// What kernels of SparseConcat, SparseSlice and SparseSplit find out without looking at indices.
#ifndef WEIR_OPS_SPARSE_REARRANGE_H_
#define WEIR_OPS_SPARSE_REARRANGE_H_

#include <vector>

#include "weir/ops/sparse/sparse_input.h"

namespace weir {

// Shapes are in the host's memory; indices and values may be a device's.
struct SparseConcatPlan {
  std::vector<SparseInput> parts;
  Shape shape;  // of the whole
  int axis = 0;
  int64_t count = 0;  // elements
};
StatusOr<SparseConcatPlan> PlanSparseConcat(KernelContext& ctx, int64_t axis);

// Of SparseSlice(indices, values, shape, start, size): the shape of what is cut out.
StatusOr<Shape> SparseSliceBox(KernelContext& ctx, const SparseInput& sparse);

// Of SparseSliceGrad(backprop_val_grad, input_indices, input_start, output_indices).
Status CheckSparseSliceGrad(KernelContext& ctx);

// Of SparseSplit(split_dim, indices, values, shape).
struct SparseSplitPlan {
  SparseInput sparse;
  int axis = 0;
  int parts = 1;
  // The first parts take what does not divide.
  int64_t Size(int part) const;
};
StatusOr<SparseSplitPlan> PlanSparseSplit(KernelContext& ctx);

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_REARRANGE_H_
