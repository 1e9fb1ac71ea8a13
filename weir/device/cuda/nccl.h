// Collectives between GPUs by NCCL.
#ifndef WEIR_DEVICE_CUDA_NCCL_H_
#define WEIR_DEVICE_CUDA_NCCL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/device/cuda/abi/nccl_abi.h"
#include "weir/device/cuda/stream.h"
#include "weir/tensor/dtype.h"

namespace weir::cuda {

// This process's rank in a group of GPUs. Calls enqueue work on the GPU's stream and return; the work waits there until
// all ranks have made the same call. All ranks make the same calls in the same order. Thread-safe.
class NcclCommunicator {
 public:
  // What rank 0 gives to the others, 128 bytes.
  static StatusOr<std::string> MakeId();
  // Blocks until all ranks have joined. NCCL wants a GPU for each rank. `context` is that of the rank's GPU.
  static StatusOr<std::unique_ptr<NcclCommunicator>> Join(ContextHandle context, const std::string& id, int ranks,
                                                          int rank);
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
  // Element [r * count, (r + 1) * count) of `from` goes to rank r, and what r sends here to the same place of `to`.
  Status AllToAll(CudaStream& stream, DType dtype, DeviceAddress from, DeviceAddress to, int64_t count);

  // The error that a peer or the network has caused, if any.
  Status AsyncStatus();
  // Ends work that waits for ranks which will never come. Later calls fail.
  void Abort();

 private:
  NcclCommunicator(const NcclFunctions& nccl, ContextHandle context, int ranks, int rank)
      : nccl_(nccl), context_(context), ranks_(ranks), rank_(rank) {}
  template <typename Call>
  Status Run(DType dtype, std::string_view what, Call call);

  const NcclFunctions& nccl_;
  const ContextHandle context_;
  const int ranks_, rank_;
  absl::Mutex mu_;
  NcclComm comm_ ABSL_GUARDED_BY(mu_) = nullptr;  // null once aborted
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_NCCL_H_
