// SegmentSum and UnsortedSegmentSum and their like on GPUs.
#include "weir/ops/math/segment.h"

#include <limits>

#include "weir/device/cpu/strided_copy.h"
#include "weir/device/cuda/segments.h"
#include "weir/device/cuda/slices.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

// The number of segments is the last id's, so the host must see that first.
class SegmentKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SegmentKernel>();
    kernel->operation_ = init.schema().name;
    return kernel;
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    StatusOr<Tensor> report = Prepare(ctx);
    if (!report.ok()) return done(report.status());
    if (!report->has_value()) return done(OkStatus());
    FinishWith(ctx, *report, std::move(done), [this, &ctx](const Tensor& host) { return Reduce(ctx, host); });
  }

 private:
  // No value: there is nothing to do.
  static StatusOr<Tensor> Prepare(KernelContext& ctx) {
    WEIR_RETURN_IF_ERROR(CheckSegments(ctx.input(0).shape(), ctx.input(1).shape()));
    if (ctx.input(1).num_elements() > 0) return CheckSegmentIds(ctx, ctx.input(1));
    Shape shape = ctx.input(0).shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, 0));
    WEIR_RETURN_IF_ERROR(ctx.AllocateOutput(0, shape).status());
    return Tensor();
  }

  Status Reduce(KernelContext& ctx, const Tensor& report) const {
    WEIR_RETURN_IF_ERROR(SegmentIdError(report));
    const int64_t last = report.data<int64_t>()[0];
    if (last == std::numeric_limits<int64_t>::max()) return InvalidArgument("segment ids are too large");
    Shape shape = ctx.input(0).shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, last + 1));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor begins, SegmentBegins(ctx, ctx.input(1), last + 1));
    return ReduceSegments(ctx, operation_, ctx.input(0), nullptr, begins, OkStatus(), *out);
  }

  std::string operation_;
};

class UnsortedSegmentKernel : public Kernel {
 public:
  enum class Start { kZero, kOne, kLowest, kHighest };
  UnsortedSegmentKernel(const char* operation, Start start) : operation_(operation), start_(start) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &data = ctx.input(0), &ids = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(UnsortedSegments sizes, CheckUnsortedSegments(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    if (out->num_elements() == 0) return OkStatus();
    // 16-bit floats are summed in float.
    const bool is_short = data.dtype() == DType::kHalf || data.dtype() == DType::kBFloat16;
    Tensor sums = *out;
    if (is_short) {
      WEIR_ASSIGN_OR_RETURN(sums, ctx.AllocateTemp(DType::kFloat, sizes.shape));
    }
    WEIR_RETURN_IF_ERROR(FillStart(ctx, data.dtype(), sums));
    SliceUpdate update;
    update.operation = operation_;
    update.limits = {&sizes.count, 1};
    update.rows = ids.num_elements();
    update.slice_size = sizes.inner;
    update.skips_negative = true;
    update.bad_index =
        InvalidArgument("segment_ids of ", ctx.node_name(), " are not all in range [0, ", sizes.count, ")");
    if (is_short) update.target = DType::kFloat;
    WEIR_RETURN_IF_ERROR(UpdateSlices(ctx, update, ids, data, Address(sums)));
    return is_short ? ConvertElements(ctx, sums, *out) : OkStatus();
  }

 private:
  template <typename T>
  T ValueOf(T lowest, T highest) const {
    return start_ == Start::kLowest ? lowest : start_ == Start::kHighest ? highest : T(start_ == Start::kOne ? 1 : 0);
  }
  // An empty segment of UnsortedSegmentMax is the lowest finite value.
  Status FillStart(KernelContext& ctx, DType dtype, Tensor& sums) const {
    if (start_ == Start::kZero) return ClearElements(ctx, sums);
    auto fill = [&](auto value) {
      return FillElements(ctx, sums.dtype(), &value, sums.raw_data(), sums.num_elements());
    };
    switch (dtype) {
      case DType::kHalf:
        return fill(ValueOf(-65504.0f, 65504.0f));
      case DType::kBFloat16: {
        constexpr float kMost = 3.38953139e38f;
        return fill(ValueOf(-kMost, kMost));
      }
      case DType::kFloat:
        return fill(ValueOf(std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()));
      case DType::kDouble:
        return fill(ValueOf(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()));
      case DType::kInt32:
        return fill(ValueOf(std::numeric_limits<int32_t>::lowest(), std::numeric_limits<int32_t>::max()));
      default:
        return Unimplemented("Segments of ", Name(dtype));
    }
  }

  const char* const operation_;
  const Start start_;
};

KernelFactory Unsorted(const char* operation, UnsortedSegmentKernel::Start start) {
  return [operation, start](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
    return std::make_unique<UnsortedSegmentKernel>(operation, start);
  };
}

}  // namespace

void RegisterSegmentKernels(GpuRegistry& registry) {
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    registry.Add(op, MakeKernel<SegmentKernel>);
  }
  using Start = UnsortedSegmentKernel::Start;
  registry.Add("UnsortedSegmentSum", Unsorted("AddV2", Start::kZero));
  registry.Add("UnsortedSegmentProd", Unsorted("Mul", Start::kOne));
  registry.Add("UnsortedSegmentMax", Unsorted("Maximum", Start::kLowest));
  registry.Add("UnsortedSegmentMin", Unsorted("Minimum", Start::kHighest));
}

}  // namespace weir::cuda
