// ReceiveBuffers: the memory into which a task receives the tensors of one peer on the same machine.
//
// A buffer is anonymous shared memory of the receiving task. Its file descriptor is sent to the sender over a Unix
// domain socket (buffer_handover.h), and from then on the sender can copy tensors into it: one copy, no network, and
// neither process has access to the other's private memory. The buffer becomes the memory of the tensor; when the
// tensor is destroyed, the buffer is kept here for the next one.
#ifndef WEIR_DISTRIBUTED_RECEIVE_BUFFERS_H_
#define WEIR_DISTRIBUTED_RECEIVE_BUFFERS_H_

#include <list>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/distributed/buffer_handover.h"
#include "weir/tensor/tensor.h"

namespace weir {

// The maximum size of the idle buffers kept for one peer. The buffer that became idle last is always kept.
inline constexpr size_t kIdleReceiveBytes = size_t{512} << 20;

// Thread-safe. It has shared ownership: the tensors in its buffers hold references.
class ReceiveBuffers : public std::enable_shared_from_this<ReceiveBuffers> {
 public:
  class Buffer {
   public:
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    uint64_t id() const { return id_; }
    size_t capacity() const { return capacity_; }

   private:
    friend class ReceiveBuffers;
    Buffer(int connection, uint64_t id, void* memory, size_t capacity)
        : connection_(connection), id_(id), memory_(memory), capacity_(capacity) {}
    const int connection_;  // the number of the connection over which it was shared
    const uint64_t id_;
    void* const memory_;
    const size_t capacity_;
  };
  // A buffer in use is dropped with its lease: the sender may still be writing into it, so it must not be reused.
  struct Drop {
    std::shared_ptr<ReceiveBuffers> owner;
    void operator()(Buffer* buffer) const { owner->Discard(std::unique_ptr<Buffer>(buffer)); }
  };
  using Lease = std::unique_ptr<Buffer, Drop>;

  // The secret by which the sender recognises the connection of this task.
  const std::string& key() const { return key_; }
  // An idle buffer of at least `bytes` bytes that was already shared with the sender; null if there is none.
  Lease TakeIdle(size_t bytes);
  // A new buffer, shared with the sender that listens on the local socket `socket`. UNAVAILABLE if the sender cannot be
  // reached or no memory is available; PERMISSION_DENIED if a process of another user listens there.
  StatusOr<Lease> MakeNew(size_t bytes, const std::string& socket);
  // Returns a buffer into which the sender has not written and will not write.
  void Return(Lease lease);
  // The tensor that the sender has written into the buffer. RESOURCE_EXHAUSTED if it would exceed the memory limit.
  // REQUIRES: a plain type; the buffer is large enough.
  StatusOr<Tensor> ToTensor(Lease lease, DType dtype, const Shape& shape);
  // Frees idle buffers and closes the connection. The buffers of existing tensors are freed with the tensors.
  void Close();

  size_t num_idle() const;

 private:
  Lease MakeLease(Buffer* buffer) { return Lease(buffer, Drop{shared_from_this()}); }
  bool IsCurrent(const Buffer& buffer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return connection_.valid() && buffer.connection_ == num_connections_;
  }
  void Discard(std::unique_ptr<Buffer> buffer);
  void GiveBack(std::unique_ptr<Buffer> buffer);
  // The process of the peer's task has changed or ended: buffers shared with it are useless now.
  void HangUp(std::list<std::unique_ptr<Buffer>>* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Connect(const std::string& socket, std::list<std::unique_ptr<Buffer>>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Hand(HandedBuffer buffer, std::list<std::unique_ptr<Buffer>>* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string key_ = MakeBufferKey();
  mutable absl::Mutex mu_;
  std::string socket_ ABSL_GUARDED_BY(mu_);  // the connected socket; empty if there is none
  UniqueFd connection_ ABSL_GUARDED_BY(mu_);
  int num_connections_ ABSL_GUARDED_BY(mu_) = 0;  // opened so far
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::list<std::unique_ptr<Buffer>> idle_ ABSL_GUARDED_BY(mu_);  // most recently used first
  size_t idle_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_RECEIVE_BUFFERS_H_
