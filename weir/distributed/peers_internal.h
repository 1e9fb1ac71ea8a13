// Peers: a task's view of its cluster: the connections to the other tasks, and the steps that the task takes part in.
// Only files of this folder include this header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_PEERS_INTERNAL_H_
#define WEIR_DISTRIBUTED_PEERS_INTERNAL_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/distributed/cluster_spec.h"
#include "weir/distributed/step_rendezvous.h"
#include "weir/distributed/tensor_fetcher_internal.h"
#include "weir/distributed/worker_client_internal.h"

namespace weir {

// Thread-safe.
class Peers {
 public:
  // `own_task` is "/job:worker/replica:0/task:0"; a cluster without tasks is this task alone. `queue` as for
  // GrpcClient, `share_memory` as for TensorFetcher. `devices` are the task's own; they outlive this object.
  Peers(std::string own_task, const ClusterSpec& cluster, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
        CallQueue* queue, bool share_memory = true, const DeviceSet* devices = nullptr);
  // Waits briefly for calls in flight and cancels the remaining ones.
  ~Peers();

  const std::string& own_task() const { return own_task_; }
  // The other tasks.
  const std::vector<std::shared_ptr<WorkerClient>>& others() const { return others_; }
  std::shared_ptr<WorkerClient> Find(std::string_view task) const;  // null if there is none
  RendezvousTable& steps() { return steps_; }

 private:
  struct Peer {
    std::shared_ptr<WorkerClient> client;
    std::unique_ptr<TensorFetcher> fetcher;
  };
  void Fetch(int64_t step_id, std::string_view key, bool to_device, CancellationManager* cancellation,
             Rendezvous::RecvValueDone done);

  const std::string own_task_;
  const DeviceSet* const devices_;  // null: tensors are received in host memory
  RendezvousTable steps_;
  std::vector<std::shared_ptr<WorkerClient>> others_;
  StringMap<Peer> by_task_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_PEERS_INTERNAL_H_
