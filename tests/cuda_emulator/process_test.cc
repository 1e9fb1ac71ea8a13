// What the environment decides, and memory shared between processes: each test runs itself again in a child process.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

constexpr char kChild[] = "CUDA_EMULATOR_TEST_CHILD";

// Whether this is the child; its argument then.
const char* ChildArgument() { return std::getenv(kChild); }

// Runs the current test in a child with more environment variables; true if it passed there.
bool RunChild(const std::string& argument, std::vector<std::string> environment) {
  environment.push_back(std::string(kChild) + "=" + argument);
  std::vector<char*> variables;
  for (std::string& each : environment) variables.push_back(each.data());
  for (char** each = environ; *each != nullptr; ++each) variables.push_back(*each);
  variables.push_back(nullptr);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  char program[] = "/proc/self/exe";
  char* arguments[] = {program, filter.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program, nullptr, nullptr, arguments, variables.data()) != 0) return false;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr char kKernels[] = R"(
extern "C" __global__ void add(int* x, int n, int value) { if (threadIdx.x < n) x[threadIdx.x] += value; })";

TEST(ProcessTest, NoVisibleDevice) {
  if (ChildArgument() == nullptr) {
    EXPECT_TRUE(RunChild("child", {"CUDA_VISIBLE_DEVICES="}));
    return;
  }
  EXPECT_CU_ERROR(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST(ProcessTest, OneOfSeveralDevices) {
  if (ChildArgument() == nullptr) {
    EXPECT_TRUE(
        RunChild("child", {"CUDA_EMULATOR_DEVICES=3", "CUDA_VISIBLE_DEVICES=2,0", "CUDA_EMULATOR_MEMORY_MB=64"}));
    return;
  }
  ASSERT_CU(cuInit(0));
  int count = 0;
  ASSERT_CU(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  char bus[32];
  ASSERT_CU(cuDeviceGetPCIBusId(bus, sizeof(bus), 0));
  EXPECT_STREQ(bus, "0000:03:00.0");
  size_t memory = 0;
  ASSERT_CU(cuDeviceTotalMem_v2(&memory, 1));
  EXPECT_EQ(memory, 64 << 20);
}

TEST(ProcessTest, PeersAccessEachOther) {
  if (ChildArgument() == nullptr) {
    EXPECT_TRUE(RunChild("child", {"CUDA_EMULATOR_DEVICES=2"}));
    return;
  }
  ASSERT_CU(cuInit(0));
  CUcontext contexts[2];
  CUdeviceptr memory[2];
  const int values[4] = {1, 2, 3, 4};
  for (int i = 0; i < 2; ++i) {
    ASSERT_CU(cuDevicePrimaryCtxRetain(&contexts[i], i));
    ASSERT_CU(cuCtxSetCurrent(contexts[i]));
    ASSERT_CU(cuMemAlloc_v2(&memory[i], sizeof(values)));
  }
  // A copy needs no permission; a kernel does.
  int can = 0;
  ASSERT_CU(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  ASSERT_CU(cuCtxSetCurrent(contexts[0]));
  ASSERT_CU(cuMemcpyHtoD_v2(memory[0], values, sizeof(values)));
  ASSERT_CU(cuMemcpyPeerAsync(memory[1], contexts[1], memory[0], contexts[0], sizeof(values), nullptr));
  ASSERT_CU(cuCtxSynchronize());
  {
    LoadedModule module(kKernels);
    ASSERT_CU(cuCtxEnablePeerAccess(contexts[1], 0));
    EXPECT_CU_ERROR(cuCtxEnablePeerAccess(contexts[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    ASSERT_CU(module.Run("add", 1, 32, memory[1], 4, 10));
    int got[4];
    ASSERT_CU(cuMemcpyDtoH_v2(got, memory[1], sizeof(got)));
    EXPECT_EQ(got[2], 13);
  }
  ASSERT_CU(cuCtxSetCurrent(contexts[1]));
  LoadedModule module(kKernels);
  EXPECT_CU_ERROR(module.Run("add", 1, 32, memory[0], 4, 10), CUDA_ERROR_ILLEGAL_ADDRESS);
  // The other device goes on.
  ASSERT_CU(cuCtxSetCurrent(contexts[0]));
  EXPECT_CU(cuCtxSynchronize());
}

std::string ToText(const CUipcMemHandle& handle) {
  std::string text;
  for (unsigned char byte : handle.reserved)
    text += "0123456789abcdef"[byte >> 4], text += "0123456789abcdef"[byte & 15];
  return text;
}

CUipcMemHandle FromText(const std::string& text) {
  CUipcMemHandle handle;
  for (size_t i = 0; i < sizeof(handle.reserved); ++i) {
    handle.reserved[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

TEST(ProcessTest, MemoryIsSharedByHandles) {
  ASSERT_CU(cuInit(0));
  CUcontext context = nullptr;
  ASSERT_CU(cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_CU(cuCtxSetCurrent(context));
  if (ChildArgument() == nullptr) {
    Buffer<int> other(100), x(std::vector<int>{1, 2, 3, 4, 5});
    CUipcMemHandle handle;
    ASSERT_CU(cuIpcGetMemHandle(&handle, x.address()));
    CUdeviceptr address = 0;
    EXPECT_CU_ERROR(cuIpcOpenMemHandle_v2(&address, handle, 1), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_TRUE(RunChild(ToText(handle), {}));
    EXPECT_EQ(x.Read(), (std::vector<int>{8, 9, 10, 11, 12}));
    return;
  }
  CUdeviceptr address = 0;
  ASSERT_CU(cuIpcOpenMemHandle_v2(&address, FromText(ChildArgument()), 1));
  LoadedModule module(kKernels);
  ASSERT_CU(module.Run("add", 1, 32, address, 5, 7));
  int got[5];
  ASSERT_CU(cuMemcpyDtoH_v2(got, address, sizeof(got)));
  EXPECT_EQ(got[4], 12);
  ASSERT_CU(cuIpcCloseMemHandle(address));
  EXPECT_CU_ERROR(cuMemcpyDtoH_v2(got, address, sizeof(got)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU_ERROR(cuIpcCloseMemHandle(address), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cuda_emulator
