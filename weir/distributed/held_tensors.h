// HeldTensors: keeps tensors that are too large for an answer until the peers that requested them have received them.
#ifndef WEIR_DISTRIBUTED_HELD_TENSORS_H_
#define WEIR_DISTRIBUTED_HELD_TENSORS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/tensor/tensor.h"

namespace weir {

// Tensors are kept by the id of the request that asked for them. Thread-safe.
class HeldTensors {
 public:
  // `key` is the secret of a receiver on this machine that may provide memory for the tensor; empty: there is none.
  void Hold(int64_t step_id, int64_t request_id, Tensor tensor, std::string key = "");
  // Empty if the tensor is not, or no longer, held.
  Tensor Take(int64_t request_id);
  Tensor Look(int64_t request_id);  // without taking it
  // Whether the tensor is held for the receiver with that key.
  bool IsFor(int64_t request_id, const std::string& key);
  // Whether any tensor is held for that receiver.
  bool HasKey(const std::string& key);
  bool HasStep(int64_t step_id);
  void ForgetStep(int64_t step_id);

 private:
  struct Held {
    int64_t step_id;
    Tensor tensor;
    std::string key;
  };
  absl::Mutex mu_;
  absl::flat_hash_map<int64_t, Held> held_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_HELD_TENSORS_H_
