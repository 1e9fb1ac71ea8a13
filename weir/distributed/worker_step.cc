// Parts of steps. The tensors that they send to other tasks are in worker_tensors.cc.
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "weir/distributed/cluster_spec.h"
#include "weir/distributed/wire/worker_messages.h"
#include "weir/distributed/worker.h"
#include "weir/proto/config.pb.h"
#include "weir/proto/worker.pb.h"

namespace weir {

// A RunGraph in progress; kept alive by the completion of the step.
struct Worker::Part {
  IncomingCall* call = nullptr;
  RunGraphCall request;
  RunGraphAnswer answer;
  std::shared_ptr<ServedSession> session;
  std::shared_ptr<StepRendezvous> rendezvous;
  Session::Part part = 0;
  StepReport report;
  size_t next_result = 0;
  std::shared_ptr<PartialPart> partial;  // null if the part is run by a single call
};

Status Worker::PrepareRun(Part& part) {
  RunGraphCall& request = part.request;
  WEIR_RETURN_IF_ERROR(request_ids_.Track(request.request_id, "RunGraph"));
  WEIR_ASSIGN_OR_RETURN(part.session, BeginCall(request.session_handle));
  WEIR_RETURN_IF_ERROR(request.send_error);
  if (!absl::SimpleHexAtoi(request.graph_handle, &part.part)) {
    return Aborted("Graph handle is not found: ", request.graph_handle);
  }
  if (request.step_id == 0) return InvalidArgument("A step needs an id");
  part.rendezvous = steps_->Begin(request.step_id);
  for (auto& [key, tensor] : request.sends) {
    WEIR_ASSIGN_OR_RETURN(const RendezvousKey parsed, RendezvousKey::Parse(key));
    const bool own = TaskOfDevice(parsed.src_device) == environment_->task_name;
    if (!own) steps_->metrics().CountFetched(tensor.num_bytes(), 0);
    WEIR_RETURN_IF_ERROR(part.rendezvous->Send(key, std::move(tensor), false));
  }
  request.sends.clear();
  return OkStatus();
}

void Worker::RunGraph(IncomingCall* call) {
  auto part = std::make_shared<Part>();
  part->call = call;
  Status status = ReadRunGraph(call->request(), call->request_bytes(), &part->request);
  if (!status.ok()) return call->Finish(status, {});
  status = PrepareRun(*part);
  if (!status.ok()) return FinishRun(*part, status);
  if (part->request.is_partial) return RunPartial(part);
  StepOptions options;
  options.cancellation = &call->cancellation;
  options.timeout = call->deadline - absl::Now();
  if (part->request.record_timeline) options.trace = TraceLevel::kFull;
  part->session->session().RunPart(part->part, part->request.step_id, part->rendezvous, options,
                                   part->request.record_timeline ? &part->report : nullptr,
                                   [this, part](const Status& status) {
                                     if (!status.ok()) return FinishRun(*part, status);
                                     CollectResults(part);
                                   });
}

void Worker::RunPartial(const std::shared_ptr<Part>& part) {
  auto found = partial_parts_.FindOrAdd(part->request.step_id, part->request.graph_handle);
  if (!found.ok()) return FinishRun(*part, found.status());
  part->partial = found->first;
  if (found->second) {
    // The part outlives this call, so it counts as a call of its own.
    Status begun = part->session->BeginCall();
    if (!begun.ok()) return FinishRun(*part, begun);
    part->rendezvous->SetPartial();
    StepOptions options;
    options.cancellation = &part->partial->cancellation;
    part->session->session().RunPart(
        part->part, part->request.step_id, part->rendezvous, options, nullptr,
        [running = part->partial, session = part->session, rendezvous = part->rendezvous](const Status& status) {
          if (!status.ok()) rendezvous->StartAbort(status);
          running->End(status);
          session->EndCall();
        });
  }
  CollectResults(part);
}

// All results have arrived. The last call is answered when the part has ended.
void Worker::AnswerPartial(const std::shared_ptr<Part>& part) {
  if (!part->request.is_last_partial_run) return FinishRun(*part, OkStatus());
  partial_parts_.Remove(part->request.step_id, part->request.graph_handle);
  CancellationManager& caller = part->call->cancellation;
  const CancellationManager::Token token =
      caller.Register([running = part->partial, &caller] { running->cancellation.StartCancel(caller.reason()); });
  if (token == CancellationManager::kNoToken) part->partial->cancellation.StartCancel(caller.reason());
  part->partial->AwaitEnd([this, part, token](const Status& status) {
    if (token != CancellationManager::kNoToken) part->call->cancellation.TryDeregister(token);
    FinishRun(*part, status);
  });
}

// Collects the tensors that the caller wants with the answer. A part with a single call has either sent them by now or
// never will.
void Worker::CollectResults(const std::shared_ptr<Part>& part) {
  if (part->next_result == part->request.recv_keys.size()) {
    return part->partial != nullptr ? AnswerPartial(part) : FinishRun(*part, OkStatus());
  }
  const std::string& key = part->request.recv_keys[part->next_result++];
  part->rendezvous->RecvAsync(
      key, &part->call->cancellation, [this, part, &key](const Status& status, Tensor value, bool is_dead) {
        if (!status.ok()) return FinishRun(*part, status);
        if (is_dead) {
          return FinishRun(*part, InvalidArgument("The tensor returned for ", key, " was not valid."));
        }
        part->answer.received.emplace_back(key, std::move(value));
        CollectResults(part);
      });
}

void Worker::FinishRun(Part& part, const Status& status) {
  steps_->metrics().parts.fetch_add(1, std::memory_order_relaxed);
  if (!status.ok()) steps_->metrics().part_errors.fetch_add(1, std::memory_order_relaxed);
  if (part.request.record_timeline) {
    RunMetadata metadata;
    part.report.ToProto(&metadata);
    part.answer.step_stats = metadata.step_stats().SerializeAsString();
  }
  Status outcome = status;
  if (!outcome.ok() && part.rendezvous != nullptr) {
    part.rendezvous->StartAbort(outcome);
    if (part.partial != nullptr) part.partial->cancellation.StartCancel(outcome);
    // A master that has gone away will not clean up.
    if (part.call->cancellation.cancelled()) steps_->End(part.request.step_id, outcome);
  }
  if (outcome.ok() && part.request.only_part) part.answer.forgotten = steps_->EndIfIdle(part.request.step_id);
  WireBuffer message;
  if (outcome.ok()) outcome = WriteRunGraphResponse(part.answer, &message);
  if (!outcome.ok() && part.request.store_errors_in_response_body) {
    part.answer.received.clear();
    part.answer.status = outcome;
    WriteRunGraphResponse(part.answer, &message).IgnoreError();  // cannot fail: there are no tensors
    outcome = OkStatus();
  }
  // Finish may destroy the call and with it what the part points to.
  std::shared_ptr<ServedSession> session = part.session;
  part.call->Finish(outcome, std::move(message));
  if (session != nullptr) session->EndCall();
}

void Worker::CleanupGraph(IncomingCall* call) {
  CleanupGraphRequest request;
  Status status = ParseRequest(call, &request);
  if (status.ok()) {
    partial_parts_.EndStep(request.step_id());
    steps_->End(request.step_id(), Cancelled("The step has ended"));
  }
  Answer(call, status, CleanupGraphResponse());
}

}  // namespace weir
