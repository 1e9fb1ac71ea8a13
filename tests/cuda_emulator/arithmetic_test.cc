// Expressions that the host computes, too: each is compiled by NVRTC and by the host's compiler.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

constexpr char kPreamble[] = R"(
using i8 = signed char; using u8 = unsigned char; using i16 = short; using u16 = unsigned short; using i32 = int;
using u32 = unsigned; using i64 = long long; using u64 = unsigned long long; using f32 = float; using f64 = double;
)";

// Interesting values of a type, then random ones: small, of any size, and for floats of any bits.
template <class T>
std::vector<T> Values(size_t count, int seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values;
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    values = {0,
              -T{0},
              1,
              -1,
              T{0.5},
              T{1.5},
              T{2.5},
              -T{2.5},
              Limits::max(),
              Limits::lowest(),
              Limits::min(),
              Limits::denorm_min(),
              Limits::infinity(),
              -Limits::infinity(),
              Limits::quiet_NaN(),
              T{2147483648.0},
              T{-2147483649.0},
              T{1e19},
              T{255.5}};
    while (values.size() < count) {
      const uint64_t bits = random();
      switch (random() % 3) {
        case 0:
          values.push_back(static_cast<T>(static_cast<int64_t>(bits % 2001) - 1000) / 8);
          break;
        case 1:
          values.push_back(static_cast<T>(
              std::ldexp(static_cast<double>(static_cast<int64_t>(bits)), -static_cast<int>(random() % 90))));
          break;
        default:
          values.push_back(sizeof(T) == 4 ? static_cast<T>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                                          : static_cast<T>(std::bit_cast<double>(bits)));
      }
    }
  } else {
    values = {0,  1, static_cast<T>(-1), std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), 2, 7, 31, 32, 33,
              63, 64};
    while (values.size() < count) {
      const uint64_t bits = random();
      values.push_back(static_cast<T>(random() % 2 == 0 ? bits >> (random() % 64) : bits));
    }
  }
  return values;
}

template <class T>
bool Same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

class ArithmeticTest : public EmulatedGpuTest {
 protected:
  static constexpr int kCount = 600;

  // Runs `result = expression` of a and b, both of type T, on pairs of values.
  template <class T, class R>
  void Check(const char* type, const char* result, const char* expression, const std::function<R(T, T)>& expected) {
    SCOPED_TRACE(std::string(result) + " = " + expression + " of " + type);
    const std::string source = std::string(kPreamble) + "extern \"C\" __global__ void k(const " + type + "* x, const " +
                               type + "* y, " + result +
                               "* z, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;" + "if (i < n) { " + type +
                               " a = x[i], b = y[i]; z[i] = (" + result + ")(" + expression + "); } }";
    LoadedModule module(source);
    const std::vector<T> a = Values<T>(kCount, 1);
    std::vector<T> b = Values<T>(kCount, 2);
    std::shuffle(b.begin(), b.end(), std::mt19937(3));
    Buffer<T> da(a), db(b);
    Buffer<R> dz(kCount);
    ASSERT_CU(module.Run("k", (kCount + 127) / 128, 128, da, db, dz, kCount));
    const std::vector<R> z = dz.Read();
    for (int i = 0; i < kCount; ++i) {
      const R want = expected(a[i], b[i]);
      ASSERT_TRUE(Same(z[i], want)) << "a = " << +a[i] << ", b = " << +b[i] << ": " << +z[i] << " instead of " << +want;
    }
  }
};

