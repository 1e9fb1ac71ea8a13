#include "weir/resources/queue.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "weir/resources/tuple.h"

namespace weir {
namespace {

Status WasCancelled(bool dequeue) {
  return dequeue ? Cancelled("Dequeue operation was cancelled") : Cancelled("Enqueue operation was cancelled");
}

}  // namespace

Queue::Queue(std::string name, QueueSpec spec) : name_(std::move(name)), spec_(std::move(spec)) {}

std::string Queue::DebugString() const {
  absl::MutexLock lock(&mu_);
  return Cat(spec_.kind, " '", name_, "': ", SizeLocked(), " elements, ", enqueues_.size(), " enqueues and ",
             dequeues_.size(), " dequeues waiting", closed_ ? ", closed" : "");
}

int64_t Queue::MemoryUsed() const {
  absl::MutexLock lock(&mu_);
  return MemoryLocked();
}

Status Queue::CheckSameSpec(const QueueSpec& spec) const {
  if (spec.kind != spec_.kind) return InvalidArgument("Expected ", spec_.kind, ", found ", spec.kind, "V2");
  if (spec.capacity != spec_.capacity) {
    return InvalidArgument("Shared queue '", name_, "' has capacity ", spec_.capacity, " but requested capacity was ",
                           spec.capacity);
  }
  if (spec.types != spec_.types) {
    return InvalidArgument("Shared queue '", name_, "' has component types ", TypesText(spec_.types),
                           " but requested component types were ", TypesText(spec.types));
  }
  if (spec.shapes != spec_.shapes) {
    return InvalidArgument("Shared queue '", name_, "' has component shapes ", ShapesText(spec_.shapes),
                           " but requested component shapes were ", ShapesText(spec.shapes));
  }
  if (spec.min_after_dequeue != spec_.min_after_dequeue) {
    return InvalidArgument("Shared queue '", name_, "' has min_after_dequeue ", spec_.min_after_dequeue,
                           " but requested min_after_dequeue was ", spec.min_after_dequeue, ".");
  }
  // A node without seeds takes whatever order the queue has.
  if ((spec.seed != 0 || spec.seed2 != 0) && (spec.seed != spec_.seed || spec.seed2 != spec_.seed2)) {
    return InvalidArgument("Shared queue '", name_, "' has random seeds (", spec_.seed, ", ", spec_.seed2,
                           ") but requested seeds are (", spec.seed, ", ", spec.seed2, ").");
  }
  return OkStatus();
}

Status Queue::CheckElement(const Tuple& element) const {
  WEIR_RETURN_IF_ERROR(CheckTypes(element, spec_.types));
  for (size_t i = 0; i < spec_.shapes.size(); ++i) {
    if (!spec_.shapes[i].IsCompatibleWith(element[i].shape())) {
      return InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ", spec_.shapes[i].ToString(),
                             ", got ", element[i].shape().ToString());
    }
  }
  return OkStatus();
}

Status Queue::CheckBatch(const Tuple& batch) const {
  WEIR_RETURN_IF_ERROR(CheckTypes(batch, spec_.types));
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].rank() == 0) {
      return InvalidArgument("Shape mismatch in tuple component ", i,
                             ". Expected a batch with at least one dimension, got []");
    }
  }
  int64_t rows = batch[0].dim(0);
  for (size_t i = 0; i < batch.size(); ++i) {
    if (spec_.shapes.empty()) {
      if (batch[i].dim(0) != rows) {
        return InvalidArgument("All input tensors must have the same size in the 0th dimension. Component ", i, " has ",
                               batch[i].dim(0), ", and should have ", rows);
      }
      continue;
    }
    PartialShape expected({rows});
    for (int64_t size : spec_.shapes[i].dims()) expected.add_dim(size);
    if (!expected.IsCompatibleWith(batch[i].shape())) {
      return InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ", expected.ToString(), ", got ",
                             batch[i].shape().ToString());
    }
  }
  return OkStatus();
}

StatusOr<Queue::Tuple> Queue::Batch(const std::vector<Tuple>& elements) const { return StackTuples(elements); }

StatusOr<Queue::Tuple> Queue::EmptyBatch() const {
  Tuple out;
  for (size_t i = 0; i < spec_.types.size(); ++i) {
    std::vector<int64_t> dims = {0};
    for (int64_t size : spec_.shapes[i].dims()) dims.push_back(size < 0 ? 0 : size);
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(out.emplace_back(), Tensor::Allocate(spec_.types[i], shape));
  }
  return out;
}

