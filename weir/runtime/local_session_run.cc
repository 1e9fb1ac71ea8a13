// The steps of a session: signatures, callables and parts of other sessions' steps.
#include <algorithm>
#include <atomic>

#include "absl/time/clock.h"
#include "weir/runtime/local_session_internal.h"
#include "weir/runtime/step_waiter_internal.h"

namespace weir {
namespace {

std::atomic<int64_t> next_step_id{1};

void AppendKey(std::string_view part, std::string& key) {
  key.append(part);
  key.push_back('\n');
}

std::string KeyOf(const StepSignature& signature) {
  std::string key;
  for (const std::string& name : signature.feeds) AppendKey(name, key);
  key.push_back('\t');
  for (const std::string& name : signature.fetches) AppendKey(name, key);
  key.push_back('\t');
  for (const std::string& name : signature.targets) AppendKey(name, key);
  return key;
}

void SortUnique(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

int PositionOf(const std::vector<std::string>& sorted, const std::string& name) {
  return static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), name) - sorted.begin());
}

bool IsPlainOrder(const std::vector<int>& positions, size_t size) {
  if (positions.size() != size) return false;
  for (size_t i = 0; i < size; ++i) {
    if (positions[i] != static_cast<int>(i)) return false;
  }
  return true;
}

// Puts the results of the step into the order that the caller asked for.
void Arrange(const std::vector<int>& positions, std::vector<Tensor>* tensors) {
  thread_local std::vector<Tensor> computed;  // reused for its memory
  computed.swap(*tensors);
  tensors->clear();
  for (int position : positions) tensors->push_back(computed[position]);
  computed.clear();
}

// Takes the memory of results that the caller no longer needs.
std::vector<Tensor> TakeMemory(std::vector<Tensor>* outputs) {
  if (outputs == nullptr) return {};
  outputs->clear();
  return std::move(*outputs);
}

// Fills in feeds that are already in the step's order.
auto CopyOf(std::span<const Tensor> feeds) {
  return [feeds](std::vector<Tensor>* ordered) {
    ordered->assign(feeds.begin(), feeds.end());
    return OkStatus();
  };
}

}  // namespace

StatusOr<const LocalSession::Signature*> LocalSession::FindSignature(std::span<const Feed> feeds,
                                                                     std::span<const std::string> fetches,
                                                                     std::span<const std::string> targets) {
  thread_local std::string key;
  key.clear();
  for (const Feed& feed : feeds) AppendKey(feed.first, key);
  key.push_back('\t');
  for (const std::string& name : fetches) AppendKey(name, key);
  key.push_back('\t');
  for (const std::string& name : targets) AppendKey(name, key);
  {
    absl::ReaderMutexLock lock(&signatures_mu_);
    auto found = signatures_.find(key);
    if (found != signatures_.end()) return found->second.get();
  }
  WEIR_RETURN_IF_ERROR(steps_->closed());
  std::string written_key = key;  // compiling may use this thread's buffer again
  StepSignature written;
  for (const Feed& feed : feeds) written.feeds.push_back(feed.first);
  written.fetches.assign(fetches.begin(), fetches.end());
  written.targets.assign(targets.begin(), targets.end());
  StepSignature canonical = written;
  std::sort(canonical.feeds.begin(), canonical.feeds.end());
  SortUnique(canonical.fetches);
  SortUnique(canonical.targets);
  std::string canonical_key = KeyOf(canonical);

  auto signature = std::make_unique<Signature>();
  {
    absl::ReaderMutexLock lock(&signatures_mu_);
    auto found = compiled_.find(canonical_key);
    if (found != compiled_.end()) signature->compiled = found->second;
  }
  if (signature->compiled == nullptr) {
    WEIR_ASSIGN_OR_RETURN(signature->compiled, Compile(canonical, {}, /*late_args=*/false));
  }
  for (const std::string& name : written.feeds) signature->feed_positions.push_back(PositionOf(canonical.feeds, name));
  for (const std::string& name : written.fetches) {
    signature->order.positions.push_back(PositionOf(canonical.fetches, name));
  }
  signature->order.is_plain = IsPlainOrder(signature->order.positions, canonical.fetches.size());
  absl::MutexLock lock(&signatures_mu_);
  compiled_.try_emplace(canonical_key, signature->compiled);
  return signatures_.try_emplace(std::move(written_key), std::move(signature)).first->second.get();
}

Status LocalSession::OrderFeeds(const Signature& signature, std::span<const Feed> feeds,
                                std::vector<Tensor>* ordered) const {
  ordered->resize(feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    int position = signature.feed_positions[i];
    DType expected = signature.compiled->feed_types[position];
    if (feeds[i].second.dtype() != expected) {
      return InvalidArgument("Tensor fed for '", feeds[i].first, "' has type ", Name(feeds[i].second.dtype()),
                             ", but must be ", Name(expected));
    }
    (*ordered)[position] = feeds[i].second;
  }
  return OkStatus();
}

