#include "weir/client/environment.h"

#include "weir/autodiff/function_gradient.h"
#include "weir/client/builtin_kernels.h"
#include "weir/client/gradients.h"
#include "weir/client/load_library.h"
#include "weir/device/cpu/cpu_device.h"
#include "weir/device/cpu/rewrites/register.h"
#include "weir/distributed/grpc_connector.h"
#include "weir/io/file_system.h"
#include "weir/ops/op_tables.h"
#include "weir/tensor/allocator.h"

namespace weir {

namespace {

StatusOr<std::shared_ptr<Environment>> MakeEnvironment(const EnvironmentOptions& options, bool gpus_later) {
  if (options.num_cpu_devices < 1) return InvalidArgument("at least one CPU device is needed");
  auto environment = std::make_shared<Environment>();
  environment->task_name = options.task_name;
  environment->connector = MakeGrpcConnector();
  WEIR_RETURN_IF_ERROR(RegisterBuiltinOps(environment->ops));
  RegisterBuiltinKernels(environment->kernels);
  RegisterCpuRewrites(environment->rewrites);
  environment->differentiator = [](std::unique_ptr<FunctionBody> body) {
    return DifferentiateFunction(std::move(body), BuiltinGradients());
  };
  for (int i = 0; i < options.num_cpu_devices; ++i) {
    environment->devices.Add(MakeCpuDevice(environment->task_name, i));
  }
  if (gpus_later) {
    environment->DeferGpus([raw = environment.get()](const GpuOptions& gpu) { return AddGpuDevices(raw, gpu); });
  } else {
    WEIR_RETURN_IF_ERROR(AddGpuDevices(environment.get(), options.gpu));
  }
  for (const std::string& library : options.libraries) {
    WEIR_RETURN_IF_ERROR(LoadLibrary(library, environment.get()));
  }
  if (!options.file_root.empty()) WEIR_RETURN_IF_ERROR(ConfineFiles(options.file_root));
  environment->deterministic = options.deterministic;
  if (options.memory_limit > 0) SetCpuMemoryLimit(options.memory_limit);
  return environment;
}

}  // namespace

StatusOr<std::shared_ptr<Environment>> MakeEnvironment(const EnvironmentOptions& options) {
  return MakeEnvironment(options, /*gpus_later=*/false);
}

std::shared_ptr<Environment> DefaultEnvironment() {
  // Options that cannot fail; never destroyed, as sessions may live as long as the process.
  static auto* environment = new std::shared_ptr<Environment>(MakeEnvironment({}, /*gpus_later=*/true).value());
  return *environment;
}

}  // namespace weir
