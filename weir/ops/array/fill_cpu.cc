// Tensors of one value.
#include <cstring>

#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

class FillKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor dims = ctx.input(0), value = ctx.input(1);
    if (!(dims.shape().IsVector() || (dims.shape().IsScalar() && dims.num_elements() == 1))) {
      return InvalidArgument("dims must represent a vector, got shape ", dims.shape().ToString());
    }
    if (!value.shape().IsScalar() && !(value.shape().IsVector() && value.dim(0) == 1)) {
      return InvalidArgument("value must represent a scalar, got shape ", value.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Dims sizes, IntElements(dims, "dims"));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(sizes));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (!ctx.device().is_host()) {
      return SpreadElement(ctx, out->dtype(), value.raw_data(), out->raw_data(), out->num_elements());
    }
    char* to = static_cast<char*>(out->raw_data());
    const int64_t size = SizeOf(out->dtype());
    ctx.ParallelFor(shape.num_elements(), IsPlain(out->dtype()) ? 0.1 * size : 10, [&](int64_t begin, int64_t end) {
      FillElements(out->dtype(), value.raw_data(), to + begin * size, end - begin);
    });
    return OkStatus();
  }
};

class ZerosLikeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (x.dtype() == DType::kVariant) return ZeroVariants(ctx, x);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    if (IsPlain(out->dtype())) std::memset(out->raw_data(), 0, out->num_bytes());
    return OkStatus();
  }

 private:
  static Status ZeroVariants(KernelContext& ctx, const Tensor& x) {
    if (x.num_elements() != 1) return InvalidArgument("ZerosLike of non-unary DT_VARIANT tensor");
    const Variant& from = *x.data<Variant>();
    if (!from.has_value()) return InvalidArgument("ZerosLike of an empty variant");
    KernelArithmetic arithmetic(ctx);
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariantValue> zero, from.get()->ZerosLike(arithmetic));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    *out->data<Variant>() = Variant(std::move(zero));
    return OkStatus();
  }
};

class OnesLikeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(out->dtype(), NumberTypes{} + TypeList<bool>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T one(1);
      FillElements(out->dtype(), &one, out->raw_data(), out->num_elements());
    });
    return OkStatus();
  }
};

class EmptyKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<EmptyKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->init_, init.Attr<bool>("init"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    if (!ctx.input(0).shape().IsVector()) {
      return InvalidArgument("shape must be a vector of int32, got shape ", ctx.input(0).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(0), "shape"));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return init_ ? ClearElements(ctx, *out) : OkStatus();
  }

 private:
  bool init_ = false;
};

}  // namespace

void RegisterFillKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Fill").Types("index_type", IndexTypes{}), MakeKernel<FillKernel>);
  registry.Add(KernelBuilder("ZerosLike"), MakeKernel<ZerosLikeKernel>);
  registry.Add(KernelBuilder("OnesLike").Types("T", NumberTypes{} + TypeList<bool>{}), MakeKernel<OnesLikeKernel>);
  registry.Add(KernelBuilder("Empty"), MakeKernel<EmptyKernel>);
}

}  // namespace weir
