// Shapes of the ops that make, reshape and join tensors.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

Status Const(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Tensor value, ctx.Attr<Tensor>("value"));
  ctx.set_output(0, value.shape());
  ctx.outputs()[0].value = std::move(value);
  return OkStatus();
}

// Everything that is known of the input holds of the output.
Status Identity(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs() && i < ctx.num_inputs(); ++i) ctx.outputs()[i] = ctx.input_tensor(i);
  return OkStatus();
}

Status PlaceholderWithDefault(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  WEIR_RETURN_IF_ERROR(UnifyShapes(ctx.input(0), shape).status());
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

DType OutType(const ShapeContext& ctx) { return ctx.Attr<DType>("out_type").value_or(DType::kInt32); }

Status ShapeOf(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs() && i < ctx.num_inputs(); ++i) {
    const PartialShape& in = ctx.input(i);
    ctx.set_output(i, PartialShape{in.has_rank() ? in.rank() : kUnknown});
    if (!in.has_rank()) continue;
    PartialInts dims;
    for (int64_t dim : in.dims()) dims.push_back(dim < 0 ? std::nullopt : std::optional<int64_t>(dim));
    SetKnownInts(ctx, i, OutType(ctx), false, dims);
  }
  return OkStatus();
}

Status Rank(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  if (ctx.input(0).has_rank()) SetKnownInts(ctx, 0, DType::kInt32, true, {ctx.input(0).rank()});
  return OkStatus();
}

Status Size(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  int64_t size = ctx.input(0).num_elements();
  if (size >= 0) SetKnownInts(ctx, 0, OutType(ctx), true, {size});
  return OkStatus();
}

Status Reshape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  std::optional<PartialInts> wanted = KnownInts(ctx, 1);
  if (!wanted || ctx.input(1).rank() == 0) {
    WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
    return OkStatus();
  }
  // From a constant -1 is "as it comes out"; of a followed shape an element may simply not be known.
  bool constant = ctx.input_value(1) != nullptr;
  PartialShape out = PartialShape::UnknownOfRank(0);
  int inferred = -1, missing = 0;
  int64_t product = 1;
  for (size_t i = 0; i < wanted->size(); ++i) {
    int64_t dim = (*wanted)[i].value_or(kUnknown);
    if (dim < -1) return InvalidArgument("Size ", i, " must be non-negative, not ", dim);
    if (dim < 0) {
      inferred = static_cast<int>(i);
      ++missing;
    } else {
      WEIR_ASSIGN_OR_RETURN(product, MultiplyDims(product, dim));
    }
    out.add_dim(dim);
  }
  if (constant && missing > 1) return InvalidArgument("Only one input size may be -1, not both");
  int64_t count = in.num_elements();
  if (count >= 0 && missing == 1 && product > 0) {
    if (count % product != 0) {
      return InvalidArgument("Dimension size must be evenly divisible by ", product, " but is ", count);
    }
    out.set_dim(inferred, count / product);
  } else if (count >= 0 && missing == 0 && product != count) {
    return InvalidArgument("Cannot reshape a tensor with ", count, " elements to shape ", out.ToString(), " (", product,
                           " elements)");
  }
  ctx.set_output(0, std::move(out));
  // Only the outline of small integers changes: [n] to scalar and back.
  std::optional<PartialInts> values = KnownInts(ctx, 0);
  DType type = ctx.Attr<DType>("T").value_or(DType::kInvalid);
  if (values && wanted->size() <= 1) SetKnownInts(ctx, 0, type, wanted->empty(), *values);
  return OkStatus();
}

