// Matrix instructions of a warp and asynchronous copies.
#include <cmath>

#include "emulated_gpu.h"
#include "float16.h"

namespace cuda_emulator {
namespace {

using MatrixTest = EmulatedGpuTest;

// A product of A (16 x k, rows) and B (k x 8, columns), both loaded as the documentation of PTX lays fragments out.
constexpr char kProducts[] = R"(
extern "C" __global__ void half(const unsigned short* a, const unsigned short* b, float* d) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  auto pair = [](const unsigned short* p) { return p[0] | (unsigned)p[1] << 16; };
  unsigned a0 = pair(a + g * 16 + 2 * t), a1 = pair(a + (g + 8) * 16 + 2 * t);
  unsigned a2 = pair(a + g * 16 + 2 * t + 8), a3 = pair(a + (g + 8) * 16 + 2 * t + 8);
  unsigned b0 = pair(b + g * 16 + 2 * t), b1 = pair(b + g * 16 + 2 * t + 8);
  float d0, d1, d2, d3;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(1.0f));
  d[g * 8 + 2 * t] = d0; d[g * 8 + 2 * t + 1] = d1; d[(g + 8) * 8 + 2 * t] = d2; d[(g + 8) * 8 + 2 * t + 1] = d3;
}
// The same with fragments by ldmatrix, B given by rows and transposed on the way.
extern "C" __global__ void loaded(const unsigned short* a, const unsigned short* b, float* d) {
  __shared__ __align__(16) unsigned short sa[256], sb[128];
  int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  for (int i = lane; i < 256; i += 32) sa[i] = a[i];
  for (int i = lane; i < 128; i += 32) sb[i] = b[i];
  __syncwarp();
  unsigned a0, a1, a2, a3, b0, b1;
  unsigned at = (unsigned)__cvta_generic_to_shared(sa + (lane % 16) * 16 + (lane / 16) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(at));
  unsigned bt = (unsigned)__cvta_generic_to_shared(sb + (lane % 16) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(bt));
  float d0, d1, d2, d3;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(0.0f));
  d[g * 8 + 2 * t] = d0; d[g * 8 + 2 * t + 1] = d1; d[(g + 8) * 8 + 2 * t] = d2; d[(g + 8) * 8 + 2 * t + 1] = d3;
}
extern "C" __global__ void tf32(const float* a, const float* b, float* d) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  auto bits = [](float v) { unsigned r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v)); return r; };
  unsigned a0 = bits(a[g * 8 + t]), a1 = bits(a[(g + 8) * 8 + t]), a2 = bits(a[g * 8 + t + 4]), a3 = bits(a[(g + 8) * 8 + t + 4]);
  unsigned b0 = bits(b[g * 8 + t]), b1 = bits(b[g * 8 + t + 4]);
  float d0, d1, d2, d3;
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(0.0f));
  d[g * 8 + 2 * t] = d0; d[g * 8 + 2 * t + 1] = d1; d[(g + 8) * 8 + 2 * t] = d2; d[(g + 8) * 8 + 2 * t + 1] = d3;
}
)";

double A(int row, int k) { return (row * 3 + k * 5) % 17 - 8; }
double B(int k, int column) { return ((k * 7 + column * 2) % 11 - 5) * 0.5; }

// d = A B + c, all of it exact.
std::vector<float> Product(int depth, double c) {
  std::vector<float> d(16 * 8);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      double sum = c;
      for (int k = 0; k < depth; ++k) sum += A(row, k) * B(k, column);
      d[row * 8 + column] = static_cast<float>(sum);
    }
  }
  return d;
}

TEST_F(MatrixTest, ProductsOfHalf) {
  LoadedModule module(kProducts);
  std::vector<uint16_t> a(256), b(128);
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) a[row * 16 + k] = HalfFromDouble(A(row, k)).bits;
  }
  for (int column = 0; column < 8; ++column) {
    for (int k = 0; k < 16; ++k) b[column * 16 + k] = HalfFromDouble(B(k, column)).bits;
  }
  Buffer<uint16_t> da(a), db(b);
  Buffer<float> d(128);
  ASSERT_CU(module.Run("half", 1, 32, da, db, d));
  EXPECT_EQ(d.Read(), Product(16, 1));
}

TEST_F(MatrixTest, ProductsOfBfloat16WithLoadedFragments) {
  LoadedModule module(kProducts);
  std::vector<uint16_t> a(256), b(128);
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) a[row * 16 + k] = BFloatFromDouble(A(row, k)).bits;
  }
  for (int k = 0; k < 16; ++k) {
    for (int column = 0; column < 8; ++column) b[k * 8 + column] = BFloatFromDouble(B(k, column)).bits;
  }
  Buffer<uint16_t> da(a), db(b);
  Buffer<float> d(128);
  ASSERT_CU(module.Run("loaded", 1, 32, da, db, d));
  EXPECT_EQ(d.Read(), Product(16, 0));
}

TEST_F(MatrixTest, ProductsOfTf32) {
  LoadedModule module(kProducts);
  std::vector<float> a(128), b(64);
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 8; ++k) a[row * 8 + k] = static_cast<float>(A(row, k));
  }
  for (int column = 0; column < 8; ++column) {
    for (int k = 0; k < 8; ++k) b[column * 8 + k] = static_cast<float>(B(k, column));
  }
  Buffer<float> da(a), db(b), d(128);
  ASSERT_CU(module.Run("tf32", 1, 32, da, db, d));
  EXPECT_EQ(d.Read(), Product(8, 0));
}

TEST_F(MatrixTest, AsynchronousCopiesArriveWhenWaitedFor) {
  LoadedModule module(R"(
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ __align__(16) int s[3][128];
  int t = threadIdx.x;
  auto copy = [&](int stage, int bytes) {
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[stage][4 * t]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(x + stage * 128 + 4 * t), "r"(bytes));
    asm volatile("cp.async.commit_group;");
  };
  s[0][4 * t] = s[1][4 * t] = -1;
  copy(0, 16);
  copy(1, 16);
  copy(2, 8);
  asm volatile("cp.async.wait_group 2;" ::: "memory");
  y[3 * t] = s[0][4 * t] + ((volatile int*)s[1])[4 * t];
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[3 * t + 1] = s[1][4 * t + 3];
  y[3 * t + 2] = s[2][4 * t + 1] * 1000 + s[2][4 * t + 2];
})");
  std::vector<int> x(384);
  for (int i = 0; i < 384; ++i) x[i] = i;
  Buffer<int> dx(x), y(96);
  ASSERT_CU(module.Run("k", 1, 32, dx, y));
  const std::vector<int> got = y.Read();
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(got[3 * t], 4 * t - 1);
    EXPECT_EQ(got[3 * t + 1], 128 + 4 * t + 3);
    EXPECT_EQ(got[3 * t + 2], (256 + 4 * t + 1) * 1000);
  }
}

}  // namespace
}  // namespace cuda_emulator
