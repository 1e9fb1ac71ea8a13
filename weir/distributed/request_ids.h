// RequestIds: remembers recent requests, so that a request that a client retries after a broken connection does not run
// twice.
#ifndef WEIR_DISTRIBUTED_REQUEST_IDS_H_
#define WEIR_DISTRIBUTED_REQUEST_IDS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/status.h"

namespace weir {

// Thread-safe.
class RequestIds {
 public:
  explicit RequestIds(size_t capacity = 100'000) : ring_(capacity, 0) {}

  // ABORTED if `id` is among the last ones. 0 means that the request has no id.
  Status Track(int64_t id, std::string_view method) {
    if (id == 0) return OkStatus();
    absl::MutexLock lock(&mu_);
    if (!ids_.insert(id).second) {
      return Aborted("The same ", method, " (Master) request was received twice: request_id ", id);
    }
    if (ring_[next_] != 0) ids_.erase(ring_[next_]);
    ring_[next_] = id;
    next_ = (next_ + 1) % ring_.size();
    return OkStatus();
  }

 private:
  absl::Mutex mu_;
  std::vector<int64_t> ring_ ABSL_GUARDED_BY(mu_);
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_set<int64_t> ids_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_REQUEST_IDS_H_
