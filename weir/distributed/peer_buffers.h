// PeerBuffers: the memory that receivers of the same machine have handed this task, for the tensors that it sends them
// (receive_buffers.h).
//
// Memory is taken only from processes of this task's own user, and only from a receiver that this task has offered a
// tensor: it proves that with the secret of its request. Nothing is written but that tensor's bytes.
#ifndef WEIR_DISTRIBUTED_PEER_BUFFERS_H_
#define WEIR_DISTRIBUTED_PEER_BUFFERS_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/distributed/buffer_handover.h"
#include "weir/tensor/tensor.h"

namespace weir {

// Thread-safe.
class PeerBuffers {
 public:
  // Whether a receiver with this key has been offered a tensor that it does not have yet.
  using IsOffered = std::function<bool(const std::string& key)>;
  // UNAVAILABLE if the system has no local sockets.
  static StatusOr<std::unique_ptr<PeerBuffers>> Listen(IsOffered is_offered);
  ~PeerBuffers();

  // Where receivers hand over their buffers.
  const std::string& socket() const { return socket_; }
  // Copies the tensor's bytes into a buffer of the receiver with this key. FAILED_PRECONDITION if it has handed over no
  // such buffer, or it is too small.
  Status Fill(const std::string& key, uint64_t id, const Tensor& tensor);
  // Of all receivers.
  size_t num_buffers() const;

 private:
  // A buffer as this process sees it. A copy that is on its way keeps it.
  struct Mapping {
    Mapping(void* memory, size_t bytes) : memory(memory), bytes(bytes) {}
    ~Mapping();
    Mapping(const Mapping&) = delete;
    void* const memory;
    const size_t bytes;
  };
  struct Receiver {
    UniqueFd connection;
    std::string key;  // empty until the first message
    absl::flat_hash_map<uint64_t, std::shared_ptr<Mapping>> buffers;
  };

  PeerBuffers(IsOffered is_offered, UniqueFd listener, std::string socket, UniqueFd wake);
  static StatusOr<std::shared_ptr<Mapping>> Map(const HandedBuffer& buffer);
  std::shared_ptr<Mapping> Find(const std::string& key, uint64_t id);
  void Watch();
  // Accepts connections and takes what they bring.
  void Drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AcceptAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // An error ends the connection.
  Status TakeFrom(Receiver& receiver) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Take(Receiver& receiver, const HandedBuffer& buffer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeWatcher();

  const IsOffered is_offered_;
  const UniqueFd listener_;
  const std::string socket_;
  const UniqueFd wake_;
  mutable absl::Mutex mu_;
  std::list<Receiver> receivers_ ABSL_GUARDED_BY(mu_);
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::thread watcher_;  // asleep until a receiver connects, hands something over or goes away
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_PEER_BUFFERS_H_
