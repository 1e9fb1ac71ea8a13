#include "weir/client/nn/collective_callbacks.h"

#include <algorithm>

#include "weir/client/collective_ops.h"

namespace weir::nn::callback {
namespace {

class BroadcastCallback : public Callback {
 public:
  explicit BroadcastCallback(int root) : root_(root) {}
  Status OnTrainBegin(Model& model) override {
    const std::vector<Variable> all = Variables(model.scope().WithPrefix(""));
    return collective::BroadcastVariables(model.session(), all, root_);
  }

 private:
  const int root_;
};

class AverageCallback : public Callback {
 public:
  Status ChangeLogs(Model&, int64_t, Logs* logs) override {
    std::vector<double> values;
    for (const auto& entry : *logs) values.push_back(entry.second);
    WEIR_ASSIGN_OR_RETURN(Tensor means,
                          collective::AllReduce("metrics", Tensor::Vector<double>(std::span<const double>(values))));
    for (size_t i = 0; i < logs->size(); ++i) (*logs)[i].second = means.data<double>()[i];
    return OkStatus();
  }
};

class WarmupCallback : public Callback {
 public:
  explicit WarmupCallback(const WarmupOptions& options) : options_(options) {}
  bool wants_batches() const override { return options_.steps_per_epoch > 0; }
  Status OnEpochBegin(Model& model, int64_t epoch) override {
    epoch_ = epoch;
    return SetRate(model, static_cast<double>(epoch));
  }
  Status OnBatchEnd(Model& model, int64_t index, const Logs&) override {
    if (epoch_ >= options_.epochs) return OkStatus();
    return SetRate(model, static_cast<double>(epoch_) +
                              static_cast<double>(index + 1) / static_cast<double>(options_.steps_per_epoch));
  }

 private:
  Status SetRate(Model& model, double epoch) {
    if (done_) return OkStatus();
    const double ranks = collective::Size();
    const double part = options_.epochs > 0 ? std::min(epoch / static_cast<double>(options_.epochs), 1.0) : 1.0;
    done_ = part == 1.0;  // other callbacks may change the rate from now on
    return model.set_learning_rate(options_.learning_rate / ranks * (1 + part * (ranks - 1)));
  }

  const WarmupOptions options_;
  int64_t epoch_ = 0;
  bool done_ = false;
};

class CommitCallback : public Callback {
 public:
  CommitCallback(collective::SessionState& state, const CommitOptions& options) : state_(state), options_(options) {}
  bool wants_batches() const override { return options_.every_batches > 0; }
  Status OnBatchEnd(Model&, int64_t index, const Logs&) override {
    return (index + 1) % options_.every_batches == 0 ? state_.Commit() : OkStatus();
  }
  Status OnEpochEnd(Model&, int64_t epoch, const Logs&) override {
    if (!options_.epoch.empty()) state_.set_number(options_.epoch, epoch + 1);
    return state_.Commit();
  }

 private:
  collective::SessionState& state_;
  const CommitOptions options_;
};

}  // namespace

CallbackPtr BroadcastVariables(int root) { return std::make_shared<BroadcastCallback>(root); }
CallbackPtr AverageMetrics() { return std::make_shared<AverageCallback>(); }
CallbackPtr LearningRateWarmup(const WarmupOptions& options) { return std::make_shared<WarmupCallback>(options); }
CallbackPtr CommitState(collective::SessionState& state, const CommitOptions& options) {
  return std::make_shared<CommitCallback>(state, options);
}

}  // namespace weir::nn::callback
