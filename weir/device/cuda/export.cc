// CudaDevice as a MemoryExporter, by the driver's handles for memory of other processes.
#include <unistd.h>

#include <cstring>
#include <list>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {
namespace {

// Regions of other processes that stay open; opening one takes the driver long.
constexpr size_t kMostOpen = 64;

// What travels: where a tensor is in a region of the exporter's pool.
struct Exported {
  IpcMemoryHandle region;
  uint64_t region_bytes = 0, offset = 0, bytes = 0;
  int64_t process = 0;
};

// A region of another process, mapped while somebody uses it.
struct OpenRegion {
  OpenRegion(ContextHandle context, DeviceAddress address) : context(context), address(address) {}
  ~OpenRegion() {
    UseContext(context);
    Driver().IpcCloseMemHandle(address);
  }
  OpenRegion(const OpenRegion&) = delete;
  const ContextHandle context;
  const DeviceAddress address;
};

// Those of one context, the last used in front.
struct OpenRegions {
  struct Entry {
    ContextHandle context;
    IpcMemoryHandle handle;
    std::shared_ptr<OpenRegion> region;
  };
  absl::Mutex mu;
  std::list<Entry> entries ABSL_GUARDED_BY(mu);
};

StatusOr<std::shared_ptr<OpenRegion>> Open(ContextHandle context, const IpcMemoryHandle& handle) {
  static auto* const open = new OpenRegions;
  absl::MutexLock lock(&open->mu);
  for (auto each = open->entries.begin(); each != open->entries.end(); ++each) {
    if (each->context != context || std::memcmp(&each->handle, &handle, sizeof(handle)) != 0) continue;
    open->entries.splice(open->entries.begin(), open->entries, each);
    return each->region;
  }
  UseContext(context);
  DeviceAddress address = 0;
  WEIR_RETURN_IF_CUDA_ERROR(Driver().IpcOpenMemHandle(&address, handle, kIpcLazyEnablePeerAccess),
                            "opening memory of another process");
  open->entries.push_front({context, handle, std::make_shared<OpenRegion>(context, address)});
  if (open->entries.size() > kMostOpen) open->entries.pop_back();
  return open->entries.front().region;
}

}  // namespace

StatusOr<std::string> CudaDevice::Export(const Tensor& tensor) {
  const auto [region, region_bytes] = parts_->memory->RegionOf(tensor.raw_data());
  if (region == nullptr) return Unimplemented("The tensor is not in memory of ", name());
  Exported out;
  UseContext(gpu().context());
  WEIR_RETURN_IF_CUDA_ERROR(Driver().IpcGetMemHandle(&out.region, reinterpret_cast<DeviceAddress>(region)),
                            "sharing memory of a GPU");
  out.region_bytes = region_bytes;
  out.offset = Address(tensor) - reinterpret_cast<DeviceAddress>(region);
  out.bytes = tensor.num_bytes();
  out.process = getpid();
  return std::string(reinterpret_cast<const char*>(&out), sizeof(out));
}

void CudaDevice::CopyExported(const std::string& exported, DType dtype, const Shape& shape, CopyDone done) {
  Exported from;
  if (exported.size() != sizeof(from)) return done(InvalidArgument("This is no handle of a GPU's memory"));
  std::memcpy(&from, exported.data(), sizeof(from));
  // The driver opens only memory of others.
  if (from.process == getpid()) return done(Unimplemented("The memory is this process's own"));
  std::shared_ptr<OpenRegion> region;
  auto start = [&]() -> StatusOr<Tensor> {
    WEIR_RETURN_IF_ERROR(parts_->health());
    WEIR_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(dtype, shape, allocator()));
    if (from.bytes != copy.num_bytes() || from.offset > from.region_bytes ||
        from.bytes > from.region_bytes - from.offset) {
      return InvalidArgument("A handle of ", from.bytes, " bytes at ", from.offset, " of ", from.region_bytes,
                             " does not fit a tensor of ", copy.num_bytes(), " bytes");
    }
    WEIR_ASSIGN_OR_RETURN(region, Open(gpu().context(), from.region));
    WEIR_RETURN_IF_ERROR(parts_->from_host->WaitFor(*parts_->compute));
    UseContext(gpu().context());
    WEIR_RETURN_IF_CUDA_ERROR(
        Driver().MemcpyDtoDAsync(Address(copy), region->address + from.offset, from.bytes, parts_->from_host->handle()),
        "copying from another process");
    WEIR_RETURN_IF_ERROR(parts_->compute->WaitFor(*parts_->from_host));
    return copy;
  };
  StatusOr<Tensor> copy = start();
  if (!copy.ok()) return done(copy.status());
  parts_->from_host->WhenDone([parts = parts_.get(), region = std::move(region), copy = *std::move(copy),
                               done = std::move(done)](const Status& status) mutable {
    region.reset();
    if (!status.ok()) parts->Poison(status);
    done(status.ok() ? StatusOr<Tensor>(std::move(copy)) : status);
  });
}

}  // namespace weir::cuda
