// The kernels of reading and writing files.
#ifndef WEIR_OPS_IO_REGISTER_H_
#define WEIR_OPS_IO_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterIoKernels(KernelRegistry& registry);

// Its parts.
void RegisterRestoreKernels(KernelRegistry& registry);
void RegisterSaveKernels(KernelRegistry& registry);
void RegisterFileKernels(KernelRegistry& registry);
void RegisterDecodeKernels(KernelRegistry& registry);
void RegisterCsvKernels(KernelRegistry& registry);
void RegisterParseExampleKernels(KernelRegistry& registry);
void RegisterParseSequenceExampleKernels(KernelRegistry& registry);
void RegisterJsonKernels(KernelRegistry& registry);
void RegisterReaderKernels(KernelRegistry& registry);
void RegisterSaveV1Kernels(KernelRegistry& registry);
void RegisterImmutableConstKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_IO_REGISTER_H_
