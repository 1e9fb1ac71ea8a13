// A stand-in for libcufft.so.12 on the emulated driver: unnormalised transforms in double precision.
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>
#include <type_traits>
#include <vector>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "weir/device/cuda/abi/cufft_abi.h"

namespace weir::cuda {
namespace {

using Complex = std::complex<double>;
using cuda_emulator::Element;
using cuda_emulator::HostAddress;
using cuda_emulator::LoadElement;
using cuda_emulator::StoreElement;

constexpr size_t kWorkSize = 256;

// Where the elements of one side of a transform lie.
struct Side {
  std::vector<long long> embed;
  long long stride = 1;
  long long distance = 0;
};

struct Plan {
  bool made = false;
  bool automatic = true;
  std::vector<long long> n;
  Side in, out;
  CufftType type = kCufftC2C;
  long long batch = 1;
  void* work_area = nullptr;
  void* stream = nullptr;

  bool RealInput() const { return type == kCufftR2C || type == kCufftD2Z; }
  bool RealOutput() const { return type == kCufftC2R || type == kCufftZ2D; }
  bool Double() const { return type == kCufftZ2Z || type == kCufftD2Z || type == kCufftZ2D; }
  Element ElementOf(bool real) const {
    if (real) return Double() ? Element::kDouble : Element::kFloat;
    return Double() ? Element::kComplex128 : Element::kComplex64;
  }
};

std::mutex mutex;
std::map<CufftHandle, Plan>& Plans() {
  static std::map<CufftHandle, Plan>& plans = *new std::map<CufftHandle, Plan>;
  return plans;
}

// A transform of n values that lie stride apart, by the smallest prime factor of n.
void Transform(Complex* values, long long n, long long stride, int direction, std::vector<Complex>& scratch) {
  if (n <= 1) return;
  long long factor = 2;
  while (factor * factor <= n && n % factor != 0) ++factor;
  if (n % factor != 0) factor = n;
  const long long rest = n / factor;
  for (long long i = 0; i < factor; ++i) Transform(values + i * stride, rest, stride * factor, direction, scratch);
  scratch.assign(static_cast<size_t>(n), 0);
  for (long long k = 0; k < n; ++k) {
    for (long long i = 0; i < factor; ++i) {
      const double angle = direction * 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      scratch[static_cast<size_t>(k)] += std::polar(1.0, angle) * values[(i + (k % rest) * factor) * stride];
    }
  }
  for (long long k = 0; k < n; ++k) values[k * stride] = scratch[static_cast<size_t>(k)];
}

long long Volume(const std::vector<long long>& dims) {
  long long volume = 1;
  for (const long long dim : dims) volume *= dim;
  return volume;
}

void TransformAll(std::vector<Complex>& values, const std::vector<long long>& n, int direction) {
  std::vector<Complex> scratch;
  long long inner = 1;
  for (size_t d = n.size(); d-- > 0; inner *= n[d]) {
    for (long long start = 0; start < Volume(n); ++start) {
      if (start / inner % n[d] == 0) Transform(values.data() + start, n[d], inner, direction, scratch);
    }
  }
}

// Calls function(linear index within n, offset in memory) for the indices below bounds.
template <typename Function>
void ForEach(const std::vector<long long>& n, const std::vector<long long>& bounds, const Side& side,
             Function&& function) {
  for (long long i = 0; i < Volume(bounds); ++i) {
    long long rest = i, linear = 0, offset = 0, linear_stride = 1, embed_stride = 1;
    for (size_t d = n.size(); d-- > 0;) {
      const long long index = rest % bounds[d];
      rest /= bounds[d];
      linear += index * linear_stride;
      offset += index * embed_stride;
      linear_stride *= n[d];
      embed_stride *= side.embed[d];
    }
    function(linear, offset * side.stride);
  }
}

void Execute(const Plan& plan, void* input, void* output, int direction) {
  void* in = HostAddress(input);
  void* out = HostAddress(output);
  const Element in_type = plan.ElementOf(plan.RealInput()), out_type = plan.ElementOf(plan.RealOutput());
  std::vector<long long> half = plan.n;
  half.back() = half.back() / 2 + 1;
  std::vector<std::vector<Complex>> results;
  for (long long b = 0; b < plan.batch; ++b) {
    std::vector<Complex> values(static_cast<size_t>(Volume(plan.n)));
    ForEach(plan.n, plan.RealOutput() ? half : plan.n, plan.in, [&](long long linear, long long offset) {
      values[static_cast<size_t>(linear)] = LoadElement<Complex>(in_type, in, b * plan.in.distance + offset);
    });
    if (plan.RealOutput()) {
      // The half that is not stored is the conjugate of the other one, all indices negated.
      for (long long i = 0; i < Volume(plan.n); ++i) {
        if (i % plan.n.back() < half.back()) continue;
        long long rest = i, mirror = 0, stride = 1;
        for (size_t d = plan.n.size(); d-- > 0; stride *= plan.n[d]) {
          mirror += (plan.n[d] - rest % plan.n[d]) % plan.n[d] * stride;
          rest /= plan.n[d];
        }
        values[static_cast<size_t>(i)] = std::conj(values[static_cast<size_t>(mirror)]);
      }
    }
    TransformAll(values, plan.n, direction);
    results.push_back(std::move(values));
  }
  // As the real library may, a transform to real numbers of several dimensions destroys its input.
  if (plan.RealOutput() && plan.n.size() > 1 && in != out) {
    for (long long b = 0; b < plan.batch; ++b) {
      ForEach(plan.n, half, plan.in, [&](long long, long long offset) {
        StoreElement<Complex>(in_type, in, b * plan.in.distance + offset, Complex(-1, -1));
      });
    }
  }
  for (long long b = 0; b < plan.batch; ++b) {
    ForEach(plan.n, plan.RealInput() ? half : plan.n, plan.out, [&](long long linear, long long offset) {
      StoreElement<Complex>(out_type, out, b * plan.out.distance + offset,
                            results[static_cast<size_t>(b)][static_cast<size_t>(linear)]);
    });
  }
}

CufftResult Run(CufftHandle handle, CufftType type, void* input, void* output, int direction) {
  Plan plan;
  {
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = Plans().find(handle);
    if (found == Plans().end() || !found->second.made) return kCufftInvalidPlan;
    plan = found->second;
  }
  if (plan.type != type || (direction != kCufftForward && direction != kCufftInverse)) return kCufftInvalidValue;
  if (input == nullptr || output == nullptr) return kCufftInvalidValue;
  if (!plan.automatic && plan.work_area == nullptr) return kCufftNoWorkspace;
  return cuda_emulator::Enqueue(plan.stream, [=] { Execute(plan, input, output, direction); }) ? kCufftSuccess
                                                                                               : kCufftExecFailed;
}

// Calls function with the plan, if there is one.
template <typename Function>
CufftResult WithPlan(CufftHandle handle, Function&& function) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = Plans().find(handle);
  return found == Plans().end() ? kCufftInvalidPlan : function(found->second);
}

}  // namespace
}  // namespace weir::cuda

