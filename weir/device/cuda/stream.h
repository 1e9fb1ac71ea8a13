// Streams and events of one GPU.
#ifndef WEIR_DEVICE_CUDA_STREAM_H_
#define WEIR_DEVICE_CUDA_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/status.h"
#include "weir/device/cuda/driver.h"

namespace weir::cuda {

// Events that are used again and again; making one costs the driver microseconds. Thread-safe.
class EventPool {
 public:
  // `flags` as for cuEventCreate.
  EventPool(ContextHandle context, unsigned flags) : context_(context), flags_(flags) {}
  ~EventPool();
  StatusOr<EventHandle> Take();
  void Give(EventHandle event);

 private:
  const ContextHandle context_;
  const unsigned flags_;
  absl::Mutex mu_;
  std::vector<EventHandle> idle_ ABSL_GUARDED_BY(mu_);
};

// A stream, and a thread that calls back when the stream has come to a point. The thread starts with the first callback
// and sleeps while none is wanted. Thread-safe.
class CudaStream {
 public:
  // Less is more urgent; the driver knows a few priorities around 0, of which the nearest one is taken.
  static StatusOr<std::unique_ptr<CudaStream>> Make(ContextHandle context, int priority = 0);
  // Waits for the stream's work and its callbacks, except for the callback that lets the stream go, if one does.
  ~CudaStream();

  StreamHandle handle() const { return handle_; }
  ContextHandle context() const { return context_; }

  // Work given to this stream from now on is done after all that was given to `other` so far.
  Status WaitFor(CudaStream& other);
  // Calls `done` once all work given so far has ended: with OK, or with the error that the GPU is in. From the stream's
  // thread, which it must not keep.
  void WhenDone(std::function<void(Status)> done);
  // Blocks until all work given so far has ended.
  Status Synchronize();
  // Blocks until all callbacks have returned. Does nothing in a callback, of whichever stream.
  void WaitForCallbacks();

 private:
  struct Waiter {
    EventHandle event = nullptr;
    std::function<void(Status)> done;
  };
  // What the thread uses; it may outlive the stream.
  struct Callbacks {
    explicit Callbacks(ContextHandle context);
    const ContextHandle context;
    EventPool events;
    absl::Mutex mu;
    std::deque<Waiter> waiters ABSL_GUARDED_BY(mu);
    bool stopping ABSL_GUARDED_BY(mu) = false;
    bool calling ABSL_GUARDED_BY(mu) = false;
    std::thread thread ABSL_GUARDED_BY(mu);
  };
  CudaStream(ContextHandle context, StreamHandle handle);
  static void Loop(const std::shared_ptr<Callbacks>& callbacks);

  const ContextHandle context_;
  const StreamHandle handle_;
  const std::shared_ptr<Callbacks> callbacks_;
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_STREAM_H_
