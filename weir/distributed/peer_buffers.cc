#include "weir/distributed/peer_buffers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "weir/base/logging.h"

namespace weir {
namespace {

// Limits for receivers: one that exceeds them is faulty.
constexpr size_t kMaxReceivers = 1024;
constexpr size_t kMaxBuffersOfReceiver = 1 << 14;

}  // namespace

PeerBuffers::Mapping::~Mapping() { munmap(memory, bytes); }

StatusOr<std::unique_ptr<PeerBuffers>> PeerBuffers::Listen(IsOffered is_offered) {
  std::string socket;
  WEIR_ASSIGN_OR_RETURN(UniqueFd listener, ListenForBuffers(&socket));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Unavailable("no event descriptor: ", strerror(errno));
  return std::unique_ptr<PeerBuffers>(
      new PeerBuffers(std::move(is_offered), std::move(listener), std::move(socket), std::move(wake)));
}

PeerBuffers::PeerBuffers(IsOffered is_offered, UniqueFd listener, std::string socket, UniqueFd wake)
    : is_offered_(std::move(is_offered)),
      listener_(std::move(listener)),
      socket_(std::move(socket)),
      wake_(std::move(wake)),
      watcher_([this] { Watch(); }) {}

PeerBuffers::~PeerBuffers() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  WakeWatcher();
  watcher_.join();
}

void PeerBuffers::WakeWatcher() {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void PeerBuffers::Watch() {
  while (true) {
    std::vector<pollfd> watched = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    {
      absl::MutexLock lock(&mu_);
      if (stop_) return;
      for (const Receiver& receiver : receivers_) watched.push_back({receiver.connection.get(), POLLIN, 0});
    }
    poll(watched.data(), watched.size(), -1);
    uint64_t count = 0;
    (void)!read(wake_.get(), &count, sizeof(count));
    absl::MutexLock lock(&mu_);
    Drain();
  }
}

size_t PeerBuffers::num_buffers() const {
  absl::MutexLock lock(&mu_);
  size_t count = 0;
  for (const Receiver& receiver : receivers_) count += receiver.buffers.size();
  return count;
}

std::shared_ptr<PeerBuffers::Mapping> PeerBuffers::Find(const std::string& key, uint64_t id) {
  absl::MutexLock lock(&mu_);
  // Buffers that the receiver shared before its request may still be in the socket.
  for (bool drained : {false, true}) {
    for (const Receiver& receiver : receivers_) {
      if (receiver.key != key) continue;
      auto found = receiver.buffers.find(id);
      if (found != receiver.buffers.end()) return found->second;
    }
    if (!drained) Drain();
  }
  return nullptr;
}

Status PeerBuffers::Fill(const std::string& key, uint64_t id, const Tensor& tensor) {
  if (key.size() != kBufferKeyBytes) return FailedPrecondition("no receiver has such a key");
  std::shared_ptr<Mapping> buffer = Find(key, id);
  if (buffer == nullptr) return FailedPrecondition("the receiver has handed over no buffer ", id);
  if (buffer->bytes < tensor.num_bytes()) {
    return FailedPrecondition("the buffer ", id, " has ", buffer->bytes, " bytes, the tensor ", tensor.num_bytes());
  }
  std::memcpy(buffer->memory, tensor.raw_data(), tensor.num_bytes());
  return OkStatus();
}

void PeerBuffers::AcceptAll() {
  while (true) {
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid()) return;
    Status admitted = CheckSameUser(connection.get());
    if (admitted.ok() && receivers_.size() >= kMaxReceivers) admitted = Unavailable("there are too many receivers");
    if (!admitted.ok()) {
      WEIR_LOG(WARNING) << "a process that offers memory for tensors is refused: " << Message(admitted);
      continue;
    }
    receivers_.push_back({std::move(connection), "", {}});
    WakeWatcher();
  }
}

void PeerBuffers::Drain() {
  AcceptAll();
  for (auto each = receivers_.begin(); each != receivers_.end();) {
    Status taken = TakeFrom(*each);
    if (absl::IsPermissionDenied(taken)) {
      WEIR_LOG(WARNING) << "a process that offers memory for tensors is refused: " << Message(taken);
    }
    each = taken.ok() ? std::next(each) : receivers_.erase(each);
  }
}

Status PeerBuffers::TakeFrom(Receiver& receiver) {
  while (true) {
    WEIR_ASSIGN_OR_RETURN(std::optional<HandedBuffer> buffer, ReceiveBuffer(receiver.connection.get()));
    if (!buffer.has_value()) return OkStatus();
    WEIR_RETURN_IF_ERROR(Take(receiver, *buffer));
  }
}

Status PeerBuffers::Take(Receiver& receiver, const HandedBuffer& buffer) {
  if (receiver.key.empty()) {
    if (!is_offered_(buffer.key)) return PermissionDenied("no tensor of this task was offered to it");
    // A receiver that reconnects has abandoned its earlier connection.
    for (Receiver& other : receivers_) {
      if (other.key == buffer.key) other.buffers.clear();
    }
    receiver.key = buffer.key;
  }
  if (buffer.key != receiver.key) return PermissionDenied("it has changed its key");
  if (!buffer.memory.valid()) {
    receiver.buffers.erase(buffer.id);
    return OkStatus();
  }
  if (receiver.buffers.size() >= kMaxBuffersOfReceiver) return PermissionDenied("it has handed over too many buffers");
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Mapping> mapping, Map(buffer));
  receiver.buffers[buffer.id] = std::move(mapping);
  return OkStatus();
}

// The memory must be sealed: if its owner could shrink it, a write would kill this process.
StatusOr<std::shared_ptr<PeerBuffers::Mapping>> PeerBuffers::Map(const HandedBuffer& buffer) {
  const int file = buffer.memory.get();
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return PermissionDenied("its buffer is not shared memory of a fixed size");
  }
  struct stat found;
  if (fstat(file, &found) != 0 || buffer.bytes == 0 || static_cast<uint64_t>(found.st_size) < buffer.bytes) {
    return PermissionDenied("its buffer is smaller than it says");
  }
  void* memory = mmap(nullptr, buffer.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (memory == MAP_FAILED) return Unavailable("cannot map a buffer: ", strerror(errno));
  return std::make_shared<Mapping>(memory, buffer.bytes);
}

}  // namespace weir
