#include "weir/device/cuda/cuda_device.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <random>

#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/recording.h"

namespace weir::cuda {
namespace {

// Left to the driver and the libraries when a device takes all of a card's memory.
constexpr size_t kReserve = size_t{512} << 20;
// Larger tensors are staged in pieces, so that filling one overlaps with the copy of the one before.
constexpr size_t kStagingPiece = size_t{4} << 20;
// The driver takes so few bytes of pageable memory along with the call, so they need neither events nor staging.
constexpr size_t kInlineBytes = 4096;
constexpr int kHighPriority = INT_MIN;  // of copies: kernels wait for them

class DeviceMemory : public MemorySource {
 public:
  explicit DeviceMemory(ContextHandle context) : context_(context) {}
  void* Take(size_t bytes) override {
    UseContext(context_);
    DeviceAddress address = 0;
    if (Driver().MemAlloc(&address, bytes) != kSuccess) return nullptr;
    return reinterpret_cast<void*>(address);
  }
  void Give(void* region, size_t) override {
    UseContext(context_);
    Driver().MemFree(reinterpret_cast<DeviceAddress>(region));
  }

 private:
  const ContextHandle context_;
};

StatusOr<size_t> MemoryLimit(const Gpu& gpu, const LogicalGpu& options) {
  if (options.memory_limit > 0) return options.memory_limit;
  UseContext(gpu.context());
  size_t available = 0, total = 0;
  WEIR_RETURN_IF_CUDA_ERROR(Driver().MemGetInfo(&available, &total), "asking a GPU for its free memory");
  return available > 2 * kReserve ? available - kReserve : available / 2;
}

}  // namespace

Status CudaParts::health() const {
  if (!has_failed_.load(std::memory_order_acquire)) return OkStatus();
  absl::MutexLock lock(&mu_);
  return failure_;
}

void CudaParts::Poison(const Status& status) {
  absl::MutexLock lock(&mu_);
  if (!failure_.ok()) return;
  failure_ = Internal("GPU ", gpu->number(), " cannot be used any more in this process: ", Message(status));
  has_failed_.store(true, std::memory_order_release);
}

void CudaParts::HoldForCompute(std::vector<Tensor> tensors) {
  compute->WhenDone([this, tensors = std::move(tensors)](Status status) mutable {
    tensors.clear();
    if (!status.ok()) Poison(status);
  });
}

namespace {

// Memory of the device that a pool of the device's own already has.
class MemoryOfPool : public MemorySource {
 public:
  explicit MemoryOfPool(MemoryPool& pool) : pool_(pool) {}
  void* Take(size_t bytes) override { return pool_.Allocate(bytes); }
  void Give(void* region, size_t bytes) override { pool_.Deallocate(region, bytes); }

