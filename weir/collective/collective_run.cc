#include "weir/collective/collective_run.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"

namespace weir {
namespace {

// Larger chunks are merged on other threads than those that receive them.
constexpr size_t kMergeHereBytes = 64 << 10;
// The tables of other tasks name the missing members, so wait a little longer for their answer.
constexpr absl::Duration kAnswerTime = absl::Milliseconds(300);
// How long chunks and errors of a round are kept for members that are late.
constexpr absl::Duration kKeepRound = absl::Seconds(60);

// A step's own deadline would not name the missing members, so a collective gives up before it.
absl::Time CallDeadline(const CollectiveCall& call, absl::Duration default_timeout) {
  const absl::Time now = absl::Now();
  const absl::Duration timeout = call.timeout > absl::ZeroDuration() ? call.timeout : default_timeout;
  absl::Time deadline = now + timeout;
  if (call.step_deadline == absl::InfiniteFuture()) return deadline;
  const absl::Duration left = call.step_deadline - now;
  return std::min(deadline, call.step_deadline - std::min(absl::Seconds(1), left / 5) - kAnswerTime);
}

}  // namespace

CollectiveRun::CollectiveRun(std::shared_ptr<CollectiveDomain> domain, CollectiveCall call, CollectiveDomain::Done done)
    : domain_(std::move(domain)),
      call_(std::move(call)),
      done_(std::move(done)),
      deadline_(CallDeadline(call_, domain_->options().timeout)) {}

void CollectiveRun::Start(std::shared_ptr<CollectiveDomain> domain, CollectiveCall call, CollectiveDomain::Done done) {
  std::make_shared<CollectiveRun>(std::move(domain), std::move(call), std::move(done))->Begin();
}

void CollectiveRun::Begin() {
  auto self = shared_from_this();
  if (call_.cancellation != nullptr) {
    CancellationManager* const cancellation = call_.cancellation;
    token_ = cancellation->Register([self, cancellation] { self->Fail(cancellation->reason()); });
    if (token_ == CancellationManager::kNoToken) return Fail(cancellation->reason());
  }
  timer_ = Timer::Global().CallAt(deadline_ + kAnswerTime, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnDeadline();
  });
  GroupJoin join;
  join.key = call_.group_key;
  join.size = call_.group_size;
  join.member.device = call_.device->name;
  join.member.device_type = call_.device->device_type;
  join.member.incarnation = call_.device->incarnation;
  join.member.user_rank = call_.user_rank;
  join.deadline = deadline_;
  domain_->ResolveGroup(join, &cancellation_, [self](StatusOr<GroupPtr> group) { self->HaveGroup(std::move(group)); });
}

void CollectiveRun::HaveGroup(StatusOr<GroupPtr> group) {
  if (!group.ok()) return Fail(group.status());
  if (ended_.load()) return;
  auto self = shared_from_this();
  {
    absl::MutexLock lock(&mu_);
    known_group_ = *group;
  }
  group_ = *std::move(group);
  rank_ = group_->RankOf(call_.device->name);
  if (rank_ < 0) return Fail(Internal(call_.device->name, " is not a member of its group ", call_.group_key));
  if (!group_->all_weir()) {
    return domain_->FindInstance(group_, call_, &cancellation_, [self](StatusOr<int> source) {
      if (!source.ok()) return self->Fail(source.status());
      auto round = std::make_shared<Round>();
      round->id = static_cast<uint64_t>(self->call_.step_id);
      round->source_rank = *source;
      round->shapes.assign(self->group_->size(), self->call_.spec.shape);
      self->HaveRound(RoundPtr(round));
    });
  }
  RoundJoin join;
  join.group_key = call_.group_key;
  join.group_id = group_->id;
  join.group_size = call_.group_size;
  join.rank = rank_;
  join.instance_key = call_.instance_key;
  join.frame_id = call_.frame_id;
  join.iteration = call_.iteration;
  join.name = call_.name;
  join.spec = call_.spec;
  join.deadline = deadline_;
  join.offer = OfferSeat();
  if (moment_ != nullptr) join.make_id = [moment = moment_] { return moment->MakeCommunicatorId(); };
  domain_->JoinRound(group_, join, &cancellation_,
                     [self](StatusOr<RoundPtr> round) { self->HaveRound(std::move(round)); });
}