Status ConcatInputs(ShapeContext& ctx, int first, int end, int axis_input) {
  PartialShape out;
  std::optional<int64_t> axis = ctx.InputAsInt(axis_input);
  int rank = -1;
  for (int i = first; i < end; ++i) {
    if (ctx.input(i).has_rank()) {
      if (ctx.input(i).rank() == 0) {
        return InvalidArgument("Can't concatenate scalars (use tf.stack instead)");
      }
      if (rank >= 0 && rank != ctx.input(i).rank()) {
        return InvalidArgument("Shapes must be equal rank, but are ", rank, " and ", ctx.input(i).rank());
      }
      rank = ctx.input(i).rank();
    }
  }
  if (rank < 0) return OkStatus();
  if (!axis) {
    ctx.set_output(0, PartialShape::UnknownOfRank(rank));
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(int at, NormalizeAxis(*axis, rank));
  out = PartialShape::UnknownOfRank(rank);
  int64_t sum = 0;
  for (int i = first; i < end; ++i) {
    PartialShape in = ctx.input(i).has_rank() ? ctx.input(i) : PartialShape::UnknownOfRank(rank);
    WEIR_ASSIGN_OR_RETURN(sum, AddDims(sum, in.dim(at)));
    in.set_dim(at, kUnknown);
    WEIR_ASSIGN_OR_RETURN(out, UnifyShapes(out, in));
  }
  out.set_dim(at, sum);
  ctx.set_output(0, std::move(out));
  if (rank != 1) return OkStatus();
  PartialInts all;
  for (int i = first; i < end; ++i) {
    std::optional<PartialInts> part = KnownInts(ctx, i);
    if (!part) return OkStatus();
    all.insert(all.end(), part->begin(), part->end());
  }
  SetKnownInts(ctx, 0, ctx.Attr<DType>("T").value_or(DType::kInvalid), false, all);
  return OkStatus();
}
Status Concat(ShapeContext& ctx) { return ConcatInputs(ctx, 1, ctx.num_inputs(), 0); }
Status ConcatV2(ShapeContext& ctx) { return ConcatInputs(ctx, 0, ctx.num_inputs() - 1, ctx.num_inputs() - 1); }

Status ConcatOffset(ShapeContext& ctx) {
  for (int i = 1; i < ctx.num_inputs() && i - 1 < ctx.num_outputs(); ++i) ctx.set_output(i - 1, ctx.input(i));
  return OkStatus();
}

Status Pack(ShapeContext& ctx) {
  PartialShape in;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    StatusOr<PartialShape> merged = UnifyShapes(in, ctx.input(i));
    if (!merged.ok()) {
      return Annotate(merged.status(), "", Cat("\n\tFrom merging shape ", i - 1, " with other shapes."));
    }
    in = *std::move(merged);
  }
  if (!in.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(int64_t axis, ctx.Attr<int64_t>("axis"));
  WEIR_ASSIGN_OR_RETURN(int at, NormalizeAxis(axis, in.rank() + 1));
  PartialShape out = SubShape(in, 0, at);
  out.add_dim(ctx.num_inputs());
  ctx.set_output(0, ConcatShapes(out, SubShape(in, at, in.rank())));
  if (in.rank() != 0) return OkStatus();
  PartialInts elements;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    std::optional<PartialInts> element = KnownInts(ctx, i);
    if (!element || element->size() != 1) return OkStatus();
    elements.push_back(element->front());
  }
  SetKnownInts(ctx, 0, ctx.Attr<DType>("T").value_or(DType::kInvalid), false, elements);
  return OkStatus();
}

Status Unpack(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  WEIR_RETURN_IF_ERROR(ctx.WithRankAtLeast(0, 1).status());
  WEIR_ASSIGN_OR_RETURN(int64_t axis, ctx.Attr<int64_t>("axis"));
  WEIR_ASSIGN_OR_RETURN(int at, NormalizeAxis(axis, in.rank()));
  WEIR_RETURN_IF_ERROR(MergeDims(in.dim(at), ctx.num_outputs()).status());
  PartialShape out = ConcatShapes(SubShape(in, 0, at), SubShape(in, at + 1, in.rank()));
  std::optional<PartialInts> values = in.rank() == 1 ? KnownInts(ctx, 0) : std::nullopt;
  DType type = ctx.Attr<DType>("T").value_or(DType::kInvalid);
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ctx.set_output(i, out);
    if (values && i < static_cast<int>(values->size())) SetKnownInts(ctx, i, type, true, {(*values)[i]});
  }
  return OkStatus();
}

