// Random nodes of every op that a GPU has a kernel for, run on the host and on the GPU: where the host gives a result,
// the GPU gives the same within rounding.
//
// WEIR_GPU_CASES=N makes N cases of each op; WEIR_GPU_OPS=A,B only of these ops; WEIR_GPU_SEED=S others.
// WEIR_GPU_VERBOSE=1 writes each case before it runs, so that the last one written is the one that ended the program.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "absl/strings/str_format.h"
#include "tests/cuda/gpu_fixture.h"
#include "tests/op_fuzz/op_case.h"
#include "weir/device/cpu/arithmetic.h"

namespace weir::gpu_testing {
namespace {

using op_fuzz::CaseGenerator;
using op_fuzz::CaseInput;
using op_fuzz::Chance;
using op_fuzz::OpCase;

int64_t Number(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoll(value, nullptr, 10);
}

bool IsChosen(const std::string& op) {
  const char* list = std::getenv("WEIR_GPU_OPS");
  return list == nullptr || (std::string(",") + list + ",").find("," + op + ",") != std::string::npos;
}

void Trace(const char* device, const OpCase& node) {
  static const bool is_verbose = Number("WEIR_GPU_VERBOSE", 0) != 0;
  if (!is_verbose) return;
  std::fprintf(stderr, "%s: %s\n", device, node.ToString().substr(0, 1500).c_str());
  std::fflush(stderr);
}

// Ops whose results are not a function of their inputs alone.
bool IsComparable(const OpSchema& schema) {
  if (schema.is_stateful) return false;
  static const std::set<std::string> others = {"Empty", "TemporaryVariable", "ApproxTopK", "ParallelDynamicStitch",
                                               // Elements in any order (sorted = false), vectors that may have either
                                               // sign, and solutions of systems that are nearly singular.
                                               "TopK", "TopKV2", "BatchSvd", "Svd", "SelfAdjointEigV2", "Qr",
                                               "TridiagonalSolve"};
  return !others.contains(schema.name);
}

bool IsPlainCase(const OpCase& node) {
  for (const CaseInput& input : node.inputs) {
    if (input.maker >= 0 || !IsPlain(BaseType(input.dtype)) || IsRef(input.dtype)) return false;
  }
  return true;
}

double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return 4e-3;
    case DType::kBFloat16:
      return 3e-2;
    case DType::kDouble:
    case DType::kComplex128:
      return 1e-8;
    default:
      return 2e-4;
  }
}

// Sums of many terms, of which the largest says how many digits are left.
bool IsOfMatrices(const OpSchema& schema) { return schema.family == "linalg" || schema.family == "audio"; }
// What a mask leaves out has a weight of zero, and zero times NaN is NaN: which of it is looked at differs.
bool TakesFiniteInputs(const OpSchema& schema) {
  return IsOfMatrices(schema) || schema.name == "_Attention" || schema.name == "_AttentionGrad";
}
bool IsOfSums(const OpSchema& schema) {
  static const std::set<std::string> ops = {"BiasAddGrad"};
  return IsOfMatrices(schema) || ops.contains(schema.name);
}

// Sums of products of one element of each input: the terms are as large as products of the largest elements.
bool IsOfProducts(const OpSchema& schema) {
  static const std::set<std::string> ops = {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum", "MatMul"};
  return ops.contains(schema.name);
}

// Sums of products of an element of each row.
bool IsOfDeterminants(const OpSchema& schema) {
  return schema.name == "MatrixDeterminant" || schema.name == "LogMatrixDeterminant";
}

struct Sizes {
  double largest = 0;  // of the elements that are finite
  bool all_finite = true;
};
template <typename T>
Sizes SizesOf(const Tensor& tensor) {
  Sizes sizes;
  for (const T& x : tensor.span<T>()) {
    const double size = static_cast<double>(std::abs(Widen(x)));
    if (std::isfinite(size))
      sizes.largest = std::max(sizes.largest, size);
    else
      sizes.all_finite = false;
  }
  return sizes;
}
Sizes SizesOfFloats(const Tensor& tensor) {
  Sizes sizes;
  DispatchDType(tensor.dtype(), FloatTypes{} + ComplexTypes{},
                [&](auto tag) { sizes = SizesOf<typename decltype(tag)::type>(tensor); });
  return sizes;
}

// The largest determinant that such a matrix has if its shortest row is as long as its longest: rounding changes each
// row by a part of the longest.
double LargestDeterminant(const Tensor& matrices) {
  double largest = 0;
  DispatchDType(matrices.dtype(), FloatTypes{} + ComplexTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t n = matrices.dim(matrices.rank() - 1), size = n * n;
    for (int64_t first = 0; first < matrices.num_elements(); first += size) {
      double product = 1, shortest = INFINITY, longest = 0;
      for (int64_t row = 0; row < n; ++row) {
        double squares = 0;
        for (int64_t i = 0; i < n; ++i) {
          squares += std::norm(std::complex<double>(Widen(matrices.data<T>()[first + row * n + i])));
        }
        if (shortest < INFINITY) product *= std::max(shortest, std::sqrt(squares));
        shortest = std::min(shortest, std::sqrt(squares));
        longest = std::max(longest, std::sqrt(squares));
      }
      largest = std::max(largest, product * longest);
    }
  });
  return largest;
}

