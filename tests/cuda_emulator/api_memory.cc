// Entry points: memory of devices and of the host, copies and fills, and sharing memory between processes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cuda_api.h"
#include "driver.h"

using namespace cuda_emulator;  // NOLINT: the file defines C functions only

namespace {

constexpr size_t kPage = 4096;

// A range of device memory, or of host memory that is known to the driver.
bool IsDeviceRange(CUdeviceptr address, size_t size) {
  Driver& driver = Driver::Get();
  if (Device* device = driver.OwnerOf(address)) return device->memory().Storage(address, size) != nullptr;
  return driver.host_memory.Find(reinterpret_cast<const void*>(address), size).has_value();
}

bool IsPinned(const void* address, size_t size) { return Driver::Get().host_memory.Find(address, size).has_value(); }

bool IsCapturing(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(Driver::Get().capture_mutex);
  return stream->capture != nullptr;
}

// Copies in stream order. Where memory is looked up when the copy runs: freed meanwhile, it is a fault.
CUresult SubmitCopy(const std::shared_ptr<Stream>& stream, CUdeviceptr to, CUdeviceptr from, size_t size) {
  Context* context = stream->context;
  return Submit(stream, {Work::kCopy, [=] {
                           char* target = Driver::Get().Locate(to, size);
                           const char* source = Driver::Get().Locate(from, size);
                           if (target == nullptr || source == nullptr) {
                             context->Poison(CUDA_ERROR_ILLEGAL_ADDRESS,
                                             "a copy to or from memory that was freed before it ran");
                             return;
                           }
                           std::memmove(target, source, size);
                         }});
}

// From memory that is not pinned the driver reads before it returns.
CUresult SubmitStagedCopy(const std::shared_ptr<Stream>& stream, CUdeviceptr to, const void* from, size_t size) {
  auto staged = std::make_shared<std::string>(static_cast<const char*>(from), size);
  Context* context = stream->context;
  return Submit(stream, {Work::kCopy, [=] {
                           char* target = Driver::Get().Locate(to, size);
                           if (target == nullptr) {
                             context->Poison(CUDA_ERROR_ILLEGAL_ADDRESS,
                                             "a copy to memory that was freed before it ran");
                             return;
                           }
                           std::memcpy(target, staged->data(), size);
                         }});
}

enum class Side { kDevice, kHost, kAny };

CUresult CopyAsync(Side to_side, CUdeviceptr to, Side from_side, CUdeviceptr from, size_t size, CUstream handle,
                   bool wait) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Stream> stream;
  if (CUresult error = FindStream(handle, context, &stream)) return error;
  if (size == 0) return CUDA_SUCCESS;
  Driver& driver = Driver::Get();
  const bool to_device = to_side == Side::kDevice || (to_side == Side::kAny && driver.OwnerOf(to) != nullptr);
  const bool from_device = from_side == Side::kDevice || (from_side == Side::kAny && driver.OwnerOf(from) != nullptr);
  if (to == 0 || from == 0) return CUDA_ERROR_INVALID_VALUE;
  if (to_device && !IsDeviceRange(to, size)) return CUDA_ERROR_INVALID_VALUE;
  if (from_device && !IsDeviceRange(from, size)) return CUDA_ERROR_INVALID_VALUE;
  if (!to_device && driver.OwnerOf(to) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!from_device && driver.OwnerOf(from) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool capturing = IsCapturing(stream);
  if (capturing && wait) return CheckUnsafeCall();
  const bool from_pageable = !from_device && !IsPinned(reinterpret_cast<const void*>(from), size);
  const bool to_pageable = !to_device && !IsPinned(reinterpret_cast<const void*>(to), size);
  CUresult error = from_pageable && !capturing ? SubmitStagedCopy(stream, to, reinterpret_cast<const void*>(from), size)
                                               : SubmitCopy(stream, to, from, size);
  if (error != CUDA_SUCCESS || capturing || !(wait || to_pageable)) return error;
  stream->WaitFor(stream->Submitted());
  return context->status();
}

template <class T>
CUresult FillAsync(CUdeviceptr to, T value, size_t count, CUstream handle) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Stream> stream;
  if (CUresult error = FindStream(handle, context, &stream)) return error;
  if (count == 0) return CUDA_SUCCESS;
  if (to % sizeof(T) != 0 || count > SIZE_MAX / sizeof(T) || !IsDeviceRange(to, count * sizeof(T)))
    return CUDA_ERROR_INVALID_VALUE;
  return Submit(stream, {Work::kSet, [=] {
                           T* target = reinterpret_cast<T*>(Driver::Get().Locate(to, count * sizeof(T)));
                           if (target == nullptr) {
                             context->Poison(CUDA_ERROR_ILLEGAL_ADDRESS,
                                             "a fill of memory that was freed before it ran");
                             return;
                           }
                           std::fill_n(target, count, value);
                         }});
}

CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// What is in a CUipcMemHandle.
struct IpcHandle {
  char magic[8];
  int32_t process;
  int32_t file;
  uint64_t offset;
  uint64_t size;
  int32_t device;
};
static_assert(sizeof(IpcHandle) <= sizeof(CUipcMemHandle));

}  // namespace

CU_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  const DeviceMemory& memory = context->device->memory();
  if (free != nullptr) *free = memory.limit() - memory.used();
  if (total != nullptr) *total = memory.limit();
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t size) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (address == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = CheckUnsafeCall()) return error;
  *address = context->device->memory().Allocate(size);
  return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CU_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (address == 0) return CUDA_SUCCESS;
  if (CUresult error = CheckUnsafeCall()) return error;
  Device* owner = Driver::Get().OwnerOf(address);
  if (owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto range = owner->memory().Find(address);
  if (!range || range->begin != address) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = owner->context.Synchronize()) return error;
  return owner->memory().Free(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  Device* owner = Driver::Get().OwnerOf(address);
  const auto range = owner != nullptr ? owner->memory().Find(address) : std::nullopt;
  if (!range) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = range->begin;
  if (size != nullptr) *size = range->size;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (pointer == nullptr || size == 0 || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = CheckUnsafeCall()) return error;
  void* memory = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Driver::Get().host_memory.Add(memory, {size, true, flags, context});
  *pointer = memory;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuMemAllocHost_v2(void** pointer, size_t size) { return cuMemHostAlloc(pointer, size, 0); }

CU_EXPORT CUresult cuMemFreeHost(void* pointer) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (CUresult error = CheckUnsafeCall()) return error;
  const auto block = Driver::Get().host_memory.Find(pointer, 1);
  if (!block || block->first != pointer || !block->second.is_allocated) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = context->Synchronize()) return error;
  Driver::Get().host_memory.Remove(pointer, true);
  std::free(pointer);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (Driver::Get().OwnerOf(Address(pointer)) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Driver::Get().host_memory.Add(pointer, {size, false, flags, context})
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CU_EXPORT CUresult cuMemHostUnregister(void* pointer) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (CUresult error = context->Synchronize()) return error;
  return Driver::Get().host_memory.Remove(pointer, false) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CU_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (address == nullptr || flags != 0 || !IsPinned(pointer, 1)) return CUDA_ERROR_INVALID_VALUE;
  *address = Address(pointer);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuPointerGetAttribute(void* data, int attribute, CUdeviceptr address) {
  if (!Driver::Get().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& driver = Driver::Get();
  Device* owner = driver.OwnerOf(address);
  const auto range = owner != nullptr ? owner->memory().Find(address) : std::nullopt;
  const auto host = driver.host_memory.Find(reinterpret_cast<const void*>(address), 1);
  if (!range && !host) return CUDA_ERROR_INVALID_VALUE;
  Context* context = range ? &owner->context : host->second.context;
  switch (attribute) {
    case 1:  // context
      *static_cast<CUcontext*>(data) = reinterpret_cast<CUcontext>(context);
      return CUDA_SUCCESS;
    case 2:  // kind of memory: host or device
      *static_cast<unsigned*>(data) = range ? 2 : 1;
      return CUDA_SUCCESS;
    case 3:  // as the device sees it
      *static_cast<CUdeviceptr*>(data) = address;
      return CUDA_SUCCESS;
    case 4:  // as the host sees it
      if (range) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(data) = reinterpret_cast<void*>(address);
      return CUDA_SUCCESS;
    case 7:  // a number of the allocation
      *static_cast<unsigned long long*>(data) = range ? range->begin : Address(host->first);
      return CUDA_SUCCESS;
    case 8:  // managed
      *static_cast<bool*>(data) = false;
      return CUDA_SUCCESS;
    case 9:  // device
      *static_cast<int*>(data) = context->device->ordinal;
      return CUDA_SUCCESS;
    case 10:  // IPC
      *static_cast<bool*>(data) = range.has_value();
      return CUDA_SUCCESS;
    case 11:  // where the allocation begins
      *static_cast<CUdeviceptr*>(data) = range ? range->begin : Address(host->first);
      return CUDA_SUCCESS;
    case 12:  // its size
      *static_cast<size_t*>(data) = range ? range->size : host->second.size;
      return CUDA_SUCCESS;
    case 13:  // mapped
      *static_cast<bool*>(data) = true;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CU_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size, CUstream stream) {
  return CopyAsync(Side::kDevice, to, Side::kHost, Address(from), size, stream, false);
}
CU_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size, CUstream stream) {
  return CopyAsync(Side::kHost, Address(to), Side::kDevice, from, size, stream, false);
}
CU_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return CopyAsync(Side::kDevice, to, Side::kDevice, from, size, stream, false);
}
CU_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return CopyAsync(Side::kAny, to, Side::kAny, from, size, stream, false);
}
CU_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size) {
  return CopyAsync(Side::kDevice, to, Side::kHost, Address(from), size, nullptr, true);
}
CU_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  return CopyAsync(Side::kHost, Address(to), Side::kDevice, from, size, nullptr, true);
}
CU_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyAsync(Side::kDevice, to, Side::kDevice, from, size, nullptr, false);
}
CU_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyAsync(Side::kAny, to, Side::kAny, from, size, nullptr, true);
}

