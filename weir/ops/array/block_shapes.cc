// Shapes of the ops that move blocks between space, batch and channels, and of those about diagonals.
#include <algorithm>

#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

StatusOr<int64_t> DivideEvenly(int64_t dim, int64_t by) {
  if (dim < 0) return kUnknown;
  if (dim % by != 0) return InvalidArgument("Dimension size must be evenly divisible by ", by, " but is ", dim);
  return dim / by;
}

StatusOr<int64_t> SubtractDims(int64_t dim, int64_t amount) {
  if (dim < 0) return kUnknown;
  if (amount > dim) return InvalidArgument("Negative dimension size caused by subtracting ", amount, " from ", dim);
  return dim - amount;
}

// One dimension of space: the block's size, and what is added (or cut off) at both ends; nothing where not known.
struct BlockDim {
  std::optional<int64_t> block, before, after;
};

// Reads blocks and paddings, as far as they are constant. `count` is the number of dimensions that have blocks.
StatusOr<std::vector<BlockDim>> ReadBlocks(const ShapeContext& ctx, int64_t count,
                                           const std::optional<std::vector<int64_t>>& blocks, int margins_input,
                                           std::string_view margins_name) {
  std::vector<BlockDim> out(static_cast<size_t>(count));
  WEIR_RETURN_IF_ERROR(UnifyShapes(ctx.input(margins_input), PartialShape({count, 2})).status());
  const std::optional<std::vector<int64_t>> margins = ConstantInts(ctx, margins_input);
  for (size_t i = 0; i < out.size(); ++i) {
    if (blocks && blocks->size() == out.size()) {
      if ((*blocks)[i] < 1) return InvalidArgument("block_shape must be positive");
      out[i].block = (*blocks)[i];
    }
    if (margins && margins->size() == 2 * out.size()) {
      out[i].before = (*margins)[2 * i];
      out[i].after = (*margins)[2 * i + 1];
      if (*out[i].before < 0 || *out[i].after < 0) return InvalidArgument(margins_name, " cannot be negative");
    }
  }
  return out;
}

Status SpaceToBatchOf(ShapeContext& ctx, int64_t count, const std::optional<std::vector<int64_t>>& blocks,
                      int paddings) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRankAtLeast(0, static_cast<int>(count) + 1));
  WEIR_ASSIGN_OR_RETURN(std::vector<BlockDim> dims, ReadBlocks(ctx, count, blocks, paddings, "paddings"));
  if (!image.has_rank()) return OkStatus();
  for (size_t i = 0; i < dims.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    int64_t size = kUnknown;
    if (dims[i].block && dims[i].before) {
      WEIR_ASSIGN_OR_RETURN(int64_t margin, AddDims(*dims[i].before, *dims[i].after));
      WEIR_ASSIGN_OR_RETURN(size, AddDims(image.dim(at), margin));
      WEIR_ASSIGN_OR_RETURN(size, DivideEvenly(size, *dims[i].block));
    }
    image.set_dim(at, size);
    WEIR_ASSIGN_OR_RETURN(int64_t batch, MultiplyDims(image.dim(0), dims[i].block.value_or(kUnknown)));
    image.set_dim(0, batch);
  }
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

Status BatchToSpaceOf(ShapeContext& ctx, int64_t count, const std::optional<std::vector<int64_t>>& blocks, int crops) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRankAtLeast(0, static_cast<int>(count) + 1));
  int64_t batch = image.has_rank() ? image.dim(0) : kUnknown;
  for (int64_t block : blocks.value_or(std::vector<int64_t>())) {
    if (block < 1) return InvalidArgument("block_shape must be positive");
    WEIR_ASSIGN_OR_RETURN(batch, DivideEvenly(batch, block));
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<BlockDim> dims, ReadBlocks(ctx, count, blocks, crops, "crops"));
  if (!image.has_rank()) return OkStatus();
  for (size_t i = 0; i < dims.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    int64_t size = kUnknown;
    if (dims[i].block && dims[i].before) {
      WEIR_ASSIGN_OR_RETURN(size, MultiplyDims(image.dim(at), *dims[i].block));
      WEIR_ASSIGN_OR_RETURN(size, SubtractDims(size, *dims[i].before));
      WEIR_ASSIGN_OR_RETURN(size, SubtractDims(size, *dims[i].after));
    }
    image.set_dim(at, size);
  }
  image.set_dim(0, blocks || count == 0 ? batch : kUnknown);
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