void CollectiveRun::HaveRound(StatusOr<RoundPtr> round) {
  std::shared_ptr<DeviceSeat> seat;
  {
    absl::MutexLock lock(&mu_);
    is_joining_ = false;
    if (round.ok()) generation_ = (*round)->communicator.generation;
    seat = seat_;
  }
  if (!round.ok()) return Fail(round.status());
  if (static_cast<int>((*round)->shapes.size()) != group_->size()) {
    return Fail(Internal("The round of instance ", call_.instance_key, " has ", (*round)->shapes.size(),
                         " members, its group has ", group_->size()));
  }
  round_ = *std::move(round);
  {
    absl::MutexLock lock(&mu_);
    round_id_ = round_->id;
  }
  // If the run was cancelled in the meantime, the members that wait for its chunks have not been told.
  if (ended_.load()) {
    const Status left = Aborted(call_.device->name, " has left the collective ", call_.name);
    domain_->chunks().Abort(round_->id, left, absl::Now() + kKeepRound);
    if (seat != nullptr) seat->Doubt();
    return;
  }
  if (round_->communicator.generation > 0) return RunInCommunicator();
  output_ = Tensor();
  if (seat != nullptr && !round_->communicator.obstacle.empty()) seat->Explain(round_->communicator.obstacle);
  is_staged_ = call_.home != nullptr && !StaysOnDevices();
  if (!is_staged_ || !call_.input.has_value()) return StartData();
  // The callback runs on a thread of the device, which must not be blocked.
  call_.home->CopyToHost(call_.input, call_.device_run, [self = shared_from_this()](StatusOr<Tensor> host) {
    self->call_.runner([self, host = std::move(host)] {
      if (!host.ok()) return self->Fail(host.status());
      self->call_.input = *host;
      self->StartData();
    });
  });
}

void CollectiveRun::StartData() {
  Status started = StartAlgorithm(shared_from_this());
  if (!started.ok()) Fail(started);
}

SeatOffer CollectiveRun::OfferSeat() {
  SeatOffer offer;
  auto* const source = dynamic_cast<CommunicatorSource*>(call_.arithmetic.get());
  if (source == nullptr || group_->size() < 2) return offer;
  std::shared_ptr<DeviceSeat> seat = domain_->SeatOf(group_, rank_);
  offer = seat->Offer(*source);
  if (offer.obstacle.empty() && call_.deterministic) {
    offer.card.clear();
    offer.obstacle = "the session is deterministic";
  }
  if (!offer.card.empty()) {
    PrepareOutput().IgnoreError();  // what fails now is tried again when it is needed
    StatusOr<std::shared_ptr<DeviceMoment>> moment = source->Mark();
    if (moment.ok()) {
      moment_ = *std::move(moment);
    } else {
      offer.card.clear();
      offer.obstacle = std::string(Message(moment.status()));
    }
  }
  absl::MutexLock lock(&mu_);
  seat_ = std::move(seat);
  is_joining_ = true;
  return offer;
}

// Memory for the result, if its size is known already.
Status CollectiveRun::PrepareOutput() {
  Shape shape = call_.spec.shape;
  switch (call_.spec.kind) {
    case CollectiveKind::kGather: {
      if (round_ == nullptr) return Unavailable("The size of a gather follows from the other members");
      int64_t rows = 0;
      for (const Shape& each : round_->shapes) rows += each.dim(0);
      WEIR_RETURN_IF_ERROR(shape.SetDim(0, rows));
      break;
    }
    case CollectiveKind::kReduceScatter:
      WEIR_RETURN_IF_ERROR(CheckShape(call_.spec, group_->size()));
      WEIR_RETURN_IF_ERROR(shape.SetDim(0, shape.dim(0) / group_->size()));
      break;
    case CollectiveKind::kBroadcast:
      if (!call_.spec.is_source) break;
      output_ = call_.input;
      return OkStatus();
    default:
      break;
  }
  WEIR_ASSIGN_OR_RETURN(output_, Tensor::Allocate(call_.spec.dtype, shape, call_.allocator));
  return OkStatus();
}

