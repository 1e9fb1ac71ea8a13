#include "weir/serving/step_scheduler.h"

#include <pthread.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/serving/batch_tensors.h"

namespace weir {
namespace {

// With less time left the answer could hardly reach the client; gRPC's timers count in milliseconds, too.
constexpr absl::Duration kShortestDeadline = absl::Milliseconds(1);

constexpr absl::Duration kLongestQueue = absl::Seconds(30);  // what waits must not take longer, without a target

// Rows of all inputs; 0 if they cannot be told.
int64_t RowsOf(std::span<const Tensor> inputs) {
  int64_t rows = -1;
  for (const Tensor& input : inputs) {
    if (input.rank() == 0 || (rows >= 0 && input.dim(0) != rows)) return 0;
    rows = input.dim(0);
  }
  return std::max<int64_t>(rows, 0);
}

Status Expired() { return DeadlineExceeded("Deadline Exceeded: the request's deadline passed before its step began"); }

}  // namespace

class StepScheduler::Queue {
 public:
  Queue(QueueOptions options, ServingMetrics& metrics)
      : options(std::move(options)),
        latency(metrics.HistogramOf(":tensorflow:serving:batching_session:queuing_latency",
                                    {{"model_name", this->options.model}})) {}
  const QueueOptions options;
  ServingMetrics::Histogram& latency;  // of waiting

  // Guarded by the scheduler's lock.
  std::deque<Job> jobs;  // by priority, then by age
  int64_t rows = 0;      // of all jobs
  double row_seconds = 0;
  bool may_merge = true;  // false once a merged step gave outputs of another size

