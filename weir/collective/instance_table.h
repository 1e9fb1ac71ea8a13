// What TensorFlow's tasks ask of the leader beside groups: InstanceTable says who is a broadcast's source and checks
// that members agree; StepSequences gives masters the same step ids.
#ifndef WEIR_COLLECTIVE_INSTANCE_TABLE_H_
#define WEIR_COLLECTIVE_INSTANCE_TABLE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/collective/group_table.h"

namespace weir {

struct InstanceJoin {
  std::string name;
  int32_t group_key = 0;
  int32_t group_size = 0;
  int32_t instance_key = 0;
  std::string device;
  std::string device_type;
  CollectiveSpec spec;
  int64_t step_id = 0;
};

// Thread-safe.
class InstanceTable : public std::enable_shared_from_this<InstanceTable> {
 public:
  explicit InstanceTable(std::shared_ptr<GroupTable> groups) : groups_(std::move(groups)) {}

  using Done = std::function<void(StatusOr<int> source_rank)>;
  // Answers at once, except for broadcasts, whose members wait for each other. The source's rank is -1 otherwise.
  void Join(const InstanceJoin& join, CancellationManager* cancellation, Done done);

 private:
  struct Entry {
    std::string first_device;
    CollectiveSpec spec;
    std::map<int, bool> ranks;  // that have come, and whether they send
    int source = -1;
    std::vector<std::shared_ptr<Waiter<int>>> waiters;
  };
  const std::shared_ptr<GroupTable> groups_;
  absl::Mutex mu_;
  std::map<std::pair<uint64_t, int32_t>, Entry> entries_ ABSL_GUARDED_BY(mu_);  // by group id and instance
};

// Thread-safe.
class StepSequences {
 public:
  // The id that the next step with this graph key has; drawn at random if there was none.
  int64_t Next(int64_t graph_key);
  // Sets it to what the leader has answered.
  void Set(int64_t graph_key, int64_t step_id);
  bool Knows(int64_t graph_key) const;
  // The step has succeeded.
  void Retire(int64_t graph_key, int64_t step_id);

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_map<int64_t, int64_t> next_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_INSTANCE_TABLE_H_