#define CHECK_AS(T, R, expression) \
  Check<T, R>(#T, #R, #expression, []([[maybe_unused]] T a, [[maybe_unused]] T b) -> R { return (R)(expression); })
#define CHECK_EXPRESSION(T, expression) CHECK_AS(T, T, expression)

TEST_F(ArithmeticTest, SumsProductsAndLogicOfIntegers) {
#define CHECK_INTEGER(T)                \
  CHECK_EXPRESSION(T, (u64)a + (u64)b); \
  CHECK_EXPRESSION(T, (u64)a - (u64)b); \
  CHECK_EXPRESSION(T, (u64)a*(u64)b);   \
  CHECK_EXPRESSION(T, a& b);            \
  CHECK_EXPRESSION(T, a | ~b);          \
  CHECK_EXPRESSION(T, a ^ b);           \
  CHECK_EXPRESSION(T, a < b ? a : b)
  CHECK_INTEGER(i8);
  CHECK_INTEGER(u8);
  CHECK_INTEGER(i16);
  CHECK_INTEGER(u16);
  CHECK_INTEGER(i32);
  CHECK_INTEGER(u32);
  CHECK_INTEGER(i64);
  CHECK_INTEGER(u64);
#undef CHECK_INTEGER
}

TEST_F(ArithmeticTest, QuotientsOfIntegers) {
  // Not by zero, and not the smallest by -1, which are not defined.
#define CHECK_QUOTIENT(T)                                        \
  CHECK_EXPRESSION(T, b == 0 || b == (T)-1 ? (T)5 : (T)(a / b)); \
  CHECK_EXPRESSION(T, b == 0 || b == (T)-1 ? (T)5 : (T)(a % b))
  CHECK_QUOTIENT(i8);
  CHECK_QUOTIENT(u8);
  CHECK_QUOTIENT(i16);
  CHECK_QUOTIENT(u16);
  CHECK_QUOTIENT(i32);
  CHECK_QUOTIENT(u32);
  CHECK_QUOTIENT(i64);
  CHECK_QUOTIENT(u64);
#undef CHECK_QUOTIENT
}

TEST_F(ArithmeticTest, Shifts) {
  CHECK_EXPRESSION(i32, (u32)a << (b & 31));
  CHECK_EXPRESSION(i32, a >> (b & 31));
  CHECK_EXPRESSION(u32, a >> (b & 31));
  CHECK_EXPRESSION(i64, (u64)a << (b & 63));
  CHECK_EXPRESSION(i64, a >> (b & 63));
  CHECK_EXPRESSION(u64, a >> (b & 63));
  CHECK_EXPRESSION(i16, a >> (b & 15));
  CHECK_EXPRESSION(u8, a >> (b & 7));
}

TEST_F(ArithmeticTest, WideProducts) {
  CHECK_AS(i32, i64, (i64)a * b);
  CHECK_AS(u32, u64, (u64)a * b);
  CHECK_AS(i16, i32, (i32)a * b);
  CHECK_AS(i32, i64, (i64)a * b + 17);
  CHECK_AS(u64, u64, (u64)(((unsigned __int128)a * b) >> 64));
  CHECK_AS(i64, i64, (i64)(((__int128)a * b) >> 64));
  CHECK_AS(u64, u64, (u64)(((unsigned __int128)a * a + b) >> 37));
  CHECK_AS(i64, i64, (i64)(((__int128)a - b) >> 3));
}

TEST_F(ArithmeticTest, ConversionsBetweenIntegersAndFloats) {
#define CHECK_FROM_INTEGER(T) \
  CHECK_AS(T, f32, a);        \
  CHECK_AS(T, f64, a);        \
  CHECK_AS(T, i8, a);         \
  CHECK_AS(T, u16, a);        \
  CHECK_AS(T, i32, a);        \
  CHECK_AS(T, u64, a)
  CHECK_FROM_INTEGER(i8);
  CHECK_FROM_INTEGER(u8);
  CHECK_FROM_INTEGER(i16);
  CHECK_FROM_INTEGER(u16);
  CHECK_FROM_INTEGER(i32);
  CHECK_FROM_INTEGER(u32);
  CHECK_FROM_INTEGER(i64);
  CHECK_FROM_INTEGER(u64);
#undef CHECK_FROM_INTEGER
  CHECK_AS(f32, f64, a);
  CHECK_AS(f64, f32, a);
  // What fits; the rest saturates on the GPU and is not defined on the host.
  CHECK_AS(f32, i32, a > -2e9f && a < 2e9f ? (i32)a : 7);
  CHECK_AS(f32, u32, a > 0 && a < 4e9f ? (u32)a : 7);
  CHECK_AS(f64, i64, a > -9e18 && a < 9e18 ? (i64)a : 7);
  CHECK_AS(f64, u64, a > 0 && a < 1.8e19 ? (u64)a : 7);
  CHECK_AS(f32, u8, a > 0 && a < 255 ? (u8)a : 7);
}

TEST_F(ArithmeticTest, FloatsToIntegersSaturate) {
  LoadedModule module(R"(
extern "C" __global__ void k(const double* x, int* i, unsigned* u, long long* l, const float* y, int* fi, long long* fl) {
  int t = threadIdx.x;
  i[t] = (int)x[t]; u[t] = (unsigned)x[t]; l[t] = (long long)x[t]; fi[t] = (int)y[t]; fl[t] = (long long)y[t];
})");
  Buffer<double> x({1e30, -1e30, std::nan(""), -0.5, 3e9});
  Buffer<float> y({1e30f, -1e30f, std::nanf(""), -0.5f, 3e9f});
  Buffer<int> i(5), fi(5);
  Buffer<unsigned> u(5);
  Buffer<long long> l(5), fl(5);
  ASSERT_CU(module.Run("k", 1, 5, x, i, u, l, y, fi, fl));
  constexpr int kMin = std::numeric_limits<int>::min(), kMax = std::numeric_limits<int>::max();
  constexpr long long kLongMin = std::numeric_limits<long long>::min(),
                      kLongMax = std::numeric_limits<long long>::max();
  EXPECT_EQ(i.Read(), (std::vector<int>{kMax, kMin, kMin, 0, kMax}));
  EXPECT_EQ(u.Read(), (std::vector<unsigned>{0xFFFFFFFF, 0, 0x80000000, 0, 3000000000u}));
  EXPECT_EQ(l.Read(), (std::vector<long long>{kLongMax, kLongMin, kLongMin, 0, 3000000000ll}));
  EXPECT_EQ(fi.Read(), (std::vector<int>{kMax, kMin, 0, 0, kMax}));
  EXPECT_EQ(fl.Read(), (std::vector<long long>{kLongMax, kLongMin, kLongMin, 0, 3000000000ll}));
}

TEST_F(ArithmeticTest, FloatingPoint) {
#define CHECK_FLOAT(T)        \
  CHECK_EXPRESSION(T, a + b); \
  CHECK_EXPRESSION(T, a - b); \
  CHECK_EXPRESSION(T, a* b);  \
  CHECK_EXPRESSION(T, a / b); \
  CHECK_EXPRESSION(T, -a);    \
  CHECK_AS(T, i32, a < b);    \
  CHECK_AS(T, i32, a <= b);   \
  CHECK_AS(T, i32, a == b);   \
  CHECK_AS(T, i32, a != b);   \
  CHECK_AS(T, i32, !(a > b)); \
  CHECK_AS(T, i32, !(a >= b) || !(b >= 0))
  CHECK_FLOAT(f32);
  CHECK_FLOAT(f64);
#undef CHECK_FLOAT
  Check<f32, f32>("f32", "f32", "fmaf(a, b, a)", [](f32 a, f32 b) { return std::fma(a, b, a); });
  Check<f64, f64>("f64", "f64", "fma(a, b, a)", [](f64 a, f64 b) { return std::fma(a, b, a); });
  Check<f32, f32>("f32", "f32", "sqrtf(a)", [](f32 a, f32) { return std::sqrt(a); });
  Check<f64, f64>("f64", "f64", "sqrt(a)", [](f64 a, f64) { return std::sqrt(a); });
  Check<f64, f64>("f64", "f64", "fmod(a, b)", [](f64 a, f64 b) { return std::fmod(a, b); });
  Check<f32, f32>("f32", "f32", "remainderf(a, b)", [](f32 a, f32 b) { return std::remainder(a, b); });
  Check<f32, f32>("f32", "f32", "rintf(a)", [](f32 a, f32) { return std::nearbyint(a); });
  Check<f64, f64>("f64", "f64", "floor(a)", [](f64 a, f64) { return std::floor(a); });
  Check<f64, f64>("f64", "f64", "ceil(a)", [](f64 a, f64) { return std::ceil(a); });
  Check<f32, f32>("f32", "f32", "truncf(a)", [](f32 a, f32) { return std::trunc(a); });
  Check<f32, f32>("f32", "f32", "roundf(a)", [](f32 a, f32) { return std::round(a); });
  Check<f64, f64>("f64", "f64", "round(a)", [](f64 a, f64) { return std::round(a); });
  Check<f32, f32>("f32", "f32", "copysignf(a, b)", [](f32 a, f32 b) { return std::copysign(a, b); });
  Check<f64, f64>("f64", "f64", "nextafter(a, b)", [](f64 a, f64 b) { return std::nextafter(a, b); });
  Check<f32, f32>("f32", "f32", "fmaxf(a, b)", [](f32 a, f32 b) {
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);  // +0 is the larger zero
  });
}

