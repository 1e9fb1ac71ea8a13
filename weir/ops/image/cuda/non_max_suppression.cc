// NonMaxSuppression on GPUs: the host reads back how many boxes stay.
#include "weir/ops/image/non_max_suppression.h"

#include <algorithm>

#include "weir/device/cuda/sort.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/image/cuda/non_max_suppression.cu", std::move(name)}; }

class NonMaxSuppressionKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<NonMaxSuppressionKernel>();
    if (init.HasAttr("pad_to_max_output_size")) {
      WEIR_ASSIGN_OR_RETURN(kernel->pad_, init.Attr<bool>("pad_to_max_output_size"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto work = std::make_shared<Work>();
    const Status status = Select(ctx, *work);
    if (!status.ok()) return done(status);
    if (pad_) return done(Put(ctx, *work, work->max_output));
    FinishWith(ctx, work->count, std::move(done),
               [this, &ctx, work](const Tensor& host) { return Put(ctx, *work, host.scalar<int32_t>()); });
  }

 private:
  struct Work {
    Tensor selected, count;
    int64_t max_output = 0;
  };

  static Status Select(KernelContext& ctx, Work& work) {
    const Tensor &boxes = ctx.input(0), &scores = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(SuppressionLimits limits, ReadSuppressionLimits(ctx, /*by_matrix=*/false, 0.5f));
    WEIR_RETURN_IF_ERROR(CheckSuppression(boxes.shape(), scores.shape(), /*by_matrix=*/false));
    const int64_t n = scores.num_elements();
    work.max_output = limits.max_output;
    WEIR_ASSIGN_OR_RETURN(work.selected,
                          ctx.AllocateTemp(DType::kInt32, Shape({std::min<int64_t>(n, limits.max_output)})));
    WEIR_ASSIGN_OR_RETURN(work.count, ctx.AllocateTemp(DType::kInt32, Shape()));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(work.selected), work.selected.num_bytes()));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(work.count), work.count.num_bytes()));
    if (work.selected.num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("ScoreKeys"), n, Address(scores), n, limits.score, Address(keys)));
    WEIR_ASSIGN_OR_RETURN(SortedKeys sorted, SortKeys(ctx, std::move(keys), 32));
    WEIR_ASSIGN_OR_RETURN(Tensor marks, ctx.AllocateTemp(DType::kUInt8, Shape({n})));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(marks), marks.num_bytes()));
    return Launch(ctx, Function("SelectBoxes"), {.grid = 1, .block = 1024}, Address(boxes), Address(sorted.keys),
                  Address(sorted.positions), n, limits.overlap, limits.max_output, Address(marks),
                  Address(work.selected), Address(work.count));
  }

  Status Put(KernelContext& ctx, const Work& work, int64_t size) const {
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({size})));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
    const size_t bytes = std::min(out->num_bytes(), work.selected.num_bytes());
    if (bytes > 0) WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(*out), Address(work.selected), bytes));
    if (ctx.num_outputs() > 1) ctx.set_output(1, work.count);
    return OkStatus();
  }

  bool pad_ = false;
};

}  // namespace

void RegisterNonMaxSuppressionKernels(GpuRegistry& registry) {
  for (const char* op : {"NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4"}) {
    registry.Add(op, MakeKernel<NonMaxSuppressionKernel>);
  }
}

}  // namespace weir::cuda
