// The part of the CUDA driver's binary interface (libcuda.so.1) that weir uses, declared here so that building weir
// needs no CUDA toolkit. Names of functions are the exported ones; abi_check_test.cc holds the numbers against the
// toolkit's own header where there is one.
#ifndef WEIR_DEVICE_CUDA_ABI_DRIVER_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_DRIVER_ABI_H_

#include <cstddef>

namespace weir::cuda {

using Result = int;
using Ordinal = int;
using DeviceAddress = unsigned long long;
using ContextHandle = struct ContextOpaque*;
using StreamHandle = struct StreamOpaque*;
using EventHandle = struct EventOpaque*;
using ModuleHandle = struct ModuleOpaque*;
using FunctionHandle = struct FunctionOpaque*;
using GraphHandle = struct GraphOpaque*;
using GraphExecHandle = struct GraphExecOpaque*;

struct Uuid {
  unsigned char bytes[16];
};
struct IpcMemoryHandle {
  char reserved[64];
};

inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorInvalidValue = 1;
inline constexpr Result kErrorOutOfMemory = 2;
inline constexpr Result kErrorNoDevice = 100;
inline constexpr Result kErrorNotReady = 600;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kMemHostPortable = 1;
inline constexpr unsigned kMemHostDeviceMap = 2;
inline constexpr unsigned kIpcLazyEnablePeerAccess = 1;
inline constexpr int kCaptureRelaxed = 2;

// Attributes of devices.
inline constexpr int kMaxThreadsPerBlock = 1;
inline constexpr int kClockRateKhz = 13;
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kPciBusId = 33;
inline constexpr int kMemoryClockRateKhz = 36;
inline constexpr int kMemoryBusWidth = 37;
inline constexpr int kL2CacheSize = 38;
inline constexpr int kMaxThreadsPerMultiprocessor = 39;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kMaxSharedMemoryPerBlockOptin = 97;
// Attributes of functions.
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;

// name, exported symbol, parameters
#define WEIR_CUDA_DRIVER_FUNCTIONS(X)                                                                            \
  X(Init, cuInit, (unsigned))                                                                                    \
  X(DriverGetVersion, cuDriverGetVersion, (int*))                                                                \
  X(GetErrorName, cuGetErrorName, (Result, const char**))                                                        \
  X(GetErrorString, cuGetErrorString, (Result, const char**))                                                    \
  X(DeviceGetCount, cuDeviceGetCount, (int*))                                                                    \
  X(DeviceGet, cuDeviceGet, (Ordinal*, int))                                                                     \
  X(DeviceGetName, cuDeviceGetName, (char*, int, Ordinal))                                                       \
  X(DeviceGetUuid, cuDeviceGetUuid_v2, (Uuid*, Ordinal))                                                         \
  X(DeviceGetPciBusId, cuDeviceGetPCIBusId, (char*, int, Ordinal))                                               \
  X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t*, Ordinal))                                                     \
  X(DeviceGetAttribute, cuDeviceGetAttribute, (int*, int, Ordinal))                                              \
  X(DeviceCanAccessPeer, cuDeviceCanAccessPeer, (int*, Ordinal, Ordinal))                                        \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (ContextHandle*, Ordinal))                                 \
  X(CtxSetCurrent, cuCtxSetCurrent, (ContextHandle))                                                             \
  X(CtxGetCurrent, cuCtxGetCurrent, (ContextHandle*))                                                            \
  X(CtxSynchronize, cuCtxSynchronize, ())                                                                        \
  X(CtxEnablePeerAccess, cuCtxEnablePeerAccess, (ContextHandle, unsigned))                                       \
  X(CtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int*, int*))                                        \
  X(MemGetInfo, cuMemGetInfo_v2, (size_t*, size_t*))                                                             \
  X(MemAlloc, cuMemAlloc_v2, (DeviceAddress*, size_t))                                                           \
  X(MemFree, cuMemFree_v2, (DeviceAddress))                                                                      \
  X(MemHostAlloc, cuMemHostAlloc, (void**, size_t, unsigned))                                                    \
  X(MemFreeHost, cuMemFreeHost, (void*))                                                                         \
  X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, (DeviceAddress*, void*, unsigned))                    \
  X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (DeviceAddress, const void*, size_t, StreamHandle))                   \
  X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void*, DeviceAddress, size_t, StreamHandle))                         \
  X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (DeviceAddress, DeviceAddress, size_t, StreamHandle))                 \
  X(MemcpyPeerAsync, cuMemcpyPeerAsync,                                                                          \
    (DeviceAddress, ContextHandle, DeviceAddress, ContextHandle, size_t, StreamHandle))                          \
  X(MemsetD8Async, cuMemsetD8Async, (DeviceAddress, unsigned char, size_t, StreamHandle))                        \
  X(MemsetD32Async, cuMemsetD32Async, (DeviceAddress, unsigned, size_t, StreamHandle))                           \
  X(StreamCreateWithPriority, cuStreamCreateWithPriority, (StreamHandle*, unsigned, int))                        \
  X(StreamDestroy, cuStreamDestroy_v2, (StreamHandle))                                                           \
  X(StreamWaitEvent, cuStreamWaitEvent, (StreamHandle, EventHandle, unsigned))                                   \
  X(StreamSynchronize, cuStreamSynchronize, (StreamHandle))                                                      \
  X(StreamBeginCapture, cuStreamBeginCapture_v2, (StreamHandle, int))                                            \
  X(StreamEndCapture, cuStreamEndCapture, (StreamHandle, GraphHandle*))                                          \
  X(GraphInstantiate, cuGraphInstantiateWithFlags, (GraphExecHandle*, GraphHandle, unsigned long long))          \
  X(GraphLaunch, cuGraphLaunch, (GraphExecHandle, StreamHandle))                                                 \
  X(GraphDestroy, cuGraphDestroy, (GraphHandle))                                                                 \
  X(GraphExecDestroy, cuGraphExecDestroy, (GraphExecHandle))                                                     \
  X(EventCreate, cuEventCreate, (EventHandle*, unsigned))                                                        \
  X(EventDestroy, cuEventDestroy_v2, (EventHandle))                                                              \
  X(EventRecord, cuEventRecord, (EventHandle, StreamHandle))                                                     \
  X(EventQuery, cuEventQuery, (EventHandle))                                                                     \
  X(EventSynchronize, cuEventSynchronize, (EventHandle))                                                         \
  X(EventElapsedTime, cuEventElapsedTime, (float*, EventHandle, EventHandle))                                    \
  X(ModuleLoadDataEx, cuModuleLoadDataEx, (ModuleHandle*, const void*, unsigned, int*, void**))                  \
  X(ModuleUnload, cuModuleUnload, (ModuleHandle))                                                                \
  X(ModuleGetFunction, cuModuleGetFunction, (FunctionHandle*, ModuleHandle, const char*))                        \
  X(FuncSetAttribute, cuFuncSetAttribute, (FunctionHandle, int, int))                                            \
  X(LaunchKernel, cuLaunchKernel,                                                                                \
    (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle, void**, \
     void**))                                                                                                    \
  X(IpcGetMemHandle, cuIpcGetMemHandle, (IpcMemoryHandle*, DeviceAddress))                                       \
  X(IpcOpenMemHandle, cuIpcOpenMemHandle_v2, (DeviceAddress*, IpcMemoryHandle, unsigned))                        \
  X(IpcCloseMemHandle, cuIpcCloseMemHandle, (DeviceAddress))

struct DriverFunctions {
#define WEIR_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  WEIR_CUDA_DRIVER_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_DRIVER_ABI_H_
