// ScatterNdUpdate and its like: slices addressed by one or more leading dimensions.
#include <algorithm>

#include "weir/ops/state/indices.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/scatter_rows.h"
#include "weir/ops/state/update_variable.h"

namespace weir {
namespace {

template <state::ScatterOp kOp>
class ScatterNdKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ScatterNdKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->ignore_bad_indices_, state::IgnoresBadIndices(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    return state::UpdateVariable(ctx, updates.dtype(), [&](Tensor& params) -> Status {
      WEIR_RETURN_IF_ERROR(state::CheckScatterSlices(params.shape(), indices.shape(), updates.shape()));
      if (indices.num_elements() == 0) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(state::SliceIndices slices,
                            state::ResolveSlices(indices, params.shape(), /*vector_is_column=*/true));
      // An index that is outside does not keep the others from being done; the last one is told.
      WEIR_RETURN_IF_ERROR(
          state::ScatterRows(ctx, kOp, slices.rows, slices.slice_size, updates, /*is_scalar=*/false, params));
      if (slices.first_bad < 0 || ignore_bad_indices_) return OkStatus();
      auto last = std::find_if(slices.rows.rbegin(), slices.rows.rend(), [](int64_t row) { return row < 0; });
      const int64_t bad = slices.rows.rend() - last - 1;
      return InvalidArgument("indices", state::PositionText(slices.outer, bad), " = ",
                             state::RowText(indices, bad, slices.depth, ", "), " does not index into shape ",
                             params.shape().ToString());
    });
  }

 private:
  bool ignore_bad_indices_ = false;
};

template <state::ScatterOp kOp>
void RegisterForms(KernelRegistry& registry, std::string_view name) {
  std::vector<DType> types = state::ScatterTypes(kOp);
  if (kOp == state::ScatterOp::kAdd) types.push_back(DType::kBool);
  registry.Add(KernelBuilder(Cat("ScatterNd", name)).Types("T", types), MakeKernel<ScatterNdKernel<kOp>>);
  registry.Add(KernelBuilder(Cat("ResourceScatterNd", name)).Types("T", types), MakeKernel<ScatterNdKernel<kOp>>);
}

}  // namespace

void RegisterScatterNdKernels(KernelRegistry& registry) {
  RegisterForms<state::ScatterOp::kUpdate>(registry, "Update");
  RegisterForms<state::ScatterOp::kAdd>(registry, "Add");
  RegisterForms<state::ScatterOp::kSub>(registry, "Sub");
  RegisterForms<state::ScatterOp::kMin>(registry, "Min");
  RegisterForms<state::ScatterOp::kMax>(registry, "Max");
}

}  // namespace weir
