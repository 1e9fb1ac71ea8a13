// Small kernels of every kind, against what they should compute.
#include <algorithm>
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

TEST_F(KernelsTest, OlderArchitectures) {
  LoadedModule module(
      "extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = __reduce_add_sync(~0u, threadIdx.x); }", "compute_80");
  Buffer<int> x(32);
  ASSERT_CU(module.Run("k", 1, 32, x));
  EXPECT_EQ(x.Read(), std::vector<int>(32, 496));
}

TEST_F(KernelsTest, ThreeDimensionalGrid) {
  LoadedModule module(R"(
extern "C" __global__ void k(int* x) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int size = blockDim.x * blockDim.y * blockDim.z;
  atomicAdd(&x[block * size + thread], 1 + block * size + thread);
})");
  Buffer<int> x(std::vector<int>(2 * 3 * 4 * 60));
  CUdeviceptr address = x.address();
  void* arguments[] = {&address};
  ASSERT_CU(cuLaunchKernel(module.Function("k"), 2, 3, 4, 5, 4, 3, 0, nullptr, arguments, nullptr));
  std::vector<int> expected(x.size());
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(x.Read(), expected);
}

TEST_F(KernelsTest, DivergentLoops) {
  LoadedModule module(R"(
extern "C" __global__ void collatz(int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = i + 1;
  int count = 0;
  while (x != 1) {
    if (x % 2 == 0) x /= 2; else x = 3 * x + 1;
    if (++count > 1000) break;
  }
  steps[i] = count;
})");
  const int n = 1000;
  Buffer<int> steps(n);
  ASSERT_CU(module.Run("collatz", 4, 256, steps, n));
  const std::vector<int> got = steps.Read();
  for (int i = 0; i < n; ++i) {
    long long x = i + 1;
    int count = 0;
    for (; x != 1; ++count) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    ASSERT_EQ(got[i], count) << i;
  }
}

TEST_F(KernelsTest, LocalArraysStructuresAndRecursion) {
  LoadedModule module(R"(
struct Parameters { int n; double weights[5]; char name[3]; };
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
struct Pair { long long first; float second; };
__device__ __noinline__ Pair make(int i, float scale) { return {i * 10000000000ll, i * scale}; }
extern "C" __global__ void k(Parameters p, double* out, int which) {
  int stack[16];
  for (int i = 0; i < 16; ++i) stack[i] = i * i;
  for (int i = 0; i < 16; ++i) stack[(i * 5 + which) % 16] += stack[i];
  int t = threadIdx.x;
  Pair pair = make(t, 0.5f);
  out[t] = stack[(t + which) % 16] + p.weights[t % 5] + p.name[which] + fibonacci(t) + pair.first + pair.second;
})");
  struct Parameters {
    int n;
    double weights[5];
    char name[3];
  } parameters = {3, {0.5, 1.5, 2.5, 3.5, 4.5}, {'a', 'b', 'c'}};
  const int which = 1;
  Buffer<double> out(12);
  ASSERT_CU(module.Run("k", 1, 12, parameters, out, which));
  int stack[16];
  for (int i = 0; i < 16; ++i) stack[i] = i * i;
  for (int i = 0; i < 16; ++i) stack[(i * 5 + which) % 16] += stack[i];
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  const std::vector<double> got = out.Read();
  for (int t = 0; t < 12; ++t) {
    EXPECT_EQ(got[t], stack[(t + which) % 16] + parameters.weights[t % 5] + 'b' + fibonacci[t] + t * 1e10 + 0.5 * t)
        << t;
  }
}

TEST_F(KernelsTest, FunctionTablesAndSwitches) {
  LoadedModule module(R"(
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int negate(int x) { return -x; }
using Function = int (*)(int);
__device__ Function table[3] = {twice, square, negate};
struct Shape { __device__ virtual int area() const = 0; };
struct Square : Shape { int side; __device__ int area() const override { return side * side; } };
struct Strip : Shape { int length; __device__ int area() const override { return 2 * length; } };
extern "C" __global__ void k(int* x, int n) {
  int i = threadIdx.x;
  int v = table[i % 3](i);
  Square square; square.side = i;
  Strip strip; strip.length = i;
  const Shape* shapes[2] = {&square, &strip};
  v += shapes[(i + n) % 2]->area();
  switch (i) {
    case 0: v += 10; break;
    case 1: v *= 3; break;
    case 2: v -= n; break;
    case 3: v ^= 21; break;
    case 4: v += n * n; break;
    case 5: v = n; break;
    case 6: v = v / 3; break;
    case 7: v = ~v; break;
    default: v = 1000 + i;
  }
  x[i] = v;
})");
  Buffer<int> x(10);
  ASSERT_CU(module.Run("k", 1, 10, x, 4));
  EXPECT_EQ(x.Read(),
            (std::vector<int>{10, 9, 2 - 0 - 4, (6 + 6) ^ 21, 16 + 16 + 16, 4, (12 + 36) / 3, ~(49 + 14), 1008, 1009}));
}

