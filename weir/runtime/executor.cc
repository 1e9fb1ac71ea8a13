// The scheduling loop, and the nodes that run on the calling thread.
//
// There is no global ready queue. Delivering a node's outputs decrements the pending counts of its consumers
// (frames.h), and the thread whose decrement reaches zero pushes the consumer onto its own stack. Only expensive nodes
// are handed to the pool, because a hand-over takes longer than most nodes. `active_` counts the threads, offered nodes
// and asynchronous operations that work for the run; whoever decrements it to zero ends the run. A thread that finds
// the count at 1 is alone, so it may update pending counts without atomic read-modify-write operations.
//
// The first error stops the run: it aborts the rendezvous and cancels the kernels that wait. A stopped run leaves
// counts and slots half-way, so it is never reused.
#include "weir/runtime/executor.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/base/denormals.h"
#include "weir/framework/fused_nodes.h"
#include "weir/framework/scratch.h"
#include "weir/runtime/cycle_clock.h"
#include "weir/runtime/executor_internal.h"

namespace weir {
namespace {

// Nodes above this cost are worth handing over to another thread.
constexpr uint32_t kExpensiveCycles = 8000;
// Every so many runs, all nodes are timed again, since shapes may have changed.
constexpr uint32_t kMeasureEvery = 32;
constexpr int kInlineOutputs = 4;

// Tensors for Merge's value_index.
const Tensor& SmallIndex(int index) {
  static const auto* const values = [] {
    auto* out = new std::vector<Tensor>;
    for (int32_t i = 0; i < 16; ++i) out->push_back(Tensor::Scalar<int32_t>(i));
    return out;
  }();
  return (*values)[index];
}

}  // namespace

PlanRun::PlanRun(std::shared_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)), loops_(*plan_) {
  root_.Allocate(plan_->frames[0]);
  if (plan_->statics.empty()) return;
  static_by_slot_.resize(plan_->frames[0].num_slots);
  for (const ExecutionPlan::Static& value : plan_->statics) {
    static_by_slot_[value.slot] = value.value;
    root_.slots[value.slot].tensor = value.value;
  }
}

PlanRun::~PlanRun() = default;

void PlanRun::Start(const Setup& setup, Done done) {
  context_ = setup.context;
  context_.device = plan_->device;
  device_run_ = plan_->device->StartRun();
  context_.device_run = device_run_.get();
  args_ = setup.args;
  stats_ = setup.stats;
  exchange_ = setup.exchange;
  parallel_ = setup.parallel;
  done_ = std::move(done);
  rets_.assign(plan_->ret_types.size(), Tensor());
  uint32_t run = plan_->runs.fetch_add(1, std::memory_order_relaxed);
  measure_ = run < 2 || run % kMeasureEvery == 0;
  Begin();
}

void PlanRun::Begin() {
  // Loops and Merges of a malformed graph may leave counts behind.
  if (!plan_->root_merges.empty() || plan_->has_loops()) root_.ResetCounts(plan_->frames[0]);
  if (!plan_->late_args) {
    for (const ExecutionPlan::ArgUse& use : plan_->arg_uses) root_.slots[use.slot].tensor = args_[use.arg];
  }
  received_.clear();
  if (plan_->recordings != nullptr && stats_ == nullptr && exchange_ == nullptr) [[unlikely]]
    return Receive();
  Ready ready;
  PushRoots(ready);
  active_.store(1, std::memory_order_relaxed);
  Offload(ready, 0);
  Process(ready);
  EndActivity();
}

void PlanRun::PushRoots(Ready& ready) {
  // The last one on the stack runs first.
  for (auto root = plan_->roots.rbegin(); root != plan_->roots.rend(); ++root) {
    ready.push_back({&plan_->nodes[*root], &root_, false});
  }
}

