#include "weir/client/sync_replicas.h"

#include <algorithm>
#include <span>
#include <thread>

#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/client/op_call.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/queue_ops.h"
#include "weir/client/ops/state_ops.h"

namespace weir {
namespace {

constexpr absl::Duration kPollEvery = absl::Milliseconds(50);
constexpr absl::Duration kChiefTime = absl::Minutes(10);
constexpr VariableOptions kCounter{.trainable = false, .saved = false};

// The chief's updates in a thread, for as long as a session lasts.
class SyncHook : public TrainingHook {
 public:
  SyncHook(const SyncReplicas& sync, bool is_chief) : sync_(sync), is_chief_(is_chief) {}
  ~SyncHook() override { StopUpdates(); }

  Status OnBegin(ClientSession& session, int64_t) override {
    StopUpdates();
    WEIR_RETURN_IF_ERROR(is_chief_ ? session.RunTargets({sync_.begin_chief()}) : AwaitChief(session));
    WEIR_RETURN_IF_ERROR(session.RunTargets({sync_.begin()}));
    if (!is_chief_) return OkStatus();
    cancellation_ = std::make_unique<CancellationManager>();
    failure_ = OkStatus();
    updates_ = std::thread([this, &session] { Update(session.session()); });
    return OkStatus();
  }
  Status OnEnd(ClientSession& session, int64_t) override {
    StopUpdates();
    return is_chief_ && failure_.ok() ? session.RunTargets({sync_.end_chief()}) : OkStatus();
  }
  Status OnError(ClientSession&, const Status& error) override {
    StopUpdates();
    // Who waits for a token hears only that there will be none.
    return failure_.ok() ? error : failure_;
  }

 private:
  Status AwaitChief(ClientSession& session) {
    for (const absl::Time deadline = absl::Now() + kChiefTime; absl::Now() < deadline; absl::SleepFor(kPollEvery)) {
      WEIR_ASSIGN_OR_RETURN(Tensor begun, session.Evaluate(sync_.has_begun()));
      if (begun.scalar<int64_t>() != 0) return OkStatus();
    }
    return DeadlineExceeded("The chief has not begun within ", absl::FormatDuration(kChiefTime));
  }

  void Update(Session& session) {
    StepOptions options;
    options.cancellation = cancellation_.get();
    const std::vector<std::string> update = {sync_.update().name()}, close = {sync_.close().name()};
    Status status;
    while (status.ok()) status = session.Run(options, {}, {}, update, nullptr, nullptr);
    if (cancellation_->cancelled()) return;
    failure_ = status;
    WEIR_LOG(WARNING) << "the chief's update failed: " << Message(status);
    // A task that is lost ends all steps by itself, and may come back.
    if (!IsSessionLost(status)) session.Run({}, {}, close, nullptr).IgnoreError();
  }

  void StopUpdates() {
    if (!updates_.joinable()) return;
    cancellation_->StartCancel();
    updates_.join();
  }

  const SyncReplicas sync_;
  const bool is_chief_;
  std::unique_ptr<CancellationManager> cancellation_;
  std::thread updates_;
  Status failure_;  // of the thread, once it is joined
};

}  // namespace

// Where the gradients of one variable come together. It lives beside the variable, under the variable's name, so that
// all workers find the same one.
class GradientAccumulator {
 public:
  GradientAccumulator(const Scope& scope, const Variable& variable, bool is_sparse)
      : scope_(scope.ColocateWith(variable.handle().op())), dtype_(variable.dtype()), is_sparse_(is_sparse) {
    const std::string name = Cat(variable.name(), "/gradients");
    handle_ = OpCall(scope_, is_sparse ? "SparseConditionalAccumulator" : "ResourceConditionalAccumulator")
                  .Set("dtype", dtype_)
                  .Set("shape", PartialShape(variable.shape()))
                  .Set("shared_name", name)
                  .Single();
  }

  Operation Apply(const Scope& scope, const Output& step, const GradientOutput& gradient) const {
    if (!is_sparse_) return ops::ResourceAccumulatorApplyGradient(scope, handle_, step, gradient.dense);
    return OpCall(scope, "SparseAccumulatorApplyGradient")
        .Add(handle_)
        .Add(step)
        .Add(ops::Cast(scope, gradient.indices, DType::kInt64))
        .Add(gradient.values)
        .Add(ops::Cast(scope, gradient.dense_shape, DType::kInt64))
        .Set("has_known_shape", true)
        .Finish();
  }