Status LocalSession::Prepare(const StepOptions& options, StepReport* report,
                             const std::shared_ptr<CompiledStep>& compiled, ReadyStep* ready,
                             absl::FunctionRef<Status(std::vector<Tensor>*)> fill) {
  ready->compiled = compiled;
  ready->step = compiled->Acquire();
  ready->config = MakeConfig(options, report);
  ready->config.feeds = ready->step->TakeFeedMemory();
  WEIR_RETURN_IF_ERROR(fill(&ready->config.feeds));
  if (compiled->Takes(ready->config.feeds)) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(ready->compiled, compiled->ForAnyShape());
  ready->step = ready->compiled->Acquire();
  return OkStatus();
}

Step::Config LocalSession::MakeConfig(const StepOptions& options, StepReport* report) {
  Step::Config config;
  config.context.step_id =
      remote_ != nullptr ? remote_->NewStepId() : next_step_id.fetch_add(1, std::memory_order_relaxed);
  config.remote = remote_.get();
  config.context.intra_op = intra_op_;
  config.context.session_handle = handle_;
  config.context.runner = [pool = inter_op_](std::function<void()> closure) { pool->Schedule(std::move(closure)); };
  config.context.functions = functions_.get();
  config.context.pipelined_steps = options_.pipelined_steps;
  config.context.deterministic = options_.deterministic || environment_->deterministic;
  config.timeout = std::min(options.timeout, options_.operation_timeout);
  config.cancellation = options.cancellation;
  config.trace = report != nullptr ? options.trace : TraceLevel::kNone;
  config.report = report;
  config.report_partition_graphs = options.partition_graphs || config.trace != TraceLevel::kNone;
  config.parallel = options_.inter_op_threads >= 0 && !options.in_caller_thread;
  config.table = steps_.get();
  return config;
}

void LocalSession::StartStep(ReadyStep ready, bool detach, Step::Done done) {
  CompiledStep& compiled = *ready.compiled;
  if (options_.build_cost_model > 0 && ready.config.report != nullptr) {
    const int64_t measured = compiled.num_steps.fetch_add(1) - options_.build_cost_model_after;
    ready.config.report_costs = measured >= 0 && (measured + 1) % options_.build_cost_model == 0;
  }
  if (!detach) return Step::Start(std::move(ready.step), std::move(ready.config), std::move(done));
  if (compiled.last_start_ns.load(std::memory_order_relaxed) < kShortStepNs) {
    return StartTimed(std::move(ready), std::move(done));
  }
  struct Detached {
    ReadyStep ready;
    Step::Done done;
  };
  auto detached = std::make_shared<Detached>(Detached{std::move(ready), std::move(done)});
  inter_op_->Schedule([detached] { StartTimed(std::move(detached->ready), std::move(detached->done)); });
}

void LocalSession::StartTimed(ReadyStep ready, Step::Done done) {
  int64_t start = absl::GetCurrentTimeNanos();
  std::shared_ptr<CompiledStep> compiled = std::move(ready.compiled);
  Step::Start(std::move(ready.step), std::move(ready.config),
              [compiled, done = std::move(done)](Status status, std::vector<Tensor> out) {
                done(std::move(status), std::move(out));
              });
  compiled->last_start_ns.store(absl::GetCurrentTimeNanos() - start, std::memory_order_relaxed);
}

Status LocalSession::RunAndWait(ReadyStep ready, const FetchOrder& order, std::vector<Tensor>* outputs) {
  ready.config.spare = TakeMemory(outputs);
  StepWaiter waiter;
  StartStep(std::move(ready), /*detach=*/false, waiter.Callback());
  WEIR_RETURN_IF_ERROR(waiter.Await(outputs));
  if (outputs != nullptr && !order.is_plain) Arrange(order.positions, outputs);
  return OkStatus();
}

void LocalSession::RunDetached(ReadyStep ready, std::shared_ptr<const FetchOrder> order, RunDone done) {
  StartStep(std::move(ready), /*detach=*/true,
            [self = shared_from_this(), order = std::move(order), done = std::move(done)](Status status,
                                                                                          std::vector<Tensor> out) {
              if (status.ok() && !order->is_plain) Arrange(order->positions, &out);
              done(std::move(status), std::move(out));
            });
}

Status LocalSession::Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                         std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report) {
  WEIR_ASSIGN_OR_RETURN(const Signature* signature, FindSignature(feeds, fetches, targets));
  ReadyStep ready;
  WEIR_RETURN_IF_ERROR(Prepare(options, report, signature->compiled, &ready,
                               [&](std::vector<Tensor>* ordered) { return OrderFeeds(*signature, feeds, ordered); }));
  return RunAndWait(std::move(ready), signature->order, outputs);
}

