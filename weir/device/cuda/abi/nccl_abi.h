// The part of NCCL's binary interface that weir uses; see cublaslt_abi.h.
#ifndef WEIR_DEVICE_CUDA_ABI_NCCL_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_NCCL_ABI_H_

#include <cstddef>

namespace weir::cuda {

enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};

enum NcclReduction : int { kNcclSum = 0, kNcclProd = 1, kNcclMax = 2, kNcclMin = 3, kNcclAvg = 4 };

enum NcclDataType : int {
  kNcclInt8 = 0,
  kNcclUint8 = 1,
  kNcclInt32 = 2,
  kNcclUint32 = 3,
  kNcclInt64 = 4,
  kNcclUint64 = 5,
  kNcclFloat16 = 6,
  kNcclFloat32 = 7,
  kNcclFloat64 = 8,
  kNcclBfloat16 = 9,
};

struct NcclUniqueId {
  char internal[128];
};

using NcclComm = struct NcclCommOpaque*;

// As NCCL 2.14 has it; later versions see from `size` and `version` which of their own fields are not set.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 1;
};

// The functions, by the names that the library exports them under after "nccl".
#define WEIR_NCCL_FUNCTIONS(X)                                                                                         \
  X(NcclResult, GetVersion, ncclGetVersion, (int* version))                                                            \
  X(NcclResult, GetUniqueId, ncclGetUniqueId, (NcclUniqueId * id))                                                     \
  X(NcclResult, CommInitRankConfig, ncclCommInitRankConfig,                                                            \
    (NcclComm * comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config))                                       \
  X(NcclResult, CommFinalize, ncclCommFinalize, (NcclComm comm))                                                       \
  X(NcclResult, CommDestroy, ncclCommDestroy, (NcclComm comm))                                                         \
  X(NcclResult, CommAbort, ncclCommAbort, (NcclComm comm))                                                             \
  X(NcclResult, CommGetAsyncError, ncclCommGetAsyncError, (NcclComm comm, NcclResult * error))                         \
  X(const char*, GetErrorString, ncclGetErrorString, (NcclResult result))                                              \
  X(NcclResult, AllReduce, ncclAllReduce,                                                                              \
    (const void* send, void* receive, size_t count, NcclDataType type, NcclReduction reduction, NcclComm comm,         \
     void* stream))                                                                                                    \
  X(NcclResult, Broadcast, ncclBroadcast,                                                                              \
    (const void* send, void* receive, size_t count, NcclDataType type, int root, NcclComm comm, void* stream))         \
  X(NcclResult, Reduce, ncclReduce,                                                                                    \
    (const void* send, void* receive, size_t count, NcclDataType type, NcclReduction reduction, int root,              \
     NcclComm comm, void* stream))                                                                                     \
  X(NcclResult, AllGather, ncclAllGather,                                                                              \
    (const void* send, void* receive, size_t send_count, NcclDataType type, NcclComm comm, void* stream))              \
  X(NcclResult, ReduceScatter, ncclReduceScatter,                                                                      \
    (const void* send, void* receive, size_t receive_count, NcclDataType type, NcclReduction reduction, NcclComm comm, \
     void* stream))                                                                                                    \
  X(NcclResult, Send, ncclSend,                                                                                        \
    (const void* send, size_t count, NcclDataType type, int peer, NcclComm comm, void* stream))                        \
  X(NcclResult, Recv, ncclRecv,                                                                                        \
    (void* receive, size_t count, NcclDataType type, int peer, NcclComm comm, void* stream))                           \
  X(NcclResult, GroupStart, ncclGroupStart, ())                                                                        \
  X(NcclResult, GroupEnd, ncclGroupEnd, ())

struct NcclFunctions {
#define WEIR_CUDA_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  WEIR_NCCL_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_NCCL_ABI_H_
