// Asynchronous nodes: kernels that may wait, Send and Recv, and arguments that arrive during the step.
//
// The thread that starts a node and the node's completion race; AsyncOp::state decides, and whichever reports second
// finishes the node. If the completion came first, which is the usual case for values that are already there, the
// starting thread goes on with the consumers at once. Otherwise the completing thread hands them to the pool, unless it
// may run short work itself (short_work.h).
#include <algorithm>

#include "absl/time/clock.h"
#include "weir/framework/scratch.h"
#include "weir/runtime/cycle_clock.h"
#include "weir/runtime/executor_internal.h"
#include "weir/runtime/short_work.h"

namespace weir {

uint32_t CurrentThreadNumber() {
  static std::atomic<uint32_t> next{0};
  thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

void PlanRun::StartAsync(AsyncOp* op) {
  if (stats_ != nullptr) op->start_ns = absl::GetCurrentTimeNanos();
  active_.fetch_add(1, std::memory_order_relaxed);
  FastMutexLock lock(&mu_);
  waiting_.push_back(op);
}

void PlanRun::ReturnAsync(AsyncOp* op, Ready& ready) {
  if (op->state.exchange(AsyncOp::kReturned, std::memory_order_acq_rel) != AsyncOp::kCompleted) return;
  FinishAsync(op, ready);
  // The calling thread is active itself, so this is not the end.
  active_.fetch_sub(1, std::memory_order_acq_rel);
}

void PlanRun::CompleteAsync(AsyncOp* op, Status status) {
  op->status = std::move(status);
  if (op->state.exchange(AsyncOp::kCompleted, std::memory_order_acq_rel) != AsyncOp::kReturned) return;
  std::atomic<uint32_t>& cost = plan_->resume_costs[op->entry.node->id];
  const bool here = !parallel_ || (AllowShortWork::Take() && cost.load(std::memory_order_relaxed) < kShortWorkCycles);
  if (here) return Resume(op);
  context_.runner([this, op] { Resume(op); });
}

void PlanRun::Resume(AsyncOp* op) {
  std::atomic<uint32_t>& cost = plan_->resume_costs[op->entry.node->id];
  const uint64_t start = CycleClock::Now();
  Ready ready;
  FinishAsync(op, ready);
  Process(ready);
  cost.store(static_cast<uint32_t>(std::min<uint64_t>(CycleClock::Now() - start, UINT32_MAX)),
             std::memory_order_relaxed);
  EndActivity();
}

void PlanRun::FinishAsync(AsyncOp* op, Ready& ready) {
  {
    FastMutexLock lock(&mu_);
    auto found = std::find(waiting_.begin(), waiting_.end(), op);
    *found = waiting_.back();
    waiting_.pop_back();
  }
  std::unique_ptr<AsyncOp> owner(op);
  const PlanNode& node = *op->entry.node;
  if (stats_ != nullptr) Record(node, op->start_ns, op->start_ns, absl::GetCurrentTimeNanos(), op->outputs.data());
  Status status = std::move(op->status);
  if (status.ok() && node.kind == NodeKind::kAsyncKernel) status = CheckOutputs(node, op->outputs.data());
  if (!status.ok()) return Fail(node, status);
  op->context.reset();
  op->inputs.clear();
  if (is_receiving_) return TakeReceived(op->entry, std::move(op->outputs[0].tensor), op->dead, ready);
  Finish(op->entry, op->dead, op->outputs.data(), ready);
}

void PlanRun::ExecuteAsync(const ReadyNode& entry, Ready& ready) {
  const PlanNode& node = *entry.node;
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  auto* op = new AsyncOp(this, entry);
  // The kernel needs its inputs for longer than the slots keep them.
  op->inputs.resize(node.num_inputs);
  for (int i = 0; i < node.num_inputs; ++i) op->inputs[i] = node.has_statics ? inputs[i] : std::move(inputs[i]);
  ClearInputs(node, inputs);
  op->context.emplace(context_, plan_->infos[node.id], std::span<Slot>(op->inputs.data(), op->inputs.size()),
                      std::span<Slot>(op->outputs.data(), node.num_outputs));
  if (entry.iteration->frame != nullptr) op->context->set_frame(entry.iteration->frame_id(), entry.iteration->number);
  StartAsync(op);
  Completion done([op](Status status) { op->run->CompleteAsync(op, std::move(status)); });
  // A kernel that throws drops its Completion, and that reports an error.
  WithinMemory([&] {
    node.kernel->ComputeAsync(*op->context, std::move(done));
    return OkStatus();
  }).IgnoreError();
  ReturnAsync(op, ready);
}

std::string PlanRun::KeyIn(const TransferKey& key, const Iteration& iteration) {
  return Cat(key.prefix, iteration.frame_id(), ":", iteration.number);
}

void PlanRun::ExecuteSend(const ReadyNode& entry, Ready& ready) {
  if (is_recording_) [[unlikely]]
    return RecordSend(entry, ready);
  const PlanNode& node = *entry.node;
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  if (context_.rendezvous == nullptr) return Fail(node, Internal("Op kernel context needs to provide a rendezvous."));
  std::string key = KeyIn(plan_->transfers[node.aux], *entry.iteration);
  const bool at_end = plan_->transfers[node.aux].client_terminated && context_.rendezvous->has_one_call();
  if (at_end && !entry.dead && plan_->device->is_host()) {
    {
      FastMutexLock lock(&mu_);
      last_sends_.emplace_back(std::move(key), inputs[0]);
    }
    ClearInputs(node, inputs);
    return Finish(entry, false, nullptr, ready);
  }
  Tensor value = entry.dead ? Tensor() : inputs[0].tensor;
  ClearInputs(node, inputs);
  const bool from_device =
      !entry.dead && !plan_->device->is_host() && plan_->infos[node.id].schema->name != "_HostSend";
  // A value on the device stays there: the receiver knows which memory needs it.
  RendezvousValue sent{std::move(value), entry.dead, nullptr, nullptr};
  if (from_device) sent.device = plan_->device, sent.run = device_run_;
  auto* op = new AsyncOp(this, entry);
  op->dead = entry.dead;
  StartAsync(op);
  op->run->CompleteAsync(op, context_.rendezvous->SendValue(key, std::move(sent)));
  ReturnAsync(op, ready);
}

void PlanRun::ExecuteRecv(const ReadyNode& entry, Ready& ready) {
  const PlanNode& node = *entry.node;
  if (!is_receiving_ && !received_.empty() && received_[node.aux].is_there) {
    Slot value;
    value.tensor = std::move(received_[node.aux].tensor);
    return Finish(entry, received_[node.aux].dead || entry.dead, &value, ready);
  }
  if (is_recording_) return;  // RecordSend delivers the value, which comes from this plan itself
  if (context_.rendezvous == nullptr) return Fail(node, Internal("Op kernel context needs to provide a rendezvous."));
  std::string key = KeyIn(plan_->transfers[node.aux], *entry.iteration);
  auto* op = new AsyncOp(this, entry);
  StartAsync(op);
  bool to_device = !plan_->device->is_host() && plan_->infos[node.id].schema->name != "_HostRecv";
  context_.rendezvous->RecvValueAsync(
      key, context_.cancellation, [op, to_device](Status status, RendezvousValue value) {
        PlanRun* run = op->run;
        op->dead = value.is_dead || op->entry.dead;
        if (!status.ok() || op->dead) return run->CompleteAsync(op, std::move(status));
        if (value.device == nullptr && !to_device) {
          op->outputs[0].tensor = std::move(value.tensor);
          return run->CompleteAsync(op, OkStatus());
        }
        Device* const device = to_device ? run->plan_->device : nullptr;
        BringValue(std::move(value), device, run->device_run_, [op](StatusOr<Tensor> copied) {
          if (copied.ok()) op->outputs[0].tensor = std::move(*copied);
          op->run->CompleteAsync(op, copied.status());
        });
      });
  ReturnAsync(op, ready);
}

std::vector<std::string> PlanRun::PendingNodes() const {
  std::vector<std::string> out;
  FastMutexLock lock(&mu_);
  for (const AsyncOp* op : waiting_) {
    const KernelNode& info = plan_->infos[op->entry.node->id];
    std::string from;
    if (op->entry.node->kind == NodeKind::kRecv) {
      const std::string& key = plan_->transfers[op->entry.node->aux].prefix;
      from = Cat(" from ", key.substr(0, key.find(';')));
    }
    out.push_back(Cat("'", info.name, "' (", info.schema->name, from, ")"));
  }
  return out;
}

}  // namespace weir
