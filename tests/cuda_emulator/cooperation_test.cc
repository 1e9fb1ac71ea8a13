// Warps, atomics and barriers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

using CooperationTest = EmulatedGpuTest;

TEST_F(CooperationTest, Shuffles) {
  LoadedModule module(R"(
extern "C" __global__ void k(int* x, long long* wide) {
  int t = threadIdx.x, *out = x + 6 * t;
  out[0] = __shfl_sync(~0u, t, 5);
  out[1] = __shfl_up_sync(~0u, t, 3);
  out[2] = __shfl_down_sync(~0u, t, 3);
  out[3] = __shfl_xor_sync(~0u, t, 9);
  out[4] = __shfl_sync(~0u, t, 2, 8);
  out[5] = __shfl_down_sync(~0u, t, 2, 4);
  wide[t] = __shfl_xor_sync(~0u, t * 10000000000ll, 1);
})");
  Buffer<int> x(32 * 6);
  Buffer<long long> wide(32);
  ASSERT_CU(module.Run("k", 1, 32, x, wide));
  const std::vector<int> got = x.Read();
  const std::vector<long long> got_wide = wide.Read();
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(got[6 * t], 5);
    EXPECT_EQ(got[6 * t + 1], t < 3 ? t : t - 3);
    EXPECT_EQ(got[6 * t + 2], t > 28 ? t : t + 3);
    EXPECT_EQ(got[6 * t + 3], t ^ 9);
    EXPECT_EQ(got[6 * t + 4], t / 8 * 8 + 2);
    EXPECT_EQ(got[6 * t + 5], t % 4 < 2 ? t + 2 : t);
    EXPECT_EQ(got_wide[t], (t ^ 1) * 10000000000ll);
  }
}

TEST_F(CooperationTest, VotesMatchesAndReductions) {
  LoadedModule module(R"(
extern "C" __global__ void k(unsigned* x) {
  int t = threadIdx.x;
  unsigned* out = x + 10 * t;
  out[0] = __ballot_sync(~0u, t % 3 == 0);
  out[1] = __any_sync(~0u, t == 7);
  out[2] = __all_sync(~0u, t < 31);
  out[3] = __match_any_sync(~0u, t / 5);
  int same;
  out[4] = __match_all_sync(~0u, 17ll, &same);
  out[5] = same;
  out[6] = __reduce_max_sync(~0u, t * 7 % 32);
  out[7] = (unsigned)__reduce_min_sync(~0u, 5 - t);
  if (t % 2 == 0) out[8] = __ballot_sync(0x55555555u, t > 10); else out[8] = __ballot_sync(0xaaaaaaaau, t > 20);
  out[9] = __reduce_xor_sync(~0u, 1u << t);
})");
  Buffer<unsigned> x(320);
  ASSERT_CU(module.Run("k", 1, 32, x));
  const std::vector<unsigned> got = x.Read();
  for (unsigned t = 0; t < 32; ++t) {
    unsigned thirds = 0, equal = 0, even = 0, odd = 0;
    for (unsigned k = 0; k < 32; ++k) {
      if (k % 3 == 0) thirds |= 1u << k;
      if (k / 5 == t / 5) equal |= 1u << k;
      if (k % 2 == 0 && k > 10) even |= 1u << k;
      if (k % 2 == 1 && k > 20) odd |= 1u << k;
    }
    EXPECT_EQ(got[10 * t], thirds);
    EXPECT_EQ(got[10 * t + 1], 1);
    EXPECT_EQ(got[10 * t + 2], 0);
    EXPECT_EQ(got[10 * t + 3], equal);
    EXPECT_EQ(got[10 * t + 4], ~0u);
    EXPECT_EQ(got[10 * t + 5], 1);
    EXPECT_EQ(got[10 * t + 6], 31);
    EXPECT_EQ(got[10 * t + 7], static_cast<unsigned>(-26));
    EXPECT_EQ(got[10 * t + 8], t % 2 == 0 ? even : odd);
    EXPECT_EQ(got[10 * t + 9], ~0u);
  }
}

TEST_F(CooperationTest, BarriersCountVotes) {
  LoadedModule module(R"(
extern "C" __global__ void k(int* x) {
  int t = threadIdx.x;
  int count = __syncthreads_count(t % 3 == 0);
  int all = __syncthreads_and(t < 100), any = __syncthreads_or(t == 99);
  x[t] = count * 100 + all * 10 + any;
})");
  Buffer<int> x(100);
  ASSERT_CU(module.Run("k", 1, 100, x));
  EXPECT_EQ(x.Read(), std::vector<int>(100, 3411));
}

