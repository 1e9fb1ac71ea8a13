// PeerBuffers: the memory that receivers on the same machine have shared with this task, for the tensors that it sends
// them (receive_buffers.h).
//
// Memory is accepted only from processes of the same user, and only from a receiver to which this task has offered a
// tensor; the receiver proves that with the secret of its request. Only the bytes of that tensor are written.
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

  // The socket through which receivers share their buffers.
  const std::string& socket() const { return socket_; }
  // Copies the bytes of the tensor into a buffer of the receiver with this key. FAILED_PRECONDITION if the receiver has
  // not shared this buffer, or if the buffer is too small.
  Status Fill(const std::string& key, uint64_t id, const Tensor& tensor);
  // Of all receivers.
  size_t num_buffers() const;

 private:
  // A buffer mapped into this process. A copy in progress keeps it alive.
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
  // Accepts connections and the buffers that they send.
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
