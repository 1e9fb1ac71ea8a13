// Mixed precision: matrix products, convolutions and the operations between them run in bfloat16 or half, all others in
// float32.
//
// The table of an op says how to treat it (docs/op_tables.md). The rules are those of TensorFlow's rewriter, but
// for the last:
//
// - `allow` ops run in the small type.
// - `deny` ops stay in float32, and so do `infer` ops that read their results, directly or through `clear` ops.
// - Other `infer` and `clear` ops run in the small type if they lie between two `allow` ops; `clear` ops also if they
//   are next to an op that does.
// - So do `infer` ops that reduce tensors of the small type, as the gradient of a bias does: casting the result is
//   cheaper than casting the operand.
// - A bias goes with the product to which it is added, and its gradient with the product's: a bias before a loss too.
//
// Only the tensors whose type is an op's attribute `T` change: a batch norm keeps its statistics in float32. Variables,
// constants with other consumers and all tensors that other devices see stay float32, so optimizers update the same
// variables as before. A Cast is inserted where the types meet, at most one for each tensor: all consumers share it,
// and the forward and the backward pass share the cast of each weight. Constants are cast by this pass, and loop
// invariants are cast before the loop.
#ifndef WEIR_PASSES_MIXED_PRECISION_H_
#define WEIR_PASSES_MIXED_PRECISION_H_

#include "weir/passes/device_rewrites.h"

namespace weir {

// Rewrites one device's part of a graph. Does nothing unless `options.mixed_precision` is set; nodes that the device
// does not support in that type stay as they are.
Status MixPrecision(RewriteContext& context, const DeviceRewriteOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_MIXED_PRECISION_H_
