// RecvSchedule: when to request tensors from other devices.
//
// By default, every Recv of a step starts with the step, and a tensor that is produced early occupies memory of its
// consumer until it is needed. A simulated step (place_by_cost.h) gives the earliest start of each node (ASAP) and the
// latest start that does not delay the end of the step (ALAP). A transfer should begin one transfer time before the
// ALAP start of its first consumer. The last node that the destination will have finished by then becomes a control
// input of the Recv.
//
// This changes the start of transfers, but never a result. The chosen node runs in every step (it depends on no
// conditional), waits only for its inputs (not for a queue, say), and precedes the consumer in the simulated order. All
// edges of the graph follow that order, so no cycle can arise, not even across devices.
#ifndef WEIR_PASSES_RECV_SCHEDULE_H_
#define WEIR_PASSES_RECV_SCHEDULE_H_

#include <map>
#include <string>
#include <tuple>

#include "weir/passes/place_by_cost.h"

namespace weir {

struct RecvSchedule {
  // The control input of each Recv, by tensor and destination.
  std::map<std::tuple<NodeId, int, std::string>, NodeId> after;

  // kNoNode if the Recv starts with the step.
  NodeId Find(Endpoint tensor, const std::string& device) const;
};

// Transfers of fewer than `min_bytes` bytes are not delayed, because they occupy little memory.
// REQUIRES: every node has an assigned device.
StatusOr<RecvSchedule> ScheduleRecvs(const Graph& graph, const CostModel& costs, int64_t min_bytes = 64 << 10);

}  // namespace weir

#endif  // WEIR_PASSES_RECV_SCHEDULE_H_
