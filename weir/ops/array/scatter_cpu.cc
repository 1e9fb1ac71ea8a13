// Writing slices by index: ScatterNd, TensorScatter*, ScatterNdNonAliasingAdd.
#include <cstring>

#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/scatter_nd.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"
#include "weir/ops/array/scatter.h"

namespace weir {
namespace {

// Updates summed into zeros.
class ScatterNdKernel : public Kernel {
 public:
  explicit ScatterNdKernel(bool ignore_bad) : ignore_bad_(ignore_bad) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(0), updates = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Shape shape, ScatterNdShape(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (IsPlain(out->dtype())) std::memset(out->raw_data(), 0, out->num_bytes());
    return ScatterNdInto(ctx, ScatterOp::kAdd, indices, updates, *out, ignore_bad_);
  }

 private:
  const bool ignore_bad_;
};

// A tensor with some of its slices changed.
class TensorScatterKernel : public Kernel {
 public:
  TensorScatterKernel(ScatterOp op, bool ignore_bad) : op_(op), ignore_bad_(ignore_bad) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(1), updates = ctx.input(2);
    const Shape shape = ctx.input(0).shape();
    WEIR_RETURN_IF_ERROR(CheckTensorScatter(shape, indices, updates));
    Tensor target = ctx.TakeInput(0);
    if (!target.unique()) {
      WEIR_ASSIGN_OR_RETURN(target, CloneInParallel(ctx, target));
    }
    WEIR_RETURN_IF_ERROR(ScatterNdInto(ctx, op_, indices, updates, target, ignore_bad_));
    ctx.set_output(0, std::move(target));
    return OkStatus();
  }

 private:
  const ScatterOp op_;
  const bool ignore_bad_;
};

void RegisterTensorScatter(KernelRegistry& registry, std::string_view name, ScatterOp op) {
  registry.Add(KernelBuilder(name).Types("Tindices", IndexTypes{}),
               [op](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
                 if (!CanScatter(op, init.input_type(0))) {
                   return Unimplemented(init.schema().name, " of ", Name(init.input_type(0)));
                 }
                 WEIR_ASSIGN_OR_RETURN(bool ignore_bad, IgnoresBadIndices(init));
                 return std::make_unique<TensorScatterKernel>(op, ignore_bad);
               });
}

}  // namespace

void RegisterScatterKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ScatterNd").Types("Tindices", IndexTypes{}),
               [](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
                 if (!CanScatter(ScatterOp::kAdd, init.output_type(0))) {
                   return Unimplemented("ScatterNd of ", Name(init.output_type(0)));
                 }
                 WEIR_ASSIGN_OR_RETURN(bool ignore_bad, IgnoresBadIndices(init));
                 return std::make_unique<ScatterNdKernel>(ignore_bad);
               });
  RegisterTensorScatter(registry, "TensorScatterUpdate", ScatterOp::kAssign);
  RegisterTensorScatter(registry, "TensorScatterAdd", ScatterOp::kAdd);
  RegisterTensorScatter(registry, "TensorScatterSub", ScatterOp::kSub);
  RegisterTensorScatter(registry, "TensorScatterMin", ScatterOp::kMin);
  RegisterTensorScatter(registry, "TensorScatterMax", ScatterOp::kMax);
  RegisterTensorScatter(registry, "ScatterNdNonAliasingAdd", ScatterOp::kAdd);
}

}  // namespace weir
