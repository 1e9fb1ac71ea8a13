// Reductions over the network between ranks that each hold the values of a host or of themselves.
#ifndef WEIR_COLLECTIVE_NETWORK_REDUCE_H_
#define WEIR_COLLECTIVE_NETWORK_REDUCE_H_

#include <span>

#include "weir/collective/merge.h"
#include "weir/collective/network.h"

namespace weir::collective {

// Merges the values of all members; every member gets the result. `members` are ranks of the network, `own` is the
// index of this rank among them; all members must pass the same list. Results are equal bit for bit, because each value
// is computed by one member, in a fixed order. Uses recursive halving and doubling for medium sizes if the number of
// members is a power of two, else a ring.
Status ReduceOverNetwork(Network* network, std::span<const int> members, int own, DType dtype, MergeOp op, void* data,
                         int64_t count, absl::Duration timeout);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_NETWORK_REDUCE_H_