void LocalSession::RunAsync(const StepOptions& options, std::span<const Feed> feeds,
                            std::span<const std::string> fetches, std::span<const std::string> targets,
                            StepReport* report, RunDone done) {
  auto signature = FindSignature(feeds, fetches, targets);
  if (!signature.ok()) return done(signature.status(), {});
  ReadyStep ready;
  Status prepared = Prepare(options, report, (*signature)->compiled, &ready,
                            [&](std::vector<Tensor>* ordered) { return OrderFeeds(**signature, feeds, ordered); });
  if (!prepared.ok()) return done(prepared, {});
  // The session owns the signature, and the step keeps the session alive.
  RunDetached(std::move(ready), std::shared_ptr<const FetchOrder>(shared_from_this(), &(*signature)->order),
              std::move(done));
}

StatusOr<Session::Callable> LocalSession::MakeCallable(const CallableSpec& spec) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  auto entry = std::make_shared<CallableEntry>();
  StepSignature signature{spec.feeds, spec.fetches, spec.targets};
  SortUnique(signature.fetches);
  WEIR_ASSIGN_OR_RETURN(entry->compiled, Compile(signature, spec.connections, /*late_args=*/false));
  entry->options = spec.options;
  entry->options.cancellation = nullptr;
  entry->num_feeds = spec.feeds.size();
  for (const std::string& name : spec.fetches) entry->order.positions.push_back(PositionOf(signature.fetches, name));
  entry->order.is_plain = IsPlainOrder(entry->order.positions, signature.fetches.size());
  absl::MutexLock lock(&callables_mu_);
  callables_.emplace(next_callable_, std::move(entry));
  return next_callable_++;
}

StatusOr<std::shared_ptr<const LocalSession::CallableEntry>> LocalSession::FindCallable(
    Callable callable, std::span<const Tensor> feeds) const {
  std::shared_ptr<const CallableEntry> entry;
  {
    absl::ReaderMutexLock lock(&callables_mu_);
    auto found = callables_.find(callable);
    if (found == callables_.end()) return InvalidArgument("No such callable handle: ", callable);
    entry = found->second;
  }
  if (feeds.size() != entry->num_feeds) {
    return InvalidArgument("Expected ", entry->num_feeds, " feed tensors, but got ", feeds.size());
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].dtype() == entry->compiled->feed_types[i]) continue;
    return InvalidArgument("Tensor fed for '", entry->compiled->feed_names[i], "' has type ", Name(feeds[i].dtype()),
                           ", but must be ", Name(entry->compiled->feed_types[i]));
  }
  return entry;
}

Status LocalSession::ReleaseCallable(Callable callable) {
  absl::MutexLock lock(&callables_mu_);
  if (callables_.erase(callable) == 0) return InvalidArgument("No such callable handle: ", callable);
  return OkStatus();
}

Status LocalSession::RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                                 StepReport* report) {
  WEIR_ASSIGN_OR_RETURN(auto entry, FindCallable(callable, feeds));
  ReadyStep ready;
  WEIR_RETURN_IF_ERROR(Prepare(entry->options, report, entry->compiled, &ready, CopyOf(feeds)));
  return RunAndWait(std::move(ready), entry->order, outputs);
}

void LocalSession::RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                                    StepReport* report, RunDone done) {
  auto entry = FindCallable(callable, feeds);
  if (!entry.ok()) return done(entry.status(), {});
  StepOptions options = (*entry)->options;
  options.cancellation = cancellation;
  ReadyStep ready;
  Status prepared = Prepare(options, report, (*entry)->compiled, &ready, CopyOf(feeds));
  if (!prepared.ok()) return done(prepared, {});
  RunDetached(std::move(ready), std::shared_ptr<const FetchOrder>(*entry, &(*entry)->order), std::move(done));
}

StatusOr<Session::Part> LocalSession::AddPart(const GraphDef& def) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<CompiledStep> compiled, CompilePart(def));
  return parts_.Add(std::move(compiled));
}

void LocalSession::RunPart(Part part, int64_t step_id, std::shared_ptr<Rendezvous> rendezvous,
                           const StepOptions& options, StepReport* report, std::function<void(Status)> done) {
  auto compiled = parts_.Find(part);
  if (!compiled.ok()) return done(compiled.status());
  ReadyStep ready;
  Status prepared = Prepare(options, report, *compiled, &ready, CopyOf({}));
  if (!prepared.ok()) return done(prepared);
  ready.config.context.step_id = step_id;
  ready.config.rendezvous = std::move(rendezvous);
  StartStep(std::move(ready), /*detach=*/true,
            [self = shared_from_this(), done = std::move(done)](Status status, const std::vector<Tensor>&) {
              done(std::move(status));
            });
}

Status LocalSession::RemovePart(Part part) { return parts_.Remove(part); }

}  // namespace weir
