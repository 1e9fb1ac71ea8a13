// WaitAnalysis: which nodes may wait for each other without an edge between them, and which values may be dead.
//
// Some operations block until another node has run: a Recv waits for a Send, a dequeue for an enqueue. The graph has no
// edge between the two, so a rewrite that makes a value depend on more inputs can cause a deadlock that a search along
// the edges does not find. The analysis is conservative: it assumes that every node that may wait (OpSchema::may_wait)
// waits for every node that may end a wait (OpSchema::may_wake).
#ifndef WEIR_PASSES_WAIT_ANALYSIS_H_
#define WEIR_PASSES_WAIT_ANALYSIS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/export.h"
#include "weir/graph/graph.h"

namespace WEIR_PUBLIC weir {

// An attribute of `_Arg` nodes whose values arrive while the step runs.
inline constexpr char kLateArgument[] = "_late";
// An attribute of Recv nodes whose values are never dead.
inline constexpr char kNeverDead[] = "_never_dead";

class WaitAnalysis {
 public:
  // REQUIRES: both outlive the analysis.
  WaitAnalysis(const Graph& graph, const Consumers& consumers);

  // Whether the node's values may be dead, because they depend on a Switch.
  bool MayBeDead(NodeId id) const { return may_be_dead_[id]; }
  // Whether a value that depended on `before` so far may also depend on `added`. `taker` is one of its consumers. False
  // if `taker`, or a node that depends on it, might end a wait that would then have to end first. Does not check for
  // cycles along the edges of the graph.
  bool MayDelay(NodeId taker, NodeId before, NodeId added) const {
    if (!has_waits_) return true;
    const uint64_t more = (waits_for_[added] & ~waits_for_[before]) | (waits_for_[added] & kOthers);
    return more == 0 || !wakes_[taker];
  }
  // Records that the nodes become one: each of them, and every node that depends on it, now waits for whatever any of
  // them waited for.
  void Join(std::span<const NodeId> nodes);

 private:
  static constexpr uint64_t kOthers = uint64_t{1} << 63;  // waiting nodes beyond the first 63

  void FindWaits();
  void FindDead();
  // Propagate from the nodes on stack_ to the nodes that depend on them, and to the nodes that they depend on.
  void SpreadWaits();
  void SpreadWakes();
  void SetWaits(NodeId id, uint64_t waits);
  void SetWakes(NodeId id);

  const Graph& graph_;
  const Consumers& consumers_;
  bool has_waits_ = false;           // if false, no waits are recorded
  std::vector<uint64_t> waits_for_;  // by node: which waiting nodes it depends on
  std::vector<bool> wakes_;          // by node: a node that may end a wait depends on it
  std::vector<bool> may_be_dead_;
  std::vector<int> joined_;  // by node: the set it is in, or -1
  std::vector<std::vector<NodeId>> sets_;
  std::vector<NodeId> stack_;
};

}  // namespace weir

#endif  // WEIR_PASSES_WAIT_ANALYSIS_H_
