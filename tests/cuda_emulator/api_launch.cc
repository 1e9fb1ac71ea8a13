// Entry points: launches.
#include <cstring>

#include "cuda_api.h"
#include "driver.h"

using namespace cuda_emulator;  // NOLINT: the file defines C functions only

namespace {

struct Description {
  Context* context;
  std::shared_ptr<Module> module;
  FunctionHandle* function;
  Dimensions grid, block;
  uint32_t shared;
  bool cooperative;
  std::vector<char> parameters;
};

void RunLaunch(const Description& description) {
  Context* context = description.context;
  Launch launch;
  launch.kernel = &description.function->kernel;
  launch.grid = description.grid;
  launch.block = description.block;
  launch.dynamic_shared_bytes = description.shared;
  launch.is_cooperative = description.cooperative;
  launch.parameters = description.parameters;
  launch.memory = context->device->View();
  DeviceMemory& memory = context->device->memory();
  if (description.cooperative) {
    launch.grid_workspace = memory.Allocate(256);
    if (launch.grid_workspace == 0) {
      return context->Poison(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory for a cooperative launch");
    }
    std::memset(memory.Storage(launch.grid_workspace, 256), 0, 256);
  }
  RunGrid(&launch);
  if (launch.grid_workspace != 0) memory.Free(launch.grid_workspace);
  if (launch.failed) context->Poison(launch.fault.error, launch.fault.message);
}

// Collects the arguments, given one by one or as one buffer.
CUresult CollectParameters(const Function& function, void** parameters, void** extra, std::vector<char>* result) {
  result->assign(function.parameter_bytes, 0);
  if (extra != nullptr) {
    const void* buffer = nullptr;
    size_t size = 0;
    for (void** at = extra; *at != nullptr; at += 2) {
      const auto key = reinterpret_cast<uintptr_t>(at[0]);
      if (key == 1) buffer = at[1];  // CU_LAUNCH_PARAM_BUFFER_POINTER
      if (key == 2) size = *static_cast<size_t*>(at[1]);
      if (key > 2) return CUDA_ERROR_INVALID_VALUE;
    }
    if (parameters != nullptr || size < function.parameter_bytes || (buffer == nullptr && size != 0)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (function.parameter_bytes != 0) std::memcpy(result->data(), buffer, function.parameter_bytes);
    return CUDA_SUCCESS;
  }
  if (function.parameters.empty()) return CUDA_SUCCESS;
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(result->data() + function.parameters[i].offset, parameters[i], function.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

CUresult LaunchKernel(CUfunction handle, Dimensions grid, Dimensions block, unsigned shared, CUstream stream_handle,
                      void** parameters, void** extra, bool cooperative) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Stream> stream;
  if (CUresult error = FindStream(stream_handle, context, &stream)) return error;
  FunctionHandle* function = nullptr;
  {
    std::lock_guard lock(Driver::Get().function_mutex);
    if (Driver::Get().functions.count(handle) == 0) return CUDA_ERROR_INVALID_HANDLE;
    function = reinterpret_cast<FunctionHandle*>(handle);
  }
  if (function->module->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535) return CUDA_ERROR_INVALID_VALUE;
  const int declared = function->kernel.function->max_threads;
  const uint64_t max_threads = declared != 0 ? declared : 1024;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.Count() > max_threads) return CUDA_ERROR_INVALID_VALUE;
  if (shared > static_cast<unsigned>(function->max_dynamic_shared)) return CUDA_ERROR_INVALID_VALUE;
  Description description{
      stream->context, Driver::Get().modules.Find(function->module), function, grid, block, shared, cooperative, {}};
  if (CUresult error = CollectParameters(*function->kernel.function, parameters, extra, &description.parameters))
    return error;
  if (cooperative) {
    const size_t by_shared = (size_t{228} << 10) / (function->kernel.static_shared_bytes + shared + kSharedStart);
    const size_t resident = 4 * std::min<size_t>({32, 2048 / ((block.Count() + 31) / 32 * 32), by_shared});
    if (grid.Count() > resident) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return Submit(stream, {Work::kKernel, [description = std::move(description)] { RunLaunch(description); }});
}

}  // namespace

CU_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                  CUstream stream, void** parameters, void** extra) {
  return LaunchKernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, parameters,
                      extra, false);
}

CU_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                             CUstream stream, void** parameters) {
  return LaunchKernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, parameters,
                      nullptr, true);
}

CU_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                                    void** extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == 2) cooperative = attribute.value.cooperative != 0;
    // Clusters of more than one block are not known here.
    if (attribute.id == 4 &&
        attribute.value.clusterDim.x * attribute.value.clusterDim.y * attribute.value.clusterDim.z != 1) {
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
  }
  return LaunchKernel(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
                      config->hStream, parameters, extra, cooperative);
}
