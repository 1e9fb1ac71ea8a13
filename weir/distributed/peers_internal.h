// Peers: what a task knows of its cluster: the other tasks and their connections, and the steps it takes part in. Only
// files of this folder include this header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_PEERS_INTERNAL_H_
#define WEIR_DISTRIBUTED_PEERS_INTERNAL_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "weir/distributed/cluster_spec.h"
#include "weir/distributed/step_rendezvous.h"
#include "weir/distributed/worker_client_internal.h"

namespace weir {

// A random number that is not 0, for requests, steps and sessions.
int64_t RandomId();

// Thread-safe.
class Peers {
 public:
  // `own_task` is "/job:worker/replica:0/task:0"; a cluster without tasks is this task alone.
  Peers(std::string own_task, const ClusterSpec& cluster, const std::shared_ptr<grpc::ChannelCredentials>& credentials);
  // Waits for calls on their way, shortly; those that are left are cancelled.
  ~Peers();

  const std::string& own_task() const { return own_task_; }
  // The tasks beside this one.
  const std::vector<std::shared_ptr<WorkerClient>>& others() const { return others_; }
  std::shared_ptr<WorkerClient> Find(std::string_view task) const;  // null if there is none
  RendezvousTable& steps() { return steps_; }

 private:
  struct Fetching;
  void Fetch(int64_t step_id, std::string_view key, CancellationManager* cancellation, Rendezvous::RecvDone done);
  // Asks for the tensor in the way that `url` and `value` name; an answer without an error goes to `take`.
  using Take = void (Peers::*)(const std::shared_ptr<Fetching>& fetching, grpc::ByteBuffer& response);
  void Ask(const std::shared_ptr<Fetching>& fetching, std::string_view url, const std::string& value, Take take);
  void TakeTensor(const std::shared_ptr<Fetching>& fetching, grpc::ByteBuffer& response);
  void Count(const Fetching& fetching, const Tensor& tensor);
  void CopyFromHost(const std::shared_ptr<Fetching>& fetching, const HostMemory& memory);
  void CopyInPieces(const std::shared_ptr<Fetching>& fetching, const HostMemory& memory);
  void AskPiece(const std::shared_ptr<Fetching>& fetching);
  void TakePiece(const std::shared_ptr<Fetching>& fetching, grpc::ByteBuffer& response);
  void FinishCopy(const Fetching& fetching, StatusOr<Tensor> tensor);

  const std::string own_task_;
  std::vector<std::shared_ptr<WorkerClient>> others_;
  StringMap<std::shared_ptr<WorkerClient>> by_task_;
  std::atomic<bool> share_memory_{true};  // with tasks of this machine; until the system refuses it
  RendezvousTable steps_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_PEERS_INTERNAL_H_
