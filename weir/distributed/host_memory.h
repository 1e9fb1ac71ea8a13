// Tensors between tasks of one machine: the receiver copies the bytes straight out of the sender's memory, once,
// instead of sending them through the network. The sender keeps the tensor until it hears that this is done.
#ifndef WEIR_DISTRIBUTED_HOST_MEMORY_H_
#define WEIR_DISTRIBUTED_HOST_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/distributed/wire/worker_messages.h"
#include "weir/tensor/tensor.h"

namespace weir {

// Larger ones do not go with an answer but are asked for in pieces of this size: messages have a limit.
inline constexpr size_t kPieceBytes = 256 << 20;
// Below this the bytes go with the answer: saying that one is done costs more.
inline constexpr size_t kMinSharedBytes = 256 << 10;

// Processes that can see each other's memory give the same text; empty if it cannot be known.
const std::string& HostIdentity();
// Lets the other processes of this user read this one's memory where the system (Yama) asks for consent.
void AllowPeersToRead();

// Where another process of this machine finds the tensor's bytes. The tensor must be kept meanwhile.
HostMemory DescribeMemory(const Tensor& tensor);
// UNAVAILABLE if the system does not let us.
StatusOr<Tensor> ReadHostMemory(const HostMemory& memory);

// Tensors that peers are reading, by request. Thread-safe.
class HeldTensors {
 public:
  void Hold(int64_t step_id, int64_t request_id, Tensor tensor);
  // No value if there is none (any more).
  Tensor Take(int64_t request_id);
  Tensor Look(int64_t request_id);  // without taking it
  bool HasStep(int64_t step_id);
  void ForgetStep(int64_t step_id);

 private:
  struct Held {
    int64_t step_id;
    Tensor tensor;
  };
  absl::Mutex mu_;
  absl::flat_hash_map<int64_t, Held> held_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_HOST_MEMORY_H_
