#include "absl/time/clock.h"
#include "weir/distributed/peers_internal.h"

namespace weir {
namespace {

// For the last messages to peers: sessions have ended, tensors have arrived.
constexpr absl::Duration kFarewellTime = absl::Seconds(1);

}  // namespace

Peers::Peers(std::string own_task, const ClusterSpec& cluster,
             const std::shared_ptr<grpc::ChannelCredentials>& credentials, CallQueue* queue, bool share_memory,
             const DeviceSet* devices)
    : own_task_(std::move(own_task)),
      devices_(devices),
      steps_(own_task_, [this](int64_t step_id, std::string_view key, bool to_device, CancellationManager* cancellation,
                               Rendezvous::RecvValueDone done) {
        Fetch(step_id, key, to_device, cancellation, std::move(done));
      }) {
  for (const ClusterSpec::Task& task : cluster.tasks()) {
    if (task.name() == own_task_) continue;
    others_.push_back(std::make_shared<WorkerClient>(task.name(), task.address, credentials, queue));
    by_task_[task.name()] = {others_.back(),
                             std::make_unique<TensorFetcher>(others_.back(), share_memory, &steps_.metrics())};
  }
}

Peers::~Peers() {
  const absl::Time grace_end = absl::Now() + kFarewellTime;
  for (const auto& client : others_) client->Shutdown(grace_end);
}

std::shared_ptr<WorkerClient> Peers::Find(std::string_view task) const {
  auto found = by_task_.find(task);
  return found != by_task_.end() ? found->second.client : nullptr;
}

void Peers::Fetch(int64_t step_id, std::string_view key, bool to_device, CancellationManager* cancellation,
                  Rendezvous::RecvValueDone done) {
  const std::string_view task = TaskOfDevice(key.substr(0, key.find(';')));
  auto found = by_task_.find(task);
  if (found == by_task_.end()) {
    return done(
        InvalidArgument("'", EdgeName(key), "' is expected from ", task, ", which is not a task of this cluster"),
        RendezvousValue());
  }
  Device* device = nullptr;
  if (to_device && devices_ != nullptr) {
    if (StatusOr<RendezvousKey> parsed = RendezvousKey::Parse(key); parsed.ok()) {
      device = devices_->Find(parsed->dst_device);
    }
  }
  found->second.fetcher->Fetch(step_id, key, device, cancellation, std::move(done));
}

}  // namespace weir
