// Meeting: how the ranks of a job on several hosts find each other.
//
// Rank 0 listens where all others know (Place::address), or where it says through PMIx. Each rank proves that it knows
// the job's secret, says where it is, and gets the table of all ranks. The connection stays, for the Watch.
#ifndef WEIR_COLLECTIVE_MEETING_H_
#define WEIR_COLLECTIVE_MEETING_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/collective/place.h"
#include "weir/collective/socket.h"
#include "weir/collective/watch.h"

namespace weir::collective {

// Where a rank is.
struct RankAddress {
  int host = 0;       // the hosts are numbered in the order of their first ranks
  Endpoint endpoint;  // of its data connections
};

struct MeetingResult {
  std::vector<RankAddress> ranks;
  Socket listener;  // of this rank's data connections
  std::unique_ptr<Watch> watch;
};

// DEADLINE_EXCEEDED names the ranks that have not come. INVALID_ARGUMENT if the ranks contradict each other.
// `alarm` is looked at while they have not.
StatusOr<MeetingResult> MeetRanks(const Place& place, absl::Duration timeout, const Alarm& alarm = {});

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_MEETING_H_
