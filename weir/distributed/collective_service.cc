#include "weir/distributed/collective_service.h"

#include "absl/time/clock.h"
#include "weir/distributed/collective_wire_internal.h"
#include "weir/distributed/wire/recv_buf_messages.h"

namespace weir {

void CollectiveService::Serve(WorkerMethod method, IncomingCall* call) {
  switch (method) {
    case WorkerMethod::kRecvBuf:
      return RecvBuf(call);
    case WorkerMethod::kCompleteGroup:
      return CompleteGroup(call);
    case WorkerMethod::kCompleteInstance:
      return CompleteInstance(call);
    case WorkerMethod::kGetStepSequence:
      return GetStepSequence(call);
    case WorkerMethod::kJoinRound:
      return JoinRound(call);
    default:
      return call->Finish(Internal(kWorkerMethodNames[static_cast<size_t>(method)], " is not a method for collectives"),
                          {});
  }
}

Status CollectiveService::CheckDevice(std::string_view name, uint64_t incarnation, std::string_view method) const {
  const Device* device = environment_->devices.Find(name);
  if (device == nullptr) return InvalidArgument(method, ": ", name, " is not a device of ", environment_->task_name);
  if (incarnation == 0 || device->info().incarnation == incarnation) return OkStatus();
  return FailedPrecondition(method, " expects a different device incarnation: ", incarnation, " vs. ",
                            device->info().incarnation, ". ", environment_->task_name,
                            " was restarted since the group was formed; the next collective forms it again");
}

void CollectiveService::RecvBuf(IncomingCall* call) {
  RecvBufRequest request;
  Status status = ParseRequest(call, &request);
  if (status.ok()) status = CheckDevice(request.src_device(), request.src_incarnation(), "RecvBuf");
  if (!status.ok()) return call->Finish(status, {});
  domain_->chunks().Take(static_cast<uint64_t>(request.step_id()), request.buf_rendezvous_key(), &call->cancellation,
                         [call, wanted = static_cast<size_t>(request.num_bytes())](StatusOr<Tensor> chunk) {
                           if (!chunk.ok()) return call->Finish(chunk.status(), {});
                           if (chunk->num_bytes() != wanted) {
                             return call->Finish(Internal("Tensor Size Mismatch: a chunk of ", wanted,
                                                          " bytes was requested, but its size is ", chunk->num_bytes()),
                                                 {});
                           }
                           WireBuffer message;
                           WriteRecvBufResponse(*chunk, absl::GetCurrentTimeNanos() / 1000, &message);
                           call->Finish(OkStatus(), std::move(message));
                         });
}

void CollectiveService::CompleteGroup(IncomingCall* call) {
  CompleteGroupRequest request;
  Status status = ParseRequest(call, &request);
  if (!status.ok()) return call->Finish(status, {});
  StatusOr<GroupJoin> join = FromProto(request);
  if (!join.ok()) return call->Finish(join.status(), {});
  domain_->groups().Join(*join, &call->cancellation, [call](StatusOr<GroupPtr> group) {
    CompleteGroupResponse response;
    if (group.ok()) ToProto(**group, &response);
    Answer(call, group.status(), response);
  });
}

void CollectiveService::CompleteInstance(IncomingCall* call) {
  CompleteInstanceRequest request;
  Status status = ParseRequest(call, &request);
  if (!status.ok()) return call->Finish(status, {});
  StatusOr<InstanceJoin> join = FromProto(request);
  if (!join.ok()) return call->Finish(join.status(), {});
  domain_->instances().Join(*join, &call->cancellation, [call, key = join->instance_key](StatusOr<int> source) {
    CompleteInstanceResponse response;
    response.set_instance_key(key);
    response.set_source_rank(source.ok() ? *source : -1);
    Answer(call, source.status(), response);
  });
}

void CollectiveService::GetStepSequence(IncomingCall* call) {
  GetStepSequenceRequest request;
  GetStepSequenceResponse response;
  Status status = ParseRequest(call, &request);
  for (int64_t key : request.graph_key()) {
    StepSequence* sequence = response.add_step_sequence();
    sequence->set_graph_key(key);
    sequence->set_next_step_id(domain_->sequences().Next(key));
  }
  Answer(call, status, response);
}

void CollectiveService::JoinRound(IncomingCall* call) {
  JoinRoundRequest request;
  Status status = ParseRequest(call, &request);
  if (status.ok()) status = CheckDevice(request.coordinator(), request.coordinator_incarnation(), "JoinRound");
  if (!status.ok()) return call->Finish(status, {});
  StatusOr<RoundJoin> join = FromProto(request);
  if (!join.ok()) return call->Finish(join.status(), {});
  domain_->rounds().Join(*join, &call->cancellation, [call](StatusOr<RoundPtr> round) {
    JoinRoundResponse response;
    if (round.ok()) ToProto(**round, &response);
    Answer(call, round.status(), response);
  });
}

}  // namespace weir
