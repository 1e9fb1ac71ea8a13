// Which parts of a step a device may record (DeviceRun::StartRecording).
#ifndef WEIR_RUNTIME_RECORDABLE_H_
#define WEIR_RUNTIME_RECORDABLE_H_

#include <vector>

#include "weir/runtime/graph_compiler.h"

namespace weir {

// Whether a part can wait for everything that it receives from other parts before it does anything else: none of these
// values depends on what the part sends in the same step.
bool ReceivesBeforeItSends(const std::vector<DeviceGraph>& parts, size_t part);

}  // namespace weir

#endif  // WEIR_RUNTIME_RECORDABLE_H_
