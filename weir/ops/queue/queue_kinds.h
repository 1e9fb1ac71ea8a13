// The kinds of queue by their names.
#ifndef WEIR_OPS_QUEUE_QUEUE_KINDS_H_
#define WEIR_OPS_QUEUE_QUEUE_KINDS_H_

#include <memory>
#include <string>

#include "weir/resources/queue.h"

namespace weir {

// Makes a spec from a node's attributes complete: the priority's component, no capacity as a number. INVALID_ARGUMENT
// if it is wrong for its kind.
Status NormalizeQueueSpec(QueueSpec& spec);
// REQUIRES: `spec` is normalized.
StatusOr<std::shared_ptr<Queue>> MakeQueue(std::string name, QueueSpec spec);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_QUEUE_KINDS_H_
