#include "examples/cluster_training/replica.h"

#include <memory>
#include <optional>

#include "examples/digits/digits.h"

namespace {

using namespace weir;

constexpr int64_t kBatch = 32;  // of all workers together
constexpr int64_t kDigits = 512;

StatusOr<nn::LayerPtr> Network(const std::string& model) {
  if (model == "cnn") {
    return nn::Sequential({nn::Conv2D(6, 5, {.strides = 2, .activation = "relu"}), nn::MaxPool2D(2),
                           nn::Conv2D(12, 3, {.activation = "relu"}), nn::Flatten(), nn::Dense(10)});
  }
  // The rows of a coarse image, one after the other.
  if (model == "lstm") {
    return nn::Sequential({nn::AveragePool2D(4), nn::Reshape({7, 7}), nn::LSTM(16), nn::Dense(10)});
  }
  return InvalidArgument("no model '", model, "'; there are cnn and lstm");
}

// The model, how it is trained, and the digits.
class Replica {
 public:
  explicit Replica(const ReplicaOptions& options) : options_(options), root_(Scope::NewRoot()) {}

  StatusOr<ReplicaResult> Run() {
    WEIR_ASSIGN_OR_RETURN(digits_, examples::DrawDigits(kDigits, /*seed=*/1));
    WEIR_RETURN_IF_ERROR(Build());
    TrainingLoopOptions loop = LoopOptions();
    if (options_.target.empty()) {
      WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root_));
      WEIR_ASSIGN_OR_RETURN(result_.steps, TrainUntil(*session, training_, loss_, loop));
      return Finish(*session);
    }
    auto connect = [this] { return ClientSession::Create(root_, options_.target); };
    WEIR_ASSIGN_OR_RETURN(result_.steps, TrainUntil(root_, connect, training_, loss_, loop));
    WEIR_ASSIGN_OR_RETURN(auto session, connect());
    return Finish(*session);
  }

 private:
  bool on_cluster() const { return !options_.target.empty(); }

  Status Build() {
    const std::string device = Cat("/job:worker/task:", options_.task);
    SetRandomSeed(root_, 1);  // all workers, and a run without them, begin with the same values
    x_ = ops::Placeholder(root_.WithName("x"), DType::kFloat, {.shape = PartialShape({-1, 28, 28, 1})});
    labels_ = ops::Placeholder(root_.WithName("labels"), DType::kInt64, {.shape = PartialShape({-1})});
    WEIR_ASSIGN_OR_RETURN(nn::LayerPtr network, Network(options_.model));
    nn::Context context(std::make_shared<nn::NetworkState>(nn::NetworkState{.root = root_}), root_, /*training=*/true);
    loss_ = loss::SparseCategoricalCrossentropy()(root_, labels_, context(network, x_));
    const Optimizer optimizer = optimizer::Momentum({.learning_rate = 0.05});
    if (options_.mode == "async" || !on_cluster()) {
      training_ = optimizer.Minimize(root_, loss_);
    } else if (options_.mode == "sync" || options_.mode == "backup") {
      const int gradients = options_.mode == "sync" ? options_.workers : std::max(1, options_.workers - 1);
      sync_.emplace(
          root_, optimizer, loss_,
          SyncReplicasOptions{
              .replicas_to_aggregate = gradients, .total_replicas = options_.workers, .worker_device = device});
      training_ = sync_->training();
    } else {
      return InvalidArgument("no mode '", options_.mode, "'; there are async, sync and backup");
    }
    if (on_cluster())
      WEIR_RETURN_IF_ERROR(SetReplicaDevices(root_, {.ps_tasks = options_.ps, .worker_device = device}));
    return root_.status();
  }

  TrainingLoopOptions LoopOptions() {
    TrainingLoopOptions loop;
    loop.folder = options_.folder;
    loop.last_step = options_.steps;
    loop.save_every_steps = 5;
    loop.shared = on_cluster();
    loop.is_chief = options_.task == 0;
    loop.feeds = [this](int64_t step) { return Batch(step); };
    if (sync_) {
      loop.hooks.push_back(sync_->MakeHook(loop.is_chief));
      loop.summaries = {{"stale_gradients", sync_->stale()}};
      loop.summary_every_steps = 5;
    }
    loop.hooks.push_back(std::make_shared<Watch>(this));
    return loop;
  }

  // This worker's share of the digits of a step.
  StatusOr<ClientSession::Feeds> Batch(int64_t step) {
    const int64_t share = on_cluster() ? kBatch / options_.workers : kBatch;
    const int64_t first = (step * kBatch + (on_cluster() ? options_.task * share : 0)) % kDigits;
    return Rows(first, share);
  }
  ClientSession::Feeds Rows(int64_t first, int64_t count) {
    return ClientSession::Feeds{{x_, digits_.inputs.Slice(first, first + count)},
                                {labels_, digits_.labels.Slice(first, first + count)}};
  }

  StatusOr<float> FixedLoss(ClientSession& session) {
    WEIR_ASSIGN_OR_RETURN(Tensor loss, session.Evaluate(loss_, Rows(0, 128)));
    return loss.scalar<float>();
  }

  StatusOr<ReplicaResult> Finish(ClientSession& session) {
    WEIR_ASSIGN_OR_RETURN(result_.loss, FixedLoss(session));
    if (sync_) {
      WEIR_ASSIGN_OR_RETURN(Tensor stale, session.Evaluate(sync_->stale()));
      result_.stale = stale.scalar<float>();
    }
    return result_;
  }

  struct Watch : TrainingHook {
    explicit Watch(Replica* replica) : replica(replica) {}
    Status OnBegin(ClientSession& session, int64_t step) override {
      if (step > 0) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(replica->result_.loss_before, replica->FixedLoss(session));
      return OkStatus();
    }
    Status OnStep(ClientSession&, int64_t step, double, bool*) override {
      if (replica->options_.on_step) replica->options_.on_step(step);
      return OkStatus();
    }
    Replica* replica;
  };

  const ReplicaOptions& options_;
  Scope root_;
  ExampleSet digits_;
  Output x_, labels_, loss_;
  Training training_;
  std::optional<SyncReplicas> sync_;
  ReplicaResult result_;
};

}  // namespace

weir::StatusOr<ReplicaResult> TrainReplica(const ReplicaOptions& options) { return Replica(options).Run(); }
