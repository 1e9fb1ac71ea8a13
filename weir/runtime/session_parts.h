// Private to the session: the parts of other sessions' steps that a worker runs for the masters of other tasks.
#ifndef WEIR_RUNTIME_SESSION_PARTS_H_
#define WEIR_RUNTIME_SESSION_PARTS_H_

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/runtime/session.h"
#include "weir/runtime/step.h"

namespace weir {

// Thread-safe.
class SessionParts {
 public:
  Session::Part Add(std::shared_ptr<CompiledStep> compiled);
  StatusOr<std::shared_ptr<CompiledStep>> Find(Session::Part part) const;  // ABORTED if there is none
  Status Remove(Session::Part part);

 private:
  mutable absl::Mutex mu_;
  Session::Part next_ ABSL_GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<Session::Part, std::shared_ptr<CompiledStep>> parts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_SESSION_PARTS_H_