using BlockShapeFunction = Status (*)(ShapeContext&, int64_t, const std::optional<std::vector<int64_t>>&, int);

// Images and one block size for both dimensions.
template <BlockShapeFunction kOf>
Status OfImages(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 4).status());
  WEIR_ASSIGN_OR_RETURN(int64_t block, ctx.Attr<int64_t>("block_size"));
  WEIR_RETURN_IF_ERROR(kOf(ctx, 2, std::vector<int64_t>{block, block}, 1));
  if (!ctx.outputs()[0].shape.has_rank()) ctx.set_output(0, PartialShape::UnknownOfRank(4));
  return OkStatus();
}

// Any number of dimensions: input 1 says how many.
template <BlockShapeFunction kOf>
Status OfAnyRank(ShapeContext& ctx) {
  const PartialShape& blocks = ctx.input(1);
  if (!blocks.has_rank()) return OkStatus();
  if (blocks.rank() != 1) return InvalidArgument("block_shape must have rank 1.");
  if (blocks.dim(0) < 0 || blocks.dim(0) >= Shape::kMaxRank) return OkStatus();
  return kOf(ctx, blocks.dim(0), ConstantInts(ctx, 1), 2);
}

// Where the channels and the two dimensions of space are.
struct ImageLayout {
  int rank, channels, height, width;
};
StatusOr<ImageLayout> ReadLayout(const ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::string format, ctx.Attr<std::string>("data_format"));
  if (format == "NHWC") return ImageLayout{4, 3, 1, 2};
  return ImageLayout{format == "NCHW_VECT_C" ? 5 : 4, 1, 2, 3};
}

Status SpaceToDepth(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(ImageLayout layout, ReadLayout(ctx));
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, layout.rank));
  WEIR_ASSIGN_OR_RETURN(int64_t block, ctx.Attr<int64_t>("block_size"));
  if (block < 1) return InvalidArgument("block_size must be positive, got ", block);
  if (!image.has_rank()) image = PartialShape::UnknownOfRank(layout.rank);
  WEIR_ASSIGN_OR_RETURN(int64_t square, MultiplyDims(block, block));
  WEIR_ASSIGN_OR_RETURN(int64_t channels, MultiplyDims(image.dim(layout.channels), square));
  image.set_dim(layout.channels, channels);
  for (int dim : {layout.height, layout.width}) {
    WEIR_ASSIGN_OR_RETURN(int64_t size, DivideEvenly(image.dim(dim), block));
    image.set_dim(dim, size);
  }
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

Status DepthToSpace(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(ImageLayout layout, ReadLayout(ctx));
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, layout.rank));
  WEIR_ASSIGN_OR_RETURN(int64_t block, ctx.Attr<int64_t>("block_size"));
  if (block < 1) return InvalidArgument("block_size must be positive, got ", block);
  if (!image.has_rank()) image = PartialShape::UnknownOfRank(layout.rank);
  for (int dim : {layout.height, layout.width}) {
    WEIR_ASSIGN_OR_RETURN(int64_t size, MultiplyDims(image.dim(dim), block));
    image.set_dim(dim, size);
  }
  WEIR_ASSIGN_OR_RETURN(int64_t square, MultiplyDims(block, block));
  WEIR_ASSIGN_OR_RETURN(int64_t channels, DivideEvenly(image.dim(layout.channels), square));
  image.set_dim(layout.channels, channels);
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