TEST_F(CooperationTest, NamedBarriersOfSomeWarps) {
  LoadedModule module(R"(
extern "C" __global__ void k(int* x) {
  __shared__ int data[128];
  int t = threadIdx.x;
  if (t < 64) {
    data[t] = t;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    x[t] = data[63 - t];
  } else {
    data[t] = 2 * t;
    asm volatile("bar.sync 2, 64;" ::: "memory");
    x[t] = data[191 - t];
  }
})");
  Buffer<int> x(128);
  ASSERT_CU(module.Run("k", 1, 128, x));
  const std::vector<int> got = x.Read();
  for (int t = 0; t < 128; ++t) EXPECT_EQ(got[t], t < 64 ? 63 - t : 2 * (191 - t));
}

TEST_F(CooperationTest, AtomicsOfManyBlocks) {
  LoadedModule module(R"(
extern "C" __global__ void k(int* i, unsigned long long* l, float* f, double* d, unsigned* u) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t);
  atomicMax(&i[1], t);
  atomicMin(&i[2], -t);
  atomicXor(&i[3], t);
  atomicOr(&i[4], 1 << (t % 31));
  atomicAnd(&i[5], ~(1 << (t % 7)));
  atomicAdd(&l[0], 10000000000ull);
  atomicMax(&l[1], (unsigned long long)t << 33);
  atomicAdd(&f[0], 0.5f);
  atomicAdd(&d[0], 0.25);
  atomicInc(&u[0], 9);
  atomicDec(&u[1], 9);
  unsigned seen = u[2], assumed;
  do { assumed = seen; seen = atomicCAS(&u[2], assumed, assumed + 3); } while (seen != assumed);
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&i[6], sum);
})");
  const int n = 40 * 64;
  Buffer<int> i({0, -1, 1, 0, 0, -1, 0});
  Buffer<unsigned long long> l({0, 0});
  Buffer<float> f(std::vector<float>{0});
  Buffer<double> d(std::vector<double>{0});
  Buffer<unsigned> u({0, 0, 0});
  ASSERT_CU(module.Run("k", 40, 64, i, l, f, d, u));
  int exclusive = 0;
  for (int t = 0; t < n; ++t) exclusive ^= t;
  EXPECT_EQ(i.Read(), (std::vector<int>{n * (n - 1) / 2, n - 1, 1 - n, exclusive, 0x7FFFFFFF, ~127, n}));
  EXPECT_EQ(l.Read(),
            (std::vector<unsigned long long>{n * 10000000000ull, static_cast<unsigned long long>(n - 1) << 33}));
  EXPECT_EQ(f.Read()[0], n * 0.5f);
  EXPECT_EQ(d.Read()[0], n * 0.25);
  EXPECT_EQ(u.Read(), (std::vector<unsigned>{n % 10, (10 - n % 10) % 10, 3 * n}));
}

TEST_F(CooperationTest, AtomicsOfSmallFloats) {
  LoadedModule module(R"(
extern "C" __global__ void k(unsigned* x) {
  unsigned old;
  asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(x), "r"(0x38003C00u));
  asm volatile("atom.global.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(old) : "l"(x + 1), "r"(0x3F003F80u));
  unsigned short small;
  asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;" : "=h"(small) : "l"((unsigned short*)(x + 2) + 1), "h"((unsigned short)0), "h"((unsigned short)7));
})");
  Buffer<unsigned> x({0, 0, 0});
  ASSERT_CU(module.Run("k", 1, 32, x));
  // 32 times 1 and 0.5.
  EXPECT_EQ(x.Read(), (std::vector<unsigned>{0x4C005000, 0x41804200, 0x00070000}));
}

TEST_F(CooperationTest, WarpsOfPartialBlocks) {
  LoadedModule module(R"(
extern "C" __global__ void k(int* x) {
  int t = threadIdx.x;
  unsigned mask = t < 32 ? ~0u : 0xffu;
  int sum = t;
  for (int k = 4; k > 0; k /= 2) sum += __shfl_xor_sync(mask, sum, k);
  __syncwarp(mask);
  x[t] = sum;
})");
  Buffer<int> x(40);
  ASSERT_CU(module.Run("k", 1, 40, x));
  const std::vector<int> got = x.Read();
  for (int t = 0; t < 40; ++t) EXPECT_EQ(got[t], t / 8 * 64 + 28);
}

TEST_F(CooperationTest, LocksAmongTheThreadsOfAWarp) {
  LoadedModule module(R"(
extern "C" __global__ void k(int* lock, int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      volatile int* shared = count;
      *shared = *shared + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
})");
  Buffer<int> lock(std::vector<int>{0}), count(std::vector<int>{0});
  ASSERT_CU(module.Run("k", 8, 64, lock, count));
  EXPECT_EQ(count.Read()[0], 512);
}

}  // namespace
}  // namespace cuda_emulator