  GradientOutput Take(const Scope& scope, int count) const {
    if (!is_sparse_) return {.dense = ops::ResourceAccumulatorTakeGradient(scope, handle_, count, dtype_)};
    OpCall call(scope, "SparseAccumulatorTakeGradient");
    call.Add(handle_).Add(count).Set("dtype", dtype_);
    GradientOutput taken;
    taken.indices = call.One(0);
    taken.values = call.One(1);
    taken.dense_shape = call.One(2);
    return taken;
  }

  Operation SetStep(const Scope& scope, const Output& step) const {
    if (!is_sparse_) return ops::ResourceAccumulatorSetGlobalStep(scope, handle_, step);
    return OpCall(scope, "AccumulatorSetGlobalStep").Add(handle_).Add(step).Finish();
  }

 private:
  Scope scope_;
  DType dtype_;
  bool is_sparse_;
  Output handle_;
};

// What all workers share, beside the variables.
struct SyncReplicas::Accumulators {
  std::vector<Variable> variables;  // that have gradients
  std::vector<GradientAccumulator> gradients;
  Output count;  // how many gradients of a step were accepted: an accumulator too, whose ones are summed
  Variable attempted;
  Variable accepted;
  Output tokens;  // a queue of steps
};

SyncReplicas::SyncReplicas(const Scope& scope, const Optimizer& optimizer, const Output& loss,
                           const SyncReplicasOptions& given) {
  SyncReplicasOptions options = given;
  if (options.total_replicas == 0) options.total_replicas = options.replicas_to_aggregate;
  if (options.replicas_to_aggregate < 1 || options.total_replicas < 1) {
    scope.Fail(InvalidArgument("a synchronous step needs at least one gradient and one worker, not ",
                               options.replicas_to_aggregate, " gradients from ", options.total_replicas, " workers"));
    return;
  }
  std::vector<Variable> variables = options.minimize.variables;
  if (variables.empty()) variables = TrainableVariables(scope.WithPrefix(""));
  const Output losses[] = {loss};
  std::vector<GradientOutput> gradients = Limit(scope, GradientsOf(scope, losses, variables), options.minimize.limits);

  const Scope inside = scope.SubScope("sync_replicas");
  const Variable step = GlobalStep(scope);
  Accumulators shared;
  std::vector<GradientOutput> present;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].is_none()) continue;
    shared.variables.push_back(variables[i]);
    shared.gradients.emplace_back(inside, variables[i], gradients[i].is_sparse());
    present.push_back(gradients[i]);
  }
  const Scope beside = inside.ColocateWith(step.handle().op());
  shared.count =
      ops::ResourceConditionalAccumulator(beside, DType::kFloat, PartialShape(Shape()),
                                          {.shared_name = Cat(inside.prefix(), "/count"), .reduction_type = "SUM"});
  shared.tokens = ops::FIFOQueueV2(beside, {DType::kInt64},
                                   {.shapes = {PartialShape(Shape())}, .shared_name = Cat(inside.prefix(), "/tokens")});
  shared.attempted = Variable(inside, "attempted", Shape(), init::Zeros(), DType::kInt64, kCounter);
  shared.accepted = Variable(inside, "accepted", Shape(), init::Zeros(), DType::kInt64, kCounter);
  BuildChief(inside, shared, optimizer, options);
  BuildWorker(inside, shared, present, options);
  close_ = ops::QueueCloseV2(inside, shared.tokens, {.cancel_pending_enqueues = true});
}