TEST_F(ArithmeticTest, DirectedRounding) {
  Check<f64, f32>("f64", "f32", "__double2float_rz(a)", [](f64 a, f64) -> f32 {
    const f32 nearest = static_cast<f32>(a);
    if (std::isnan(a) || std::isinf(a) || std::fabs(nearest) <= std::fabs(a)) return nearest;
    return std::nextafter(nearest, 0.f);
  });
  Check<f64, f32>("f64", "f32", "__double2float_ru(a)", [](f64 a, f64) -> f32 {
    const f32 nearest = static_cast<f32>(a);
    if (std::isnan(a) || static_cast<f64>(nearest) >= a) return nearest;
    return std::nextafter(nearest, std::numeric_limits<f32>::infinity());
  });
  Check<f32, f32>("f32", "f32", "__fadd_rz(a, b)", [](f32 a, f32 b) -> f32 {
    // The sum of two floats by a double is not exact only where one is far smaller; those are left to the nearest case.
    const f64 sum = static_cast<f64>(a) + b;
    const f32 nearest = static_cast<f32>(sum);
    if (std::isnan(sum) || std::isinf(sum)) return nearest;
    f32 result = std::fabs(static_cast<f64>(nearest)) > std::fabs(sum) ? std::nextafter(nearest, 0.f) : nearest;
    const f64 lost = std::fabs(a) > std::fabs(b) ? b - (sum - a) : a - (sum - b);
    if (static_cast<f64>(result) == sum && lost != 0 && (lost > 0) != (sum > 0)) result = std::nextafter(result, 0.f);
    return result;
  });
  Check<i32, f32>("i32", "f32", "__int2float_rd(a)", [](i32 a, i32) -> f32 {
    const f32 nearest = static_cast<f32>(a);
    return static_cast<f64>(nearest) <= a ? nearest : std::nextafter(nearest, -std::numeric_limits<f32>::infinity());
  });
  Check<f64, i32>("f64", "i32", "fabs(a) < 1e9 ? __double2int_ru(a) : 0",
                  [](f64 a, f64) { return std::fabs(a) < 1e9 ? static_cast<i32>(std::ceil(a)) : 0; });
}

