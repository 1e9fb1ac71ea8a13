#include "weir/cli/bench_device.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "weir/client/environment.h"
#include "weir/io/file_system.h"
#include "weir/proto/config.pb.h"

namespace weir {
namespace {

constexpr int kWarmSteps = 20, kRounds = 3;
constexpr int kPipelinedSteps = 8;  // given to the device before the first of them must have ended

double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Figures {
  double ms = 0, host_ms = 0, first_loss = 0, loss = 0;
};

Status RunSteps(bench::DeviceModelRunner& runner, int steps) {
  for (int i = 0; i < steps; ++i) WEIR_RETURN_IF_ERROR(runner.Step());
  return OkStatus();
}

StatusOr<Figures> MeasureModel(bench::DeviceModelRunner& runner, int steps) {
  Figures out;
  WEIR_RETURN_IF_ERROR(runner.Step());
  WEIR_ASSIGN_OR_RETURN(out.first_loss, runner.Finish());
  WEIR_RETURN_IF_ERROR(RunSteps(runner, kWarmSteps - 1));
  WEIR_ASSIGN_OR_RETURN(out.loss, runner.Finish());
  out.ms = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const double worked = ProcessorSeconds();
    WEIR_RETURN_IF_ERROR(RunSteps(runner, steps));
    WEIR_RETURN_IF_ERROR(runner.Finish().status());
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
    if (passed.count() / steps >= out.ms) continue;
    out.ms = passed.count() / steps;
    out.host_ms = (ProcessorSeconds() - worked) * 1e3 / steps;
  }
  return out;
}

Status WriteTrace(bench::DeviceModelRunner& runner, std::string_view name, const std::string& folder) {
  WEIR_ASSIGN_OR_RETURN(StepReport report, runner.RunTraced());
  RunMetadata metadata;
  report.ToProto(&metadata);
  return WriteWholeFile(Cat(folder, "/", name, ".run_metadata"), metadata.SerializeAsString());
}

Status BenchModel(const bench::Library& library, const bench::ModelWorkload& workload,
                  const DeviceBenchOptions& options) {
  // An environment of its own: the device's greatest use of memory is this model's.
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment());
  WEIR_ASSIGN_OR_RETURN(Device * device, FindDevice(*environment, options.device));
  bench::DeviceModelOptions model;
  model.device = Cat("/device:", options.device);
  model.is_training = options.is_training;
  model.batch = options.batch;
  if (options.precision == "bfloat16") model.session.mixed_precision = DType::kBFloat16;
  if (options.precision == "float16") model.session.mixed_precision = DType::kHalf;
  model.session.host_mixed_precision = model.session.mixed_precision;
  WEIR_ASSIGN_OR_RETURN(model.session.recompute.what, ParseRecomputation(options.recompute));
  model.session.pipelined_steps = kPipelinedSteps;
  WEIR_ASSIGN_OR_RETURN(auto runner, library.MakeDeviceModel(environment, workload, model));
  WEIR_ASSIGN_OR_RETURN(const Figures figures, MeasureModel(*runner, options.steps));
  const double peak = static_cast<double>(device->allocator()->Stats().peak_bytes_in_use) / (1 << 20);
  std::printf("%-18s | weir %-8s | loop %9.3f ms | %12.0f/s | peak %6.0f MiB | host %8.3f ms | %s %.4f -> %.4f\n",
              std::string(workload.name).c_str(), options.precision.c_str(), figures.ms,
              static_cast<double>(runner->examples()) / figures.ms * 1e3, peak, figures.host_ms,
              options.is_training ? "loss" : "mean", figures.first_loss, figures.loss);
  if (!options.traces.empty()) WEIR_RETURN_IF_ERROR(WriteTrace(*runner, workload.name, options.traces));
  return OkStatus();
}

}  // namespace

StatusOr<Device*> FindDevice(const Environment& environment, const std::string& name) {
  WEIR_ASSIGN_OR_RETURN(const DeviceName wanted, DeviceName::Parse(name));
  for (const auto& device : environment.devices.devices()) {
    WEIR_ASSIGN_OR_RETURN(const DeviceName known, DeviceName::Parse(device->name()));
    if (known.Matches(wanted)) return device.get();
  }
  return NotFound("There is no device '", name, "' here; `weir devices` lists the devices");
}

Status BenchOnDevice(const bench::Library& library, const DeviceBenchOptions& options) {
  const bool allowed = AllowsTensorFloat32();
  AllowTensorFloat32(options.precision != "float32");
  Status first_error;
  for (const bench::ModelWorkload& workload : library.device_models()) {
    if (workload.name.find(options.filter) == std::string_view::npos) continue;
    Status status = BenchModel(library, workload, options);
    if (!status.ok()) {
      std::printf("%-18s | weir %-8s | failed: %s\n", std::string(workload.name).c_str(), options.precision.c_str(),
                  status.ToString().c_str());
      if (first_error.ok()) first_error = status;
    }
    std::fflush(stdout);
  }
  AllowTensorFloat32(allowed);
  return first_error;
}

}  // namespace weir
