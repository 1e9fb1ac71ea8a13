// Devices, contexts, modules, memory and the checks of arguments.
#include <cstring>

#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

using DriverTest = EmulatedGpuTest;

constexpr char kFill[] = R"(
extern "C" __global__ void fill(int* x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; })";

TEST_F(DriverTest, DescribesTheDevice) {
  int version = 0, count = 0, value = 0;
  EXPECT_CU(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
  EXPECT_CU(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 1);
  char name[64];
  EXPECT_CU(cuDeviceGetName(name, sizeof(name), 0));
  EXPECT_STREQ(name, "Emulated GPU");
  EXPECT_CU(cuDeviceGetAttribute(&value, 75, 0));
  EXPECT_EQ(value, 9);
  EXPECT_CU(cuDeviceGetAttribute(&value, 10, 0));
  EXPECT_EQ(value, 32);
  EXPECT_CU_ERROR(cuDeviceGetAttribute(&value, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuDeviceGetName(name, sizeof(name), 1), CUDA_ERROR_INVALID_DEVICE);
  CUdevice device = 5;
  EXPECT_CU(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
}

TEST_F(DriverTest, NamesErrors) {
  const char* name = nullptr;
  EXPECT_CU(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_CU(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
  EXPECT_STREQ(name, "an illegal memory access was encountered");
  EXPECT_CU_ERROR(cuGetErrorName(static_cast<CUresult>(12345), &name), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, FindsFunctionsByName) {
  void* function = nullptr;
  int status = 5;
  EXPECT_CU(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(status, 0);
  EXPECT_CU_ERROR(cuGetProcAddress_v2("cuNothing", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
}

TEST_F(DriverTest, NeedsAContext) {
  ASSERT_CU(cuCtxSetCurrent(nullptr));
  CUdeviceptr address = 0;
  EXPECT_CU_ERROR(cuMemAlloc_v2(&address, 4), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_CU(cuCtxPushCurrent_v2(context_));
  EXPECT_CU(cuMemAlloc_v2(&address, 4));
  CUcontext popped = nullptr;
  ASSERT_CU(cuCtxPopCurrent_v2(&popped));
  EXPECT_EQ(popped, context_);
  EXPECT_CU_ERROR(cuCtxPopCurrent_v2(&popped), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverTest, RunsOutOfMemory) {
  size_t free = 0, total = 0;
  ASSERT_CU(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(free, total);
  CUdeviceptr large = 0, more = 0;
  ASSERT_CU(cuMemAlloc_v2(&large, total / 2));
  ASSERT_CU(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(free, total / 2);
  EXPECT_CU_ERROR(cuMemAlloc_v2(&more, total / 2 + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CU_ERROR(cuMemAlloc_v2(&more, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_CU(cuMemFree_v2(large));
  EXPECT_CU_ERROR(cuMemFree_v2(large), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuMemAlloc_v2(&more, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, ChecksCopies) {
  Buffer<int> x(std::vector<int>{1, 2, 3, 4});
  int here[4] = {};
  EXPECT_CU_ERROR(cuMemcpyDtoH_v2(here, x.address() + 4, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuMemcpyDtoH_v2(here, reinterpret_cast<CUdeviceptr>(here), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuMemcpyHtoD_v2(x.address(), reinterpret_cast<const void*>(x.address()), 4),
                  CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuMemcpyHtoD_v2(x.address(), nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU(cuMemcpyDtoH_v2(here, x.address() + 8, 8));
  EXPECT_EQ(here[0], 3);
  EXPECT_CU(cuMemcpyDtoH_v2(here, 0, 0));
  EXPECT_CU(cuMemcpyDtoDAsync_v2(x.address(), x.address() + 8, 8, nullptr));
  EXPECT_CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(here), x.address(), 16, nullptr));
  EXPECT_EQ(here[1], 4);
}

TEST_F(DriverTest, Fills) {
  Buffer<uint16_t> x(8);
  ASSERT_CU(cuMemsetD16Async(x.address(), 0x1234, 8, nullptr));
  ASSERT_CU(cuMemsetD8Async(x.address() + 2, 0xAB, 3, nullptr));
  ASSERT_CU(cuMemsetD32Async(x.address() + 12, 0x01020304, 1, nullptr));
  EXPECT_EQ(x.Read(), (std::vector<uint16_t>{0x1234, 0xABAB, 0x12AB, 0x1234, 0x1234, 0x1234, 0x0304, 0x0102}));
  EXPECT_CU_ERROR(cuMemsetD32Async(x.address() + 2, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuMemsetD16Async(x.address(), 0, 9, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, PinnedAndRegisteredMemory) {
  LoadedModule module(kFill);
  void* pinned = nullptr;
  ASSERT_CU(cuMemHostAlloc(&pinned, 400, 0));
  ASSERT_CU(module.Run("fill", 1, 100, reinterpret_cast<CUdeviceptr>(pinned), 7));
  EXPECT_EQ(static_cast<int*>(pinned)[99], 7);
  unsigned kind = 0;
  ASSERT_CU(cuPointerGetAttribute(&kind, 2, reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(kind, 1);
  CUdeviceptr address = 0;
  ASSERT_CU(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
  EXPECT_EQ(address, reinterpret_cast<CUdeviceptr>(pinned));
  ASSERT_CU(cuMemFreeHost(pinned));
  EXPECT_CU_ERROR(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  std::vector<int> here(100);
  ASSERT_CU(cuMemHostRegister_v2(here.data(), 400, 0));
  EXPECT_CU_ERROR(cuMemHostRegister_v2(here.data() + 5, 4, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  ASSERT_CU(module.Run("fill", 1, 100, reinterpret_cast<CUdeviceptr>(here.data()), 9));
  EXPECT_EQ(here[50], 9);
  ASSERT_CU(cuMemHostUnregister(here.data()));
  EXPECT_CU_ERROR(cuMemHostUnregister(here.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(DriverTest, DescribesPointers) {
  Buffer<int> x(100);
  unsigned kind = 0;
  int device = -1;
  size_t size = 0;
  CUdeviceptr begin = 0;
  ASSERT_CU(cuPointerGetAttribute(&kind, 2, x.address() + 40));
  EXPECT_EQ(kind, 2);
  ASSERT_CU(cuPointerGetAttribute(&device, 9, x.address()));
  EXPECT_EQ(device, 0);
  ASSERT_CU(cuPointerGetAttribute(&begin, 11, x.address() + 40));
  EXPECT_EQ(begin, x.address());
  ASSERT_CU(cuPointerGetAttribute(&size, 12, x.address() + 40));
  EXPECT_EQ(size, 400);
  EXPECT_CU_ERROR(cuPointerGetAttribute(&kind, 2, reinterpret_cast<CUdeviceptr>(&kind)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, ReportsPtxThatItDoesNotKnow) {
  const char* ptx =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n  frobnicate.b32 %r1, 3;\n  ret;\n}\n";
  char log[200] = "";
  int options[] = {5, 6};  // the error log and its size
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  CUmodule module = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_CU_ERROR(cuModuleLoadDataEx(&module, ptx, 2, options, values), CUDA_ERROR_INVALID_PTX);
  testing::internal::GetCapturedStderr();
  EXPECT_STREQ(log, "line 6: unknown instruction 'frobnicate.b32' (function k)");
}

TEST_F(DriverTest, LoadsPtxOnly) {
  CUmodule module = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_CU_ERROR(cuModuleLoadData(&module, "\177ELF and more"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_CU_ERROR(cuModuleLoadData(&module, "hello world"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_CU_ERROR(cuModuleLoadData(&module, ".version 9.9\n.target sm_90\n"), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_CU_ERROR(cuModuleLoadData(&module, ".version 9.0\n.target sm_90a\n"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_CU_ERROR(cuModuleLoadData(&module, ".version 9.0\n.target sm_120\n"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  testing::internal::GetCapturedStderr();
  EXPECT_CU_ERROR(cuModuleUnload(reinterpret_cast<CUmodule>(0x1234)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, ChecksLaunches) {
  LoadedModule module(kFill);
  Buffer<int> x(1024);
  CUfunction fill = module.Function("fill");
  CUdeviceptr address = x.address();
  int value = 1;
  void* arguments[] = {&address, &value};
  auto launch = [&](unsigned grid_x, unsigned grid_y, unsigned block_x, unsigned block_z, unsigned shared) {
    return cuLaunchKernel(fill, grid_x, grid_y, 1, block_x, 1, block_z, shared, nullptr, arguments, nullptr);
  };
  EXPECT_CU_ERROR(launch(0, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(launch(1, 65536, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(launch(1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(launch(1, 1, 512, 4, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(launch(1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(launch(1, 1, 1, 1, 49 << 10), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CU(cuFuncSetAttribute(fill, 8, 100 << 10));
  EXPECT_CU(launch(1, 1, 1, 1, 49 << 10));
  EXPECT_CU_ERROR(cuFuncSetAttribute(fill, 8, 228 << 10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuLaunchKernel(reinterpret_cast<CUfunction>(0x99), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
                  CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CU_ERROR(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, reinterpret_cast<CUstream>(0x99), arguments, nullptr),
                  CUDA_ERROR_INVALID_HANDLE);
  // Arguments as one buffer.
  struct {
    CUdeviceptr address;
    int value;
  } packed = {x.address(), 77};
  size_t size = sizeof(packed);
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, nullptr};
  ASSERT_CU(cuLaunchKernel(fill, 1, 1, 1, 1024, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(x.Read()[1000], 77);
  CUlaunchConfig config = {2, 1, 1, 512, 1, 1, 0, nullptr, nullptr, 0};
  value = 5;
  ASSERT_CU(cuLaunchKernelEx(&config, fill, arguments, nullptr));
  EXPECT_EQ(x.Read()[1000], 5);
}

TEST_F(DriverTest, BoundsOfAKernel) {
  LoadedModule module(
      "extern \"C\" __global__ void __launch_bounds__(128) k(int* x) { __shared__ int s[100]; s[threadIdx.x % 100] = "
      "1; *x = s[0]; }");
  CUfunction k = module.Function("k");
  int value = 0;
  ASSERT_CU(cuFuncGetAttribute(&value, 0, k));
  EXPECT_EQ(value, 128);
  ASSERT_CU(cuFuncGetAttribute(&value, 1, k));
  EXPECT_EQ(value, 400);
  Buffer<int> x(1);
  EXPECT_CU_ERROR(module.Run("k", 1, 129, x), CUDA_ERROR_INVALID_VALUE);
  int grid = 0, block = 0;
  ASSERT_CU(cuOccupancyMaxPotentialBlockSize(&grid, &block, k, nullptr, 0, 0));
  EXPECT_EQ(block, 128);
  EXPECT_EQ(grid, 64);
  ASSERT_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, k, 128, 100 << 10));
  EXPECT_EQ(value, 2);
}

TEST_F(DriverTest, StandInLibrariesSeeMemory) {
  Buffer<int> x(std::vector<int>{4, 5, 6});
  int* here = static_cast<int*>(cuEmulatorHostAddress(x.address() + 4));
  ASSERT_NE(here, nullptr);
  EXPECT_EQ(*here, 5);
  EXPECT_EQ(cuEmulatorHostAddress(x.address() + 12), nullptr);
  ASSERT_EQ(cuEmulatorEnqueue(
                nullptr, [](void* data) { *static_cast<int*>(data) = 50; }, here),
            0);
  EXPECT_EQ(x.Read()[1], 50);
}

}  // namespace
}  // namespace cuda_emulator
