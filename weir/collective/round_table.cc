#include "weir/collective/round_table.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/collective/algorithm.h"

namespace weir {
namespace {

constexpr absl::Duration kProbeEvery = absl::Seconds(1);
constexpr absl::Duration kRememberFailure = absl::Seconds(60);

}  // namespace

void RoundTable::Answers::Add(Open& open) {
  for (auto& [rank, seat] : open.seats) {
    if (seat.waiter->Claim()) waiters.push_back(std::move(seat.waiter));
  }
}

void RoundTable::Answers::Send() {
  for (RoundWaiter& waiter : waiters) waiter->Answer(value);
}

std::string RoundTable::MemberName(int32_t group_key, uint64_t group_id, int rank) const {
  const GroupPtr group = find_group_(group_key, group_id);
  if (group == nullptr || rank < 0 || rank >= group->size()) return Cat("rank ", rank);
  return group->members[rank].device;
}

std::string RoundTable::Missing(int32_t group_key, uint64_t group_id, const Open& open) const {
  std::vector<std::string> names;
  for (int rank = 0; rank < open.size; ++rank) {
    if (!open.seats.contains(rank)) names.push_back(MemberName(group_key, group_id, rank));
  }
  return absl::StrJoin(names, ", ");
}

Status RoundTable::Agree(const Open& open, const RoundJoin& join) const {
  if (open.seats.empty()) return OkStatus();
  const auto& [rank, seat] = *open.seats.begin();
  const CollectiveSpec& theirs = seat.spec;
  const CollectiveSpec& ours = join.spec;
  bool shapes_fit = ours.shape == theirs.shape;
  if (ours.kind == CollectiveKind::kGather && ours.shape.rank() == theirs.shape.rank() && ours.shape.rank() > 0) {
    shapes_fit = ours.shape.Slice(1, ours.shape.rank()) == theirs.shape.Slice(1, theirs.shape.rank());
  }
  if (ours.kind != theirs.kind || ours.dtype != theirs.dtype || !shapes_fit || ours.merge != theirs.merge ||
      ours.divide != theirs.divide || ours.permutation != theirs.permutation ||
      ours.subdiv_offsets != theirs.subdiv_offsets || ours.max_subdivs != theirs.max_subdivs) {
    const std::string_view what = ours.kind != theirs.kind     ? "kinds"
                                  : ours.dtype != theirs.dtype ? "types"
                                  : !shapes_fit                ? "shapes"
                                                               : "reductions";
    return InvalidArgument("The members of the collective instance ", join.instance_key, " of group ", join.group_key,
                           " disagree about ", what, ": ", MemberName(join.group_key, join.group_id, join.rank), " (",
                           join.name, ") brings a ", ours.ToString(), " but ",
                           MemberName(join.group_key, join.group_id, rank), " (", seat.name, ") a ", theirs.ToString());
  }
  if (!ours.is_source) return OkStatus();
  for (const auto& [other, each] : open.seats) {
    if (!each.spec.is_source) continue;
    return Internal("Instance ", join.instance_key, " already has source ", other, ", received second claim from ",
                    join.rank);
  }
  return OkStatus();
}

Status RoundTable::Complete(const Open& open, const RoundJoin& join, Answers* answers) {
  auto round = std::make_shared<Round>();
  round->id = RandomCollectiveId();
  for (const auto& [rank, seat] : open.seats) {
    round->shapes.push_back(seat.spec.shape);
    if (seat.spec.is_source) round->source_rank = rank;
  }
  if (join.spec.kind == CollectiveKind::kBroadcast && round->source_rank < 0) {
    return Internal("Instance ", join.instance_key, " found no source for broadcast. This could mean that there were ",
                    "group_size=", open.size, " BcastRecvs but no BcastSend.");
  }
  round->communicator = NextInCommunicator(open, join);
  if (round->communicator.generation > 0 && round->communicator.order == 0) {
    answers->unnamed = round;
    answers->make_id = open.seats.begin()->second.make_id;
  }
  answers->value = RoundPtr(round);
  return OkStatus();
}

std::string RoundTable::Obstacle(const Open& open, const RoundJoin& join) const {
  std::map<std::string_view, int> ranks;  // by card
  for (const auto& [rank, seat] : open.seats) {
    if (!seat.offer.card.empty()) continue;
    if (seat.offer.obstacle.empty()) return "";
    return Cat(MemberName(join.group_key, join.group_id, rank), ": ", seat.offer.obstacle);
  }
  for (const auto& [rank, seat] : open.seats) {
    auto [other, is_new] = ranks.emplace(seat.offer.card, rank);
    if (is_new) continue;
    return Cat(MemberName(join.group_key, join.group_id, other->second), " and ",
               MemberName(join.group_key, join.group_id, rank), " are on one card");
  }
  return "";
}

RoundCommunicator RoundTable::NextInCommunicator(const Open& open, const RoundJoin& join) {
  RoundCommunicator next;
  next.obstacle = Obstacle(open, join);
  int64_t elements = 0;
  bool all_have_cards = open.size > 1 && open.seats.begin()->second.make_id != nullptr;
  for (const auto& [rank, seat] : open.seats) {
    elements += seat.spec.shape.num_elements();
    all_have_cards = all_have_cards && !seat.offer.card.empty();
  }
  if (!all_have_cards || !next.obstacle.empty() || elements == 0) return next;
  if (!CheckShape(open.seats.begin()->second.spec, open.size).ok()) return next;  // the algorithm says what is wrong
  Communicator& current = communicators_[join.group_id];
  bool is_lost = current.generation == 0 || std::exchange(current.is_nameless, false);
  current.doubts.resize(static_cast<size_t>(open.size));
  for (const auto& [rank, seat] : open.seats) {
    is_lost = is_lost || seat.offer.lost >= current.generation || seat.offer.doubts > current.doubts[rank];
    current.doubts[rank] = std::max(current.doubts[rank], seat.offer.doubts);
  }
  if (is_lost) {
    ++current.generation;
    current.next_order = 0;
  }
  next.generation = current.generation;
  next.order = current.next_order++;
  return next;
}

void RoundTable::NameCommunicator(uint64_t group_id, Answers* answers) {
  if (answers->unnamed == nullptr) return;
  StatusOr<std::string> id = answers->make_id();
  if (id.ok()) {
    answers->unnamed->communicator.id = *std::move(id);
    return;
  }
  answers->value = id.status();
  absl::MutexLock lock(&mu_);
  communicators_[group_id].is_nameless = true;
}

void RoundTable::FailGroup(uint64_t group_id, const Status& status) {
  {
    absl::MutexLock lock(&mu_);
    communicators_.erase(group_id);
  }
  FailRounds(group_id, -1, status);
}

void RoundTable::JoinLocked(const RoundJoin& join, const RoundWaiter& waiter, Answers* answers) {
  const Key key(join.group_id, join.instance_key, join.frame_id, join.iteration);
  auto answer_alone = [&](const Status& status) {
    answers->value = status;
    if (waiter->Claim()) answers->waiters.push_back(waiter);
  };
  if (!closed_.ok()) return answer_alone(closed_);
  const absl::Time now = absl::Now();
  if (auto failed = failed_.find(key); failed != failed_.end()) {
    failed->second.remove_if([now](const Failed& each) { return each.expiry < now; });
    for (Failed& each : failed->second) {
      if (each.told.insert(join.rank).second) return answer_alone(each.status);
    }
    if (failed->second.empty()) failed_.erase(failed);
  }
  std::list<Open>& rounds = open_[key];
  auto open = std::find_if(rounds.begin(), rounds.end(), [&](const Open& each) {
    auto seat = each.seats.find(join.rank);
    return seat == each.seats.end() || seat->second.waiter->finished();
  });
  if (open == rounds.end()) {
    rounds.push_back({join.group_key, join.group_size, now, {}});
    open = std::prev(rounds.end());
  }
  open->seats.erase(join.rank);
  const Status agreed = Agree(*open, join);
  open->seats[join.rank] = {join.name, join.spec, join.offer, join.make_id, waiter};
  const bool complete = static_cast<int32_t>(open->seats.size()) == open->size;
  if (agreed.ok() && !complete) return ArmProbe();
  if (Status begun = agreed.ok() ? Complete(*open, join, answers) : agreed; !begun.ok()) answers->value = begun;
  if (!complete) {
    Failed failed{agreed, now + kRememberFailure, {}};
    for (const auto& [rank, seat] : open->seats) failed.told.insert(rank);
    failed_[key].push_back(std::move(failed));
  }
  answers->Add(*open);
  rounds.erase(open);
  if (rounds.empty()) open_.erase(key);
}

void RoundTable::Join(const RoundJoin& join, CancellationManager* cancellation, Done done) {
  if (join.rank < 0 || join.rank >= join.group_size) {
    return done(InvalidArgument("A group of ", join.group_size, " has no rank ", join.rank));
  }
  const Key key(join.group_id, join.instance_key, join.frame_id, join.iteration);
  auto timer = std::make_shared<std::atomic<Timer::Id>>(0);
  auto waiter = Waiter<RoundPtr>::Make(
      cancellation, [self = shared_from_this(), key] { self->Withdraw(key); },
      [done = std::move(done), timer](StatusOr<RoundPtr> value) {
        if (*timer != 0) Timer::Global().TryCancel(*timer);
        done(std::move(value));
      });
  if (waiter->finished()) return;
  if (join.deadline != absl::InfiniteFuture()) {
    *timer =
        Timer::Global().CallAt(join.deadline, [self = shared_from_this(), weak = std::weak_ptr(waiter), key, join] {
          auto waiter = weak.lock();
          if (waiter == nullptr || !waiter->Claim()) return;
          const Status late = self->Late(key, waiter, join);
          self->Withdraw(key);
          waiter->Answer(late);
        });
  }
  Answers answers;
  {
    absl::MutexLock lock(&mu_);
    if (!waiter->finished()) JoinLocked(join, waiter, &answers);
  }
  NameCommunicator(join.group_id, &answers);
  answers.Send();
  if (waiter->finished()) Withdraw(key);
}

void RoundTable::Withdraw(const Key& key) {
  absl::MutexLock lock(&mu_);
  auto found = open_.find(key);
  if (found == open_.end()) return;
  for (Open& open : found->second) std::erase_if(open.seats, [](auto& seat) { return seat.second.waiter->finished(); });
  found->second.remove_if([](const Open& open) { return open.seats.empty(); });
  if (found->second.empty()) open_.erase(found);
}

Status RoundTable::Late(const Key& key, const RoundWaiter& waiter, const RoundJoin& join) const {
  std::string missing;
  absl::MutexLock lock(&mu_);
  if (auto found = open_.find(key); found != open_.end()) {
    for (const Open& open : found->second) {
      for (const auto& [rank, seat] : open.seats) {
        if (seat.waiter == waiter) missing = Missing(join.group_key, join.group_id, open);
      }
    }
  }
  return DeadlineExceeded("Collective has timed out waiting for other workers: instance ", join.instance_key,
                          " of group ", join.group_key, " (", join.name, ", ", join.spec.ToString(), ") is not run by ",
                          missing.empty() ? "all members" : missing);
}

void RoundTable::ArmProbe() {
  if (probe_armed_ || probe_ == nullptr) return;
  probe_armed_ = true;
  Timer::Global().CallAt(absl::Now() + kProbeEvery, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->ProbeMissing();
  });
}

