// CollectiveDomain: the collectives of one task. Its kernels start calls here, and its tables serve the requests of
// peers.
//
// A call goes through three stages, none of which blocks a thread, and each of which ends with the call's deadline:
//
//   1. the group: known from an earlier call, or formed by the leader's GroupTable;
//   2. the round: all members meet at the RoundTable of the task of rank 0 and agree on the operation. A group with
//      members that run TensorFlow has no such table: as TensorFlow's tasks do, the leader is told of each instance
//      once (InstanceTable), and the step's id identifies the round;
//   3. the data: the algorithm (algorithm.h) moves chunks between the ChunkTables of the members' tasks; or, if the
//      members are devices with a communicator (NCCL, for GPUs), that does all of it (device_seat.h).
//
// A failure is confined to the round: the member that fails ends its own round with the error, so that the members that
// fetch data from it also fail, and so on around the ring. The next round starts clean.
#ifndef WEIR_COLLECTIVE_DOMAIN_H_
#define WEIR_COLLECTIVE_DOMAIN_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/collective/chunk_table.h"
#include "weir/collective/device_seat.h"
#include "weir/collective/group_table.h"
#include "weir/collective/instance_table.h"
#include "weir/collective/round_table.h"
#include "weir/collective/types.h"
#include "weir/framework/chunk_arithmetic.h"
#include "weir/framework/device.h"
#include "weir/tensor/tensor.h"

namespace weir {

// A request for a chunk from another task.
struct ChunkRequest {
  uint64_t round = 0;
  std::string key;
  const CollectiveMember* sender = nullptr;
  const CollectiveMember* receiver = nullptr;
};

// The other tasks, independent of the transport. Calls never block; each `done` is called once. Thread-safe.
class CollectivePeers {
 public:
  virtual ~CollectivePeers() = default;
  virtual void CompleteGroup(const std::string& task, const GroupJoin& join, CancellationManager* cancellation,
                             GroupTable::Done done) = 0;
  virtual void CompleteInstance(const std::string& task, const InstanceJoin& join, CancellationManager* cancellation,
                                InstanceTable::Done done) = 0;
  virtual void JoinRound(const CollectiveMember& coordinator, const RoundJoin& join, CancellationManager* cancellation,
                         RoundTable::Done done) = 0;
  // Copies the chunk's bytes into `into`, which has the size of the chunk.
  virtual void FetchChunk(const ChunkRequest& request, Tensor into, CancellationManager* cancellation,
                          std::function<void(Status)> done) = 0;
  // Asks the leader for the id of the next step with this graph key.
  virtual void GetStepSequence(const std::string& task, int64_t graph_key,
                               std::function<void(StatusOr<int64_t>)> done) = 0;
  // UNAVAILABLE if the member's task does not answer, ABORTED if it has restarted.
  virtual void Probe(const CollectiveMember& member, std::function<void(Status)> done) = 0;
};

struct CollectiveCall {
  std::string name;  // the name of the node
  const DeviceInfo* device = nullptr;
  int32_t group_key = 0;
  int32_t group_size = 0;
  int32_t instance_key = 0;
  int user_rank = -1;
  uint64_t frame_id = 0;
  int64_t iteration = 0;
  int64_t step_id = 0;
  CollectiveSpec spec;
  Tensor input;                                   // without a value for a receiver of a broadcast
  absl::Duration timeout = absl::ZeroDuration();  // zero: the domain's timeout
  absl::Time step_deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // must live until `done` is called; may be null
  Allocator* allocator = CpuAllocator();
  // Set if the member's tensors are in the memory of a device. They stay there if the members' devices have a
  // communicator (device_seat.h), or if all members are devices of its type in this process; otherwise the data goes
  // through host memory.
  Device* home = nullptr;
  DeviceRun* device_run = nullptr;
  std::shared_ptr<ChunkArithmetic> arithmetic;
  bool deterministic = false;  // sums are added in the order of algorithm.h: without a communicator
  std::function<void(std::function<void()>)> runner;  // runs merges of large chunks
};

struct CollectiveDomainOptions {
  std::string task = "/job:localhost/replica:0/task:0";
  std::string leader;                          // the leader's task; empty: this one
  std::vector<std::string> tasks;              // the tasks of the cluster, for messages
  absl::Duration timeout = absl::Minutes(10);  // for calls without one of their own
};

// Thread-safe.
class CollectiveDomain : public std::enable_shared_from_this<CollectiveDomain> {
 public:
  // `peers` may be null, if all members are in this task; otherwise it must live until Close().
  static std::shared_ptr<CollectiveDomain> Make(CollectiveDomainOptions options, CollectivePeers* peers);

