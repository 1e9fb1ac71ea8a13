// Costs from traced steps, for placement (passes/cost_table.h).
#ifndef WEIR_RUNTIME_MEASURED_COSTS_H_
#define WEIR_RUNTIME_MEASURED_COSTS_H_

#include <span>

#include "weir/framework/op_registry.h"
#include "weir/passes/cost_table.h"
#include "weir/runtime/session.h"

namespace weir {

// Adds the times of a step's nodes and the shapes of tensors that are only known at run time. The step must have been
// run with StepOptions::trace and partition_graphs; FAILED_PRECONDITION otherwise. `feeds` are the feeds of the step;
// may be empty.
Status AddStepCosts(const OpRegistry& ops, const StepReport& report, std::span<const Feed> feeds, CostTable* table);

}  // namespace weir

#endif  // WEIR_RUNTIME_MEASURED_COSTS_H_
