#include "weir/ops/data/background.h"

namespace weir {

StatusOr<std::unique_ptr<StepWalk>> StepWalk::Start(KernelContext& ctx, DatasetPtr dataset) {
  WEIR_ASSIGN_OR_RETURN(WalkSetup setup, WalkSetup::From(ctx));
  std::unique_ptr<StepWalk> walk(new StepWalk(std::move(dataset), setup.MakeContext(&ctx.cancellation())));
  WEIR_ASSIGN_OR_RETURN(walk->iterator_, walk->dataset_->MakeIterator(walk->ctx_));
  return walk;
}

}  // namespace weir
