#include "weir/collective/device_seat.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/base/fingerprint.h"
#include "weir/base/logging.h"
#include "weir/base/strings.h"
#include "weir/collective/domain.h"

namespace weir {
namespace {

// For how long members that are late learn that a generation has ended.
constexpr absl::Duration kKeepLoss = absl::Minutes(15);

}  // namespace

DeviceSeat::DeviceSeat(std::weak_ptr<CollectiveDomain> domain, GroupPtr group, int rank)
    : domain_(std::move(domain)), group_(std::move(group)), rank_(rank) {}

SeatOffer DeviceSeat::Offer(CommunicatorSource& source) {
  SeatOffer offer;
  StatusOr<std::string> card = source.CommunicatorCard();
  if (card.ok()) {
    offer.card = *card;
  } else {
    offer.obstacle = std::string(Message(card.status()));
  }
  absl::MutexLock lock(&mu_);
  if (!unusable_.empty()) {
    offer.card.clear();
    offer.obstacle = unusable_;
  }
  offer.lost = lost_;
  offer.doubts = doubts_;
  return offer;
}

uint64_t DeviceSeat::WatchedRound(uint64_t generation) const {
  return Fingerprint64(Cat("communicator:", group_->id, ":", generation));
}

void DeviceSeat::Run(const RoundCommunicator& round, DeviceCollectiveCall call, std::function<void(Status)> done) {
  Ended replaced;
  Status refused;
  {
    absl::MutexLock lock(&mu_);
    if (round.generation > generation_) {
      replaced = EndLocked();
      generation_ = round.generation;
      is_lost_ = false;
      next_order_ = 0;
    }
    if (!closed_.ok()) {
      refused = closed_;
    } else if (round.generation < generation_ || is_lost_) {
      refused = Aborted("The communicator of the group ", group_->key, " was lost before this collective could run");
    } else {
      queue_[round.order] = {round.id, std::move(call), std::move(done)};
    }
  }
  Settle(std::move(replaced), Aborted("Another member has lost the communicator of the group ", group_->key));
  if (!refused.ok()) return done(refused);
  StartCalls();
}

void DeviceSeat::StartCalls() {
  {
    absl::MutexLock lock(&mu_);
    if (is_starting_) return;
    is_starting_ = true;
  }
  for (;;) {
    Waiting waiting;
    std::shared_ptr<DeviceCommunicator> communicator;
    std::shared_ptr<CancellationManager> watch;
    uint64_t generation = 0;
    {
      absl::MutexLock lock(&mu_);
      auto first = queue_.find(next_order_);
      if (first == queue_.end()) {
        is_starting_ = false;
        return;
      }
      waiting = std::move(first->second);
      queue_.erase(first);
      generation = generation_;
      if (next_order_++ == 0) {
        communicator_ = waiting.call.moment->Join(waiting.id, group_->size(), rank_);
        watch_ = watch = std::make_shared<CancellationManager>();
      }
      communicator = communicator_;
    }
    if (watch != nullptr) Watch(generation, watch);
    communicator->Start(std::move(waiting.call),
                        [self = shared_from_this(), generation, done = std::move(waiting.done)](const Status& status) {
                          self->Learn(status);
                          if (!status.ok()) self->Lose(generation, status);
                          done(status);
                        });
  }
}

void DeviceSeat::Watch(uint64_t generation, const std::shared_ptr<CancellationManager>& watch) {
  auto domain = domain_.lock();
  if (domain == nullptr) return;
  const CollectiveMember& before = group_->members[(rank_ + group_->size() - 1) % group_->size()];
  const std::string key = Cat("seat:", rank_);
  auto ended = [weak = weak_from_this(), watch, generation, name = before.device](const Status& status) {
    auto self = weak.lock();
    if (self == nullptr || !watch->reason().ok()) return;
    self->Lose(generation, Annotate(status, Cat("The communicator of the collectives' group has lost ", name, ": ")));
  };
  if (domain->IsHere(before)) {
    domain->chunks().Take(WatchedRound(generation), key, watch.get(),
                          [ended](const StatusOr<Tensor>& chunk) { ended(chunk.status()); });
    return;
  }
  CollectivePeers* peers = domain->peers();
  StatusOr<Tensor> nothing = Tensor::Allocate(DType::kUInt8, Shape({0}));
  if (peers == nullptr || !nothing.ok()) return;
  peers->FetchChunk({WatchedRound(generation), key, &before, &group_->members[rank_]}, *nothing, watch.get(),
                    [ended, group = group_](const Status& status) { ended(status); });
}

DeviceSeat::Ended DeviceSeat::EndLocked() {
  Ended ended;
  if (generation_ == 0 || is_lost_) return ended;
  is_lost_ = true;
  lost_ = generation_;
  ended.generation = generation_;
  ended.communicator = std::move(communicator_);
  ended.queue = std::exchange(queue_, {});
  ended.watch = std::move(watch_);
  communicator_ = nullptr;
  watch_ = nullptr;
  return ended;
}

void DeviceSeat::Tell(uint64_t generation, const Status& reason) {
  auto domain = domain_.lock();
  if (domain == nullptr) return;
  const Status told = absl::IsCancelled(reason) ? Aborted(Message(reason)) : reason;
  domain->chunks().Abort(WatchedRound(generation), told, absl::Now() + kKeepLoss);
}

void DeviceSeat::Settle(Ended ended, const Status& reason) {
  if (ended.generation == 0) return;
  Tell(ended.generation, reason);
  if (ended.watch != nullptr) ended.watch->StartCancel(Cancelled("the communicator has ended"));
  if (ended.communicator != nullptr) ended.communicator->Abort(reason);
  for (auto& [order, waiting] : ended.queue) waiting.done(reason);
}

void DeviceSeat::Lose(uint64_t generation, const Status& reason) {
  Ended ended;
  bool is_new = false;
  {
    absl::MutexLock lock(&mu_);
    if (generation < generation_) return;
    ended = EndLocked();
    is_new = generation > generation_;  // lost before this member has begun to join it
    if (is_new) {
      generation_ = lost_ = generation;
      is_lost_ = true;
    }
  }
  Settle(std::move(ended), reason);
  if (is_new) Tell(generation, reason);
}

void DeviceSeat::Learn(const Status& status) {
  // Other errors come from other members, or from deadlines.
  const bool is_own = absl::IsInternal(status) || absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) ||
                      absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
  absl::MutexLock lock(&mu_);
  has_worked_ = has_worked_ || status.ok();
  if (!has_worked_ && is_own) unusable_ = std::string(Message(status));
}

void DeviceSeat::Doubt() {
  Ended ended;
  {
    absl::MutexLock lock(&mu_);
    ++doubts_;
    ended = EndLocked();
  }
  Settle(std::move(ended), Aborted("A collective of the group ", group_->key, " was given up by ",
                                   group_->members[rank_].device, " while it began"));
}

void DeviceSeat::Explain(std::string_view obstacle) {
  {
    absl::MutexLock lock(&mu_);
    if (std::exchange(was_explained_, true)) return;
  }
  // All members hear the same, so one log line is enough.
  if (rank_ == 0) {
    WEIR_LOG(INFO) << "Collectives of the " << group_->size() << " GPUs of group " << group_->key
                   << " run without NCCL: " << obstacle;
  }
}

void DeviceSeat::Close(const Status& reason) {
  Ended ended;
  {
    absl::MutexLock lock(&mu_);
    closed_ = reason;
    ended = EndLocked();
  }
  Settle(std::move(ended), reason);
}

}  // namespace weir