Status Split(ShapeContext& ctx) {
  PartialShape out = ctx.input(1);
  std::optional<int64_t> axis = ctx.InputAsInt(0);
  if (out.has_rank() && axis) {
    WEIR_ASSIGN_OR_RETURN(int at, NormalizeAxis(*axis, out.rank()));
    int64_t dim = out.dim(at);
    if (dim >= 0 && ctx.num_outputs() > 0) {
      if (dim % ctx.num_outputs() != 0) {
        return InvalidArgument("Dimension size must be evenly divisible by ", ctx.num_outputs(), " but is ", dim,
                               "\n\tNumber of ways to split should evenly divide the split dimension");
      }
      out.set_dim(at, dim / ctx.num_outputs());
    }
  } else if (out.has_rank()) {
    out = PartialShape::UnknownOfRank(out.rank());
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, out);
  return OkStatus();
}

Status SplitV(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  std::optional<int64_t> axis = ctx.InputAsInt(2);
  std::optional<std::vector<int64_t>> sizes = ConstantInts(ctx, 1);
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape::UnknownOfRank(in.rank()));
  if (!axis) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(int at, NormalizeAxis(*axis, in.rank()));
  int64_t rest = in.dim(at);
  if (sizes && rest >= 0) {
    for (int64_t size : *sizes) rest -= std::max<int64_t>(size, 0);
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    PartialShape out = in;
    int64_t size = sizes && i < static_cast<int>(sizes->size()) ? (*sizes)[i] : kUnknown;
    if (size == -1 && sizes && in.dim(at) >= 0 && rest >= 0) size = rest;
    out.set_dim(at, std::max<int64_t>(size, kUnknown));
    ctx.set_output(i, std::move(out));
  }
  return OkStatus();
}

Status Fill(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 1).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  if (const Tensor* dims = ctx.input_value(0)) {
    std::optional<std::vector<int64_t>> ints = ConstantInts(ctx, 0);
    for (int64_t dim : ints.value_or(std::vector<int64_t>())) {
      if (dim < 0) return InvalidArgument("Fill dimensions must be >= 0");
    }
    (void)dims;
  }
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(0));
  if (out.rank() == 1 && out.dim(0) >= 0 && out.dim(0) <= 64) {
    std::optional<PartialInts> value = KnownInts(ctx, 1);
    DType type = ctx.Attr<DType>("T").value_or(DType::kInvalid);
    if (value && value->size() == 1) SetKnownInts(ctx, 0, type, false, PartialInts(out.dim(0), value->front()));
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// The shape is the value of input 0: Empty, random ops.
Status ShapeOfInput0(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(0));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, out);
  return OkStatus();
}

Status ExpandDims(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  std::optional<int64_t> axis = ctx.InputAsInt(1);
  if (!in.has_rank()) return OkStatus();
  if (!axis) {
    ctx.set_output(0, PartialShape::UnknownOfRank(in.rank() + 1));
    return OkStatus();
  }
  if (*axis < -1 - in.rank() || *axis > in.rank()) {
    return InvalidArgument("dim ", *axis, " not in the interval [", -1 - in.rank(), ", ", in.rank(), "].");
  }
  int at = static_cast<int>(*axis < 0 ? *axis + in.rank() + 1 : *axis);
  PartialShape out = SubShape(in, 0, at);
  out.add_dim(1);
  ctx.set_output(0, ConcatShapes(out, SubShape(in, at, in.rank())));
  std::optional<PartialInts> value = in.rank() == 0 ? KnownInts(ctx, 0) : std::nullopt;
  if (value) SetKnownInts(ctx, 0, ctx.Attr<DType>("T").value_or(DType::kInvalid), false, *value);
  return OkStatus();
}

Status Squeeze(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> axes, ctx.Attr<std::vector<int64_t>>("squeeze_dims"));
  std::vector<bool> squeezed(in.rank(), false);
  for (int64_t axis : axes) {
    if (axis < -in.rank() || axis >= in.rank()) {
      return InvalidArgument("squeeze_dims[", &axis - axes.data(), "] not in [", -in.rank(), ",", in.rank(), ").");
    }
    squeezed[axis < 0 ? axis + in.rank() : axis] = true;
  }
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int i = 0; i < in.rank(); ++i) {
    if (axes.empty()) {
      if (in.dim(i) < 0) return OkStatus();  // may go or stay
      if (in.dim(i) != 1) out.add_dim(in.dim(i));
    } else if (!squeezed[i]) {
      out.add_dim(in.dim(i));
    } else if (in.dim(i) > 1 || in.dim(i) == 0) {
      return InvalidArgument("Can not squeeze dim[", i, "], expected a dimension of 1, got ", in.dim(i));
    }
  }
  std::optional<PartialInts> values = out.rank() == 0 ? KnownInts(ctx, 0) : std::nullopt;
  ctx.set_output(0, std::move(out));
  if (values) SetKnownInts(ctx, 0, ctx.Attr<DType>("T").value_or(DType::kInvalid), true, *values);
  return OkStatus();
}

