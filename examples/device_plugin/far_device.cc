#include "far_device.h"

#include <cstring>
#include <random>

#include "absl/time/clock.h"

namespace far {

using weir::OkStatus;
using weir::Status;
using weir::StatusOr;
using weir::Tensor;

void FarRun::Fail(const Status& status) {
  absl::MutexLock lock(&mu_);
  if (status_.ok()) status_ = status;
}

Status FarRun::status() const {
  absl::MutexLock lock(&mu_);
  return status_;
}

void FarRun::Enqueue(Work work) {
  parts_->compute.Add([self = shared_from_this(), work = std::move(work)] {
    if (Status status = work(); !status.ok()) self->Fail(status);
  });
}

void FarRun::WhenDone(std::function<void(Status)> done) {
  // Copies may still be under way in the other stream.
  parts_->compute.WaitFor(parts_->copies.Record());
  parts_->compute.Add([self = shared_from_this(), done = std::move(done)] { done(self->status()); });
}

uint64_t FarRun::BeginSpan() {
  uint64_t span;
  {
    absl::MutexLock lock(&mu_);
    span = next_span_++;
  }
  parts_->compute.Add([self = shared_from_this(), span] {
    absl::MutexLock lock(&self->mu_);
    self->span_begins_[span] = absl::GetCurrentTimeNanos();
  });
  return span;
}

void FarRun::EndSpan(uint64_t span, SpanReport report) {
  parts_->compute.Add([self = shared_from_this(), span, report = std::move(report)] {
    int64_t begin;
    {
      absl::MutexLock lock(&self->mu_);
      begin = self->span_begins_[span];
      self->span_begins_.erase(span);
    }
    report(begin, absl::GetCurrentTimeNanos());
  });
}

StatusOr<std::shared_ptr<FarDevice>> FarDevice::Make(std::string_view task_name, int index, size_t bytes) {
  auto parts = std::make_shared<FarParts>();
  WEIR_ASSIGN_OR_RETURN(parts->memory, FarMemory::Make(bytes));
  weir::DeviceInfo info;
  info.name = weir::Cat(task_name, "/device:FAR:", index);
  info.device_type = "FAR";
  info.memory_limit = static_cast<int64_t>(bytes);
  info.incarnation = std::random_device()() | 1;
  info.description = "two threads with memory of their own";
  return std::shared_ptr<FarDevice>(
      new FarDevice(std::move(info), std::make_shared<weir::ResourceManager>(), std::move(parts)));
}

void FarDevice::CopyToHost(const Tensor& device_tensor, weir::DeviceRun* run, CopyDone done) {
  StatusOr<Tensor> host = Tensor::Allocate(device_tensor.dtype(), device_tensor.shape(), host_allocator());
  if (!host.ok()) return done(host.status());
  std::shared_ptr<FarRun> far_run;
  if (run != nullptr) far_run = static_cast<FarRun*>(run)->shared_from_this();
  parts_->copies.WaitFor(parts_->compute.Record());
  parts_->copies.Add([this, far_run, from = device_tensor, to = *std::move(host), done = std::move(done)]() mutable {
    std::memcpy(to.raw_data(), memory().Open(from), from.num_bytes());
    from = Tensor();  // before somebody hears that it is done
    Status failed = far_run != nullptr ? far_run->status() : OkStatus();
    done(failed.ok() ? StatusOr<Tensor>(std::move(to)) : failed);
  });
}

void FarDevice::CopyFromHost(const Tensor& host_tensor, weir::DeviceRun*, CopyDone done) {
  StatusOr<Tensor> device = Tensor::Allocate(host_tensor.dtype(), host_tensor.shape(), allocator());
  if (!device.ok()) return done(device.status());
  parts_->copies.Add(
      [this, from = host_tensor, to = *device] { std::memcpy(memory().Open(to), from.raw_data(), from.num_bytes()); });
  parts_->compute.WaitFor(parts_->copies.Record());
  done(*std::move(device));  // whoever uses it from now on comes after the copy
}

bool FarDevice::CopyToDevice(const Tensor& device_tensor, Device& other, weir::DeviceRun* run, const CopyDone& done) {
  auto* far = dynamic_cast<FarDevice*>(&other);
  if (far == nullptr) return false;
  StatusOr<Tensor> device = Tensor::Allocate(device_tensor.dtype(), device_tensor.shape(), far->allocator());
  if (!device.ok()) {
    done(device.status());
    return true;
  }
  parts_->copies.WaitFor(parts_->compute.Record());
  parts_->copies.Add([this, parts = far->parts_, from = device_tensor, to = *device] {
    std::memcpy(parts->memory->Open(to), memory().Open(from), from.num_bytes());
  });
  far->parts_->compute.WaitFor(parts_->copies.Record());
  done(*std::move(device));
  return true;
}

void FarDevice::CopyAllFromHost(std::vector<Tensor> host_tensors, CopyAllDone done) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : host_tensors) {
    StatusOr<Tensor> copy = Tensor::Allocate(tensor.dtype(), tensor.shape(), allocator());
    if (!copy.ok()) return done(copy.status());
    copies.push_back(*std::move(copy));
  }
  parts_->copies.Add([this, from = std::move(host_tensors), to = copies] {
    for (size_t i = 0; i < from.size(); ++i) {
      std::memcpy(memory().Open(to[i]), from[i].raw_data(), from[i].num_bytes());
    }
  });
  parts_->compute.WaitFor(parts_->copies.Record());
  done(std::move(copies));
}

std::shared_ptr<weir::Device> FarDevice::WithResources(std::shared_ptr<weir::ResourceManager> resources) {
  return std::shared_ptr<FarDevice>(new FarDevice(info(), std::move(resources), parts_));
}

}  // namespace far
