#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "weir/cli/commands.h"
#include "weir/client/environment.h"

namespace weir {
namespace {

constexpr char kDevicesExamples[] = R"(Examples:
  weir devices            the devices that graphs run on, and which of NVIDIA's libraries were found where
  weir devices --json     the same for programs

CUDA_VISIBLE_DEVICES chooses among the GPUs, WEIR_CUDA=off uses none, and WEIR_CUDA_PATH names folders with libraries.
)";

void PrintJson(const Environment& environment, const StatusOr<std::string>& driver,
               const std::vector<GpuLibrary>& libraries) {
  nlohmann::json out;
  for (const auto& device : environment.devices.devices()) {
    const DeviceInfo& info = device->info();
    out["devices"].push_back({{"name", info.name},
                              {"type", info.device_type},
                              {"memory_limit", info.memory_limit},
                              {"description", info.description}});
  }
  out["driver"] = driver.ok() ? nlohmann::json(*driver) : nlohmann::json();
  for (const GpuLibrary& library : libraries) {
    out["libraries"].push_back({{"name", library.name}, {"file", library.file}, {"problem", library.problem}});
  }
  std::printf("%s\n", out.dump(2).c_str());
}

Status RunDevices(bool json) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment(EnvironmentOptions()));
  const StatusOr<std::string> driver = GpuDriverVersion();
  const std::vector<GpuLibrary> libraries = FindGpuLibraries();
  if (json) {
    PrintJson(*environment, driver, libraries);
    return OkStatus();
  }
  for (const auto& device : environment->devices.devices()) {
    const DeviceInfo& info = device->info();
    std::printf("%s", info.name.c_str());
    if (!device->is_host()) std::printf("  %.1f GiB", static_cast<double>(info.memory_limit) / (1 << 30));
    if (!info.description.empty()) std::printf("  %s", info.description.c_str());
    std::printf("\n");
  }
  if (libraries.empty()) {
    std::printf("\nbuilt without support for GPUs (-DWEIR_CUDA=OFF)\n");
    return OkStatus();
  }
  std::printf("\nCUDA driver: %s\n", driver.ok() ? driver->c_str() : Message(driver.status()).c_str());
  for (const GpuLibrary& library : libraries) {
    std::printf("  %-16s %s\n", library.name.c_str(), library.file.empty() ? "not found" : library.file.c_str());
  }
  if (driver.ok()) {
    for (const GpuLibrary& library : libraries) {
      if (library.file.empty()) std::printf("%s\n", library.problem.c_str());
    }
  }
  return OkStatus();
}

}  // namespace

void AddDevicesCommand(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("devices", "show the devices of this machine and the libraries of its GPUs");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print one JSON object");
  command->footer(kDevicesExamples);
  command->callback([json] { ExitOnError(RunDevices(*json)); });
}

}  // namespace weir
