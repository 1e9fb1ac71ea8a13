#include "weir/collective/domain.h"

#include <optional>

#include "weir/collective/collective_run.h"

namespace weir {
namespace {

// The server of each device. Devices are identified by their incarnations, which are unique.
struct Registry {
  absl::Mutex mu;
  absl::flat_hash_map<uint64_t, std::weak_ptr<CollectiveDomain>> by_device ABSL_GUARDED_BY(mu);
  std::shared_ptr<CollectiveDomain> of_process ABSL_GUARDED_BY(mu);
};

Registry& DomainRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

Status Closed() { return Unavailable("The server is shutting down"); }

}  // namespace

std::shared_ptr<CollectiveDomain> CollectiveDomain::Make(CollectiveDomainOptions options, CollectivePeers* peers) {
  std::shared_ptr<CollectiveDomain> domain(new CollectiveDomain(std::move(options), peers));
  auto obsolete = [weak = std::weak_ptr(domain)](const CollectiveGroup& group, const Status& reason) {
    auto domain = weak.lock();
    if (domain == nullptr) return;
    domain->ForgetGroup(group);
    domain->rounds_->FailGroup(group.id, reason);
  };
  domain->groups_ = std::make_shared<GroupTable>(domain->options_.tasks, obsolete);
  domain->instances_ = std::make_shared<InstanceTable>(domain->groups_);
  auto find_group = [weak = std::weak_ptr(domain)](int32_t key, uint64_t id) -> GroupPtr {
    auto domain = weak.lock();
    return domain != nullptr ? domain->FindGroup(key, id) : nullptr;
  };
  auto probe = [weak = std::weak_ptr(domain)](const CollectiveMember& member, std::function<void(Status)> done) {
    auto domain = weak.lock();
    if (domain == nullptr || domain->IsHere(member)) return done(OkStatus());
    CollectivePeers* peers = domain->peers();
    if (peers == nullptr) return done(OkStatus());
    peers->Probe(member, std::move(done));
  };
  domain->rounds_ = std::make_shared<RoundTable>(find_group, probe);
  return domain;
}

std::shared_ptr<CollectiveDomain> CollectiveDomain::Of(const DeviceInfo& device) {
  Registry& registry = DomainRegistry();
  absl::MutexLock lock(&registry.mu);
  if (auto found = registry.by_device.find(device.incarnation); found != registry.by_device.end()) {
    if (auto domain = found->second.lock()) return domain;
  }
  if (registry.of_process == nullptr) registry.of_process = Make({}, nullptr);
  return registry.of_process;
}

void CollectiveDomain::Adopt(const std::vector<std::shared_ptr<Device>>& devices) {
  std::vector<uint64_t> adopted;
  for (const auto& device : devices) adopted.push_back(device->info().incarnation);
  {
    Registry& registry = DomainRegistry();
    absl::MutexLock lock(&registry.mu);
    for (uint64_t incarnation : adopted) registry.by_device[incarnation] = weak_from_this();
  }
  absl::MutexLock lock(&mu_);
  adopted_.insert(adopted_.end(), adopted.begin(), adopted.end());
}

void CollectiveDomain::Close() {
  std::vector<uint64_t> adopted;
  std::map<std::pair<GroupPtr, int>, std::shared_ptr<DeviceSeat>> seats;
  {
    absl::MutexLock lock(&mu_);
    adopted.swap(adopted_);
    seats.swap(seats_);
    peers_ = nullptr;
  }
  for (auto& [member, seat] : seats) seat->Close(Closed());
  {
    Registry& registry = DomainRegistry();
    absl::MutexLock lock(&registry.mu);
    for (uint64_t incarnation : adopted) registry.by_device.erase(incarnation);
  }
  groups_->Close(Closed());
  rounds_->Close(Closed());
  chunks_.Close(Closed());
}

CollectivePeers* CollectiveDomain::peers() const {
  absl::MutexLock lock(&mu_);
  return peers_;
}

GroupPtr CollectiveDomain::FindGroup(int32_t key, uint64_t id) const {
  {
    absl::MutexLock lock(&mu_);
    auto found = known_groups_.find(key);
    if (found != known_groups_.end() && found->second->id == id) return found->second;
  }
  GroupPtr formed = groups_->Find(key);
  return formed != nullptr && formed->id == id ? formed : nullptr;
}

void CollectiveDomain::ForgetGroup(const CollectiveGroup& group) {
  absl::MutexLock lock(&mu_);
  auto found = known_groups_.find(group.key);
  if (found != known_groups_.end() && found->second->id == group.id) known_groups_.erase(found);
}

void CollectiveDomain::ResolveGroup(const GroupJoin& join, CancellationManager* cancellation, GroupTable::Done done) {
  if (join.size < 1) {
    return done(InvalidArgument("A group needs at least one member, but group_size is ", join.size));
  }
  GroupPtr known;
  CollectivePeers* peers = nullptr;
  {
    absl::MutexLock lock(&mu_);
    peers = peers_;
    auto found = known_groups_.find(join.key);
    if (found != known_groups_.end()) known = found->second;
  }
  if (known != nullptr && known->size() == join.size) {
    const int rank = known->RankOf(join.member.device);
    if (rank >= 0 && known->members[rank].incarnation == join.member.incarnation) return done(known);
  }
  auto remember = [self = shared_from_this(), done = std::move(done)](StatusOr<GroupPtr> group) {
    if (group.ok()) {
      absl::MutexLock lock(&self->mu_);
      self->known_groups_[(*group)->key] = *group;
    }
    done(std::move(group));
  };
  if (IsLeader()) return groups_->Join(join, cancellation, std::move(remember));
  if (peers == nullptr) return remember(Closed());
  peers->CompleteGroup(options_.leader, join, cancellation, std::move(remember));
}

void CollectiveDomain::FindInstance(const GroupPtr& group, const CollectiveCall& call,
                                    CancellationManager* cancellation, InstanceTable::Done done) {
  const std::pair<uint64_t, int32_t> key(group->id, call.instance_key);
  CollectivePeers* peers = nullptr;
  std::optional<int> known;
  {
    absl::MutexLock lock(&mu_);
    peers = peers_;
    if (auto found = known_instances_.find(key); found != known_instances_.end()) known = found->second;
  }
  if (known.has_value()) return done(*known);
  auto remember = [self = shared_from_this(), key, done = std::move(done)](StatusOr<int> source) {
    if (source.ok()) {
      absl::MutexLock lock(&self->mu_);
      self->known_instances_[key] = *source;
    }
    done(source);
  };
  InstanceJoin join;
  join.name = call.name;
  join.group_key = call.group_key;
  join.group_size = call.group_size;
  join.instance_key = call.instance_key;
  join.device = call.device->name;
  join.device_type = call.device->device_type;
  join.spec = call.spec;
  if (call.spec.kind == CollectiveKind::kGather) {  // TensorFlow's tasks compare result shapes
    Status status = join.spec.shape.SetDim(0, call.spec.shape.dim(0) * call.group_size);
    if (!status.ok()) return done(status);
  }
  if (IsLeader()) return instances_->Join(join, cancellation, std::move(remember));
  if (peers == nullptr) return remember(Closed());
  peers->CompleteInstance(options_.leader, join, cancellation, std::move(remember));
}

void CollectiveDomain::JoinRound(const GroupPtr& group, const RoundJoin& join, CancellationManager* cancellation,
                                 RoundTable::Done done) {
  const CollectiveMember& coordinator = group->members[0];
  if (IsHere(coordinator)) return rounds_->Join(join, cancellation, std::move(done));
  CollectivePeers* peers = this->peers();
  if (peers == nullptr) return done(Closed());
  peers->JoinRound(coordinator, join, cancellation, std::move(done));
}

std::shared_ptr<DeviceSeat> CollectiveDomain::SeatOf(const GroupPtr& group, int rank) {
  std::vector<std::shared_ptr<DeviceSeat>> obsolete;
  std::shared_ptr<DeviceSeat> seat;
  {
    absl::MutexLock lock(&mu_);
    // A group may be known under two pointers, but its id is its own.
    for (auto it = seats_.begin(); it != seats_.end();) {
      const auto& [known, known_rank] = it->first;
      if (known->key == group->key && known->id == group->id && known_rank == rank) return it->second;
      const bool is_old = known->key == group->key && known->id != group->id;
      if (is_old) obsolete.push_back(std::move(it->second));
      it = is_old ? seats_.erase(it) : std::next(it);
    }
    seat = std::make_shared<DeviceSeat>(weak_from_this(), group, rank);
    seats_[{group, rank}] = seat;
  }
  for (auto& old : obsolete) old->Close(Aborted("The group ", group->key, " was formed anew"));
  return seat;
}

void CollectiveDomain::NextStepId(int64_t graph_key, std::function<void(StatusOr<int64_t>)> done) {
  if (IsLeader() || sequences_.Knows(graph_key)) return done(sequences_.Next(graph_key));
  CollectivePeers* peers = this->peers();
  if (peers == nullptr) return done(Closed());
  peers->GetStepSequence(options_.leader, graph_key,
                         [self = shared_from_this(), graph_key, done = std::move(done)](StatusOr<int64_t> id) {
                           if (id.ok()) self->sequences_.Set(graph_key, *id);
                           done(id);
                         });
}

void CollectiveDomain::Execute(CollectiveCall call, Done done) {
  CollectiveRun::Start(shared_from_this(), std::move(call), std::move(done));
}

}  // namespace weir