TEST_F(ArithmeticTest, Bits) {
  Check<u32, i32>("u32", "i32", "__popc(a)", [](u32 a, u32) { return std::popcount(a); });
  Check<u64, i32>("u64", "i32", "__popcll(a)", [](u64 a, u64) { return std::popcount(a); });
  Check<u32, i32>("u32", "i32", "__clz(a)", [](u32 a, u32) { return std::countl_zero(a); });
  Check<u64, i32>("u64", "i32", "__clzll(a)", [](u64 a, u64) { return std::countl_zero(a); });
  Check<u32, i32>("u32", "i32", "__ffs(a)", [](u32 a, u32) { return a == 0 ? 0 : std::countr_zero(a) + 1; });
  Check<u64, u64>("u64", "u64", "__brevll(a)", [](u64 a, u64) {
    u64 result = 0;
    for (int k = 0; k < 64; ++k) result |= (a >> k & 1) << (63 - k);
    return result;
  });
  Check<u32, u32>("u32", "u32", "__funnelshift_l(a, b, 7)", [](u32 a, u32 b) { return b << 7 | a >> 25; });
  Check<u32, u32>("u32", "u32", "__funnelshift_rc(a, b, 40)", [](u32, u32 b) { return b; });
  Check<u32, u32>("u32", "u32", "__byte_perm(a, b, 0x7205)", [](u32 a, u32 b) {
    return (b >> 8 & 0xFF) | (a & 0xFF) << 8 | (a >> 16 & 0xFF) << 16 | (b >> 24) << 24;
  });
  Check<i32, i32>("i32", "i32", "__sad(a, b, 5)", [](i32 a, i32 b) {
    return static_cast<i32>(static_cast<u32>(a < b ? static_cast<u32>(b) - a : static_cast<u32>(a) - b) + 5);
  });
  Check<i32, i32>("i32", "i32", "__mul24(a, b)", [](i32 a, i32 b) {
    const i64 x = static_cast<i64>(static_cast<u64>(a) << 40) >> 40,
              y = static_cast<i64>(static_cast<u64>(b) << 40) >> 40;
    return static_cast<i32>(x * y);
  });
  Check<i32, i32>("i32", "i32", "__mulhi(a, b)", [](i32 a, i32 b) { return static_cast<i32>((i64{a} * b) >> 32); });
  Check<i32, i32>("i32", "i32", "__dp4a(a, b, 9)", [](i32 a, i32 b) {
    i32 sum = 9;
    for (int k = 0; k < 4; ++k) sum += static_cast<i8>(a >> (8 * k)) * static_cast<i8>(b >> (8 * k));
    return sum;
  });
}

