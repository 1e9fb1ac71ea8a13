// The tensors that parts of steps send to other tasks.
#include <algorithm>

#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/distributed/peer_buffers.h"
#include "weir/distributed/worker.h"
#include "weir/framework/memory_exporter.h"
#include "weir/proto/worker.pb.h"

namespace weir {
namespace {

using TransportKind = RecvTransport::Kind;

// Larger tensors are not part of an answer but are requested in pieces of this size, because the size of messages is
// limited.
constexpr size_t kPieceBytes = 256 << 20;
// From this size on, a copy through shared memory is faster than the network.
constexpr size_t kMinSharedBytes = 256 << 10;
// Up to this size, a copy does not delay the thread that has the tensor by much.
constexpr size_t kCopyHereBytes = 1 << 20;

bool HasBytes(const Tensor& tensor, size_t count) {
  return tensor.has_value() && IsPlain(tensor.dtype()) && tensor.num_bytes() >= count;
}

OutOfBand Describe(const Tensor& tensor) { return {.dtype = tensor.dtype(), .shape = tensor.shape()}; }

void AnswerPiece(IncomingCall* call, const Tensor& tensor, uint64_t offset) {
  if (!tensor.has_value()) return call->Finish(Aborted("The tensor is no longer kept: its step has ended"), {});
  if (offset >= tensor.num_bytes()) {
    return call->Finish(InvalidArgument("The tensor has no piece at ", offset), {});
  }
  WireBuffer message;
  WritePieceResponse(tensor, offset, std::min<size_t>(kPieceBytes, tensor.num_bytes() - offset), &message);
  call->Finish(OkStatus(), std::move(message));
}

void AnswerTensor(IncomingCall* call, RecvTensorAnswer answer) {
  answer.send_start_micros = absl::GetCurrentTimeNanos() / 1000;
  WireBuffer message;
  Status status = WriteRecvTensorResponse(answer, &message);
  call->Finish(status, std::move(message));
}

}  // namespace

// A request for a tensor.
struct Worker::TensorCall {
  IncomingCall* call = nullptr;
  int64_t step_id = 0;
  int64_t request_id = 0;
  RecvTransport transport;
};

Status Worker::CheckSource(const RendezvousKey& key) const {
  const Device* device = environment_->devices.Find(key.src_device);
  if (device == nullptr) {
    return InvalidArgument("'", key.edge_name, "' was requested from ", key.src_device, ", which is not a device of ",
                           environment_->task_name);
  }
  if (device->info().incarnation == key.src_incarnation) return OkStatus();
  return Aborted("The task ", environment_->task_name, " has restarted: '", key.edge_name,
                 "' was requested from an earlier incarnation of ", key.src_device);
}

void Worker::RecvTensor(IncomingCall* call) {
  RecvTensorRequest request;
  auto read = [&]() -> StatusOr<RecvTransport> {
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &request));
    StatusOr<RendezvousKey> key = RendezvousKey::Parse(request.rendezvous_key());
    if (!key.ok()) return InvalidArgument("Invalid  rendezvous key: ", request.rendezvous_key());
    WEIR_RETURN_IF_ERROR(CheckSource(*key));
    return ReadTransport(request.transport_options().type_url(), request.transport_options().value());
  };
  StatusOr<RecvTransport> transport = read();
  if (!transport.ok()) return call->Finish(transport.status(), {});
  TensorCall wanted{call, request.step_id(), request.request_id(), *std::move(transport)};
  if (wanted.transport.kind == TransportKind::kPiece) return DeliverPiece(wanted);
  if (wanted.transport.kind == TransportKind::kFill) return FillBuffer(std::move(wanted));
  std::shared_ptr<StepRendezvous> rendezvous = steps_->BeginPeer(wanted.step_id);
  rendezvous->RecvForPeer(request.rendezvous_key(), &call->cancellation,
                          [this, wanted = std::move(wanted)](const Status& status, RendezvousValue value) {
                            if (value.tensor.has_value()) steps_->metrics().CountSent(value.tensor.num_bytes());
                            if (value.device != nullptr) return DeliverFromDevice(wanted, std::move(value));
                            Deliver(wanted, status, std::move(value.tensor), value.is_dead);
                          });
}

void Worker::DeliverFromDevice(const TensorCall& wanted, RendezvousValue value) {
  const bool may_export = MayShare(wanted.transport) && wanted.transport.takes_exported &&
                          HasBytes(value.tensor, kMinSharedBytes) && value.run != nullptr &&
                          dynamic_cast<MemoryExporter*>(value.device) != nullptr;
  if (!may_export) return DeliverThroughHost(wanted, std::move(value));
  DeviceRun& run = *value.run;
  run.WhenDone([this, wanted, value = std::move(value)](const Status& made) {  // this is a thread of the device
    threads_.Schedule([this, wanted, value, made] {
      made.ok() ? DeliverExported(wanted, value) : Deliver(wanted, made, Tensor(), false);
    });
  });
}

void Worker::DeliverExported(const TensorCall& wanted, const RendezvousValue& value) {
  StatusOr<std::string> exported = dynamic_cast<MemoryExporter&>(*value.device).Export(value.tensor);
  if (!exported.ok()) return DeliverThroughHost(wanted, value);
  RecvTensorAnswer answer{value.tensor};
  Keep(wanted, /*share=*/false, &answer);
  answer.out_of_band->exported = *std::move(exported);
  FinishTensor(wanted, OkStatus(), std::move(answer));
}

