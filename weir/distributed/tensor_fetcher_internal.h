// TensorFetcher: fetches the tensors that one peer sends to this task. Only files of this folder include this header:
// it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_TENSOR_FETCHER_INTERNAL_H_
#define WEIR_DISTRIBUTED_TENSOR_FETCHER_INTERNAL_H_

#include <memory>
#include <string>
#include <string_view>

#include "weir/distributed/metrics.h"
#include "weir/distributed/receive_buffers.h"
#include "weir/distributed/wire/recv_tensor_messages.h"
#include "weir/distributed/worker_client_internal.h"
#include "weir/framework/rendezvous.h"

namespace weir {

// A random number that is not 0, for requests, steps and sessions.
int64_t RandomId();

// The name of the tensor in a rendezvous key, for messages: "edge_3_w" of "src;1f;dst;edge_3_w;0:0".
std::string_view EdgeName(std::string_view key);

// Thread-safe. Must outlive the calls of `client`.
class TensorFetcher {
 public:
  // With `share_memory`, large tensors of a peer on this machine are received through shared memory.
  TensorFetcher(std::shared_ptr<WorkerClient> client, bool share_memory, TaskMetrics* metrics);
  ~TensorFetcher();

  // Like FetchTensor (step_rendezvous.h). The tensor may be received in the memory of `device`; null: host memory.
  void Fetch(int64_t step_id, std::string_view key, Device* device, CancellationManager* cancellation,
             Rendezvous::RecvValueDone done);

 private:
  struct Fetching;
  using FetchingPtr = std::shared_ptr<Fetching>;
  // Requests the tensor; `take` receives the answer if there was no error.
  using Take = void (TensorFetcher::*)(const FetchingPtr& fetching, grpc::ByteBuffer& response);
  void Ask(const FetchingPtr& fetching, const RecvTransport& transport, Take take);
  void TakeAnswer(const FetchingPtr& fetching, grpc::ByteBuffer& response);
  // The tensor is in the buffer, or must be fetched as `there` describes.
  void TakeFromBuffer(const FetchingPtr& fetching, const OutOfBand& there);
  void HandBuffer(const FetchingPtr& fetching, const OutOfBand& there);
  // The tensor is in the memory of the sender's device, from which the receiver's device can copy it.
  void CopyExported(const FetchingPtr& fetching, const OutOfBand& there);
  void TakeFilled(const FetchingPtr& fetching, grpc::ByteBuffer& response);
  void FetchPieces(const FetchingPtr& fetching, const OutOfBand& there);
  void AskPiece(const FetchingPtr& fetching);
  void TakePiece(const FetchingPtr& fetching, grpc::ByteBuffer& response);
  // Tells the sender that it may release the tensor.
  void Release(const Fetching& fetching);
  void Finish(Fetching& fetching, StatusOr<Tensor> tensor, bool is_dead = false);

  // The size of the last tensor that arrived on an edge; 0 if it is unknown or small.
  size_t ExpectedBytes(std::string_view edge);
  void Expect(std::string_view edge, size_t bytes);
  // Records whether memory could be shared with the sender that listens on this socket. After several failures in a
  // row, tensors are requested over the network right away.
  void NoteFailure(const std::string& socket, const Status& reason);
  void NoteSuccess();
  bool HasFailed(const std::string& socket);

  const std::shared_ptr<WorkerClient> client_;
  TaskMetrics* const metrics_;
  const std::shared_ptr<ReceiveBuffers> buffers_;  // null: shared memory is not used
  absl::Mutex mu_;
  StringMap<size_t> expected_ ABSL_GUARDED_BY(mu_);
  std::string failed_socket_ ABSL_GUARDED_BY(mu_);
  int failures_ ABSL_GUARDED_BY(mu_) = 0;  // in a row, with failed_socket_
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_TENSOR_FETCHER_INTERNAL_H_
