// CUDA's mathematical functions, which NVRTC compiles into PTX, against the host's in more precision.
#include <cmath>
#include <limits>
#include <random>

#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

// A function of one or two arguments within [low, high]; errors are in units in the last place, as NVIDIA documents
// them, with one more for the reference.
struct MathFunction {
  const char* name;
  long double (*expected)(long double, long double);
  double low, high;
  double float_ulps, double_ulps;
};

#define UNARY(function) [](long double x, long double) -> long double { return function(x); }
#define BINARY(function) [](long double x, long double y) -> long double { return function(x, y); }

const MathFunction kUnary[] = {
    {"exp", UNARY(expl), -80, 80, 2, 2},
    {"exp2", UNARY(exp2l), -80, 80, 3, 2},
    {"exp10", UNARY(exp10l), -30, 30, 3, 2},
    {"expm1", UNARY(expm1l), -10, 10, 2, 2},
    {"log", UNARY(logl), 1e-20, 1e20, 2, 2},
    {"log2", UNARY(log2l), 1e-20, 1e20, 2, 2},
    {"log10", UNARY(log10l), 1e-20, 1e20, 3, 2},
    {"log1p", UNARY(log1pl), -0.999, 10, 2, 2},
    {"sin", UNARY(sinl), -30, 30, 3, 3},
    {"cos", UNARY(cosl), -30, 30, 3, 3},
    {"tan", UNARY(tanl), -1.5, 1.5, 5, 3},
    {"asin", UNARY(asinl), -1, 1, 4, 3},
    {"acos", UNARY(acosl), -1, 1, 3, 3},
    {"atan", UNARY(atanl), -100, 100, 3, 3},
    {"sinh", UNARY(sinhl), -20, 20, 4, 3},
    {"cosh", UNARY(coshl), -20, 20, 3, 2},
    {"tanh", UNARY(tanhl), -10, 10, 3, 3},
    {"asinh", UNARY(asinhl), -100, 100, 4, 4},
    {"acosh", UNARY(acoshl), 1, 100, 5, 4},
    {"atanh", UNARY(atanhl), -0.999, 0.999, 4, 3},
    {"cbrt", UNARY(cbrtl), -1000, 1000, 2, 2},
    {"erf", UNARY(erfl), -4, 4, 3, 3},
    {"erfc", UNARY(erfcl), -4, 8, 5, 6},
    {"lgamma", UNARY(lgammal), 3, 100, 7, 5},
    {"tgamma", UNARY(tgammal), 0.1, 30, 6, 11},
    {"rsqrt", [](long double x, long double) -> long double { return 1 / sqrtl(x); }, 1e-10, 1e10, 3, 2},
};

const MathFunction kBinary[] = {
    {"pow", BINARY(powl), 0.01, 20, 5, 3},      {"atan2", BINARY(atan2l), -10, 10, 4, 3},
    {"hypot", BINARY(hypotl), -100, 100, 4, 3}, {"fmod", BINARY(fmodl), 0.1, 100, 0, 0},
    {"fdim", BINARY(fdiml), -5, 5, 0, 0},
};

class MathTest : public EmulatedGpuTest {
 protected:
  template <class T>
  void Check(const MathFunction& function, bool binary) {
    const bool is_float = sizeof(T) == 4;
    SCOPED_TRACE(std::string(function.name) + (is_float ? " of float" : " of double"));
    const std::string type = is_float ? "float" : "double";
    const std::string call = std::string(function.name) + (is_float ? "f" : "") + (binary ? "(x[i], y[i])" : "(x[i])");
    LoadedModule module("extern \"C\" __global__ void k(const " + type + "* x, const " + type + "* y, " + type +
                        "* z, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) z[i] = " + call +
                        "; }");
    const int n = 1000;
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(function.low, function.high);
    std::vector<T> x(n), y(n);
    for (int i = 0; i < n; ++i) x[i] = static_cast<T>(uniform(random)), y[i] = static_cast<T>(uniform(random));
    x[0] = static_cast<T>(function.low);
    Buffer<T> dx(x), dy(y), dz(n);
    ASSERT_CU(module.Run("k", (n + 127) / 128, 128, dx, dy, dz, n));
    const std::vector<T> z = dz.Read();
    const double allowed = is_float ? function.float_ulps : function.double_ulps;
    for (int i = 0; i < n; ++i) {
      const long double exact = function.expected(x[i], y[i]);
      const T rounded = static_cast<T>(exact);
      const long double unit =
          std::nextafter(std::fabs(rounded), std::numeric_limits<T>::infinity()) - std::fabs(rounded);
      ASSERT_LE(std::fabs(z[i] - exact) / unit, allowed + 0.5)
          << "of " << x[i] << ", " << y[i] << ": " << z[i] << ", not " << rounded;
    }
  }
};