  const BatchOptions& batching() const { return options.batching; }
  bool merges() const {
    return batching().merge && may_merge && (!batching().adaptive || options.rows_are_independent);
  }
  // Rows of the next step at most.
  int64_t Limit() const {
    const BatchOptions& rules = batching();
    if (!rules.adaptive || rules.target_latency == absl::InfiniteDuration() || row_seconds <= 0) {
      return rules.rows_per_step();
    }
    // Half of the target for the step, half for waiting until the one before it has ended.
    const double fitting = absl::ToDoubleSeconds(rules.target_latency) / 2 / row_seconds;
    return std::clamp<int64_t>(static_cast<int64_t>(fitting), 1, rules.rows_per_step());
  }
};

StepScheduler::StepScheduler(int slots, ServingMetrics* metrics) : slots_(std::max(slots, 1)), metrics_(metrics) {
  for (int i = 0; i < slots_; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

StepScheduler::~StepScheduler() {
  std::vector<std::shared_ptr<Queue>> left;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    left = std::exchange(waiting_, {});
    changed_.SignalAll();
  }
  for (auto& queue : left) {
    for (Job& job : queue->jobs) job.done(Cancelled("The server is shutting down"), {});
  }
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<StepScheduler::Queue> StepScheduler::MakeQueue(QueueOptions options) {
  return std::make_shared<Queue>(std::move(options), *metrics_);
}

int64_t StepScheduler::num_waiting() const {
  absl::MutexLock lock(&mu_);
  int64_t count = 0;
  for (const auto& queue : waiting_) count += static_cast<int64_t>(queue->jobs.size());
  return count;
}

void StepScheduler::Submit(const std::shared_ptr<Queue>& queue, Job job) {
  const BatchOptions& rules = queue->batching();
  job.rows = RowsOf(job.inputs);
  job.since = absl::Now();
  if (job.deadline - job.since < kShortestDeadline) return job.done(Expired(), {});
  if (job.at_once) return RunAlone(*queue, job);
  if (rules.merge && !rules.adaptive) {
    if (job.rows == 0 && (job.inputs.empty() || job.inputs[0].rank() == 0 || job.inputs[0].dim(0) != 0)) {
      return job.done(
          InvalidArgument("Batching session Run() input tensors must have equal 0th-dimension size and a rank of at "
                          "least 1"),
          {});
    }
    if (rules.split_large && job.rows > rules.rows_per_step()) return SubmitParts(queue, std::move(job));
    if (job.rows > rules.max_batch_size) {
      return job.done(
          InvalidArgument("Task size ", job.rows, " is larger than maximum input batch size ", rules.max_batch_size),
          {});
    }
  }
  {
    absl::ReleasableMutexLock lock(&mu_);
    const bool at_once =
        running_ < slots_ && waiting_.empty() && (rules.timeout == absl::ZeroDuration() || !rules.merge);
    if (!at_once) {
      const Status entered = stopping_ ? Cancelled("The server is shutting down") : Enter(queue, job);
      lock.Release();
      if (!entered.ok()) job.done(entered, {});
      return;
    }
    ++running_;
  }
  Batch batch;
  batch.push_back(std::move(job));
  RunBatch(*queue, std::move(batch));
  absl::MutexLock lock(&mu_);
  --running_;
  if (!waiting_.empty()) changed_.Signal();
}

// Slices of a large request are jobs of their own; the last one to end puts their outputs together.
void StepScheduler::SubmitParts(const std::shared_ptr<Queue>& queue, Job job) {
  struct Parts {
    absl::Mutex mu;
    int left ABSL_GUARDED_BY(mu);
    Status status ABSL_GUARDED_BY(mu);
    std::vector<std::vector<Tensor>> outputs ABSL_GUARDED_BY(mu);
    Done done;
  };
  const int64_t size = queue->batching().rows_per_step();
  const int count = static_cast<int>((job.rows + size - 1) / size);
  auto parts = std::make_shared<Parts>();
  parts->done = std::move(job.done);
  {
    absl::MutexLock lock(&parts->mu);
    parts->left = count;
    parts->outputs.resize(count);
  }
  for (int i = 0; i < count; ++i) {
    Job part;
    for (const Tensor& input : job.inputs) {
      part.inputs.push_back(input.Slice(i * size, std::min((i + 1) * size, job.rows)));
    }
    part.priority = job.priority;
    part.deadline = job.deadline;
    part.cancellation = job.cancellation;
    part.done = [parts, i](Status status, std::vector<Tensor> outputs) {
      std::vector<std::vector<Tensor>> all;
      Status first;
      {
        absl::MutexLock lock(&parts->mu);
        parts->outputs[i] = std::move(outputs);
        if (parts->status.ok()) parts->status = status;
        if (--parts->left > 0) return;
        all = std::move(parts->outputs);
        first = parts->status;
      }
      std::vector<Tensor> joined;
      for (size_t o = 0; first.ok() && o < all[0].size(); ++o) {
        std::vector<const Tensor*> pieces;
        for (const auto& piece : all) pieces.push_back(&piece[o]);
        StatusOr<Tensor> whole = ConcatRows(pieces, 0, /*pad=*/false);
        if (whole.ok()) joined.push_back(*std::move(whole));
        first = whole.status();
      }
      parts->done(first, std::move(joined));
    };
    Submit(queue, std::move(part));
  }
}

Status StepScheduler::CheckLoad(const Queue& queue, const Job& job) const {
  const BatchOptions& rules = queue.batching();
  if (!rules.adaptive) {
    if (queue.rows + job.rows <= rules.max_enqueued_batches * rules.max_batch_size) return OkStatus();
    return Unavailable("The batch scheduling queue to which this task was submitted is full");
  }
  // What goes first: jobs of this priority and above, in all queues.
  double seconds = 0;
  int64_t rows = 0;
  for (const auto& other : waiting_) {
    for (const Job& each : other->jobs) {
      if (each.priority < job.priority) break;
      seconds += static_cast<double>(std::max<int64_t>(each.rows, 1)) * other->row_seconds;
      if (other.get() == &queue) rows += std::max<int64_t>(each.rows, 1);
    }
  }
  const absl::Duration wait = absl::Seconds(seconds / slots_);
  if (rows > 0 && rows + job.rows > rules.max_enqueued_batches * rules.max_batch_size) {
    return ResourceExhausted("The queue of model ", queue.options.model, " is full: ", rows, " rows wait in it");
  }
  if (wait > std::min(rules.target_latency, kLongestQueue) || job.since + wait > job.deadline) {
    return ResourceExhausted("The server is overloaded: the requests that wait for model ", queue.options.model,
                             " already will take about ", absl::FormatDuration(wait), ", longer than ",
                             job.since + wait > job.deadline ? "this request's deadline allows" : "the limit");
  }
  return OkStatus();
}

Status StepScheduler::Enter(const std::shared_ptr<Queue>& queue, Job& job) {
  WEIR_RETURN_IF_ERROR(CheckLoad(*queue, job));
  if (queue->jobs.empty()) {
    waiting_.push_back(queue);
    // A model that was idle has no claim on the time that it did not use.
    queue->options.share->clock = std::max(queue->options.share->clock, clock_);
  }
  auto at = queue->jobs.end();
  while (at != queue->jobs.begin() && std::prev(at)->priority < job.priority) --at;
  queue->rows += job.rows;
  queue->jobs.insert(at, std::move(job));
  if (running_ < slots_) changed_.Signal();
  return OkStatus();
}

std::shared_ptr<StepScheduler::Queue> StepScheduler::PickReady(absl::Time now, absl::Time* wake) {
  std::shared_ptr<Queue> best;
  for (const auto& queue : waiting_) {
    const BatchOptions& rules = queue->batching();
    if (rules.merge && rules.timeout > absl::ZeroDuration() && queue->rows < rules.rows_per_step()) {
      absl::Time oldest = absl::InfiniteFuture();
      for (const Job& job : queue->jobs) oldest = std::min(oldest, job.since);
      if (oldest + rules.timeout > now) {
        *wake = std::min(*wake, oldest + rules.timeout);
        continue;
      }
    }
    auto rank = [](const Queue& q) {
      return std::pair(-static_cast<int>(q.jobs.front().priority), q.options.share->clock);
    };
    if (best == nullptr || rank(*queue) < rank(*best)) best = queue;
  }
  return best;
}

StepScheduler::Batch StepScheduler::TakeBatch(Queue& queue, absl::Time now, Batch* late) {
  Batch batch;
  int64_t rows = 0;
  const int64_t limit = queue.Limit();
  for (auto at = queue.jobs.begin(); at != queue.jobs.end();) {
    Job& job = *at;
    const bool is_late = now >= job.deadline || (job.cancellation != nullptr && job.cancellation->cancelled());
    if (!is_late && !batch.empty()) {
      if (!queue.merges() || batch[0].report != nullptr || batch[0].rows == 0 || rows >= limit) break;
      bool fits = job.rows > 0 && job.report == nullptr && rows + job.rows <= limit;
      for (size_t i = 0; fits && i < job.inputs.size(); ++i) {
        fits = RowsFit(batch[0].inputs[i], job.inputs[i], queue.batching().pad);
      }
      if (!fits) {
        ++at;
        continue;
      }
    }
    queue.rows -= job.rows;
    rows += is_late ? 0 : job.rows;
    (is_late ? *late : batch).push_back(std::move(job));
    at = queue.jobs.erase(at);
  }
  return batch;
}

void StepScheduler::Work() {
  pthread_setname_np(pthread_self(), "weir_steps");
  mu_.Lock();
  while (true) {
    absl::Time wake = absl::InfiniteFuture();
    std::shared_ptr<Queue> queue;
    if (running_ < slots_) queue = PickReady(absl::Now(), &wake);
    if (queue == nullptr) {
      if (stopping_) break;
      changed_.WaitWithDeadline(&mu_, wake);
      continue;
    }
    Batch late;
    Batch batch = TakeBatch(*queue, absl::Now(), &late);
    if (queue->jobs.empty()) std::erase(waiting_, queue);
    clock_ = std::max(clock_, queue->options.share->clock);
    ++running_;
    if (running_ < slots_ && !waiting_.empty()) changed_.Signal();
    mu_.Unlock();
    for (Job& job : late) {
      job.done(job.cancellation != nullptr && job.cancellation->cancelled() ? job.cancellation->reason() : Expired(),
               {});
    }
    if (!batch.empty()) RunBatch(*queue, std::move(batch));
    queue.reset();
    mu_.Lock();
    --running_;
  }
  mu_.Unlock();
}

void StepScheduler::Took(Queue& queue, absl::Duration duration, int64_t rows) {
  const double seconds = absl::ToDoubleSeconds(duration);
  absl::MutexLock lock(&mu_);
  queue.options.share->clock += seconds / queue.options.share->weight;
  const double each = seconds / static_cast<double>(std::max<int64_t>(rows, 1));
  queue.row_seconds = queue.row_seconds > 0 ? queue.row_seconds * 0.8 + each * 0.2 : each;
}

void StepScheduler::RunBatch(Queue& queue, Batch batch) {
  const BatchOptions& rules = queue.batching();
  const absl::Time now = absl::Now();
  for (const Job& job : batch) {
    const double micros = absl::ToDoubleMicroseconds(now - job.since);
    if (rules.merge) queue.latency.Observe(micros);
    if (queue.options.wait != nullptr) queue.options.wait->Observe(micros);
  }
  const bool fill = rules.merge && !rules.allowed_sizes.empty() && batch[0].report == nullptr && batch[0].rows > 0;
  if ((batch.size() > 1 || fill) && RunMerged(queue, batch)) return;
  for (Job& job : batch) RunAlone(queue, job);
}

void StepScheduler::RunAlone(Queue& queue, Job& job) {
  StepOptions options;
  options.cancellation = job.cancellation;
  options.in_caller_thread = job.at_once;
  if (job.deadline != absl::InfiniteFuture()) options.timeout = job.deadline - absl::Now();
  if (job.report != nullptr) options.trace = TraceLevel::kFull;
  std::vector<Tensor> outputs;
  if (options.timeout <= absl::ZeroDuration()) return job.done(Expired(), {});
  const absl::Time start = absl::Now();
  const Status status = queue.options.run(options, job.inputs, &outputs, job.report);
  Took(queue, absl::Now() - start, job.rows);
  job.done(status, std::move(outputs));
}

bool StepScheduler::RunMerged(Queue& queue, Batch& batch) {
  const BatchOptions& rules = queue.batching();
  int64_t rows = 0;
  StepOptions options;
  absl::Time deadline = absl::InfinitePast();
  for (const Job& job : batch) {
    rows += job.rows;
    deadline = std::max(deadline, job.deadline);
  }
  int64_t filled = rows;
  if (auto size = std::lower_bound(rules.allowed_sizes.begin(), rules.allowed_sizes.end(), rows);
      size != rules.allowed_sizes.end()) {
    filled = *size;
  }
  if (deadline != absl::InfiniteFuture()) options.timeout = std::max(deadline - absl::Now(), absl::Milliseconds(1));
  std::vector<Tensor> inputs, outputs;
  for (size_t i = 0; i < batch[0].inputs.size(); ++i) {
    std::vector<const Tensor*> pieces;
    for (const Job& job : batch) pieces.push_back(&job.inputs[i]);
    StatusOr<Tensor> whole = ConcatRows(pieces, filled, rules.pad);
    if (!whole.ok()) return false;
    inputs.push_back(*std::move(whole));
  }
  const absl::Time start = absl::Now();
  Status status = queue.options.run(options, inputs, &outputs, nullptr);
  if (!status.ok()) return false;
  Took(queue, absl::Now() - start, filled);
  const std::string_view model = queue.options.model;
  metrics_->Observe(":tensorflow:serving:batching_session:processed_batch_size", {{"model_name", model}},
                    static_cast<double>(filled));
  metrics_->Observe(":tensorflow:serving:batching_session:padding_size", {{"model_name", model}},
                    static_cast<double>(filled - rows));
  for (const Tensor& output : outputs) {
    if (output.rank() > 0 && output.dim(0) == filled) continue;
    if (rules.adaptive) {
      absl::MutexLock lock(&mu_);
      queue.may_merge = false;
      return false;
    }
    status = FailedPrecondition(
        "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes "
        "of the input tensors");
  }
  int64_t row = 0;
  for (Job& job : batch) {
    std::vector<Tensor> own;
    for (size_t i = 0; status.ok() && i < outputs.size(); ++i) {
      own.push_back(filled == job.rows ? outputs[i] : outputs[i].Slice(row, row + job.rows));
    }
    row += job.rows;
    job.done(status, std::move(own));
  }
  return true;
}

}  // namespace weir
