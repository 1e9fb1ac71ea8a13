// Equal processes of one job on this host: what `weir launch -n` runs.
#ifndef WEIR_CLI_LAUNCH_RANKS_H_
#define WEIR_CLI_LAUNCH_RANKS_H_

#include <string>
#include <vector>

#include "weir/base/status.h"

namespace weir {

// Runs the command once for every rank, with WEIR_RANK, WEIR_SIZE, WEIR_LOCAL_RANK, WEIR_LOCAL_SIZE and WEIR_JOB in its
// environment (collective/place.h). Each line of output is printed with "[rank] " before it. When a rank fails, the
// others get SIGTERM, and SIGKILL five seconds later; SIGINT and SIGTERM are passed on. Gives the first exit code that
// is not 0.
StatusOr<int> LaunchRanks(int ranks, const std::vector<std::string>& command);

}  // namespace weir

#endif  // WEIR_CLI_LAUNCH_RANKS_H_
