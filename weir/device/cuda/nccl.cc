#include "weir/device/cuda/nccl.h"

#include <algorithm>
#include <cstring>

#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

constexpr absl::Duration kShortestPause = absl::Microseconds(20), kLongestPause = absl::Milliseconds(2);
// How long a communicator that is no longer needed waits for ranks that are still busy.
constexpr absl::Duration kFarewell = absl::Seconds(2);

StatusOr<const NcclFunctions*> LoadNccl() {
  static const auto* loaded = new StatusOr<NcclFunctions>([]() -> StatusOr<NcclFunctions> {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kNccl));
    NcclFunctions functions;
#define WEIR_LOAD_TYPED(type, member, symbol, parameters) WEIR_CUDA_LOAD(member, symbol, parameters)
    WEIR_NCCL_FUNCTIONS(WEIR_LOAD_TYPED)
#undef WEIR_LOAD_TYPED
    return functions;
  }());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

bool IsFine(NcclResult result) { return result == kNcclSuccess || result == kNcclInProgress; }

Status CheckNccl(const NcclFunctions& nccl, NcclResult result, std::string_view what) {
  if (IsFine(result)) return OkStatus();
  const std::string message = Cat(what, ": NCCL says ", nccl.GetErrorString(result));
  if (result == kNcclRemoteError || result == kNcclSystemError) return Unavailable(message);
  if (result == kNcclInvalidArgument || result == kNcclInvalidUsage) return InvalidArgument(message);
  return Internal(message);
}

StatusOr<NcclDataType> NcclTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return kNcclInt8;
    case DType::kUInt8:
    case DType::kBool:
      return kNcclUint8;
    case DType::kInt32:
      return kNcclInt32;
    case DType::kUInt32:
      return kNcclUint32;
    case DType::kInt64:
      return kNcclInt64;
    case DType::kUInt64:
      return kNcclUint64;
    case DType::kHalf:
      return kNcclFloat16;
    case DType::kFloat:
      return kNcclFloat32;
    case DType::kDouble:
      return kNcclFloat64;
    case DType::kBFloat16:
      return kNcclBfloat16;
    default:
      return Unimplemented("NCCL has no ", Name(dtype));
  }
}

void* PointerOf(DeviceAddress address) { return reinterpret_cast<void*>(address); }

}  // namespace

Status CheckNcclLoads() { return LoadNccl().status(); }

StatusOr<std::string> NcclCommunicator::MakeId() {
  WEIR_ASSIGN_OR_RETURN(const NcclFunctions* nccl, LoadNccl());
  NcclUniqueId id;
  WEIR_RETURN_IF_ERROR(CheckNccl(*nccl, nccl->GetUniqueId(&id), "making the id of a group of GPUs"));
  return std::string(id.internal, sizeof(id.internal));
}

StatusOr<std::unique_ptr<NcclCommunicator>> NcclCommunicator::Join(ContextHandle context, const std::string& id,
                                                                   int ranks, int rank, Alarm alarm) {
  NcclUniqueId unique;
  if (id.size() != sizeof(unique.internal)) return InvalidArgument("An id of NCCL has 128 bytes, not ", id.size());
  WEIR_ASSIGN_OR_RETURN(const NcclFunctions* nccl, LoadNccl());
  std::memcpy(unique.internal, id.data(), id.size());
  std::unique_ptr<NcclCommunicator> made(new NcclCommunicator(*nccl, context, ranks, rank, std::move(alarm)));
  UseContext(context);
  NcclConfig config;
  config.blocking = 0;
  Status joined;
  {
    absl::MutexLock lock(&made->mu_);
    joined =
        made->Settle(nccl->CommInitRankConfig(&made->comm_, ranks, unique, rank, &config), "joining a group of GPUs");
  }
  if (joined.ok()) return made;
  made->Abort();
  return joined;
}

NcclCommunicator::~NcclCommunicator() {
  absl::MutexLock lock(&mu_);
  if (comm_ == nullptr) return;
  UseContext(context_);
  const absl::Time until = absl::Now() + kFarewell;
  NcclResult result = nccl_.CommFinalize(comm_);
  while (result == kNcclInProgress && absl::Now() < until) {
    absl::SleepFor(kShortestPause);
    if (nccl_.CommGetAsyncError(comm_, &result) != kNcclSuccess) break;
  }
  if (result == kNcclSuccess) {
    nccl_.CommDestroy(comm_);
  } else {
    nccl_.CommAbort(comm_);
  }
}

Status NcclCommunicator::Settle(NcclResult result, std::string_view what) {
  absl::Duration pause = kShortestPause;
  while (result == kNcclInProgress) {
    if (alarm_) WEIR_RETURN_IF_ERROR(alarm_());
    absl::SleepFor(pause);
    pause = std::min(2 * pause, kLongestPause);
    WEIR_RETURN_IF_ERROR(CheckNccl(nccl_, nccl_.CommGetAsyncError(comm_, &result), what));
  }
  return CheckNccl(nccl_, result, what);
}

