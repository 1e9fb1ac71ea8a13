// The functions of the emulated driver, as its tests call them.
#ifndef WEIR_TESTS_CUDA_EMULATOR_CUDA_API_H_
#define WEIR_TESTS_CUDA_EMULATOR_CUDA_API_H_

#include "cuda_abi.h"

CU_EXPORT CUresult cuGetErrorName(CUresult error, const char** name);
CU_EXPORT CUresult cuGetErrorString(CUresult error, const char** text);
CU_EXPORT CUresult cuInit(unsigned flags);
CU_EXPORT CUresult cuDriverGetVersion(int* version);
CU_EXPORT CUresult cuDeviceGetCount(int* count);
CU_EXPORT CUresult cuDeviceGet(CUdevice* result, int ordinal);
CU_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal);
CU_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal);
CU_EXPORT CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice ordinal);
CU_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal);
CU_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice ordinal);
CU_EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to);
CU_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal);
CU_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal);
CU_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal);
CU_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags);
CU_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active);
CU_EXPORT CUresult cuCtxSetCurrent(CUcontext handle);
CU_EXPORT CUresult cuCtxGetCurrent(CUcontext* handle);
CU_EXPORT CUresult cuCtxGetDevice(CUdevice* ordinal);
CU_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle);
CU_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* handle);
CU_EXPORT CUresult cuCtxSynchronize();
CU_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags);
CU_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext handle);
CU_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);
CU_EXPORT CUresult cuCtxSetLimit(int, size_t);
CU_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, uint64_t, int* status);
CU_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* id);
CU_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total);
CU_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t size);
CU_EXPORT CUresult cuMemFree_v2(CUdeviceptr address);
CU_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address);
CU_EXPORT CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags);
CU_EXPORT CUresult cuMemAllocHost_v2(void** pointer, size_t size);
CU_EXPORT CUresult cuMemFreeHost(void* pointer);
CU_EXPORT CUresult cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags);
CU_EXPORT CUresult cuMemHostUnregister(void* pointer);
CU_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags);
CU_EXPORT CUresult cuPointerGetAttribute(void* data, int attribute, CUdeviceptr address);
CU_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size, CUstream stream);
CU_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size, CUstream stream);
CU_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
CU_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
CU_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size);
CU_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size);
CU_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size);
CU_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size);
CU_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                     size_t size, CUstream stream);
CU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CU_EXPORT CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
CU_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CU_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
CU_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count);
CU_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count);
CU_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address);
CU_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags);
CU_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address);
CU_EXPORT void* cuEmulatorHostAddress(CUdeviceptr address);
CU_EXPORT CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int priority);
CU_EXPORT CUresult cuStreamCreate(CUstream* handle, unsigned flags);
CU_EXPORT CUresult cuStreamDestroy_v2(CUstream handle);
CU_EXPORT CUresult cuStreamSynchronize(CUstream handle);
CU_EXPORT CUresult cuStreamQuery(CUstream handle);
CU_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* result);
CU_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned* flags);
CU_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* priority);
CU_EXPORT CUresult cuEventCreate(CUevent* handle, unsigned flags);
CU_EXPORT CUresult cuEventDestroy_v2(CUevent handle);
CU_EXPORT CUresult cuEventRecord(CUevent event_handle, CUstream handle);
CU_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned);
CU_EXPORT CUresult cuEventQuery(CUevent handle);
CU_EXPORT CUresult cuEventSynchronize(CUevent handle);
CU_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from_handle, CUevent to_handle);
CU_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to);
CU_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned);
CU_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data);
CU_EXPORT int cuEmulatorEnqueue(CUstream handle, void (*function)(void*), void* data);
CU_EXPORT CUresult cuModuleLoadDataEx(CUmodule* handle, const void* image, unsigned count, int* options, void** values);
CU_EXPORT CUresult cuModuleLoadData(CUmodule* handle, const void* image);
CU_EXPORT CUresult cuModuleUnload(CUmodule handle);
CU_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name);
CU_EXPORT CUresult cuFuncGetName(const char** name, CUfunction handle);
CU_EXPORT CUresult cuFuncGetModule(CUmodule* module, CUfunction handle);
CU_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* size, CUmodule handle, const char* name);
CU_EXPORT CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction handle);
CU_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value);
CU_EXPORT CUresult cuFuncSetCacheConfig(CUfunction handle, int config);
CU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads,
                                                               size_t shared);
CU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int threads,
                                                                        size_t shared, unsigned);
CU_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle, size_t (*shared_of)(int),
                                                    size_t shared, int limit);
CU_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                  CUstream stream, void** parameters, void** extra);
CU_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                             CUstream stream, void** parameters);
CU_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra);
CU_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, int mode);
CU_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph);
CU_EXPORT CUresult cuStreamIsCapturing(CUstream handle, int* status);
CU_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                                             const CUgraphNode** dependencies, size_t* count);
CU_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                                             const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                                             size_t* count);
CU_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int* mode);
CU_EXPORT CUresult cuGraphCreate(CUgraph* handle, unsigned flags);
CU_EXPORT CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count);
CU_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, int* type);
CU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* handle, CUgraph graph_handle, unsigned long long);
CU_EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle);
CU_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info);
CU_EXPORT CUresult cuGraphDestroy(CUgraph handle);
CU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec handle);

#endif  // WEIR_TESTS_CUDA_EMULATOR_CUDA_API_H_
