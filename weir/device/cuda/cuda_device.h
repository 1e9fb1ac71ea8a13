// CudaDevice: an NVIDIA GPU, or a share of one, as a device of weir ("/device:GPU:0").
//
// Kernels give work to one compute stream and return. Copies have a stream for each direction; events order them with
// the compute stream:
//
// - from the host: the copy waits for the compute stream as it is now, because the memory it writes may have been freed
//   while work on it is pending; later work of the compute stream waits for the copy.
// - to the host and to other devices: the copy waits for the compute stream, and holds the tensor until it is done.
//
// So all memory belongs to the compute stream (memory_pool.h), and tensors may die as soon as the host has no use for
// them. An error of the GPU itself (a bad address, a lost card) poisons the device: everything given to it from then on
// fails with that error, and the process goes on.
#ifndef WEIR_DEVICE_CUDA_CUDA_DEVICE_H_
#define WEIR_DEVICE_CUDA_CUDA_DEVICE_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/device/cuda/gpu.h"
#include "weir/device/cuda/memory_pool.h"
#include "weir/device/cuda/stream.h"
#include "weir/framework/chunk_arithmetic.h"
#include "weir/framework/device.h"
#include "weir/framework/element_mover.h"
#include "weir/framework/memory_exporter.h"

namespace weir::cuda {

inline constexpr std::string_view kDeviceType = "GPU";

struct LogicalGpu {
  int gpu = 0;              // number of the physical card
  size_t memory_limit = 0;  // bytes; 0: what is free when the device is made, less a reserve
  bool grow = true;         // take memory as it is needed, not all at once
  int priority = 0;         // of its compute stream: less is more urgent, as far as the driver knows priorities
};

// What the logical devices with other resources (Device::WithResources) share. Thread-safe.
class CudaParts {
 public:
  CudaParts() = default;
  ~CudaParts();
  // Lets PartsOf find it by its memory.
  void Announce();
  // The error that poisons the device; OK if none.
  Status health() const;
  void Poison(const Status& status);
  // Keeps tensors until the compute stream has done all that was given to it so far.
  void HoldForCompute(std::vector<Tensor> tensors);
  // DeviceRun::WhenLeft of a run that has work; EndLeft when it is done.
  void Leave(int most, std::function<void(Status)> done);
  void EndLeft(const Status& status);
  // The first error of runs that were left, once.
  Status TakeLeftError();
  // Where recordings take the memory that their work needs while it runs (recording.h). Its memory is the device's
  // again when the last recording ends.
  MemoryPool& arena();
  void BeginRecording();
  void EndRecording();
  // Memory of the host that the GPU reads and writes.
  MemoryPool& pinned() { return gpu->pinned(); }

 private:
  mutable absl::Mutex mu_;
  Status failure_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> has_failed_ = false;
  absl::Mutex arena_mu_;
  absl::Mutex left_mu_;
  int left_ ABSL_GUARDED_BY(left_mu_) = 0;  // runs that nobody waits for, with work
  std::deque<std::pair<int, std::function<void(Status)>>> leaving_ ABSL_GUARDED_BY(left_mu_);
  Status left_error_ ABSL_GUARDED_BY(left_mu_);

 public:  // in this order: streams end first, and their callbacks use all of the others
  Gpu* gpu = nullptr;
  std::unique_ptr<MemoryPool> memory;

 private:
  std::unique_ptr<MemoryPool> arena_ ABSL_GUARDED_BY(arena_mu_);
  int64_t recordings_ ABSL_GUARDED_BY(arena_mu_) = 0;  // made, or being made

 public:
  std::unique_ptr<EventPool> timers;
  std::unique_ptr<CudaStream> capture;  // what is given to it is recorded, never done
  std::atomic<bool> is_capturing = false;
  absl::Mutex replay_mu;  // what recordings give to the compute stream stays together
  std::unique_ptr<CudaStream> compute, from_host, to_host, to_device;
};

class CudaRecorder;

// What one run of a plan gives to the device.
class CudaRun : public DeviceRun, public std::enable_shared_from_this<CudaRun> {
 public:
  explicit CudaRun(std::shared_ptr<CudaParts> parts);
  ~CudaRun() override;

  StatusOr<std::vector<Tensor>> StartRecording(std::span<const Tensor> inputs) override;
  StatusOr<std::shared_ptr<DeviceRecording>> EndRecording(std::span<const Tensor> outputs) override;
  bool is_recording() const override { return recorder_ != nullptr; }
  CudaRecorder* recorder() { return recorder_.get(); }
  void UseResource(const std::shared_ptr<Resource>& resource, bool changes) override;
  Allocator* allocator() override { return recorder_ == nullptr ? nullptr : &parts_->arena(); }
  void WhenDone(std::function<void(Status)> done) override;
  void WhenLeft(int most, std::function<void(Status)> done) override;
  uint64_t BeginSpan() override;
  void EndSpan(uint64_t span, SpanReport report) override;
  bool has_spans() const override { return true; }
  bool may_fail_late() const override { return has_words_.load(std::memory_order_relaxed); }
  Status SoFar() override;

