// Placers: choose a device for every group of tasks so that all are done early.
//
// Both walk over the tasks once, and give a group its device when they meet its first task. They differ in the order
// and in what they see:
// - greedy (the TensorFlow white paper of 2015, section 3.2.1) simulates an execution: tasks in the order in which they
//   become ready, each on the device where it would finish soonest, its inputs' way there counted.
// - HEFT (Topcuoglu, Hariri and Wu, 2002) takes the tasks with the longest way to the end first (their upward rank,
// with
//   costs and links averaged over the devices), each where it finishes earliest, also in a gap between others.
// A group of several tasks weighs more than its first: what it will bring along, and what is bound to a device already,
// counts as work that is still to be done there.
#ifndef WEIR_PASSES_PLACER_H_
#define WEIR_PASSES_PLACER_H_

#include <memory>

#include "weir/passes/placer_kind.h"
#include "weir/passes/schedule.h"

namespace weir {

class Placer {
 public:
  virtual ~Placer() = default;
  // INVALID_ARGUMENT if the problem is malformed.
  virtual StatusOr<Schedule> Place(const SchedulingProblem& problem) const = 0;
};

// Null for kDefault, which looks at no costs.
std::unique_ptr<Placer> MakePlacer(PlacerKind kind);

// The placer's schedule, or that of everything (that may be there) on one device where an execution ends earlier so:
// neither algorithm looks ahead, and on small graphs with slow links both may send what had better stayed. Schedules
// are compared as they would be executed.
StatusOr<Schedule> PlaceOrKeepTogether(const Placer& placer, const SchedulingProblem& problem);

}  // namespace weir

#endif  // WEIR_PASSES_PLACER_H_
