// SharedTensors: stores equal large tensors of several versions only once.
//
// Versions of a model, and models with the same pretrained layers, have equal constants and variables. When a version
// is loaded, its large tensors are looked up here by content; if an equal one is in memory, the version uses that and
// frees its own copy. If such a variable is written later, it gets memory of its own (resources/variable.h), so other
// versions are not affected.
#ifndef WEIR_SERVING_SHARED_TENSORS_H_
#define WEIR_SERVING_SHARED_TENSORS_H_

#include <cstdint>
#include <unordered_map>

#include "absl/synchronization/mutex.h"
#include "weir/tensor/tensor.h"

namespace weir {

class Graph;
class ResourceManager;

// Thread-safe.
class SharedTensors {
 public:
  // Smaller tensors are not worth a lookup.
  static constexpr size_t kSmallest = 16 << 10;

  // Let the large constants of a graph, and the variables of its VarHandleOps, share memory with equal ones from
  // earlier calls. Return the number of bytes freed.
  int64_t ShareConstants(Graph& graph);
  int64_t ShareVariables(const Graph& graph, ResourceManager& resources);
  // Returns an equal tensor from an earlier call; otherwise stores and returns `tensor`.
  Tensor Share(const Tensor& tensor);
  // Removes tensors that nobody else holds any more.
  void Sweep();
  int64_t num_tensors() const;

 private:
  mutable absl::Mutex mu_;
  std::unordered_multimap<uint64_t, Tensor> known_ ABSL_GUARDED_BY(mu_);  // by a hash of type, shape and bytes
};

}  // namespace weir

#endif  // WEIR_SERVING_SHARED_TENSORS_H_