 private:
  MemoryPool& pool_;
};

}  // namespace

MemoryPool& CudaParts::arena() {
  absl::MutexLock lock(&arena_mu_);
  if (arena_ == nullptr) {
    arena_ = std::make_unique<MemoryPool>(std::make_shared<MemoryOfPool>(*memory),
                                          MemoryPoolOptions{.name = Cat(memory->name(), " recordings")});
  }
  return *arena_;
}

void CudaParts::BeginRecording() {
  absl::MutexLock lock(&arena_mu_);
  ++recordings_;
}

void CudaParts::EndRecording() {
  absl::MutexLock lock(&arena_mu_);
  if (--recordings_ == 0 && arena_ != nullptr) arena_->Trim();
}

CudaRun::CudaRun(std::shared_ptr<CudaParts> parts) : parts_(std::move(parts)) {}
CudaRun::~CudaRun() = default;

void CudaParts::Leave(int most, std::function<void(Status)> done) {
  {
    absl::MutexLock lock(&left_mu_);
    if (++left_ > most) {
      leaving_.emplace_back(most, std::move(done));
      return;
    }
  }
  done(TakeLeftError());
}

void CudaParts::EndLeft(const Status& status) {
  std::vector<std::function<void(Status)>> free;
  {
    absl::MutexLock lock(&left_mu_);
    if (left_error_.ok()) left_error_ = status;
    --left_;
    while (!leaving_.empty() && left_ <= leaving_.front().first) {
      free.push_back(std::move(leaving_.front().second));
      leaving_.pop_front();
    }
  }
  for (const auto& done : free) done(TakeLeftError());
}

Status CudaParts::TakeLeftError() {
  absl::MutexLock lock(&left_mu_);
  return std::exchange(left_error_, OkStatus());
}

void CudaRun::WhenDone(std::function<void(Status)> done) {
  auto end = [self = shared_from_this(), done = std::move(done)](const Status& own) {
    const Status left = self->parts_->TakeLeftError();
    done(own.ok() ? left : own);
  };
  if (!has_work_.load(std::memory_order_relaxed)) return end(parts_->health());
  stream().WhenDone([self = shared_from_this(), end = std::move(end)](Status status) {
    if (!status.ok()) self->parts_->Poison(status);
    self->ReportSpans();
    end(self->SoFar());
  });
}

void CudaRun::WhenLeft(int most, std::function<void(Status)> done) {
  if (!has_work_.load(std::memory_order_relaxed)) return WhenDone(std::move(done));
  const std::shared_ptr<CudaRun> self = shared_from_this();  // `done` may let the run go
  parts_->Leave(most, std::move(done));
  stream().WhenDone([self](Status status) {
    if (!status.ok()) self->parts_->Poison(status);
    self->parts_->EndLeft(self->SoFar());
  });
}

Status CudaRun::SoFar() {
  WEIR_RETURN_IF_ERROR(parts_->health());
  absl::MutexLock lock(&mu_);
  for (const auto& [word, status] : words_) {
    auto* value = static_cast<volatile unsigned*>(const_cast<void*>(word.raw_data()));
    if (*value == 0) continue;
    *value = 0;  // a recording uses it again
    if (late_.ok()) late_ = status;
  }
  return late_;
}

void CudaRun::AddErrorWords(const ErrorWords& words) {
  absl::MutexLock lock(&mu_);
  words_.insert(words_.end(), words.begin(), words.end());
}

StatusOr<unsigned*> CudaRun::ErrorWord(Status status) {
  WEIR_ASSIGN_OR_RETURN(Tensor word, Tensor::Allocate(DType::kUInt32, Shape(), &parts_->pinned()));
  auto* address = static_cast<unsigned*>(word.raw_data());
  *address = 0;
  if (recorder_ != nullptr) {
    recorder_->AddErrorWord(std::move(word), std::move(status));
    return address;
  }
  has_words_.store(true, std::memory_order_relaxed);
  absl::MutexLock lock(&mu_);
  words_.emplace_back(std::move(word), std::move(status));
  return address;
}

uint64_t CudaRun::BeginSpan() {
  Span span;
  StatusOr<EventHandle> begin = parts_->timers->Take();
  StatusOr<EventHandle> end = parts_->timers->Take();
  if (begin.ok() && end.ok()) {
    span.begin = *begin;
    span.end = *end;
    UseContext(parts_->gpu->context());
    Driver().EventRecord(span.begin, stream().handle());
  }
  absl::MutexLock lock(&mu_);
  spans_.push_back(std::move(span));
  return spans_.size() - 1;
}

void CudaRun::EndSpan(uint64_t span, SpanReport report) {
  absl::MutexLock lock(&mu_);
  if (span >= spans_.size() || spans_[span].begin == nullptr) return;
  UseContext(parts_->gpu->context());
  Driver().EventRecord(spans_[span].end, stream().handle());
  spans_[span].report = std::move(report);
  NoteWork();
}

// Events tell how long things took, not when; the last one ended about now.
void CudaRun::ReportSpans() {
  std::vector<Span> spans;
  {
    absl::MutexLock lock(&mu_);
    for (Span& span : spans_) {
      if (span.report) spans.push_back(std::exchange(span, Span()));
    }
  }
  if (spans.empty()) return;
  const int64_t now = absl::GetCurrentTimeNanos();
  const EventHandle last = spans.back().end;
  auto before_last = [&](EventHandle event) {
    float milliseconds = 0;
    if (event != last && Driver().EventElapsedTime(&milliseconds, event, last) != kSuccess) milliseconds = 0;
    return static_cast<int64_t>(milliseconds * 1e6);
  };
  UseContext(parts_->gpu->context());
  for (Span& span : spans) {
    const int64_t begin = now - before_last(span.begin), end = now - before_last(span.end);
    span.report(begin, std::max(begin, end));
  }
  for (Span& span : spans) {
    parts_->timers->Give(span.begin);
    parts_->timers->Give(span.end);
  }
}

StatusOr<std::shared_ptr<CudaDevice>> CudaDevice::Make(std::string_view task_name, int index,
                                                       const LogicalGpu& options) {
  auto parts = std::make_shared<CudaParts>();
  WEIR_ASSIGN_OR_RETURN(parts->gpu, Gpu::Get(options.gpu));
  const ContextHandle context = parts->gpu->context();
  WEIR_ASSIGN_OR_RETURN(size_t limit, MemoryLimit(*parts->gpu, options));
  parts->memory =
      std::make_unique<MemoryPool>(std::make_shared<DeviceMemory>(context),
                                   MemoryPoolOptions{.name = Cat("GPU_", index), .limit = limit, .grow = options.grow});
  parts->timers = std::make_unique<EventPool>(context, 0);
  WEIR_ASSIGN_OR_RETURN(parts->capture, CudaStream::Make(context));
  WEIR_ASSIGN_OR_RETURN(parts->compute, CudaStream::Make(context, options.priority));
  WEIR_ASSIGN_OR_RETURN(parts->from_host, CudaStream::Make(context, kHighPriority));
  WEIR_ASSIGN_OR_RETURN(parts->to_host, CudaStream::Make(context, kHighPriority));
  WEIR_ASSIGN_OR_RETURN(parts->to_device, CudaStream::Make(context, kHighPriority));
  parts->Announce();
  DeviceInfo info;
  info.name = Cat(task_name, "/device:", kDeviceType, ":", index);
  info.device_type = std::string(kDeviceType);
  info.memory_limit = static_cast<int64_t>(limit);
  info.incarnation = std::random_device()() | 1;
  info.description = parts->gpu->Description();
  info.numa_node = parts->gpu->numa_node();
  info.bus_id = info.numa_node + 1;
  return std::shared_ptr<CudaDevice>(
      new CudaDevice(std::move(info), std::make_shared<ResourceManager>(), std::move(parts)));
}

Status CudaDevice::Await() {
  if (Status status = parts_->compute->Synchronize(); !status.ok()) parts_->Poison(status);
  return parts_->health();
}

void CudaDevice::CopyToHost(const Tensor& device_tensor, DeviceRun* run, CopyDone done) {
  if (Status health = parts_->health(); !health.ok()) return done(health);
  StatusOr<Tensor> host = Tensor::Allocate(device_tensor.dtype(), device_tensor.shape(), host_allocator());
  if (!host.ok()) return done(host.status());
  if (device_tensor.num_bytes() == 0) return done(std::move(host));
  Status status = parts_->to_host->WaitFor(*parts_->compute);
  if (status.ok()) {
    UseContext(gpu().context());
    status = CheckDriver(Driver().MemcpyDtoHAsync(host->raw_data(), Address(device_tensor), device_tensor.num_bytes(),
                                                  parts_->to_host->handle()),
                         "copying to the host");
  }
  if (!status.ok()) return done(status);
  std::shared_ptr<CudaRun> cuda_run;
  if (run != nullptr) cuda_run = static_cast<CudaRun*>(run)->shared_from_this();
  parts_->to_host->WhenDone([parts = parts_.get(), cuda_run, from = device_tensor, to = *std::move(host),
                             done = std::move(done)](Status copied) mutable {
    from = Tensor();  // before somebody hears that it is done
    if (!copied.ok()) parts->Poison(copied);
    if (copied.ok()) copied = cuda_run != nullptr ? cuda_run->SoFar() : parts->health();
    done(copied.ok() ? StatusOr<Tensor>(std::move(to)) : copied);
  });
}

CudaDevice::~CudaDevice() {
  for (CudaStream* stream :
       {parts_->compute.get(), parts_->from_host.get(), parts_->to_host.get(), parts_->to_device.get()}) {
    if (stream != nullptr) stream->WaitForCallbacks();
  }
}

// Copies into fresh memory of the device, ordered with the compute stream on both sides.
StatusOr<std::vector<Tensor>> CudaDevice::StartCopies(const std::vector<Tensor>& host_tensors) {
  WEIR_RETURN_IF_ERROR(parts_->health());
  std::vector<Tensor> copies, held;
  for (const Tensor& tensor : host_tensors) {
    WEIR_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(tensor.dtype(), tensor.shape(), allocator()));
    copies.push_back(std::move(copy));
  }
  UseContext(gpu().context());
  auto is_small = [](const Tensor& tensor) { return tensor.num_bytes() <= kInlineBytes; };
  if (std::ranges::all_of(host_tensors, is_small)) {
    for (size_t i = 0; i < host_tensors.size(); ++i) {
      const size_t bytes = host_tensors[i].num_bytes();
      if (bytes == 0) continue;
      char values[kInlineBytes];  // what is pinned would be read later
      std::memcpy(values, host_tensors[i].raw_data(), bytes);
      WEIR_RETURN_IF_CUDA_ERROR(Driver().MemcpyHtoDAsync(Address(copies[i]), values, bytes, parts_->compute->handle()),
                                "copying to the GPU");
    }
    return copies;
  }
  CudaStream& stream = *parts_->from_host;
  WEIR_RETURN_IF_ERROR(stream.WaitFor(*parts_->compute));
  UseContext(gpu().context());
  auto copy_pinned = [&](const void* from, const Tensor& to, size_t offset, size_t bytes) {
    return CheckDriver(Driver().MemcpyHtoDAsync(Address(to) + offset, from, bytes, stream.handle()),
                       "copying to the GPU");
  };
  for (size_t i = 0; i < host_tensors.size(); ++i) {
    const Tensor& from = host_tensors[i];
    if (parts_->pinned().Contains(from.raw_data())) {
      WEIR_RETURN_IF_ERROR(copy_pinned(from.raw_data(), copies[i], 0, from.num_bytes()));
      held.push_back(from);
      continue;
    }
    for (size_t offset = 0; offset < from.num_bytes(); offset += kStagingPiece) {
      const size_t bytes = std::min(kStagingPiece, from.num_bytes() - offset);
      WEIR_ASSIGN_OR_RETURN(Tensor piece,
                            Tensor::Allocate(DType::kUInt8, Shape({static_cast<int64_t>(bytes)}), host_allocator()));
      std::memcpy(piece.raw_data(), static_cast<const char*>(from.raw_data()) + offset, bytes);
      WEIR_RETURN_IF_ERROR(copy_pinned(piece.raw_data(), copies[i], offset, bytes));
      held.push_back(std::move(piece));
    }
  }
  WEIR_RETURN_IF_ERROR(parts_->compute->WaitFor(stream));
  stream.WhenDone([parts = parts_.get(), held = std::move(held)](Status status) mutable {
    held.clear();
    if (!status.ok()) parts->Poison(status);
  });
  return copies;
}

