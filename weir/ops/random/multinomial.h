// What all kernels of Multinomial(logits, num_samples) check and reserve.
#ifndef WEIR_OPS_RANDOM_MULTINOMIAL_H_
#define WEIR_OPS_RANDOM_MULTINOMIAL_H_

#include "weir/framework/kernel.h"

namespace weir::random {

StatusOr<Shape> MultinomialShape(KernelContext& ctx);
// Of the stream, for a result of this shape.
uint64_t MultinomialBlocks(const Shape& shape);

}  // namespace weir::random

#endif  // WEIR_OPS_RANDOM_MULTINOMIAL_H_
