// Model::Fit.
#include <unistd.h>

#include "weir/client/nn/callbacks.h"
#include "weir/client/nn/model_internal.h"

namespace weir::nn {

Status Totals::Add(std::span<const Tensor> outputs, int64_t examples) {
  if (outputs.size() != metrics_.size() + 1) return Internal("a step returned ", outputs.size(), " values");
  if (outputs[0].dtype() != DType::kFloat || outputs[0].num_elements() != 1) {
    return InvalidArgument("a loss must be a float scalar, not ", outputs[0].ToString());
  }
  loss_ += static_cast<double>(outputs[0].scalar<float>()) * static_cast<double>(examples);
  examples_ += examples;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const Tensor& sums = outputs[i + 1];
    if (sums.dtype() != DType::kFloat) return InvalidArgument("metric ", metrics_[i].name, " does not return floats");
    sums_[i].resize(sums.num_elements());
    for (int64_t j = 0; j < sums.num_elements(); ++j) sums_[i][j] += sums.data<float>()[j];
  }
  return OkStatus();
}

Logs Totals::Result(const std::string& prefix) const {
  Logs logs;
  logs.emplace_back(prefix + "loss", examples_ == 0 ? 0 : loss_ / static_cast<double>(examples_));
  for (size_t i = 0; i < metrics_.size(); ++i) {
    logs.emplace_back(prefix + metrics_[i].name, sums_[i].empty() ? 0 : metrics_[i].result(sums_[i]));
  }
  return logs;
}

namespace {

bool IsTerminal(const FitOptions& options) {
  return options.verbosity == Verbosity::kAuto && isatty(fileno(options.out)) == 1;
}

}  // namespace

// The state of one call of Fit.
class FitLoop {
 public:
  FitLoop(Model& model, Batches& batches, const FitOptions& options)
      : model_(model), batches_(batches), options_(options) {
    for (const CallbackPtr& callback : options.callbacks) wants_batches_ |= callback->wants_batches();
  }

  StatusOr<History> Run() {
    model_.stop_ = false;
    for (const CallbackPtr& callback : options_.callbacks) WEIR_RETURN_IF_ERROR(callback->OnTrainBegin(model_));
    const Whereabouts here(model_, batches_);
    WEIR_ASSIGN_OR_RETURN(const int64_t first_epoch, FirstEpoch());
    for (int64_t epoch = first_epoch; epoch < options_.epochs && !model_.stop_; ++epoch) {
      for (const CallbackPtr& callback : options_.callbacks) {
        WEIR_RETURN_IF_ERROR(callback->OnEpochBegin(model_, epoch));
      }
      WEIR_ASSIGN_OR_RETURN(Logs logs, Epoch(epoch));
      for (const CallbackPtr& callback : options_.callbacks) {
        WEIR_RETURN_IF_ERROR(callback->ChangeLogs(model_, epoch, &logs));
      }
      for (const CallbackPtr& callback : options_.callbacks) {
        WEIR_RETURN_IF_ERROR(callback->OnEpochEnd(model_, epoch, logs));
      }
      history_.epochs.push_back(std::move(logs));
    }
    for (const CallbackPtr& callback : options_.callbacks) WEIR_RETURN_IF_ERROR(callback->OnTrainEnd(model_));
    return std::move(history_);
  }

 private:
  StatusOr<Logs> Epoch(int64_t epoch) {
    WEIR_RETURN_IF_ERROR(batches_.Start(epoch));
    model_.epoch_ = epoch;
    model_.epoch_is_done_ = false;
    const std::string title = Cat("epoch ", epoch + 1, "/", options_.epochs);
    const bool terminal = IsTerminal(options_);
    ProgressBar bar(options_.out, title, batches_.count(), terminal);
    Totals totals(model_.metrics_);
    Batch batch;
    std::vector<Tensor> outputs;
    int64_t index = 0;
    for (; !model_.stop_; ++index) {
      WEIR_ASSIGN_OR_RETURN(bool more, batches_.Next(&batch));
      if (!more) {
        model_.epoch_is_done_ = true;
        break;
      }
      WEIR_RETURN_IF_ERROR(model_.RunPhase(*model_.train_, batch, &outputs));
      WEIR_RETURN_IF_ERROR(totals.Add(outputs, batch.inputs[0].dim(0)));
      if (!terminal && !wants_batches_) continue;
      const Logs logs = totals.Result();
      if (terminal) bar.Update(index + 1, logs);
      for (const CallbackPtr& callback : options_.callbacks) {
        if (callback->wants_batches()) WEIR_RETURN_IF_ERROR(callback->OnBatchEnd(model_, index, logs));
      }
    }
    Logs logs = totals.Result();
    if (options_.validation_inputs.has_value()) {
      WEIR_ASSIGN_OR_RETURN(Logs validation, model_.Evaluate(options_.validation_inputs, options_.validation_labels));
      for (auto& [name, value] : validation) logs.emplace_back("val_" + name, value);
    }
    if (options_.verbosity != Verbosity::kSilent) bar.Finish(index, logs);
    return logs;
  }

  // Where a loaded checkpoint was, or where the caller says.
  StatusOr<int64_t> FirstEpoch() {
    if (!model_.position_) return options_.first_epoch;
    const Model::Position position = *std::exchange(model_.position_, std::nullopt);
    WEIR_RETURN_IF_ERROR(batches_.RestorePosition(position.batches));
    if (!position.is_done) return position.epoch;
    // The next epoch begins as if that one had just ended.
    WEIR_RETURN_IF_ERROR(batches_.Start(position.epoch));
    return position.epoch + 1;
  }

  // Lets Model::Save know where training is.
  struct Whereabouts {
    Whereabouts(Model& m, Batches& batches) : model(m) { model.batches_ = &batches; }
    ~Whereabouts() { model.batches_ = nullptr; }
    Model& model;
  };

  Model& model_;
  Batches& batches_;
  const FitOptions& options_;
  bool wants_batches_ = false;
  History history_;
};

StatusOr<History> Model::Fit(Batches& batches, const FitOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckReady());
  return FitLoop(*this, batches, options).Run();
}

StatusOr<History> Model::Fit(const Tensor& inputs, const Tensor& labels, const FitOptions& options) {
  Tensor own_inputs = inputs, own_labels = labels;
  // Workers that share parameter servers divide the examples among themselves, as far as there are enough.
  if (strategy_.servers && inputs.rank() > 0 && labels.rank() > 0 && inputs.dim(0) == labels.dim(0) &&
      inputs.dim(0) >= strategy_.servers->workers) {
    const int64_t rows = inputs.dim(0), worker = strategy_.servers->worker, workers = strategy_.servers->workers;
    own_inputs = inputs.Slice(rows * worker / workers, rows * (worker + 1) / workers);
    own_labels = labels.Slice(rows * worker / workers, rows * (worker + 1) / workers);
  }
  WEIR_ASSIGN_OR_RETURN(
      auto batches,
      TensorBatches({own_inputs}, own_labels,
                    {.batch_size = options.batch_size, .shuffle = options.shuffle, .seed = options.seed}));
  return Fit(*batches, options);
}

}  // namespace weir::nn
