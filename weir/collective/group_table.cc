#include "weir/collective/group_table.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "weir/base/logging.h"
#include "weir/base/strings.h"
#include "weir/base/timer.h"

namespace weir {

void GroupTable::Answers::Add(std::vector<GroupWaiter>& more) {
  for (GroupWaiter& waiter : more) {
    if (waiter->Claim()) waiters.push_back(std::move(waiter));
  }
  more.clear();
}

void GroupTable::Answers::Send() {
  for (GroupWaiter& waiter : waiters) waiter->Answer(value);
}

Status GroupTable::Check(const Entry& entry, const GroupJoin& join) {
  if (entry.size != join.size) {
    return Internal("Device ", join.member.device, " is joining a group with size ", join.size,
                    ", but that group has size ", entry.size, " (group_key=", join.key, ")");
  }
  const std::string& type =
      entry.group != nullptr ? entry.group->members[0].device_type : entry.candidates[0].member.device_type;
  if (type != join.member.device_type) {
    return Internal("Device ", join.member.device, " of type ", join.member.device_type,
                    " is joining a group of devices of an incompatible device type, ", type, " (group_key=", join.key,
                    ")");
  }
  return OkStatus();
}

void GroupTable::JoinLocked(const GroupJoin& join, const GroupWaiter& waiter, Answers* answers) {
  Entry& entry = entries_[join.key];
  std::vector<GroupWaiter> own{waiter};
  if (entry.group != nullptr) {
    const int rank = entry.group->RankOf(join.member.device);
    if (rank >= 0 && entry.group->members[rank].incarnation != join.member.incarnation) {
      WEIR_LOG(INFO) << join.member.device << " has restarted: the group " << join.key << " forms anew";
      answers->obsolete = std::move(entry.group);
      entry = Entry();
    } else {
      const Status fits = Check(entry, join);
      if (!fits.ok()) {
        answers->value = fits;
      } else if (rank < 0) {
        answers->value =
            Internal("Device ", join.member.device, " is joining a group that is already full (group_key=", join.key,
                     "): it has ", entry.size, " members, the first is ", entry.group->members[0].device);
      } else {
        answers->value = entry.group;
      }
      return answers->Add(own);
    }
  }
  if (entry.candidates.empty()) {
    entry.size = join.size;
  } else if (Status fits = Check(entry, join); !fits.ok()) {
    // It is unknown which of the members is right, so all of them get the error.
    for (Candidate& candidate : entry.candidates) answers->Add(candidate.waiters);
    answers->Add(own);
    answers->value = fits;
    entries_.erase(join.key);
    return;
  }
  auto candidate = std::find_if(entry.candidates.begin(), entry.candidates.end(),
                                [&](const Candidate& c) { return c.member.device == join.member.device; });
  if (candidate == entry.candidates.end()) {
    entry.candidates.push_back({join.member, {}});
    candidate = entry.candidates.end() - 1;
  } else {
    candidate->member = join.member;  // may have restarted; its old waiters are cancelled with their calls
  }
  candidate->waiters.push_back(waiter);
  if (static_cast<int32_t>(entry.candidates.size()) < entry.size) return;
  auto group = std::make_shared<CollectiveGroup>();
  group->key = join.key;
  group->id = RandomCollectiveId();
  for (Candidate& each : entry.candidates) {
    group->members.push_back(each.member);
    answers->Add(each.waiters);
  }
  entry.candidates.clear();
  if (Status sorted = SortMembers(&group->members); !sorted.ok()) {
    answers->value = Annotate(sorted, Cat("Group ", join.key, ": "));
    entries_.erase(join.key);
    return;
  }
  entry.group = group;
  answers->value = GroupPtr(group);
}

void GroupTable::Join(const GroupJoin& join, CancellationManager* cancellation, Done done) {
  if (join.size < 1) {
    return done(InvalidArgument("A group needs at least one member, but group_size is ", join.size));
  }
  auto timer = std::make_shared<std::atomic<Timer::Id>>(0);
  auto waiter = Waiter<GroupPtr>::Make(
      cancellation,
      [self = shared_from_this(), key = join.key, device = join.member.device] { self->Withdraw(key, device); },
      [done = std::move(done), timer](StatusOr<GroupPtr> value) {
        if (*timer != 0) Timer::Global().TryCancel(*timer);
        done(std::move(value));
      });
  if (waiter->finished()) return;
  if (join.deadline != absl::InfiniteFuture()) {
    *timer = Timer::Global().CallAt(join.deadline, [self = shared_from_this(), weak = std::weak_ptr(waiter),
                                                    key = join.key, device = join.member.device] {
      auto waiter = weak.lock();
      if (waiter == nullptr || !waiter->Claim()) return;
      const Status late = self->Late(key, device);
      self->Withdraw(key, device);
      waiter->Answer(late);
    });
  }
  Answers answers;
  {
    absl::MutexLock lock(&mu_);
    if (!waiter->finished()) JoinLocked(join, waiter, &answers);
  }
  answers.Send();
  if (answers.obsolete != nullptr && obsolete_ != nullptr) {
    obsolete_(*answers.obsolete,
              Aborted("The collective's member ", join.member.device,
                      " has restarted since its group was formed; the next collective forms it again"));
  }
  // The call may have been cancelled before it was added to the table.
  if (waiter->finished()) Withdraw(join.key, join.member.device);
}

void GroupTable::Withdraw(int32_t key, const std::string& device) {
  absl::MutexLock lock(&mu_);
  auto found = entries_.find(key);
  if (found == entries_.end() || found->second.group != nullptr) return;
  std::vector<Candidate>& candidates = found->second.candidates;
  for (Candidate& candidate : candidates) {
    if (candidate.member.device != device) continue;
    std::erase_if(candidate.waiters, [](const GroupWaiter& waiter) { return waiter->finished(); });
  }
  std::erase_if(candidates, [](const Candidate& candidate) { return candidate.waiters.empty(); });
  if (candidates.empty()) entries_.erase(found);
}

Status GroupTable::Late(int32_t key, const std::string& device) const {
  std::set<std::string> come{device};
  int32_t size = 0;
  {
    absl::MutexLock lock(&mu_);
    auto found = entries_.find(key);
    if (found != entries_.end()) {
      size = found->second.size;
      for (const Candidate& candidate : found->second.candidates) come.insert(candidate.member.device);
    }
  }
  std::set<std::string> silent(tasks_.begin(), tasks_.end());
  for (const std::string& member : come) silent.erase(std::string(TaskOfMember(member)));
  return DeadlineExceeded("Collective has timed out waiting for other workers: group ", key, " has ", come.size(),
                          " of ", size, " members (", absl::StrJoin(come, ", "), "); no member came from ",
                          silent.empty() ? "further devices of these tasks" : absl::StrJoin(silent, ", "));
}

void GroupTable::Close(const Status& status) {
  Answers answers;
  answers.value = status;
  {
    absl::MutexLock lock(&mu_);
    for (auto& [key, entry] : entries_) {
      for (Candidate& candidate : entry.candidates) answers.Add(candidate.waiters);
    }
    entries_.clear();
  }
  answers.Send();
}

GroupPtr GroupTable::Find(int32_t key) const {
  absl::MutexLock lock(&mu_);
  auto found = entries_.find(key);
  return found != entries_.end() ? found->second.group : nullptr;
}

void GroupTable::Forget(int32_t key, uint64_t id) {
  absl::MutexLock lock(&mu_);
  auto found = entries_.find(key);
  if (found != entries_.end() && found->second.group != nullptr && found->second.group->id == id) entries_.erase(found);
}

}  // namespace weir
