#include "weir/collective/negotiation.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

constexpr size_t kMostKnown = 8192;
constexpr uint32_t kNotKnown = ~uint32_t{0};
enum MessageFlags : uint8_t { kJoinedFlag = 1, kStoppingFlag = 2 };

void PutNumber(std::string* out, uint32_t value) { out->append(reinterpret_cast<const char*>(&value), sizeof(value)); }
void PutString(std::string* out, std::string_view text) {
  PutNumber(out, static_cast<uint32_t>(text.size()));
  out->append(text);
}
bool TakeNumber(std::string_view* bytes, uint32_t* value) {
  if (bytes->size() < sizeof(*value)) return false;
  std::memcpy(value, bytes->data(), sizeof(*value));
  bytes->remove_prefix(sizeof(*value));
  return true;
}
bool TakeString(std::string_view* bytes, std::string* text) {
  uint32_t length = 0;
  if (!TakeNumber(bytes, &length) || bytes->size() < length) return false;
  *text = bytes->substr(0, length);
  bytes->remove_prefix(length);
  return true;
}

// What ranks must agree on: all but the last byte of an encoded signature.
std::string_view Agreed(std::string_view encoded) { return encoded.substr(0, encoded.size() - 1); }

std::string_view PlainName(std::string_view key) { return key.substr(key.find('/') + 1); }

}  // namespace

std::string Negotiation::Encode(const CycleMessage& message) const {
  std::string out;
  PutNumber(&out, (message.has_joined ? kJoinedFlag : 0) | (message.is_stopping ? kStoppingFlag : 0));
  PutNumber(&out, static_cast<uint32_t>(message.announcements.size()));
  for (const Announcement& each : message.announcements) {
    auto known = known_numbers_.find(each.key + each.signature);
    if (known != known_numbers_.end()) {
      PutNumber(&out, static_cast<uint32_t>(known->second));
    } else {
      PutNumber(&out, kNotKnown);
      PutString(&out, each.key);
      PutString(&out, each.signature);
    }
  }
  PutNumber(&out, static_cast<uint32_t>(message.stalled.size()));
  for (const std::string& key : message.stalled) PutString(&out, key);
  return out;
}

std::vector<int> Negotiation::MembersOf(const std::string& key) const {
  auto found = sets_.find(std::atoi(key.c_str()));
  if (found != sets_.end()) return found->second;
  std::vector<int> all(size_);
  for (int r = 0; r < size_; ++r) all[r] = r;
  return all;
}

// The ranks that a request still waits for. Ranks that have joined take part with zeros or without rows, if possible.
std::vector<int> Negotiation::Missing(const Waiting& entry) const {
  const RequestKind kind = entry.signature.kind;
  const bool can_stand_in =
      kind == RequestKind::kAllReduce || kind == RequestKind::kAllGather || kind == RequestKind::kBarrier;
  std::vector<int> out;
  for (const int rank : MembersOf(entry.key)) {
    if (!entry.ready.contains(rank) && !(joined_[rank] && can_stand_in)) out.push_back(rank);
  }
  return out;
}

void Negotiation::Announce(int rank, const std::string& key, const std::string& encoded, const Signature& signature) {
  auto [found, is_new] = waiting_.try_emplace(key);
  Waiting& entry = found->second;
  if (is_new) {
    entry.key = key;
    entry.encoded = encoded;
    entry.signature = signature;
    entry.order = next_order_++;
    entry.since = absl::Now();
  } else if (Agreed(entry.encoded) != Agreed(encoded) && entry.disagreement.ok()) {
    entry.disagreement =
        InvalidArgument("The ranks disagree about '", PlainName(key), "': rank ", *entry.ready.begin(), " calls ",
                        entry.signature.ToString(), " but rank ", rank, " calls ", signature.ToString());
  }
  entry.signature.on_device = entry.signature.on_device && signature.on_device;
  entry.ready.insert(rank);
}

