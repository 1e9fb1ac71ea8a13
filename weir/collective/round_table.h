// RoundTable: where the members of a group meet for one run of an instance. It belongs to the task of the group's first
// member. A round begins when all members have joined and agree on the operation. Every member then gets the round's
// id, which identifies the data of the round. If they disagree, all of them get the error.
//
// Rounds of devices with communicators get the next number of the group's communicator (device_seat.h).
//
// Members that have been missing for a while are probed: a dead or restarted one ends the round.
#ifndef WEIR_COLLECTIVE_ROUND_TABLE_H_
#define WEIR_COLLECTIVE_ROUND_TABLE_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/timer.h"
#include "weir/collective/group_table.h"
#include "weir/collective/types.h"
#include "weir/collective/waiter.h"

namespace weir {

struct RoundJoin {
  int32_t group_key = 0;
  uint64_t group_id = 0;
  int32_t group_size = 0;
  int rank = 0;
  int32_t instance_key = 0;
  uint64_t frame_id = 0;
  int64_t iteration = 0;
  std::string name;  // of the node, for messages
  CollectiveSpec spec;
  SeatOffer offer;
  std::function<StatusOr<std::string>()> make_id;  // for communicators; of rank 0, in whose task the table is
  absl::Time deadline = absl::InfiniteFuture();
};

struct Round {
  uint64_t id = 0;
  int source_rank = -1;       // for a broadcast
  std::vector<Shape> shapes;  // the input shape of each member, by rank
  RoundCommunicator communicator;
};
using RoundPtr = std::shared_ptr<const Round>;

// Thread-safe.
class RoundTable : public std::enable_shared_from_this<RoundTable> {
 public:
  // The group with this key and id, if this task knows it; else null.
  using FindGroup = std::function<GroupPtr(int32_t key, uint64_t id)>;
  // Checks whether a member is alive. Also OK if that cannot be determined.
  using Probe = std::function<void(const CollectiveMember& member, std::function<void(Status)> done)>;
  RoundTable(FindGroup find_group, Probe probe) : find_group_(std::move(find_group)), probe_(std::move(probe)) {}

  using Done = std::function<void(StatusOr<RoundPtr>)>;
  // Never blocks.
  void Join(const RoundJoin& join, CancellationManager* cancellation, Done done);
  // Ends all rounds of a group.
  void FailGroup(uint64_t group_id, const Status& status);
  void Close(const Status& status);
  size_t num_open() const;

 private:
  using RoundWaiter = std::shared_ptr<Waiter<RoundPtr>>;
  using Key = std::tuple<uint64_t, int32_t, uint64_t, int64_t>;  // group id, instance, frame, iteration
  struct Seat {
    std::string name;
    CollectiveSpec spec;
    SeatOffer offer;
    std::function<StatusOr<std::string>()> make_id;
    RoundWaiter waiter;
  };
  struct Open {
    int32_t group_key = 0;
    int32_t size = 0;
    absl::Time begun;
    std::map<int, Seat> seats;  // by rank
  };
  // A round that failed before all members had joined. Each later member gets the error once.
  struct Failed {
    Status status;
    absl::Time expiry;
    std::set<int> told;
  };
  // The current communicator of a group.
  struct Communicator {
    uint64_t generation = 0;
    uint64_t next_order = 0;
    std::vector<uint64_t> doubts;  // that its members had when it was begun
    bool is_nameless = false;      // its id could not be made
  };
  struct Answers {
    std::vector<RoundWaiter> waiters;
    StatusOr<RoundPtr> value = RoundPtr();
    std::shared_ptr<Round> unnamed;  // the value, if its communicator has no id yet
    std::function<StatusOr<std::string>()> make_id;
    void Add(Open& open);
    void Send();
  };
  void JoinLocked(const RoundJoin& join, const RoundWaiter& waiter, Answers* answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Agree(const Open& open, const RoundJoin& join) const;
  Status Complete(const Open& open, const RoundJoin& join, Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  RoundCommunicator NextInCommunicator(const Open& open, const RoundJoin& join) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes the id that an answer lacks.
  void NameCommunicator(uint64_t group_id, Answers* answers);
  // Why the members cannot have a communicator; empty without a reason that anybody should hear.
  std::string Obstacle(const Open& open, const RoundJoin& join) const;
  std::string MemberName(int32_t group_key, uint64_t group_id, int rank) const;
  std::string Missing(int32_t group_key, uint64_t group_id, const Open& open) const;
  // Removes members that no longer wait.
  void Withdraw(const Key& key);
  Status Late(const Key& key, const RoundWaiter& waiter, const RoundJoin& join) const;
  // Fails the rounds that the rank has not joined.
  void FailRounds(uint64_t group_id, int rank, const Status& status);
  void ArmProbe() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ProbeMissing();

  const FindGroup find_group_;
  const Probe probe_;
  mutable absl::Mutex mu_;
  Status closed_ ABSL_GUARDED_BY(mu_);
  bool probe_armed_ ABSL_GUARDED_BY(mu_) = false;
  std::map<Key, std::list<Open>> open_ ABSL_GUARDED_BY(mu_);
  std::map<Key, std::list<Failed>> failed_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Communicator> communicators_ ABSL_GUARDED_BY(mu_);  // by group id
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_ROUND_TABLE_H_
