// Meeting: how the ranks of a job on several hosts find each other.
//
// Rank 0 listens at an address that all others know (Place::address), or publishes its address through PMIx. Each rank
// proves that it knows the job's secret, sends its own address, and receives the table of all ranks. The Watch then
// uses the connection.
#ifndef WEIR_COLLECTIVE_MEETING_H_
#define WEIR_COLLECTIVE_MEETING_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/collective/place.h"
#include "weir/collective/socket.h"
#include "weir/collective/watch.h"

namespace weir::collective {

// The host of a rank, and its address.
struct RankAddress {
  int host = 0;       // hosts are numbered in the order of their first ranks
  Endpoint endpoint;  // for its data connections
};

struct MeetingResult {
  std::vector<RankAddress> ranks;
  Socket listener;  // for this rank's data connections
  std::unique_ptr<Watch> watch;
};

// DEADLINE_EXCEEDED names the missing ranks. INVALID_ARGUMENT if the ranks contradict each other. `alarm` is called
// while ranks are missing.
StatusOr<MeetingResult> MeetRanks(const Place& place, absl::Duration timeout, const Alarm& alarm = {});

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_MEETING_H_