void RoundTable::ProbeMissing() {
  struct Suspect {
    uint64_t group_id;
    int rank;
    CollectiveMember member;
  };
  std::vector<Suspect> suspects;
  {
    absl::MutexLock lock(&mu_);
    probe_armed_ = false;
    if (open_.empty() || !closed_.ok()) return;
    const absl::Time now = absl::Now();
    std::set<std::pair<uint64_t, int>> seen;
    for (const auto& [key, rounds] : open_) {
      const uint64_t group_id = std::get<0>(key);
      for (const Open& open : rounds) {
        if (now - open.begun < kProbeEvery / 2) continue;
        const GroupPtr group = find_group_(open.group_key, group_id);
        if (group == nullptr) continue;
        for (int rank = 0; rank < open.size; ++rank) {
          if (open.seats.contains(rank) || !seen.insert({group_id, rank}).second) continue;
          suspects.push_back({group_id, rank, group->members[rank]});
        }
      }
    }
    ArmProbe();
  }
  for (const Suspect& suspect : suspects) {
    probe_(suspect.member, [weak = weak_from_this(), id = suspect.group_id, rank = suspect.rank](const Status& status) {
      if (status.ok()) return;
      if (auto self = weak.lock()) self->FailRounds(id, rank, status);
    });
  }
}

void RoundTable::FailRounds(uint64_t group_id, int rank, const Status& status) {
  Answers answers;
  answers.value = status;
  {
    absl::MutexLock lock(&mu_);
    for (auto entry = open_.begin(); entry != open_.end();) {
      if (std::get<0>(entry->first) == group_id) {
        entry->second.remove_if([&](Open& open) {
          if (open.seats.contains(rank)) return false;
          answers.Add(open);
          return true;
        });
      }
      entry = entry->second.empty() ? open_.erase(entry) : std::next(entry);
    }
  }
  answers.Send();
}

void RoundTable::Close(const Status& status) {
  Answers answers;
  answers.value = status;
  {
    absl::MutexLock lock(&mu_);
    closed_ = status;
    for (auto& [key, rounds] : open_) {
      for (Open& open : rounds) answers.Add(open);
    }
    open_.clear();
    failed_.clear();
  }
  answers.Send();
}

size_t RoundTable::num_open() const {
  absl::MutexLock lock(&mu_);
  size_t count = 0;
  for (const auto& [key, rounds] : open_) count += rounds.size();
  return count;
}

}  // namespace weir
