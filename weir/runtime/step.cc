// A step starts its local plans and its remote parts and counts them down; whichever ends last finishes the step
// (OnRunDone). The first failure aborts the rendezvous and cancels all others. Their errors are then consequences of
// it, and the step reports the original error even if a consequence arrives earlier.
#include "weir/runtime/step.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

namespace weir {

StatusOr<std::shared_ptr<CompiledStep>> CompiledStep::ForAnyShape() {
  absl::MutexLock lock(&for_any_shape_mu_);
  if (for_any_shape_ == nullptr) {
    WEIR_ASSIGN_OR_RETURN(for_any_shape_, compile_for_any_shape());
  }
  return for_any_shape_;
}

CompiledStep::~CompiledStep() = default;

std::unique_ptr<Step> CompiledStep::Acquire() {
  {
    FastMutexLock lock(&mu_);
    if (!free_.empty()) {
      std::unique_ptr<Step> step = std::move(free_.back());
      free_.pop_back();
      return step;
    }
  }
  return std::make_unique<Step>(this);
}

void CompiledStep::Release(std::unique_ptr<Step> step) {
  FastMutexLock lock(&mu_);
  free_.push_back(std::move(step));
}

void StepStatsCollector::Add(const std::string& device, NodeStats stats) {
  absl::MutexLock lock(&mu_);
  auto found = std::find_if(devices_.begin(), devices_.end(), [&](const DeviceStats& d) { return d.device == device; });
  if (found == devices_.end()) {
    devices_.push_back({device, {}, {}});
    found = devices_.end() - 1;
  }
  found->thread_names.try_emplace(stats.thread_id, Cat("thread ", stats.thread_id));
  found->nodes.push_back(std::move(stats));
}

void StepStatsCollector::MoveTo(StepReport* report) {
  absl::MutexLock lock(&mu_);
  for (DeviceStats& device : devices_) report->devices.push_back(std::move(device));
  devices_.clear();
}

Step::Step(CompiledStep* compiled) : compiled_(compiled) {
  for (const auto& plan : compiled_->plans) {
    runs_.push_back(std::make_unique<PlanRun>(plan));
    accelerated_ |= !plan->device->is_host();
  }
}
Step::~Step() = default;

void Step::Start(std::unique_ptr<Step> owned, Config config, Done done) {
  Step* step = owned.release();  // Finish takes it back
  step->config_ = std::move(config);
  step->done_ = std::move(done);
  step->Run();
}

void Step::Run() {
  // A manager that nobody else holds and that never fired can be used again.
  if (cancellation_ == nullptr || cancellation_.use_count() > 1 || cancellation_->cancelled()) {
    cancellation_ = std::make_shared<CancellationManager>();
  }
  Status admitted = config_.table->Add(this);
  if (!admitted.ok()) {
    {
      FastMutexLock lock(&mu_);
      status_ = admitted;
    }
    failed_.store(true, std::memory_order_release);
    return Finish();
  }
  if (config_.cancellation != nullptr) {
    outer_token_ = config_.cancellation->Register(
        [own = cancellation_, outer = config_.cancellation] { own->StartCancel(outer->reason()); });
    if (outer_token_ == CancellationManager::kNoToken) cancellation_->StartCancel(config_.cancellation->reason());
  }
  config_.context.deadline = absl::InfiniteFuture();
  if (config_.timeout < absl::InfiniteDuration()) ExpireAt(absl::Now() + config_.timeout);
  rendezvous_ = FindRendezvous();
  if (config_.trace != TraceLevel::kNone || config_.report_costs) stats_ = std::make_unique<StepStatsCollector>();

  PlanRun::Setup setup;
  setup.context = std::move(config_.context);
  setup.context.cancellation = cancellation_.get();
  setup.context.step_resources = &step_resources_;
  setup.context.rendezvous = rendezvous_;
  setup.args = config_.feeds;
  setup.stats = stats_.get();
  setup.exchange = config_.exchange;
  // The end of a copy is reported by a thread of the device, so the nodes that follow belong in the pool.
  setup.parallel = config_.parallel || accelerated_;
  if (compiled_->remote_parts.empty()) {
    remaining_.store(static_cast<int>(runs_.size()), std::memory_order_relaxed);
    return StartPlans(setup);
  }
  // One more than there are parts, for this function: the step must not end before it returns.
  remaining_.store(static_cast<int>(runs_.size() + compiled_->remote_parts.size() + 1), std::memory_order_relaxed);
  // Plans that soon have to wait start first: the values that they send until then travel with the requests to run the
  // other parts.
  const bool plans_first = compiled_->last_plans_ns.load(std::memory_order_relaxed) < kShortStepNs;
  if (!plans_first) StartRemoteParts();
  const int64_t start = absl::GetCurrentTimeNanos();
  if (!runs_.empty()) StartPlans(setup);
  compiled_->last_plans_ns.store(absl::GetCurrentTimeNanos() - start, std::memory_order_relaxed);
  if (plans_first) StartRemoteParts();
  OnRunDone(OkStatus());
}

void Step::StartPlans(PlanRun::Setup& setup) {
  // All plans but the last start in the pool, because each may keep a thread busy. The last one may end the step and
  // destroy this object.
  size_t last = runs_.size() - 1;
  auto shared = last > 0 ? std::make_shared<PlanRun::Setup>(setup) : nullptr;
  for (size_t i = 0; i < last; ++i) {
    setup.context.runner(
        [this, i, shared] { runs_[i]->Start(*shared, [this](const Status& status) { OnRunDone(status); }); });
  }
  runs_[last]->Start(setup, [this](const Status& status) { OnRunDone(status); });
}

Rendezvous* Step::FindRendezvous() {
  if (config_.rendezvous != nullptr) return config_.rendezvous.get();
  if (!compiled_->remote_parts.empty()) {
    config_.rendezvous = config_.remote->BeginStep(id());
    return config_.rendezvous.get();
  }
  if (runs_.size() <= 1 && !accelerated_) return nullptr;
  if (own_rendezvous_ == nullptr) own_rendezvous_ = std::make_unique<LocalRendezvous>();
  return own_rendezvous_.get();
}

void Step::StartRemoteParts() {
  const auto& parts = compiled_->remote_parts;
  RemoteStep step{id(), config_.context.deadline, config_.trace != TraceLevel::kNone};
  {
    FastMutexLock lock(&mu_);
    for (const auto& part : parts) waiting_tasks_.push_back(part->task());
  }
  for (const auto& part : parts) {
    auto of_its_task = [&](const auto& other) { return other->task() == part->task(); };
    step.only_part = std::count_if(parts.begin(), parts.end(), of_its_task) == 1;
    part->Run(step, cancellation_.get(),
              [this, &part](RemoteOutcome outcome) { OnPartDone(part, std::move(outcome)); });
  }
}

void Step::OnPartDone(const std::shared_ptr<RemotePart>& part, RemoteOutcome outcome) {
  {
    FastMutexLock lock(&mu_);
    waiting_tasks_.erase(std::find(waiting_tasks_.begin(), waiting_tasks_.end(), part->task()));
    if (!outcome.step_stats.empty()) remote_stats_.push_back(std::move(outcome.step_stats));
    if (!outcome.forgotten) parts_to_end_.push_back(part);
  }
  OnRunDone(outcome.status);
}

namespace {

// An error that the abort of another part caused is not the reason of a failure.
bool IsConsequence(const Status& status) { return status.code() == absl::StatusCode::kCancelled || IsDerived(status); }

}  // namespace

void Step::ExpireAt(absl::Time deadline) {
  config_.context.deadline = deadline;
  timer_ = Timer::Global().CallAt(deadline, [this, table = config_.table->shared_from_this(), id = id(),
                                             timeout = config_.timeout] { table->Expire(this, id, timeout); });
}

void Step::OnRunDone(const Status& status) {
  if (!status.ok()) {
    {
      FastMutexLock lock(&mu_);
      if (status_.ok() || (IsConsequence(status_) && !IsConsequence(status))) status_ = status;
    }
    failed_.store(true, std::memory_order_release);
    if (rendezvous_ != nullptr) rendezvous_->StartAbort(status);
    cancellation_->StartCancel(status);
  }
  if (remaining_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  config_.table->Remove(this);
  Finish();
}

void Step::Finish() {
  if (outer_token_ != CancellationManager::kNoToken) config_.cancellation->TryDeregister(outer_token_);
  outer_token_ = CancellationManager::kNoToken;
  if (timer_ != 0) Timer::Global().TryCancel(timer_);
  timer_ = 0;
  Status status;
  if (failed_.load(std::memory_order_acquire)) {
    FastMutexLock lock(&mu_);
    status = WithoutDerivedMark(std::exchange(status_, OkStatus()));
    failed_.store(false, std::memory_order_relaxed);
  }
  std::vector<Tensor> outputs;
  if (status.ok() && config_.exchange == nullptr) {
    if (runs_.size() == 1 && compiled_->remote_parts.empty()) {
      outputs = std::move(config_.spare);
      outputs.swap(runs_[0]->rets());
    } else {
      outputs.resize(compiled_->num_fetches);
      for (size_t i = 0; i < runs_.size(); ++i) {
        for (int ret : compiled_->plan_rets[i]) outputs[ret] = std::move(runs_[i]->rets()[ret]);
      }
    }
  }
  step_resources_.ClearAll();
  if (!compiled_->remote_parts.empty()) {
    std::vector<std::shared_ptr<RemotePart>> parts;
    {
      FastMutexLock lock(&mu_);
      parts.swap(parts_to_end_);
    }
    if (rendezvous_ != nullptr) config_.remote->EndStep(id(), parts);
    FastMutexLock lock(&mu_);
    if (config_.report != nullptr) config_.report->remote_devices = std::move(remote_stats_);
    remote_stats_.clear();
  }
  if (config_.report != nullptr) {
    if (stats_ != nullptr) stats_->MoveTo(config_.report);
    if (config_.report_costs) {
      config_.report->cost_graph = compiled_->export_costs(config_.report->devices);
      if (config_.trace == TraceLevel::kNone) config_.report->devices.clear();
    }
    if (config_.report_partition_graphs) config_.report->partition_graphs = compiled_->export_partitions();
  }
  stats_ = nullptr;
  rendezvous_ = nullptr;
  own_rendezvous_ = nullptr;
  config_.rendezvous = nullptr;
  config_.feeds.clear();
  feed_memory_ = std::move(config_.feeds);
  bool reusable = std::all_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->reusable(); });
  Done done = std::move(done_);
  done_ = nullptr;
  std::unique_ptr<Step> self(this);
  if (reusable) {
    compiled_->Release(std::move(self));
  } else {
    self.reset();
  }
  done(std::move(status), std::move(outputs));
}

