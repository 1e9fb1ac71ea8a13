#include "weir/ops/io/reader.h"

#include <atomic>

#include "weir/io/coding.h"

namespace weir {

void Reader::Read(std::shared_ptr<Queue> queue, int64_t count, CancellationManager& cancellation, const Runner& runner,
                  Done done) {
  {
    absl::MutexLock lock(&mu_);
    line_.push_back({.queue = std::move(queue),
                     .count = count,
                     .cancellation = &cancellation,
                     .runner = &runner,
                     .done = std::move(done),
                     .id = next_id_++});
    if (busy_) {
      // Must wait for its turn. The registration may be refused: then the step is over already.
      auto self = std::prev(line_.end());
      self->token = cancellation.Register([reader = weak_from_this(), id = self->id] {
        if (std::shared_ptr<Reader> alive = reader.lock()) alive->Cancel(id);
      });
      if (self->token != CancellationManager::kNoToken) return;
      done = std::move(self->done);
      line_.erase(self);
    } else {
      busy_ = true;
      done = nullptr;
    }
  }
  if (done) return done(Cancelled("Read operation was cancelled"));
  Work();
}

void Reader::Cancel(uint64_t id) {
  Done done;
  {
    absl::MutexLock lock(&mu_);
    // The first is at hand: it reads, or its queue has heard of the cancellation too.
    for (auto it = std::next(line_.begin()); it != line_.end(); ++it) {
      if (it->id != id) continue;
      done = std::move(it->done);
      line_.erase(it);
      break;
    }
  }
  if (done) done(Cancelled("Read operation was cancelled"));
}

void Reader::Work() {
  const std::shared_ptr<Reader> self = shared_from_this();  // `done` may drop the last other holder
  while (true) {
    StatusOr<std::vector<ReadRecord>> result = std::vector<ReadRecord>();
    bool needs_file = false;
    std::list<Attempt> finished;
    {
      absl::MutexLock lock(&mu_);
      needs_file = ReadFromFile(result) == Progress::kNeedsFile;
      if (!needs_file) finished.splice(finished.end(), line_, line_.begin());
    }
    if (needs_file) {
      if (!AskForFile()) return;
      continue;
    }
    Attempt& attempt = finished.front();
    if (attempt.token != CancellationManager::kNoToken) attempt.cancellation->TryDeregister(attempt.token);
    const Runner* next = nullptr;
    {
      absl::MutexLock lock(&mu_);
      busy_ = !line_.empty();
      if (busy_) next = line_.front().runner;
    }
    // The next in line belongs to another step, whose thread this is not.
    if (next != nullptr) (*next)([self] { self->Work(); });
    return attempt.done(std::move(result));
  }
}

Reader::Progress Reader::ReadFromFile(StatusOr<std::vector<ReadRecord>>& result) {
  if (!file_status_.ok()) {
    result = std::exchange(file_status_, OkStatus());
    return Progress::kFinished;
  }
  if (!at_work()) return Progress::kNeedsFile;
  const int64_t count = line_.front().count;
  while (static_cast<int64_t>(result->size()) < count) {
    ReadRecord record;
    StatusOr<bool> more = source_->Next(&record);
    if (!more.ok()) {
      if (result->empty()) result = more.status();
      return Progress::kFinished;
    }
    if (*more) {
      ++records_;
      result->push_back(std::move(record));
    }
    if (!*more || source_->at_end()) {
      source_->Close();
      work_finished_ = work_started_;
      return result->empty() ? Progress::kNeedsFile : Progress::kFinished;
    }
  }
  return Progress::kFinished;
}

bool Reader::AskForFile() {
  std::shared_ptr<Queue> queue;
  CancellationManager* cancellation = nullptr;
  const Runner* runner = nullptr;
  {
    absl::MutexLock lock(&mu_);
    queue = line_.front().queue;
    cancellation = line_.front().cancellation;
    runner = line_.front().runner;
  }
  const std::vector<DType>& types = queue->spec().types;
  if (types.size() != 1) {
    TakeFile(InvalidArgument("Expected single component queue"));
    return true;
  }
  if (types[0] != DType::kString) {
    TakeFile(InvalidArgument("Expected queue with single string component"));
    return true;
  }
  // Who comes second, the answer or this function's end, goes on with the work.
  auto second = std::make_shared<std::atomic<bool>>(false);
  queue->Dequeue(*cancellation, [self = shared_from_this(), second, runner](StatusOr<Queue::Tuple> element) {
    self->TakeFile(std::move(element));
    if (second->exchange(true)) (*runner)([self] { self->Work(); });
  });
  return second->exchange(true);
}

void Reader::TakeFile(StatusOr<Queue::Tuple> element) {
  absl::MutexLock lock(&mu_);
  file_status_ = OpenFile(std::move(element));
}

Status Reader::OpenFile(StatusOr<Queue::Tuple> element) {
  if (!element.ok()) return element.status();
  if ((*element)[0].num_elements() != 1) {
    return InvalidArgument("Expected to dequeue a one-element string tensor");
  }
  file_ = (*element)[0].scalar<std::string>();
  WEIR_RETURN_IF_ERROR(source_->Open(file_));
  ++work_started_;
  return OkStatus();
}

int64_t Reader::records_produced() const {
  absl::MutexLock lock(&mu_);
  return records_;
}

int64_t Reader::work_units_completed() const {
  absl::MutexLock lock(&mu_);
  return work_finished_;
}

void Reader::Reset() {
  absl::MutexLock lock(&mu_);
  source_->Close();
  work_started_ = work_finished_ = records_ = 0;
  file_.clear();
}

StatusOr<std::string> Reader::SerializeState() const {
  absl::MutexLock lock(&mu_);
  if (!source_->can_restore()) return Unimplemented("Reader SerializeState");
  // The message ReaderBaseState: numbers that are zero are left out.
  std::string out;
  auto number = [&](int field, int64_t value) {
    if (value == 0) return;
    AppendVarint64(&out, static_cast<uint64_t>(field) << 3);
    AppendVarint64(&out, static_cast<uint64_t>(value));
  };
  number(1, work_started_);
  number(2, work_finished_);
  number(3, records_);
  if (!file_.empty()) {
    AppendVarint64(&out, 4 << 3 | 2);
    AppendVarint64(&out, file_.size());
    out += file_;
  }
  return out;
}

Status Reader::RestoreState(const std::string& state) {
  absl::MutexLock lock(&mu_);
  if (!source_->can_restore()) return Unimplemented("Reader RestoreState");
  int64_t numbers[4] = {};
  std::string file;
  std::string_view left = state;
  uint64_t tag = 0, value = 0;
  while (!left.empty()) {
    bool good = TakeVarint64(&left, &tag) && TakeVarint64(&left, &value);
    if (good && tag == (4 << 3 | 2)) {
      good = value <= left.size();
      if (good) file = left.substr(0, value);
      if (good) left.remove_prefix(value);
    } else if (good) {
      good = (tag & 7) == 0 && tag >> 3 >= 1 && tag >> 3 <= 3;
      if (good) numbers[tag >> 3] = static_cast<int64_t>(value);
    }
    if (!good) return InvalidArgument("Could not parse state for ", name_, ": ", state);
  }
  source_->Close();
  work_started_ = numbers[1];
  work_finished_ = numbers[2];
  records_ = numbers[3];
  file_ = file;
  if (at_work()) return source_->Open(file_);
  return OkStatus();
}

}  // namespace weir
