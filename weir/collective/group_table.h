// GroupTable: forms groups, in the leader's task. Each member that joins waits until all members of its group have
// joined; then all of them get the same group. Members that give up while they wait are forgotten, so that a group key
// never becomes unusable.
#ifndef WEIR_COLLECTIVE_GROUP_TABLE_H_
#define WEIR_COLLECTIVE_GROUP_TABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/collective/types.h"
#include "weir/collective/waiter.h"

namespace weir {

using GroupPtr = std::shared_ptr<const CollectiveGroup>;

struct GroupJoin {
  int32_t key = 0;
  int32_t size = 0;
  CollectiveMember member;
  // The member's DEADLINE_EXCEEDED names the members that have joined.
  absl::Time deadline = absl::InfiniteFuture();
};

// Thread-safe.
class GroupTable : public std::enable_shared_from_this<GroupTable> {
 public:
  // Called when a restarted member makes a group obsolete.
  using Obsolete = std::function<void(const CollectiveGroup& group, const Status& reason)>;
  // `tasks` are all tasks that may have members, so that messages can name the silent ones.
  GroupTable(std::vector<std::string> tasks, Obsolete obsolete)
      : tasks_(std::move(tasks)), obsolete_(std::move(obsolete)) {}

  using Done = std::function<void(StatusOr<GroupPtr>)>;
  // Never blocks. If a member has restarted (same name, another incarnation), its group is formed again.
  void Join(const GroupJoin& join, CancellationManager* cancellation, Done done);
  // Null if there is no complete group under this key.
  GroupPtr Find(int32_t key) const;
  // Forgets a complete group if it still has this id.
  void Forget(int32_t key, uint64_t id);
  // Ends all waits.
  void Close(const Status& status);

 private:
  using GroupWaiter = std::shared_ptr<Waiter<GroupPtr>>;
  struct Candidate {
    CollectiveMember member;
    std::vector<GroupWaiter> waiters;
  };
  struct Entry {
    int32_t size = 0;
    GroupPtr group;  // null until it is complete
    std::vector<Candidate> candidates;
  };
  struct Answers {
    std::vector<GroupWaiter> waiters;
    StatusOr<GroupPtr> value = GroupPtr();
    GroupPtr obsolete;
    void Add(std::vector<GroupWaiter>& more);
    void Send();
  };
  // Collects the answers to send after the lock is released.
  void JoinLocked(const GroupJoin& join, const GroupWaiter& waiter, Answers* answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static Status Check(const Entry& entry, const GroupJoin& join);
  void Withdraw(int32_t key, const std::string& device);
  Status Late(int32_t key, const std::string& device) const;

  const std::vector<std::string> tasks_;
  const Obsolete obsolete_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<int32_t, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_GROUP_TABLE_H_
