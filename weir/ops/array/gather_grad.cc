// Gradients of gathers. Rows of the first dimension stay sparse.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Gradients RowsGradient(G& g) {
  Value params = g.input(0), indices = g.input(1), shape = Shape(params);
  Value count = Reshape(Size(indices), Ints(params, {1}));
  Value row = g.Op("Slice", {shape, Ints(params, {1}), Ints(params, {-1})});
  return {GradientValue::Sparse(Reshape(g.grad(), Concat({count, row}, 0)), Reshape(indices, count), shape)};
}

// Indices into the batches' gathered dimension as indices into all batches, one after the other. `shape` is that of
// the params with the gathered dimension first after the batches.
Value FlattenBatches(Value shape, Value indices, int64_t batch_dims) {
  Value sizes = Cast(shape, indices.dtype());
  Value stride = Scalar(indices, 1);
  Value out = indices;
  Value rank = Rank(indices);
  for (int64_t dim = batch_dims; dim > 0; --dim) {
    Value count = At(sizes, dim - 1);
    stride = stride * At(sizes, dim);
    Value offsets = Range(Scalar(indices, 0), count) * stride;
    Value before = Ints(indices, std::vector<int64_t>(dim - 1, 1));
    Value after = Fill(Reshape(rank - Int(indices, dim), Ints(indices, {1})), Int(indices, 1));
    Value middle = Reshape(Cast(count, DType::kInt32), Ints(indices, {1}));
    out = out + Reshape(offsets, Concat({before, middle, after}, 0));
  }
  return out;
}

// Along another dimension, or within batches: the gathered dimension is brought to the front of each batch, summed
// there, and brought back.
Gradients AxisGradient(G& g, int64_t batch_dims) {
  Value params = g.input(0), indices = g.input(1), shape = Shape(params);
  Value zero = Int(params, 0), one = Int(params, 1), batches = Int(params, batch_dims);
  auto vector = [&](Value scalar) { return Reshape(scalar, Ints(params, {1})); };
  Value axis = Cast(g.input(2), DType::kInt32);
  axis = Binary("FloorMod", axis, Rank(params));
  Value outer = Slice(shape, Ints(params, {0}), vector(axis));
  Value inner = Slice(shape, vector(axis + one), Ints(params, {-1}));
  Value flow = Reshape(g.grad(), Concat({outer, Ints(params, {-1}), inner}, 0));
  Value batch_axes = Range(zero, batches), middle_axes = Range(batches, axis);
  Value inner_axes = Range(axis + one, Rank(params));
  Value to_front = Concat({batch_axes, vector(axis), middle_axes, inner_axes}, 0);
  flow = Transpose(flow, to_front);
  Value front_shape = Gather(shape, to_front);
  Value rows = At(front_shape, batch_dims);
  Value sums;
  if (batch_dims > 0) {
    Value batch_shape = SubVector(front_shape, 0, batch_dims);
    Value rest = g.Op("Slice", {front_shape, Ints(params, {batch_dims + 1}), Ints(params, {-1})});
    Value flat = Reshape(flow, Concat({Ints(params, {-1}), rest}, 0));
    Value all = Prod(batch_shape, Ints(params, {0})) * rows;
    Value flat_indices = Reshape(FlattenBatches(front_shape, indices, batch_dims), Ints(params, {-1}));
    sums = Reshape(g.Op("UnsortedSegmentSum", {flat, flat_indices, all}), front_shape);
  } else {
    sums = g.Op("UnsortedSegmentSum", {flow, Reshape(indices, Ints(params, {-1})), rows});
  }
  Value back = Concat({batch_axes, middle_axes + one, Ints(params, {batch_dims}), inner_axes}, 0);
  return {ReshapeLike(Transpose(sums, back), params)};
}

Gradients GatherV2Gradient(G& g) {
  Tensor axis = g.input(2).constant();
  int64_t batch_dims = g.Attr<int64_t>("batch_dims");
  if (batch_dims < 0) {
    const int rank = g.input(1).shape().rank();
    if (rank < 0) {
      g.Fail(InvalidArgument("The gradient of a gather with negative batch_dims needs the rank of its indices"));
      return {};
    }
    batch_dims += rank;
  }
  if (batch_dims < 0 || batch_dims > weir::Shape::kMaxRank) {
    g.Fail(InvalidArgument("batch_dims ", batch_dims, " is out of range"));
    return {};
  }
  const bool first = axis.num_elements() == 1 && batch_dims == 0 &&
                     (axis.dtype() == DType::kInt64 ? axis.scalar<int64_t>() : axis.scalar<int32_t>()) == 0;
  return first ? RowsGradient(g) : AxisGradient(g, batch_dims);
}

Gradients GatherNdGradient(G& g) {
  Value params = g.input(0), indices = g.input(1), shape = Shape(params, indices.dtype());
  const PartialShape known = indices.shape();
  if (known.rank() == 2 && known.dim(1) == 1) {
    return {GradientValue::Sparse(g.grad(), Squeeze(indices, {-1}), shape)};
  }
  return {g.OpLike("ScatterNd", {indices, g.grad(), shape}, {"bad_indices_policy"})};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterGatherGradients(GradientRegistry& r) {
  r.Add("Gather", emit::RowsGradient);
  r.Add("GatherV2", emit::GatherV2Gradient);
  r.Add("GatherNd", emit::GatherNdGradient);
}

}  // namespace weir
