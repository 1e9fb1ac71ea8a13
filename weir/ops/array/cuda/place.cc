// Array operations of GPUs that compute where each element of their output comes from.
#include <algorithm>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cuda/elementwise.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/range.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/array/cuda/place.cu", std::move(name)}; }

// The type that is as wide as an element.
std::string_view WordOf(DType dtype) {
  switch (SizeOf(dtype)) {
    case 1:
      return "uint8";
    case 2:
      return "uint16";
    case 4:
      return "uint32";
    case 8:
      return "uint64";
    default:
      return "Word16";
  }
}

class OneHotKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<OneHotKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(OneHotSizes sizes, CheckOneHot(ctx, axis_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    const std::string types = Cat(WordOf(out->dtype()), ", ", DeviceTypeName(indices.dtype()), ">");
    return LaunchOver(ctx, Function(Cat("OneHot<", types)), out->num_elements(), Address(indices),
                      Address(ctx.input(2)), Address(ctx.input(3)), sizes.depth, sizes.suffix, Address(*out),
                      out->num_elements());
  }

 private:
  int64_t axis_ = -1;
};

class RangeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Status status = Unimplemented("Range of ", Name(ctx.input(0).dtype()));
    DispatchDType(ctx.input(0).dtype(), RangeTypes{},
                  [&](auto tag) { status = Run<typename decltype(tag)::type>(ctx); });
    return status;
  }

 private:
  template <typename T>
  static Status Run(KernelContext& ctx) {
    WEIR_ASSIGN_OR_RETURN(int64_t count, RangeCount<T>(ctx));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make({&count, 1}));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const std::string_view type = DeviceTypeName(out->dtype());
    return LaunchOver(ctx, Function(Cat("Range<", type, ", wide<", type, ">>")), count, Widen(ctx.input(0).scalar<T>()),
                      Widen(ctx.input(2).scalar<T>()), Address(*out), count);
  }
};

class BoundKernel : public Kernel {
 public:
  explicit BoundKernel(bool is_upper) : is_upper_(is_upper) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &sorted = ctx.input(0), &values = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckBound(sorted.shape(), values.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, values.shape()));
    const std::string types =
        Cat(DeviceTypeName(sorted.dtype()), ", ", DeviceTypeName(out->dtype()), ", ", is_upper_, ">");
    return LaunchOver(ctx, Function(Cat("FindBounds<", types)), values.num_elements(), Address(sorted), sorted.dim(1),
                      Address(values), values.dim(1), Address(*out), values.num_elements());
  }

 private:
  const bool is_upper_;
};

class BandPartKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(BandLimits limits, CheckBandPart(ctx));
    const int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1), n = x.num_elements();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    return LaunchOver(ctx, Function(Cat("BandPart<", WordOf(x.dtype()), ">")), n, Address(x), rows, columns,
                      limits.lower, limits.upper, Address(*out), n);
  }
};

// As device code declares it.
struct Mirror {
  int32_t rank = 0;
  int64_t skip = 0;
  int64_t padded[8] = {}, inner[8] = {}, before[8] = {};
};

// MirrorPad and its gradient.
class MirrorKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MirrorKernel>();
    WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("mode"));
    kernel->skip_ = mode == "REFLECT" ? 1 : 0;
    kernel->is_gradient_ = init.schema().name == "MirrorPadGrad";
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(MirrorSizes sizes,
                          is_gradient_ ? CheckMirrorPadGrad(ctx, skip_) : CheckMirrorPad(ctx, skip_));
    if (x.rank() > 8) return Unimplemented("Mirrors of more than 8 dimensions on a GPU");
    Mirror mirror{.rank = x.rank(), .skip = skip_};
    for (int d = 0; d < x.rank(); ++d) {
      mirror.padded[d] = sizes.padded.dim(d);
      mirror.inner[d] = sizes.inner.dim(d);
      mirror.before[d] = sizes.before[d];
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, is_gradient_ ? sizes.inner : sizes.padded));
    const std::string name =
        is_gradient_ ? Cat("FoldMirror<", DeviceTypeName(x.dtype()), ">") : Cat("MirrorPad<", WordOf(x.dtype()), ">");
    return LaunchOver(ctx, Function(name), out->num_elements(), mirror, Address(x), Address(*out), out->num_elements());
  }

 private:
  int64_t skip_ = 0;
  bool is_gradient_ = false;
};

