// The sizes of cross entropies, checked: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_CROSS_ENTROPY_H_
#define WEIR_OPS_NN_CROSS_ENTROPY_H_

#include <algorithm>

#include "weir/base/status.h"
#include "weir/tensor/shape.h"

namespace weir::nn {

// Elements from a row, and from a column, to the next; 0 where one of them stands for all.
struct MatrixSteps {
  int64_t row, column;
};

struct CrossEntropySizes {
  int64_t rows = 0, classes = 0;
  MatrixSteps logits{}, labels{};
  Shape output;
};

// Of SoftmaxCrossEntropyWithLogits, whose operands broadcast to a matrix.
inline StatusOr<CrossEntropySizes> SizesOfCrossEntropy(const Shape& logits, const Shape& labels) {
  if (std::max(logits.rank(), labels.rank()) != 2) {
    return InvalidArgument("logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional, got ",
                           logits.ToString(), " and ", labels.ToString());
  }
  // With ones before the dimensions that are there.
  auto as_matrix = [](const Shape& shape) {
    const int rank = shape.rank();
    return Shape{rank < 2 ? 1 : shape.dim(0), rank < 1 ? 1 : shape.dim(rank - 1)};
  };
  auto steps = [](const Shape& shape) {
    return MatrixSteps{shape.dim(0) == 1 ? 0 : shape.dim(1), shape.dim(1) == 1 ? 0 : 1};
  };
  const Shape a = as_matrix(logits), b = as_matrix(labels);
  int64_t dims[2];
  for (int d = 0; d < 2; ++d) {
    if (a.dim(d) != b.dim(d) && a.dim(d) != 1 && b.dim(d) != 1) {
      return InvalidArgument("logits and labels must be broadcastable: logits_size=", a.ToString(),
                             " labels_size=", b.ToString());
    }
    dims[d] = a.dim(d) == 1 ? b.dim(d) : a.dim(d);
  }
  CrossEntropySizes sizes{dims[0], dims[1], steps(a), steps(b), {}};
  WEIR_ASSIGN_OR_RETURN(sizes.output, Shape::Make(dims));
  return sizes;
}

// Of SparseSoftmaxCrossEntropyWithLogits, but for the labels' values.
inline Status CheckSparseCrossEntropy(const Shape& logits, const Shape& labels) {
  if (!logits.IsMatrix()) return InvalidArgument("logits must be 2-D, but got shape ", logits.ToString());
  if (!labels.IsVector()) return InvalidArgument("labels must be 1-D, but got shape ", labels.ToString());
  if (logits.dim(0) != labels.dim(0)) {
    return InvalidArgument("logits and labels must have the same first dimension, got logits shape ", logits.ToString(),
                           " and labels shape ", labels.ToString());
  }
  if (logits.dim(1) <= 0) {
    return InvalidArgument("Must have at least one class, but got logits shape ", logits.ToString());
  }
  return OkStatus();
}

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_CROSS_ENTROPY_H_
