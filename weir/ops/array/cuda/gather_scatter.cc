// Slices picked and written by index on GPUs: Gather, ScatterNd and their kin.
#include <string_view>

#include "weir/device/cpu/strided_copy.h"
#include "weir/device/cuda/slices.h"
#include "weir/ops/array/gather.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/scatter.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

class GatherKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GatherKernel>();
    if (init.HasAttr("batch_dims")) {
      WEIR_ASSIGN_OR_RETURN(kernel->batch_dims_, init.Attr<int64_t>("batch_dims"));
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(GatherPlan plan, PlanGather(ctx, batch_dims_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, plan.shape));
    return GatherRows(ctx, {plan.batches, plan.outer, plan.limit, plan.inner, plan.count}, ctx.input(0), ctx.input(1),
                      InvalidArgument("indices of ", ctx.node_name(), " are not all in [0, ", plan.limit, ")"), *out);
  }

 private:
  int64_t batch_dims_ = 0;
};

class GatherNdKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GatherNdKernel>();
    if (init.HasAttr("bad_indices_policy")) {
      WEIR_ASSIGN_OR_RETURN(std::string policy, init.Attr<std::string>("bad_indices_policy"));
      kernel->ignores_bad_ = policy == "IGNORE";
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &params = ctx.input(0), &indices = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Shape shape, GatherNdShape(params.shape(), indices.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    Status bad;
    if (!ignores_bad_) {
      bad = InvalidArgument("indices do not all index into param shape ", params.shape().ToString(),
                            ", node name: ", ctx.node_name());
    }
    return GatherSlices(ctx, params, indices, bad, *out);
  }

 private:
  bool ignores_bad_ = false;
};

// `target` [shape] updated by `indices` [..., depth] and `updates`.
Status UpdateNd(KernelContext& ctx, std::string_view operation, const Tensor& indices, const Tensor& updates,
                bool ignores_bad, const Tensor& target) {
  if (target.num_elements() == 0 || indices.num_elements() == 0) return OkStatus();
  SliceUpdate update;
  const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
  update.operation = operation;
  update.limits = target.shape().dims().subspan(0, depth);
  update.rows = indices.num_elements() / depth;
  update.slice_size = target.shape().Slice(depth, target.rank()).num_elements();
  if (!ignores_bad) {
    update.bad_index =
        InvalidArgument("indices of ", ctx.node_name(), " do not all index into shape ", target.shape().ToString());
  }
  return UpdateSlices(ctx, update, indices, updates, Address(target));
}

class ScatterNdKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ScatterNdKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->ignores_bad_, IgnoresBadIndices(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ScatterNdShape(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(ClearElements(ctx, *out));
    return UpdateNd(ctx, "AddV2", ctx.input(0), ctx.input(1), ignores_bad_, *out);
  }

 private:
  bool ignores_bad_ = false;
};

class TensorScatterKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, const char* operation) {
    auto kernel = std::make_unique<TensorScatterKernel>();
    kernel->operation_ = operation;
    WEIR_ASSIGN_OR_RETURN(kernel->ignores_bad_, IgnoresBadIndices(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(1), updates = ctx.input(2);
    WEIR_RETURN_IF_ERROR(CheckTensorScatter(ctx.input(0).shape(), indices, updates));
    Tensor target = ctx.TakeInput(0);
    if (!target.unique()) {
      WEIR_ASSIGN_OR_RETURN(target, CloneElements(ctx, target));
    }
    WEIR_RETURN_IF_ERROR(UpdateNd(ctx, operation_, indices, updates, ignores_bad_, target));
    ctx.set_output(0, std::move(target));
    return OkStatus();
  }

 private:
  const char* operation_ = "";
  bool ignores_bad_ = false;
};

// InplaceUpdate, InplaceAdd, InplaceSub: rows whose numbers wrap around.
class InplaceKernel : public Kernel {
 public:
  explicit InplaceKernel(const char* operation) : operation_(operation) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor i = ctx.input(1), v = ctx.input(2);
    WEIR_RETURN_IF_ERROR(CheckInplace(ctx.input(0).shape(), i.shape(), v.shape()));
    Tensor x = ctx.TakeInput(0);
    if (!x.unique()) {
      WEIR_ASSIGN_OR_RETURN(x, CloneElements(ctx, x));
    }
    if (x.num_elements() > 0 && i.num_elements() > 0) {
      const int64_t n = i.num_elements(), limit = x.dim(0);
      WEIR_ASSIGN_OR_RETURN(Tensor rows, ctx.AllocateTemp(DType::kInt64, Shape({n, 1})));
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {"weir/device/cuda/device_code/slices.cuh", "WrapRows"}, n, Address(i), n,
                                      limit, Address(rows)));
      WEIR_RETURN_IF_ERROR(UpdateNd(ctx, operation_, rows, v, /*ignores_bad=*/false, x));
    }
    ctx.set_output(0, std::move(x));
    return OkStatus();
  }

 private:
  const char* const operation_;
};

}  // namespace

void RegisterGatherScatterKernels(GpuRegistry& registry) {
  registry.Add("Gather", MakeKernel<GatherKernel>);
  registry.Add("GatherV2", MakeKernel<GatherKernel>);
  registry.Add("GatherNd", MakeKernel<GatherNdKernel>);
  registry.Add("ScatterNd", MakeKernel<ScatterNdKernel>);
  const std::pair<const char*, const char*> scatters[] = {
      {"TensorScatterUpdate", "Assign"}, {"TensorScatterAdd", "AddV2"},      {"TensorScatterSub", "Sub"},
      {"TensorScatterMin", "KeepLower"}, {"TensorScatterMax", "KeepHigher"}, {"ScatterNdNonAliasingAdd", "AddV2"}};
  const std::pair<const char*, const char*> updates[] = {
      {"InplaceUpdate", "Assign"}, {"InplaceAdd", "AddV2"}, {"InplaceSub", "Sub"}};
  for (auto [op, operation] : updates) {
    registry.Add(op, [operation = operation](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<InplaceKernel>(operation);
    });
  }
  for (auto [op, operation] : scatters) {
    registry.Add(
        op, [operation = operation](const KernelInit& init) { return TensorScatterKernel::Make(init, operation); });
  }
}

}  // namespace weir::cuda
