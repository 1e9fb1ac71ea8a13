#include "weir/distributed/step_rendezvous.h"

#include "weir/runtime/remote.h"

namespace weir {
namespace {

std::string_view TaskOf(std::string_view prefix) { return prefix.substr(0, prefix.size() - 1); }

}  // namespace

void StepRendezvous::RecvAsync(std::string_view key, CancellationManager* cancellation, RecvDone done) {
  if (IsHere(key)) return local_.RecvAsync(key, cancellation, std::move(done));
  fetch_(step_id_, key, /*to_device=*/false, cancellation,
         [done = std::move(done)](Status status, RendezvousValue value) {
           done(std::move(status), std::move(value.tensor), value.is_dead);
         });
}

void StepRendezvous::RecvValueAsync(std::string_view key, CancellationManager* cancellation, RecvValueDone done) {
  if (IsHere(key)) return local_.RecvValueAsync(key, cancellation, std::move(done));
  fetch_(step_id_, key, /*to_device=*/true, cancellation, std::move(done));
}

void StepRendezvous::RecvForPeer(std::string_view key, CancellationManager* cancellation, RecvValueDone done) {
  auto tell = [&prefix = own_prefix_, done = std::move(done)](const Status& status, RendezvousValue value) {
    done(MarkDerived(status, TaskOf(prefix)), std::move(value));
  };
  local_.RecvValueAsync(key, cancellation, std::move(tell));
}

RendezvousTable::Entry& RendezvousTable::Find(int64_t step_id) {
  Entry& entry = entries_[step_id];
  if (entry.rendezvous == nullptr) {
    entry.rendezvous = std::make_shared<StepRendezvous>(step_id, own_prefix_, fetch_);
  }
  return entry;
}

std::shared_ptr<StepRendezvous> RendezvousTable::Begin(int64_t step_id) {
  absl::MutexLock lock(&mu_);
  Entry& entry = Find(step_id);
  entry.begun = true;
  return entry.rendezvous;
}

void RendezvousTable::End(int64_t step_id, const Status& status) {
  std::shared_ptr<StepRendezvous> ended;
  {
    absl::MutexLock lock(&mu_);
    auto found = entries_.find(step_id);
    if (found == entries_.end()) return;
    ended = std::move(found->second.rendezvous);
    entries_.erase(found);
  }
  held_.ForgetStep(step_id);
  ended->StartAbort(status);
}

bool RendezvousTable::EndIfIdle(int64_t step_id) {
  std::shared_ptr<StepRendezvous> ended;  // outlives the lock
  absl::MutexLock lock(&mu_);
  auto found = entries_.find(step_id);
  if (found == entries_.end()) return true;
  if (found->second.peers > 0 || !found->second.rendezvous->local().empty() || held_.HasStep(step_id)) return false;
  ended = std::move(found->second.rendezvous);
  entries_.erase(found);
  return true;
}

std::vector<std::pair<std::string, Tensor>> RendezvousTable::TakeSmall(int64_t step_id, std::string_view device) {
  std::vector<std::pair<std::string, Tensor>> out;
  absl::MutexLock lock(&mu_);
  if (auto found = entries_.find(step_id); found != entries_.end()) {
    out = found->second.rendezvous->local().TakeSmall(device);
  }
  for (const auto& [key, tensor] : out) metrics_.CountSent(tensor.num_bytes());
  return out;
}

std::shared_ptr<StepRendezvous> RendezvousTable::BeginPeer(int64_t step_id) {
  absl::MutexLock lock(&mu_);
  Entry& entry = Find(step_id);
  ++entry.peers;
  return entry.rendezvous;
}

bool RendezvousTable::EndPeer(int64_t step_id) {
  absl::MutexLock lock(&mu_);
  auto found = entries_.find(step_id);
  if (found == entries_.end()) return false;
  if (--found->second.peers <= 0 && !found->second.begun) entries_.erase(found);
  return true;
}

size_t RendezvousTable::size() const {
  absl::MutexLock lock(&mu_);
  return entries_.size();
}

}  // namespace weir
