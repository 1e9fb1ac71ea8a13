// StepRendezvous: the rendezvous of a step in one task of a cluster. A sent value stays in the task of its Send; a Recv
// in another task fetches it from there.
#ifndef WEIR_DISTRIBUTED_STEP_RENDEZVOUS_H_
#define WEIR_DISTRIBUTED_STEP_RENDEZVOUS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "weir/distributed/held_tensors.h"
#include "weir/distributed/metrics.h"
#include "weir/runtime/local_rendezvous.h"

namespace weir {

// Fetches the value that a step sends under a key in another task. With `to_device`, the value may be received in the
// memory of the device that the key names as its destination.
using FetchTensor = std::function<void(int64_t step_id, std::string_view key, bool to_device,
                                       CancellationManager* cancellation, Rendezvous::RecvValueDone done)>;

class StepRendezvous : public Rendezvous {
 public:
  // `own_prefix` is the task's name and a slash; it and `fetch` outlive this object.
  StepRendezvous(int64_t step_id, const std::string& own_prefix, const FetchTensor& fetch)
      : step_id_(step_id), own_prefix_(own_prefix), fetch_(fetch) {}

  // Adds a value of another task that arrived with the request to run a part.
  Status Send(std::string_view key, Tensor value, bool is_dead) override {
    if (!key.starts_with(own_prefix_)) brought_ = true;
    return local_.Send(key, std::move(value), is_dead);
  }
  void RecvAsync(std::string_view key, CancellationManager* cancellation, RecvDone done) override;
  Status SendValue(std::string_view key, RendezvousValue value) override {
    return local_.SendValue(key, std::move(value));
  }
  void RecvValueAsync(std::string_view key, CancellationManager* cancellation, RecvValueDone done) override;
  // Receives from other tasks do not end here, but by their cancellation.
  void StartAbort(const Status& status) override { local_.StartAbort(status); }

  // For partial runs, in which the master sends and receives values in several calls.
  void SetPartial() { partial_ = true; }
  bool has_one_call() const override { return !partial_; }

  LocalRendezvous& local() { return local_; }

  // Serves a request of a peer. An error is marked as an error of the step in this task. The value stays in the memory
  // from which it was sent.
  void RecvForPeer(std::string_view key, CancellationManager* cancellation, RecvValueDone done);

 private:
  // Whether the value is, or will be, in this task.
  bool IsHere(std::string_view key) const { return key.starts_with(own_prefix_) || (brought_ && local_.Holds(key)); }

  const int64_t step_id_;
  const std::string& own_prefix_;
  const FetchTensor& fetch_;
  std::atomic<bool> partial_{false};
  std::atomic<bool> brought_{false};  // there may be values of other tasks here
  LocalRendezvous local_;
};

// Thread-safe.
class RendezvousTable {
 public:
  RendezvousTable(std::string_view task, FetchTensor fetch) : own_prefix_(Cat(task, "/")), fetch_(std::move(fetch)) {}

  // A part of the step runs here: the step is kept until End.
  std::shared_ptr<StepRendezvous> Begin(int64_t step_id);
  // Forgets the step; pending receives fail with `status`.
  void End(int64_t step_id, const Status& status);
  // Forgets the step if its rendezvous is empty and no peer is fetching its tensors; false otherwise.
  bool EndIfIdle(int64_t step_id);
  // LocalRendezvous::TakeSmall for a step; empty if the step is unknown.
  std::vector<std::pair<std::string, Tensor>> TakeSmall(int64_t step_id, std::string_view device);

  // A peer requests a value of a step that may not have begun here. If it never does, the step is forgotten when the
  // last peer gives up.
  std::shared_ptr<StepRendezvous> BeginPeer(int64_t step_id);
  // False if the step has ended meanwhile.
  bool EndPeer(int64_t step_id);

  // The requests of peers that have not been answered yet.
  HeldTensors& held() { return held_; }
  TaskMetrics& metrics() { return metrics_; }
  size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<StepRendezvous> rendezvous;
    bool begun = false;
    int peers = 0;
  };
  Entry& Find(int64_t step_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string own_prefix_;
  const FetchTensor fetch_;
  HeldTensors held_;
  TaskMetrics metrics_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<int64_t, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_STEP_RENDEZVOUS_H_
