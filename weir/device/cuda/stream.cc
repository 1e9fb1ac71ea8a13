#include "weir/device/cuda/stream.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace weir::cuda {
namespace {

// How long the thread asks again and again before it lets the driver wake it, which takes longer.
constexpr absl::Duration kImpatience = absl::Microseconds(200);

thread_local bool is_callback_thread = false;

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

CudaStream::Callbacks::Callbacks(ContextHandle context)
    : context(context), events(context, kEventBlockingSync | kEventDisableTiming) {}

CudaStream::CudaStream(ContextHandle context, StreamHandle handle)
    : context_(context), handle_(handle), callbacks_(std::make_shared<Callbacks>(context)) {}

CudaStream::~CudaStream() {
  std::thread thread;
  {
    absl::MutexLock lock(&callbacks_->mu);
    callbacks_->stopping = true;
    thread = std::move(callbacks_->thread);
  }
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else if (thread.joinable()) {
    thread.join();
  }
  UseContext(context_);
  Driver().StreamSynchronize(handle_);
  Driver().StreamDestroy(handle_);
}

Status CudaStream::WaitFor(CudaStream& other) {
  WEIR_ASSIGN_OR_RETURN(EventHandle event, other.callbacks_->events.Take());
  UseContext(other.context_);
  const Result recorded = Driver().EventRecord(event, other.handle_);
  UseContext(context_);
  const Result waits = recorded == kSuccess ? Driver().StreamWaitEvent(handle_, event, 0) : recorded;
  other.callbacks_->events.Give(event);  // the wait has noted where the event was recorded
  return CheckDriver(waits, "ordering two streams");
}

void CudaStream::WhenDone(std::function<void(Status)> done) {
  EventPool& events = callbacks_->events;
  StatusOr<EventHandle> event = events.Take();
  if (!event.ok()) return done(event.status());
  UseContext(context_);
  if (Result result = Driver().EventRecord(*event, handle_); result != kSuccess) {
    events.Give(*event);
    return done(CheckDriver(result, "recording an event"));
  }
  absl::MutexLock lock(&callbacks_->mu);
  callbacks_->waiters.push_back({*event, std::move(done)});
  if (!callbacks_->thread.joinable() && !callbacks_->stopping) {
    callbacks_->thread = std::thread([callbacks = callbacks_] { Loop(callbacks); });
  }
}

Status CudaStream::Synchronize() {
  UseContext(context_);
  return CheckDriver(Driver().StreamSynchronize(handle_), "waiting for a stream");
}

void CudaStream::WaitForCallbacks() {
  if (is_callback_thread) return;  // two of them could wait for each other
  Callbacks& c = *callbacks_;
  absl::MutexLock lock(&c.mu);
  auto is_idle = [&c]() ABSL_SHARED_LOCKS_REQUIRED(c.mu) { return c.waiters.empty() && !c.calling; };
  c.mu.Await(absl::Condition(&is_idle));
}

void CudaStream::Loop(const std::shared_ptr<Callbacks>& callbacks) {
  is_callback_thread = true;
  UseContext(callbacks->context);
  for (;;) {
    Waiter waiter;
    {
      Callbacks& c = *callbacks;
      absl::MutexLock lock(&c.mu);
      auto is_wanted = [&c]() ABSL_SHARED_LOCKS_REQUIRED(c.mu) { return c.stopping || !c.waiters.empty(); };
      c.mu.Await(absl::Condition(&is_wanted));
      if (c.waiters.empty()) return;
      waiter = std::move(c.waiters.front());
      c.waiters.pop_front();
      c.calling = true;
    }
    const Result result = WaitForEvent(waiter.event);
    callbacks->events.Give(waiter.event);
    waiter.done(CheckDriver(result, "The GPU failed"));
    waiter.done = nullptr;  // which may hold the device
    absl::MutexLock lock(&callbacks->mu);
    callbacks->calling = false;
  }
}

}  // namespace weir::cuda