void SyncReplicas::BuildChief(const Scope& scope, const Accumulators& shared, const Optimizer& optimizer,
                              const SyncReplicasOptions& options) {
  std::vector<GradientOutput> means;
  for (const GradientAccumulator& accumulator : shared.gradients) {
    means.push_back(accumulator.Take(scope, options.replicas_to_aggregate));
  }
  training_ = optimizer.ApplyGradients(scope, shared.variables, means);
  Output accepted =
      ops::ResourceAccumulatorTakeGradient(scope, shared.count, options.replicas_to_aggregate, DType::kFloat);
  const Scope after = scope.WithControlDependencies({training_.op});
  const int per_step = std::max(options.total_replicas, options.replicas_to_aggregate);
  const Output tokens = ops::Fill(after, Tensor::Vector<int32_t>({per_step}), training_.step.Read(after));
  // Who has a token may ask how many gradients came too late.
  const Operation counted = shared.accepted.AssignAdd(after, ops::Cast(after, accepted, DType::kInt64));
  update_ =
      ops::QueueEnqueueManyV2(after.WithControlDependencies({counted}).WithName("update"), shared.tokens, {tokens});
  end_chief_ = ops::QueueEnqueueManyV2(
      scope.WithName("end_chief"), shared.tokens,
      {ops::Fill(scope, Tensor::Vector<int32_t>({options.total_replicas}), training_.step.Read(scope))});

  // The chief marks every place of gradients when it begins. A task that was lost and came back has no marks, so all
  // are there only once the chief has seen to all tasks.
  std::vector<Variable> marks = {Variable(scope.ColocateWith(training_.step.handle().op()), "begun", Shape(),
                                          init::Zeros(), DType::kInt64, kCounter)};
  for (size_t i = 0; i < shared.variables.size(); ++i) {
    marks.emplace_back(scope.ColocateWith(shared.variables[i].handle().op()), Cat("begun_", i), Shape(), init::Zeros(),
                       DType::kInt64, kCounter);
  }
  std::vector<Output> begun;
  for (const Variable& mark : marks) begun.push_back(mark.Read(scope));
  has_begun_ = ops::Min(scope, ops::Pack(scope, begun), 0);

  // A worker that gives several gradients to one update needs tokens for all but the last of them before it. If the
  // tokens are older than this beginning, an update may have ended without giving out its own: then everybody gets one.
  const int first_tokens = std::max(0, options.replicas_to_aggregate - options.total_replicas);
  const Output step = training_.step.Read(scope);
  const Output count = ops::SelectV2(scope, ops::Equal(scope, marks[0].Read(scope), Tensor::Scalar<int64_t>(0)),
                                     Tensor::Vector<int32_t>({first_tokens}), Tensor::Vector<int32_t>({per_step}));
  std::vector<Operation> first = {
      ops::QueueEnqueueManyV2(scope, shared.tokens, {ops::Fill(scope, count, training_.step.Read(scope))}),
      ops::ResourceAccumulatorSetGlobalStep(scope, shared.count, step)};
  for (const GradientAccumulator& accumulator : shared.gradients) first.push_back(accumulator.SetStep(scope, step));
  std::vector<Operation> marked;
  for (const Variable& mark : marks) marked.push_back(mark.Assign(scope.WithControlDependencies(first), 1));
  begin_chief_ = Group(scope.WithName("begin_chief"), marked);
}

void SyncReplicas::BuildWorker(const Scope& scope, const Accumulators& shared,
                               std::span<const GradientOutput> gradients, const SyncReplicasOptions& options) {
  // The step that this worker's gradients belong to is nobody else's business: it is no variable of the graph's list.
  const Scope here = scope.WithDevice(options.worker_device);
  Output local_step = ops::VarHandleOp(here.WithName("local_step"), DType::kInt64, PartialShape(Shape()),
                                       {.shared_name = Cat(scope.prefix(), "/local_step")});
  begin_ = ops::AssignVariableOp(here.WithName("begin"), local_step, training_.step.Read(scope));

  const Output step = ops::ReadVariableOp(here, local_step, DType::kInt64);
  std::vector<Operation> given;
  for (size_t i = 0; i < gradients.size(); ++i) given.push_back(shared.gradients[i].Apply(scope, step, gradients[i]));
  given.push_back(ops::ResourceAccumulatorApplyGradient(scope, shared.count, step, Tensor::Scalar(1.0f)));
  given.push_back(shared.attempted.AssignAdd(scope.WithControlDependencies(given), 1));
  const Scope after = scope.WithControlDependencies(given);
  const Output token = ops::QueueDequeueV2(after, shared.tokens, {DType::kInt64})[0];
  training_.op = ops::AssignVariableOp(here.WithName("train"), local_step, token);

  Output waiting = ops::Cast(scope, ops::ResourceAccumulatorNumAccumulated(scope, shared.count), DType::kInt64);
  Output late = shared.attempted.Read(scope) - shared.accepted.Read(scope) - waiting;
  stale_ = ops::Cast(scope.WithName("stale_gradients"), ops::Maximum(scope, late, 0), DType::kFloat);
}

std::shared_ptr<TrainingHook> SyncReplicas::MakeHook(bool is_chief) const {
  return std::make_shared<SyncHook>(*this, is_chief);
}

}  // namespace weir
