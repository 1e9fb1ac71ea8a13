// Entry points: initialisation, devices, contexts.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "cuda_api.h"
#include "driver.h"

using namespace cuda_emulator;  // NOLINT: the file defines C functions only

namespace {

CUresult FindDevice(CUdevice ordinal, Device** device) {
  Driver& driver = Driver::Get();
  if (!driver.is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (InHostFunction()) return CUDA_ERROR_NOT_PERMITTED;
  *device = driver.FindDevice(ordinal);
  return *device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUcontext Handle(Context* context) { return reinterpret_cast<CUcontext>(context); }

// By CUdevice_attribute; those that are not named are 0.
int Attribute(const Device& device, int attribute) {
  switch (attribute) {
    case 1:  // threads a block
    case 2:
    case 3:
      return 1024;
    case 4:
      return 64;
    case 5:  // grid
      return 2147483647;
    case 6:
    case 7:
      return 65535;
    case 8:  // shared memory a block
      return 48 << 10;
    case 9:  // constant memory
      return 64 << 10;
    case 10:  // warp
      return 32;
    case 11:  // pitch
      return 2147483647;
    case 12:  // registers a block
    case 82:  // and a multiprocessor
      return 65536;
    case 13:  // clock, kHz
      return 1000000;
    case 14:  // alignment of textures
    case 30:  // and surfaces
      return 512;
    case 15:  // copies while kernels run
      return 1;
    case 16:  // multiprocessors
      return 4;
    case 19:  // mapped host memory
      return 1;
    case 21:  // textures
    case 22:
    case 70:
    case 71:
    case 73:
    case 74:
    case 77:
      return 32768;
    case 23:
      return 65536;
    case 24:
    case 25:
    case 26:
      return 16384;
    case 31:  // concurrent kernels
      return 1;
    case 33:  // PCI bus
      return device.number + 1;
    case 36:  // memory clock, kHz
      return 1000000;
    case 37:  // bus, bits
      return 512;
    case 38:  // L2 cache
      return 4 << 20;
    case 39:  // threads a multiprocessor
      return 2048;
    case 40:  // copy engines
      return 2;
    case 41:  // unified addresses
      return 1;
    case 51:  // pitch of textures
      return 32;
    case 69:
      return 268435456;
    case 72:
      return 2097120;
    case 75:  // compute capability: later than any binary is made for
    case 76:
      return 9;
    case 78:  // priorities of streams
    case 79:  // L1 cache
    case 80:
      return 1;
    case 81:  // shared memory a multiprocessor
      return 228 << 10;
    case 87:  // single to double precision
      return 2;
    case 90:  // preemption
    case 91:  // registered memory under its host pointer
    case 95:  // cooperative launches
    case 99:  // cuMemHostRegister
      return 1;
    case 97:  // shared memory a block, when asked for
      return 227 << 10;
    case 106:  // blocks a multiprocessor
      return 32;
    case 111:  // shared memory of the system, a block
      return 1 << 10;
    case 126:
      return 4;
    case 129:  // function pointers
      return 1;
    case 130:
      return 0;
    case 131:
    case 134:
      return -1;
    default:
      return 0;
  }
}

}  // namespace

CU_EXPORT CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& driver = Driver::Get();
  driver.Initialize();
  return driver.devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceGetCount(int* count) {
  if (!Driver::Get().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(Driver::Get().devices.size());
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceGet(CUdevice* result, int ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *result = ordinal;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<size_t>(length), "Emulated GPU");
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->memory_limit;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (value == nullptr || attribute < 1 || attribute > 147) return CUDA_ERROR_INVALID_VALUE;
  *value = Attribute(*device, attribute);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(uuid->bytes, "emulated-gpu-00", 15);
  uuid->bytes[15] = static_cast<char>(device->number);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (text == nullptr || length <= 12) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0", device->number + 1);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) {
  Device *device = nullptr, *peer = nullptr;
  if (CUresult error = FindDevice(from, &device)) return error;
  if (CUresult error = FindDevice(to, &peer)) return error;
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *can = device != peer;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  device->memory();
  ++device->context.uses;
  *context = Handle(&device->context);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (device->context.uses == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (device->context.uses == 1) device->context.Destroy();
  --device->context.uses;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (device->context.uses != 0) device->context.Destroy();
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  device->context.flags = flags;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  Device* device = nullptr;
  if (CUresult error = FindDevice(ordinal, &device)) return error;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->context.flags;
  *active = device->context.uses != 0;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuCtxSetCurrent(CUcontext handle) {
  if (!Driver::Get().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  Context* context = handle == nullptr ? nullptr : Driver::Get().FindContext(handle);
  if (handle != nullptr && (context == nullptr || context->uses == 0)) return CUDA_ERROR_INVALID_CONTEXT;
  return SetCurrentContext(context);
}

CU_EXPORT CUresult cuCtxGetCurrent(CUcontext* handle) {
  if (!Driver::Get().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = Handle(CurrentContext());
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuCtxGetDevice(CUdevice* ordinal) {
  Context* context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (ordinal == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ordinal = context->device->ordinal;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  Context* context = Driver::Get().FindContext(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  PushCurrentContext(context);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
  Context* context = PopCurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) *handle = Handle(context);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuCtxSynchronize() {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (CUresult error = CheckUnsafeCall()) return error;
  return context->Synchronize();
}

CU_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  Context* peer = Driver::Get().FindContext(handle);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer == context) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard lock(context->mutex);
  return context->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CU_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::lock_guard lock(context->mutex);
  return context->peers.erase(Driver::Get().FindContext(handle)) != 0 ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CU_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

// CU_LIMIT_STACK_SIZE and its kin: nothing here depends on them.
CU_EXPORT CUresult cuCtxSetLimit(int, size_t) {
  Context* context = nullptr;
  return EnterContext(&context);
}

// The newest version of a function that is there: cuMemAlloc is cuMemAlloc_v2.
CU_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, uint64_t, int* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static void* const self = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  *function = nullptr;
  for (const char* version : {"_v3", "_v2", ""}) {
    *function = dlsym(self, (std::string(symbol) + version).c_str());
    if (*function != nullptr) break;
  }
  if (status != nullptr) *status = *function != nullptr ? 0 : 1;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// NVRTC asks for tables of functions that are not public; there are none.
CU_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}