// The determinants of which LogMatrixDeterminant gave signs and logarithms: near zero, neither has a digit that counts.
std::vector<Tensor> Determinants(const std::vector<Tensor>& outputs) {
  Tensor out = Tensor::Allocate(DType::kComplex128, outputs[0].shape()).value();
  DispatchDType(outputs[0].dtype(), FloatTypes{} + ComplexTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      const std::complex<double> sign(Widen(outputs[0].data<T>()[i])), size(Widen(outputs[1].data<T>()[i]));
      out.data<std::complex<double>>()[i] = sign * std::exp(size.real());
    }
  });
  return {out};
}

bool AreFinite(const std::vector<Tensor>& inputs) {
  for (const Tensor& input : inputs) {
    if (!SizesOfFloats(input).all_finite) return false;
  }
  return true;
}

// How large the terms of sums can be. Infinite: they overflow in one order and not in another.
double ScaleOf(const OpSchema& schema, const std::vector<Tensor>& inputs) {
  double elements = 0, largest = 0, product = 1;
  bool is_wide = schema.name == "LogMatrixDeterminant";  // whose determinants are compared in double
  for (const Tensor& input : inputs) {
    const double size = SizesOfFloats(input).largest;
    elements += static_cast<double>(input.num_elements());
    largest = std::max(largest, size);
    product *= size;
    is_wide |= input.dtype() == DType::kDouble || input.dtype() == DType::kComplex128;
  }
  double scale = IsOfSums(schema) ? largest * elements : 0;
  if (IsOfProducts(schema)) scale = std::max(scale, product * elements);
  if (IsOfDeterminants(schema)) scale = std::max(scale, LargestDeterminant(inputs[0]));
  return !is_wide && scale > 3e38 ? INFINITY : scale;
}

template <typename T>
bool IsNear(T a, T b, double tolerance, double scale) {
  if (std::isinf(scale)) return true;
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    // Products that overflow may end as infinity or as NaN, in either part, by the order of their terms.
    const bool is_finite = std::isfinite(b.real()) && std::isfinite(b.imag());
    if (!is_finite) return !(std::isfinite(a.real()) && std::isfinite(a.imag()));
    return IsNear(a.real(), b.real(), tolerance, scale) && IsNear(a.imag(), b.imag(), tolerance, scale);
  } else {
    const double x = static_cast<double>(a), y = static_cast<double>(b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y);
    if (x == y) return true;
    if (std::isinf(x) || std::isinf(y)) return std::abs(x) > 3e38 && std::abs(y) > 3e38 && (x > 0) == (y > 0);
    return std::abs(x - y) <= tolerance * (1 + std::abs(y) + scale);
  }
}

std::string Text(double x) { return absl::StrFormat("%.9g", x); }
template <typename R>
std::string Text(std::complex<R> x) {
  return Cat("(", Text(static_cast<double>(x.real())), ", ", Text(static_cast<double>(x.imag())), ")");
}

