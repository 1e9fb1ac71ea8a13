// FarDevice: a device that works on its own time.
//
// Kernels and copies only queue work; one thread, the device's stream, does it in order. A kernel that fails over there
// cannot tell its node any more: the device remembers the error and answers the next copy back to the host, or the end
// of the step, with it.
#ifndef WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_DEVICE_H_
#define WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_DEVICE_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "far_memory.h"
#include "weir/framework/device.h"

namespace far {

using Work = std::function<weir::Status()>;

// Thread-safe.
class FarStream {
 public:
  FarStream();
  ~FarStream();  // does what is queued first
  void Add(Work work);
  // The first error since the last call, if any; the stream is clean again after it.
  weir::Status TakeError();

 private:
  void Loop();

  absl::Mutex mu_;
  std::deque<Work> queue_ ABSL_GUARDED_BY(mu_);
  weir::Status error_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

class FarDevice : public weir::Device {
 public:
  static weir::StatusOr<std::shared_ptr<FarDevice>> Make(std::string_view task_name, int index, size_t bytes);

  weir::Allocator* allocator() override { return parts_->memory.get(); }
  void CopyToHost(const weir::Tensor& device_tensor, CopyDone done) override;
  void CopyFromHost(const weir::Tensor& host_tensor, CopyDone done) override;
  std::shared_ptr<weir::Device> WithResources(std::shared_ptr<weir::ResourceManager> resources) override;
  weir::Status Synchronize() override;

  FarMemory& memory() const { return *parts_->memory; }
  // Does `work` after all that was queued before. It holds the tensors that it touches.
  void Enqueue(Work work) { parts_->stream.Add(std::move(work)); }

 private:
  struct Parts {  // what the device is made of, shared with its twins of other resources
    std::unique_ptr<FarMemory> memory;
    FarStream stream;
  };
  FarDevice(weir::DeviceInfo info, std::shared_ptr<weir::ResourceManager> resources, std::shared_ptr<Parts> parts)
      : Device(std::move(info), std::move(resources)), parts_(std::move(parts)) {}

  std::shared_ptr<Parts> parts_;
};

}  // namespace far

#endif  // WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_DEVICE_H_
