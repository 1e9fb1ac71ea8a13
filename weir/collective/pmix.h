// PMIx: the service through which processes started by mpirun or srun can find each other. The library is loaded on
// demand.
#ifndef WEIR_COLLECTIVE_PMIX_H_
#define WEIR_COLLECTIVE_PMIX_H_

#include <string>

#include "weir/base/status.h"

namespace weir::collective {

// Whether the launcher is a PMIx server for this process.
bool HasPmix();
// Rank 0 publishes its address, and the others read it. Every rank must call one of these: they wait for each other.
Status PublishThroughPmix(const std::string& text);
StatusOr<std::string> ReadThroughPmix();

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_PMIX_H_
