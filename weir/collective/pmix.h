// PMIx: what mpirun and srun offer their processes for finding each other. The library is loaded when it is needed.
#ifndef WEIR_COLLECTIVE_PMIX_H_
#define WEIR_COLLECTIVE_PMIX_H_

#include <string>

#include "weir/base/status.h"

namespace weir::collective {

// Whether the launcher is a PMIx server for this process.
bool HasPmix();
// Rank 0 says where it is, and the others read it. All ranks must call one of these: they wait for each other.
Status PublishThroughPmix(const std::string& text);
StatusOr<std::string> ReadThroughPmix();

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_PMIX_H_
