#include "far_device.h"

#include <cstring>
#include <random>

#include "absl/synchronization/notification.h"

namespace far {

using weir::OkStatus;
using weir::Status;
using weir::StatusOr;
using weir::Tensor;

FarStream::FarStream() : thread_([this] { Loop(); }) {}

FarStream::~FarStream() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

void FarStream::Add(Work work) {
  absl::MutexLock lock(&mu_);
  queue_.push_back(std::move(work));
}

Status FarStream::TakeError() {
  absl::MutexLock lock(&mu_);
  return std::exchange(error_, OkStatus());
}

void FarStream::Loop() {
  while (true) {
    Work work;
    {
      absl::MutexLock lock(&mu_);
      auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !queue_.empty(); };
      mu_.Await(absl::Condition(&ready));
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    Status status = work();
    if (status.ok()) continue;
    absl::MutexLock lock(&mu_);
    if (error_.ok()) error_ = std::move(status);
  }
}

StatusOr<std::shared_ptr<FarDevice>> FarDevice::Make(std::string_view task_name, int index, size_t bytes) {
  auto parts = std::make_shared<Parts>();
  WEIR_ASSIGN_OR_RETURN(parts->memory, FarMemory::Make(bytes));
  weir::DeviceInfo info;
  info.name = weir::Cat(task_name, "/device:FAR:", index);
  info.device_type = "FAR";
  info.memory_limit = static_cast<int64_t>(bytes);
  info.incarnation = std::random_device()() | 1;
  info.description = "a thread with memory of its own";
  return std::shared_ptr<FarDevice>(
      new FarDevice(std::move(info), std::make_shared<weir::ResourceManager>(), std::move(parts)));
}

void FarDevice::CopyToHost(const Tensor& device_tensor, CopyDone done) {
  StatusOr<Tensor> host = Tensor::Allocate(device_tensor.dtype(), device_tensor.shape());
  if (!host.ok()) return done(host.status());
  Enqueue([this, from = device_tensor, to = *std::move(host), done = std::move(done)]() mutable {
    std::memcpy(to.raw_data(), memory().Open(from), from.num_bytes());
    Status failed = parts_->stream.TakeError();
    done(failed.ok() ? StatusOr<Tensor>(std::move(to)) : failed);
    return OkStatus();
  });
}

void FarDevice::CopyFromHost(const Tensor& host_tensor, CopyDone done) {
  StatusOr<Tensor> device = Tensor::Allocate(host_tensor.dtype(), host_tensor.shape(), allocator());
  if (!device.ok()) return done(device.status());
  Enqueue([this, from = host_tensor, to = *std::move(device), done = std::move(done)]() mutable {
    std::memcpy(memory().Open(to), from.raw_data(), from.num_bytes());
    done(std::move(to));
    return OkStatus();
  });
}

std::shared_ptr<weir::Device> FarDevice::WithResources(std::shared_ptr<weir::ResourceManager> resources) {
  return std::shared_ptr<FarDevice>(new FarDevice(info(), std::move(resources), parts_));
}

Status FarDevice::Synchronize() {
  absl::Notification reached;
  Enqueue([&reached] {
    reached.Notify();
    return OkStatus();
  });
  // The stream only computes and copies: it gets here after what was queued before.
  reached.WaitForNotification();
  return parts_->stream.TakeError();
}

}  // namespace far
