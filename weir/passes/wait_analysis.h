// WaitAnalysis: which nodes may wait for each other beyond the edges of the graph, and which values may be dead.
//
// Some operations wait for what another node does: Recv for a Send, a dequeue for an enqueue. The graph has no edge
// between them, so a rewrite that makes a value wait for more inputs than it had can close a cycle that no search along
// edges finds. Here every node that may wait (OpSchema::may_wait) is taken to wait for every node that may end a wait
// (OpSchema::may_wake).
#ifndef WEIR_PASSES_WAIT_ANALYSIS_H_
#define WEIR_PASSES_WAIT_ANALYSIS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

// An attribute of `_Arg` nodes whose values arrive while the step runs.
inline constexpr char kLateArgument[] = "_late";
// An attribute of Recv nodes whose values are never dead.
inline constexpr char kNeverDead[] = "_never_dead";

class WaitAnalysis {
 public:
  // REQUIRES: both outlive the analysis.
  WaitAnalysis(const Graph& graph, const Consumers& consumers);

  // Whether the node's values may be dead: they come, perhaps by other nodes, from a Switch.
  bool MayBeDead(NodeId id) const { return may_be_dead_[id]; }
  // Whether `taker`, a consumer of some value, may be made to wait for everything that `added` waits for, where the
  // value so far waited for what `before` waits for. Edges of the graph are not looked at.
  bool MayDelay(NodeId taker, NodeId before, NodeId added) const {
    if (!has_waits_) return true;
    const uint64_t more = (waits_for_[added] & ~waits_for_[before]) | (waits_for_[added] & kOthers);
    return more == 0 || !wakes_[taker];
  }
  // The nodes become one: each, and all that depends on it, now waits for what any of them waited for.
  void Join(std::span<const NodeId> nodes);

 private:
  static constexpr uint64_t kOthers = uint64_t{1} << 63;  // waiting nodes beyond the first 63

  void FindWaits();
  void FindDead();
  // Brings what depends on the nodes of stack_, or what they depend on, up to date with them.
  void SpreadWaits();
  void SpreadWakes();
  void SetWaits(NodeId id, uint64_t waits);
  void SetWakes(NodeId id);

  const Graph& graph_;
  const Consumers& consumers_;
  bool has_waits_ = false;           // else nothing is kept of waits
  std::vector<uint64_t> waits_for_;  // by node: which waiting nodes it depends on
  std::vector<bool> wakes_;          // by node: a node that may end a wait depends on it
  std::vector<bool> may_be_dead_;
  std::vector<int> joined_;  // by node: the set it is in, or -1
  std::vector<std::vector<NodeId>> sets_;
  std::vector<NodeId> stack_;
};

}  // namespace weir

#endif  // WEIR_PASSES_WAIT_ANALYSIS_H_
