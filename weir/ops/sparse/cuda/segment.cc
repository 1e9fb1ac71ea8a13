// SparseSegmentSum, Mean and SqrtN and their gradients on GPUs.
#include "weir/device/cpu/index_input.h"
#include "weir/device/cuda/scan.h"
#include "weir/device/cuda/segments.h"
#include "weir/device/cuda/slices.h"
#include "weir/device/cuda/sort.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/sparse/sparse_segments.h"

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/ops/sparse/cuda/segment.cu";

// Without a number of segments, it is the last id's, so the host must see that first.
class SparseSegmentKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, const char* operation) {
    auto kernel = std::make_unique<SparseSegmentKernel>();
    kernel->operation_ = operation;
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
    WEIR_RETURN_IF_ERROR(CheckSparseSegments(ctx));
    if (ctx.input(2).num_elements() > 0) return CheckSegmentIds(ctx, ctx.input(2));
    int64_t segments = 0;
    if (ctx.num_inputs() == 4) {
      WEIR_ASSIGN_OR_RETURN(segments, SparseSegmentCount(ctx, -1));
    }
    Shape shape = ctx.input(0).shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, segments));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
    return Tensor();
  }

  Status Reduce(KernelContext& ctx, const Tensor& report) const {
    const Tensor& data = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(int64_t segments, SparseSegmentCount(ctx, report.data<int64_t>()[0]));
    WEIR_RETURN_IF_ERROR(SegmentIdError(report));
    Shape shape = data.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, segments));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor begins, SegmentBegins(ctx, ctx.input(2), segments));
    return ReduceSegments(ctx, operation_, data, &ctx.input(1), begins,
                          InvalidArgument("Bad: indices out of range [0, ", data.dim(0), ")"), *out);
  }

  const char* operation_ = "";
};

// What both gradients begin with: the gradient of each row that was taken.
struct TakenRows {
  Tensor rows;       // [indices, inner], in float for 16-bit floats
  int64_t size = 0;  // rows of the dense gradient
};

StatusOr<TakenRows> TakeRows(KernelContext& ctx, std::string_view combiner) {
  const Tensor &grad = ctx.input(0), &indices = ctx.input(1), &segments = ctx.input(2);
  TakenRows taken;
  WEIR_ASSIGN_OR_RETURN(taken.size, CheckSparseSegmentGrad(ctx));
  const int64_t n = indices.num_elements(), inner = grad.shape().Slice(1, grad.rank()).num_elements();
  const bool is_short = grad.dtype() == DType::kHalf || grad.dtype() == DType::kBFloat16;
  WEIR_ASSIGN_OR_RETURN(taken.rows, ctx.AllocateTemp(is_short ? DType::kFloat : grad.dtype(), Shape({n, inner})));
  if (n == 0) return taken;
  WEIR_ASSIGN_OR_RETURN(Tensor counts, ctx.AllocateTemp(DType::kInt32, Shape({grad.dim(0)})));
  WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(counts), counts.num_bytes()));
  WEIR_ASSIGN_OR_RETURN(DeviceAddress bad_index,
                        ErrorFlag(ctx, InvalidArgument("Indices out of range [0, ", taken.size, ").")));
  WEIR_ASSIGN_OR_RETURN(DeviceAddress bad_segment,
                        ErrorFlag(ctx, InvalidArgument("Segment ids out of range [0, ", grad.dim(0), ").")));
  const std::string_view segment_type = DeviceTypeName(segments.dtype());
  WEIR_RETURN_IF_ERROR(LaunchOver(
      ctx, {kSource, Cat("CountRows<", DeviceTypeName(indices.dtype()), ", ", segment_type, ">")}, n, Address(indices),
      Address(segments), n, taken.size, grad.dim(0), Address(counts), bad_index, bad_segment));
  WEIR_RETURN_IF_ERROR(LaunchOver(
      ctx, {kSource, Cat("ScaleRows<", DeviceTypeName(grad.dtype()), ", ", segment_type, ", ", combiner, ">")},
      n * inner, Address(grad), Address(segments), Address(counts), n, grad.dim(0), inner, Address(taken.rows)));
  return taken;
}

