// Placers: choose a device for every group of tasks so that the makespan is short.
//
// Both algorithms visit each task once and assign a device to a group when they visit its first task. They differ in
// the order of tasks and in the choice of the device:
//
// - Greedy (TensorFlow white paper, 2015, section 3.2.1) simulates an execution: it visits tasks in the order in which
//   they become ready and assigns the device on which the task would finish first, including the transfers of its
//   inputs.
// - HEFT (Topcuoglu, Hariri and Wu, 2002) visits tasks by decreasing upward rank (the length of the longest path to the
//   end, with costs and links averaged over the devices) and assigns the device on which the task finishes first,
//   possibly in a gap between other tasks.
//
// The remaining tasks of a group, and tasks that are bound to a device, count as work that the device still has to do.
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

// Null for kDefault, which does not use costs.
std::unique_ptr<Placer> MakePlacer(PlacerKind kind);

// The placer's schedule, or the one that puts all groups that may run there on a single device, whichever has the
// shorter simulated execution. Neither algorithm looks ahead: on small graphs with slow links both may transfer tensors
// needlessly.
StatusOr<Schedule> PlaceOrKeepTogether(const Placer& placer, const SchedulingProblem& problem);

}  // namespace weir

#endif  // WEIR_PASSES_PLACER_H_