CU_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                     size_t size, CUstream stream) {
  Driver& driver = Driver::Get();
  if (driver.FindContext(to_context) == nullptr || driver.FindContext(from_context) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return CopyAsync(Side::kDevice, to, Side::kDevice, from, size, stream, false);
}

CU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return FillAsync(to, value, count, stream);
}
CU_EXPORT CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return FillAsync(to, value, count, stream);
}
CU_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return FillAsync(to, value, count, stream);
}

CU_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return cuMemsetD8Async(to, value, count, nullptr);
}
CU_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return cuMemsetD16Async(to, value, count, nullptr);
}
CU_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return cuMemsetD32Async(to, value, count, nullptr);
}

CU_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  Device* owner = Driver::Get().OwnerOf(address);
  const auto range = owner != nullptr ? owner->memory().Find(address) : std::nullopt;
  if (handle == nullptr || !range) return CUDA_ERROR_INVALID_VALUE;
  IpcHandle contents = {{'e', 'm', 'u', 'l', 'a', 't', 'e', 'd'}, getpid(),    owner->memory().file(),
                        owner->memory().OffsetOf(range->begin),   range->size, owner->number};
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &contents, sizeof(contents));
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (address == nullptr || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  IpcHandle contents;
  std::memcpy(&contents, &handle, sizeof(contents));
  if (std::memcmp(contents.magic, "emulated", 8) != 0) return CUDA_ERROR_INVALID_HANDLE;
  if (contents.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;  // not for the process that made it
  const std::string path = "/proc/" + std::to_string(contents.process) + "/fd/" + std::to_string(contents.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return CUDA_ERROR_MAP_FAILED;
  *address = context->device->memory().MapForeign(file, contents.offset, contents.size);
  close(file);
  return *address == 0 ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

CU_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (CUresult error = context->Synchronize()) return error;
  return context->device->memory().UnmapForeign(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// For libraries that stand in for NVIDIA's: where memory of a device, or pinned memory, really is; null if it is none.
CU_EXPORT void* cuEmulatorHostAddress(CUdeviceptr address) {
  Driver& driver = Driver::Get();
  if (Device* device = driver.OwnerOf(address)) return device->memory().Storage(address, 1);
  return driver.host_memory.Find(reinterpret_cast<const void*>(address), 1) ? reinterpret_cast<void*>(address)
                                                                            : nullptr;
}
