// Engine: the background thread that runs the collectives of collective.h.
//
// It works in cycles. In each cycle every rank tells all others which requests have become ready; those that are ready
// everywhere then run, in the same order on all ranks. A rank without requests sleeps; it takes part in a cycle when it
// notices that others wait for it.
#ifndef WEIR_COLLECTIVE_ENGINE_H_
#define WEIR_COLLECTIVE_ENGINE_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "weir/collective/device_exchange.h"
#include "weir/collective/negotiation.h"
#include "weir/collective/process_group.h"
#include "weir/collective/request.h"
#include "weir/collective/timeline.h"

namespace weir::collective {

class FusionBuffer;

// Thread-safe.
class Engine {
 public:
  Engine(std::unique_ptr<ProcessGroup> group, const InitOptions& options);
  ~Engine() { Stop(); }
  // Waits until all ranks stop, but no longer than the timeout. Must not be called on the engine's own thread.
  void Stop();

  // `request.done` is called on the engine's thread, so it must not wait for another request.
  void Submit(Request request);

  // Constant.
  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  int host() const { return host_; }
  int num_hosts() const { return num_hosts_; }
  // The ranks of a set; empty if it is unknown.
  std::vector<int> RanksOf(ProcessSet set) const;
  Timeline& timeline() { return timeline_; }
  // The reason why requests are rejected; OK if they are not.
  Status failure() const {
    absl::MutexLock lock(&mu_);
    return failed_;
  }

 private:
  struct Packed;
  void Run();
  // Sleeps until there is a reason for a cycle. False when the engine ends.
  bool WaitForCycle(bool was_idle);
  Status Cycle(bool* was_idle);
  CycleMessage Collect();
  void RunBucket(const Bucket& bucket);
  // Runs a bucket of tensors on devices. False if it has to go through host memory, on all ranks.
  StatusOr<bool> RunOnDevices(ProcessGroup& group, const Bucket& bucket, const std::vector<Request>& requests,
                              std::vector<Answer>* answers);
  Status RunOnHost(ProcessGroup& group, const Bucket& bucket, std::vector<Request>& requests,
                   std::vector<Answer>* answers);
  StatusOr<Answer> RunOne(ProcessGroup& group, const Signature& signature, Request& request);
  Status RunReduction(ProcessGroup& group, const Bucket& bucket, std::vector<Request>& requests,
                      std::vector<Answer>* answers);
  StatusOr<Answer> MakeSet(const Signature& signature);
  // Takes this rank's request with the key. If the rank has joined, makes one with zeros or without rows.
  Request TakeRequest(const std::string& key, const Signature& signature, bool has_failed);
  // Reduces a part of the buffer whose floats are sent as int8.
  Status ReducePart(ProcessGroup& group, const ReduceOptions& options, const Bucket& bucket,
                    const std::vector<Request>& requests, FusionBuffer& buffer, size_t part);
  void FailAll(const Status& status);
  void ReportStalls(CycleMessage* message);
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !queue_.empty() || (stopping_ && !announced_stop_); }

  const InitOptions options_;
  const int rank_, size_, local_rank_, local_size_, host_, num_hosts_;
  Timeline timeline_;

  mutable absl::Mutex mu_;
  absl::CondVar news_;
  std::vector<Request> queue_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  Status failed_ ABSL_GUARDED_BY(mu_);
  std::map<ProcessSet, std::vector<int>> set_ranks_ ABSL_GUARDED_BY(mu_);
  const Allocator* device_memory_ ABSL_GUARDED_BY(mu_) = nullptr;  // of the device that brought the first request

  // Used by the thread only:
  std::unique_ptr<ProcessGroup> group_;
  std::map<ProcessSet, std::unique_ptr<ProcessGroup>> sets_;  // null if this rank is not a member
  std::map<ProcessSet, std::unique_ptr<DeviceExchange>> device_exchanges_;
  Negotiation negotiation_;
  std::map<std::string, std::deque<Request>> pending_;  // by key; the first request of each key has been announced
  std::vector<std::string> to_announce_;
  std::deque<Request> joins_;
  std::map<std::string, std::vector<float>> residuals_;  // by key and tensor: the rounding errors of int8
  bool announced_stop_ = false;
  bool all_stop_ = false;
  absl::Time next_stall_report_;

  std::thread thread_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_ENGINE_H_
