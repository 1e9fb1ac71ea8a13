// Kernels that pass tensors on, and the sources Const and Placeholder.
#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/cheap_kernel.h"
#include "weir/ops/array/register.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

class ConstKernel : public CheapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ConstKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->value_, init.Attr<Tensor>("value"));
    if (kernel->value_.dtype() != init.output_type(0)) {
      return InvalidArgument("Type mismatch between value (", Name(kernel->value_.dtype()), ") and dtype (",
                             Name(init.output_type(0)), ")");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, value_);
    return OkStatus();
  }

 private:
  Tensor value_;
};

// A placeholder runs only if nothing was fed.
class PlaceholderKernel : public CheapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<PlaceholderKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->shape_, init.Attr<PartialShape>("shape"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    DType dtype = ctx.output_type(0);
    if (shape_.has_rank() && shape_.rank() > 0) {
      return InvalidArgument("You must feed a value for placeholder tensor '", ctx.node_name(), "' with dtype ",
                             Name(dtype), " and shape ", shape_.ToString());
    }
    return InvalidArgument("You must feed a value for placeholder tensor '", ctx.node_name(), "' with dtype ",
                           Name(dtype));
  }

 private:
  PartialShape shape_;
};

class IdentityKernel : public CheapKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.is_ref_input(i)) {
        ctx.ForwardRefInput(i, i);
      } else {
        ctx.set_output(i, ctx.TakeInput(i));
      }
    }
    return OkStatus();
  }
};

// Takes over the memory of its input, or copies.
class CopyKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Tensor x = ctx.TakeInput(0);
    if (!x.unique()) {
      WEIR_ASSIGN_OR_RETURN(x, CloneElements(ctx, x));
    }
    ctx.set_output(0, std::move(x));
    return OkStatus();
  }
};

class EnsureShapeKernel : public CheapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<EnsureShapeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->shape_, init.Attr<PartialShape>("shape"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Shape& shape = ctx.input(0).shape();
    if (!shape_.IsCompatibleWith(shape)) {
      return InvalidArgument("Shape of tensor input ", shape.ToString(), " is not compatible with expected shape ",
                             shape_.ToString(), ".");
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  PartialShape shape_;
};

}  // namespace

void RegisterIdentityKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Const"), MakeKernel<ConstKernel>);
  registry.Add(KernelBuilder("Placeholder"), MakeKernel<PlaceholderKernel>);
  registry.Add(KernelBuilder("PlaceholderV2"), MakeKernel<PlaceholderKernel>);
  for (std::string_view op : {"Identity", "IdentityN", "PlaceholderWithDefault", "StopGradient", "PreventGradient",
                              "Snapshot", "GuaranteeConst", "DebugGradientIdentity", "DebugGradientRefIdentity"}) {
    registry.Add(KernelBuilder(op), MakeKernel<IdentityKernel>);
  }
  registry.Add(KernelBuilder("DeepCopy"), MakeKernel<CopyKernel>);
  registry.Add(KernelBuilder("EnsureShape"), MakeKernel<EnsureShapeKernel>);
}

}  // namespace weir
