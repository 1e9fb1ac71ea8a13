// _FusedConv2D and _FusedMatMul on GPUs: what the libraries take along they do; a kernel of our own does the rest.
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/elementwise.h"
#include "weir/framework/fused_nodes.h"
#include "weir/ops/nn/convolution.h"
#include "weir/ops/nn/cuda/convolution.h"
#include "weir/ops/nn/cuda/register.h"
#include "weir/ops/nn/fused_ops.h"

namespace weir::cuda {
namespace {

constexpr char kFinishSource[] = "weir/ops/nn/cuda/bias.cu";

DType WideType(DType dtype) { return dtype == DType::kDouble ? DType::kDouble : DType::kFloat; }

// What is done to a result of shape `shape`, whose dimension `axis` is the channels.
class Finish {
 public:
  static StatusOr<Finish> Make(KernelContext& ctx, const nn::FusedOps& fused, const Shape& shape, int axis) {
    WEIR_RETURN_IF_ERROR(fused.CheckVectors(ctx, shape, axis));
    Finish finish(fused, shape, axis);
    if (!fused.has_norm) {
      finish.bias = Address(ctx.input(2));
      return finish;
    }
    const DType wide = WideType(ctx.output_type(0));
    WEIR_ASSIGN_OR_RETURN(finish.norm_, ctx.AllocateTemp(wide, Shape({2, shape.dim(axis)})));
    finish.scale = Address(finish.norm_);
    finish.shift = finish.scale + finish.norm_.num_bytes() / 2;
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kFinishSource, Cat("NormAsScale<", DeviceTypeName(wide), ">")},
                                    shape.dim(axis), Address(ctx.input(2)), Address(ctx.input(3)),
                                    Address(ctx.input(4)), Address(ctx.input(5)), finish.scale, finish.shift,
                                    shape.dim(axis), fused.epsilon));
    return finish;
  }

  Status Run(KernelContext& ctx, DType dtype, DeviceAddress x, DeviceAddress out, bool activate) const {
    const std::string activation = !activate || fused_.activation.empty() ? "Identity" : fused_.activation;
    const int64_t inner = shape_.Slice(axis_ + 1, shape_.rank()).num_elements();
    return LaunchOver(
        ctx,
        {kFinishSource, Cat("FinishContraction<", DeviceTypeName(dtype), ", Fused", activation, ", ", inner == 1, ">")},
        shape_.num_elements(), x, scale, shift, bias, addend, out, shape_.Slice(0, axis_).num_elements(),
        shape_.dim(axis_), inner, fused_.alpha);
  }
  bool IsNothing(bool activate) const {
    return scale == 0 && bias == 0 && addend == 0 && (!activate || fused_.activation.empty());
  }

  DeviceAddress scale = 0, shift = 0, bias = 0, addend = 0;

 private:
  Finish(const nn::FusedOps& fused, const Shape& shape, int axis) : fused_(fused), shape_(shape), axis_(axis) {}

  const nn::FusedOps& fused_;
  const Shape shape_;
  const int axis_;
  Tensor norm_;  // scale and shift
};

// What a library may take along.
struct Offer {
  DeviceAddress bias = 0, addend = 0;
  bool relu = false;
};

// `contract(offer, to)` enqueues the contraction of inputs 0 and 1 and what is offered; it returns false if it cannot
// take that along, and always does without. `Contract`: StatusOr<bool>(const Offer&, DeviceAddress).
template <typename Contract>
Status RunFusedOnGpu(KernelContext& ctx, const nn::FusedOps& fused, const Shape& shape, int axis, Contract contract) {
  StatusOr<Finish> made = Finish::Make(ctx, fused, shape, axis);
  if (!made.ok()) return OfFusedNode(made.status(), 1);
  Finish finish = *std::move(made);
  const DType dtype = ctx.output_type(0);
  const int last = ctx.num_inputs() - 1;
  const bool broadcasts = fused.has_addend && ctx.input(last).shape() != shape;
  if (fused.has_addend && !broadcasts) finish.addend = Address(ctx.input(last));
  Tensor part;
  DeviceAddress to = 0;
  if (broadcasts) {
    WEIR_ASSIGN_OR_RETURN(part, ctx.AllocateTemp(dtype, shape));
    to = Address(part);
  } else {
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    to = Address(*out);
  }
  if (shape.num_elements() > 0) {
    bool is_done = false;
    const Offer offer{finish.bias, finish.addend, fused.activation == "Relu" && !broadcasts};
    if (finish.scale == 0) {
      WEIR_ASSIGN_OR_RETURN(is_done, contract(offer, to));
    }
    if (is_done) {
      finish.bias = finish.addend = 0;
    } else {
      WEIR_RETURN_IF_ERROR(contract(Offer{}, to).status());
    }
    const bool activate = !broadcasts && !(is_done && offer.relu);
    if (!finish.IsNothing(activate)) WEIR_RETURN_IF_ERROR(finish.Run(ctx, dtype, to, to, activate));
  }
  if (!broadcasts) return OkStatus();
  StatusOr<Shape> sum = BroadcastShape(shape, ctx.input(last).shape());
  if (!sum.ok()) return OfFusedNode(sum.status(), 2);
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, *sum));
  const ElementwiseFunction add(
      {.inputs = {dtype, dtype},
       .steps = {{.operation = "AddV2", .operands = {0, 1}, .compute = dtype, .result = dtype}},
       .outputs = {2}});
  const ElementwiseOperand operands[] = {ElementwiseOperand(part), ElementwiseOperand(ctx.input(last))};
  Tensor* const outputs[] = {out};
  WEIR_RETURN_IF_ERROR(add.Run(ctx, operands, *sum, outputs));
  if (fused.activation.empty() || out->num_elements() == 0) return OkStatus();
  return LaunchOver(
      ctx, {kFinishSource, Cat("FinishContraction<", DeviceTypeName(dtype), ", Fused", fused.activation, ", true>")},
      out->num_elements(), Address(*out), DeviceAddress{0}, DeviceAddress{0}, DeviceAddress{0}, DeviceAddress{0},
      Address(*out), out->num_elements(), int64_t{1}, int64_t{1}, fused.alpha);
}

