#include "weir/collective/elastic.h"

#include <memory>
#include <optional>

#include "weir/base/logging.h"
#include "weir/base/strings.h"
#include "weir/collective/rendezvous.h"

namespace weir::collective {
namespace {

constexpr char kNewRound[] = "weir.elastic.new_round";

// The connection of the running RunElastic. A process belongs to one job only.
Rendezvous* the_rendezvous = nullptr;

bool WantsNewRound(const Status& status) { return status.GetPayload(kNewRound).has_value(); }

// One call of RunElastic.
class ElasticRun {
 public:
  ElasticRun(ElasticState& state, const std::function<Status()>& train, const ElasticOptions& options)
      : state_(state), train_(train), options_(options) {}
  ~ElasticRun() {
    the_rendezvous = nullptr;
    if (has_init_) Shutdown();
  }

  Status Run() {
    if (IsInitialized()) return FailedPrecondition("RunElastic calls Init itself: the program must not call it before");
    WEIR_ASSIGN_OR_RETURN(rendezvous_, Rendezvous::Connect(options_.init.timeout));
    the_rendezvous = rendezvous_.get();
    while (true) {
      Status status = Round();
      if (status.ok()) return rendezvous_ != nullptr ? rendezvous_->Finish() : OkStatus();
      const bool lost = is_lost_ || !Failure().ok();
      if (rendezvous_ == nullptr || (!lost && !WantsNewRound(status))) return status;
      if (has_init_) Shutdown();
      has_init_ = false;
      if (!lost) continue;
      if (options_.max_losses >= 0 && ++losses_ > options_.max_losses) return status;
      WEIR_LOG(WARNING) << "the ranks meet again: " << Message(status);
      // If the ranks never met, the round has changed nothing.
      if (!is_lost_) WEIR_RETURN_IF_ERROR(state_.Restore());
    }
  }

 private:
  Status Round() {
    is_lost_ = true;
    InitOptions init = options_.init;
    if (rendezvous_ == nullptr) {
      is_lost_ = false;
      WEIR_RETURN_IF_ERROR(Init(init));
    } else {
      WEIR_ASSIGN_OR_RETURN(std::optional<Place> place, Join());
      init.meeting_alarm = [this] { return rendezvous_->CheckWorkers(); };
      WEIR_RETURN_IF_ERROR(Init(*place, init));
    }
    has_init_ = true;
    is_lost_ = false;
    WEIR_RETURN_IF_ERROR(state_.Sync());
    if (rounds_++ > 0 && options_.on_new_round) WEIR_RETURN_IF_ERROR(options_.on_new_round());
    WEIR_RETURN_IF_ERROR(train_());
    // No rank ends before all have finished, because a rank that lost another one in the last step still needs the
    // others.
    return rendezvous_ != nullptr ? Barrier() : OkStatus();
  }

  StatusOr<std::optional<Place>> Join() {
    StatusOr<std::optional<Place>> place = rendezvous_->Join(options_.join_timeout);
    // Without a place there is no other round.
    if (!place.ok() || !place->has_value()) is_lost_ = false;
    if (place.ok() && !place->has_value())
      return Cancelled("This worker has left: its host was removed from the job, or training has ended");
    return place;
  }

  ElasticState& state_;
  const std::function<Status()>& train_;
  const ElasticOptions& options_;
  std::unique_ptr<Rendezvous> rendezvous_;
  bool has_init_ = false;
  bool is_lost_ = false;  // true while the ranks meet
  int rounds_ = 0;
  int losses_ = 0;
};

}  // namespace

Status ElasticState::Commit() {
  WEIR_RETURN_IF_ERROR(Save());
  return CheckWorkers();
}

Status ElasticState::CheckWorkers() {
  if (the_rendezvous == nullptr) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(const bool has_news, the_rendezvous->HasNews());
  // The workers receive the launcher's messages at different times, so they agree on the answer.
  WEIR_ASSIGN_OR_RETURN(
      Tensor any, AllReduce("weir/elastic/news", Tensor::Scalar<int32_t>(has_news ? 1 : 0), {.op = ReduceOp::kMax}));
  if (any.scalar<int32_t>() == 0) return OkStatus();
  Status status = Aborted("Workers are joining or leaving the job");
  status.SetPayload(kNewRound, absl::Cord());
  return status;
}

Status TensorState::Save() {
  saved_ = values_;
  return OkStatus();
}

Status TensorState::Restore() {
  values_ = saved_;
  return OkStatus();
}

Status TensorState::Sync() {
  for (auto& [name, value] : values_) {
    const std::string key = Cat("weir/elastic/", name);
    // The shape goes first: only rank 0's counts.
    std::vector<int64_t> dims(value.shape().dims().begin(), value.shape().dims().end());
    WEIR_ASSIGN_OR_RETURN(Tensor rank, Broadcast(key + "/rank", Tensor::Scalar<int64_t>(value.rank()), 0));
    dims.resize(rank.scalar<int64_t>());
    WEIR_ASSIGN_OR_RETURN(Tensor shape,
                          Broadcast(key + "/shape", Tensor::Vector<int64_t>(std::span<const int64_t>(dims)), 0));
    Tensor given = value;
    if (Rank() != 0) {
      auto found = shape.span<int64_t>();
      WEIR_ASSIGN_OR_RETURN(Shape whole, Shape::Make(std::span<const int64_t>(found.data(), found.size())));
      WEIR_ASSIGN_OR_RETURN(given, Tensor::Allocate(value.dtype(), whole));
    }
    WEIR_ASSIGN_OR_RETURN(value, Broadcast(key, given, 0));
  }
  return Save();
}

Status RunElastic(ElasticState& state, const std::function<Status()>& train, const ElasticOptions& options) {
  return ElasticRun(state, train, options).Run();
}

}  // namespace weir::collective
