// Shapes as tensors.
#include <limits>

#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/cheap_kernel.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

Status WriteSize(Tensor& out, int64_t at, int64_t size, const Shape& shape) {
  if (out.dtype() == DType::kInt64) {
    out.data<int64_t>()[at] = size;
    return OkStatus();
  }
  if (size > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("Shape output type is 32-bit  but dim ", at, " is ", size, " in ", shape.ToString());
  }
  out.data<int32_t>()[at] = static_cast<int32_t>(size);
  return OkStatus();
}

std::string Brackets(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += Cat(i > 0 ? "," : "", dims[i]);
  return out + "]";
}

// Shape and ShapeN.
class ShapeKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& shape = ctx.input(i).shape();
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, Shape({shape.rank()})));
      for (int d = 0; d < shape.rank(); ++d) WEIR_RETURN_IF_ERROR(WriteSize(*out, d, shape.dim(d), shape));
    }
    return OkStatus();
  }
};

class SizeKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Shape& shape = ctx.input(0).shape();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    return WriteSize(*out, 0, shape.num_elements(), shape);
  }
};

class RankKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    *out->data<int32_t>() = ctx.input(0).rank();
    return OkStatus();
  }
};

// The shape that two shapes broadcast to, all three as vectors.
class BroadcastArgsKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    for (int i = 0; i < 2; ++i) {
      if (!ctx.input(i).shape().IsVector()) {
        return InvalidArgument("In[", i, "] must be a vector.", ctx.input(i).shape().ToString());
      }
    }
    WEIR_ASSIGN_OR_RETURN(Dims x, IntElements(a, "s0"));
    WEIR_ASSIGN_OR_RETURN(Dims y, IntElements(b, "s1"));
    Dims result(std::max(x.size(), y.size()));
    for (size_t i = 0; i < result.size(); ++i) {
      int64_t p = i < x.size() ? x[x.size() - 1 - i] : 1, q = i < y.size() ? y[y.size() - 1 - i] : 1;
      if (p != q && p != 1 && q != 1) {
        return InvalidArgument("Incompatible shapes: ", Brackets(x), " vs. ", Brackets(y));
      }
      result[result.size() - 1 - i] = p == 1 ? q : p;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(result.size())})));
    for (size_t i = 0; i < result.size(); ++i) WEIR_RETURN_IF_ERROR(WriteSize(*out, i, result[i], Shape()));
    return OkStatus();
  }
};

// Along which axes the gradient of each operand of a broadcast is summed.
class BroadcastGradientArgsKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Dims shapes[2];
    for (int i = 0; i < 2; ++i) {
      if (!ctx.input(i).shape().IsVector()) {
        return InvalidArgument("In[", i, "] must be a vector.", ctx.input(i).shape().ToString());
      }
      WEIR_ASSIGN_OR_RETURN(shapes[i], IntElements(ctx.input(i), "shape"));
    }
    const int rank = static_cast<int>(std::max(shapes[0].size(), shapes[1].size()));
    Dims axes[2];
    for (int d = 0; d < rank; ++d) {
      int64_t size[2];
      for (int i = 0; i < 2; ++i) {
        int at = d - (rank - static_cast<int>(shapes[i].size()));
        size[i] = at < 0 ? 1 : shapes[i][at];
      }
      if (size[0] != size[1] && size[0] != 1 && size[1] != 1) {
        return InvalidArgument("Incompatible shapes: ", Brackets(shapes[0]), " vs. ", Brackets(shapes[1]));
      }
      // Where both are one the sum over the axis is free, and drops a dimension that one of them may lack.
      if (size[0] == 1) axes[0].push_back(d);
      if (size[1] == 1) axes[1].push_back(d);
    }
    const bool same = shapes[0] == shapes[1];
    for (int i = 0; i < 2; ++i) {
      if (same) axes[i].clear();
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, Shape({static_cast<int64_t>(axes[i].size())})));
      for (size_t k = 0; k < axes[i].size(); ++k) WEIR_RETURN_IF_ERROR(WriteSize(*out, k, axes[i][k], Shape()));
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterShapeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Shape").Types("out_type", IndexTypes{}), MakeKernel<ShapeKernel>);
  registry.Add(KernelBuilder("ShapeN").Types("out_type", IndexTypes{}), MakeKernel<ShapeKernel>);
  registry.Add(KernelBuilder("Size").Types("out_type", IndexTypes{}), MakeKernel<SizeKernel>);
  registry.Add(KernelBuilder("Rank"), MakeKernel<RankKernel>);
  registry.Add(KernelBuilder("BroadcastArgs").Types("T", IndexTypes{}), MakeKernel<BroadcastArgsKernel>);
  registry.Add(KernelBuilder("BroadcastGradientArgs").Types("T", IndexTypes{}),
               MakeKernel<BroadcastGradientArgsKernel>);
}

}  // namespace weir
