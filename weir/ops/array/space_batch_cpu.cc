// Moving blocks of space into the batch or depth dimension and back.
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

struct Blocks {
  Dims sizes;          // one a space dimension
  Dims before, after;  // paddings or crops
};

// The block sizes and the paddings: inputs of the ND ops, an attribute and an input of the old ones.
StatusOr<Blocks> ReadBlocks(KernelContext& ctx, int64_t block_size, std::string_view what) {
  Blocks blocks;
  const Tensor& borders = ctx.input(block_size > 0 ? 1 : 2);
  if (block_size > 0) {
    blocks.sizes = {block_size, block_size};
    if (ctx.input(0).rank() != 4) return InvalidArgument("input rank should be 4 instead of ", ctx.input(0).rank());
  } else {
    if (!ctx.input(1).shape().IsVector()) {
      return InvalidArgument("block_shape rank should be 1 instead of ", ctx.input(1).rank());
    }
    WEIR_ASSIGN_OR_RETURN(blocks.sizes, IntElements(ctx.input(1), "block_shape"));
  }
  const int64_t count = static_cast<int64_t>(blocks.sizes.size());
  if (ctx.input(0).rank() < 1 + count) {
    return InvalidArgument("input rank should be >= ", 1 + count, " instead of ", ctx.input(0).rank());
  }
  if (!(borders.shape() == Shape({count, 2}))) {
    return InvalidArgument(what, " should have shape [", count, ", 2] instead of ", borders.shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Dims values, IntElements(borders, what));
  for (int64_t i = 0; i < count; ++i) {
    if (blocks.sizes[i] < 1) return InvalidArgument("block_shape[", i, "]=", blocks.sizes[i], " must be positive");
    if (values[2 * i] < 0 || values[2 * i + 1] < 0) return InvalidArgument(what, " must be non-negative");
    blocks.before.push_back(values[2 * i]);
    blocks.after.push_back(values[2 * i + 1]);
  }
  return blocks;
}

class SpaceBatchKernel : public Kernel {
 public:
  template <typename K>
  static StatusOr<std::unique_ptr<Kernel>> MakeBlocked(const KernelInit& init) {
    auto kernel = std::make_unique<K>();
    if (init.HasAttr("block_size")) {
      WEIR_ASSIGN_OR_RETURN(kernel->block_size_, init.Attr<int64_t>("block_size"));
      if (kernel->block_size_ <= 1) return InvalidArgument("Block size should be > 1: ", kernel->block_size_);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  int64_t block_size_ = 0;  // 0: an input says it
};

class SpaceToBatchKernel : public SpaceBatchKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    return MakeBlocked<SpaceToBatchKernel>(init);
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Blocks blocks, ReadBlocks(ctx, block_size_, "paddings"));
    const int count = static_cast<int>(blocks.sizes.size());
    Dims padded(x.shape().dims().begin(), x.shape().dims().end());
    int64_t product = 1;
    for (int i = 0; i < count; ++i) {
      auto size = CheckedAdd(padded[1 + i], blocks.before[i]);
      if (size) size = CheckedAdd(*size, blocks.after[i]);
      if (!size) return InvalidArgument("paddings are too large");
      padded[1 + i] = *size;
      if (*size % blocks.sizes[i] != 0) {
        return InvalidArgument("padded_shape[", i, "]=", *size, " is not divisible by block_shape[", i,
                               "]=", blocks.sizes[i]);
      }
      auto next = CheckedMultiply(product, blocks.sizes[i]);
      if (!next) return InvalidArgument("block sizes are too large");
      product = *next;
    }
    Dims result = padded;
    auto batch = CheckedMultiply(padded[0], product);
    if (!batch) return InvalidArgument("the batch is too large");
    result[0] = *batch;
    for (int i = 0; i < count; ++i) result[1 + i] /= blocks.sizes[i];
    WEIR_ASSIGN_OR_RETURN(Shape padded_shape, Shape::Make(padded));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(result));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor temp, ctx.AllocateTemp(x.dtype(), padded_shape));
    WEIR_RETURN_IF_ERROR(ClearElements(ctx, temp));
    const Dims strides = DenseStrides(padded);
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) offset += blocks.before[i] * strides[1 + i];
    const int64_t size = static_cast<int64_t>(SizeOf(x.dtype()));
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), x.shape().dims(), x.raw_data(), DenseStrides(x.shape().dims()),
                                     static_cast<char*>(temp.raw_data()) + offset * size, strides));
    // [blocks..., batch, space / blocks..., rest] read from the padded tensor.
    Dims dims, from;
    for (int i = 0; i < count; ++i) {
      dims.push_back(blocks.sizes[i]);
      from.push_back(strides[1 + i]);
    }
    dims.push_back(padded[0]);
    from.push_back(strides[0]);
    for (int i = 0; i < count; ++i) {
      dims.push_back(result[1 + i]);
      from.push_back(strides[1 + i] * blocks.sizes[i]);
    }
    for (int d = 1 + count; d < x.rank(); ++d) {
      dims.push_back(padded[d]);
      from.push_back(strides[d]);
    }
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, temp.raw_data(), from, out->raw_data(), DenseStrides(dims)));
    return OkStatus();
  }
};