TEST_F(MathTest, FunctionsOfFloat) {
  for (const MathFunction& function : kUnary) Check<float>(function, false);
  for (const MathFunction& function : kBinary) Check<float>(function, true);
}

TEST_F(MathTest, FunctionsOfDouble) {
  for (const MathFunction& function : kUnary) Check<double>(function, false);
  for (const MathFunction& function : kBinary) Check<double>(function, true);
}

TEST_F(MathTest, SpecialValues) {
  LoadedModule module(R"(
extern "C" __global__ void k(const double* x, double* z) {
  z[0] = exp(x[0]); z[1] = exp(-x[0]); z[2] = log(x[1]); z[3] = log(-1.0 - x[1]); z[4] = pow(x[1], x[1]);
  z[5] = tgamma(-x[2]); z[6] = atan2(x[1], -1.0); z[7] = fmax(x[3], 2.0); z[8] = lgamma(x[1]); z[9] = sin(x[0]);
})");
  const double infinity = std::numeric_limits<double>::infinity();
  Buffer<double> x({infinity, 0.0, 2.0, std::nan("")}), z(10);
  ASSERT_CU(module.Run("k", 1, 1, x, z));
  const std::vector<double> got = z.Read();
  EXPECT_EQ(got[0], infinity);
  EXPECT_EQ(got[1], 0);
  EXPECT_EQ(got[2], -infinity);
  EXPECT_TRUE(std::isnan(got[3]));
  EXPECT_EQ(got[4], 1);
  EXPECT_TRUE(std::isnan(got[5]));
  EXPECT_DOUBLE_EQ(got[6], M_PI);
  EXPECT_EQ(got[7], 2);
  EXPECT_EQ(got[8], infinity);
  EXPECT_TRUE(std::isnan(got[9]));
}

TEST_F(MathTest, ApproximateIntrinsics) {
  LoadedModule module(R"(
extern "C" __global__ void k(const float* x, float* z) {
  float v = x[threadIdx.x];
  float* out = z + threadIdx.x * 6;
  out[0] = __expf(v); out[1] = __logf(v); out[2] = __sinf(v); out[3] = __fdividef(v, 3.0f); out[4] = __frsqrt_rn(v);
  asm("tanh.approx.f32 %0, %1;" : "=f"(out[5]) : "f"(v));
})");
  const std::vector<float> values = {0.1f, 0.7f, 1.3f, 2.9f};
  Buffer<float> x(values), z(6 * values.size());
  ASSERT_CU(module.Run("k", 1, 4, x, z));
  const std::vector<float> got = z.Read();
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    EXPECT_NEAR(got[6 * i], std::exp(v), 1e-5 * std::exp(v));
    EXPECT_NEAR(got[6 * i + 1], std::log(v), 1e-6);
    EXPECT_NEAR(got[6 * i + 2], std::sin(v), 1e-6);
    EXPECT_FLOAT_EQ(got[6 * i + 3], static_cast<float>(v / 3));
    EXPECT_FLOAT_EQ(got[6 * i + 4], static_cast<float>(1 / std::sqrt(v)));
    EXPECT_NEAR(got[6 * i + 5], std::tanh(v), 1e-3);
  }
}

}  // namespace
}  // namespace cuda_emulator
