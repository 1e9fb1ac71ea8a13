#include "weir/collective/instance_table.h"

#include "weir/base/strings.h"

namespace weir {

void InstanceTable::Join(const InstanceJoin& join, CancellationManager* cancellation, Done done) {
  const GroupPtr group = groups_->Find(join.group_key);
  if (group == nullptr) {
    return done(
        FailedPrecondition("group ", join.group_key, " not found. This normally means the server has restarted"));
  }
  const int rank = group->RankOf(join.device);
  if (rank < 0) return done(InvalidArgument(join.device, " is not a member of group ", join.group_key));
  auto waiter = Waiter<int>::Make(
      cancellation, [] {}, std::move(done));
  if (waiter->finished()) return;
  std::vector<std::shared_ptr<Waiter<int>>> answered{waiter};
  StatusOr<int> answer = -1;
  {
    absl::MutexLock lock(&mu_);
    auto [found, fresh] = entries_.try_emplace({group->id, join.instance_key});
    Entry& entry = found->second;
    if (fresh) {
      entry.first_device = join.device;
      entry.spec = join.spec;
    }
    const CollectiveSpec& first = entry.spec;
    if (first.kind != join.spec.kind || first.dtype != join.spec.dtype) {
      answer = Internal("Collective instance ", join.instance_key, " expected type ", static_cast<int>(first.kind),
                        " and data_type ", static_cast<int>(first.dtype), " but got type ",
                        static_cast<int>(join.spec.kind), " and data_type ", static_cast<int>(join.spec.dtype));
    } else if (!(first.shape == join.spec.shape)) {
      answer = InvalidArgument("Shape mismatch in the collective instance ", join.instance_key, ". Op at device ",
                               join.device, " expected shape ", join.spec.shape.ToString(), " but another member ",
                               entry.first_device, " expected shape ", first.shape.ToString());
    } else if (join.spec.kind == CollectiveKind::kBroadcast) {
      if (join.spec.is_source && entry.source >= 0 && entry.source != rank) {
        answer = Internal("Instance ", join.instance_key, " already has source ", entry.source,
                          ", received second claim from ", rank);
      } else {
        if (join.spec.is_source) entry.source = rank;
        entry.ranks[rank] = join.spec.is_source;
        entry.waiters.push_back(waiter);
        answered.clear();
        if (static_cast<int>(entry.ranks.size()) == group->size()) {
          answered = std::move(entry.waiters);
          entry.waiters.clear();
          answer = entry.source;
          if (entry.source < 0) {
            answer =
                Internal("Instance ", join.instance_key,
                         " found no source for broadcast. This could mean that there were group_size=", group->size(),
                         " BcastRecvs but no BcastSend.");
            entries_.erase(found);
          }
        }
      }
    }
  }
  for (auto& each : answered) {
    if (each->Claim()) each->Answer(answer);
  }
}

int64_t StepSequences::Next(int64_t graph_key) {
  absl::MutexLock lock(&mu_);
  auto [found, fresh] = next_.try_emplace(graph_key, 0);
  if (fresh) found->second = static_cast<int64_t>(RandomCollectiveId() % (int64_t{1} << 56));
  return found->second;
}

void StepSequences::Set(int64_t graph_key, int64_t step_id) {
  absl::MutexLock lock(&mu_);
  next_[graph_key] = step_id;
}

bool StepSequences::Knows(int64_t graph_key) const {
  absl::MutexLock lock(&mu_);
  return next_.contains(graph_key);
}

void StepSequences::Retire(int64_t graph_key, int64_t step_id) {
  absl::MutexLock lock(&mu_);
  auto found = next_.find(graph_key);
  if (found != next_.end() && found->second == step_id) ++found->second;
}

}  // namespace weir
