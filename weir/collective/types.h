// The vocabulary of collectives: members, groups, and what the members of one collective have to agree on.
//
// A *member* is a device. A *group* is a set of members with a key; the cluster's leader forms it when all members have
// asked for it. An *instance* is one collective operation in the program of a group, identified by its own key. It runs
// many times; each run is a *round*. Members meet again for every round (round_table.h), so a step that failed, or that
// only some members ran, never leaves members in different rounds.
#ifndef WEIR_COLLECTIVE_TYPES_H_
#define WEIR_COLLECTIVE_TYPES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/status.h"
#include "weir/tensor/dtype.h"
#include "weir/tensor/shape.h"

namespace weir {

enum class CollectiveKind {
  kReduce,
  kBroadcast,
  kGather,
  kPermute,
  kAllToAll,
  kReduceScatter
};  // TensorFlow's numbers
std::string_view Name(CollectiveKind kind);

enum class MergeOp { kAdd, kMul, kMin, kMax };
std::string_view Name(MergeOp op);  // "Add"
StatusOr<MergeOp> ParseMergeOp(std::string_view name);

struct CollectiveMember {
  std::string device;  // full name
  std::string device_type;
  uint64_t incarnation = 0;
  int user_rank = -1;      // -1: ranks follow from the devices' names
  bool is_weir = true;     // false: the task runs TensorFlow
  std::string attributes;  // as received, to pass on to members of other tasks
};

// A random number in [1, 2^62), for groups, rounds and steps.
uint64_t RandomCollectiveId();

// "/job:worker/replica:0/task:1", given a device's full name.
std::string_view TaskOfMember(std::string_view device);

// Complete and immutable.
struct CollectiveGroup {
  int32_t key = 0;
  uint64_t id = 0;                        // distinguishes this group from earlier ones with the same key
  std::vector<CollectiveMember> members;  // in rank order

  int size() const { return static_cast<int>(members.size()); }
  int RankOf(std::string_view device) const;  // -1: not a member
  bool all_weir() const;
  // The number of members of each task, in rank order. A task whose members are not consecutive is listed repeatedly.
  std::vector<int> MembersPerTask() const;
};

// Sorts as TensorFlow does: tasks by name, as text, then devices by type and number. If all members were given ranks,
// sorts by rank. INVALID_ARGUMENT if only some were, or if the ranks are not 0, 1, 2, ...
Status SortMembers(std::vector<CollectiveMember>* members);

// A member's contribution to a round. Members must agree on everything, with three exceptions: is_source, the first
// dimension of a gather's shape, and the shape that a receiver of a broadcast expects if it is unknown.
struct CollectiveSpec {
  CollectiveKind kind = CollectiveKind::kReduce;
  DType dtype = DType::kInvalid;
  Shape shape;
  MergeOp merge = MergeOp::kAdd;
  bool divide = false;              // by the number of members, at the end
  std::vector<int> subdiv_offsets;  // of concurrent rings (algorithm.h); empty: as many as max_subdivs allows
  int max_subdivs = -1;
  std::vector<int> permutation;  // for kPermute: the receiver of each rank
  bool is_source = false;        // for kBroadcast
  std::string ToString() const;  // "Add-reduce of float [2,3]"
};

// What a member says about communicators of devices (device_seat.h) when it joins a round.
struct SeatOffer {
  std::string card;      // of its device; empty: it can have no communicator
  std::string obstacle;  // the reason; empty if its device is of a kind that has none
  uint64_t lost = 0;     // the latest generation that it has lost; 0: none
  uint64_t doubts = 0;   // how many joins it has given up without an answer
};

// The communicator in which a round runs.
struct RoundCommunicator {
  uint64_t generation = 0;  // counts the group's communicators from 1; 0: the round runs in none
  uint64_t order = 0;       // of this round in it, from 0
  std::string id;           // with order 0: for joining
  std::string obstacle;     // why there is none, if the members are devices that have communicators
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_TYPES_H_