std::string Step::DescribePending() {
  std::vector<std::string> nodes;
  for (const auto& run : runs_) {
    for (std::string& node : run->PendingNodes()) nodes.push_back(std::move(node));
  }
  {
    FastMutexLock lock(&mu_);
    for (const std::string& task : waiting_tasks_) nodes.push_back(Cat("the part of ", task));
  }
  if (nodes.empty()) return "still computing";
  size_t total = nodes.size();
  if (total > 8) nodes.resize(8);
  std::string out = Cat("waiting for ", absl::StrJoin(nodes, ", "));
  if (total > 8) out += Cat(" and ", total - 8, " more");
  return out;
}

Status StepTable::Add(Step* step) {
  FastMutexLock lock(&mu_);
  if (!closed_.ok()) return closed_;
  step->previous_ = nullptr;
  step->next_ = first_;
  if (first_ != nullptr) first_->previous_ = step;
  first_ = step;
  ++size_;
  return OkStatus();
}

void StepTable::Remove(Step* step) {
  // All under the lock: a thread that waits for the last step may destroy the table right after.
  FastMutexLock lock(&mu_);
  (step->previous_ != nullptr ? step->previous_->next_ : first_) = step->next_;
  if (step->next_ != nullptr) step->next_->previous_ = step->previous_;
  if (--size_ > 0 || !is_closed_.load(std::memory_order_relaxed)) return;
  absl::MutexLock wake(&empty_mu_);
  empty_ = true;
}