// The switch of the scheduling loop; inlined into it, since most nodes take only a few nanoseconds.
__attribute__((always_inline)) inline void PlanRun::Execute(const ReadyNode& entry, Ready& ready) {
  const PlanNode& node = *entry.node;
  if (entry.dead && !node.never_dead) {
    // Transfers carry deadness to the other side; a Retval reports it.
    bool runs_dead = node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv || node.kind == NodeKind::kRetval;
    if (!runs_dead) return ExecuteDead(entry, ready);
  }
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  if (node.takes_refs && !entry.dead) [[unlikely]] {
    Status status = ResolveRefs(node, inputs);
    if (!status.ok()) return Fail(node, status);
  }
  switch (node.kind) {
    case NodeKind::kKernel:
      return ExecuteKernel(entry, ready);
    case NodeKind::kAsyncKernel:
      return ExecuteAsync(entry, ready);
    case NodeKind::kNoOp:
      if (stats_ != nullptr) [[unlikely]]
        Record(node, 0, absl::GetCurrentTimeNanos(), absl::GetCurrentTimeNanos(), nullptr);
      return Finish(entry, false, nullptr, ready);
    case NodeKind::kConst: {
      Slot value;
      value.tensor = plan_->constants[node.aux];
      if (stats_ != nullptr) [[unlikely]]
        Record(node, 0, absl::GetCurrentTimeNanos(), absl::GetCurrentTimeNanos(), &value);
      return Finish(entry, false, &value, ready);
    }
    case NodeKind::kIdentity:
    case NodeKind::kEnter:
    case NodeKind::kExit:
    case NodeKind::kNextIteration: {
      Slot value = node.has_statics ? inputs[0] : std::move(inputs[0]);
      if (stats_ != nullptr) [[unlikely]]
        Record(node, 0, absl::GetCurrentTimeNanos(), absl::GetCurrentTimeNanos(), &value);
      return Finish(entry, false, &value, ready);
    }
    case NodeKind::kSwitch:
      return ExecuteSwitch(entry, ready);
    case NodeKind::kMerge:
      return ExecuteMerge(entry, ready);
    case NodeKind::kArg:
      return ExecuteArg(entry, ready);
    case NodeKind::kRetval:
      return ExecuteRetval(entry, ready);
    case NodeKind::kSend:
      return ExecuteSend(entry, ready);
    case NodeKind::kRecv:
      return ExecuteRecv(entry, ready);
  }
}

// The scheduling loop of one thread. Nodes run depth-first: the nodes that a finished node makes ready are on top of
// the stack and run next, while their inputs are still in the cache. The thread leaves the loop when its stack is empty
// or the run was stopped; nodes left on the stack are then dropped, since the run will not be reused.
void PlanRun::Process(Ready& ready) {
  FlushDenormals flush;
  while (!ready.empty()) {
    if (stopped_.load(std::memory_order_relaxed)) [[unlikely]]
      return;
    if (context_.cancellation->cancelled()) [[unlikely]] {
      Abort(context_.cancellation->reason());
      return;
    }
    ReadyNode entry = ready.pop_back();
    size_t before = ready.size();
    ready.set_alone(active_.load(std::memory_order_acquire) == 1);
    Execute(entry, ready);
    if (ready.size() > 1 && ready.size() > before) Offload(ready, before);
  }
}

bool PlanRun::IsExpensive(const ReadyNode& entry) const {
  return entry.node->may_be_expensive && !entry.dead &&
         plan_->costs[entry.node->id].load(std::memory_order_relaxed) > kExpensiveCycles;
}

// Offers the expensive ones among the new nodes to the pool, as long as this thread keeps some work for itself.
void PlanRun::Offload(Ready& ready, size_t first_new) {
  if (!parallel_) return;
  size_t keep = first_new;
  int offered = 0;
  for (size_t i = first_new; i < ready.size(); ++i) {
    bool last_work = keep == 0 && i + 1 == ready.size();
    if (IsExpensive(ready[i]) && !last_work) {
      FastMutexLock lock(&mu_);
      shared_.push_back(ready[i]);
      ++offered;
    } else {
      ready[keep++] = ready[i];
    }
  }
  ready.Truncate(keep);
  if (offered == 0) return;
  active_.fetch_add(offered, std::memory_order_relaxed);
  for (int i = 0; i < offered; ++i) context_.runner([this] { RunShared(); });
}

