#include "weir/device/cpu/cpu_device.h"

#include <random>

namespace weir {
namespace {

// What TensorFlow's clients see as the memory of a CPU device.
constexpr int64_t kReportedMemory = 256 << 20;

uint64_t RandomIncarnation() {
  std::random_device source;
  uint64_t bits = (static_cast<uint64_t>(source()) << 32) | source();
  return bits != 0 ? bits : 1;
}

}  // namespace

std::shared_ptr<Device> MakeCpuDevice(std::string job_prefix, int index, std::shared_ptr<ResourceManager> resources) {
  DeviceInfo info;
  info.name = Cat(job_prefix, "/device:CPU:", index);
  info.device_type = "CPU";
  info.memory_limit = kReportedMemory;
  info.incarnation = RandomIncarnation();
  if (resources == nullptr) resources = std::make_shared<ResourceManager>();
  return std::make_shared<CpuDevice>(std::move(info), std::move(resources));
}

}  // namespace weir
