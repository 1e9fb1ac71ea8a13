// Small kernels of every kind, against what they should compute.
#include <numeric>

#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

using KernelsTest = EmulatedGpuTest;

TEST_F(KernelsTest, VectorAdd) {
  LoadedModule module(R"(
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
})");
  const int n = 10000;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = 0.5f * i, b[i] = 3.0f - i;
  Buffer<float> da(a), db(b), dc(n);
  ASSERT_CU(module.Run("add", 7, 128, da, db, dc, n));
  const std::vector<float> c = dc.Read();
  for (int i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST_F(KernelsTest, BlockReductionBySharedMemoryAndShuffles) {
  LoadedModule module(R"(
extern "C" __global__ void sum(const int* input, int n, int* output) {
  __shared__ int partial[32];
  int value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += input[i];
  for (int k = 16; k > 0; k /= 2) value += __shfl_down_sync(0xffffffff, value, k);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int k = 16; k > 0; k /= 2) value += __shfl_xor_sync(0xffffffff, value, k);
    if (threadIdx.x == 0) atomicAdd(output, value);
  }
})");
  std::vector<int> input(5000);
  std::iota(input.begin(), input.end(), -17);
  Buffer<int> data(input), output(std::vector<int>{5});
  ASSERT_CU(module.Run("sum", 3, 256, data, 5000, output));
  EXPECT_EQ(output.Read()[0], std::accumulate(input.begin(), input.end(), 5));
}

}  // namespace
}  // namespace cuda_emulator