TEST_F(ArithmeticTest, InlineAssembly) {
  LoadedModule module(R"(
extern "C" __global__ void k(unsigned* out, unsigned a, unsigned b) {
  unsigned r;
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(r) : "r"(a)); out[0] = r;
  asm("bfe.s32 %0, %1, 4, 8;" : "=r"(r) : "r"(a)); out[1] = r;
  asm("bfi.b32 %0, %1, %2, 8, 4;" : "=r"(r) : "r"(a), "r"(b)); out[2] = r;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(0x0F0F0F0Fu)); out[3] = r;
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(b)); out[4] = r;
  asm("{ .reg .pred p, q; setp.lt.and.u32 p|q, %1, %2, 1; selp.u32 %0, 3, 4, q; }" : "=r"(r) : "r"(a), "r"(b)); out[5] = r;
  asm("{ .reg .pred p;\n setp.eq.u32 p, %1, %2;\n @p bra SAME;\n mov.u32 %0, 1;\n bra DONE;\nSAME: mov.u32 %0, 2;\nDONE:\n }" : "=r"(r) : "r"(a), "r"(b)); out[6] = r;
  asm("{ .reg .pred p;\n setp.eq.u32 p, %1, %2;\n @p bra SAME;\n mov.u32 %0, 1;\n bra DONE;\nSAME: mov.u32 %0, 2;\nDONE:\n }" : "=r"(r) : "r"(a), "r"(a)); out[7] = r;
  asm("{ .reg .pred p;\n setp.lt.u32 p, %1, %2;\n mov.u32 %0, 10;\n @!p mov.u32 %0, 11; }" : "=r"(r) : "r"(a), "r"(b)); out[8] = r;
  asm("slct.u32.s32 %0, 5, 6, %1;" : "=r"(r) : "r"(a)); out[9] = r;
  asm("add.sat.s32 %0, 2147483647, %1;" : "=r"(r) : "r"(5)); out[10] = r;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(300), "r"(-7), "r"(0xABCD)); out[11] = r;
})");
  Buffer<unsigned> out(12);
  const unsigned a = 0x80000FA5, b = 0x00301234;
  ASSERT_CU(module.Run("k", 1, 1, out, a, b));
  EXPECT_EQ(out.Read(), (std::vector<unsigned>{0xFA, 0xFFFFFFFA, 0x00301534, a ^ b ^ 0x0F0F0F0F, 21, 3, 1, 2, 11, 6,
                                               0x7FFFFFFF, 0xABCDFF00}));
}

}  // namespace
}  // namespace cuda_emulator