StatusOr<DeviceCollectiveCall> CollectiveRun::MakeDeviceCall() {
  DeviceCollectiveCall call;
  call.to_is_newer = !output_.has_value();
  if (call.to_is_newer) WEIR_RETURN_IF_ERROR(PrepareOutput());
  call.from = call_.input;
  call.to = output_;
  call.moment = moment_;
  call.merge = static_cast<ChunkMerge>(call_.spec.merge);
  const int n = group_->size();
  const int64_t elements = call_.spec.shape.num_elements();
  switch (call_.spec.kind) {
    case CollectiveKind::kReduce:
      call.kind = DeviceCollective::kReduce;
      break;
    case CollectiveKind::kReduceScatter:
      call.kind = DeviceCollective::kReduceScatter;
      break;
    case CollectiveKind::kBroadcast:
      call.kind = DeviceCollective::kBroadcast;
      call.root = round_->source_rank;
      break;
    case CollectiveKind::kGather:
      call.kind = DeviceCollective::kGather;
      for (const Shape& each : round_->shapes) call.counts.push_back(each.num_elements());
      break;
    case CollectiveKind::kAllToAll:
      call.kind = DeviceCollective::kExchange;
      call.counts.assign(n, elements / n);
      call.received = call.counts;
      break;
    case CollectiveKind::kPermute:
      call.kind = DeviceCollective::kExchange;
      call.counts.assign(n, 0);
      call.received.assign(n, 0);
      for (int rank = 0; rank < n; ++rank) {
        const int to = call_.spec.permutation[rank];
        if (rank == rank_) call.counts[to] = elements;
        if (to == rank_) call.received[rank] = elements;
      }
      break;
  }
  return call;
}

void CollectiveRun::RunInCommunicator() {
  StatusOr<DeviceCollectiveCall> call = MakeDeviceCall();
  std::shared_ptr<DeviceSeat> seat;
  {
    absl::MutexLock lock(&mu_);
    seat = seat_;
  }
  if (!call.ok()) return Fail(call.status());
  seat->Run(round_->communicator, *std::move(call),
            [self = shared_from_this()](const Status& status) { self->EndInCommunicator(status); });
}

void CollectiveRun::EndInCommunicator(const Status& status) {
  if (!status.ok()) return Fail(status);
  if (ended_.load()) return;
  // This is a thread of the device, which the nodes that follow must not keep.
  call_.runner([self = shared_from_this()] {
    Status divided;
    if (self->call_.spec.divide && !self->ended_.load()) {
      divided = self->call_.arithmetic->Divide(self->output_, self->group_->size());
    }
    if (!divided.ok()) return self->Fail(divided);
    self->Finish(self->output_);
  });
}

bool CollectiveRun::StaysOnDevices() const {
  if (call_.arithmetic == nullptr) return false;
  return std::ranges::all_of(group_->members, [&](const CollectiveMember& member) {
    return domain_->IsHere(member) && member.device_type == call_.device->device_type;
  });
}

StatusOr<Tensor> CollectiveRun::Allocate(DType dtype, const Shape& shape) {
  return Tensor::Allocate(dtype, shape, is_staged_ ? call_.home->host_allocator() : call_.allocator);
}

std::string CollectiveRun::ChunkKey(const std::string& key) const {
  return Cat(call_.group_key, ":", call_.instance_key, ":", call_.frame_id, ":", call_.iteration, key);
}

Status CollectiveRun::Send(const std::string& key, Tensor chunk) {
  return domain_->chunks().Provide(round_->id, ChunkKey(key), std::move(chunk), deadline_ + kKeepRound);
}

void CollectiveRun::Receive(int sender, const std::string& key, Tensor into, std::function<Status(Tensor)> done) {
  auto self = shared_from_this();
  {
    absl::MutexLock lock(&mu_);
    ++awaited_[sender];
  }
  auto received = [self, sender, done = std::move(done)](StatusOr<Tensor> chunk) {
    {
      absl::MutexLock lock(&self->mu_);
      if (--self->awaited_[sender] == 0) self->awaited_.erase(sender);
    }
    if (!chunk.ok()) return self->Fail(chunk.status());
    if (self->ended_.load()) return;
    Status status = done(*std::move(chunk));
    if (!status.ok()) self->Fail(status);
  };
  const CollectiveMember& from = group_->members[sender];
  if (domain_->IsHere(from)) {
    const size_t bytes = into.num_bytes();
    return domain_->chunks().Take(
        round_->id, ChunkKey(key), &cancellation_, [received = std::move(received), bytes](StatusOr<Tensor> chunk) {
          if (chunk.ok() && chunk->num_bytes() != bytes) {
            return received(Internal("Tensor Size Mismatch: a chunk of ", bytes, " bytes was expected, but ",
                                     chunk->num_bytes(), " arrived"));
          }
          received(std::move(chunk));
        });
  }
  CollectivePeers* peers = domain_->peers();
  if (peers == nullptr) return received(Unavailable("The server is shutting down"));
  const ChunkRequest request{round_->id, ChunkKey(key), &from, &group_->members[rank_]};
  peers->FetchChunk(request, into, &cancellation_, [received = std::move(received), into](const Status& status) {
    received(status.ok() ? StatusOr<Tensor>(into) : StatusOr<Tensor>(status));
  });
}