template <typename Call>
Status NcclCommunicator::Run(DType dtype, std::string_view what, Call call) {
  WEIR_ASSIGN_OR_RETURN(const NcclDataType type, NcclTypeOf(dtype));
  UseContext(context_);
  absl::MutexLock lock(&mu_);
  if (comm_ == nullptr) return Aborted(what, ": the group of GPUs was aborted");
  return Settle(call(comm_, type), what);
}

Status NcclCommunicator::AllReduce(CudaStream& stream, DType dtype, NcclReduction reduction, DeviceAddress from,
                                   DeviceAddress to, int64_t count) {
  return Run(dtype, "a reduction over GPUs", [&](NcclComm comm, NcclDataType type) {
    return nccl_.AllReduce(PointerOf(from), PointerOf(to), static_cast<size_t>(count), type, reduction, comm,
                           stream.handle());
  });
}

Status NcclCommunicator::Reduce(CudaStream& stream, DType dtype, NcclReduction reduction, int root, DeviceAddress from,
                                DeviceAddress to, int64_t count) {
  return Run(dtype, "a reduction to a GPU", [&](NcclComm comm, NcclDataType type) {
    return nccl_.Reduce(PointerOf(from), PointerOf(to), static_cast<size_t>(count), type, reduction, root, comm,
                        stream.handle());
  });
}

Status NcclCommunicator::Broadcast(CudaStream& stream, DType dtype, int root, DeviceAddress from, DeviceAddress to,
                                   int64_t count) {
  return Run(dtype, "a broadcast to GPUs", [&](NcclComm comm, NcclDataType type) {
    return nccl_.Broadcast(PointerOf(from), PointerOf(to), static_cast<size_t>(count), type, root, comm,
                           stream.handle());
  });
}

Status NcclCommunicator::AllGather(CudaStream& stream, DType dtype, DeviceAddress from, DeviceAddress to,
                                   int64_t count) {
  return Run(dtype, "gathering from GPUs", [&](NcclComm comm, NcclDataType type) {
    return nccl_.AllGather(PointerOf(from), PointerOf(to), static_cast<size_t>(count), type, comm, stream.handle());
  });
}

Status NcclCommunicator::ReduceScatter(CudaStream& stream, DType dtype, NcclReduction reduction, DeviceAddress from,
                                       DeviceAddress to, int64_t count) {
  return Run(dtype, "a scattered reduction over GPUs", [&](NcclComm comm, NcclDataType type) {
    return nccl_.ReduceScatter(PointerOf(from), PointerOf(to), static_cast<size_t>(count), type, reduction, comm,
                               stream.handle());
  });
}

Status NcclCommunicator::AllGatherV(CudaStream& stream, DType dtype, DeviceAddress from, DeviceAddress to,
                                    std::span<const int64_t> counts) {
  return Run(dtype, "gathering from GPUs", [&](NcclComm comm, NcclDataType type) {
    NcclResult result = nccl_.GroupStart();
    for (int root = 0; root < ranks_ && IsFine(result); ++root) {
      const int64_t count = counts[static_cast<size_t>(root)];
      if (count > 0) {
        result = nccl_.Broadcast(PointerOf(root == rank_ ? from : to), PointerOf(to), static_cast<size_t>(count), type,
                                 root, comm, stream.handle());
      }
      to += static_cast<size_t>(count) * SizeOf(dtype);
    }
    const NcclResult ended = nccl_.GroupEnd();
    return IsFine(result) ? ended : result;
  });
}

Status NcclCommunicator::Exchange(CudaStream& stream, DType dtype, DeviceAddress from, std::span<const int64_t> sent,
                                  DeviceAddress to, std::span<const int64_t> received) {
  return Run(dtype, "an exchange between GPUs", [&](NcclComm comm, NcclDataType type) {
    NcclResult result = nccl_.GroupStart();
    for (int peer = 0; peer < ranks_ && IsFine(result); ++peer) {
      const auto out = static_cast<size_t>(sent[static_cast<size_t>(peer)]);
      const auto in = static_cast<size_t>(received[static_cast<size_t>(peer)]);
      if (out > 0) result = nccl_.Send(PointerOf(from), out, type, peer, comm, stream.handle());
      if (in > 0 && IsFine(result)) {
        result = nccl_.Recv(PointerOf(to), in, type, peer, comm, stream.handle());
      }
      from += out * SizeOf(dtype);
      to += in * SizeOf(dtype);
    }
    const NcclResult ended = nccl_.GroupEnd();
    return IsFine(result) ? ended : result;
  });
}

Status NcclCommunicator::AsyncStatus() {
  absl::MutexLock lock(&mu_);
  if (comm_ == nullptr) return Aborted("The group of GPUs was aborted");
  NcclResult error = kNcclSuccess;
  WEIR_RETURN_IF_ERROR(
      CheckNccl(nccl_, nccl_.CommGetAsyncError(comm_, &error), "asking for errors of a group of GPUs"));
  return CheckNccl(nccl_, error, "a group of GPUs");
}

void NcclCommunicator::Abort() {
  absl::MutexLock lock(&mu_);
  if (comm_ == nullptr) return;
  UseContext(context_);
  nccl_.CommAbort(comm_);
  comm_ = nullptr;
}

}  // namespace weir::cuda
