// The ways in which a tensor arrives. The first that is possible is taken:
// - Small tensors are part of the answer.
// - If an edge had a large tensor in an earlier step, the request offers an idle buffer that the sender already knows,
//   and the sender fills it before it answers.
// - Otherwise the sender keeps the tensor and says where it is. If both tasks are on one machine, the receiver shares a
//   new buffer with the sender and asks it to fill that; a device may also copy directly from the sender's device.
// - Otherwise the receiver requests one piece after the other over the network.
#include <grpcpp/support/proto_buffer_reader.h>

#include <memory>
#include <random>

#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/distributed/tensor_fetcher_internal.h"
#include "weir/framework/memory_exporter.h"
#include "weir/proto/worker.pb.h"
#include "weir/runtime/short_work.h"

namespace weir {
namespace {

using Kind = RecvTransport::Kind;

// The number of edges whose sizes are remembered.
constexpr size_t kMaxEdges = 1 << 14;
// After so many failures in a row, no more memory is shared with a sender.
constexpr int kMaxFailures = 3;

// The part of the key that is the same in every step: all except frame and iteration.
std::string_view EdgeOf(std::string_view key) { return key.substr(0, key.rfind(';')); }

Status CheckPlain(const OutOfBand& there) {
  if (IsPlain(there.dtype)) return OkStatus();
  return InvalidArgument("Only tensors of plain types can be sent out of band, not ", Name(there.dtype));
}

// SIZE_MAX if the peer sends an absurd shape.
size_t BytesOf(const OutOfBand& there) {
  size_t bytes = 0;
  const auto count = static_cast<size_t>(there.shape.num_elements());
  return __builtin_mul_overflow(count, SizeOf(there.dtype), &bytes) ? SIZE_MAX : bytes;
}

}  // namespace

int64_t RandomId() {
  // On the heap, because a library that is loaded at run time (the Python extension) has little room for thread-local
  // data.
  // data.
  thread_local const auto generator = std::make_unique<std::mt19937_64>([] {
    std::random_device source;
    return static_cast<uint64_t>(source()) << 32 | source();
  }());
  // TensorFlow's step ids have 56 random bits; the top byte is their kind.
  constexpr uint64_t kBits = (uint64_t{1} << 56) - 1;
  return static_cast<int64_t>(((*generator)() & kBits) | 1);
}

std::string_view EdgeName(std::string_view key) {
  for (int i = 0; i < 3; ++i) key.remove_prefix(std::min(key.find(';') + 1, key.size()));
  return key.substr(0, key.find(';'));
}

// A tensor in flight.
struct TensorFetcher::Fetching {
  RecvTensorRequest request;
  CancellationManager* cancellation = nullptr;
  absl::Time start = absl::Now();
  Rendezvous::RecvValueDone done;
  Device* device = nullptr;      // the destination; null: the host
  ReceiveBuffers::Lease buffer;  // the sender may write into it
  std::string socket;            // over which it was shared
  Tensor tensor;                 // arrives in pieces
  size_t copied = 0;             // bytes of it that have arrived
};

TensorFetcher::TensorFetcher(std::shared_ptr<WorkerClient> client, bool share_memory, TaskMetrics* metrics)
    : client_(std::move(client)),
      metrics_(metrics),
      buffers_(share_memory && !HostIdentity().empty() ? std::make_shared<ReceiveBuffers>() : nullptr) {}

TensorFetcher::~TensorFetcher() {
  if (buffers_ != nullptr) buffers_->Close();
}

void TensorFetcher::Fetch(int64_t step_id, std::string_view key, Device* device, CancellationManager* cancellation,
                          Rendezvous::RecvValueDone done) {
  auto fetching = std::make_shared<Fetching>();
  fetching->request.set_step_id(step_id);
  fetching->request.set_rendezvous_key(std::string(key));
  fetching->request.set_request_id(RandomId());
  fetching->cancellation = cancellation;
  fetching->done = std::move(done);
  fetching->device = device;
  if (buffers_ == nullptr) return Ask(fetching, {.kind = Kind::kPieces}, &TensorFetcher::TakeAnswer);
  RecvTransport transport{.kind = Kind::kShared, .host = HostIdentity(), .key = buffers_->key()};
  transport.takes_exported = dynamic_cast<MemoryExporter*>(device) != nullptr;
  if (const size_t expected = ExpectedBytes(EdgeOf(key)); expected > 0) {
    fetching->buffer = buffers_->TakeIdle(expected);
    if (fetching->buffer != nullptr) transport.buffer = fetching->buffer->id();
  }
  Ask(fetching, transport, &TensorFetcher::TakeAnswer);
}

void TensorFetcher::Ask(const FetchingPtr& fetching, const RecvTransport& transport, Take take) {
  fetching->request.mutable_transport_options()->set_type_url(std::string(TransportUrl(transport.kind)));
  fetching->request.mutable_transport_options()->set_value(TransportValue(transport));
  WireBuffer bytes;
  bytes.Append(fetching->request.SerializeAsString());
  WorkerClient::Options options;
  options.cancellation = fetching->cancellation;
  client_->Call(WorkerMethod::kRecvTensor, std::move(bytes), options,
                [this, fetching, take](const Status& status, grpc::ByteBuffer& response) {
                  if (status.ok()) return (this->*take)(fetching, response);
                  const std::string waited =
                      Cat("; waited ", absl::FormatDuration(absl::Now() - fetching->start), " for the tensor '",
                          EdgeName(fetching->request.rendezvous_key()), "'");
                  Finish(*fetching, absl::IsUnavailable(status) ? Annotate(status, "", waited) : status);
                });
}

void TensorFetcher::TakeAnswer(const FetchingPtr& fetching, grpc::ByteBuffer& response) {
  RecvTensorAnswer answer;
  const size_t size = response.Length();
  grpc::ProtoBufferReader reader(&response);
  Status read = ReadRecvTensorResponse(&reader, size, &answer);
  if (read.ok() && answer.out_of_band.has_value()) read = CheckPlain(*answer.out_of_band);
  if (!read.ok()) return Finish(*fetching, read);
  if (!answer.out_of_band.has_value()) {
    if (fetching->buffer != nullptr) buffers_->Return(std::move(fetching->buffer));
    AllowShortWork here;
    return Finish(*fetching, std::move(answer.tensor), answer.is_dead);
  }
  const OutOfBand& there = *answer.out_of_band;
  if (there.in_buffer) return TakeFromBuffer(fetching, there);
  if (!there.exported.empty()) return CopyExported(fetching, there);
  // The sender did not use the buffer. If that is too small, it can be used again; otherwise the sender does not know
  // it.
  if (fetching->buffer != nullptr && fetching->buffer->capacity() < BytesOf(there)) {
    buffers_->Return(std::move(fetching->buffer));
  }
  fetching->buffer = nullptr;
  if (buffers_ == nullptr || there.socket.empty() || HasFailed(there.socket)) return FetchPieces(fetching, there);
  HandBuffer(fetching, there);
}

void TensorFetcher::TakeFromBuffer(const FetchingPtr& fetching, const OutOfBand& there) {
  if (fetching->buffer == nullptr || fetching->buffer->capacity() < BytesOf(there)) {
    return Finish(*fetching, Internal(client_->task(), " claims to have filled a buffer that it does not have"));
  }
  Expect(EdgeOf(fetching->request.rendezvous_key()), BytesOf(there));
  metrics_->tensors_shared.fetch_add(1, std::memory_order_relaxed);
  AllowShortWork here;
  Finish(*fetching, buffers_->ToTensor(std::move(fetching->buffer), there.dtype, there.shape));
}

void TensorFetcher::HandBuffer(const FetchingPtr& fetching, const OutOfBand& there) {
  StatusOr<ReceiveBuffers::Lease> buffer = buffers_->MakeNew(BytesOf(there), there.socket);
  if (!buffer.ok()) {
    NoteFailure(there.socket, buffer.status());
    return FetchPieces(fetching, there);
  }
  fetching->buffer = *std::move(buffer);
  fetching->socket = there.socket;
  Ask(fetching, {.kind = Kind::kFill, .key = buffers_->key(), .buffer = fetching->buffer->id()},
      &TensorFetcher::TakeFilled);
}

void TensorFetcher::CopyExported(const FetchingPtr& fetching, const OutOfBand& there) {
  if (fetching->buffer != nullptr) buffers_->Return(std::move(fetching->buffer));
  auto* reader = dynamic_cast<MemoryExporter*>(fetching->device);
  if (reader == nullptr) {
    Release(*fetching);
    return Finish(*fetching, Internal(client_->task(), " offers device memory that was not requested"));
  }
  reader->CopyExported(there.exported, there.dtype, there.shape, [this, fetching, there](StatusOr<Tensor> copy) {
    if (!copy.ok()) return FetchPieces(fetching, there);  // the sender then copies it to its host
    Release(*fetching);
    metrics_->tensors_shared.fetch_add(1, std::memory_order_relaxed);
    Finish(*fetching, std::move(copy));
  });
}

void TensorFetcher::TakeFilled(const FetchingPtr& fetching, grpc::ByteBuffer& response) {
  RecvTensorAnswer answer;
  const size_t size = response.Length();
  grpc::ProtoBufferReader reader(&response);
  Status read = ReadRecvTensorResponse(&reader, size, &answer);
  if (read.ok() && !answer.out_of_band.has_value()) read = Internal("The answer does not say where the tensor is");
  if (read.ok()) read = CheckPlain(*answer.out_of_band);
  if (!read.ok()) return Finish(*fetching, read);
  if (answer.out_of_band->in_buffer) {
    NoteSuccess();
    return TakeFromBuffer(fetching, *answer.out_of_band);
  }
  NoteFailure(fetching->socket, PermissionDenied("the sender did not accept the memory that was shared with it"));
  fetching->buffer = nullptr;
  FetchPieces(fetching, *answer.out_of_band);
}

void TensorFetcher::FetchPieces(const FetchingPtr& fetching, const OutOfBand& there) {
  StatusOr<Tensor> tensor = Tensor::Allocate(there.dtype, there.shape);
  if (!tensor.ok() || tensor->num_bytes() == 0) {
    Release(*fetching);
    return Finish(*fetching, std::move(tensor));
  }
  fetching->tensor = *std::move(tensor);
  AskPiece(fetching);
}

void TensorFetcher::AskPiece(const FetchingPtr& fetching) {
  Ask(fetching, {.kind = Kind::kPiece, .offset = fetching->copied}, &TensorFetcher::TakePiece);
}

void TensorFetcher::TakePiece(const FetchingPtr& fetching, grpc::ByteBuffer& response) {
  const size_t size = response.Length();
  grpc::ProtoBufferReader reader(&response);
  Tensor& tensor = fetching->tensor;
  StatusOr<size_t> count = ReadPieceResponse(&reader, size, static_cast<char*>(tensor.raw_data()) + fetching->copied,
                                             tensor.num_bytes() - fetching->copied);
  if (count.ok() && fetching->copied + *count < tensor.num_bytes()) {
    fetching->copied += *count;
    return AskPiece(fetching);
  }
  Release(*fetching);
  if (!count.ok()) return Finish(*fetching, count.status());
  Finish(*fetching, std::move(tensor));
}

void TensorFetcher::Release(const Fetching& fetching) {
  MarkRecvFinishedRequest finished;
  finished.set_request_id(fetching.request.request_id());
  client_->Tell(WorkerMethod::kMarkRecvFinished, finished);
}

void TensorFetcher::Finish(Fetching& fetching, StatusOr<Tensor> tensor, bool is_dead) {
  fetching.buffer = nullptr;
  if (!tensor.ok()) return fetching.done(tensor.status(), RendezvousValue());
  metrics_->CountFetched(tensor->has_value() ? tensor->num_bytes() : 0,
                         absl::ToInt64Microseconds(absl::Now() - fetching.start));
  Device* const device = tensor->in_host_memory() ? nullptr : fetching.device;
  fetching.done(OkStatus(), {*std::move(tensor), is_dead, device, nullptr});
}

size_t TensorFetcher::ExpectedBytes(std::string_view edge) {
  absl::MutexLock lock(&mu_);
  auto found = expected_.find(edge);
  return found != expected_.end() ? found->second : 0;
}

void TensorFetcher::Expect(std::string_view edge, size_t bytes) {
  absl::MutexLock lock(&mu_);
  auto found = expected_.find(edge);
  if (found != expected_.end()) {
    found->second = bytes;
    return;
  }
  if (expected_.size() >= kMaxEdges) expected_.clear();
  expected_.emplace(edge, bytes);
}

void TensorFetcher::NoteFailure(const std::string& socket, const Status& reason) {
  absl::MutexLock lock(&mu_);
  if (std::exchange(failed_socket_, socket) != socket) failures_ = 0;
  if (failures_++ > 0) return;
  WEIR_LOG(WARNING) << "large tensors of " << client_->task() << " are received over the network: " << Message(reason);
}

void TensorFetcher::NoteSuccess() {
  absl::MutexLock lock(&mu_);
  failures_ = 0;
}

bool TensorFetcher::HasFailed(const std::string& socket) {
  absl::MutexLock lock(&mu_);
  return failures_ >= kMaxFailures && failed_socket_ == socket;
}

}  // namespace weir
