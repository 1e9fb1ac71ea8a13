// SharedTensors: equal large tensors of several versions are in memory once.
//
// Versions of a model, and models that begin with the same trained layers, have constants and variables in common. When
// a version is loaded, each of its large ones is looked up here by its bytes; where an equal one is in memory already,
// the version uses that and gives its own copy up. A variable that is written later gets memory of its own then
// (resources/variable.h), so the other versions never notice.
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
  // Smaller ones are not worth the search.
  static constexpr size_t kSmallest = 16 << 10;

  // The large constants of a graph, and the variables that its VarHandleOps lead to, from now on share memory with
  // equal ones that were given here before. Return the bytes that this has freed.
  int64_t ShareConstants(Graph& graph);
  int64_t ShareVariables(const Graph& graph, ResourceManager& resources);
  // An equal tensor that was given before, otherwise `tensor` itself, which is remembered.
  Tensor Share(const Tensor& tensor);
  // Forgets those that nobody else holds any more.
  void Sweep();
  int64_t num_tensors() const;

 private:
  mutable absl::Mutex mu_;
  std::unordered_multimap<uint64_t, Tensor> known_ ABSL_GUARDED_BY(mu_);  // by a hash of type, shape and bytes
};

}  // namespace weir

#endif  // WEIR_SERVING_SHARED_TENSORS_H_
