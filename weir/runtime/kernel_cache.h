// KernelCache: the kernels of one session.
//
// A stateful operation (a queue, a random generator) has one kernel per node, shared by all plans of the session, so
// that its state continues across signatures. Stateless nodes with equal attributes share one kernel: a graph of
// 100,000 additions has a single addition kernel.
#ifndef WEIR_RUNTIME_KERNEL_CACHE_H_
#define WEIR_RUNTIME_KERNEL_CACHE_H_

#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/framework/kernel_registry.h"
#include "weir/graph/graph.h"

namespace weir {

// Thread-safe.
class KernelCache {
 public:
  // REQUIRES: both arguments outlive the cache. `functions` may be null.
  KernelCache(const KernelRegistry& registry, FunctionRuntime* functions)
      : registry_(registry), functions_(functions) {}

  StatusOr<std::shared_ptr<Kernel>> Get(const Node& node, Device* device);
  const KernelRegistry& registry() const { return registry_; }

 private:
  struct Shared {
    AttrMap attrs;
    std::shared_ptr<Kernel> kernel;
  };
  StatusOr<std::shared_ptr<Kernel>> Make(const Node& node, Device* device) const;

  const KernelRegistry& registry_;
  FunctionRuntime* const functions_;
  absl::Mutex mu_;
  StringMap<std::shared_ptr<Kernel>> stateful_ ABSL_GUARDED_BY(mu_);  // by device and node name
  StringMap<std::vector<Shared>> stateless_ ABSL_GUARDED_BY(mu_);     // by device and op
};

}  // namespace weir

#endif  // WEIR_RUNTIME_KERNEL_CACHE_H_
