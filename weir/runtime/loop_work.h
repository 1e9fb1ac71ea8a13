// Where the nodes of a loop are best off: a tensor that goes from one device to another inside a loop does so in every
// iteration, so counters and conditions, which need no device, follow the work of their loop.
#ifndef WEIR_RUNTIME_LOOP_WORK_H_
#define WEIR_RUNTIME_LOOP_WORK_H_

#include <functional>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

enum class LoopWork : uint8_t {
  kNone,    // not in a loop
  kHost,    // in a loop without work for a device
  kDevice,  // in a loop with such work
};

// By node id; loops within others belong to the outermost one. `is_work` tells what a device is wanted for.
std::vector<LoopWork> FindLoopWork(const Graph& graph, const std::function<bool(const Node&)>& is_work);

}  // namespace weir

#endif  // WEIR_RUNTIME_LOOP_WORK_H_
