// The leader's services for TensorFlow's tasks besides groups: InstanceTable finds the source of a broadcast and checks
// that the members agree; StepSequences gives masters the same step ids.
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
  // Answers immediately, except for broadcasts, whose members wait for each other. For other collectives the result is
  // -1.
  void Join(const InstanceJoin& join, CancellationManager* cancellation, Done done);

 private:
  struct Entry {
    std::string first_device;
    CollectiveSpec spec;
    std::map<int, bool> ranks;  // the ranks that have joined, and whether each is the source
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
  // The id of the next step with this graph key; random if there was none.
  int64_t Next(int64_t graph_key);
  // Sets it to the leader's answer.
  void Set(int64_t graph_key, int64_t step_id);
  bool Knows(int64_t graph_key) const;
  // Records that the step has succeeded.
  void Retire(int64_t graph_key, int64_t step_id);

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_map<int64_t, int64_t> next_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_INSTANCE_TABLE_H_
