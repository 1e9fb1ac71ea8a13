#include "weir/runtime/plan_recordings.h"

namespace weir {
namespace {

// Runs before the one that is recorded: they compile device code and allocate memory.
constexpr int kRunsBefore = 2;
// The limit per plan, counted by the shapes of received values: each recording holds some memory.
constexpr size_t kMostRecordings = 8;
constexpr int64_t kFewReplays = 8;
constexpr int kMostMoves = 3;
constexpr int kMostRefusals = 4;
// Larger host values are assumed to be data that differs in every step.
constexpr size_t kMostHostBytes = 256;

// Appends what the recording depends on. False if there should be no recording for such values.
bool AppendKey(const ReceivedValue& value, std::string* key) {
  if (!value.tensor.has_value()) {
    key->append("|");
    return !value.dead;
  }
  *key += Cat("|", static_cast<int>(value.tensor.dtype()), value.tensor.shape().ToString());
  if (value.on_device) return true;
  if (!IsPlain(value.tensor.dtype()) || value.tensor.num_bytes() > kMostHostBytes) return false;
  key->append(static_cast<const char*>(value.tensor.raw_data()), value.tensor.num_bytes());
  return true;
}

}  // namespace

PlanRecordings::Choice PlanRecordings::Choose(const std::vector<ReceivedValue>& received, std::string* key,
                                              std::shared_ptr<const PlanRecording>* recording) {
  for (const ReceivedValue& value : received) {
    if (!AppendKey(value, key)) return Choice::kRun;
  }
  FastMutexLock lock(&mu_);
  auto found = entries_.find(*key);
  if (found == entries_.end()) {
    if (entries_.size() >= kMostRecordings) return Choice::kRun;
    found = entries_.try_emplace(*key).first;
  }
  Entry& entry = found->second;
  if (entry.recording != nullptr) {
    ++entry.replays;
    *recording = entry.recording;
    return Choice::kReplay;
  }
  if (entry.is_refused || entry.is_being_made || entry.runs++ < kRunsBefore) return Choice::kRun;
  entry.is_being_made = true;
  return Choice::kRecord;
}

void PlanRecordings::Add(const std::string& key, std::shared_ptr<const PlanRecording> recording) {
  FastMutexLock lock(&mu_);
  Entry& entry = entries_[key];
  entry.is_being_made = false;
  entry.recording = std::move(recording);
}

void PlanRecordings::Refuse(const std::string& key) {
  FastMutexLock lock(&mu_);
  Entry& entry = entries_[key];
  entry.is_being_made = false;
  entry.is_refused = ++entry.refusals >= kMostRefusals;
}

void PlanRecordings::Drop(const std::string& key) {
  std::shared_ptr<const PlanRecording> dropped;  // destroyed after the lock is released
  FastMutexLock lock(&mu_);
  Entry& entry = entries_[key];
  if (entry.recording == nullptr) return;
  dropped = std::move(entry.recording);
  entry.recording = nullptr;
  entry.moves = entry.replays < kFewReplays ? entry.moves + 1 : 0;
  entry.replays = 0;
  entry.is_refused = entry.moves >= kMostMoves;
}

}  // namespace weir
