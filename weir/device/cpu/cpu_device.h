// The host as a device: its memory is CpuAllocator()'s, and a copy to or from the host shares the tensor.
#ifndef WEIR_DEVICE_CPU_CPU_DEVICE_H_
#define WEIR_DEVICE_CPU_CPU_DEVICE_H_

#include <memory>
#include <string>

#include "weir/base/export.h"
#include "weir/framework/device.h"

namespace WEIR_PUBLIC weir {

class CpuDevice : public Device {
 public:
  using Device::Device;
  Allocator* allocator() override { return CpuAllocator(); }
  bool is_host() const override { return true; }
  std::shared_ptr<Device> WithResources(std::shared_ptr<ResourceManager> resources) override {
    return std::make_shared<CpuDevice>(info(), std::move(resources));
  }
  void CopyToHost(const Tensor& device_tensor, DeviceRun*, CopyDone done) override { done(device_tensor); }
  void CopyFromHost(const Tensor& host_tensor, DeviceRun*, CopyDone done) override { done(host_tensor); }
};

// Device "<job_prefix>/device:CPU:<index>" of a new random incarnation, with resources of its own unless given some.
std::shared_ptr<Device> MakeCpuDevice(std::string job_prefix = "/job:localhost/replica:0/task:0", int index = 0,
                                      std::shared_ptr<ResourceManager> resources = nullptr);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_CPU_DEVICE_H_
