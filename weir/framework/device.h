// Device: where kernels run and tensors live.
#ifndef WEIR_FRAMEWORK_DEVICE_H_
#define WEIR_FRAMEWORK_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"
#include "weir/base/thread_pool.h"
#include "weir/framework/resource.h"
#include "weir/tensor/tensor.h"

namespace weir {

// A full or partial device name: "/job:worker/replica:0/task:1/device:GPU:0", "/cpu:0", "GPU:*". Unset parts are empty
// or -1.
struct DeviceName {
  std::string job;
  int replica = -1;
  int task = -1;
  std::string type;  // "CPU", "GPU"; upper case
  int id = -1;

  static StatusOr<DeviceName> Parse(std::string_view text);
  std::string ToString() const;
  // True if every part that `pattern` sets is the same here.
  bool Matches(const DeviceName& pattern) const;
  // This name with the unset parts taken from `base`.
  DeviceName MergedOver(const DeviceName& base) const;
  bool operator==(const DeviceName&) const = default;
};

struct DeviceInfo {
  std::string name;         // full
  std::string device_type;  // "CPU"
  int64_t memory_limit = 0;
  uint64_t incarnation = 0;  // random, never 0: tells a restarted device from the one before
  std::string description;
};

enum class MemoryType : uint8_t { kDevice, kHost };

// Thread-safe. Owned by a DeviceSet; outlives every step that uses it.
class Device {
 public:
  Device(DeviceInfo info, std::shared_ptr<ResourceManager> resources)
      : info_(std::move(info)), resources_(std::move(resources)) {}
  virtual ~Device() = default;

  const DeviceInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  const std::string& type() const { return info_.device_type; }
  ResourceManager& resources() const { return *resources_; }
  const std::shared_ptr<ResourceManager>& shared_resources() const { return resources_; }

  virtual Allocator* allocator() = 0;
  // True if host kernels can touch this device's tensors directly (the CPU).
  virtual bool is_host() const { return false; }

  // Copies between this device's memory and the host's; `done` gets the new tensor. May finish later, in another
  // thread.
  using CopyDone = std::function<void(StatusOr<Tensor>)>;
  virtual void CopyToHost(const Tensor& device_tensor, CopyDone done) = 0;
  virtual void CopyFromHost(const Tensor& host_tensor, CopyDone done) = 0;
  // The same device with resources of its own, for a session that shares no state; null if the device cannot.
  virtual std::shared_ptr<Device> WithResources(std::shared_ptr<ResourceManager> resources) { return nullptr; }
  // Waits until all work given to the device so far is done.
  virtual Status Synchronize() { return OkStatus(); }

 private:
  DeviceInfo info_;
  std::shared_ptr<ResourceManager> resources_;
};

// The devices that a session may use, best first.
class DeviceSet {
 public:
  void Add(std::shared_ptr<Device> device) { devices_.push_back(std::move(device)); }
  const std::vector<std::shared_ptr<Device>>& devices() const { return devices_; }
  Device* Find(std::string_view full_name) const;  // null if there is none
  // The host device that feeds, fetches and un-placed nodes use.
  Device* host() const;

 private:
  std::vector<std::shared_ptr<Device>> devices_;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_DEVICE_H_
