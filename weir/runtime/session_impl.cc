#include "weir/runtime/session_impl.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/framework/session_tensors.h"
#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/partial_run.h"

namespace weir {
namespace {

std::atomic<int64_t> next_step_id{1};
std::atomic<int64_t> next_session_id{1};

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

}  // namespace

void Session::Impl::StartTimed(ReadyStep ready, Step::Done done) {
  int64_t start = absl::GetCurrentTimeNanos();
  std::shared_ptr<CompiledStep> compiled = std::move(ready.compiled);
  Step::Start(std::move(ready.step), std::move(ready.config),
              [compiled, done = std::move(done)](Status status, std::vector<Tensor> out) {
                done(std::move(status), std::move(out));
              });
  compiled->last_start_ns.store(absl::GetCurrentTimeNanos() - start, std::memory_order_relaxed);
}

Session::Impl::Impl(std::shared_ptr<Environment> environment, SessionOptions options,
                    std::shared_ptr<RemoteTasks> remote)
    : environment_(std::move(environment)),
      options_(std::move(options)),
      handle_(Cat("session_", next_session_id.fetch_add(1, std::memory_order_relaxed))),
      remote_(std::move(remote)),
      graph_(environment_->ops) {}

Session::Impl::~Impl() {
  // Iterators have threads that use the devices.
  if (own_resources_ != nullptr) own_resources_->ClearAll();
  for (const auto& device : devices_.devices()) {
    device->resources().ClearContainer(SessionTensorContainer(handle_));
  }
}

Status Session::Impl::Init() {
  if (options_.isolate_state) own_resources_ = std::make_shared<ResourceManager>();
  std::map<std::string, int> taken;
  for (const auto& device : environment_->devices.devices()) {
    auto limit = options_.device_count.find(device->type());
    if (limit != options_.device_count.end() && taken[device->type()] >= limit->second && !device->is_host()) continue;
    ++taken[device->type()];
    std::shared_ptr<Device> chosen = device;
    if (own_resources_ != nullptr) {
      chosen = device->WithResources(own_resources_);
      if (chosen == nullptr) return Unimplemented("Device ", device->name(), " cannot isolate a session's state");
    }
    devices_.Add(std::move(chosen));
  }
  if (remote_ != nullptr) {  // after this task's own, which are preferred
    for (const auto& device : remote_->devices()) devices_.Add(device);
  }
  if (devices_.host() == nullptr || IsRemote(*devices_.host()))
    return FailedPrecondition("A session needs a host device, but none is registered");
  if (options_.own_threads) {
    own_inter_op_ = std::make_unique<ThreadPool>("weir-inter", std::max(0, options_.inter_op_threads));
    own_intra_op_ = std::make_unique<ThreadPool>("weir-intra", std::max(0, options_.intra_op_threads));
    inter_op_ = own_inter_op_.get();
    intra_op_ = own_intra_op_.get();
  } else {
    inter_op_ = environment_->InterOpPool(std::max(0, options_.inter_op_threads));
    intra_op_ = environment_->IntraOpPool(std::max(0, options_.intra_op_threads));
  }
  absl::MutexLock lock(&graph_mu_);
  graph_.functions()->set_differentiator(environment_->differentiator);
  // Iterators keep a runtime of their own, which may outlive this session but not the environment.
  ThreadPool* lasting_pool = environment_->IntraOpPool(std::max(0, options_.intra_op_threads));
  DeviceSet own_devices;  // a function's body runs in this task
  for (const auto& device : devices_.devices()) {
    if (!IsRemote(*device)) own_devices.Add(device);
  }
  SessionOptions body_options = options_;
  body_options.allow_soft_placement = true;
  functions_ = std::make_unique<LocalFunctionRuntime>(
      graph_.functions(), environment_->kernels, lasting_pool,
      std::make_shared<GraphCompiler>(*environment_, std::move(own_devices), graph_.functions(), lasting_pool,
                                      std::move(body_options)));
  compiler_ = std::make_unique<GraphCompiler>(*environment_, devices_, graph_.functions(), intra_op_, options_);
  kernels_ = std::make_unique<KernelCache>(environment_->kernels, functions_.get());
  return OkStatus();
}

Status Session::Impl::CheckRoomFor(int64_t added) const {
  if (graph_.num_nodes() + added <= options_.max_graph_nodes) return OkStatus();
  return ResourceExhausted("The graph would have ", graph_.num_nodes() + added, " nodes; at most ",
                           options_.max_graph_nodes, " are allowed");
}

Status Session::Impl::Extend(const GraphDef& def) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  absl::MutexLock lock(&graph_mu_);
  WEIR_RETURN_IF_ERROR(CheckRoomFor(def.node_size()));
  WEIR_RETURN_IF_ERROR(ImportGraphDef(def, &graph_));
  if (def.node_size() > 0 || def.library().function_size() > 0) ++version_;
  return OkStatus();
}

Status Session::Impl::Extend(const Graph& graph) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  absl::MutexLock lock(&graph_mu_);
  WEIR_RETURN_IF_ERROR(CheckRoomFor(graph.num_nodes()));
  WEIR_RETURN_IF_ERROR(ImportGraph(graph, &graph_));
  if (graph.num_nodes() > 0 || !graph.functions()->Names().empty()) ++version_;
  return OkStatus();
}

Status Session::Impl::Extend(Graph&& graph) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  {
    absl::MutexLock lock(&graph_mu_);
    // Functions belong to the library that this session's runtime knows.
    bool plain = graph.functions()->Names().empty() && &graph.ops() == &graph_.ops();
    if (plain && graph_.num_nodes() == 0 && graph.num_nodes() <= options_.max_graph_nodes) {
      WEIR_RETURN_IF_ERROR(TopologicalOrder(graph).status());
      std::shared_ptr<FunctionLibrary> functions = graph_.functions();
      graph_ = std::move(graph);
      graph_.set_functions(std::move(functions));
      ++version_;
      return OkStatus();
    }
  }
  return Extend(static_cast<const Graph&>(graph));
}

int64_t Session::Impl::graph_version() const {
  absl::MutexLock lock(&graph_mu_);
  return version_;
}

StatusOr<const Session::Impl::Signature*> Session::Impl::FindSignature(std::span<const Feed> feeds,
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

Status Session::Impl::OrderFeeds(const Signature& signature, std::span<const Feed> feeds,
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

Status Session::Impl::Prepare(const StepOptions& options, StepReport* report,
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

Step::Config Session::Impl::MakeConfig(const StepOptions& options, StepReport* report) {
  Step::Config config;
  config.context.step_id =
      remote_ != nullptr ? remote_->NewStepId() : next_step_id.fetch_add(1, std::memory_order_relaxed);
  config.remote = remote_.get();
  config.context.intra_op = intra_op_;
  config.context.session_handle = handle_;
  config.context.runner = [pool = inter_op_](std::function<void()> closure) { pool->Schedule(std::move(closure)); };
  config.context.functions = functions_.get();
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

void Session::Impl::StartStep(ReadyStep ready, bool detach, Step::Done done) {
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

void Session::Impl::Close(const Status& reason) { steps_->Close(reason, Cancelled("Session has been closed.")); }

StatusOr<Session::Callable> Session::Impl::MakeCallable(const CallableSpec& spec) {
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

StatusOr<std::shared_ptr<const Session::Impl::CallableEntry>> Session::Impl::FindCallable(
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

Status Session::Impl::ReleaseCallable(Callable callable) {
  absl::MutexLock lock(&callables_mu_);
  if (callables_.erase(callable) == 0) return InvalidArgument("No such callable handle: ", callable);
  return OkStatus();
}

}  // namespace weir