TEST_F(KernelsTest, VariablesOfTheModule) {
  LoadedModule module(R"(
__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int counter = 7;
__device__ const char* names[2] = {"first", "second"};
__device__ double zeros[3];
extern "C" __global__ void k(float* out, char* name) {
  int i = threadIdx.x;
  out[i] = weights[i] + zeros[i % 3];
  atomicAdd(&counter, i);
  name[i] = names[1][i];
})");
  Buffer<float> out(4);
  Buffer<char> name(4);
  ASSERT_CU(module.Run("k", 1, 4, out, name));
  EXPECT_EQ(out.Read(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(name.Read(), (std::vector<char>{'s', 'e', 'c', 'o'}));
  CUdeviceptr address = 0;
  size_t size = 0;
  ASSERT_CU(cuModuleGetGlobal_v2(&address, &size, module.handle(), "counter"));
  EXPECT_EQ(size, 4);
  int counter = 0;
  ASSERT_CU(cuMemcpyDtoH_v2(&counter, address, 4));
  EXPECT_EQ(counter, 13);
  const float weights[4] = {5, 6, 7, 8};
  ASSERT_CU(cuModuleGetGlobal_v2(&address, &size, module.handle(), "weights"));
  ASSERT_CU(cuMemcpyHtoD_v2(address, weights, size));
  ASSERT_CU(module.Run("k", 1, 4, out, name));
  EXPECT_EQ(out.Read(), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_CU_ERROR(cuModuleGetGlobal_v2(&address, &size, module.handle(), "nothing"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(KernelsTest, StaticAndDynamicSharedMemory) {
  LoadedModule module(R"(
extern __shared__ double dynamic[];
extern "C" __global__ void reverse(double* x) {
  __shared__ float copy[64];
  int i = threadIdx.x, n = blockDim.x;
  dynamic[i] = x[i];
  copy[i] = (float)x[i];
  __syncthreads();
  x[i] = dynamic[n - 1 - i] * 100 + copy[(i + 1) % n];
})");
  std::vector<double> values(64);
  std::iota(values.begin(), values.end(), 1);
  Buffer<double> x(values);
  ASSERT_CU(module.RunShared("reverse", 1, 64, 64 * sizeof(double), x));
  const std::vector<double> got = x.Read();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], values[63 - i] * 100 + values[(i + 1) % 64]);
}

TEST_F(KernelsTest, VectorsAndSmallTypes) {
  LoadedModule module(R"(
extern "C" __global__ void k(float4* f, short4* s, uchar4* c, double2* d, bool* b) {
  int i = threadIdx.x;
  f[i] = make_float4(f[i].w, f[i].z, f[i].y, f[i].x);
  short4 t = s[i];
  s[i] = make_short4(t.x + t.y, t.z * t.w, -t.x, t.w >> 1);
  uchar4 u = c[i];
  c[i] = make_uchar4(u.x + u.y, u.z - u.w, u.x / 3, u.y ^ 255);
  d[i] = make_double2(d[i].y, d[i].x);
  b[i] = !b[i];
})");
  Buffer<float> f({1, 2, 3, 4, 5, 6, 7, 8});
  Buffer<short> s({1, -2, 300, 200, 5, 6, 7, -8});
  Buffer<unsigned char> c({200, 100, 3, 5, 9, 8, 7, 6});
  Buffer<double> d({1, 2, 3, 4});
  Buffer<char> b({0, 1});
  ASSERT_CU(module.Run("k", 1, 2, f, s, c, d, b));
  EXPECT_EQ(f.Read(), (std::vector<float>{4, 3, 2, 1, 8, 7, 6, 5}));
  EXPECT_EQ(s.Read(), (std::vector<short>{-1, static_cast<short>(60000), -1, 100, 11, -56, -5, -4}));
  EXPECT_EQ(c.Read(), (std::vector<unsigned char>{44, 254, 66, 155, 17, 1, 3, 247}));
  EXPECT_EQ(d.Read(), (std::vector<double>{2, 1, 4, 3}));
  EXPECT_EQ(b.Read(), (std::vector<char>{1, 0}));
}

TEST_F(KernelsTest, PrintsToStandardOutput) {
  LoadedModule module(R"(
extern "C" __global__ void k(int i, double d) { printf("%d%% of %s is %5.2f, %lld %c 0x%x\n", i, "it", d, 1234567890123ll, 'q', 255u); })");
  testing::internal::CaptureStdout();
  ASSERT_CU(module.Run("k", 1, 1, 42, 2.5));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "42% of it is  2.50, 1234567890123 q 0xff\n");
}

TEST_F(KernelsTest, RadixSortOfABlock) {
  LoadedModule module(R"(
// Four bits a pass, with counts of digits in shared memory and a scan over them.
extern "C" __global__ void sort(unsigned* keys, int n) {
  __shared__ unsigned buffer[2][256];
  __shared__ int counts[16 * 256];
  __shared__ int sums[8];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  buffer[0][t] = t < n ? keys[t] : 0xffffffffu;
  for (int pass = 0; pass < 8; ++pass) {
    unsigned key = buffer[pass % 2][t];
    int digit = (key >> (4 * pass)) & 15;
    for (int d = 0; d < 16; ++d) counts[d * 256 + t] = d == digit;
    __syncthreads();
    int base = 0;
    for (int d = 0; d < 16; ++d) {
      int value = counts[d * 256 + t], sum = value;
      for (int k = 1; k < 32; k *= 2) {
        int other = __shfl_up_sync(~0u, sum, k);
        if (lane >= k) sum += other;
      }
      if (lane == 31) sums[warp] = sum;
      __syncthreads();
      int before = 0, total = 0;
      for (int w = 0; w < 8; ++w) { if (w < warp) before += sums[w]; total += sums[w]; }
      __syncthreads();
      counts[d * 256 + t] = base + before + sum - value;
      base += total;
    }
    buffer[(pass + 1) % 2][counts[digit * 256 + t]] = key;
    __syncthreads();
  }
  if (t < n) keys[t] = buffer[0][t];
})");
  std::vector<unsigned> keys(200);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<unsigned>(i * 2654435761u);
  Buffer<unsigned> data(keys);
  ASSERT_CU(module.Run("sort", 1, 256, data, 200));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(data.Read(), keys);
}

TEST_F(KernelsTest, BlocksThatWaitForEarlierOnes) {
  LoadedModule module(R"(
// A scan over blocks: each waits until the one before it has said its sum.
extern "C" __global__ void chain(int* values, volatile int* sums, volatile int* ready) {
  __shared__ int before;
  int t = threadIdx.x, b = blockIdx.x;
  if (t == 0) {
    int own = 0;
    for (int i = 0; i < (int)blockDim.x; ++i) own += values[b * blockDim.x + i];
    int sum = 0;
    if (b > 0) { while (!ready[b - 1]) {} __threadfence(); sum = sums[b - 1]; }
    before = sum;
    sums[b] = sum + own;
    __threadfence();
    ready[b] = 1;
  }
  __syncthreads();
  values[b * blockDim.x + t] = before;
})");
  const int blocks = 40;
  Buffer<int> values(std::vector<int>(blocks * 32, 2)), sums(std::vector<int>(blocks, 0)),
      ready(std::vector<int>(blocks, 0));
  ASSERT_CU(module.Run("chain", blocks, 32, values, sums, ready));
  const std::vector<int> got = values.Read();
  for (int i = 0; i < blocks * 32; ++i) ASSERT_EQ(got[i], i / 32 * 64);
}

TEST_F(KernelsTest, CooperativeLaunchesMeet) {
  LoadedModule module(R"(
// What cooperative groups do for a grid: a counter that all blocks raise, and wait for.
__device__ unsigned arrived;
__device__ void meet(unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1);
    while (*(volatile unsigned*)&arrived < target) {}
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void k(int* x) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
  meet(gridDim.x);
  int other = x[(i + blockDim.x) % n];
  meet(2 * gridDim.x);
  x[i] += other;
})");
  const int n = 8 * 64;
  Buffer<int> x(n);
  CUdeviceptr address = x.address();
  void* arguments[] = {&address};
  ASSERT_CU(cuLaunchCooperativeKernel(module.Function("k"), 8, 1, 1, 64, 1, 1, 0, nullptr, arguments));
  const std::vector<int> got = x.Read();
  for (int i = 0; i < n; ++i) ASSERT_EQ(got[i], i + (i + 64) % n);
  EXPECT_CU_ERROR(cuLaunchCooperativeKernel(module.Function("k"), 1000, 1, 1, 64, 1, 1, 0, nullptr, arguments),
                  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

}  // namespace
}  // namespace cuda_emulator
