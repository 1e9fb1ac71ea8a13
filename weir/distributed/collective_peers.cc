#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/time/clock.h"
#include "weir/distributed/collective_peers_internal.h"
#include "weir/distributed/collective_wire_internal.h"
#include "weir/distributed/wire/recv_buf_messages.h"

namespace weir {
namespace {

constexpr absl::Duration kProbeTime = absl::Seconds(10);

WorkerClient::Options Cancellable(CancellationManager* cancellation) {
  WorkerClient::Options options;
  options.cancellation = cancellation;
  return options;
}

}  // namespace

StatusOr<std::shared_ptr<WorkerClient>> GrpcCollectivePeers::Find(std::string_view task) const {
  std::shared_ptr<WorkerClient> client = peers_->Find(task);
  if (client == nullptr) return InvalidArgument(task, " is not another task of the cluster of ", peers_->own_task());
  return client;
}

void GrpcCollectivePeers::CompleteGroup(const std::string& task, const GroupJoin& join,
                                        CancellationManager* cancellation, GroupTable::Done done) {
  auto client = Find(task);
  if (!client.ok()) return done(client.status());
  CompleteGroupRequest request;
  ToProto(join, &request);
  auto response = std::make_shared<CompleteGroupResponse>();
  WorkerClient::Options options = Cancellable(cancellation);
  options.wait_for_ready = true;  // the leader may start after its followers
  options.deadline = join.deadline + absl::Seconds(1);
  (*client)->Call(WorkerMethod::kCompleteGroup, request, response, options,
                  [response, done = std::move(done)](const Status& status) {
                    if (!status.ok()) return done(status);
                    done(FromProto(*response));
                  });
}

void GrpcCollectivePeers::CompleteInstance(const std::string& task, const InstanceJoin& join,
                                           CancellationManager* cancellation, InstanceTable::Done done) {
  auto client = Find(task);
  if (!client.ok()) return done(client.status());
  CompleteInstanceRequest request;
  ToProto(join, &request);
  auto response = std::make_shared<CompleteInstanceResponse>();
  (*client)->Call(WorkerMethod::kCompleteInstance, request, response, Cancellable(cancellation),
                  [response, done = std::move(done)](const Status& status) {
                    if (!status.ok()) return done(status);
                    done(response->source_rank());
                  });
}

void GrpcCollectivePeers::JoinRound(const CollectiveMember& coordinator, const RoundJoin& join,
                                    CancellationManager* cancellation, RoundTable::Done done) {
  auto client = Find(TaskOfMember(coordinator.device));
  if (!client.ok()) return done(client.status());
  JoinRoundRequest request;
  ToProto(join, &request);
  request.set_coordinator(coordinator.device);
  request.set_coordinator_incarnation(coordinator.incarnation);
  auto response = std::make_shared<JoinRoundResponse>();
  (*client)->Call(WorkerMethod::kJoinRound, request, response, Cancellable(cancellation),
                  [response, done = std::move(done)](const Status& status) {
                    if (!status.ok()) return done(status);
                    done(FromProto(*response));
                  });
}

void GrpcCollectivePeers::FetchChunk(const ChunkRequest& chunk, Tensor into, CancellationManager* cancellation,
                                     std::function<void(Status)> done) {
  auto client = Find(TaskOfMember(chunk.sender->device));
  if (!client.ok()) return done(client.status());
  RecvBufRequest request;
  request.set_step_id(static_cast<int64_t>(chunk.round));
  request.set_buf_rendezvous_key(chunk.key);
  request.set_num_bytes(static_cast<int64_t>(into.num_bytes()));
  request.set_src_device(chunk.sender->device);
  request.set_dst_device(chunk.receiver->device);
  request.set_src_incarnation(chunk.sender->incarnation);
  request.set_request_id(RandomId());
  WireBuffer bytes;
  bytes.Append(request.SerializeAsString());
  (*client)->Call(WorkerMethod::kRecvBuf, std::move(bytes), Cancellable(cancellation),
                  [into, done = std::move(done)](const Status& status, grpc::ByteBuffer& response) mutable {
                    if (!status.ok()) return done(status);
                    const size_t size = response.Length();
                    grpc::ProtoBufferReader reader(&response);
                    done(ReadRecvBufResponse(&reader, size, static_cast<char*>(into.raw_data()), into.num_bytes()));
                  });
}

void GrpcCollectivePeers::GetStepSequence(const std::string& task, int64_t graph_key,
                                          std::function<void(StatusOr<int64_t>)> done) {
  auto client = Find(task);
  if (!client.ok()) return done(client.status());
  GetStepSequenceRequest request;
  request.add_graph_key(graph_key);
  auto response = std::make_shared<GetStepSequenceResponse>();
  WorkerClient::Options options;
  options.deadline = absl::Now() + kProbeTime;
  (*client)->Call(
      WorkerMethod::kGetStepSequence, request, response, options,
      [response, graph_key, done = std::move(done)](const Status& status) {
        if (!status.ok()) return done(status);
        for (const StepSequence& sequence : response->step_sequence()) {
          if (sequence.graph_key() == graph_key) return done(sequence.next_step_id());
        }
        done(Internal("The leader did not say which id the next step with the graph key ", graph_key, " has"));
      });
}

void GrpcCollectivePeers::Probe(const CollectiveMember& member, std::function<void(Status)> done) {
  auto client = Find(TaskOfMember(member.device));
  if (!client.ok()) return done(client.status());
  auto response = std::make_shared<GetStatusResponse>();
  WorkerClient::Options options;
  options.deadline = absl::Now() + kProbeTime;
  (*client)->Call(WorkerMethod::kGetStatus, GetStatusRequest(), response, options,
                  [response, member, done = std::move(done)](const Status& status) {
                    if (absl::IsUnavailable(status)) {
                      return done(Annotate(status, Cat("The collective's member ", member.device, " is gone: ")));
                    }
                    // It may only be slow: the collective's deadline decides.
                    if (!status.ok()) return done(OkStatus());
                    for (const DeviceAttributes& device : response->device_attributes()) {
                      if (device.name() == member.device && device.incarnation() == member.incarnation) {
                        return done(OkStatus());
                      }
                    }
                    done(Aborted("The collective's member ", member.device,
                                 " has restarted since its group was formed; the next collective forms it again"));
                  });
}

}  // namespace weir