class SparseSegmentGradKernel : public Kernel {
 public:
  explicit SparseSegmentGradKernel(const char* combiner) : combiner_(combiner) {}

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(TakenRows taken, TakeRows(ctx, combiner_));
    Shape shape = ctx.input(0).shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, taken.size));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    Tensor sums = *out;
    if (taken.rows.dtype() != out->dtype()) {
      WEIR_ASSIGN_OR_RETURN(sums, ctx.AllocateTemp(taken.rows.dtype(), shape));
    }
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(sums), sums.num_bytes()));
    SliceUpdate update;
    update.operation = "AddV2";
    update.limits = {&taken.size, 1};
    update.rows = taken.rows.dim(0);
    update.slice_size = taken.rows.dim(1);
    if (taken.size > 0) WEIR_RETURN_IF_ERROR(UpdateSlices(ctx, update, ctx.input(1), taken.rows, Address(sums)));
    return taken.rows.dtype() != out->dtype() ? ConvertElements(ctx, sums, *out) : OkStatus();
  }

 private:
  const char* const combiner_;
};

// Only the rows that some index names, and which they are: as many as the host must know.
class SparseSegmentGradV2Kernel : public AsyncKernel {
 public:
  explicit SparseSegmentGradV2Kernel(const char* combiner) : combiner_(combiner) {}

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto work = std::make_shared<Work>();
    Status status = Prepare(ctx, *work);
    if (!status.ok()) return done(status);
    if (work->taken.rows.dim(0) == 0) return done(Finish(ctx, *work, 0));
    FinishWith(ctx, work->total, std::move(done),
               [this, &ctx, work](const Tensor& total) { return Finish(ctx, *work, total.data<int32_t>()[0]); });
  }

 private:
  struct Work {
    TakenRows taken;
    SortedKeys sorted;
    Tensor numbers, total;
  };

  Status Prepare(KernelContext& ctx, Work& work) const {
    WEIR_ASSIGN_OR_RETURN(work.taken, TakeRows(ctx, combiner_));
    const Tensor& indices = ctx.input(1);
    const int64_t n = indices.num_elements();
    if (n == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("IndexKeys<", DeviceTypeName(indices.dtype()), ">")}, n,
                                    Address(indices), n, work.taken.size, Address(keys)));
    WEIR_ASSIGN_OR_RETURN(work.sorted, SortKeys(ctx, std::move(keys), BitsFor(work.taken.size)));
    WEIR_ASSIGN_OR_RETURN(work.numbers, ctx.AllocateTemp(DType::kInt32, Shape({n + 1})));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, {kSource, "MarkFirsts"}, n + 1, Address(work.sorted.keys), n, Address(work.numbers)));
    WEIR_RETURN_IF_ERROR(ExclusiveSum(ctx, work.numbers, work.numbers));
    WEIR_ASSIGN_OR_RETURN(work.total, ctx.AllocateTemp(DType::kInt32, Shape({1})));
    return CopyOnDevice(ctx, Address(work.total), Address(work.numbers) + n * sizeof(int32_t), sizeof(int32_t));
  }

  static Status Finish(KernelContext& ctx, const Work& work, int64_t count) {
    Shape shape = ctx.input(0).shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, count));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * unique, ctx.AllocateOutput(1, Shape({count})));
    if (count == 0) return OkStatus();
    const int64_t n = work.taken.rows.dim(0);
    WEIR_ASSIGN_OR_RETURN(Tensor begins, ctx.AllocateTemp(DType::kInt64, Shape({count + 1})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("WriteUnique<", DeviceTypeName(unique->dtype()), ">")}, n,
                                    Address(work.sorted.keys), Address(work.numbers), n, count, Address(*unique),
                                    Address(begins)));
    return ReduceSegments(ctx, "SegmentSum", work.taken.rows, &work.sorted.positions, begins, OkStatus(), *out);
  }

  const char* const combiner_;
};

}  // namespace

void RegisterSparseSegmentKernels(GpuRegistry& registry) {
  struct Combiner {
    const char *name, *operation, *constant;
  };
  for (const Combiner& each : {Combiner{"Sum", "SegmentSum", "kSum"},
                               {"Mean", "SegmentScaledMean", "kMean"},
                               {"SqrtN", "SegmentSqrtN", "kSqrtN"}}) {
    const std::string op = Cat("SparseSegment", each.name);
    for (const char* suffix : {"", "WithNumSegments"}) {
      registry.Add(op + suffix, [operation = each.operation](const KernelInit& init) {
        return SparseSegmentKernel::Make(init, operation);
      });
    }
    registry.Add(op + "Grad", [combiner = each.constant](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<SparseSegmentGradKernel>(combiner);
    });
    registry.Add(op + "GradV2", [combiner = each.constant](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<SparseSegmentGradV2Kernel>(combiner);
    });
  }
}

}  // namespace weir::cuda
