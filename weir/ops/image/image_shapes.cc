// Shapes of the image ops.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

int64_t Dim(const PartialShape& shape, int d) { return d < shape.rank() ? shape.dim(d) : kUnknown; }

// Element `d` of input `i`, if it is known and a size.
int64_t SizeAt(ShapeContext& ctx, int i, size_t d) {
  std::optional<PartialInts> sizes = KnownInts(ctx, i);
  if (!sizes || d >= sizes->size() || !(*sizes)[d] || *(*sizes)[d] < 0) return kUnknown;
  return *(*sizes)[d];
}

// [batch, height, width, channels] with another height and width, which an input gives.
template <int kSizeInput>
Status Resized(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, 4));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(kSizeInput, 1).status());
  ctx.set_output(0, {Dim(image, 0), SizeAt(ctx, kSizeInput, 0), SizeAt(ctx, kSizeInput, 1), Dim(image, 3)});
  return OkStatus();
}

// Like input `kInput`.
template <int kInput>
Status LikeInput(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(kInput));
  return OkStatus();
}

// Like the input, whose last dimension is 3.
Status Colors(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRankAtLeast(0, 1));
  if (image.has_rank()) {
    WEIR_ASSIGN_OR_RETURN(int64_t channels, MergeDims(image.dim(image.rank() - 1), 3));
    image.set_dim(image.rank() - 1, channels);
  }
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

Status CropAndResize(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(PartialShape boxes, ctx.WithRank(1, 2));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(2, 1).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(3, 1).status());
  ctx.set_output(0, {Dim(boxes, 0), SizeAt(ctx, 3, 0), SizeAt(ctx, 3, 1), Dim(image, 3)});
  return OkStatus();
}

Status CropGradImage(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(3));
  WEIR_ASSIGN_OR_RETURN(shape, WithRank(shape, 4));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

// The channels that the attribute asks for, if it does.
int64_t AskedChannels(ShapeContext& ctx) {
  const int64_t channels = ctx.Attr<int64_t>("channels").value_or(0);
  return channels == 0 ? kUnknown : channels;
}

Status DecodedPicture(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  ctx.set_output(0, {kUnknown, kUnknown, AskedChannels(ctx)});
  return OkStatus();
}

Status DecodedCrop(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
  ctx.set_output(0, {SizeAt(ctx, 1, 2), SizeAt(ctx, 1, 3), AskedChannels(ctx)});
  return OkStatus();
}

Status DecodedFrames(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  ctx.set_output(0, {kUnknown, kUnknown, kUnknown, ctx.schema().name == "DecodeGif" ? 3 : AskedChannels(ctx)});
  return OkStatus();
}

// Of unknown rank, unless animations are cut to their first frame.
Status DecodedAny(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  const bool expand = ctx.Attr<bool>("expand_animations").value_or(true);
  ctx.set_output(0, expand ? PartialShape() : PartialShape{kUnknown, kUnknown, AskedChannels(ctx)});
  return OkStatus();
}

Status EncodedBatch(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape images, ctx.WithRankAtLeast(0, 3));
  ctx.set_output(0, images.has_rank() ? SubShape(images, 0, images.rank() - 3) : PartialShape());
  return OkStatus();
}

Status ThreeNumbers(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  ctx.set_output(0, {3});
  return OkStatus();
}

// A picture in, the same out; scalars beside it.
Status AdjustedImage(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRankAtLeast(0, 3));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

Status NonMaxSuppression(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 2).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
  for (int i = 2; i < ctx.num_inputs(); ++i) WEIR_RETURN_IF_ERROR(ctx.WithRank(i, 0).status());
  const bool padded = ctx.Attr<bool>("pad_to_max_output_size").value_or(false);
  const int64_t size = padded ? ctx.InputAsInt(2).value_or(kUnknown) : kUnknown;
  if (size < kUnknown) return InvalidArgument("max_output_size must not be negative, got ", size);
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, {size});
  if (ctx.num_outputs() > 1) ctx.set_output(ctx.num_outputs() - 1, Shape());
  return OkStatus();
}

Status CombinedNonMaxSuppression(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape boxes, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(PartialShape scores, ctx.WithRank(1, 3));
  const int64_t batch = Dim(boxes, 0);
  int64_t size = ctx.InputAsInt(3).value_or(kUnknown);
  if (ctx.Attr<bool>("pad_per_class").value_or(false)) {
    const int64_t per_class = ctx.InputAsInt(2).value_or(kUnknown), classes = Dim(scores, 2);
    const bool known = size > 0 && per_class > 0 && per_class < INT32_MAX && classes >= 0 && classes < INT32_MAX;
    size = known ? std::min(size, per_class * classes) : kUnknown;
  }
  if (size < 0) size = kUnknown;
  ctx.set_output(0, {batch, size, 4});
  ctx.set_output(1, {batch, size});
  ctx.set_output(2, {batch, size});
  ctx.set_output(3, {batch});
  return OkStatus();
}

Status DistortedBox(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 1).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 3).status());
  ctx.set_output(0, {3});
  ctx.set_output(1, {3});
  ctx.set_output(2, {1, 1, 4});
  return OkStatus();
}

Status BoxGradients(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape boxes, ctx.WithRank(2, 2));
  ctx.set_output(0, std::move(boxes));
  return OkStatus();
}

Status DrawnBoxes(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRankAtLeast(0, 3));
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

}  // namespace

void RegisterImageShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("colors", Colors);
  registry.RegisterShapeFunction("resized", Resized<1>);
  registry.RegisterShapeFunction("projected", Resized<2>);
  registry.RegisterShapeFunction("like_second", LikeInput<1>);
  registry.RegisterShapeFunction("crop_and_resize", CropAndResize);
  registry.RegisterShapeFunction("crop_grad_image", CropGradImage);
  registry.RegisterShapeFunction("crop_grad_boxes", BoxGradients);
  registry.RegisterShapeFunction("decoded_picture", DecodedPicture);
  registry.RegisterShapeFunction("decoded_crop", DecodedCrop);
  registry.RegisterShapeFunction("decoded_frames", DecodedFrames);
  registry.RegisterShapeFunction("decoded_any", DecodedAny);
  registry.RegisterShapeFunction("encoded_batch", EncodedBatch);
  registry.RegisterShapeFunction("jpeg_shape", ThreeNumbers);
  registry.RegisterShapeFunction("adjusted_image", AdjustedImage);
  registry.RegisterShapeFunction("non_max_suppression", NonMaxSuppression);
  registry.RegisterShapeFunction("combined_non_max_suppression", CombinedNonMaxSuppression);
  registry.RegisterShapeFunction("distorted_box", DistortedBox);
  registry.RegisterShapeFunction("drawn_boxes", DrawnBoxes);
}

}  // namespace weir
