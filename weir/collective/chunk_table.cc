#include "weir/collective/chunk_table.h"

#include <vector>

#include "absl/time/clock.h"

namespace weir {
namespace {

constexpr absl::Duration kSweepEvery = absl::Seconds(10);

}  // namespace

void ChunkTable::DropExpired(absl::Time now) {
  if (now < next_sweep_) return;
  next_sweep_ = now + kSweepEvery;
  absl::erase_if(rounds_, [now](const auto& entry) {
    const Round& round = entry.second;
    for (const auto& [key, item] : round.items) {
      if (item.waiter != nullptr) return false;
    }
    return round.expiry < now;
  });
}

Status ChunkTable::Provide(uint64_t round_id, std::string_view key, Tensor chunk, absl::Time expiry) {
  std::shared_ptr<Waiter<Tensor>> waiter;
  {
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(closed_);
    DropExpired(absl::Now());
    Round& round = rounds_[round_id];
    WEIR_RETURN_IF_ERROR(round.aborted);
    round.expiry = std::max(round.expiry, expiry);
    Item& item = round.items[key];
    if (item.chunk.has_value()) return Internal("A chunk was provided twice under the key ", key);
    waiter = std::move(item.waiter);
    if (waiter == nullptr || !waiter->Claim()) {
      item.chunk = std::move(chunk);
      return OkStatus();
    }
    round.items.erase(key);
    if (round.items.empty()) rounds_.erase(round_id);
  }
  waiter->Answer(std::move(chunk));
  return OkStatus();
}

void ChunkTable::Take(uint64_t round_id, std::string_view key, CancellationManager* cancellation, Done done) {
  StatusOr<Tensor> found = Tensor();
  {
    absl::MutexLock lock(&mu_);
    Round* round = nullptr;
    if (auto it = rounds_.find(round_id); it != rounds_.end()) round = &it->second;
    if (!closed_.ok()) {
      found = closed_;
    } else if (round != nullptr && !round->aborted.ok()) {
      found = round->aborted;
    } else if (round != nullptr) {
      if (auto it = round->items.find(key); it != round->items.end() && it->second.chunk.has_value()) {
        found = std::move(it->second.chunk);
        round->items.erase(it);
        if (round->items.empty()) rounds_.erase(round_id);
      }
    }
  }
  if (!found.ok() || found->has_value()) return done(std::move(found));
  auto waiter = Waiter<Tensor>::Make(
      cancellation,
      [this, round_id, key = std::string(key)] {
        absl::MutexLock lock(&mu_);
        auto it = rounds_.find(round_id);
        if (it == rounds_.end()) return;
        auto item = it->second.items.find(key);
        if (item == it->second.items.end() || item->second.chunk.has_value()) return;
        if (item->second.waiter == nullptr || item->second.waiter->finished()) it->second.items.erase(item);
        if (it->second.items.empty() && it->second.aborted.ok()) rounds_.erase(it);
      },
      std::move(done));
  // The chunk may have arrived in the meantime, so look again before storing the waiter.
  std::shared_ptr<Waiter<Tensor>> second;
  {
    absl::MutexLock lock(&mu_);
    if (waiter->finished()) return;
    Round& round = rounds_[round_id];
    Item& item = round.items[key];
    if (!closed_.ok() || !round.aborted.ok()) {
      found = closed_.ok() ? round.aborted : closed_;
      if (!item.chunk.has_value()) round.items.erase(key);
      if (!waiter->Claim()) return;
    } else if (item.chunk.has_value()) {
      if (!waiter->Claim()) return;
      found = std::move(item.chunk);
      round.items.erase(key);
      if (round.items.empty()) rounds_.erase(round_id);
    } else if (item.waiter != nullptr && !item.waiter->finished()) {
      if (!waiter->Claim()) return;
      found = Internal("There is a second consumer for the chunk ", key);
    } else {
      item.waiter = std::move(waiter);
      return;
    }
  }
  waiter->Answer(std::move(found));
}

void ChunkTable::Abort(uint64_t round_id, const Status& status, absl::Time expiry) {
  std::vector<std::shared_ptr<Waiter<Tensor>>> waiters;
  {
    absl::MutexLock lock(&mu_);
    DropExpired(absl::Now());
    Round& round = rounds_[round_id];
    if (round.aborted.ok()) round.aborted = status;
    round.expiry = std::max(round.expiry, expiry);
    for (auto& [key, item] : round.items) {
      if (item.waiter != nullptr && item.waiter->Claim()) waiters.push_back(std::move(item.waiter));
    }
    round.items.clear();
  }
  for (auto& waiter : waiters) waiter->Answer(status);
}

void ChunkTable::Close(const Status& status) {
  std::vector<std::shared_ptr<Waiter<Tensor>>> waiters;
  {
    absl::MutexLock lock(&mu_);
    closed_ = status;
    for (auto& [id, round] : rounds_) {
      for (auto& [key, item] : round.items) {
        if (item.waiter != nullptr && item.waiter->Claim()) waiters.push_back(std::move(item.waiter));
      }
    }
    rounds_.clear();
  }
  for (auto& waiter : waiters) waiter->Answer(status);
}

size_t ChunkTable::num_rounds() const {
  absl::MutexLock lock(&mu_);
  return rounds_.size();
}

}  // namespace weir
