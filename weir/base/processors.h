// The number of processors that this process may use: the default size of every thread pool.
#ifndef WEIR_BASE_PROCESSORS_H_
#define WEIR_BASE_PROCESSORS_H_

#include <optional>
#include <string>

namespace weir {

// The number of processors in the calling thread's affinity mask, limited by the CPU quotas of the process's control
// group and its parents (cgroup v2 and v1); at least 1. A fraction of a processor counts as one. Queries the system
// each time, so a pool created after a change sees it.
int NumUsableProcessors();

namespace processors_internal {

// The smallest CPU quota of the process's control groups, in processors; absent if none is limited. `root` is prepended
// to every path that is read ("" for the machine itself, a folder in tests).
std::optional<double> CpuQuota(const std::string& root);

}  // namespace processors_internal
}  // namespace weir

#endif  // WEIR_BASE_PROCESSORS_H_