  // The domain of a device: that of its server, else the domain of this process.
  static std::shared_ptr<CollectiveDomain> Of(const DeviceInfo& device);
  // Makes this the domain of a server's devices until Close().
  void Adopt(const std::vector<std::shared_ptr<Device>>& devices);
  // Ends all calls. The peers are not used any more.
  void Close();

  using Done = std::function<void(StatusOr<Tensor>)>;
  // `done` is called once, on any thread.
  void Execute(CollectiveCall call, Done done);
  // Forms or finds the group without running a collective.
  void ResolveGroup(const GroupJoin& join, CancellationManager* cancellation, GroupTable::Done done);

  // In a cluster with tasks that run TensorFlow, all masters must give a step the same id. NextStepId returns the
  // leader's next id for the graph key; EndStep records that this step has succeeded.
  void NextStepId(int64_t graph_key, std::function<void(StatusOr<int64_t>)> done);
  void EndStep(int64_t graph_key, int64_t step_id) { sequences_.Retire(graph_key, step_id); }

  const CollectiveDomainOptions& options() const { return options_; }
  GroupTable& groups() { return *groups_; }
  RoundTable& rounds() { return *rounds_; }
  ChunkTable& chunks() { return chunks_; }
  InstanceTable& instances() { return *instances_; }
  StepSequences& sequences() { return sequences_; }

  // The stages of a call, and helpers for the algorithms.
  bool IsHere(const CollectiveMember& member) const {
    return is_alone_ || TaskOfMember(member.device) == options_.task;
  }
  CollectivePeers* peers() const;
  // Drops a known group after an error that may be due to a restarted member, so that the next call forms it again.
  void ForgetGroup(const CollectiveGroup& group);
  void FindInstance(const GroupPtr& group, const CollectiveCall& call, CancellationManager* cancellation,
                    InstanceTable::Done done);
  void JoinRound(const GroupPtr& group, const RoundJoin& join, CancellationManager* cancellation,
                 RoundTable::Done done);
  // A member's seat, which lives until the group is formed anew.
  std::shared_ptr<DeviceSeat> SeatOf(const GroupPtr& group, int rank);

 private:
  CollectiveDomain(CollectiveDomainOptions options, CollectivePeers* peers)
      : options_(std::move(options)), is_alone_(peers == nullptr), peers_(peers) {}
  bool IsLeader() const { return is_alone_ || options_.leader.empty() || options_.leader == options_.task; }
  GroupPtr FindGroup(int32_t key, uint64_t id) const;

  const CollectiveDomainOptions options_;
  const bool is_alone_;
  std::shared_ptr<GroupTable> groups_;
  std::shared_ptr<RoundTable> rounds_;
  std::shared_ptr<InstanceTable> instances_;
  ChunkTable chunks_;
  StepSequences sequences_;
  mutable absl::Mutex mu_;
  CollectivePeers* peers_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> adopted_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<int32_t, GroupPtr> known_groups_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<GroupPtr, int>, std::shared_ptr<DeviceSeat>> seats_ ABSL_GUARDED_BY(mu_);   // by group and rank
  absl::flat_hash_map<std::pair<uint64_t, int32_t>, int> known_instances_ ABSL_GUARDED_BY(mu_);  // the source's rank
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_DOMAIN_H_
