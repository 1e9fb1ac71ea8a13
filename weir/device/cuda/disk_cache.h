// Compiled device code in a folder on disk. All of it is best effort: what cannot be read is compiled again, what
// cannot be written is not kept.
#ifndef WEIR_DEVICE_CUDA_DISK_CACHE_H_
#define WEIR_DEVICE_CUDA_DISK_CACHE_H_

#include <optional>
#include <string>

#include "weir/device/cuda/program_cache.h"

namespace weir::cuda {

// The folder; empty if there is to be none.
std::string DiskCacheFolder();

// `key` is everything that the code depends on.
std::optional<CompiledProgram> ReadDiskCache(const std::string& folder, const std::string& key);
void WriteDiskCache(const std::string& folder, const std::string& key, const CompiledProgram& program);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_DISK_CACHE_H_