int64_t Queue::size() const {
  absl::MutexLock lock(&mu_);
  return SizeLocked();
}

bool Queue::is_closed() const {
  absl::MutexLock lock(&mu_);
  return closed_;
}

void Queue::Enqueue(Tuple element, CancellationManager& cancellation, Done done) {
  if (Status status = CheckElement(element); !status.ok()) return done(status);
  Start({.kind = Kind::kEnqueue,
         .remaining = 1,
         .input = std::move(element),
         .cancellation = &cancellation,
         .done = std::move(done)});
}

void Queue::EnqueueMany(Tuple batch, CancellationManager& cancellation, Done done) {
  if (Status status = CheckBatch(batch); !status.ok()) return done(status);
  int64_t rows = batch[0].dim(0);
  if (rows == 0) return done(Tuple());
  Start({.kind = Kind::kEnqueueMany,
         .remaining = rows,
         .input = std::move(batch),
         .cancellation = &cancellation,
         .done = std::move(done)});
}

void Queue::Dequeue(CancellationManager& cancellation, Done done) {
  Start({.kind = Kind::kDequeue, .remaining = 1, .cancellation = &cancellation, .done = std::move(done)});
}

void Queue::DequeueMany(int64_t count, bool allow_small_batch, CancellationManager& cancellation, Done done) {
  if (spec_.shapes.empty()) {
    return done(
        InvalidArgument(spec_.kind, "'s DequeueMany and DequeueUpTo require the components to have specified shapes."));
  }
  if (count == 0) return done(EmptyBatch());
  Start({.kind = Kind::kDequeueMany,
         .remaining = count,
         .allow_small_batch = allow_small_batch,
         .cancellation = &cancellation,
         .done = std::move(done)});
}

void Queue::Close(bool cancel_pending_enqueues, CancellationManager& cancellation, Done done) {
  if (!cancel_pending_enqueues) {
    return Start({.kind = Kind::kClose, .remaining = 0, .cancellation = &cancellation, .done = std::move(done)});
  }
  Attempts finished;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    for (Attempt& attempt : enqueues_) attempt.status = WasCancelled(/*dequeue=*/false);
    finished.splice(finished.end(), enqueues_);
    FlushLocked(finished);
  }
  Finish(std::move(finished));
  done(Tuple());
}

bool Queue::HasRoomLocked() const { return SizeLocked() < spec_.capacity; }

Status Queue::InsufficientLocked(int64_t requested) const {
  return OutOfRange(spec_.kind, " '", name_, "' is closed and has insufficient elements (requested ", requested,
                    ", current size ", SizeLocked(), ")");
}

Queue::Progress Queue::AdvanceLocked(Attempt& attempt) {
  if (attempt.kind == Kind::kClose) {
    if (closed_) attempt.status = Cancelled("Queue '", name_, "' is already closed.");
    closed_ = true;
    return Progress::kComplete;
  }
  if (!attempt.is_dequeue()) {
    if (closed_) {
      attempt.status = Cancelled(spec_.kind, " '", name_, "' is closed.");
      return Progress::kComplete;
    }
    if (attempt.kind == Kind::kEnqueue) {
      if (!HasRoomLocked()) return Progress::kNone;
      PushLocked(std::move(attempt.input));
      return Progress::kComplete;
    }
    Progress progress = Progress::kNone;
    while (HasRoomLocked()) {
      StatusOr<Tuple> row = CopyRow(attempt.input, attempt.input[0].dim(0) - attempt.remaining);
      if (!row.ok()) {
        attempt.status = row.status();
        return Progress::kComplete;
      }
      PushLocked(*std::move(row));
      progress = Progress::kSome;
      if (--attempt.remaining == 0) return Progress::kComplete;
    }
    return progress;
  }
  if (attempt.kind == Kind::kDequeueMany) return AdvanceDequeueManyLocked(attempt);
  if (AvailableLocked(closed_) > 0) {
    attempt.taken.push_back(PopLocked());
    return Progress::kComplete;
  }
  if (!closed_) return Progress::kNone;
  attempt.status = InsufficientLocked(1);
  return Progress::kComplete;
}

