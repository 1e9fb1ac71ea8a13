// DeviceSeat: a member's side of the communicators of its group (framework/device_communicator.h: NCCL, for GPUs), and
// how the members agree on the order of their calls.
//
// NCCL matches the calls of its ranks by their order alone, but members reach instances in different orders, and some
// rounds never begin. So the order is made where rounds begin: the round table of rank 0's task (round_table.h) gives
// each round that all members have joined the next number of the group's communicator, and every member starts its
// calls in the order of these numbers, whenever it hears of them. This cannot deadlock: a round gets a number only when
// all members are in it with their inputs, so a member that waits for an earlier number waits for an answer that is
// already on its way, and never for another step. Rounds that fail before they begin have no number.
//
// Each number must be used by all members. A member that cannot use one - its step is cancelled or out of time, NCCL
// reports an error, or it does not know whether a join that it has given up was still answered - *loses* the
// communicator: it aborts its own side, and says so with its next join. A round table that hears of the loss of its
// current communicator begins a new *generation*: another communicator, with numbers from 0. Members that had joined
// the old one abort it when they hear of the new one.
//
// The members of a communicator watch each other in a ring, as long as it lives: a request for a chunk that never
// comes, but that ends with an error when the member before has lost the communicator, or its process has died. So the
// loss travels around the ring, and nobody waits in NCCL for a member that has gone. NCCL itself would not tell.
//
// Several groups with the same members have communicators of their own, whose orders are not related. Their calls are
// in streams of their own (device/cuda/communicator.h) that no other work waits for, so calls of two communicators that
// begin in different orders on different members can all proceed.
#ifndef WEIR_COLLECTIVE_DEVICE_SEAT_H_
#define WEIR_COLLECTIVE_DEVICE_SEAT_H_

#include <map>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/collective/group_table.h"
#include "weir/collective/types.h"
#include "weir/framework/device_communicator.h"

namespace weir {

class CollectiveDomain;

// Thread-safe.
class DeviceSeat : public std::enable_shared_from_this<DeviceSeat> {
 public:
  // `domain` is not used after Close.
  DeviceSeat(std::weak_ptr<CollectiveDomain> domain, GroupPtr group, int rank);

  // For the member's next join. The source must be that of the member's device.
  SeatOffer Offer(CommunicatorSource& source);
  // Runs this member's part of a round that has a communicator. `done` is called once, on any thread, which it must not
  // keep.
  void Run(const RoundCommunicator& round, DeviceCollectiveCall call, std::function<void(Status)> done);
  // Ends the generation, unless a later one is current: its calls get `reason`, and the other members hear of it.
  void Lose(uint64_t generation, const Status& reason);
  // The same for whichever generation is current: a join was given up, and it may have been answered.
  void Doubt();
  // Logs why a round has no communicator, once.
  void Explain(std::string_view obstacle);
  // Notes how a call has ended. If the library fails before it has ever worked, there will be no more communicators.
  void Learn(const Status& status);
  // Ends everything.
  void Close(const Status& reason);

 private:
  struct Waiting {
    std::string id;
    DeviceCollectiveCall call;
    std::function<void(Status)> done;
  };
  // What remains to be done with a generation that has ended, without the lock.
  struct Ended {
    uint64_t generation = 0;
    std::shared_ptr<DeviceCommunicator> communicator;
    std::map<uint64_t, Waiting> queue;
    std::shared_ptr<CancellationManager> watch;
  };
  Ended EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Settle(Ended ended, const Status& reason);
  // Tells the members that watch this one.
  void Tell(uint64_t generation, const Status& reason);
  // Starts calls whose turn it is. One thread at a time does so for all.
  void StartCalls();
  void Watch(uint64_t generation, const std::shared_ptr<CancellationManager>& watch);
  uint64_t WatchedRound(uint64_t generation) const;

  const std::weak_ptr<CollectiveDomain> domain_;
  const GroupPtr group_;
  const int rank_;
  absl::Mutex mu_;
  uint64_t lost_ ABSL_GUARDED_BY(mu_) = 0;        // the latest generation that this member has lost
  uint64_t doubts_ ABSL_GUARDED_BY(mu_) = 0;      // how often it gave up a join
  uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;  // the latest one that this member has heard of
  bool is_lost_ ABSL_GUARDED_BY(mu_) = false;
  bool is_starting_ ABSL_GUARDED_BY(mu_) = false;
  bool was_explained_ ABSL_GUARDED_BY(mu_) = false;
  bool has_worked_ ABSL_GUARDED_BY(mu_) = false;  // a communicator of this group, once
  std::string unusable_ ABSL_GUARDED_BY(mu_);     // why none will
  Status closed_ ABSL_GUARDED_BY(mu_);
  uint64_t next_order_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Waiting> queue_ ABSL_GUARDED_BY(mu_);  // by order
  std::shared_ptr<DeviceCommunicator> communicator_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<CancellationManager> watch_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_DEVICE_SEAT_H_
