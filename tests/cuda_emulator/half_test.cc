// Half precision and bfloat16, by inline assembly as kernels without NVIDIA's headers use them.
#include <bit>
#include <cmath>
#include <random>

#include "emulated_gpu.h"
#include "float16.h"

namespace cuda_emulator {
namespace {

using HalfTest = EmulatedGpuTest;

std::vector<uint16_t> AllBits() {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  return bits;
}

// The nearest number of the format by trying: a reference that shares nothing with the emulator's rounding.
template <class T>
uint16_t NearestByTrying(double value) {
  if (std::isnan(value)) return 0x7FFF;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  const uint16_t infinity = std::is_same_v<T, Half> ? 0x7C00 : 0x7F80;
  uint16_t low = 0, high = infinity;  // low <= magnitude < high, by bits
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (T{middle}.ToFloat() <= magnitude ? low : high) = middle;
  }
  // Beyond the largest number the next one would be one step further.
  const double below = T{low}.ToFloat();
  const double above = high == infinity ? 2 * below - T{static_cast<uint16_t>(low - 1)}.ToFloat() : T{high}.ToFloat();
  const bool up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1));
  return sign | (up ? high : low);
}

TEST_F(HalfTest, EveryHalfToFloatAndBack) {
  LoadedModule module(R"(
extern "C" __global__ void k(const unsigned short* x, float* f, unsigned short* back) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f[i]) : "h"(x[i]));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(back[i]) : "f"(f[i]));
})");
  const std::vector<uint16_t> bits = AllBits();
  Buffer<uint16_t> x(bits), back(bits.size());
  Buffer<float> f(bits.size());
  ASSERT_CU(module.Run("k", 256, 256, x, f, back));
  const std::vector<float> floats = f.Read();
  const std::vector<uint16_t> again = back.Read();
  for (size_t i = 0; i < bits.size(); ++i) {
    const int exponent = bits[i] >> 10 & 31, mantissa = bits[i] & 1023;
    if (exponent == 31 && mantissa != 0) {
      ASSERT_TRUE(std::isnan(floats[i]));
      continue;
    }
    double expected = exponent == 31  ? INFINITY
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
    if (bits[i] & 0x8000) expected = -expected;
    ASSERT_EQ(floats[i], expected) << i;
    ASSERT_EQ(again[i], bits[i]);
  }
}

TEST_F(HalfTest, FloatsRoundToTheNearest) {
  LoadedModule module(R"(
extern "C" __global__ void k(const float* x, unsigned short* half, unsigned short* bfloat, unsigned* pair) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half[i]) : "f"(x[i]));
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bfloat[i]) : "f"(x[i]));
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair[i]) : "f"(x[i]), "f"(1.0f));
})");
  std::mt19937 random(5);
  std::vector<float> values = {0,        -0.f,  65504,   65519.9f,  65520, 1e-8f,         2.98e-8f,
                               2.99e-8f, 6e-5f, 3.4e38f, -INFINITY, NAN,   1.00048828125f};
  while (values.size() < 4096) {
    values.push_back(random() % 2 ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                                  : std::ldexp(static_cast<float>(random() % 8192), -static_cast<int>(random() % 40)));
  }
  Buffer<float> x(values);
  Buffer<uint16_t> half(values.size()), bfloat(values.size());
  Buffer<uint32_t> pair(values.size());
  ASSERT_CU(module.Run("k", 16, 256, x, half, bfloat, pair));
  const std::vector<uint16_t> halves = half.Read(), bfloats = bfloat.Read();
  const std::vector<uint32_t> pairs = pair.Read();
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(halves[i], NearestByTrying<Half>(values[i])) << values[i];
    ASSERT_EQ(bfloats[i], NearestByTrying<BFloat>(values[i])) << values[i];
    ASSERT_EQ(pairs[i], uint32_t{bfloats[i]} << 16 | 0x3F80) << values[i];
  }
}

