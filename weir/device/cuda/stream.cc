#include "weir/device/cuda/stream.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace weir::cuda {
namespace {

// How long the thread asks again and again before it lets the driver wake it, which takes longer.
constexpr absl::Duration kImpatience = absl::Microseconds(200);

Result WaitForEvent(EventHandle event) {
  const absl::Time begin = absl::Now();
  for (int i = 0;; ++i) {
    const Result result = Driver().EventQuery(event);
    if (result != kErrorNotReady) return result;
    if (i % 16 == 15) {
      std::this_thread::yield();
      if (absl::Now() - begin > kImpatience) break;
    }
  }
  return Driver().EventSynchronize(event);
}

}  // namespace

EventPool::~EventPool() {
  UseContext(context_);
  absl::MutexLock lock(&mu_);
  for (EventHandle event : idle_) Driver().EventDestroy(event);
}

StatusOr<EventHandle> EventPool::Take() {
  {
    absl::MutexLock lock(&mu_);
    if (!idle_.empty()) {
      EventHandle event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  UseContext(context_);
  EventHandle event = nullptr;
  WEIR_RETURN_IF_CUDA_ERROR(Driver().EventCreate(&event, flags_), "making an event");
  return event;
}

void EventPool::Give(EventHandle event) {
  absl::MutexLock lock(&mu_);
  idle_.push_back(event);
}

StatusOr<std::unique_ptr<CudaStream>> CudaStream::Make(ContextHandle context, int priority) {
  UseContext(context);
  int least = 0, greatest = 0;
  WEIR_RETURN_IF_CUDA_ERROR(Driver().CtxGetStreamPriorityRange(&least, &greatest), "asking for stream priorities");
  StreamHandle handle = nullptr;
  WEIR_RETURN_IF_CUDA_ERROR(
      Driver().StreamCreateWithPriority(&handle, kStreamNonBlocking, std::clamp(priority, greatest, least)),
      "making a stream");
  return std::unique_ptr<CudaStream>(new CudaStream(context, handle));
}

CudaStream::CudaStream(ContextHandle context, StreamHandle handle)
    : context_(context), handle_(handle), events_(context, kEventBlockingSync | kEventDisableTiming) {}

CudaStream::~CudaStream() {
  std::thread thread;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
  UseContext(context_);
  Driver().StreamSynchronize(handle_);
  Driver().StreamDestroy(handle_);
}

Status CudaStream::WaitFor(CudaStream& other) {
  WEIR_ASSIGN_OR_RETURN(EventHandle event, other.events_.Take());
  UseContext(other.context_);
  const Result recorded = Driver().EventRecord(event, other.handle_);
  UseContext(context_);
  const Result waits = recorded == kSuccess ? Driver().StreamWaitEvent(handle_, event, 0) : recorded;
  other.events_.Give(event);  // the wait has noted where the event was recorded
  return CheckDriver(waits, "ordering two streams");
}

void CudaStream::WhenDone(std::function<void(Status)> done) {
  StatusOr<EventHandle> event = events_.Take();
  if (!event.ok()) return done(event.status());
  UseContext(context_);
  if (Result result = Driver().EventRecord(*event, handle_); result != kSuccess) {
    events_.Give(*event);
    return done(CheckDriver(result, "recording an event"));
  }
  absl::MutexLock lock(&mu_);
  waiters_.push_back({*event, std::move(done)});
  if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { Loop(); });
}

Status CudaStream::Synchronize() {
  UseContext(context_);
  return CheckDriver(Driver().StreamSynchronize(handle_), "waiting for a stream");
}

void CudaStream::Loop() {
  UseContext(context_);
  for (;;) {
    Waiter waiter;
    {
      absl::MutexLock lock(&mu_);
      auto is_wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return stopping_ || !waiters_.empty(); };
      mu_.Await(absl::Condition(&is_wanted));
      if (waiters_.empty()) return;
      waiter = std::move(waiters_.front());
      waiters_.pop_front();
    }
    const Result result = WaitForEvent(waiter.event);
    events_.Give(waiter.event);
    waiter.done(CheckDriver(result, "The GPU failed"));
  }
}

}  // namespace weir::cuda
