// Where to place the nodes of a loop. A tensor that crosses devices inside a loop does so in every iteration, so
// counters and conditions, which could run anywhere, go where the work of their loop is.
#ifndef WEIR_RUNTIME_LOOP_WORK_H_
#define WEIR_RUNTIME_LOOP_WORK_H_

#include <functional>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

enum class LoopWork : uint8_t {
  kNone,    // not in a loop
  kHost,    // in a loop without work for an accelerator
  kDevice,  // in a loop with such work
};

// By node id; a nested loop counts as part of the outermost one. `is_work` tells which nodes are worth an accelerator.
std::vector<LoopWork> FindLoopWork(const Graph& graph, const std::function<bool(const Node&)>& is_work);

}  // namespace weir

#endif  // WEIR_RUNTIME_LOOP_WORK_H_
