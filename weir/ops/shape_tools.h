// What shape functions share: small integer vectors that are partly known, axes, sums of dimensions.
#ifndef WEIR_OPS_SHAPE_TOOLS_H_
#define WEIR_OPS_SHAPE_TOOLS_H_

#include <optional>
#include <vector>

#include "weir/framework/shape_context.h"

namespace weir {

// The elements of a small integer tensor, as far as they are known.
using PartialInts = std::vector<std::optional<int64_t>>;

// Input `i` as integers of a scalar or vector; nothing if nothing is known of it, or it is too long to follow.
std::optional<PartialInts> KnownInts(const ShapeContext& ctx, int i);
// Input `i` as integers that are all known.
std::optional<std::vector<int64_t>> ConstantInts(const ShapeContext& ctx, int i);
// Says what is known of the elements of an int32 or int64 output: a vector, or a scalar.
void SetKnownInts(ShapeContext& ctx, int output, DType dtype, bool is_scalar, const PartialInts& elements);

// An axis in [-rank, rank) as one in [0, rank).
StatusOr<int> NormalizeAxis(int64_t axis, int rank);

// Arithmetic where -1 is unknown; an overflow is an error.
StatusOr<int64_t> AddDims(int64_t a, int64_t b);
StatusOr<int64_t> MultiplyDims(int64_t a, int64_t b);
// Product of the dimensions [begin, end) of a shape of known rank.
StatusOr<int64_t> ProductOfDims(const PartialShape& shape, int begin, int end);

// What both shapes say; the error is TensorFlow's.
StatusOr<PartialShape> UnifyShapes(const PartialShape& a, const PartialShape& b);

// Dimensions [begin, end) of a shape of known rank, and two shapes one after the other (unknown if either is).
PartialShape SubShape(const PartialShape& shape, int begin, int end);
PartialShape ConcatShapes(const PartialShape& a, const PartialShape& b);

// The families' shape functions under the names that the tables use.
class OpRegistry;
void RegisterArrayShapes(OpRegistry& registry);
void RegisterArrayIndexShapes(OpRegistry& registry);
void RegisterArrayBlockShapes(OpRegistry& registry);
void RegisterMathShapes(OpRegistry& registry);
void RegisterControlFlowShapes(OpRegistry& registry);
void RegisterStateShapes(OpRegistry& registry);
void RegisterQueueShapes(OpRegistry& registry);
void RegisterNnShapes(OpRegistry& registry);
void RegisterRandomShapes(OpRegistry& registry);
void RegisterTrainShapes(OpRegistry& registry);
void RegisterSparseShapes(OpRegistry& registry);
void RegisterStringShapes(OpRegistry& registry);
void RegisterLinalgShapes(OpRegistry& registry);
void RegisterExtendedNnShapes(OpRegistry& registry);
void RegisterImageShapes(OpRegistry& registry);
void RegisterIoShapes(OpRegistry& registry);
void RegisterTableShapes(OpRegistry& registry);
void RegisterAudioShapes(OpRegistry& registry);
void RegisterCollectiveShapes(OpRegistry& registry);
// All of them.
void RegisterBuiltinShapeFunctions(OpRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_SHAPE_TOOLS_H_