// The diagonals that input 1 names: one, or a band from `lower` to `upper`. Nothing if that is not known.
struct Band {
  int64_t lower, upper;
  int64_t count() const { return upper - lower + 1; }
};
StatusOr<std::optional<Band>> ReadBand(const ShapeContext& ctx) {
  const std::optional<std::vector<int64_t>> index = ConstantInts(ctx, 1);
  if (!index) return std::nullopt;
  if (index->empty() || index->size() > 2) {
    return InvalidArgument("diag_index must be a vector with one or two elements. It has ", index->size(),
                           " elements.");
  }
  const Band band = {index->front(), index->back()};
  if (band.lower > band.upper) return InvalidArgument("lower_diag_index is greater than upper_diag_index");
  return band;
}

Status MatrixDiag(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape diagonal, ctx.WithRankAtLeast(0, 1));
  WEIR_RETURN_IF_ERROR(ctx.WithRankAtMost(1, 1).status());
  for (int i : {2, 3, 4}) WEIR_RETURN_IF_ERROR(ctx.WithRank(i, 0).status());
  if (!diagonal.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(std::optional<Band> band, ReadBand(ctx));
  if (!band) return OkStatus();
  const bool is_band = band->lower < band->upper;
  const int rank = diagonal.rank();
  if (is_band) {
    const int64_t given = rank >= 2 ? diagonal.dim(rank - 2) : 0;
    if (given >= 0 && given != band->count()) {
      return InvalidArgument(
          "The number of rows of `diagonal` doesn't match the number of diagonals implied from `d_lower` and "
          "`d_upper`.\nnum_diags = ",
          given, ", d_lower = ", band->lower, ", d_upper = ", band->upper);
    }
  }
  // What the longest diagonal asks for, and what the caller does; -1: as small as possible, and square if neither is
  // given.
  const int64_t length = diagonal.dim(rank - 1);
  const std::optional<int64_t> asked_rows = ctx.InputAsInt(2), asked_columns = ctx.InputAsInt(3);
  int64_t rows = asked_rows.value_or(-1), columns = asked_columns.value_or(-1);
  const bool known = asked_rows.has_value() && asked_columns.has_value();
  if (length >= 0 && known) {
    WEIR_ASSIGN_OR_RETURN(const int64_t least_rows, AddDims(length, -std::min<int64_t>(band->upper, 0)));
    WEIR_ASSIGN_OR_RETURN(const int64_t least_columns, AddDims(length, std::max<int64_t>(band->lower, 0)));
    if (rows == -1 && columns == -1) {
      rows = columns = std::max(least_rows, least_columns);
    } else {
      rows = rows == -1 ? least_rows : rows;
      columns = columns == -1 ? least_columns : columns;
    }
    if (rows < least_rows) return InvalidArgument("num_rows is too small");
    if (columns < least_columns) return InvalidArgument("num_cols is too small");
    if (rows != least_rows && columns != least_columns) {
      return InvalidArgument(
          "num_rows and num_cols are not consistent with lower_diag_index, upper_diag_index, and the length of the "
          "given diagonals.\nnum_rows = ",
          rows, " != min_num_rows = ", least_rows, ", num_cols = ", columns, " != min_num_cols = ", least_columns);
    }
  }
  PartialShape out = SubShape(diagonal, 0, is_band ? rank - 2 : rank - 1);
  out.add_dim(std::max<int64_t>(rows, kUnknown));
  out.add_dim(std::max<int64_t>(columns, kUnknown));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status MatrixDiagPart(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape matrix, ctx.WithRankAtLeast(0, 2));
  WEIR_RETURN_IF_ERROR(ctx.WithRankAtMost(1, 1).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(2, 0).status());
  if (!matrix.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(std::optional<Band> band, ReadBand(ctx));
  if (!band) return OkStatus();
  const int rank = matrix.rank();
  const int64_t rows = matrix.dim(rank - 2), columns = matrix.dim(rank - 1);
  int64_t length = kUnknown;
  if (rows >= 0 && columns >= 0) {
    // Diagonal 0 is there even if the matrix is empty.
    auto outside = [&](int64_t index) { return index != 0 && (-rows >= index || index >= columns); };
    if (outside(band->lower)) return InvalidArgument("lower_diag_index is out of bound.");
    if (outside(band->upper)) return InvalidArgument("upper_diag_index is out of bound.");
    length = std::min(rows + std::min<int64_t>(band->upper, 0), columns - std::max<int64_t>(band->lower, 0));
  }
  PartialShape out = SubShape(matrix, 0, rank - 2);
  if (band->lower < band->upper) {
    out.add_dim(band->upper - band->lower >= 0 && band->count() > 0 ? band->count() : kUnknown);
  }
  out.add_dim(std::max<int64_t>(length, kUnknown));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status MirrorPadGrad(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape paddings, ctx.WithRank(1, 2));
  if (!paddings.has_rank() || paddings.dim(0) < 0 || paddings.dim(0) > Shape::kMaxRank) return OkStatus();
  const int rank = static_cast<int>(paddings.dim(0));
  WEIR_ASSIGN_OR_RETURN(PartialShape input, ctx.WithRank(0, rank));
  WEIR_RETURN_IF_ERROR(UnifyShapes(paddings, PartialShape({rank, 2})).status());
  PartialShape out = PartialShape::UnknownOfRank(rank);
  if (const auto margins = ConstantInts(ctx, 1); margins && margins->size() == 2 * static_cast<size_t>(rank)) {
    for (int i = 0; i < rank; ++i) {
      const int64_t before = (*margins)[2 * static_cast<size_t>(i)], after = (*margins)[2 * static_cast<size_t>(i) + 1];
      if (before < 0 || after < 0) return InvalidArgument("Paddings must be non-negative");
      if (!input.has_rank()) continue;
      WEIR_ASSIGN_OR_RETURN(int64_t size, SubtractDims(input.dim(i), before));
      WEIR_ASSIGN_OR_RETURN(size, SubtractDims(size, after));
      out.set_dim(i, size);
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status UnravelIndex(ShapeContext& ctx) {
  const PartialShape& indices = ctx.input(0);
  WEIR_ASSIGN_OR_RETURN(PartialShape dims, ctx.WithRank(1, 1));
  if (!indices.has_rank()) return OkStatus();
  const int64_t count = dims.has_rank() ? dims.dim(0) : kUnknown;
  if (indices.rank() == 0) {
    ctx.set_output(0, PartialShape({count}));
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(int64_t elements, ProductOfDims(indices, 0, indices.rank()));
  ctx.set_output(0, PartialShape({count, elements}));
  return OkStatus();
}

Status ParallelConcat(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.Attr<PartialShape>("shape"));
  if (!out.IsFullyDefined()) return InvalidArgument("shape attr must be fully defined.");
  if (out.rank() == 0) return InvalidArgument("Out of range dim_index 0 for shape with 0 dimensions");
  PartialShape row = out;
  row.set_dim(0, 1);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const PartialShape& input = ctx.input(i);
    if (!input.IsFullyDefined()) return InvalidArgument("All input shapes must be fully defined.");
    if (input.rank() == 0) {
      return InvalidArgument("The rank of all input shapes must be greater than 0, but input ", i, " had rank 0.");
    }
    if (input.dim(0) != 1) return InvalidArgument("Size of first dimension must be 1.");
    WEIR_RETURN_IF_ERROR(UnifyShapes(input, row).status());
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterArrayBlockShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("space_to_batch", OfImages<SpaceToBatchOf>);
  registry.RegisterShapeFunction("batch_to_space", OfImages<BatchToSpaceOf>);
  registry.RegisterShapeFunction("space_to_batch_nd", OfAnyRank<SpaceToBatchOf>);
  registry.RegisterShapeFunction("batch_to_space_nd", OfAnyRank<BatchToSpaceOf>);
  registry.RegisterShapeFunction("space_to_depth", SpaceToDepth);
  registry.RegisterShapeFunction("depth_to_space", DepthToSpace);
  registry.RegisterShapeFunction("matrix_diag_v2", MatrixDiag);
  registry.RegisterShapeFunction("matrix_diag_part_v2", MatrixDiagPart);
  registry.RegisterShapeFunction("mirror_pad_grad", MirrorPadGrad);
  registry.RegisterShapeFunction("unravel_index", UnravelIndex);
  registry.RegisterShapeFunction("parallel_concat", ParallelConcat);
}

}  // namespace weir
