#include "weir/ops/io/reader.h"

#include <atomic>

#include "absl/strings/escaping.h"
#include "weir/proto/reader.pb.h"

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
    for (auto it = line_.begin(); it != line_.end(); ++it) {
      // The first attempt is being worked on: it reads, or its queue has heard of the cancellation too.
      if (it->id != id || it == line_.begin()) continue;
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
  ReaderBaseState state;
  state.set_work_started(work_started_);
  state.set_work_finished(work_finished_);
  state.set_num_records_produced(records_);
  state.set_current_work(file_);
  return state.SerializeAsString();
}

Status Reader::RestoreState(const std::string& state) {
  absl::MutexLock lock(&mu_);
  if (!source_->can_restore()) return Unimplemented("Reader RestoreState");
  ReaderBaseState saved;
  if (!saved.ParseFromString(state)) {
    return InvalidArgument("Could not parse state for ", name_, ": ", absl::CHexEscape(state));
  }
  if (saved.work_started() < 0 || saved.work_finished() < 0 || saved.num_records_produced() < 0) {
    return InvalidArgument("Unexpected negative value when restoring in ", name_, ": ", saved.ShortDebugString());
  }
  source_->Close();
  work_started_ = saved.work_started();
  work_finished_ = saved.work_finished();
  records_ = saved.num_records_produced();
  file_ = saved.current_work();
  if (at_work()) return source_->Open(file_);
  return OkStatus();
}

}  // namespace weir
