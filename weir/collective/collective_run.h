// CollectiveRun: one call of a member, from the search for its group to its result.
#ifndef WEIR_COLLECTIVE_COLLECTIVE_RUN_H_
#define WEIR_COLLECTIVE_COLLECTIVE_RUN_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/base/timer.h"
#include "weir/collective/algorithm.h"
#include "weir/collective/domain.h"

namespace weir {

// Whatever the run waits for keeps it alive.
class CollectiveRun final : public RoundRun, public std::enable_shared_from_this<CollectiveRun> {
 public:
  static void Start(std::shared_ptr<CollectiveDomain> domain, CollectiveCall call, CollectiveDomain::Done done);

  CollectiveRun(std::shared_ptr<CollectiveDomain> domain, CollectiveCall call, CollectiveDomain::Done done);

  const CollectiveGroup& group() const override { return *group_; }
  const Round& round() const override { return *round_; }
  const CollectiveSpec& spec() const override { return call_.spec; }
  int rank() const override { return rank_; }
  const Tensor& input() const override { return call_.input; }
  StatusOr<Tensor> Allocate(DType dtype, const Shape& shape) override;
  ChunkArithmetic* arithmetic() override { return is_staged_ ? nullptr : call_.arithmetic.get(); }
  Status Send(const std::string& key, Tensor chunk) override;
  void Receive(int sender, const std::string& key, Tensor into, std::function<Status(Tensor)> done) override;
  void Work(size_t bytes, std::function<Status()> work) override;
  void Finish(Tensor output) override;

 private:
  void Begin();
  void HaveGroup(StatusOr<GroupPtr> group);
  void HaveRound(StatusOr<RoundPtr> round);
  bool StaysOnDevices() const;
  void StartData();
  // What this member says about communicators; finds its seat and what a call needs.
  SeatOffer OfferSeat();
  Status PrepareOutput();
  void RunInCommunicator();
  StatusOr<DeviceCollectiveCall> MakeDeviceCall();
  void EndInCommunicator(const Status& status);
  void End(StatusOr<Tensor> result);
  void Fail(const Status& status);
  void OnDeadline();
  std::string Senders();
  std::string ChunkKey(const std::string& key) const;

  const std::shared_ptr<CollectiveDomain> domain_;
  CollectiveCall call_;
  CollectiveDomain::Done done_;
  absl::Time deadline_;
  std::atomic<bool> ended_{false};
  CancellationManager cancellation_;  // cancels everything that this run waits for
  std::atomic<CancellationManager::Token> token_{CancellationManager::kNoToken};  // in the cancellation of the call
  std::atomic<Timer::Id> timer_{0};
  GroupPtr group_;
  RoundPtr round_;
  int rank_ = -1;
  bool is_staged_ = false;                // the data is copied to host memory and back
  Tensor output_;                         // of a communicator
  std::shared_ptr<DeviceMoment> moment_;  // when the input and the output were there; null: no communicator
  absl::Mutex mu_;
  GroupPtr known_group_ ABSL_GUARDED_BY(mu_);   // group_, for threads other than the one that runs the stages
  uint64_t round_id_ ABSL_GUARDED_BY(mu_) = 0;  // 0: none yet
  std::shared_ptr<DeviceSeat> seat_ ABSL_GUARDED_BY(mu_);
  bool is_joining_ ABSL_GUARDED_BY(mu_) = false;     // with a seat, and without an answer so far
  uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;     // of the communicator in which the round runs
  std::map<int, int> awaited_ ABSL_GUARDED_BY(mu_);  // the number of chunks expected, by sender
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_COLLECTIVE_RUN_H_
