// When to ask for the tensors of other devices.
//
// Without more ado every Recv of a step starts when the step does, and a tensor that is made early lies in its
// consumer's memory until it is needed. From a simulated step (place_by_cost.h) we know how early each node can start
// (ASAP) and how late it may without delaying the end (ALAP). A transfer is of use from its time before the ALAP start
// of its first consumer on; the last node that the destination is sure to have finished by then becomes the Recv's
// control input. Only the start of transfers changes, never a result: such a node runs in every step (it depends on no
// conditional), waits for nothing outside of its inputs (on no queue), and comes before the consumer in the simulated
// order, which all edges of the graph follow, so that no cycle can arise, not even through several devices.
#ifndef WEIR_PASSES_RECV_SCHEDULE_H_
#define WEIR_PASSES_RECV_SCHEDULE_H_

#include <map>
#include <string>
#include <tuple>

#include "weir/passes/place_by_cost.h"

namespace weir {

struct RecvSchedule {
  std::map<std::tuple<NodeId, int, std::string>, NodeId> after;  // by tensor and destination: what its Recv waits for

  // kNoNode: nothing.
  NodeId Find(Endpoint tensor, const std::string& device) const;
};

// Transfers of fewer bytes than `min_bytes` start at once: they take no memory to speak of.
// REQUIRES: every node has an assigned device.
StatusOr<RecvSchedule> ScheduleRecvs(const Graph& graph, const CostModel& costs, int64_t min_bytes = 64 << 10);

}  // namespace weir

#endif  // WEIR_PASSES_RECV_SCHEDULE_H_