// The host's kernel moves; the conjugates are taken in place.
class ConjugateTransposeKernel : public Kernel {
 public:
  ConjugateTransposeKernel(std::unique_ptr<Kernel> transpose, DType dtype)
      : transpose_(std::move(transpose)), conjugate_(Program(dtype)) {}

  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(transpose_->Compute(ctx));
    Tensor out = ctx.output(0);
    if (!IsComplex(out.dtype())) return OkStatus();
    const ElementwiseOperand operands[] = {ElementwiseOperand(out)};
    Tensor* const outputs[] = {&out};
    return conjugate_.Run(ctx, operands, out.shape(), outputs);
  }

 private:
  static ElementwiseProgram Program(DType dtype) {
    ElementwiseProgram program;
    program.inputs = {dtype};
    program.steps = {{"Conj", {0}, dtype, dtype}};
    program.outputs = {1};
    return program;
  }

  const std::unique_ptr<Kernel> transpose_;
  const ElementwiseFunction conjugate_;
};

// Passes its input on; what is not finite fails the step when it ends.
class CheckNumericsKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CheckNumericsKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->message_, init.Attr<std::string>("message"));
    kernel->is_signed_ = init.schema().name == "CheckNumericsV2";
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Tensor x = ctx.TakeInput(0);
    WEIR_ASSIGN_OR_RETURN(Tensor found, ctx.AllocateTemp(DType::kUInt32, Shape({1})));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(found), found.num_bytes()));
    struct {
      DeviceAddress words[8] = {};
    } errors;
    for (unsigned bits = 1; bits < 8; ++bits) {  // as device code numbers them
      const std::string what = DescribeNumerics((bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, is_signed_);
      WEIR_ASSIGN_OR_RETURN(errors.words[bits],
                            ErrorFlag(ctx, InvalidArgument(message_, " : Tensor had ", what, " values")));
    }
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function(Cat("FindNonFinite<", DeviceTypeName(x.dtype()), ">")),
                                    x.num_elements(), Address(x), x.num_elements(), Address(found)));
    WEIR_RETURN_IF_ERROR(Launch(ctx, Function("RaiseNonFinite"), {.grid = 1, .block = 32}, Address(found), errors));
    ctx.set_output(0, std::move(x));
    return OkStatus();
  }

 private:
  std::string message_;
  bool is_signed_ = false;
};

// The indices are in the host's memory: it finds out which row each of the output is.
class DynamicStitchKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(StitchSizes sizes, CheckStitch(ctx));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape({sizes.rows}).Concat(sizes.row));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return OkStatus();
    const int64_t inner = sizes.row.num_elements(), bytes = inner * static_cast<int64_t>(SizeOf(out->dtype()));
    std::vector<uint64_t> rows(static_cast<size_t>(sizes.rows), 0);
    const int count = ctx.num_inputs() / 2;
    for (int i = 0; i < count; ++i) {
      const DeviceAddress data = Address(ctx.input(count + i));
      for (size_t k = 0; k < sizes.indices[i].size(); ++k) {
        rows[static_cast<size_t>(sizes.indices[i][k])] = data + k * static_cast<uint64_t>(bytes);
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor addresses, Upload(ctx, rows));
    return LaunchOver(ctx, Function(Cat("CollectRows<", WordOf(out->dtype()), ">")), out->num_elements(),
                      Address(addresses), inner, Address(*out), out->num_elements());
  }
};

}  // namespace

void RegisterPlaceKernels(GpuRegistry& registry) {
  registry.Add("OneHot", MakeKernel<OneHotKernel>);
  registry.Add("Range", MakeKernel<RangeKernel>);
  for (const char* op : {"LowerBound", "UpperBound"}) {
    registry.Add(op, [](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<BoundKernel>(init.schema().name == "UpperBound");
    });
  }
  registry.Add("MatrixBandPart", MakeKernel<BandPartKernel>);
  registry.Add("BatchMatrixBandPart", MakeKernel<BandPartKernel>);
  registry.Add("MirrorPad", MakeKernel<MirrorKernel>);
  registry.Add("MirrorPadGrad", MakeKernel<MirrorKernel>);
  registry.Add("CheckNumerics", MakeKernel<CheckNumericsKernel>);
  registry.Add("CheckNumericsV2", MakeKernel<CheckNumericsKernel>);
  registry.Add("DynamicStitch", MakeKernel<DynamicStitchKernel>);
  registry.Add("ConjugateTranspose",
               [&kernels = registry.kernels()](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
                 WEIR_ASSIGN_OR_RETURN(const KernelEntry* entry, kernels.Find(init.schema().name, "CPU", init.attrs()));
                 WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> transpose, entry->factory(init));
                 return std::make_unique<ConjugateTransposeKernel>(std::move(transpose), init.input_type(0));
               });
}

}  // namespace weir::cuda