Status Negotiation::TakeOne(int rank, std::string_view message, std::vector<std::string>* stalled) {
  const Status broken = Internal("the message of rank ", rank, " cannot be parsed");
  uint32_t flags = 0, count = 0;
  if (!TakeNumber(&message, &flags) || !TakeNumber(&message, &count)) return broken;
  if ((flags & kJoinedFlag) != 0 && !joined_[rank]) {
    joined_[rank] = true;
    last_joined_ = rank;
  }
  stopping_[rank] = stopping_[rank] || (flags & kStoppingFlag) != 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t number = 0;
    if (!TakeNumber(&message, &number)) return broken;
    if (number != kNotKnown) {
      if (number >= known_.size()) return broken;
      Announce(rank, known_[number].key, known_[number].encoded, known_[number].signature);
      continue;
    }
    std::string key, encoded;
    if (!TakeString(&message, &key) || !TakeString(&message, &encoded)) return broken;
    WEIR_ASSIGN_OR_RETURN(const Signature signature, Signature::Decode(encoded));
    Announce(rank, key, encoded, signature);
  }
  if (!TakeNumber(&message, &count)) return broken;
  for (uint32_t i = 0; i < count; ++i) {
    std::string key;
    if (!TakeString(&message, &key)) return broken;
    stalled->push_back(std::move(key));
  }
  return OkStatus();
}

StatusOr<CycleResult> Negotiation::Take(const std::vector<std::string_view>& messages) {
  std::vector<std::string> stalled;
  for (int r = 0; r < size_; ++r) WEIR_RETURN_IF_ERROR(TakeOne(r, messages[r], &stalled));
  for (const std::string& key : stalled) {
    auto found = waiting_.find(key);
    if (found == waiting_.end() || !found->second.status.ok()) continue;
    const std::vector<int> missing = Missing(found->second);
    if (missing.empty()) continue;
    found->second.status = DeadlineExceeded("'", PlainName(key), "' (", found->second.signature.ToString(),
                                            ") waits too long for ranks ", absl::StrJoin(missing, ", "));
  }
  CycleResult result;
  std::vector<Waiting> ready;
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    Waiting& entry = each->second;
    const std::vector<int> missing = Missing(entry);
    // A disagreement is only reported when all ranks have called. Otherwise the call of a slow rank would be matched
    // with later calls of the others.
    if (missing.empty() && entry.status.ok()) entry.status = entry.disagreement;
    // Missing ranks that have stopped will never call.
    for (const int rank : missing) {
      if (!stopping_[rank] || !entry.status.ok()) continue;
      entry.status = Cancelled("Rank ", rank, " has shut down; '", PlainName(each->first), "' was waiting for it");
    }
    if (!missing.empty() && entry.status.ok()) {
      ++each;
      continue;
    }
    // A rank that has joined stands in with values of the host.
    if (entry.ready.size() < MembersOf(entry.key).size()) entry.signature.on_device = false;
    ready.push_back(std::move(entry));
    each = waiting_.erase(each);
  }
  std::sort(ready.begin(), ready.end(), [](const Waiting& a, const Waiting& b) { return a.order < b.order; });
  std::vector<int64_t> bytes;  // by bucket
  for (Waiting& entry : ready) {
    const ProcessSet set = std::atoi(entry.key.c_str());
    if (entry.status.ok() && known_.size() < kMostKnown &&
        known_numbers_.try_emplace(entry.key + entry.encoded, known_.size()).second) {
      known_.push_back({entry.key, entry.encoded, entry.signature});
      known_.back().signature.on_device = entry.encoded.back() != 0;
    }
    // Use the first bucket that has room, so that a large request does not end the fusion of later ones.
    size_t b = 0;
    for (; b < result.buckets.size(); ++b) {
      const Bucket& bucket = result.buckets[b];
      if (entry.status.ok() && bucket.status.ok() && bucket.set == set &&
          bucket.signatures[0].TravelsWith(entry.signature) && bytes[b] + entry.signature.bytes() <= fusion_bytes_) {
        break;
      }
    }
    if (b == result.buckets.size()) {
      result.buckets.push_back({{}, {}, set, entry.status});
      bytes.push_back(0);
    }
    result.buckets[b].keys.push_back(std::move(entry.key));
    bytes[b] += entry.signature.bytes();
    result.buckets[b].signatures.push_back(std::move(entry.signature));
  }
  if (std::all_of(joined_.begin(), joined_.end(), [](bool j) { return j; })) {
    result.last_joined = last_joined_;
    joined_.assign(size_, false);
  }
  result.all_stop = std::all_of(stopping_.begin(), stopping_.end(), [](bool s) { return s; });
  return result;
}

std::vector<Negotiation::Stall> Negotiation::StallsLongerThan(absl::Duration limit) const {
  std::vector<Stall> out;
  const absl::Time now = absl::Now();
  for (const auto& each : waiting_) {
    const Waiting& entry = each.second;
    if (now - entry.since < limit) continue;
    out.push_back({entry.key, Cat("'", PlainName(entry.key), "' (", entry.signature.ToString(), ")"), Missing(entry),
                   now - entry.since});
  }
  return out;
}

}  // namespace weir::collective
