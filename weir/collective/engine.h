// Engine: the thread in the background that runs what the program asks for (collective.h).
//
// It works in cycles. In each, every rank tells all others what has become ready; what is ready everywhere then runs,
// on all ranks in the same order. A rank with nothing to ask for sleeps; it takes part in a cycle when it sees that
// others wait for it.
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
  // Waits until all ranks stop, but not longer than the time-out. Not from the engine's own thread.
  void Stop();

  // The answer comes on the engine's thread, which must not wait for another request.
  void Submit(Request request);

  // Set by the start, and constant.
  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  int host() const { return host_; }
  int num_hosts() const { return num_hosts_; }
  // The ranks of a set; empty if it is unknown.
  std::vector<int> RanksOf(ProcessSet set) const;
  Timeline& timeline() { return timeline_; }
  // Why no request can be made any more; OK if one can.
  Status failure() const {
    absl::MutexLock lock(&mu_);
    return failed_;
  }

 private:
  struct Packed;
  void Run();
  // Sleeps until there is a reason for a cycle. False at the end.
  bool WaitForCycle(bool was_idle);
  Status Cycle(bool* was_idle);
  CycleMessage Collect();
  void RunBucket(const Bucket& bucket);
  StatusOr<Answer> RunOne(ProcessGroup& group, const Signature& signature, Request& request);
  Status RunReduction(ProcessGroup& group, const Bucket& bucket, std::vector<Request>& requests,
                      std::vector<Answer>* answers);
  StatusOr<Answer> MakeSet(const Signature& signature);
  // The rank's own request of this key; zeros or no rows if it has joined.
  Request TakeRequest(const std::string& key, const Signature& signature, bool has_failed);
  // A part of the buffer whose floats travel as int8.
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

  // Of the thread:
  std::unique_ptr<ProcessGroup> group_;
  std::map<ProcessSet, std::unique_ptr<ProcessGroup>> sets_;  // null where this rank is not in it
  Negotiation negotiation_;
  std::map<std::string, std::deque<Request>> pending_;  // by key; the first one of each is announced
  std::vector<std::string> to_announce_;
  std::deque<Request> joins_;
  std::map<std::string, std::vector<float>> residuals_;  // by key and tensor: what int8 has not carried yet
  bool announced_stop_ = false;
  bool all_stop_ = false;
  absl::Time next_stall_report_;

  std::thread thread_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_ENGINE_H_