template <class T>
void CheckArithmetic(const char* type, const char* pair_type) {
  std::string source = R"(
extern "C" __global__ void k(const unsigned short* x, const unsigned short* y, unsigned short* z, unsigned* w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned short a = x[i], b = y[i], *out = z + 6 * i;
  asm("add.TYPE %0, %1, %2;" : "=h"(out[0]) : "h"(a), "h"(b));
  asm("sub.TYPE %0, %1, %2;" : "=h"(out[1]) : "h"(a), "h"(b));
  asm("mul.TYPE %0, %1, %2;" : "=h"(out[2]) : "h"(a), "h"(b));
  asm("fma.rn.TYPE %0, %1, %2, %1;" : "=h"(out[3]) : "h"(a), "h"(b));
  asm("max.TYPE %0, %1, %2;" : "=h"(out[4]) : "h"(a), "h"(b));
  asm("{ .reg .pred p; setp.lt.TYPE p, %1, %2; selp.b16 %0, 1, 0, p; }" : "=h"(out[5]) : "h"(a), "h"(b));
  unsigned both = a | (unsigned)b << 16;
  asm("add.PAIR %0, %1, %1;" : "=r"(w[i]) : "r"(both));
})";
  for (auto [word, by] : {std::pair<std::string, const char*>{"TYPE", type}, {"PAIR", pair_type}}) {
    for (size_t at; (at = source.find(word)) != std::string::npos;) source.replace(at, word.size(), by);
  }
  LoadedModule module(source);
  const int n = 8192;
  std::mt19937 random(11);
  std::vector<uint16_t> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = static_cast<uint16_t>(random()), b[i] = static_cast<uint16_t>(random());
  for (int i = 0; i < n; i += 2) b[i] = static_cast<uint16_t>(a[i] ^ (random() & 0x83FF));  // of similar size
  Buffer<uint16_t> da(a), db(b), dz(6 * n);
  Buffer<uint32_t> dw(n);
  ASSERT_CU(module.Run("k", n / 256, 256, da, db, dz, dw));
  const std::vector<uint16_t> z = dz.Read();
  const std::vector<uint32_t> w = dw.Read();
  for (int i = 0; i < n; ++i) {
    const long double x = T{a[i]}.ToFloat(), y = T{b[i]}.ToFloat();
    SCOPED_TRACE(testing::Message() << type << " " << static_cast<double>(x) << ", " << static_cast<double>(y));
    // Where a sum is not exact in double, as of bfloat16 numbers of very different sizes, it says nothing about ties.
    auto is_exact = [](long double a, long double b) {
      const volatile double sum = static_cast<double>(a + b);
      return !std::isfinite(sum) || (sum - a == b && sum - b == a);
    };
    if (is_exact(x, y)) {
      ASSERT_EQ(z[6 * i], NearestByTrying<T>(static_cast<double>(x + y)));
    }
    if (is_exact(x, -y)) {
      ASSERT_EQ(z[6 * i + 1], NearestByTrying<T>(static_cast<double>(x - y)));
    }
    ASSERT_EQ(z[6 * i + 2], NearestByTrying<T>(static_cast<double>(x * y)));
    if (is_exact(x * y, x)) {
      ASSERT_EQ(z[6 * i + 3], NearestByTrying<T>(static_cast<double>(x * y + x)));
    }
    const long double larger = std::isnan(x) ? y : std::isnan(y) ? x : x == y && std::signbit(x) ? y : std::max(x, y);
    ASSERT_EQ(z[6 * i + 4], NearestByTrying<T>(static_cast<double>(larger)));
    ASSERT_EQ(z[6 * i + 5], x < y);
    ASSERT_EQ(w[i] & 0xFFFF, NearestByTrying<T>(static_cast<double>(x + x)));
    ASSERT_EQ(w[i] >> 16, NearestByTrying<T>(static_cast<double>(y + y)));
  }
}

TEST_F(HalfTest, ArithmeticOfHalf) { CheckArithmetic<Half>("f16", "f16x2"); }

TEST_F(HalfTest, ArithmeticOfBfloat16) { CheckArithmetic<BFloat>("bf16", "bf16x2"); }

TEST_F(HalfTest, IntegersAndDoubles) {
  LoadedModule module(R"(
extern "C" __global__ void k(const int* x, const double* y, unsigned short* z, int* back) {
  int i = threadIdx.x;
  asm("cvt.rn.f16.s32 %0, %1;" : "=h"(z[2 * i]) : "r"(x[i]));
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(z[2 * i + 1]) : "d"(y[i]));
  asm("cvt.rzi.s32.f16 %0, %1;" : "=r"(back[i]) : "h"(z[2 * i + 1]));
})");
  const std::vector<int> x = {0, 1, -7, 2049, 2051, 65535, -100000, 12345};
  const std::vector<double> y = {0.1, -2.5, 1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 70000, 1e-30, 1234.56, -0.0};
  Buffer<int> dx(x), back(8);
  Buffer<double> dy(y);
  Buffer<uint16_t> z(16);
  ASSERT_CU(module.Run("k", 1, 8, dx, dy, z, back));
  const std::vector<uint16_t> got = z.Read();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(got[2 * i], NearestByTrying<Half>(x[i])) << x[i];
    EXPECT_EQ(got[2 * i + 1], NearestByTrying<Half>(y[i])) << y[i];
  }
  EXPECT_EQ(back.Read(), (std::vector<int>{0, -2, 1, 1, 2147483647, 0, 1235, 0}));
}

}  // namespace
}  // namespace cuda_emulator
