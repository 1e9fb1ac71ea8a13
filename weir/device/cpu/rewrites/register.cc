#include "weir/device/cpu/rewrites/register.h"

#include "weir/device/cpu/rewrites/fold_transposes.h"
#include "weir/device/cpu/rewrites/fuse_contractions.h"
#include "weir/device/cpu/rewrites/fuse_elementwise.h"
#include "weir/device/cpu/rewrites/fuse_norms.h"
#include "weir/device/cpu/rewrites/fuse_pool.h"
#include "weir/device/cpu/rewrites/fuse_scatter.h"
#include "weir/device/cpu/rewrites/sink_reshapes.h"
#include "weir/passes/mixed_precision.h"

namespace weir {
namespace {

using Pass = Status (*)(RewriteContext&);

// A pass that makes nodes of the op `made`; pointless where that has no kernel.
DeviceRewrite Fusing(std::string_view made, Pass pass) {
  return [made, pass](RewriteContext& context, const DeviceRewriteOptions& options) {
    return options.fusion && options.has_kernel(made) ? pass(context) : OkStatus();
  };
}

}  // namespace

void RegisterCpuRewrites(DeviceRewrites& rewrites) {
  rewrites.Add("CPU", "mix precisions", MixPrecision);
  rewrites.Add("CPU", "sink reshapes", Fusing("_FusedMatMul", SinkReshapes));
  rewrites.Add("CPU", "fuse contractions", Fusing("_FusedMatMul", FuseContractions));
  rewrites.Add("CPU", "fuse norms", Fusing("_FusedBatchNormEx", FuseNorms));
  rewrites.Add("CPU", "fuse padded pools", Fusing("MaxPool", FusePaddedPools));
  rewrites.Add("CPU", "fuse scatters", Fusing("_ScaledResourceScatterSub", FuseScatters));
  rewrites.Add("CPU", "fold transposes", Fusing("_BatchMatMulOfViews", FoldTransposes));
  rewrites.Add("CPU", "allow Winograd", [](RewriteContext& context, const DeviceRewriteOptions& options) {
    if (options.fusion && options.arithmetic) AllowWinograd(context);
    return OkStatus();
  });
  rewrites.Add("CPU", "fuse elementwise operations", Fusing("_FusedElementwise", FuseElementwise));
}

}  // namespace weir