void CollectiveRun::Work(size_t bytes, std::function<Status()> work) {
  auto run = [self = shared_from_this(), work = std::move(work)] {
    if (self->ended_.load()) return;
    Status status = work();
    if (!status.ok()) self->Fail(status);
  };
  if (bytes <= kMergeHereBytes || call_.runner == nullptr) return run();
  call_.runner(std::move(run));
}

void CollectiveRun::Finish(Tensor output) {
  if (ended_.exchange(true)) return;
  if (call_.cancellation != nullptr) call_.cancellation->TryDeregister(token_);
  Timer::Global().TryCancel(timer_);
  if (!is_staged_) return End(std::move(output));
  call_.home->CopyFromHost(output, call_.device_run,
                           [self = shared_from_this()](StatusOr<Tensor> copy) { self->End(std::move(copy)); });
}

void CollectiveRun::End(StatusOr<Tensor> result) {
  auto done = std::move(done_);
  done(std::move(result));
}

void CollectiveRun::Fail(const Status& status) {
  if (ended_.exchange(true)) return;
  auto self = shared_from_this();
  uint64_t round_id = 0, generation = 0;
  GroupPtr group;
  std::shared_ptr<DeviceSeat> seat;
  bool is_joining = false;
  {
    absl::MutexLock lock(&mu_);
    round_id = round_id_;
    group = known_group_;
    seat = seat_;
    generation = generation_;
    is_joining = is_joining_;
  }
  if (group != nullptr &&
      (absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsFailedPrecondition(status))) {
    domain_->ForgetGroup(*group);
  }
  if (seat != nullptr && is_joining) seat->Doubt();
  if (seat != nullptr && generation > 0) {
    seat->Lose(generation,
               Annotate(status, Cat("The collective ", call_.name, " was ended by ", call_.device->name, ": ")));
  }
  if (round_id != 0) {
    Status told = Annotate(status, Cat("The collective ", call_.name, " was ended by ", call_.device->name, ": "));
    if (absl::IsCancelled(status)) told = Aborted(Message(told));
    // TensorFlow's masters reuse a step's id after an error.
    domain_->chunks().Abort(round_id, told, absl::Now() + (group->all_weir() ? kKeepRound : absl::Seconds(5)));
  }
  cancellation_.StartCancel(status);
  if (call_.cancellation != nullptr) call_.cancellation->TryDeregister(token_);
  Timer::Global().TryCancel(timer_);
  auto done = std::move(done_);
  done(status);
}

std::string CollectiveRun::Senders() {
  std::vector<std::string> names;
  absl::MutexLock lock(&mu_);
  for (const auto& [rank, count] : awaited_) names.push_back(known_group_->members[rank].device);
  return absl::StrJoin(names, ", ");
}

void CollectiveRun::OnDeadline() {
  bool has_round = false, in_communicator = false;
  {
    absl::MutexLock lock(&mu_);
    has_round = round_id_ != 0;
    in_communicator = generation_ > 0;
  }
  if (in_communicator) {
    return Fail(DeadlineExceeded("Collective has timed out during execution: instance ", call_.instance_key,
                                 " of group ", call_.group_key, " (", call_.name, ") has all of its ", call_.group_size,
                                 " members, but they did not end it together"));
  }
  if (has_round) {
    return Fail(DeadlineExceeded("Collective has timed out during execution: instance ", call_.instance_key,
                                 " of group ", call_.group_key, " (", call_.name, ") waits for data from ", Senders()));
  }
  Fail(DeadlineExceeded("Collective has timed out waiting for other workers: the group ", call_.group_key, " of ",
                        call_.group_size, " members did not come together for instance ", call_.instance_key, " (",
                        call_.name, "); ", domain_->options().leader, " did not answer"));
}

}  // namespace weir
