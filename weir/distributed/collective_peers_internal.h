// GrpcCollectivePeers: the other tasks of the cluster, for collectives. Only files of this folder include this header:
// it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_COLLECTIVE_PEERS_INTERNAL_H_
#define WEIR_DISTRIBUTED_COLLECTIVE_PEERS_INTERNAL_H_

#include <string>

#include "weir/collective/domain.h"
#include "weir/distributed/peers_internal.h"

namespace weir {

// Thread-safe.
class GrpcCollectivePeers final : public CollectivePeers {
 public:
  // `peers` must outlive this object.
  explicit GrpcCollectivePeers(Peers* peers) : peers_(peers) {}

  void CompleteGroup(const std::string& task, const GroupJoin& join, CancellationManager* cancellation,
                     GroupTable::Done done) override;
  void CompleteInstance(const std::string& task, const InstanceJoin& join, CancellationManager* cancellation,
                        InstanceTable::Done done) override;
  void JoinRound(const CollectiveMember& coordinator, const RoundJoin& join, CancellationManager* cancellation,
                 RoundTable::Done done) override;
  void FetchChunk(const ChunkRequest& request, Tensor into, CancellationManager* cancellation,
                  std::function<void(Status)> done) override;
  void GetStepSequence(const std::string& task, int64_t graph_key,
                       std::function<void(StatusOr<int64_t>)> done) override;
  void Probe(const CollectiveMember& member, std::function<void(Status)> done) override;

 private:
  // INVALID_ARGUMENT if the cluster has no such task.
  StatusOr<std::shared_ptr<WorkerClient>> Find(std::string_view task) const;

  Peers* const peers_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_COLLECTIVE_PEERS_INTERNAL_H_
