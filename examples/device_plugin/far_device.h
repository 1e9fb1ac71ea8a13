// FarDevice: a device that works on its own time, in two streams.
//
// Kernels queue their work in the compute stream, copies theirs in the copy stream, and return at once; events order
// the two (weir/framework/device.h has the rule). A kernel that fails over there cannot tell its node any more: the run
// that it belongs to remembers the error and answers its copies back to the host, and its end, with it. Other runs
// never see it.
#ifndef WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_DEVICE_H_
#define WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_DEVICE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>

#include "far_memory.h"
#include "far_stream.h"
#include "weir/framework/device.h"

namespace far {

using Work = std::function<weir::Status()>;

struct FarParts {  // what the device is made of, shared with its twins of other resources
  std::unique_ptr<FarMemory> memory;
  FarStream compute;
  FarStream copies;
};

class FarRun : public weir::DeviceRun, public std::enable_shared_from_this<FarRun> {
 public:
  explicit FarRun(std::shared_ptr<FarParts> parts) : parts_(std::move(parts)) {}

  // Does `work` after all that was queued before. It holds the tensors that it touches.
  void Enqueue(Work work);
  weir::Status status() const;

  void WhenDone(std::function<void(weir::Status)> done) override;
  uint64_t BeginSpan() override;
  void EndSpan(uint64_t span, SpanReport report) override;
  bool has_spans() const override { return true; }

 private:
  void Fail(const weir::Status& status);

  const std::shared_ptr<FarParts> parts_;
  mutable absl::Mutex mu_;
  weir::Status status_ ABSL_GUARDED_BY(mu_);  // the first error
  uint64_t next_span_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<uint64_t, int64_t> span_begins_ ABSL_GUARDED_BY(mu_);
};

class FarDevice : public weir::Device {
 public:
  static weir::StatusOr<std::shared_ptr<FarDevice>> Make(std::string_view task_name, int index, size_t bytes);

  weir::Allocator* allocator() override { return parts_->memory.get(); }
  std::shared_ptr<weir::DeviceRun> StartRun() override { return std::make_shared<FarRun>(parts_); }
  void CopyToHost(const weir::Tensor& device_tensor, weir::DeviceRun* run, CopyDone done) override;
  void CopyFromHost(const weir::Tensor& host_tensor, weir::DeviceRun* run, CopyDone done) override;
  bool CopyToDevice(const weir::Tensor& device_tensor, weir::Device& other, weir::DeviceRun* run,
                    const CopyDone& done) override;
  void CopyAllFromHost(std::vector<weir::Tensor> host_tensors, CopyAllDone done) override;
  std::shared_ptr<weir::Device> WithResources(std::shared_ptr<weir::ResourceManager> resources) override;

  FarMemory& memory() const { return *parts_->memory; }

 private:
  FarDevice(weir::DeviceInfo info, std::shared_ptr<weir::ResourceManager> resources, std::shared_ptr<FarParts> parts)
      : Device(std::move(info), std::move(resources)), parts_(std::move(parts)) {}

  std::shared_ptr<FarParts> parts_;
};

}  // namespace far

#endif  // WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_DEVICE_H_