void Worker::DeliverThroughHost(const TensorCall& wanted, RendezvousValue value) {
  const bool is_dead = value.is_dead;
  BringValue(std::move(value), /*device=*/nullptr, nullptr, [this, wanted, is_dead](StatusOr<Tensor> host) {
    Deliver(wanted, host.status(), host.ok() ? *std::move(host) : Tensor(), is_dead);
  });
}

void Worker::DeliverPiece(const TensorCall& wanted) {
  Tensor tensor = steps_->held().Look(wanted.request_id);
  Device* home = nullptr;
  for (const auto& device : environment_->devices.devices()) {
    if (!device->is_host() && device->allocator() == tensor.device_allocator()) home = device.get();
  }
  if (home == nullptr) return AnswerPiece(wanted.call, tensor, wanted.transport.offset);
  // The receiver could not read it in the device's memory.
  home->CopyToHost(tensor, nullptr, [this, wanted](StatusOr<Tensor> host) {
    if (!host.ok()) return wanted.call->Finish(host.status(), {});
    steps_->held().Hold(wanted.step_id, wanted.request_id, *host);
    AnswerPiece(wanted.call, *host, wanted.transport.offset);
  });
}

bool Worker::MayShare(const RecvTransport& transport) const {
  return options_.buffers != nullptr && transport.kind == TransportKind::kShared && !HostIdentity().empty() &&
         transport.host == HostIdentity() && transport.key.size() == kBufferKeyBytes;
}

void Worker::Deliver(const TensorCall& wanted, const Status& status, Tensor value, bool is_dead) {
  const RecvTransport& transport = wanted.transport;
  const bool share = status.ok() && MayShare(transport) && HasBytes(value, kMinSharedBytes);
  if (share && transport.buffer != 0) return DeliverIntoBuffer(wanted, std::move(value));
  const bool in_pieces = transport.kind != TransportKind::kPlain && HasBytes(value, kPieceBytes);
  RecvTensorAnswer answer{std::move(value), std::nullopt, is_dead};
  if (status.ok() && (share || in_pieces)) Keep(wanted, share, &answer);
  FinishTensor(wanted, status, std::move(answer));
}

void Worker::DeliverIntoBuffer(const TensorCall& wanted, Tensor value) {
  const bool here = value.num_bytes() <= kCopyHereBytes;
  auto deliver = [this, wanted, value = std::move(value)] {
    RecvTensorAnswer answer{value, Describe(value)};
    answer.out_of_band->in_buffer = options_.buffers->Fill(wanted.transport.key, wanted.transport.buffer, value).ok();
    if (!answer.out_of_band->in_buffer) Keep(wanted, /*share=*/true, &answer);
    FinishTensor(wanted, OkStatus(), std::move(answer));
  };
  if (here) return deliver();
  threads_.Schedule(std::move(deliver));
}

void Worker::Keep(const TensorCall& wanted, bool share, RecvTensorAnswer* answer) {
  answer->out_of_band = Describe(answer->tensor);
  if (share) answer->out_of_band->socket = options_.buffers->socket();
  steps_->held().Hold(wanted.step_id, wanted.request_id, std::move(answer->tensor), share ? wanted.transport.key : "");
}

void Worker::FinishTensor(const TensorCall& wanted, const Status& status, RecvTensorAnswer answer) {
  // Before the answer, because the service may be destroyed after it.
  if (!steps_->EndPeer(wanted.step_id)) steps_->held().ForgetStep(wanted.step_id);
  if (!status.ok()) return wanted.call->Finish(status, {});
  AnswerTensor(wanted.call, std::move(answer));
}

void Worker::FillBuffer(TensorCall wanted) {
  Tensor tensor = steps_->held().Look(wanted.request_id);
  if (!tensor.has_value()) {
    return wanted.call->Finish(Aborted("The tensor is no longer kept: its step has ended"), {});
  }
  const bool here = tensor.num_bytes() <= kCopyHereBytes;
  auto fill = [this, wanted, tensor = std::move(tensor)] {
    const RecvTransport& transport = wanted.transport;
    Status filled = PermissionDenied("it was not offered to a receiver with this secret");
    if (options_.buffers != nullptr && steps_->held().IsFor(wanted.request_id, transport.key)) {
      filled = options_.buffers->Fill(transport.key, transport.buffer, tensor);
    }
    RecvTensorAnswer answer{Tensor(), Describe(tensor)};
    answer.out_of_band->in_buffer = filled.ok();
    if (filled.ok()) {
      steps_->held().Take(wanted.request_id);
    } else {
      WEIR_LOG(WARNING) << "a tensor is sent over the network: " << Message(filled);
    }
    AnswerTensor(wanted.call, std::move(answer));
  };
  if (here) return fill();
  threads_.Schedule(std::move(fill));
}

void Worker::MarkRecvFinished(IncomingCall* call) {
  MarkRecvFinishedRequest request;
  Status status = ParseRequest(call, &request);
  if (status.ok()) steps_->held().Take(request.request_id());
  Answer(call, status, MarkRecvFinishedResponse());
}

}  // namespace weir