class GpuFusedConv2DKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuFusedConv2DKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->window_, nn::ReadWindow2D(init, /*is_pool=*/false));
    WEIR_ASSIGN_OR_RETURN(std::string filter_format, init.Attr<std::string>("filter_format"));
    if (filter_format != "HWIO") return Unimplemented("_FusedConv2D only supports filters in the HWIO format");
    WEIR_ASSIGN_OR_RETURN(kernel->fused_, nn::FusedOps::Read(init, /*allows_norm=*/true));
    const int norm = kernel->fused_.has_norm ? 4 : 0;
    for (int i = 2; i < init.num_inputs(); ++i) {
      const DType expected = i < 2 + norm ? WideType(init.input_type(0)) : init.input_type(0);
      if (init.input_type(i) != expected) {
        return Unimplemented("_FusedConv2D of ", Name(init.input_type(0)), " with an argument of ",
                             Name(init.input_type(i)));
      }
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1);
    const bool second = window_.channels_second;
    Shape image = input.shape();
    if (second && image.rank() == 4) image = Shape({image.dim(0), image.dim(2), image.dim(3), image.dim(1)});
    StatusOr<nn::ConvGeometry> geometry = nn::MakeConvGeometry(window_, image, filter.shape());
    if (!geometry.ok()) return OfFusedNode(geometry.status(), 0);
    const nn::ConvGeometry& g = *geometry;
    WEIR_ASSIGN_OR_RETURN(Shape shape, g.OutputShape());
    if (second) shape = Shape({shape.dim(0), shape.dim(3), shape.dim(1), shape.dim(2)});
    ImageConvolution c;
    c.batch = g.batch;
    c.in_channels = g.in_channels;
    c.out_channels = g.out_channels;
    c.group_in = g.group_in;
    c.groups = g.groups;
    c.axes = {g.h, g.w, {}};
    c.channels_second = second;
    return RunFusedOnGpu(ctx, fused_, shape, second ? 1 : 3,
                         [&](const Offer& offer, DeviceAddress to) -> StatusOr<bool> {
                           if (input.num_elements() == 0 || filter.num_elements() == 0) {
                             if (offer.bias != 0 || offer.addend != 0 || offer.relu) return false;
                             WEIR_RETURN_IF_ERROR(FillZero(ctx, to, shape.num_elements() * SizeOf(input.dtype())));
                             return true;
                           }
                           return ConvolveOnGpu(ctx, c, input.dtype(), Address(input), Address(filter), to,
                                                {.bias = offer.bias, .addend = offer.addend, .relu = offer.relu});
                         });
  }

 private:
  nn::Window2D window_;
  nn::FusedOps fused_;
};

class GpuFusedMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuFusedMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_a_, init.Attr<bool>("transpose_a"));
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_b_, init.Attr<bool>("transpose_b"));
    WEIR_ASSIGN_OR_RETURN(kernel->fused_, nn::FusedOps::Read(init, /*allows_norm=*/false));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    const Status status = nn::CheckFusedMatMul(a.shape(), b.shape(), transpose_a_, transpose_b_);
    if (!status.ok()) return OfFusedNode(status, 0);
    MatrixProduct product{.dtype = a.dtype(),
                          .m = a.dim(transpose_a_),
                          .n = b.dim(!transpose_b_),
                          .k = a.dim(!transpose_a_),
                          .transpose_a = transpose_a_,
                          .transpose_b = transpose_b_};
    const int64_t dims[] = {product.m, product.n};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    return RunFusedOnGpu(ctx, fused_, shape, 1, [&](const Offer& offer, DeviceAddress to) -> StatusOr<bool> {
      const bool is_plain = offer.bias == 0 && offer.addend == 0 && !offer.relu;
      if (product.k == 0) {
        if (!is_plain) return false;
        WEIR_RETURN_IF_ERROR(FillZero(ctx, to, shape.num_elements() * SizeOf(product.dtype)));
        return true;
      }
      product.bias = offer.bias;
      product.activation = offer.relu ? MatrixProduct::Activation::kRelu : MatrixProduct::Activation::kNone;
      if (offer.addend != 0) {
        // The sum is made in the output's memory.
        WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, to, offer.addend, shape.num_elements() * SizeOf(product.dtype)));
        product.beta = 1;
      }
      const Status done = Multiply(ctx, product, Address(a), Address(b), to);
      product.beta = 0;
      if (!is_plain && done.code() == absl::StatusCode::kUnimplemented) return false;
      WEIR_RETURN_IF_ERROR(done);
      return true;
    });
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
  nn::FusedOps fused_;
};

}  // namespace

void RegisterFusedContractionKernels(GpuRegistry& registry) {
  registry.Add("_FusedConv2D", MakeKernel<GpuFusedConv2DKernel>, "T", {DType::kHalf, DType::kFloat, DType::kDouble});
  registry.kernels().Add(OnGpu("_FusedConv2DOfBFloat16").Types("T", {DType::kBFloat16}),
                         MakeKernel<GpuFusedConv2DKernel>);
  registry.Add("_FusedMatMul", MakeKernel<GpuFusedMatMulKernel>);
}

}  // namespace weir::cuda
