// ScatterUpdate and its like: whole rows of dimension 0.
#include "weir/ops/state/indices.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/scatter_rows.h"
#include "weir/ops/state/update_variable.h"

namespace weir {
namespace {

template <state::ScatterOp kOp>
class ScatterKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    bool is_ref = ctx.is_ref_input(0);
    return state::UpdateVariable(ctx, updates.dtype(), [&](Tensor& params) -> Status {
      WEIR_RETURN_IF_ERROR(state::CheckScatterRows(is_ref, kOp, params.shape(), indices.shape(), updates.shape()));
      if (indices.num_elements() == 0) return OkStatus();
      // What is in front of a bad index is still written.
      WEIR_ASSIGN_OR_RETURN(auto found, state::RowIndicesToFirstBad(indices, params.dim(0)));
      int64_t row_size = params.shape().Slice(1, params.rank()).num_elements();
      WEIR_RETURN_IF_ERROR(state::ScatterRows(ctx, kOp, found.rows, row_size, updates, updates.rank() == 0, params));
      return found.bad;
    });
  }
};

class ScaledScatterSubKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    const Tensor& scale = ctx.input(3);
    if (scale.rank() != 0) return InvalidArgument("scale must be a scalar, got shape ", scale.shape().ToString());
    return state::UpdateVariable(ctx, updates.dtype(), [&](Tensor& params) -> Status {
      WEIR_RETURN_IF_ERROR(state::CheckScatterRows(/*is_ref=*/false, state::ScatterOp::kSub, params.shape(),
                                                   indices.shape(), updates.shape()));
      if (indices.num_elements() == 0) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(auto found, state::RowIndicesToFirstBad(indices, params.dim(0)));
      int64_t row_size = params.shape().Slice(1, params.rank()).num_elements();
      if (updates.rank() == 0) {  // one number for all
        Tensor product = Tensor::Scalar(updates.scalar<float>() * scale.scalar<float>());
        WEIR_RETURN_IF_ERROR(state::ScatterRows(ctx, state::ScatterOp::kSub, found.rows, row_size, product,
                                                /*is_scalar=*/true, params));
      } else {
        state::SubtractScaledRows(ctx, found.rows, row_size, updates, scale.scalar<float>(), params);
      }
      return found.bad;
    });
  }
};

template <state::ScatterOp kOp>
void Register(KernelRegistry& registry, std::string_view name) {
  registry.Add(KernelBuilder(Cat("Scatter", name)).Types("T", state::ScatterTypes(kOp)),
               MakeKernel<ScatterKernel<kOp>>);
  registry.Add(KernelBuilder(Cat("ResourceScatter", name)).Types("dtype", state::ScatterTypes(kOp)),
               MakeKernel<ScatterKernel<kOp>>);
}

}  // namespace

void RegisterVariableScatterKernels(KernelRegistry& registry) {
  Register<state::ScatterOp::kUpdate>(registry, "Update");
  Register<state::ScatterOp::kAdd>(registry, "Add");
  Register<state::ScatterOp::kSub>(registry, "Sub");
  Register<state::ScatterOp::kMul>(registry, "Mul");
  Register<state::ScatterOp::kDiv>(registry, "Div");
  Register<state::ScatterOp::kMin>(registry, "Min");
  Register<state::ScatterOp::kMax>(registry, "Max");
  registry.Add(KernelBuilder("_ScaledResourceScatterSub").Types("dtype", TypeList<float>{}),
               MakeKernel<ScaledScatterSubKernel>);
}

}  // namespace weir
