// CollectiveDomain: the collectives of one task. Kernels bring their calls here; peers' requests end in its tables.
//
// A call goes through three stages, none of which blocks a thread, and each of which ends with the call's deadline:
//
//   1. the group: known from an earlier call, or formed by the leader's GroupTable;
//   2. the round: all members meet at the RoundTable of the task of rank 0 and agree on what they do. In a group with
//      members of TensorFlow's there is no such table: the leader is told of the instance once (InstanceTable), and the
//      step's id stands for the round, as TensorFlow's tasks do it;
//   3. the data: the algorithm (algorithm.h) moves chunks between the ChunkTables of the members' tasks.
//
// A failure is confined to the round: the member that fails ends its own round with the error, so that those who fetch
// data from it hear of it, and so on around the ring. The next round starts clean.
#ifndef WEIR_COLLECTIVE_DOMAIN_H_
#define WEIR_COLLECTIVE_DOMAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/collective/chunk_table.h"
#include "weir/collective/group_table.h"
#include "weir/collective/instance_table.h"
#include "weir/collective/round_table.h"
#include "weir/collective/types.h"
#include "weir/framework/chunk_arithmetic.h"
#include "weir/framework/device.h"
#include "weir/tensor/tensor.h"

namespace weir {

// A chunk that is fetched from another task.
struct ChunkRequest {
  uint64_t round = 0;
  std::string key;
  const CollectiveMember* sender = nullptr;
  const CollectiveMember* receiver = nullptr;
};

// The other tasks, whatever carries the calls. Nothing blocks; each `done` is called once. Thread-safe.
class CollectivePeers {
 public:
  virtual ~CollectivePeers() = default;
  virtual void CompleteGroup(const std::string& task, const GroupJoin& join, CancellationManager* cancellation,
                             GroupTable::Done done) = 0;
  virtual void CompleteInstance(const std::string& task, const InstanceJoin& join, CancellationManager* cancellation,
                                InstanceTable::Done done) = 0;
  virtual void JoinRound(const CollectiveMember& coordinator, const RoundJoin& join, CancellationManager* cancellation,
                         RoundTable::Done done) = 0;
  // The chunk's bytes are put into `into`, which is as large as the chunk.
  virtual void FetchChunk(const ChunkRequest& request, Tensor into, CancellationManager* cancellation,
                          std::function<void(Status)> done) = 0;
  // The id that the leader gives the next step with this graph key.
  virtual void GetStepSequence(const std::string& task, int64_t graph_key,
                               std::function<void(StatusOr<int64_t>)> done) = 0;
  // UNAVAILABLE if the member's task is not there, ABORTED if it has restarted.
  virtual void Probe(const CollectiveMember& member, std::function<void(Status)> done) = 0;
};

struct CollectiveCall {
  std::string name;  // of the node
  const DeviceInfo* device = nullptr;
  int32_t group_key = 0;
  int32_t group_size = 0;
  int32_t instance_key = 0;
  int user_rank = -1;
  uint64_t frame_id = 0;
  int64_t iteration = 0;
  int64_t step_id = 0;
  CollectiveSpec spec;
  Tensor input;                                   // no value: a broadcast's receiver
  absl::Duration timeout = absl::ZeroDuration();  // zero: the domain's
  absl::Time step_deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // lives until `done`; may be null
  Allocator* allocator = CpuAllocator();
  // Set if the member's tensors are in the memory of a device: they stay there if all members are devices of its type
  // in this process, and else go through the host.
  Device* home = nullptr;
  DeviceRun* device_run = nullptr;
  std::shared_ptr<ChunkArithmetic> arithmetic;
  std::function<void(std::function<void()>)> runner;  // where large chunks are merged
};

struct CollectiveDomainOptions {
  std::string task = "/job:localhost/replica:0/task:0";
  std::string leader;                          // a task; empty: this one
  std::vector<std::string> tasks;              // of the cluster, for messages
  absl::Duration timeout = absl::Minutes(10);  // of calls that give none
};

// Thread-safe.
class CollectiveDomain : public std::enable_shared_from_this<CollectiveDomain> {
 public:
  // `peers` may be null: all members are in this task. Otherwise they live until Close().
  static std::shared_ptr<CollectiveDomain> Make(CollectiveDomainOptions options, CollectivePeers* peers);

  // The domain of a device: that of its server, or else the one of this process.
  static std::shared_ptr<CollectiveDomain> Of(const DeviceInfo& device);
  // Makes this the domain of a server's devices, until Close().
  void Adopt(const std::vector<std::shared_ptr<Device>>& devices);
  // Ends all calls, and uses the peers no more.
  void Close();

  using Done = std::function<void(StatusOr<Tensor>)>;
  // `done` is called once, from any thread.
  void Execute(CollectiveCall call, Done done);
  // Forms or finds the group without running anything.
  void ResolveGroup(const GroupJoin& join, CancellationManager* cancellation, GroupTable::Done done);

  // In a cluster with TensorFlow's tasks all masters must give a step the same id. This is the next one for the graph
  // key, as the leader counts; EndStep says that such a step has succeeded.
  void NextStepId(int64_t graph_key, std::function<void(StatusOr<int64_t>)> done);
  void EndStep(int64_t graph_key, int64_t step_id) { sequences_.Retire(graph_key, step_id); }

  const CollectiveDomainOptions& options() const { return options_; }
  GroupTable& groups() { return *groups_; }
  RoundTable& rounds() { return *rounds_; }
  ChunkTable& chunks() { return chunks_; }
  InstanceTable& instances() { return *instances_; }
  StepSequences& sequences() { return sequences_; }

  // The stages of a call; for the algorithms.
  bool IsHere(const CollectiveMember& member) const {
    return is_alone_ || TaskOfMember(member.device) == options_.task;
  }
  CollectivePeers* peers() const;
  // Known groups are asked for again after an error that may be due to a restarted member.
  void ForgetGroup(const CollectiveGroup& group);
  void FindInstance(const GroupPtr& group, const CollectiveCall& call, CancellationManager* cancellation,
                    InstanceTable::Done done);
  void JoinRound(const GroupPtr& group, const RoundJoin& join, CancellationManager* cancellation,
                 RoundTable::Done done);

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
  absl::flat_hash_map<std::pair<uint64_t, int32_t>, int> known_instances_ ABSL_GUARDED_BY(mu_);  // the source's rank
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_DOMAIN_H_
