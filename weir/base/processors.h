// How many processors this process may use, the default size of every thread pool.
#ifndef WEIR_BASE_PROCESSORS_H_
#define WEIR_BASE_PROCESSORS_H_

#include <optional>
#include <string>

namespace weir {

// The processors in the calling thread's affinity mask, but no more than the CPU quota of the process's control group
// and of the groups above it (cgroup v2 and v1) pays for; at least 1. Part of a processor counts as one. Asks the
// system each time, so a pool made after a change sees it.
int NumUsableProcessors();

namespace processors_internal {

// The smallest CPU quota of the control groups that the process is in, in processors; absent if none is limited.
// `root` is put before every path that is read ("" for the machine itself, a folder in tests).
std::optional<double> CpuQuota(const std::string& root);

}  // namespace processors_internal
}  // namespace weir

#endif  // WEIR_BASE_PROCESSORS_H_
