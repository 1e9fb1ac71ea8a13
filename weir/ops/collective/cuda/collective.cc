// Collectives of GPUs: the host's kernels, whose algorithms move chunks in the devices' own memory.
#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterCollectiveKernels(GpuRegistry& registry) {
  for (const char* op : {"CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2",
                         "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveBcastRecv", "CollectiveBcastRecvV2",
                         "CollectiveAllToAllV2", "CollectiveReduceScatterV2"}) {
    registry.AddPortable(op);
  }
  registry.AddPortable("CollectiveReduceV3", {"group_assignment"});
  registry.AddPortable("CollectiveAllToAllV3", {"group_assignment"});
}

}  // namespace weir::cuda
