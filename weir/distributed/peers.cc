#include <grpcpp/support/proto_buffer_reader.h>

#include <random>

#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/distributed/host_memory.h"
#include "weir/distributed/peers_internal.h"
#include "weir/distributed/wire/worker_messages.h"
#include "weir/proto/worker.pb.h"
#include "weir/runtime/short_work.h"

namespace weir {
namespace {

// For what peers are told last: that sessions have ended, that tensors were read.
constexpr absl::Duration kFarewellTime = absl::Seconds(1);

// The name of the tensor in a rendezvous key, for people: "edge_3_w" of "src;1f;dst;edge_3_w;0:0".
std::string_view EdgeName(std::string_view key) {
  for (int i = 0; i < 3; ++i) key.remove_prefix(std::min(key.find(';') + 1, key.size()));
  return key.substr(0, key.find(';'));
}

}  // namespace

int64_t RandomId() {
  thread_local std::mt19937_64 generator([] {
    std::random_device source;
    return static_cast<uint64_t>(source()) << 32 | source();
  }());
  // TensorFlow's step ids have 56 random bits; the top byte says what kind they are.
  constexpr uint64_t kBits = (uint64_t{1} << 56) - 1;
  return static_cast<int64_t>((generator() & kBits) | 1);
}

Peers::Peers(std::string own_task, const ClusterSpec& cluster,
             const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : own_task_(std::move(own_task)),
      steps_(own_task_, [this](int64_t step_id, std::string_view key, CancellationManager* cancellation,
                               Rendezvous::RecvDone done) { Fetch(step_id, key, cancellation, std::move(done)); }) {
  for (const ClusterSpec::Task& task : cluster.tasks()) {
    if (task.name() == own_task_) continue;
    others_.push_back(std::make_shared<WorkerClient>(task.name(), task.address, credentials));
    by_task_.emplace(task.name(), others_.back());
  }
}

Peers::~Peers() {
  const absl::Time grace_end = absl::Now() + kFarewellTime;
  for (const auto& client : others_) client->Shutdown(grace_end);
}

std::shared_ptr<WorkerClient> Peers::Find(std::string_view task) const {
  auto found = by_task_.find(task);
  return found != by_task_.end() ? found->second : nullptr;
}

// A tensor on its way from another task.
struct Peers::Fetching {
  std::shared_ptr<WorkerClient> client;
  RecvTensorRequest request;
  CancellationManager* cancellation = nullptr;
  absl::Time start = absl::Now();
  Rendezvous::RecvDone done;
  Tensor tensor;      // that comes in pieces
  size_t copied = 0;  // bytes of it that are here
};

void Peers::Fetch(int64_t step_id, std::string_view key, CancellationManager* cancellation, Rendezvous::RecvDone done) {
  std::string_view task = TaskOfDevice(key.substr(0, key.find(';')));
  auto fetching = std::make_shared<Fetching>();
  fetching->client = Find(task);
  if (fetching->client == nullptr) {
    return done(InvalidArgument("'", EdgeName(key), "' is to come from ", task, ", which is no task of this cluster"),
                Tensor(), false);
  }
  fetching->request.set_step_id(step_id);
  fetching->request.set_rendezvous_key(std::string(key));
  fetching->request.set_request_id(RandomId());
  fetching->cancellation = cancellation;
  fetching->done = std::move(done);
  const bool share = share_memory_ && !HostIdentity().empty();
  Ask(fetching, share ? kSameHostUrl : kPiecesUrl, share ? HostIdentity() : "", &Peers::TakeTensor);
}

void Peers::Ask(const std::shared_ptr<Fetching>& fetching, std::string_view url, const std::string& value, Take take) {
  fetching->request.mutable_transport_options()->set_type_url(std::string(url));
  fetching->request.mutable_transport_options()->set_value(value);
  WireBuffer bytes;
  bytes.Append(fetching->request.SerializeAsString());
  WorkerClient::Options options;
  options.cancellation = fetching->cancellation;
  fetching->client->Call(
      WorkerMethod::kRecvTensor, std::move(bytes), options,
      [this, fetching, take](const Status& status, grpc::ByteBuffer& response) {
        if (status.ok()) return (this->*take)(fetching, response);
        const std::string waited = Cat("; waited ", absl::FormatDuration(absl::Now() - fetching->start),
                                       " for the tensor '", EdgeName(fetching->request.rendezvous_key()), "'");
        fetching->done(absl::IsUnavailable(status) ? Annotate(status, "", waited) : status, Tensor(), false);
      });
}

void Peers::TakeTensor(const std::shared_ptr<Fetching>& fetching, grpc::ByteBuffer& response) {
  RecvTensorAnswer answer;
  const size_t size = response.Length();
  grpc::ProtoBufferReader reader(&response);
  Status read = ReadRecvTensorResponse(&reader, size, &answer);
  if (read.ok() && answer.memory.has_value()) return CopyFromHost(fetching, *answer.memory);
  Count(*fetching, answer.tensor);
  AllowShortWork here;
  fetching->done(read, std::move(answer.tensor), answer.is_dead);
}

void Peers::Count(const Fetching& fetching, const Tensor& tensor) {
  steps_.metrics().CountFetched(tensor.has_value() ? tensor.num_bytes() : 0,
                                absl::ToInt64Microseconds(absl::Now() - fetching.start));
}

void Peers::CopyFromHost(const std::shared_ptr<Fetching>& fetching, const HostMemory& memory) {
  if (memory.process == 0) return CopyInPieces(fetching, memory);
  StatusOr<Tensor> tensor = ReadHostMemory(memory);
  if (absl::IsUnavailable(tensor.status())) {
    WEIR_LOG(INFO) << "tensors of " << fetching->client->task()
                   << " come through the network: " << Message(tensor.status());
    share_memory_ = false;
    return CopyInPieces(fetching, memory);
  }
  FinishCopy(*fetching, std::move(tensor));
}

void Peers::CopyInPieces(const std::shared_ptr<Fetching>& fetching, const HostMemory& memory) {
  StatusOr<Tensor> tensor = IsPlain(memory.dtype) ? Tensor::Allocate(memory.dtype, memory.shape)
                                                  : InvalidArgument("Only plain tensors come in pieces");
  if (!tensor.ok() || tensor->num_bytes() == 0) return FinishCopy(*fetching, std::move(tensor));
  fetching->tensor = *std::move(tensor);
  AskPiece(fetching);
}

void Peers::AskPiece(const std::shared_ptr<Fetching>& fetching) {
  Ask(fetching, kPieceUrl, Cat(fetching->copied), &Peers::TakePiece);
}

void Peers::TakePiece(const std::shared_ptr<Fetching>& fetching, grpc::ByteBuffer& response) {
  const size_t size = response.Length();
  grpc::ProtoBufferReader reader(&response);
  Tensor& tensor = fetching->tensor;
  StatusOr<size_t> count = ReadPieceResponse(&reader, size, static_cast<char*>(tensor.raw_data()) + fetching->copied,
                                             tensor.num_bytes() - fetching->copied);
  if (!count.ok()) return FinishCopy(*fetching, count.status());
  fetching->copied += *count;
  if (fetching->copied < tensor.num_bytes()) return AskPiece(fetching);
  FinishCopy(*fetching, std::move(tensor));
}

void Peers::FinishCopy(const Fetching& fetching, StatusOr<Tensor> tensor) {
  MarkRecvFinishedRequest finished;
  finished.set_request_id(fetching.request.request_id());
  fetching.client->Tell(WorkerMethod::kMarkRecvFinished, finished);
  if (!tensor.ok()) return fetching.done(tensor.status(), Tensor(), false);
  Count(fetching, *tensor);
  fetching.done(OkStatus(), *std::move(tensor), false);
}

}  // namespace weir