// Empty if they agree.
std::string Difference(const Tensor& actual, const Tensor& expected, double epsilon, double scale) {
  if (actual.dtype() != expected.dtype()) return Cat("type ", Name(actual.dtype()), ", not ", Name(expected.dtype()));
  if (!(actual.shape() == expected.shape())) {
    return Cat("shape ", actual.shape().ToString(), ", not ", expected.shape().ToString());
  }
  std::string difference;
  DispatchDType(expected.dtype(), NumberTypes{} + TypeList<bool>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < expected.num_elements() && difference.empty(); ++i) {
      const T a = actual.data<T>()[i], b = expected.data<T>()[i];
      bool is_same = a == b;
      if constexpr (!std::is_integral_v<T>) is_same = is_same || IsNear(Widen(a), Widen(b), epsilon, scale);
      if (!is_same)
        difference = Cat("element ", i, " differs: ", Text(Widen(a)), " for ", Text(Widen(b)), ": ",
                         actual.ToString(64), "\n  on the host ", expected.ToString(64));
    }
  });
  return difference;
}

// Every eighth op, so that these tests can run side by side.
constexpr size_t kParts = 8;
class GpuRandomOps : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, GpuRandomOps, testing::Range<size_t>(0, kParts));

TEST_P(GpuRandomOps, AgreeWithTheHost) {
  const int64_t count = Number("WEIR_GPU_CASES", 4), seed = Number("WEIR_GPU_SEED", 1);
  const Environment& environment = *GpuEnvironment();
  int64_t compared = 0, ops = 0, unequal = 0;
  size_t number = 0;
  for (const OpSchema* schema : environment.ops.All()) {
    if (number++ % kParts != GetParam()) continue;
    bool has_kernel = false;
    for (const KernelEntry* entry : environment.kernels.All(schema->name)) has_kernel |= entry->device_type == "GPU";
    if (!has_kernel || !IsComparable(*schema) || !IsChosen(schema->name)) continue;
    const CaseGenerator generator(*schema, environment.kernels);
    Chance chance(std::hash<std::string>()(schema->name) ^ static_cast<uint64_t>(seed));
    int64_t done = 0;
    for (int64_t tries = 0; tries < 20 * count && done < count; ++tries) {
      const OpCase node = generator.Fresh(chance);
      if (!IsPlainCase(node)) continue;
      Attrs attrs;
      for (const auto& [name, value] : node.attrs) attrs.emplace_back(name, value);
      if (!HasGpuKernel(schema->name, attrs)) continue;
      std::vector<Tensor> inputs;
      int64_t elements = 0;
      for (const CaseInput& input : node.inputs) {
        inputs.push_back(input.value);
        elements += input.value.num_elements();
      }
      if (elements > 20000) continue;
      if (TakesFiniteInputs(*schema) && !AreFinite(inputs)) continue;
      Trace("host", node);
      auto expected = RunOn("/device:CPU:0", schema->name, inputs, attrs);
      if (!expected.ok()) continue;
      const double scale = ScaleOf(*schema, inputs);
      int64_t outputs = 0;
      for (const Tensor& each : *expected) outputs += each.num_elements();
      if (outputs > 50000) continue;
      ++done;
      ++compared;
      Trace("GPU", node);
      auto actual = RunOn("/device:GPU:0", schema->name, inputs, attrs);
      std::string difference = actual.ok() ? "" : Cat("fails: ", actual.status().ToString());
      double epsilon = 0;
      if (actual.ok() && schema->name == "LogMatrixDeterminant") {
        epsilon = Epsilon((*expected)[0].dtype());
        actual = Determinants(*actual);
        expected = Determinants(*expected);
      }
      for (size_t i = 0; actual.ok() && i < expected->size() && difference.empty(); ++i) {
        const Tensor& host = (*expected)[i];
        if (!IsPlain(host.dtype())) continue;
        difference = Difference((*actual)[i], host, epsilon > 0 ? epsilon : Epsilon(host.dtype()), scale);
      }
      if (difference.empty()) continue;
      ++unequal;
      ADD_FAILURE() << schema->name << ": " << difference << "\n  " << node.ToString().substr(0, 1500);
      break;  // one of an op is enough
    }
    ops += done > 0;
  }
  std::printf("%lld cases of %lld ops, %lld differ\n", static_cast<long long>(compared), static_cast<long long>(ops),
              static_cast<long long>(unequal));
}

}  // namespace
}  // namespace weir::gpu_testing