using namespace weir::cuda;

WEIR_EXPORT CufftResult cufftCreate(CufftHandle* plan) {
  if (plan == nullptr) return kCufftInvalidValue;
  std::lock_guard<std::mutex> lock(mutex);
  static CufftHandle next = 1;
  *plan = next++;
  Plans()[*plan] = Plan();
  return kCufftSuccess;
}

WEIR_EXPORT CufftResult cufftDestroy(CufftHandle plan) {
  std::lock_guard<std::mutex> lock(mutex);
  return Plans().erase(plan) == 0 ? kCufftInvalidPlan : kCufftSuccess;
}

WEIR_EXPORT CufftResult cufftSetAutoAllocation(CufftHandle handle, int automatic) {
  return WithPlan(handle, [&](Plan& plan) {
    plan.automatic = automatic != 0;
    return kCufftSuccess;
  });
}

WEIR_EXPORT CufftResult cufftMakePlanMany64(CufftHandle handle, int rank, long long* n, long long* inembed,
                                            long long istride, long long idist, long long* onembed, long long ostride,
                                            long long odist, CufftType type, long long batch, size_t* work_size) {
  return WithPlan(handle, [&](Plan& plan) {
    if (plan.made) return kCufftInvalidPlan;
    if (rank < 1 || rank > 3 || n == nullptr || work_size == nullptr || batch < 1) return kCufftInvalidValue;
    if ((inembed == nullptr) != (onembed == nullptr)) return kCufftInvalidValue;
    plan.type = type;
    plan.batch = batch;
    plan.n.assign(n, n + rank);
    for (const long long size : plan.n) {
      if (size < 1) return kCufftInvalidSize;
    }
    std::vector<long long> half = plan.n;
    half.back() = half.back() / 2 + 1;
    auto side = [&](const long long* embed, long long stride, long long distance, bool is_half) {
      if (embed != nullptr) return Side{std::vector<long long>(embed, embed + rank), stride, distance};
      const std::vector<long long>& dims = is_half ? half : plan.n;
      return Side{dims, 1, Volume(dims)};
    };
    plan.in = side(inembed, istride, idist, plan.RealOutput());
    plan.out = side(onembed, ostride, odist, plan.RealInput());
    plan.made = true;
    *work_size = kWorkSize;
    return kCufftSuccess;
  });
}

WEIR_EXPORT CufftResult cufftSetWorkArea(CufftHandle handle, void* work_area) {
  return WithPlan(handle, [&](Plan& plan) {
    plan.work_area = work_area;
    return kCufftSuccess;
  });
}

WEIR_EXPORT CufftResult cufftSetStream(CufftHandle handle, void* stream) {
  return WithPlan(handle, [&](Plan& plan) {
    plan.stream = stream;
    return kCufftSuccess;
  });
}

WEIR_EXPORT CufftResult cufftExecC2C(CufftHandle plan, void* input, void* output, int direction) {
  return Run(plan, kCufftC2C, input, output, direction);
}
WEIR_EXPORT CufftResult cufftExecR2C(CufftHandle plan, void* input, void* output) {
  return Run(plan, kCufftR2C, input, output, kCufftForward);
}
WEIR_EXPORT CufftResult cufftExecC2R(CufftHandle plan, void* input, void* output) {
  return Run(plan, kCufftC2R, input, output, kCufftInverse);
}
WEIR_EXPORT CufftResult cufftExecZ2Z(CufftHandle plan, void* input, void* output, int direction) {
  return Run(plan, kCufftZ2Z, input, output, direction);
}
WEIR_EXPORT CufftResult cufftExecD2Z(CufftHandle plan, void* input, void* output) {
  return Run(plan, kCufftD2Z, input, output, kCufftForward);
}
WEIR_EXPORT CufftResult cufftExecZ2D(CufftHandle plan, void* input, void* output) {
  return Run(plan, kCufftZ2D, input, output, kCufftInverse);
}

WEIR_CUFFT_FUNCTIONS(WEIR_CHECK_SIGNATURE)
