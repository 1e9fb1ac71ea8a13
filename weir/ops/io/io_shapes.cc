// Shapes of reading, decoding and parsing.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

// As many numbers in each string, of a number nobody knows.
Status DecodeRaw(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  ctx.set_output(0, ConcatShapes(in, PartialShape{kUnknown}));
  return OkStatus();
}

Status DecodePaddedRaw(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("out_type"));
  if (!in.has_rank()) return OkStatus();
  const int64_t bytes = ctx.InputAsInt(1).value_or(kUnknown);
  const auto size = static_cast<int64_t>(SizeOf(dtype));
  ctx.set_output(0, ConcatShapes(in, PartialShape{bytes > 0 && size > 0 ? bytes / size : kUnknown}));
  return OkStatus();
}

// Every output like the records.
Status DecodeCsv(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(0));
  return OkStatus();
}

Status Fingerprint(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape data, ctx.WithRankAtLeast(0, 1));
  ctx.set_output(0, PartialShape{data.has_rank() ? data.dim(0) : kUnknown, 8});
  return OkStatus();
}

Status UnknownVector(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, {kUnknown});
  return OkStatus();
}

// Tensors of a checkpoint: of the shape that a shape_and_slice says, else of any.
Status Restored(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape());
  return OkStatus();
}

// The outputs of one kind of feature.
class Outputs {
 public:
  explicit Outputs(ShapeContext& ctx) : ctx_(ctx) {}
  void Put(size_t count, const PartialShape& shape) {
    for (size_t i = 0; i < count && next_ < ctx_.num_outputs(); ++i) ctx_.set_output(next_++, shape);
  }
  // `outer`, then the shape of each.
  void PutDense(const std::vector<PartialShape>& shapes, const PartialShape& outer) {
    for (const PartialShape& shape : shapes) Put(1, ConcatShapes(outer, shape));
  }
  // Indices, values and shapes of sparse tensors of this rank.
  void PutSparse(size_t count, int64_t rank) {
    Put(count, {kUnknown, rank});
    Put(count, {kUnknown});
    Put(count, {rank});
  }

 private:
  ShapeContext& ctx_;
  int next_ = 0;
};

template <typename T>
std::vector<T> ListAttr(ShapeContext& ctx, std::string_view name) {
  return ctx.Attr<std::vector<T>>(name).value_or(std::vector<T>());
}

Status ParseExample(ShapeContext& ctx) {
  const bool is_single = ctx.schema().name == "ParseSingleExample";
  const PartialShape serialized = is_single ? PartialShape(Shape()) : ctx.input(0);
  const size_t sparse = ListAttr<DType>(ctx, "sparse_types").size();
  Outputs out(ctx);
  out.PutSparse(sparse, serialized.has_rank() ? serialized.rank() + 1 : kUnknown);
  out.PutDense(ListAttr<PartialShape>(ctx, "dense_shapes"), serialized);
  if (ctx.schema().name != "ParseExampleV2") return OkStatus();
  out.Put(ListAttr<DType>(ctx, "ragged_value_types").size(), {kUnknown});
  const bool is_scalar = serialized.has_rank() && serialized.rank() == 0;
  const int64_t splits = is_scalar                                         ? 0
                         : serialized.has_rank() && serialized.dim(0) >= 0 ? serialized.dim(0) + 1
                                                                           : kUnknown;
  out.Put(ListAttr<DType>(ctx, "ragged_split_types").size(), {splits});
  return OkStatus();
}

Status ParseSequenceExample(ShapeContext& ctx) {
  const bool is_single = ctx.schema().name == "ParseSingleSequenceExample";
  const bool is_v2 = ctx.schema().name == "ParseSequenceExampleV2";
  const PartialShape serialized = is_single ? PartialShape(Shape()) : ctx.input(0);
  const int64_t rank = serialized.has_rank() ? serialized.rank() : kUnknown;
  const PartialShape steps = serialized.has_rank() ? ConcatShapes(serialized, PartialShape{kUnknown}) : PartialShape();
  Outputs out(ctx);
  out.PutSparse(ListAttr<DType>(ctx, "context_sparse_types").size(), rank < 0 ? kUnknown : rank + 1);
  out.PutDense(ListAttr<PartialShape>(ctx, "context_dense_shapes"), serialized);
  if (is_v2) {
    out.Put(ListAttr<DType>(ctx, "context_ragged_value_types").size(), {kUnknown});
    out.Put(ListAttr<DType>(ctx, "context_ragged_split_types").size(), PartialShape());
  }
  out.PutSparse(ListAttr<DType>(ctx, "feature_list_sparse_types").size(), rank < 0 ? kUnknown : rank + 2);
  const std::vector<PartialShape> dense = ListAttr<PartialShape>(ctx, "feature_list_dense_shapes");
  out.PutDense(dense, steps);
  if (is_single) return OkStatus();
  out.Put(dense.size(), serialized);
  if (!is_v2) return OkStatus();
  const size_t ragged = ListAttr<DType>(ctx, "feature_list_ragged_value_types").size();
  out.Put(ragged, {kUnknown});
  out.Put(ragged, PartialShape());
  out.Put(ragged, {kUnknown});
  return OkStatus();
}

// The handle of an old reader: container and name.
Status ContainerAndName(ShapeContext& ctx) {
  ctx.set_output(0, {2});
  return OkStatus();
}

}  // namespace

void RegisterIoShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("decode_raw", DecodeRaw);
  registry.RegisterShapeFunction("decode_padded_raw", DecodePaddedRaw);
  registry.RegisterShapeFunction("decode_csv", DecodeCsv);
  registry.RegisterShapeFunction("fingerprint", Fingerprint);
  registry.RegisterShapeFunction("unknown_vector", UnknownVector);
  registry.RegisterShapeFunction("restored", Restored);
  registry.RegisterShapeFunction("container_and_name", ContainerAndName);
  registry.RegisterShapeFunction("parse_example", ParseExample);
  registry.RegisterShapeFunction("parse_sequence_example", ParseSequenceExample);
}

}  // namespace weir