Queue::Progress Queue::AdvanceDequeueManyLocked(Attempt& attempt) {
  if (!GathersBatches()) {
    const bool is_short = SizeLocked() < attempt.remaining;
    if (is_short && !closed_) return Progress::kNone;
    if (is_short && (SizeLocked() == 0 || !attempt.allow_small_batch)) {
      attempt.status = InsufficientLocked(attempt.remaining);
      return Progress::kComplete;
    }
  } else if (closed_ && SizeLocked() < attempt.remaining) {
    attempt.status = InsufficientLocked(attempt.remaining);
    GiveBackLocked(std::exchange(attempt.taken, {}));
    attempt.remaining = SizeLocked();
    if (!attempt.allow_small_batch || attempt.remaining == 0) return Progress::kComplete;
    attempt.status = OkStatus();
  }
  Progress progress = Progress::kNone;
  for (int64_t available = AvailableLocked(closed_); available > 0; --available) {
    attempt.taken.push_back(PopLocked());
    progress = Progress::kSome;
    if (--attempt.remaining == 0) return Progress::kComplete;
  }
  return progress;
}

bool Queue::AdvanceAllLocked(Attempts& waiting, Attempts& finished) {
  bool moved = false;
  while (!waiting.empty()) {
    Progress progress = AdvanceLocked(waiting.front());
    moved |= progress != Progress::kNone;
    if (progress != Progress::kComplete) break;
    finished.splice(finished.end(), waiting, waiting.begin());
  }
  return moved;
}

void Queue::FlushLocked(Attempts& finished) {
  bool moved = true;
  while (moved) {
    moved = AdvanceAllLocked(enqueues_, finished);
    moved |= AdvanceAllLocked(dequeues_, finished);
  }
}

void Queue::Start(Attempt attempt) {
  bool dequeue = attempt.is_dequeue();
  Attempts finished;
  {
    absl::MutexLock lock(&mu_);
    Attempts& waiting = dequeue ? dequeues_ : enqueues_;
    uint64_t id = attempt.id = next_id_++;
    CancellationManager* cancellation = attempt.cancellation;
    waiting.push_back(std::move(attempt));
    auto self = std::prev(waiting.end());
    if (cancellation->cancelled()) {
      RemoveLocked(waiting, self, finished);
    } else {
      FlushLocked(finished);
      // Only one that must wait pays for a registration; its place is the last, for nobody came after it.
      if (!waiting.empty() && waiting.back().id == id) {
        self->token = cancellation->Register([queue = weak_from_this(), id, dequeue] {
          if (std::shared_ptr<Queue> alive = queue.lock()) alive->Cancel(id, dequeue);
        });
        if (self->token == CancellationManager::kNoToken) {
          RemoveLocked(waiting, self, finished);
          FlushLocked(finished);
        }
      }
    }
  }
  Finish(std::move(finished));
}

void Queue::RemoveLocked(Attempts& waiting, Attempts::iterator attempt, Attempts& finished) {
  attempt->status = WasCancelled(attempt->is_dequeue());
  if (!attempt->taken.empty()) GiveBackLocked(std::exchange(attempt->taken, {}));
  finished.splice(finished.end(), waiting, attempt);
}

void Queue::Cancel(uint64_t id, bool dequeue) {
  Attempts finished;
  {
    absl::MutexLock lock(&mu_);
    Attempts& waiting = dequeue ? dequeues_ : enqueues_;
    for (auto attempt = waiting.begin(); attempt != waiting.end(); ++attempt) {
      if (attempt->id != id) continue;
      RemoveLocked(waiting, attempt, finished);
      FlushLocked(finished);
      break;
    }
  }
  Finish(std::move(finished));
}

void Queue::Finish(Attempts finished) {
  for (Attempt& attempt : finished) {
    // Not Deregister: it would wait for itself when a cancellation callback lets another attempt of its step finish.
    if (attempt.token != CancellationManager::kNoToken) attempt.cancellation->TryDeregister(attempt.token);
    if (!attempt.status.ok()) {
      attempt.done(attempt.status);
    } else if (attempt.kind == Kind::kDequeueMany) {
      attempt.done(Batch(attempt.taken));
    } else {
      attempt.done(attempt.taken.empty() ? Tuple() : std::move(attempt.taken.front()));
    }
  }
}

}  // namespace weir