void PlanRun::RunShared() {
  Ready ready;
  {
    FastMutexLock lock(&mu_);
    ready.push_back(shared_.back());
    shared_.pop_back();
  }
  Process(ready);
  EndActivity();
}

void PlanRun::EndActivity(int count) {
  if (active_.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  if (device_run_ == nullptr) [[likely]]
    return End();
  if (context_.keeper != nullptr && stats_ == nullptr && !stopped_.load(std::memory_order_acquire)) {
    context_.keeper->Keep(*plan_->device, device_run_);
    return End();
  }
  // All work has been enqueued, but the device may still be executing it, even after an error. Its callback thread must
  // return quickly, so the rest happens in the pool.
  auto finish = [this](const Status& late) {
    context_.runner([this, late] {
      if (!late.ok()) {
        FastMutexLock lock(&mu_);
        // If nodes were cancelled while they waited for results of work that failed, the failure is the reason.
        if (status_.ok() || absl::IsCancelled(status_)) status_ = late;
        stopped_.store(true, std::memory_order_release);
      }
      End();
    });
  };
  const bool waits = context_.pipelined_steps <= 0 || stats_ != nullptr || stopped_.load(std::memory_order_relaxed);
  if (waits) return device_run_->WhenDone(std::move(finish));
  device_run_->WhenLeft(context_.pipelined_steps, std::move(finish));
}

void PlanRun::End() {
  Status status;
  reusable_ = !stopped_.load(std::memory_order_relaxed);
  if (!reusable_) {
    FastMutexLock lock(&mu_);
    status = std::move(status_);
    status_ = OkStatus();
  }
  if (plan_->has_loops() && !loops_.AllDone()) reusable_ = false;
  if (status.ok() && exchange_ == nullptr) {
    for (size_t i = 0; i < rets_.size(); ++i) {
      if (rets_[i].has_value() || plan_->ret_types[i] == DType::kInvalid) continue;
      status = Internal("Result ", i, " was never computed: the graph has a loop or a Merge that cannot make progress");
      break;
    }
  }
  if (!ret_refs_.empty()) {
    Status copied = CopyRefResults();
    if (status.ok()) status = copied;
  }
  if (!last_sends_.empty()) {
    Status sent = SendLast();
    if (status.ok()) status = sent;
  }
  device_run_ = nullptr;
  // `done` may destroy this object.
  Done done = std::move(done_);
  done_ = nullptr;
  done(std::move(status));
}

// A fetched reference returns the value that its variable has at the end of the step, as if the client had read the
// memory then. It is a copy, so that it does not change with the variable.
Status PlanRun::CopyRefResults() {
  std::vector<std::pair<int, RefPtr<RefCell>>> refs;
  {
    FastMutexLock lock(&mu_);
    refs.swap(ret_refs_);
  }
  for (auto& [index, ref] : refs) {
    absl::MutexLock lock(&ref->mu);
    if (!ref->tensor.has_value()) continue;
    WEIR_ASSIGN_OR_RETURN(rets_[index], ref->tensor.Clone());
  }
  return OkStatus();
}

// The same for a reference that is fetched in another partition of the step.
Status PlanRun::SendLast() {
  std::vector<std::pair<std::string, Slot>> sends;
  {
    FastMutexLock lock(&mu_);
    sends.swap(last_sends_);
  }
  for (auto& [key, slot] : sends) {
    if (slot.ref) {
      absl::MutexLock lock(&slot.ref->mu);
      if (slot.ref->tensor.has_value()) slot.tensor = slot.ref->tensor;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor copy, slot.tensor.Clone());
    WEIR_RETURN_IF_ERROR(context_.rendezvous->Send(key, std::move(copy), false));
  }
  return OkStatus();
}

void PlanRun::Abort(const Status& status) {
  {
    FastMutexLock lock(&mu_);
    if (stopped_.load(std::memory_order_relaxed)) return;
    status_ = status;
    stopped_.store(true, std::memory_order_release);
  }
  if (context_.rendezvous != nullptr) context_.rendezvous->StartAbort(status);
  // Stop kernels that wait. The errors that they then report are consequences, not the reason.
  if (!context_.cancellation->cancelled()) context_.cancellation->StartCancel(status);
}

void PlanRun::Fail(const PlanNode& node, const Status& status) {
  if (status.code() == absl::StatusCode::kCancelled && context_.cancellation->cancelled()) {
    Status reason = context_.cancellation->reason();
    if (reason.code() != absl::StatusCode::kCancelled) return Abort(reason);
  }
  const std::string* name = &plan_->infos[node.id].name;
  if (std::optional<size_t> index = FusedNodeOf(status)) {
    auto found = plan_->fused_nodes.find(static_cast<int32_t>(node.id));
    if (found != plan_->fused_nodes.end() && *index < found->second.size()) name = &found->second[*index];
    Status told = status;
    told.ErasePayload(kFusedNodePayload);
    return Abort(Annotate(told, "", Cat("\n\t [[{{node ", *name, "}}]]")));
  }
  Abort(Annotate(status, "", Cat("\n\t [[{{node ", *name, "}}]]")));
}

void PlanRun::ExecuteDead(const ReadyNode& entry, Ready& ready) {
  ClearInputs(*entry.node, entry.iteration->slots.get() + entry.node->input_start);
  Slot nothing;  // enough for Enter, Exit and NextIteration; Deliver does not look at outputs of a dead node
  Finish(entry, true, &nothing, ready);
}

Status PlanRun::CheckOutputs(const PlanNode& node, const Slot* outputs) const {
  const std::vector<DType>& types = node.types->outputs;
  for (int i = 0; i < node.num_outputs; ++i) {
    const Slot& output = outputs[i];
    if (output.tensor.dtype() == types[i]) [[likely]]
      continue;
    if (IsRef(types[i]) && output.ref) continue;
    if (!output.has_value())
      return Internal("Missing ", i, "-th output from {{node ", plan_->infos[node.id].name, "}}");
    if (output.ref) return Internal("Output ", i, " is a reference, but was declared as ", Name(types[i]));
    return Internal("Output ", i, " of type ", Name(output.tensor.dtype()), " does not match declared output type ",
                    Name(types[i]), " for node {{node ", plan_->infos[node.id].name, "}}");
  }
  return OkStatus();
}

void PlanRun::ExecuteKernel(const ReadyNode& entry, Ready& ready) {
  if (is_recording_ && IsUpdate(entry) && !may_update_[entry.node->id]) [[unlikely]]
    return updates_.push_back(entry);
  int count = entry.node->num_outputs;
  if (count <= 1) {
    Slot output;
    RunKernel(entry, &output, ready);
  } else if (count <= kInlineOutputs) {
    Slot few[kInlineOutputs];
    RunKernel(entry, few, ready);
  } else {
    std::vector<Slot> many(count);
    RunKernel(entry, many.data(), ready);
  }
}

bool PlanRun::IsUpdate(const ReadyNode& entry) const {
  return entry.node->num_outputs == 0 && plan_->infos[entry.node->id].schema->is_stateful;
}

namespace {

inline Status ComputeOf(Kernel& kernel, KernelContext& context) {
  return WithinMemory([&] { return kernel.Compute(context); });
}

}  // namespace

inline void PlanRun::RunKernel(const ReadyNode& entry, Slot* outputs, Ready& ready) {
  const PlanNode& node = *entry.node;
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  KernelContext context(context_, plan_->infos[node.id], *node.types, {inputs, static_cast<size_t>(node.num_inputs)},
                        {outputs, node.num_outputs});
  if (entry.iteration->frame != nullptr) context.set_frame(entry.iteration->frame_id(), entry.iteration->number);
  Status status;
  if (stats_ != nullptr) [[unlikely]] {
    const uint64_t span = device_run_ != nullptr ? device_run_->BeginSpan() : 0;
    int64_t start = absl::GetCurrentTimeNanos();
    status = ComputeOf(*node.kernel, context);
    if (device_run_ != nullptr && device_run_->has_spans()) {
      // The node's cost is the device's time, not the time to enqueue the work.
      NodeStats stats = Describe(node, start, start, start, outputs);
      device_run_->EndSpan(span, [this, stats = std::move(stats)](int64_t begin_ns, int64_t end_ns) mutable {
        stats.start_ns = begin_ns;
        stats.op_end_rel_ns = stats.all_end_rel_ns = end_ns - begin_ns;
        stats_->Add(plan_->device->name(), std::move(stats));
      });
    } else {
      Record(node, start, start, absl::GetCurrentTimeNanos(), outputs);
    }
  } else if (node.may_be_expensive && (measure_ || IsExpensive(entry))) {
    uint64_t start = CycleClock::Now();
    status = ComputeOf(*node.kernel, context);
    uint64_t cycles = std::min<uint64_t>(CycleClock::Now() - start, 1u << 27);
    std::atomic<uint32_t>& cost = plan_->costs[node.id];
    uint64_t old = cost.load(std::memory_order_relaxed);
    // The initial cost is only a guess, so the first measurement replaces it; later ones enter a moving average.
    cost.store(static_cast<uint32_t>(old > (1u << 27) ? cycles : (old * 7 + cycles) / 8), std::memory_order_relaxed);
  } else {
    status = ComputeOf(*node.kernel, context);
  }
  bool usual = status.ok() && node.num_outputs == 1 && outputs[0].tensor.dtype() == node.types->outputs[0];
  if (!usual && status.ok()) status = CheckOutputs(node, outputs);
  if (!status.ok()) [[unlikely]]
    return Fail(node, status);
  ClearInputs(node, inputs);
  Finish(entry, false, outputs, ready);
}

Status PlanRun::ResolveRefs(const PlanNode& node, Slot* inputs) {
  const KernelNode& info = plan_->infos[node.id];
  const std::vector<DType>& types = node.types->inputs;
  for (int i = 0; i < node.num_inputs; ++i) {
    if (!inputs[i].ref) continue;
    absl::MutexLock lock(&inputs[i].ref->mu);
    bool initialized = inputs[i].ref->tensor.has_value();
    if (!initialized && !info.schema->allows_uninitialized_input && node.kind != NodeKind::kMerge) {
      return FailedPrecondition("Attempting to use uninitialized value ", plan_->input_names[node.id][i]);
    }
    if (!IsRef(types[i])) inputs[i].tensor = inputs[i].ref->tensor;
  }
  if (node.kind == NodeKind::kRetval || node.kind == NodeKind::kSend) return OkStatus();  // may need the reference
  for (int i = 0; i < node.num_inputs; ++i) {
    if (inputs[i].ref && !IsRef(types[i])) inputs[i].ref = nullptr;
  }
  return OkStatus();
}

void PlanRun::ExecuteSwitch(const ReadyNode& entry, Ready& ready) {
  const PlanNode& node = *entry.node;
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  const Tensor& predicate = inputs[1].tensor;
  if (predicate.dtype() != DType::kBool || predicate.num_elements() != 1 || predicate.rank() > 0) {
    return Fail(node,
                InvalidArgument("The second input must be a scalar, but it has shape ", predicate.shape().ToString()));
  }
  Slot outputs[2];
  outputs[predicate.scalar<bool>() ? 1 : 0] = node.has_statics ? inputs[0] : std::move(inputs[0]);
  if (stats_ != nullptr) [[unlikely]]
    Record(node, 0, absl::GetCurrentTimeNanos(), absl::GetCurrentTimeNanos(), outputs);
  ClearInputs(node, inputs);
  Finish(entry, false, outputs, ready);
}

void PlanRun::ExecuteMerge(const ReadyNode& entry, Ready& ready) {
  const PlanNode& node = *entry.node;
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  Slot outputs[2];
  for (int i = 0; i < node.num_inputs; ++i) {
    if (!inputs[i].has_value()) continue;
    outputs[0] = std::move(inputs[i]);
    inputs[i].Clear();
    outputs[1].tensor = i < 16 ? SmallIndex(i) : Tensor::Scalar<int32_t>(i);
    break;
  }
  if (stats_ != nullptr) [[unlikely]]
    Record(node, 0, absl::GetCurrentTimeNanos(), absl::GetCurrentTimeNanos(), outputs);
  Finish(entry, false, outputs, ready);
}

void PlanRun::ExecuteArg(const ReadyNode& entry, Ready& ready) {
  if (exchange_ != nullptr && plan_->late_args) {
    auto* op = new AsyncOp(this, entry);
    StartAsync(op);
    exchange_->GetArg(entry.node->aux, context_.cancellation, [op](StatusOr<Tensor> value) {
      if (value.ok()) op->outputs[0].tensor = std::move(*value);
      op->run->CompleteAsync(op, value.status());
    });
    return ReturnAsync(op, ready);
  }
  Slot value;
  value.tensor = args_[entry.node->aux];
  Finish(entry, false, &value, ready);
}

void PlanRun::ExecuteRetval(const ReadyNode& entry, Ready& ready) {
  const PlanNode& node = *entry.node;
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  if (entry.dead) {
    Status status = InvalidArgument("Retval[", node.aux, "] does not have value");
    if (exchange_ == nullptr) return Abort(status);
    exchange_->PutRet(node.aux, status);
  } else if (exchange_ != nullptr) {
    exchange_->PutRet(node.aux, node.has_statics ? inputs[0].tensor : std::move(inputs[0].tensor));
  } else if (inputs[0].ref) {
    FastMutexLock lock(&mu_);
    ret_refs_.emplace_back(node.aux, std::move(inputs[0].ref));
    rets_[node.aux] = std::move(inputs[0].tensor);
  } else {
    rets_[node.aux] = node.has_statics ? inputs[0].tensor : std::move(inputs[0].tensor);
  }
  ClearInputs(node, inputs);
  Finish(entry, false, nullptr, ready);
}

void PlanRun::Record(const PlanNode& node, int64_t scheduled_ns, int64_t start_ns, int64_t op_end_ns,
                     const Slot* outputs) {
  stats_->Add(plan_->device->name(), Describe(node, scheduled_ns, start_ns, op_end_ns, outputs));
}

NodeStats PlanRun::Describe(const PlanNode& node, int64_t scheduled_ns, int64_t start_ns, int64_t op_end_ns,
                            const Slot* outputs) const {
  const KernelNode& info = plan_->infos[node.id];
  NodeStats stats;
  stats.node = info.name;
  stats.label = Cat(info.name, " = ", info.schema->name, "()");
  stats.scheduled_ns = scheduled_ns != 0 ? scheduled_ns : start_ns;
  stats.start_ns = start_ns;
  stats.op_end_rel_ns = op_end_ns - start_ns;
  stats.all_end_rel_ns = absl::GetCurrentTimeNanos() - start_ns;
  stats.thread_id = CurrentThreadNumber();
  if (!plan_->device->is_host()) stats.device_bytes = plan_->device->allocator()->Stats().bytes_in_use;
  for (int i = 0; outputs != nullptr && i < node.num_outputs; ++i) {
    const Tensor& tensor = outputs[i].tensor;
    if (!tensor.has_value()) continue;
    auto bytes = static_cast<int64_t>(tensor.num_bytes());
    if (tensor.unique()) stats.allocated_bytes += bytes;
    stats.outputs.push_back(
        {i, tensor.dtype(), tensor.shape(), bytes, bytes, reinterpret_cast<uint64_t>(tensor.raw_data())});
  }
  return stats;
}

std::unique_ptr<PlanRun> PlanRunPool::Acquire() {
  {
    FastMutexLock lock(&mu_);
    if (!free_.empty()) {
      std::unique_ptr<PlanRun> run = std::move(free_.back());
      free_.pop_back();
      return run;
    }
  }
  return std::make_unique<PlanRun>(plan_);
}

void PlanRunPool::Release(std::unique_ptr<PlanRun> run) {
  if (!run->reusable()) return;
  FastMutexLock lock(&mu_);
  free_.push_back(std::move(run));
}

}  // namespace weir
