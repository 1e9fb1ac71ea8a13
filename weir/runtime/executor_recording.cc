// Runs of plans whose device can record and replay their work (plan_recordings.h).
//
// Such a run first receives all values from other plans, so that nothing waits once the device has begun. To record, a
// second, private run of the same plan executes all nodes while the device collects the enqueued work instead of
// executing it; the original run then replays the result. A failed attempt has therefore changed nothing, and the
// original run executes its nodes one by one.
#include <utility>

#include "weir/base/logging.h"
#include "weir/runtime/executor_internal.h"

namespace weir {

void PlanRun::Receive() {
  is_receiving_ = true;
  received_.assign(plan_->transfers.size(), {});
  missing_.store(static_cast<int>(plan_->outer_recvs.size()), std::memory_order_relaxed);
  active_.store(1, std::memory_order_relaxed);
  Ready ready;
  for (auto recv = plan_->outer_recvs.rbegin(); recv != plan_->outer_recvs.rend(); ++recv) {
    ready.push_back({&plan_->nodes[*recv], &root_, false});
  }
  if (ready.empty()) RunReceived(ready);
  Process(ready);
  EndActivity();
}

void PlanRun::TakeReceived(const ReadyNode& entry, Tensor tensor, bool dead, Ready& ready) {
  const PlanNode& node = *entry.node;
  const bool on_device = plan_->infos[node.id].schema->name != "_HostRecv";
  received_[node.aux] = {std::move(tensor), true, dead, on_device};
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) RunReceived(ready);
}

// All values have arrived. This thread goes on with the nodes that become ready.
void PlanRun::RunReceived(Ready& ready) {
  is_receiving_ = false;
  std::string key;
  std::shared_ptr<const PlanRecording> recording;
  PlanRecordings& recordings = *plan_->recordings;
  switch (recordings.Choose(received_, &key, &recording)) {
    case PlanRecordings::Choice::kRun:
      return PushRoots(ready);
    case PlanRecordings::Choice::kRecord: {
      auto made = Record(received_);
      if (!made.ok()) {
        recordings.Refuse(key);
        WEIR_LOG(INFO) << plan_->device->name() << " runs a step node by node: " << Message(made.status());
        return PushRoots(ready);
      }
      recording = *std::move(made);
      recordings.Add(key, recording);
      break;
    }
    case PlanRecordings::Choice::kReplay:
      break;
  }
  const Status status = Replay(*recording);
  if (status.ok()) return;
  if (absl::IsAborted(status)) {
    recordings.Drop(key);
    return PushRoots(ready);
  }
  Abort(status);
}

Status PlanRun::Replay(const PlanRecording& recording) {
  std::vector<Tensor> inputs;
  for (int32_t transfer : recording.inputs) inputs.push_back(received_[transfer].tensor);
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, recording.work->Replay(*device_run_, inputs));
  for (const PlanRecording::Sent& sent : recording.sends) {
    RendezvousValue value{sent.value, false, nullptr, nullptr};
    if (sent.output >= 0) value = {outputs[sent.output], false, plan_->device, device_run_};
    const Status status =
        context_.rendezvous->SendValue(KeyIn(plan_->transfers[sent.transfer], root_), std::move(value));
    // Once the device has begun, the step cannot be run in another way.
    if (absl::IsAborted(status)) return Internal(Message(status));
    WEIR_RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<const PlanRecording>> PlanRun::Record(const std::vector<ReceivedValue>& received) {
  auto recording = std::make_shared<PlanRecording>();
  // If the run cannot be recorded, its remains are destroyed with it.
  PlanRun run(plan_);
  WEIR_RETURN_IF_ERROR(run.RecordNodes(*this, received, recording.get()));
  return std::shared_ptr<const PlanRecording>(std::move(recording));
}

Status PlanRun::RecordNodes(const PlanRun& original, const std::vector<ReceivedValue>& received,
                            PlanRecording* recording) {
  CancellationManager cancellation;  // for this run only
  context_ = original.context_;
  context_.cancellation = &cancellation;
  context_.rendezvous = nullptr;
  device_run_ = plan_->device->StartRun();
  context_.device_run = device_run_.get();
  parallel_ = false;
  is_recording_ = true;
  received_ = received;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < received.size(); ++i) {
    if (!received[i].is_there || !received[i].on_device) continue;
    recording->inputs.push_back(static_cast<int32_t>(i));
    inputs.push_back(received[i].tensor);
  }
  WEIR_ASSIGN_OR_RETURN(inputs, device_run_->StartRecording(inputs));
  for (size_t i = 0; i < inputs.size(); ++i) received_[recording->inputs[i]].tensor = inputs[i];
  active_.store(1, std::memory_order_relaxed);
  may_update_.assign(plan_->nodes.size(), false);
  Ready ready;
  PushRoots(ready);
  Process(ready);
  while (!updates_.empty() && !stopped_.load(std::memory_order_relaxed)) {
    for (const ReadyNode& entry : std::exchange(updates_, {})) {
      may_update_[entry.node->id] = true;
      ready.push_back(entry);
    }
    Process(ready);
  }
  if (stopped_.load(std::memory_order_relaxed)) {
    FastMutexLock lock(&mu_);
    return status_;
  }
  std::vector<Tensor> outputs;
  for (PlanRecording::Sent& sent : recorded_sends_) {
    if (sent.output < 0) continue;
    sent.output = static_cast<int32_t>(outputs.size());
    outputs.push_back(std::move(sent.value));
  }
  WEIR_ASSIGN_OR_RETURN(recording->work, device_run_->EndRecording(outputs));
  recording->sends = std::move(recorded_sends_);
  return OkStatus();
}

void PlanRun::RecordSend(const ReadyNode& entry, Ready& ready) {
  const PlanNode& node = *entry.node;
  Slot* const inputs = entry.iteration->slots.get() + node.input_start;
  Tensor value = inputs[0].tensor;
  ClearInputs(node, inputs);
  if (entry.dead) return Fail(node, Unimplemented("A recording cannot have dead values"));
  const bool from_device = plan_->infos[node.id].schema->name != "_HostSend";
  const int32_t own_recv = plan_->own_recvs[node.aux];
  Finish(entry, false, nullptr, ready);
  if (own_recv < 0) {
    recorded_sends_.push_back({node.aux, from_device ? 0 : -1, std::move(value)});
    return;
  }
  // A transfer from host memory to the device's memory within the plan.
  const PlanNode& recv = plan_->nodes[own_recv];
  StatusOr<Tensor> copied = Internal("The device does not copy at once");
  plan_->device->CopyFromHost(value, device_run_.get(), [&](StatusOr<Tensor> made) { copied = std::move(made); });
  if (!copied.ok()) return Fail(recv, copied.status());
  Slot brought;
  brought.tensor = *std::move(copied);
  Finish({&recv, &root_, false}, false, &brought, ready);
}

}  // namespace weir
