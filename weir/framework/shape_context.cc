#include "weir/framework/shape_context.h"

#include "weir/framework/op_registry.h"

namespace weir {
namespace {

// The integers of a constant tensor, or nothing if it holds none.
std::optional<std::vector<int64_t>> Integers(const Tensor& tensor) {
  std::vector<int64_t> out;
  bool known = DispatchDType(tensor.dtype(), IndexTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto values = tensor.span<T>();
    out.assign(values.begin(), values.end());
  });
  if (!known) return std::nullopt;
  return out;
}

StatusOr<ArgRange> Range(const std::vector<ArgSchema>& args, const AttrMap& attrs, std::string_view op,
                         std::string_view name) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == name) return ResolveArgRange(args, attrs, static_cast<int>(i));
  }
  return InvalidArgument("Op ", op, " has no argument '", name, "'");
}

}  // namespace

StatusOr<PartialShape> ShapeContext::InputAsShape(int i) const {
  const InferredTensor& in = inputs_[i];
  if (in.value.has_value()) {
    std::optional<std::vector<int64_t>> dims = Integers(in.value);
    if (!dims) return InvalidArgument("Input tensor must be int32 or int64, but was ", Name(in.value.dtype()));
    if (in.value.rank() == 0) {
      if (dims->front() == -1) return PartialShape();
      return InvalidArgument(
          "Input tensor must be rank 1, or if its rank 0 it must have value -1 (representing an "
          "unknown shape).  Saw value: ",
          dims->front());
    }
    if (in.value.rank() != 1) return InvalidArgument("Input tensor must be rank 1, but was rank ", in.value.rank());
    return PartialShape::Make(*dims);
  }
  if (in.value_as_shape) return *in.value_as_shape;
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, WithRankAtMost(i, 1));
  if (shape.rank() != 1 || shape.dim(0) < 0) return PartialShape();
  if (shape.dim(0) > Shape::kMaxRank) return InvalidArgument("A shape of ", shape.dim(0), " dimensions is too long");
  return PartialShape::UnknownOfRank(static_cast<int>(shape.dim(0)));
}

std::optional<int64_t> ShapeContext::InputAsInt(int i) const {
  const Tensor* value = input_value(i);
  if (value == nullptr || value->num_elements() != 1) return std::nullopt;
  std::optional<std::vector<int64_t>> integers = Integers(*value);
  if (!integers) return std::nullopt;
  return integers->front();
}

StatusOr<ArgRange> ShapeContext::InputRange(std::string_view name) const {
  return Range(schema_.inputs, attrs_, schema_.name, name);
}
StatusOr<ArgRange> ShapeContext::OutputRange(std::string_view name) const {
  return Range(schema_.outputs, attrs_, schema_.name, name);
}

StatusOr<PartialShape> ShapeContext::WithRank(int input, int rank) const {
  return weir::WithRank(inputs_[input].shape, rank);
}
StatusOr<PartialShape> ShapeContext::WithRankAtLeast(int input, int rank) const {
  return weir::WithRankAtLeast(inputs_[input].shape, rank);
}
StatusOr<PartialShape> ShapeContext::WithRankAtMost(int input, int rank) const {
  return weir::WithRankAtMost(inputs_[input].shape, rank);
}

StatusOr<PartialShape> WithRank(const PartialShape& shape, int rank) {
  if (!shape.has_rank()) return PartialShape::UnknownOfRank(rank);
  if (shape.rank() == rank) return shape;
  return InvalidArgument("Shape must be rank ", rank, " but is rank ", shape.rank());
}

StatusOr<PartialShape> WithRankAtLeast(const PartialShape& shape, int rank) {
  if (!shape.has_rank() || shape.rank() >= rank) return shape;
  return InvalidArgument("Shape must be at least rank ", rank, " but is rank ", shape.rank());
}

StatusOr<PartialShape> WithRankAtMost(const PartialShape& shape, int rank) {
  if (!shape.has_rank() || shape.rank() <= rank) return shape;
  return InvalidArgument("Shape must be at most rank ", rank, " but is rank ", shape.rank());
}

StatusOr<int64_t> MergeDims(int64_t a, int64_t b) {
  if (a < 0) return b;
  if (b < 0 || a == b) return a;
  return InvalidArgument("Dimensions must be equal, but are ", a, " and ", b);
}

StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape();
  const int rank = std::max(a.rank(), b.rank());
  PartialShape out = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a.dim(ia), db = ib < 0 ? 1 : b.dim(ib);
    if (da == 1) {
      out.set_dim(i, db);
    } else if (db == 1) {
      out.set_dim(i, da);
    } else if (da < 0 || db < 0) {
      // What is unknown is either the known size (above 1) or 1; both broadcast to the known one. Of a known 0
      // nothing is concluded, as in TensorFlow.
      const int64_t known = std::max(da, db);
      out.set_dim(i, known > 1 ? known : PartialShape::kUnknown);
    } else {
      WEIR_ASSIGN_OR_RETURN(int64_t dim, MergeDims(da, db));
      out.set_dim(i, dim);
    }
  }
  return out;
}

namespace shapes {

Status Unknown(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape());
  return OkStatus();
}

Status Unchanged(ShapeContext& ctx) {
  if (ctx.num_inputs() < 1 || ctx.num_outputs() < 1)
    return Internal("Op ", ctx.schema().name, " has no input or output");
  ctx.set_output(0, ctx.input(0));
  if (!ctx.input_handle_data(0).empty()) ctx.set_output_handle_data(0, ctx.input_handle_data(0));
  return OkStatus();
}

Status Scalar(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, Shape());
  return OkStatus();
}

Status NoOutputs(ShapeContext&) { return OkStatus(); }

Status Broadcast(ShapeContext& ctx) {
  if (ctx.num_inputs() < 2 || ctx.num_outputs() < 1) return Internal("Op ", ctx.schema().name, " is not binary");
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(ctx.input(0), ctx.input(1)));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status AttrShape(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, shape);
  return OkStatus();
}

Status MergeAll(ShapeContext& ctx) {
  PartialShape merged;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    WEIR_ASSIGN_OR_RETURN(merged, merged.Merge(ctx.input(i)));
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, merged);
  return OkStatus();
}

}  // namespace shapes

void RegisterCommonShapeFunctions(OpRegistry& registry) {
  registry.RegisterShapeFunction("unknown", shapes::Unknown);
  registry.RegisterShapeFunction("unchanged", shapes::Unchanged);
  registry.RegisterShapeFunction("scalar", shapes::Scalar);
  registry.RegisterShapeFunction("none", shapes::NoOutputs);
  registry.RegisterShapeFunction("broadcast", shapes::Broadcast);
  registry.RegisterShapeFunction("attr_shape", shapes::AttrShape);
  registry.RegisterShapeFunction("merge_all", shapes::MergeAll);
}

}  // namespace weir
