// What a kernel does wrong poisons its context, and says where.
#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

class FaultTest : public EmulatedGpuTest {
 protected:
  // Runs a kernel of one int* and returns what it prints to the standard error stream.
  std::string Fault(const std::string& body, CUresult error, CUdeviceptr argument, unsigned threads = 1) {
    LoadedModule module("extern \"C\" __global__ void broken(int* x) { " + body + " }");
    testing::internal::CaptureStderr();
    void* arguments[] = {&argument};
    EXPECT_CU(cuLaunchKernel(module.Function("broken"), 1, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr));
    EXPECT_CU_ERROR(cuCtxSynchronize(), error);
    // Sticky: every later call answers the same.
    CUdeviceptr address = 0;
    EXPECT_CU_ERROR(cuMemAlloc_v2(&address, 4), error);
    EXPECT_CU_ERROR(cuStreamSynchronize(nullptr), error);
    return testing::internal::GetCapturedStderr();
  }

  CUdeviceptr Allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_CU(cuMemAlloc_v2(&address, bytes));
    return address;
  }
};

TEST_F(FaultTest, BeyondAnAllocation) {
  const std::string text = Fault("x[threadIdx.x] = 1;", CUDA_ERROR_ILLEGAL_ADDRESS, Allocate(12), 4);
  EXPECT_NE(text.find("kernel broken: illegal store of 4 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("thread (3, 0, 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("PTX line"), std::string::npos) << text;
}

TEST_F(FaultTest, BeforeAnAllocation) { Fault("x[0] = x[-1];", CUDA_ERROR_ILLEGAL_ADDRESS, Allocate(1000)); }

TEST_F(FaultTest, NullPointer) { Fault("atomicAdd(x, 1);", CUDA_ERROR_ILLEGAL_ADDRESS, 0); }

TEST_F(FaultTest, FreedMemory) {
  const CUdeviceptr address = Allocate(1 << 20);
  ASSERT_CU(cuMemFree_v2(address));
  Allocate(1 << 20);
  Fault("x[5] = 1;", CUDA_ERROR_ILLEGAL_ADDRESS, address);
}

TEST_F(FaultTest, HostMemoryThatIsNotRegistered) {
  int here = 3;
  Fault("x[0] = 1;", CUDA_ERROR_ILLEGAL_ADDRESS, reinterpret_cast<CUdeviceptr>(&here));
  EXPECT_EQ(here, 3);
}

TEST_F(FaultTest, Misaligned) {
  const std::string text = Fault("*(long long*)(x + 1) = 1;", CUDA_ERROR_MISALIGNED_ADDRESS, Allocate(64));
  EXPECT_NE(text.find("misaligned store of 8 bytes"), std::string::npos) << text;
}

TEST_F(FaultTest, BeyondSharedMemory) {
  Fault("__shared__ int s[8]; s[threadIdx.x + x[0] % 2] = 1; __syncthreads(); x[0] = s[3];", CUDA_ERROR_ILLEGAL_ADDRESS,
        Allocate(4), 9);
}

TEST_F(FaultTest, BeyondLocalMemory) {
  Fault("int a[4]; for (int i = 0; i < 4; ++i) a[i] = i; a[x[1] & 0xffff] = 1; x[0] = a[x[2] & 3];",
        CUDA_ERROR_ILLEGAL_ADDRESS, Allocate(16));
}

TEST_F(FaultTest, Deadlock) {
  const std::string text = Fault("if (threadIdx.x < 40) __syncthreads(); else __shfl_sync(~0u, 1, 1);",
                                 CUDA_ERROR_LAUNCH_TIMEOUT, Allocate(4), 64);
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
}

TEST_F(FaultTest, DivergentBarriers) {
  // The two branches are different barriers of the same warp.
  Fault("if (threadIdx.x < 5) { x[0] = 1; __syncthreads(); x[1] = 2; } else { x[2] = 3; __syncthreads(); x[3] = 4; }",
        CUDA_ERROR_ILLEGAL_INSTRUCTION, Allocate(16), 32);
}

TEST_F(FaultTest, Trap) { Fault("__trap();", CUDA_ERROR_LAUNCH_FAILED, 0); }

TEST_F(FaultTest, Assertion) {
  LoadedModule module("extern \"C\" __global__ void k(int n) { assert(n == 3); }");
  testing::internal::CaptureStderr();
  EXPECT_CU(module.Run("k", 1, 1, 3));
  EXPECT_CU_ERROR(module.Run("k", 1, 1, 4), CUDA_ERROR_ASSERT);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("assertion `n == 3` failed"), std::string::npos);
}

TEST_F(FaultTest, EndlessRecursion) {
  LoadedModule module(R"(
__device__ __noinline__ int deeper(int n) { volatile int a[8]; a[n & 7] = n; return deeper(n + 1) + a[1]; }
extern "C" __global__ void k(int* x) { *x = deeper(*x); })");
  Buffer<int> x(std::vector<int>{1});
  testing::internal::CaptureStderr();
  EXPECT_CU_ERROR(module.Run("k", 1, 1, x), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("stack"), std::string::npos);
}

TEST_F(FaultTest, FreshMemoryIsGarbage) {
  Buffer<unsigned> x(100);
  EXPECT_EQ(x.Read(), std::vector<unsigned>(100, 0xCBCBCBCB));
  LoadedModule module(
      "extern \"C\" __global__ void k(int* x) { __shared__ int s[4]; x[threadIdx.x] = s[threadIdx.x]; }");
  ASSERT_CU(module.Run("k", 1, 4, x));
  EXPECT_EQ(x.Read()[2], 0xCBCBCBCB);
}

TEST_F(FaultTest, AnotherContextIsNotConcerned) {
  // After the poisoned context is gone the device works again.
  testing::internal::CaptureStderr();
  LoadedModule* module = new LoadedModule("extern \"C\" __global__ void k(int* x) { *x = 1; }");
  EXPECT_CU_ERROR(module->Run("k", 1, 1, CUdeviceptr{16}), CUDA_ERROR_ILLEGAL_ADDRESS);
  delete module;
  testing::internal::GetCapturedStderr();
  TearDown();
  SetUp();
  LoadedModule again("extern \"C\" __global__ void k(int* x) { *x = 1; }");
  Buffer<int> x(1);
  ASSERT_CU(again.Run("k", 1, 1, x));
  EXPECT_EQ(x.Read()[0], 1);
}

using FaultDeathTest = FaultTest;

TEST_F(FaultDeathTest, TheHostMayNotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        CUdeviceptr address = Allocate(64);
        *reinterpret_cast<volatile int*>(address) = 1;
      },
      "");
}

}  // namespace
}  // namespace cuda_emulator