void CudaDevice::CopyFromHost(const Tensor& host_tensor, DeviceRun* run, CopyDone done) {
  if (run != nullptr && run->is_recording()) return done(RecordCopy(host_tensor, *static_cast<CudaRun*>(run)));
  StatusOr<std::vector<Tensor>> copies = StartCopies({host_tensor});
  if (!copies.ok()) return done(copies.status());
  if (run != nullptr) static_cast<CudaRun*>(run)->NoteWork();
  done(std::move(copies->front()));  // whoever uses it from now on comes after the copy
}

// The value is the same whenever the recording is replayed.
StatusOr<Tensor> CudaDevice::RecordCopy(const Tensor& host_tensor, CudaRun& run) {
  WEIR_ASSIGN_OR_RETURN(Tensor pinned, Tensor::Allocate(host_tensor.dtype(), host_tensor.shape(), host_allocator()));
  WEIR_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(host_tensor.dtype(), host_tensor.shape(), run.allocator()));
  if (host_tensor.num_bytes() == 0) return copy;
  std::memcpy(pinned.raw_data(), host_tensor.raw_data(), host_tensor.num_bytes());
  UseContext(gpu().context());
  WEIR_RETURN_IF_CUDA_ERROR(
      Driver().MemcpyHtoDAsync(Address(copy), pinned.raw_data(), copy.num_bytes(), run.stream().handle()),
      "copying to the GPU");
  run.Hold({std::move(pinned)});
  return copy;
}