void StepTable::Expire(Step* step, int64_t id, absl::Duration timeout) {
  std::shared_ptr<CancellationManager> cancellation;
  std::string pending;
  {
    FastMutexLock lock(&mu_);
    Step* found = first_;
    while (found != nullptr && found != step) found = found->next_;
    if (found == nullptr || found->id() != id) return;
    cancellation = found->cancellation();
    pending = found->DescribePending();
  }
  cancellation->StartCancel(
      DeadlineExceeded("Timed out: step ", id, " did not end within ", absl::FormatDuration(timeout), ", ", pending));
}

void StepTable::Close(const Status& reason, const Status& refusal) {
  std::vector<std::shared_ptr<CancellationManager>> running;
  {
    FastMutexLock lock(&mu_);
    if (closed_.ok()) closed_ = refusal;
    is_closed_.store(true, std::memory_order_release);
    for (Step* step = first_; step != nullptr; step = step->next_) running.push_back(step->cancellation());
  }
  for (const auto& cancellation : running) cancellation->StartCancel(reason);
}

Status StepTable::AwaitEmpty(absl::Duration timeout) {
  {
    FastMutexLock lock(&mu_);
    if (size_ == 0) return OkStatus();
  }
  {
    absl::MutexLock lock(&empty_mu_);
    empty_mu_.AwaitWithTimeout(absl::Condition(&empty_), timeout);
  }
  FastMutexLock after_the_last(&mu_);
  if (size_ == 0) return OkStatus();
  std::vector<std::string> steps;
  for (Step* step = first_; step != nullptr && steps.size() < 4; step = step->next_) {
    steps.push_back(Cat("step ", step->id(), " is ", step->DescribePending()));
  }
  if (static_cast<int>(steps.size()) < size_) steps.push_back(Cat(size_ - steps.size(), " more"));
  return DeadlineExceeded(size_, " cancelled steps have not ended within ", absl::FormatDuration(timeout), ": ",
                          absl::StrJoin(steps, "; "));
}

int StepTable::size() const {
  FastMutexLock lock(&mu_);
  return size_;
}

Status StepTable::closed() const {
  if (!is_closed_.load(std::memory_order_acquire)) return OkStatus();
  FastMutexLock lock(&mu_);
  return closed_;
}

}  // namespace weir
