#include "tests/cuda/gpu_fixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "weir/testing/tensor_matchers.h"

namespace weir::gpu_testing {
namespace {

// The type attributes and list lengths that the inputs imply.
double TypeTolerance(DType dtype) { return dtype == DType::kHalf ? 2e-3 : dtype == DType::kBFloat16 ? 1.6e-2 : 0; }

Tensor MakeRandom(DType dtype, const std::vector<int64_t>& dims, uint32_t seed, double low, double high) {
  Tensor out = Tensor::Allocate(dtype, Shape::Make(dims).value()).value();
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> numbers(low, high);
  DispatchDType(dtype, NumberTypes{} + TypeList<bool>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& x : out.span<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        x = numbers(generator) > (low + high) / 2;
      } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        using R = typename T::value_type;
        const R real = static_cast<R>(numbers(generator));
        x = T(real, static_cast<R>(numbers(generator)));
      } else if constexpr (std::is_integral_v<T>) {
        const double wide = numbers(generator) * 4;
        x = static_cast<T>(std::is_unsigned_v<T> ? std::abs(wide) : wide);
      } else {
        x = static_cast<T>(static_cast<float>(numbers(generator)));
      }
    }
  });
  return out;
}

}  // namespace

AttrMap CompleteAttrs(const OpSchema& schema, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  AttrMap map;
  for (const auto& [name, value] : attrs) map.Set(name, value);
  size_t at = 0;
  for (const ArgSchema& arg : schema.inputs) {
    if (at >= inputs.size()) break;
    size_t count = 1;
    if (!arg.number_attr.empty()) {
      const Attribute* given = map.Find(arg.number_attr);
      count = given != nullptr ? static_cast<size_t>(*given->get_if<int64_t>())
                               : inputs.size() - (schema.inputs.size() - 1);
      if (given == nullptr) map.Set(arg.number_attr, static_cast<int64_t>(count));
    }
    if (!arg.type_list_attr.empty()) {
      const Attribute* given = map.Find(arg.type_list_attr);
      count = given != nullptr ? given->get_if<AttrList>()->type.size() : inputs.size() - (schema.inputs.size() - 1);
      AttrList types;
      for (size_t i = at; i < at + count; ++i) types.type.push_back(inputs[i].dtype());
      map.Set(arg.type_list_attr, types);
    }
    if (!arg.type_attr.empty() && map.Find(arg.type_attr) == nullptr && count > 0) {
      map.Set(arg.type_attr, inputs[at].dtype());
    }
    at += count;
  }
  return map;
}

bool IsEmulated() { return std::getenv("WEIR_TEST_GPU") == nullptr; }

void ChooseDriver() {
  // What is compared with the host rounds as the host does.
  AllowTensorFloat32(false);
  if (!IsEmulated()) return;
  const char* nvrtc = std::getenv("WEIR_CUDA_PATH");
  const std::string folder = WEIR_CUDA_EMULATOR_FOLDER;
  setenv("WEIR_CUDA_PATH", nvrtc != nullptr ? (folder + ":" + nvrtc).c_str() : folder.c_str(), 1);
  // Compiled code is kept between tests, each of which is a process of its own.
  setenv("WEIR_CUDA_CACHE", (folder + "/cache").c_str(), 0);
}

const std::shared_ptr<Environment>& GpuEnvironment() {
  static const auto* environment = [] {
    ChooseDriver();
    EnvironmentOptions options;
    options.gpu.logical_devices = {{256 << 20, 256 << 20}};
    options.memory_limit = int64_t{2} << 30;  // so that random sizes end in an error and do not fill the machine
    StatusOr<std::shared_ptr<Environment>> made = MakeEnvironment(options);
    EXPECT_TRUE(made.ok()) << made.status();
    return new std::shared_ptr<Environment>(*made);
  }();
  return *environment;
}

EagerRuntime& Runtime() {
  static auto* runtime = new EagerRuntime(GpuEnvironment());
  return *runtime;
}

StatusOr<std::vector<Tensor>> RunOn(const std::string& device, const std::string& op, const std::vector<Tensor>& inputs,
                                    const Attrs& attrs) {
  const OpSchema* schema = GpuEnvironment()->ops.Find(op);
  if (schema == nullptr) return NotFound("There is no op ", op);
  EagerOptions options;
  WEIR_ASSIGN_OR_RETURN(options.device, Runtime().FindDevice(device));
  WEIR_ASSIGN_OR_RETURN(EagerResult result,
                        Runtime().Run(*schema, inputs, CompleteAttrs(*schema, inputs, attrs), options));
  WEIR_RETURN_IF_ERROR(Runtime().Await());
  for (Tensor& output : result.outputs) {
    WEIR_ASSIGN_OR_RETURN(output, Runtime().ToHost(output));
  }
  return result.outputs;
}

void ExpectAgree(const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attrs, double tolerance) {
  std::string description = op + "(";
  for (const Tensor& input : inputs) description += Cat(" ", Name(input.dtype()), input.shape().ToString());
  SCOPED_TRACE(description + " )");
  StatusOr<std::vector<Tensor>> expected = RunOn("/device:CPU:0", op, inputs, attrs);
  StatusOr<std::vector<Tensor>> actual = RunOn("/device:GPU:0", op, inputs, attrs);
  ASSERT_EQ(actual.status().code(), expected.status().code())
      << actual.status() << "\non the host: " << expected.status();
  if (!expected.ok()) return;
  ASSERT_EQ(actual->size(), expected->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    SCOPED_TRACE(Cat("output ", i));
    const Tensor& host = (*expected)[i];
    if (IsFloating(host.dtype()) || IsComplex(host.dtype())) {
      const double most = std::max(tolerance, TypeTolerance(host.dtype()));
      ExpectTensorNear((*actual)[i], host, most, most);
    } else {
      ExpectTensorEqual((*actual)[i], host);
    }
  }
}

bool HasGpuKernel(const std::string& op, const Attrs& attrs) {
  AttrMap map;
  for (const auto& [name, value] : attrs) map.Set(name, value);
  return GpuEnvironment()->kernels.Find(op, "GPU", map).ok();
}

int CountRuns(const StepReport& report, const std::string& op) {
  int count = 0;
  for (const DeviceStats& device : report.devices) {
    for (const NodeStats& node : device.nodes) count += node.label.find(Cat("= ", op, "(")) != std::string::npos;
  }
  return count;
}

Tensor Random(DType dtype, const std::vector<int64_t>& dims, uint32_t seed) {
  return MakeRandom(dtype, dims, seed, -2, 2);
}
Tensor RandomPositive(DType dtype, const std::vector<int64_t>& dims, uint32_t seed) {
  return MakeRandom(dtype, dims, seed, 0.5, 2.5);
}

}  // namespace weir::gpu_testing
