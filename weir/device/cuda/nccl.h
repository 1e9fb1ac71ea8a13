// Collectives between GPUs by NCCL.
#ifndef WEIR_DEVICE_CUDA_NCCL_H_
#define WEIR_DEVICE_CUDA_NCCL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/device/cuda/abi/nccl_abi.h"
#include "weir/device/cuda/stream.h"
#include "weir/tensor/dtype.h"

namespace weir::cuda {

// OK if NCCL can be loaded; else says what to install.
Status CheckNcclLoads();

// This process's rank in a group of GPUs. Calls enqueue work on the GPU's stream and return; the work waits there until
// all ranks have made the same call. All ranks make the same calls in the same order. Thread-safe.
//
// The communicator is one that NCCL calls "nonblocking": joining, and the first call between two ranks, which connects
// them, can be given up. While one of them waits for other ranks, `alarm` is called now and then; if it returns an
// error, the wait ends with it. Then only Abort and the destructor are of use.
class NcclCommunicator {
 public:
  using Alarm = std::function<Status()>;
  // What rank 0 gives to the others, 128 bytes. The process that made it must live until all have joined.
  static StatusOr<std::string> MakeId();
  // Blocks until all ranks have joined. NCCL wants a GPU for each rank. `context` is that of the rank's GPU.
  static StatusOr<std::unique_ptr<NcclCommunicator>> Join(ContextHandle context, const std::string& id, int ranks,
                                                          int rank, Alarm alarm = {});
  // Gives the other ranks a moment to end the calls that this one has ended.
  ~NcclCommunicator();

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // `count` elements of each rank; `to` may be `from`. UNIMPLEMENTED for types that NCCL does not have.
  Status AllReduce(CudaStream& stream, DType dtype, NcclReduction reduction, DeviceAddress from, DeviceAddress to,
                   int64_t count);
  Status Reduce(CudaStream& stream, DType dtype, NcclReduction reduction, int root, DeviceAddress from,
                DeviceAddress to, int64_t count);
  Status Broadcast(CudaStream& stream, DType dtype, int root, DeviceAddress from, DeviceAddress to, int64_t count);
  // `to` holds ranks * count elements.
  Status AllGather(CudaStream& stream, DType dtype, DeviceAddress from, DeviceAddress to, int64_t count);
  // `from` holds ranks * count elements.
  Status ReduceScatter(CudaStream& stream, DType dtype, NcclReduction reduction, DeviceAddress from, DeviceAddress to,
                       int64_t count);
  // Rank r contributes counts[r] elements; `to` holds all of them, in rank order.
  Status AllGatherV(CudaStream& stream, DType dtype, DeviceAddress from, DeviceAddress to,
                    std::span<const int64_t> counts);
  // Sends sent[r] elements to each rank r and receives received[r] elements from it, in rank order on both sides.
  Status Exchange(CudaStream& stream, DType dtype, DeviceAddress from, std::span<const int64_t> sent, DeviceAddress to,
                  std::span<const int64_t> received);

  // The error that a peer or the network has caused, if any.
  Status AsyncStatus();
  // Ends work that waits for ranks which will never come. Later calls fail.
  void Abort();

 private:
  NcclCommunicator(const NcclFunctions& nccl, ContextHandle context, int ranks, int rank, Alarm alarm)
      : nccl_(nccl), context_(context), ranks_(ranks), rank_(rank), alarm_(std::move(alarm)) {}
  template <typename Call>
  Status Run(DType dtype, std::string_view what, Call call);
  // Waits until NCCL has done what it has begun.
  Status Settle(NcclResult result, std::string_view what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const NcclFunctions& nccl_;
  const ContextHandle context_;
  const int ranks_, rank_;
  const Alarm alarm_;
  absl::Mutex mu_;
  NcclComm comm_ ABSL_GUARDED_BY(mu_) = nullptr;  // null once aborted
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_NCCL_H_
