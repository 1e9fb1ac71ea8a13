// Reductions over the network, between ranks that each hold one part: of a host, or of the whole job.
#ifndef WEIR_COLLECTIVE_NETWORK_REDUCE_H_
#define WEIR_COLLECTIVE_NETWORK_REDUCE_H_

#include <span>

#include "weir/collective/merge.h"
#include "weir/collective/network.h"

namespace weir::collective {

// Merges the members' values, which all get. `members` are ranks of the network, `own` is the index of this one; all
// members say the same. The same bits everywhere: each value is computed at one member, in a fixed order.
// Recursive halving and doubling for middle sizes and a power of two of members, else a ring.
Status ReduceOverNetwork(Network* network, std::span<const int> members, int own, DType dtype, MergeOp op, void* data,
                         int64_t count, absl::Duration timeout);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_NETWORK_REDUCE_H_
