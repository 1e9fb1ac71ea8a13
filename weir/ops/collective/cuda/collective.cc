// Collectives of GPUs: the host's kernels, whose algorithms move chunks in the devices' own memory.
#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterCollectiveKernels(GpuRegistry& registry) {
  for (const char* op : {"CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2",
                         "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveBcastRecv", "CollectiveBcastRecvV2",
                         "CollectiveAllToAllV2", "CollectiveReduceScatterV2"}) {
    registry.AddPortable(op);
  }
  // Between processes. TensorFlow's table does not know them; as everywhere, int32 stays with the host.
  const auto portable = [&kernels = registry.kernels()](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(const KernelEntry* entry, kernels.Find(init.schema().name, "CPU", init.attrs()));
    return entry->factory(init);
  };
  for (const char* op : {"_ProcessAllReduce", "_ProcessGroupedAllReduce", "_ProcessReduceScatter"}) {
    registry.kernels().Add(OnGpu(op).Types("T", TypeList<BFloat16, float, Half, double, int64_t>{}), portable);
  }
  const auto moved = TypeList<bool, BFloat16, float, Half, double, int64_t>{};
  registry.kernels().Add(OnGpu("_ProcessAllGather").Types("T", moved), portable);
  registry.kernels().Add(OnGpu("_ProcessBroadcast").Types("T", moved), portable);
  registry.kernels().Add(OnGpu("_ProcessAllToAll").Types("T", moved).HostMemory("splits").HostMemory("received_splits"),
                         portable);
  registry.AddPortable("CollectiveReduceV3", {"group_assignment"});
  registry.AddPortable("CollectiveAllToAllV3", {"group_assignment"});
}

}  // namespace weir::cuda
