// Streams of the far device: queues of work, each done in order by a thread of its own.
#ifndef WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_STREAM_H_
#define WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace far {

// A point of one stream that another can wait for. Thread-safe.
class FarEvent {
 public:
  void Set() {
    absl::MutexLock lock(&mu_);
    is_set_ = true;
  }
  void Wait() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&is_set_));
  }

 private:
  absl::Mutex mu_;
  bool is_set_ ABSL_GUARDED_BY(mu_) = false;
};

// Thread-safe.
class FarStream {
 public:
  using Work = std::function<void()>;
  FarStream();
  ~FarStream();  // does what is queued first

  // Does `work` after all that was added before. It holds the tensors that it touches.
  void Add(Work work);
  // An event at the end of what was added so far.
  std::shared_ptr<FarEvent> Record();
  // What is added from now on comes after the event, which is one of another stream's past.
  void WaitFor(std::shared_ptr<FarEvent> event);

 private:
  void Loop();

  absl::Mutex mu_;
  std::deque<Work> queue_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace far

#endif  // WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_STREAM_H_