  CudaParts& parts() { return *parts_; }
  // Where work of this run goes.
  CudaStream& stream() { return recorder_ == nullptr ? *parts_->compute : *parts_->capture; }
  // Keeps tensors until the work given so far has been done for the last time.
  void Hold(std::vector<Tensor> tensors);
  // Called by everything that gives work to the compute stream.
  void NoteWork() { has_work_.store(true, std::memory_order_relaxed); }

  // A word in memory that both sides see: if work on the device makes it other than 0, the run fails with `status`.
  StatusOr<unsigned*> ErrorWord(Status status);
  using ErrorWords = std::vector<std::pair<Tensor, Status>>;
  void AddErrorWords(const ErrorWords& words);

 private:
  struct Span {
    EventHandle begin = nullptr, end = nullptr;
    SpanReport report;
  };
  void ReportSpans();

  const std::shared_ptr<CudaParts> parts_;
  std::atomic<bool> has_work_ = false, has_words_ = false;
  absl::Mutex mu_;
  ErrorWords words_ ABSL_GUARDED_BY(mu_);
  Status late_ ABSL_GUARDED_BY(mu_);  // what a word told
  std::vector<Span> spans_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<CudaRecorder> recorder_;  // while the run is recorded, by one thread
};

// The host as a GPU's nodes see it: memory of the host, and the GPU's resources and name. For kernels of the host that
// run for a node of the GPU.
class HostSide : public Device {
 public:
  using Device::Device;
  Allocator* allocator() override { return CpuAllocator(); }
  bool is_host() const override { return true; }
  void CopyToHost(const Tensor& device_tensor, DeviceRun*, CopyDone done) override { done(device_tensor); }
  void CopyFromHost(const Tensor& host_tensor, DeviceRun*, CopyDone done) override { done(host_tensor); }
};

class CudaDevice : public Device, public ElementMover, public ChunkDevice, public MemoryExporter {
 public:
  static StatusOr<std::shared_ptr<CudaDevice>> Make(std::string_view task_name, int index, const LogicalGpu& options);
  // Waits for runs that were left (DeviceRun::WhenLeft), whose end nobody else waits for.
  ~CudaDevice() override;

  Allocator* allocator() override { return parts_->memory.get(); }
  Allocator* host_allocator() override { return &parts_->pinned(); }
  std::shared_ptr<DeviceRun> StartRun() override { return std::make_shared<CudaRun>(parts_); }
  bool can_record() const override;
  Status Await() override;
  void CopyToHost(const Tensor& device_tensor, DeviceRun* run, CopyDone done) override;
  void CopyFromHost(const Tensor& host_tensor, DeviceRun* run, CopyDone done) override;
  bool CopyToDevice(const Tensor& device_tensor, Device& other, DeviceRun* run, const CopyDone& done) override;
  void CopyAllFromHost(std::vector<Tensor> host_tensors, CopyAllDone done) override;
  std::shared_ptr<Device> WithResources(std::shared_ptr<ResourceManager> resources) override;
  std::shared_ptr<ChunkArithmetic> ChunksOf(DeviceRun& run) override;
  StatusOr<std::string> Export(const Tensor& tensor) override;
  void CopyExported(const std::string& exported, DType dtype, const Shape& shape, CopyDone done) override;
  Status MoveElements(const KernelContext& ctx, size_t element_size, std::span<const int64_t> dims, const void* from,
                      std::span<const int64_t> from_strides, void* to, std::span<const int64_t> to_strides) override;
  Status FillElements(const KernelContext& ctx, size_t element_size, const void* value, void* to, int64_t n) override;
  Status ClearBytes(const KernelContext& ctx, void* to, size_t bytes) override;
  Status PlaceParts(KernelContext& ctx, size_t element_size, std::span<const Part> parts, void* to) override;
  Status AddElements(KernelContext& ctx, const Tensor& a, const Tensor& b, Tensor& to) override;

  CudaParts& parts() { return *parts_; }
  Gpu& gpu() const { return *parts_->gpu; }
  Device& host_side() { return host_side_; }

 private:
  CudaDevice(DeviceInfo info, std::shared_ptr<ResourceManager> resources, std::shared_ptr<CudaParts> parts)
      : Device(std::move(info), std::move(resources)),
        parts_(std::move(parts)),
        host_side_(Device::info(), shared_resources()) {}
  StatusOr<std::vector<Tensor>> StartCopies(const std::vector<Tensor>& host_tensors);
  StatusOr<Tensor> RecordCopy(const Tensor& host_tensor, CudaRun& run);

  const std::shared_ptr<CudaParts> parts_;
  HostSide host_side_;
};

// The GPU in whose memory a tensor is; null if it is in none's.
CudaParts* PartsOf(const Tensor& tensor);

// Where the GPU finds a tensor's elements.
inline DeviceAddress Address(const Tensor& tensor) { return reinterpret_cast<DeviceAddress>(tensor.raw_data()); }

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_CUDA_DEVICE_H_