void CudaDevice::CopyAllFromHost(std::vector<Tensor> host_tensors, CopyAllDone done) {
  done(StartCopies(host_tensors));
}

bool CudaDevice::CopyToDevice(const Tensor& device_tensor, Device& other, DeviceRun*, const CopyDone& done) {
  auto* target = dynamic_cast<CudaDevice*>(&other);
  if (target == nullptr) return false;
  if (Status health = parts_->health(); !health.ok()) {
    done(health);
    return true;
  }
  StatusOr<Tensor> copy = Tensor::Allocate(device_tensor.dtype(), device_tensor.shape(), target->allocator());
  if (!copy.ok()) {
    done(copy.status());
    return true;
  }
  CudaStream& stream = *parts_->to_device;
  auto start = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(stream.WaitFor(*parts_->compute));
    WEIR_RETURN_IF_ERROR(stream.WaitFor(*target->parts_->compute));  // the memory may have pending work on it
    UseContext(gpu().context());
    if (&gpu() == &target->gpu()) {
      WEIR_RETURN_IF_CUDA_ERROR(
          Driver().MemcpyDtoDAsync(Address(*copy), Address(device_tensor), device_tensor.num_bytes(), stream.handle()),
          "copying between devices");
    } else {
      WEIR_RETURN_IF_CUDA_ERROR(
          Driver().MemcpyPeerAsync(Address(*copy), target->gpu().context(), Address(device_tensor), gpu().context(),
                                   device_tensor.num_bytes(), stream.handle()),
          "copying between GPUs");
    }
    return target->parts_->compute->WaitFor(stream);
  };
  if (device_tensor.num_bytes() > 0) {
    if (Status status = start(); !status.ok()) {
      done(status);
      return true;
    }
    stream.WhenDone([parts = parts_.get(), from = device_tensor](Status status) mutable {
      from = Tensor();
      if (!status.ok()) parts->Poison(status);
    });
  }
  done(*std::move(copy));
  return true;
}

std::shared_ptr<Device> CudaDevice::WithResources(std::shared_ptr<ResourceManager> resources) {
  return std::shared_ptr<CudaDevice>(new CudaDevice(info(), std::move(resources), parts_));
}

}  // namespace weir::cuda
