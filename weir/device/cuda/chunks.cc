// CudaDevice as a ChunkDevice: chunks of collectives between the GPUs of a process never see the host.
#include <map>

#include "weir/base/strings.h"
#include "weir/device/cuda/communicator.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/device/cuda/device_code/chunks.cuh";
constexpr int kBlocksPerMultiprocessor = 8;

class CudaChunks : public ChunkArithmetic, public CommunicatorSource {
 public:
  explicit CudaChunks(std::shared_ptr<CudaRun> run) : run_(std::move(run)) {}

  Status Merge(ChunkMerge op, const Tensor& own, const Tensor& received, Tensor out) override {
    Tensor near = received;
    WEIR_RETURN_IF_ERROR(Reach(&near, /*for_kernel=*/true));
    const int64_t n = out.num_elements();
    const DeviceAddress a = Address(own), b = Address(near), c = Address(out);
    WEIR_RETURN_IF_ERROR(
        Call(Cat("Merge<", DeviceTypeName(out.dtype()), ", ", static_cast<int>(op), ">"), n, a, b, c, n));
    return Keep(near);
  }

  Status Divide(Tensor values, int divisor) override {
    const int64_t n = values.num_elements();
    return Call(Cat("Divide<", DeviceTypeName(values.dtype()), ">"), n, Address(values), int32_t{divisor}, n);
  }

  Status Copy(const Tensor& from, Tensor to) override {
    const DeviceAddress a = Address(from), b = Address(to);
    if (a == b || to.num_bytes() == 0) return OkStatus();
    CudaParts* const home = PartsOf(from);
    if (home == nullptr) return Internal("A chunk is in the memory of no GPU");
    Tensor source = from;
    WEIR_RETURN_IF_ERROR(Reach(&source, /*for_kernel=*/false));
    UseContext(parts().gpu->context());
    run_->NoteWork();
    const StreamHandle stream = parts().compute->handle();
    WEIR_RETURN_IF_CUDA_ERROR(
        home->gpu == parts().gpu
            ? Driver().MemcpyDtoDAsync(b, a, to.num_bytes(), stream)
            : Driver().MemcpyPeerAsync(b, parts().gpu->context(), a, home->gpu->context(), to.num_bytes(), stream),
        "copying a chunk between GPUs");
    return Keep(source);
  }

  StatusOr<std::string> CommunicatorCard() override { return cuda::CommunicatorCard(*parts().gpu); }
  StatusOr<std::shared_ptr<DeviceMoment>> Mark() override { return MarkMoment(run_); }

 private:
  CudaParts& parts() { return run_->parts(); }

  // Orders this device's work after what makes the chunk. Kernels read the memory of their own card only.
  Status Reach(Tensor* chunk, bool for_kernel) {
    WEIR_RETURN_IF_ERROR(parts().health());
    CudaParts* const home = PartsOf(*chunk);
    if (home == nullptr) return Internal("A chunk is in the memory of no GPU");
    if (home == &parts()) return OkStatus();
    WEIR_RETURN_IF_ERROR(home->health());
    WEIR_RETURN_IF_ERROR(parts().compute->WaitFor(*home->compute));
    if (!for_kernel || home->gpu == parts().gpu) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor near, Tensor::Allocate(chunk->dtype(), chunk->shape(), parts().memory.get()));
    WEIR_RETURN_IF_ERROR(Copy(*chunk, near));
    *chunk = std::move(near);
    return OkStatus();
  }

  // Memory of others comes back to them only when this device has read it.
  Status Keep(const Tensor& chunk) {
    if (PartsOf(chunk) != &parts()) parts().HoldForCompute({chunk});
    return OkStatus();
  }

  template <typename... Args>
  Status Call(const std::string& name, int64_t n, const Args&... args) {
    if (n == 0) return OkStatus();
    WEIR_RETURN_IF_ERROR(parts().health());
    WEIR_ASSIGN_OR_RETURN(FunctionHandle function, parts().gpu->programs().Get(kSource, name));
    UseContext(parts().gpu->context());
    run_->NoteWork();
    const int64_t most = int64_t{parts().gpu->multiprocessors()} * kBlocksPerMultiprocessor;
    const auto grid = static_cast<unsigned>(std::min((n + kBlockThreads - 1) / kBlockThreads, most));
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&args))..., nullptr};
    return CheckDriver(Driver().LaunchKernel(function, grid, 1, 1, kBlockThreads, 1, 1, 0, parts().compute->handle(),
                                             pointers, nullptr),
                       "merging chunks");
  }

  const std::shared_ptr<CudaRun> run_;
};

// Whose memory is whose.
struct Homes {
  absl::Mutex mu;
  std::map<const Allocator*, CudaParts*> parts ABSL_GUARDED_BY(mu);
};

Homes& AllHomes() {
  static auto* const homes = new Homes;
  return *homes;
}

}  // namespace

CudaParts* PartsOf(const Tensor& tensor) {
  const Allocator* memory = tensor.device_allocator();
  if (memory == nullptr) return nullptr;
  Homes& homes = AllHomes();
  absl::MutexLock lock(&homes.mu);
  auto found = homes.parts.find(memory);
  return found == homes.parts.end() ? nullptr : found->second;
}

void CudaParts::Announce() {
  Homes& homes = AllHomes();
  absl::MutexLock lock(&homes.mu);
  homes.parts[memory.get()] = this;
}

CudaParts::~CudaParts() {
  if (memory == nullptr) return;
  Homes& homes = AllHomes();
  absl::MutexLock lock(&homes.mu);
  homes.parts.erase(memory.get());
}

std::shared_ptr<ChunkArithmetic> CudaDevice::ChunksOf(DeviceRun& run) {
  return std::make_shared<CudaChunks>(static_cast<CudaRun&>(run).shared_from_this());
}

}  // namespace weir::cuda
