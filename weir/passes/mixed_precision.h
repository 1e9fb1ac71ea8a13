// Mixed precision: products, convolutions and what lies between them in bfloat16 or half, everything else in float32.
//
// What an op does is a trait of its table (docs/op_tables.md); the rules are those of TensorFlow's rewriter:
//
// - `allow` ops run in the small type.
// - `deny` ops stay in float32, and so do `infer` ops that take their results, directly or by `clear` ops.
// - Other `infer` and `clear` ops run in the small type if they lie between two `allow` ops; `clear` ops also beside
// one.
//   And those that sum up what is in the small type already, as the gradient of a bias does: casting their results
//   takes less than casting what they read.
//
// Only the tensors of an op's attribute `T` change their type: a batch norm keeps its statistics. Variables, constants
// that others read and everything that other devices see stay float32, so optimizers update what they always updated.
// Where types meet there is one cast for each tensor, beside its producer, which all consumers share - the forward and
// the backward pass one cast of each weight -, constants are cast here, and what a loop finds the same in each
// iteration before the loop.
#ifndef WEIR_PASSES_MIXED_PRECISION_H_
#define WEIR_PASSES_MIXED_PRECISION_H_

#include "weir/passes/device_rewrites.h"

namespace weir {

// For a device's part of a graph. Does nothing unless `options.mixed_precision` is a type; nodes that the device does
// not support in it stay as they are.
Status MixPrecision(RewriteContext& context, const DeviceRewriteOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_MIXED_PRECISION_H_
