// What the tests of the emulator share: CUDA C++ compiled by NVRTC and run on the emulated driver.
#ifndef WEIR_TESTS_CUDA_EMULATOR_EMULATED_GPU_H_
#define WEIR_TESTS_CUDA_EMULATOR_EMULATED_GPU_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda_api.h"

namespace cuda_emulator {

#define ASSERT_CU(call) ASSERT_EQ(static_cast<int>(call), static_cast<int>(CUDA_SUCCESS)) << #call
#define EXPECT_CU(call) EXPECT_EQ(static_cast<int>(call), static_cast<int>(CUDA_SUCCESS)) << #call
#define EXPECT_CU_ERROR(call, error) EXPECT_EQ(static_cast<int>(call), static_cast<int>(error)) << #call

// Fails the test and returns an empty text if the source does not compile.
std::string CompileToPtx(const std::string& source, const std::string& architecture = "compute_90");

// Memory of the device with the elements of a vector.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { EXPECT_CU(cuMemAlloc_v2(&address_, count * sizeof(T))); }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    EXPECT_CU(cuMemcpyHtoD_v2(address_, values.data(), count_ * sizeof(T)));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (address_ != 0) cuMemFree_v2(address_);
  }

  CUdeviceptr address() const { return address_; }
  size_t size() const { return count_; }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    EXPECT_CU(cuMemcpyDtoH_v2(values.data(), address_, count_ * sizeof(T)));
    return values;
  }

 private:
  CUdeviceptr address_ = 0;
  size_t count_;
};

template <class T>
const T& Argument(const T& value) {
  return value;
}
template <class T>
CUdeviceptr Argument(const Buffer<T>& buffer) {
  return buffer.address();
}

// A module of the text, unloaded at the end.
class LoadedModule {
 public:
  explicit LoadedModule(const std::string& source, const std::string& architecture = "compute_90");
  ~LoadedModule();

  CUmodule handle() const { return module_; }
  CUfunction Function(const char* name);

  // Launches and waits. Arguments have exactly the types of the kernel's parameters; buffers are pointers.
  template <class... Arguments>
  CUresult Run(const char* name, unsigned grid, unsigned block, const Arguments&... arguments) {
    return RunShared(name, grid, block, 0, arguments...);
  }
  template <class... Arguments>
  CUresult RunShared(const char* name, unsigned grid, unsigned block, unsigned shared, const Arguments&... arguments) {
    if (CUresult error = Launch(name, grid, block, shared, nullptr, arguments...)) return error;
    return cuStreamSynchronize(nullptr);
  }
  template <class... Arguments>
  CUresult Launch(const char* name, unsigned grid, unsigned block, unsigned shared, CUstream stream,
                  const Arguments&... arguments) {
    std::tuple<std::decay_t<decltype(Argument(arguments))>...> values(Argument(arguments)...);
    return std::apply(
        [&](auto&... value) {
          void* pointers[] = {const_cast<void*>(static_cast<const void*>(&value))..., nullptr};
          return cuLaunchKernel(Function(name), grid, 1, 1, block, 1, 1, shared, stream, pointers, nullptr);
        },
        values);
  }

 private:
  CUmodule module_ = nullptr;
};

// Device 0 with its primary context current.
class EmulatedGpuTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUcontext context_ = nullptr;
};

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_EMULATED_GPU_H_
