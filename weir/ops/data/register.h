// The kernels of datasets, iterators and optionals.
#ifndef WEIR_OPS_DATA_REGISTER_H_
#define WEIR_OPS_DATA_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterDataKernels(KernelRegistry& registry);

// Its parts.
void RegisterOptionalKernels(KernelRegistry& registry);
void RegisterIteratorKernels(KernelRegistry& registry);
void RegisterSeedGeneratorKernels(KernelRegistry& registry);
void RegisterSourceDatasets(KernelRegistry& registry);
void RegisterSequenceDatasets(KernelRegistry& registry);
void RegisterMapDatasets(KernelRegistry& registry);
void RegisterBatchDatasets(KernelRegistry& registry);
void RegisterPaddedBatchDatasets(KernelRegistry& registry);
void RegisterInterleaveDatasets(KernelRegistry& registry);
void RegisterShuffleDatasets(KernelRegistry& registry);
void RegisterPrefetchDatasets(KernelRegistry& registry);
void RegisterParallelMapDatasets(KernelRegistry& registry);
void RegisterParallelInterleaveDatasets(KernelRegistry& registry);
void RegisterWindowDatasets(KernelRegistry& registry);
void RegisterGroupDatasets(KernelRegistry& registry);
void RegisterCacheDatasets(KernelRegistry& registry);
void RegisterWrapperDatasets(KernelRegistry& registry);
void RegisterFileDatasets(KernelRegistry& registry);
void RegisterSaveLoadDatasets(KernelRegistry& registry);
void RegisterSnapshotDatasets(KernelRegistry& registry);
void RegisterCsvDatasets(KernelRegistry& registry);
void RegisterParseExampleDatasets(KernelRegistry& registry);
void RegisterGeneratorDatasets(KernelRegistry& registry);
void RegisterDatasetValueKernels(KernelRegistry& registry);
void RegisterCompressElementKernels(KernelRegistry& registry);
void RegisterTableFromDatasetKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_DATA_REGISTER_H_