class BatchToSpaceKernel : public SpaceBatchKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    return MakeBlocked<BatchToSpaceKernel>(init);
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Blocks blocks, ReadBlocks(ctx, block_size_, "crops"));
    const int count = static_cast<int>(blocks.sizes.size());
    int64_t product = 1;
    for (int64_t size : blocks.sizes) {
      auto next = CheckedMultiply(product, size);
      if (!next) return InvalidArgument("block sizes are too large");
      product = *next;
    }
    if (x.dim(0) % product != 0) {
      return InvalidArgument("Input batch dimension (", x.dim(0), ") is not divisible by product of block sizes (",
                             product, ")");
    }
    Dims whole(x.shape().dims().begin(), x.shape().dims().end()), result;
    whole[0] /= product;
    for (int i = 0; i < count; ++i) {
      auto size = CheckedMultiply(whole[1 + i], blocks.sizes[i]);
      if (!size) return InvalidArgument("block sizes are too large");
      whole[1 + i] = *size;
    }
    result = whole;
    for (int i = 0; i < count; ++i) {
      result[1 + i] -= blocks.before[i];
      result[1 + i] -= std::min(blocks.after[i], whole[1 + i] + 1);
      if (result[1 + i] < 0) {
        return InvalidArgument("cropped_shape[", i, "]=", result[1 + i], " must be non-negative");
      }
    }
    WEIR_ASSIGN_OR_RETURN(Shape whole_shape, Shape::Make(whole));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(result));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor temp, ctx.AllocateTemp(x.dtype(), whole_shape));
    // The input is [blocks..., batch, space...]; write it as [batch, space x blocks, ...].
    const Dims strides = DenseStrides(whole);
    Dims dims, to;
    for (int i = 0; i < count; ++i) {
      dims.push_back(blocks.sizes[i]);
      to.push_back(strides[1 + i]);
    }
    dims.push_back(whole[0]);
    to.push_back(strides[0]);
    for (int d = 1; d < x.rank(); ++d) {
      dims.push_back(x.dim(d));
      to.push_back(d <= count ? strides[d] * blocks.sizes[d - 1] : strides[d]);
    }
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, x.raw_data(), DenseStrides(dims), temp.raw_data(), to));
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) offset += blocks.before[i] * strides[1 + i];
    WEIR_RETURN_IF_ERROR(StridedCopy(
        ctx, x.dtype(), result,
        static_cast<const char*>(std::as_const(temp).raw_data()) + offset * static_cast<int64_t>(SizeOf(x.dtype())),
        strides, out->raw_data(), DenseStrides(result)));
    return OkStatus();
  }
};

// DepthToSpace and SpaceToDepth of NHWC images.
class DepthSpaceKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DepthSpaceKernel>();
    kernel->to_space_ = init.schema().name == "DepthToSpace";
    WEIR_ASSIGN_OR_RETURN(kernel->block_, init.Attr<int64_t>("block_size"));
    if (kernel->block_ <= 1) return InvalidArgument("Block size should be > 1, but was: ", kernel->block_);
    WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
    if (format != "NHWC") return InvalidArgument("Only NHWC data_format supported on CPU. Got ", format);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (x.rank() != 4) return InvalidArgument("Input rank should be: 4 instead of: ", x.rank());
    const int64_t n = x.dim(0), height = x.dim(1), width = x.dim(2), depth = x.dim(3);
    auto square = CheckedMultiply(block_, block_);
    if (!square) return InvalidArgument("Block size is too large: ", block_);
    if (to_space_) {
      if (depth % *square != 0) {
        return InvalidArgument("Input depth dimension ", depth, " should be divisible by: ", *square);
      }
      const int64_t rest = depth / *square;
      WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(Dims{n, height * block_, width * block_, rest}));
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
      const int64_t dims[] = {n * height, block_, width, block_ * rest};
      const int64_t from[] = {width * depth, block_ * rest, depth, 1};
      WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, x.raw_data(), from, out->raw_data(), DenseStrides(dims)));
    } else {
      if (height % block_ != 0 || width % block_ != 0) {
        return InvalidArgument("Image width ", width, " and height ", height,
                               " should be divisible by block_size: ", block_);
      }
      WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(Dims{n, height / block_, width / block_, depth * *square}));
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
      const int64_t dims[] = {n * (height / block_), width / block_, block_, block_ * depth};
      const int64_t from[] = {block_ * width * depth, block_ * depth, width * depth, 1};
      WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, x.raw_data(), from, out->raw_data(), DenseStrides(dims)));
    }
    return OkStatus();
  }

 private:
  bool to_space_ = false;
  int64_t block_ = 0;
};

}  // namespace

void RegisterSpaceBatchKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SpaceToBatch").Types("T", PlainTypes{}), MakeKernel<SpaceToBatchKernel>);
  registry.Add(KernelBuilder("SpaceToBatchND").Types("T", PlainTypes{}), MakeKernel<SpaceToBatchKernel>);
  registry.Add(KernelBuilder("BatchToSpace").Types("T", PlainTypes{}), MakeKernel<BatchToSpaceKernel>);
  registry.Add(KernelBuilder("BatchToSpaceND").Types("T", PlainTypes{}), MakeKernel<BatchToSpaceKernel>);
  registry.Add(KernelBuilder("DepthToSpace"), MakeKernel<DepthSpaceKernel>);
  registry.Add(KernelBuilder("SpaceToDepth"), MakeKernel<DepthSpaceKernel>);
}

}  // namespace weir
