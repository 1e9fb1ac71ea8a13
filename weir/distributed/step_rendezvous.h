// The rendezvous of the steps that a task takes part in. A value stays where it was sent; whoever receives it in
// another task comes and gets it.
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

// Gets from another task what a step sends there under a key.
using FetchTensor = std::function<void(int64_t step_id, std::string_view key, CancellationManager* cancellation,
                                       Rendezvous::RecvDone done)>;

class StepRendezvous : public Rendezvous {
 public:
  // `own_prefix` is the task's name and a slash; it and `fetch` outlive this object.
  StepRendezvous(int64_t step_id, const std::string& own_prefix, const FetchTensor& fetch)
      : step_id_(step_id), own_prefix_(own_prefix), fetch_(fetch) {}

  // A value of another task has come with the request to run a part.
  Status Send(std::string_view key, Tensor value, bool is_dead) override {
    if (!key.starts_with(own_prefix_)) brought_ = true;
    return local_.Send(key, std::move(value), is_dead);
  }
  void RecvAsync(std::string_view key, CancellationManager* cancellation, RecvDone done) override;
  Status SendValue(std::string_view key, RendezvousValue value) override {
    return local_.SendValue(key, std::move(value));
  }
  void RecvValueAsync(std::string_view key, CancellationManager* cancellation, RecvValueDone done) override;
  // Waits for other tasks end by their cancellation.
  void StartAbort(const Status& status) override { local_.StartAbort(status); }

  // The step's master gives and takes values in several calls.
  void SetPartial() { partial_ = true; }
  bool has_one_call() const override { return !partial_; }

  LocalRendezvous& local() { return local_; }

  // For a peer that asks: an error is that of the step here and not of the peer's own.
  void RecvForPeer(std::string_view key, CancellationManager* cancellation, RecvDone done);

 private:
  // Whether the value is in this task, or comes here.
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

  // A part of the step runs here: kept until End.
  std::shared_ptr<StepRendezvous> Begin(int64_t step_id);
  // Forgets the step; what still waits for it hears `status`.
  void End(int64_t step_id, const Status& status);
  // Forgets the step if nothing waits in its rendezvous and no peer reads its tensors; false if there is something.
  bool EndIfIdle(int64_t step_id);
  // LocalRendezvous::TakeSmall of a step; nothing if it is not known.
  std::vector<std::pair<std::string, Tensor>> TakeSmall(int64_t step_id, std::string_view device);

  // A peer asks for a value of a step that may not have begun here. If it never does, the step is forgotten when the
  // last peer gives up.
  std::shared_ptr<StepRendezvous> BeginPeer(int64_t step_id);
  // False if the step has ended meanwhile.
  bool EndPeer(int64_t step_id);

  // What peers have asked for and do not have yet.
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
