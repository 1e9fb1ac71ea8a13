#include "weir/runtime/local_rendezvous.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

// The limit for values that travel with other messages: about as many bytes as fit into one or two packets.
constexpr size_t kSmallBytes = 4096;

// The third part of a key.
std::string_view DestinationOf(std::string_view key) {
  for (int i = 0; i < 2; ++i) key.remove_prefix(std::min(key.find(';') + 1, key.size()));
  return key.substr(0, key.find(';'));
}

}  // namespace

std::string RendezvousKey::ToString() const {
  return Cat(src_device, ";", absl::StrFormat("%016x", src_incarnation), ";", dst_device, ";", edge_name, ";", frame_id,
             ":", iteration);
}

StatusOr<RendezvousKey> RendezvousKey::Parse(std::string_view text) {
  std::vector<std::string> parts = absl::StrSplit(ToAbsl(text), ';');
  RendezvousKey key;
  std::vector<std::string> frame;
  if (parts.size() == 5) frame = absl::StrSplit(parts[4], ':');
  // Two spaces, as in TensorFlow's message.
  if (frame.size() != 2 || !absl::SimpleHexAtoi(parts[1], &key.src_incarnation) ||
      !absl::SimpleAtoi(frame[0], &key.frame_id) || !absl::SimpleAtoi(frame[1], &key.iteration)) {
    return InvalidArgument("Invalid  rendezvous key: ", text);
  }
  key.src_device = parts[0];
  key.dst_device = parts[2];
  key.edge_name = parts[3];
  return key;
}

LocalRendezvous::~LocalRendezvous() { StartAbort(Cancelled("Rendezvous deleted")); }

Status LocalRendezvous::Send(std::string_view key, Tensor value, bool is_dead) {
  return SendValue(key, {std::move(value), is_dead, nullptr, nullptr});
}

void LocalRendezvous::RecvAsync(std::string_view key, CancellationManager* cancellation, RecvDone done) {
  RecvValueAsync(key, cancellation, [done = std::move(done)](Status status, RendezvousValue value) {
    const bool is_dead = value.is_dead;
    if (!status.ok() || value.device == nullptr) return done(std::move(status), std::move(value.tensor), is_dead);
    BringValue(std::move(value), nullptr, nullptr, [done, is_dead](StatusOr<Tensor> host) {
      host.ok() ? done(OkStatus(), *std::move(host), is_dead) : done(host.status(), Tensor(), false);
    });
  });
}

Status LocalRendezvous::SendValue(std::string_view key, RendezvousValue value) {
  Waiter waiter;
  {
    absl::MutexLock lock(&mu_);
    if (!aborted_.ok()) return aborted_;
    Queue& queue = queues_[std::string(key)];
    if (queue.waiters.empty()) {
      queue.items.push_back(std::move(value));
      return OkStatus();
    }
    waiter = std::move(queue.waiters.front());
    queue.waiters.pop_front();
    if (queue.waiters.empty()) queues_.erase(queues_.find(key));
  }
  if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.token);
  waiter.done(OkStatus(), std::move(value));
  return OkStatus();
}

void LocalRendezvous::RecvValueAsync(std::string_view key, CancellationManager* cancellation, RecvValueDone done) {
  Status failed;
  RendezvousValue item;
  bool found = false;
  {
    absl::MutexLock lock(&mu_);
    if (!aborted_.ok()) {
      failed = aborted_;
    } else {
      auto queue = queues_.find(key);
      if (queue != queues_.end() && !queue->second.items.empty()) {
        item = std::move(queue->second.items.front());
        queue->second.items.pop_front();
        if (queue->second.items.empty()) queues_.erase(queue);
        found = true;
      } else {
        Waiter waiter;
        waiter.id = next_id_++;
        waiter.cancellation = cancellation;
        if (cancellation != nullptr) {
          std::string name(key);
          waiter.token = cancellation->Register(
              [this, name, id = waiter.id, cancellation] { CancelWaiter(name, id, cancellation->reason()); });
          if (waiter.token == CancellationManager::kNoToken) failed = cancellation->reason();
        }
        if (failed.ok()) {
          waiter.done = std::move(done);
          queues_[std::string(key)].waiters.push_back(std::move(waiter));
          return;
        }
      }
    }
  }
  done(found ? OkStatus() : failed, std::move(item));
}

void LocalRendezvous::CancelWaiter(const std::string& key, uint64_t id, const Status& reason) {
  RecvValueDone done;
  {
    absl::MutexLock lock(&mu_);
    auto queue = queues_.find(key);
    if (queue == queues_.end()) return;
    auto& waiters = queue->second.waiters;
    auto waiter = std::find_if(waiters.begin(), waiters.end(), [id](const Waiter& w) { return w.id == id; });
    if (waiter == waiters.end()) return;
    done = std::move(waiter->done);
    waiters.erase(waiter);
    if (waiters.empty()) queues_.erase(queue);
  }
  done(reason, {});
}

void LocalRendezvous::StartAbort(const Status& status) {
  StringMap<Queue> queues;
  {
    absl::MutexLock lock(&mu_);
    if (!aborted_.ok()) return;
    aborted_ = status;
    queues.swap(queues_);
  }
  for (auto& [key, queue] : queues) {
    for (Waiter& waiter : queue.waiters) {
      if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.token);
      waiter.done(status, {});
    }
  }
}

bool LocalRendezvous::Holds(std::string_view key) const {
  absl::MutexLock lock(&mu_);
  auto queue = queues_.find(key);
  return queue != queues_.end() && !queue->second.items.empty();
}

bool LocalRendezvous::empty() const {
  absl::MutexLock lock(&mu_);
  return queues_.empty();
}

std::vector<std::pair<std::string, Tensor>> LocalRendezvous::TakeSmall(std::string_view destination) {
  std::vector<std::pair<std::string, Tensor>> out;
  absl::MutexLock lock(&mu_);
  for (auto queue = queues_.begin(); queue != queues_.end();) {
    auto here = queue++;
    const auto& items = here->second.items;
    const bool small = items.size() == 1 && !items[0].is_dead && items[0].device == nullptr &&
                       IsPlain(items[0].tensor.dtype()) && items[0].tensor.num_bytes() <= kSmallBytes;
    if (!small || DestinationOf(here->first) != destination) continue;
    out.emplace_back(here->first, items[0].tensor);
    queues_.erase(here);
  }
  return out;
}

std::vector<std::string> LocalRendezvous::PendingKeys() const {
  std::vector<std::string> out;
  absl::MutexLock lock(&mu_);
  for (const auto& [key, queue] : queues_) {
    if (!queue.waiters.empty()) out.push_back(key);
  }
  return out;
}

}  // namespace weir
