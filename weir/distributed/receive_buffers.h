// ReceiveBuffers: memory that a task receives the tensors of one peer of the same machine into.
//
// A buffer is anonymous shared memory of the receiving task. Its file descriptor is handed to the sender over a local
// socket (buffer_handover.h), and from then on the sender can copy tensors into it: one copy, no network, and neither
// process ever looks into the other's own memory. The buffer becomes the tensor's memory; when the tensor is gone, it
// waits here for the next one.
#ifndef WEIR_DISTRIBUTED_RECEIVE_BUFFERS_H_
#define WEIR_DISTRIBUTED_RECEIVE_BUFFERS_H_

#include <list>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/distributed/buffer_handover.h"
#include "weir/tensor/tensor.h"

namespace weir {

// Idle buffers of one peer are kept up to this much, and the last one that became idle in any case.
inline constexpr size_t kIdleReceiveBytes = size_t{512} << 20;

// Thread-safe. Owned by a shared pointer: the tensors that lie in its buffers hold it, too.
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
    const int connection_;  // the number of the one that it was handed over
    const uint64_t id_;
    void* const memory_;
    const size_t capacity_;
  };
  // A buffer that is in use is dropped with its lease: the sender may still be writing into it, so that no other tensor
  // may lie there.
  struct Drop {
    std::shared_ptr<ReceiveBuffers> owner;
    void operator()(Buffer* buffer) const { owner->Discard(std::unique_ptr<Buffer>(buffer)); }
  };
  using Lease = std::unique_ptr<Buffer, Drop>;

  // The secret that the sender knows this task's connection by.
  const std::string& key() const { return key_; }
  // An idle buffer for `bytes` bytes that the sender has already; null if there is none.
  Lease TakeIdle(size_t bytes);
  // A new one, handed to the sender that listens on the local socket `socket`. UNAVAILABLE if the sender cannot be
  // reached there or the system gives no memory, PERMISSION_DENIED if another user's process listens there.
  StatusOr<Lease> MakeNew(size_t bytes, const std::string& socket);
  // The sender has not written into the buffer and will not do so.
  void Return(Lease lease);
  // The tensor that the sender has written into the buffer. RESOURCE_EXHAUSTED if the memory limit would be passed.
  // REQUIRES: a plain type; the buffer is large enough.
  StatusOr<Tensor> ToTensor(Lease lease, DType dtype, const Shape& shape);
  // Frees what is idle and hangs up. Buffers of tensors that live on are freed with them.
  void Close();

  size_t num_idle() const;

 private:
  Lease MakeLease(Buffer* buffer) { return Lease(buffer, Drop{shared_from_this()}); }
  bool IsCurrent(const Buffer& buffer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return connection_.valid() && buffer.connection_ == num_connections_;
  }
  void Discard(std::unique_ptr<Buffer> buffer);
  void GiveBack(std::unique_ptr<Buffer> buffer);
  // Another process serves the peer's task now, or none: what was handed over before is of no use.
  void HangUp(std::list<std::unique_ptr<Buffer>>* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Connect(const std::string& socket, std::list<std::unique_ptr<Buffer>>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Hand(HandedBuffer buffer, std::list<std::unique_ptr<Buffer>>* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string key_ = MakeBufferKey();
  mutable absl::Mutex mu_;
  std::string socket_ ABSL_GUARDED_BY(mu_);  // what is connected; empty: nothing
  UniqueFd connection_ ABSL_GUARDED_BY(mu_);
  int num_connections_ ABSL_GUARDED_BY(mu_) = 0;  // so far
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::list<std::unique_ptr<Buffer>> idle_ ABSL_GUARDED_BY(mu_);  // the last to become so is in front
  size_t idle_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_RECEIVE_BUFFERS_H_