Status BroadcastTo(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(1));
  const PartialShape& in = ctx.input(0);
  if (out.has_rank() && in.has_rank()) {
    if (in.rank() > out.rank()) {
      return InvalidArgument("Shape must be at most rank ", out.rank(), " but is rank ", in.rank());
    }
    for (int i = 0; i < in.rank(); ++i) {
      int64_t from = in.dim(i), to = out.dim(out.rank() - in.rank() + i);
      if (from > 1 && to >= 0 && from != to) {
        return InvalidArgument("Dimensions must be equal, but are ", from, " and ", to);
      }
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status BroadcastArgs(ShapeContext& ctx) {
  const PartialShape &a = ctx.input(0), &b = ctx.input(1);
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 1).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
  bool known = a.has_rank() && b.has_rank() && a.dim(0) >= 0 && b.dim(0) >= 0;
  ctx.set_output(0, PartialShape{known ? std::max(a.dim(0), b.dim(0)) : kUnknown});
  return OkStatus();
}

Status UnknownVectors(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape{kUnknown});
  return OkStatus();
}

Status Bitcast(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(DType from, ctx.Attr<DType>("T"));
  WEIR_ASSIGN_OR_RETURN(DType to, ctx.Attr<DType>("type"));
  int64_t from_size = static_cast<int64_t>(SizeOf(from)), to_size = static_cast<int64_t>(SizeOf(to));
  if (from_size == 0 || to_size == 0) return InvalidArgument("Cannot bitcast types of no size");
  PartialShape out = in;
  if (from_size > to_size) {
    out.add_dim(from_size / to_size);
  } else if (from_size < to_size) {
    WEIR_RETURN_IF_ERROR(ctx.WithRankAtLeast(0, 1).status());
    if (in.dim(in.rank() - 1) >= 0 && in.dim(in.rank() - 1) != to_size / from_size) {
      return InvalidArgument("Cannot bitcast due to shape. ", in.dim(in.rank() - 1), " does not match ",
                             to_size / from_size);
    }
    out = SubShape(in, 0, in.rank() - 1);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterArrayShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("const", Const);
  registry.RegisterShapeFunction("identity", Identity);
  registry.RegisterShapeFunction("placeholder_with_default", PlaceholderWithDefault);
  registry.RegisterShapeFunction("shape_of", ShapeOf);
  registry.RegisterShapeFunction("rank", Rank);
  registry.RegisterShapeFunction("size", Size);
  registry.RegisterShapeFunction("reshape", Reshape);
  registry.RegisterShapeFunction("concat", Concat);
  registry.RegisterShapeFunction("concat_v2", ConcatV2);
  registry.RegisterShapeFunction("concat_offset", ConcatOffset);
  registry.RegisterShapeFunction("pack", Pack);
  registry.RegisterShapeFunction("unpack", Unpack);
  registry.RegisterShapeFunction("split", Split);
  registry.RegisterShapeFunction("split_v", SplitV);
  registry.RegisterShapeFunction("fill", Fill);
  registry.RegisterShapeFunction("shape_of_input", ShapeOfInput0);
  registry.RegisterShapeFunction("expand_dims", ExpandDims);
  registry.RegisterShapeFunction("squeeze", Squeeze);
  registry.RegisterShapeFunction("broadcast_to", BroadcastTo);
  registry.RegisterShapeFunction("broadcast_args", BroadcastArgs);
  registry.RegisterShapeFunction("unknown_vectors", UnknownVectors);
  registry.RegisterShapeFunction("bitcast", Bitcast);
}

}  // namespace weir
