#include "weir/client/builtin_kernels.h"

#include "weir/framework/kernel_registry.h"
#include "weir/ops/accumulator/register.h"
#include "weir/ops/array/register.h"
#include "weir/ops/audio/register.h"
#include "weir/ops/collective/register.h"
#include "weir/ops/control_flow/register.h"
#include "weir/ops/data/register.h"
#include "weir/ops/image/register.h"
#include "weir/ops/io/register.h"
#include "weir/ops/linalg/register.h"
#include "weir/ops/math/register.h"
#include "weir/ops/nn/register.h"
#include "weir/ops/nn/register_extended.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/random/register.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/state/register.h"
#include "weir/ops/string/register.h"
#include "weir/ops/summary/register.h"
#include "weir/ops/table/register.h"
#include "weir/ops/train/register.h"

namespace weir {

void RegisterBuiltinKernels(KernelRegistry& registry) {
  RegisterAccumulatorKernels(registry);
  RegisterArrayKernels(registry);
  RegisterAudioKernels(registry);
  RegisterCollectiveKernels(registry);
  RegisterControlFlowKernels(registry);
  RegisterDataKernels(registry);
  RegisterImageKernels(registry);
  RegisterIoKernels(registry);
  RegisterLinalgKernels(registry);
  RegisterMathKernels(registry);
  RegisterNnKernels(registry);
  RegisterExtendedNnKernels(registry);
  RegisterQueueKernels(registry);
  RegisterRandomKernels(registry);
  RegisterSparseKernels(registry);
  RegisterStateKernels(registry);
  RegisterStringKernels(registry);
  RegisterSummaryKernels(registry);
  RegisterTableKernels(registry);
  RegisterTrainKernels(registry);
}

}  // namespace weir
