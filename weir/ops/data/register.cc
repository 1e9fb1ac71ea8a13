#include "weir/ops/data/register.h"

namespace weir {

void RegisterDataKernels(KernelRegistry& registry) {
  RegisterOptionalKernels(registry);
  RegisterIteratorKernels(registry);
  RegisterSeedGeneratorKernels(registry);
  RegisterSourceDatasets(registry);
  RegisterSequenceDatasets(registry);
  RegisterMapDatasets(registry);
  RegisterBatchDatasets(registry);
  RegisterPaddedBatchDatasets(registry);
  RegisterInterleaveDatasets(registry);
  RegisterShuffleDatasets(registry);
  RegisterPrefetchDatasets(registry);
  RegisterParallelMapDatasets(registry);
  RegisterParallelInterleaveDatasets(registry);
  RegisterWindowDatasets(registry);
  RegisterGroupDatasets(registry);
  RegisterCacheDatasets(registry);
  RegisterWrapperDatasets(registry);
  RegisterFileDatasets(registry);
  RegisterSaveLoadDatasets(registry);
  RegisterSnapshotDatasets(registry);
  RegisterCsvDatasets(registry);
  RegisterParseExampleDatasets(registry);
  RegisterGeneratorDatasets(registry);
  RegisterDatasetValueKernels(registry);
  RegisterCompressElementKernels(registry);
  RegisterTableFromDatasetKernels(registry);
}

}  // namespace weir
