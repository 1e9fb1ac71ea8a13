// Parts of steps that a master runs in several calls (partial runs).
#ifndef WEIR_DISTRIBUTED_PARTIAL_PARTS_H_
#define WEIR_DISTRIBUTED_PARTIAL_PARTS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/cancellation.h"

namespace weir {

// One such part, from its first call to its last. Thread-safe.
class PartialPart {
 public:
  CancellationManager cancellation;

  void End(const Status& status) {
    std::vector<std::function<void(const Status&)>> waiters;
    {
      absl::MutexLock lock(&mu_);
      ended_ = status;
      waiters.swap(waiters_);
    }
    for (const auto& waiter : waiters) waiter(status);
  }
  // Calls `done` when the part has ended, possibly immediately.
  void AwaitEnd(std::function<void(const Status&)> done) {
    {
      absl::MutexLock lock(&mu_);
      if (!ended_.has_value()) {
        waiters_.push_back(std::move(done));
        return;
      }
    }
    done(*ended_);  // set once
  }

 private:
  absl::Mutex mu_;
  std::optional<Status> ended_;  // set once, under the lock; read without it after that
  std::vector<std::function<void(const Status&)>> waiters_ ABSL_GUARDED_BY(mu_);
};

// The partial parts of a worker, by step and part. Thread-safe.
class PartialParts {
 public:
  // The second value is true if the part is new. RESOURCE_EXHAUSTED if there are too many, because masters never ended
  // theirs.
  StatusOr<std::pair<std::shared_ptr<PartialPart>, bool>> FindOrAdd(int64_t step_id, const std::string& part) {
    absl::MutexLock lock(&mu_);
    auto& found = parts_[{step_id, part}];
    if (found != nullptr) return std::pair(found, false);
    if (parts_.size() > kMaxParts) {
      parts_.erase({step_id, part});
      return ResourceExhausted("There are ", kMaxParts, " partial runs already");
    }
    found = std::make_shared<PartialPart>();
    return std::pair(found, true);
  }
  void Remove(int64_t step_id, const std::string& part) {
    absl::MutexLock lock(&mu_);
    parts_.erase({step_id, part});
  }
  // Must be called when the step has ended. Cancels its parts that still run.
  void EndStep(int64_t step_id) {
    std::vector<std::shared_ptr<PartialPart>> left;
    {
      absl::MutexLock lock(&mu_);
      auto begin = parts_.lower_bound({step_id, ""});
      auto end = begin;
      for (; end != parts_.end() && end->first.first == step_id; ++end) left.push_back(std::move(end->second));
      parts_.erase(begin, end);
    }
    for (const auto& part : left) part->cancellation.StartCancel(Cancelled("The step has ended"));
  }

 private:
  static constexpr size_t kMaxParts = 10'000;
  absl::Mutex mu_;
  std::map<std::pair<int64_t, std::string>, std::shared_ptr<PartialPart>> parts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_PARTIAL_PARTS_H_
