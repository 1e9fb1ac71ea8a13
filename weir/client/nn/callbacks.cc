#include "weir/client/nn/callbacks.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "weir/graph/import.h"
#include "weir/io/event_writer.h"

namespace weir::nn::callback {
namespace {

// A value of the logs by its name. NOT_FOUND that lists what there is.
StatusOr<double> Find(const Logs& logs, const std::string& name) {
  std::string known;
  for (const auto& [key, value] : logs) {
    if (key == name) return value;
    known += Cat(known.empty() ? "" : ", ", key);
  }
  return NotFound("the logs have no '", name, "'; they have: ", known);
}

// The best value so far.
class Best {
 public:
  Best(bool higher, double min_change) : higher_(higher), min_change_(min_change) {}
  // True if `value` is better than all before.
  bool Improves(double value) {
    const bool better = !has_value_ || (higher_ ? value > best_ + min_change_ : value < best_ - min_change_);
    if (better) best_ = value;
    has_value_ |= better;
    return better;
  }

 private:
  bool higher_;
  double min_change_;
  bool has_value_ = false;
  double best_ = 0;
};

class CheckpointCallback : public Callback {
 public:
  CheckpointCallback(std::string prefix, CheckpointOptions options)
      : prefix_(std::move(prefix)), options_(std::move(options)), best_(options_.higher_is_better, 0) {}

  bool wants_batches() const override { return options_.every_steps > 0; }
  Status OnBatchEnd(Model& model, int64_t, const Logs&) override {
    if (++steps_ % options_.every_steps != 0) return OkStatus();
    return model.Save(prefix_).status();
  }
  Status OnEpochEnd(Model& model, int64_t, const Logs& logs) override {
    if (!options_.best_of.empty()) {
      WEIR_ASSIGN_OR_RETURN(double value, Find(logs, options_.best_of));
      if (!best_.Improves(value)) return OkStatus();
    }
    return model.Save(prefix_).status();
  }

 private:
  std::string prefix_;
  CheckpointOptions options_;
  Best best_;
  int64_t steps_ = 0;
};

class TensorBoardCallback : public Callback {
 public:
  TensorBoardCallback(std::string folder, TensorBoardOptions options)
      : folder_(std::move(folder)), options_(std::move(options)) {}

  bool wants_batches() const override { return options_.every_steps > 0; }

  Status OnTrainBegin(Model& model) override {
    WEIR_ASSIGN_OR_RETURN(train_, EventWriter::Create(folder_ + "/train"));
    if (!options_.parameters.empty()) WEIR_RETURN_IF_ERROR(WriteHParams(*train_, options_.parameters));
    if (!options_.graph) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(std::string graph, ExportGraphDefBytes(model.scope().graph()));
    return train_->GraphBytes(graph);
  }

  Status OnBatchEnd(Model& model, int64_t, const Logs& logs) override {
    if (++steps_ % options_.every_steps != 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(int64_t step, model.step());
    for (const auto& [name, value] : logs) WEIR_RETURN_IF_ERROR(train_->Scalar(step, "batch_" + name, value));
    return OkStatus();
  }

  Status OnEpochEnd(Model& model, int64_t epoch, const Logs& logs) override {
    WEIR_ASSIGN_OR_RETURN(int64_t step, model.step());
    for (const auto& [name, value] : logs) {
      if (!name.starts_with("val_")) {
        WEIR_RETURN_IF_ERROR(train_->Scalar(step, "epoch_" + name, value));
        continue;
      }
      if (validation_ == nullptr) {
        WEIR_ASSIGN_OR_RETURN(validation_, EventWriter::Create(folder_ + "/validation"));
      }
      WEIR_RETURN_IF_ERROR(validation_->Scalar(step, "epoch_" + name.substr(4), value));
    }
    WEIR_ASSIGN_OR_RETURN(double rate, model.learning_rate());
    WEIR_RETURN_IF_ERROR(train_->Scalar(step, "learning_rate", rate));
    if (options_.histograms > 0 && (epoch + 1) % options_.histograms == 0) {
      WEIR_RETURN_IF_ERROR(WriteHistograms(model, step));
    }
    if (validation_ != nullptr) WEIR_RETURN_IF_ERROR(validation_->Flush());
    return train_->Flush();
  }

  Status OnTrainEnd(Model&) override {
    if (validation_ != nullptr) WEIR_RETURN_IF_ERROR(validation_->Close());
    validation_ = nullptr;
    if (!options_.parameters.empty()) WEIR_RETURN_IF_ERROR(WriteHParamsEnd(*train_));
    return train_->Close();
  }

 private:
  Status WriteHistograms(Model& model, int64_t step) {
    for (const Variable& variable : model.variables()) {
      if (variable.dtype() != DType::kFloat) continue;
      WEIR_ASSIGN_OR_RETURN(Tensor value, model.session().Evaluate(variable.value()));
      auto numbers = value.span<float>();
      const std::vector<double> values(numbers.begin(), numbers.end());
      WEIR_RETURN_IF_ERROR(train_->Histogram(step, variable.name(), values));
    }
    return OkStatus();
  }

  std::string folder_;
  TensorBoardOptions options_;
  std::unique_ptr<EventWriter> train_, validation_;
  int64_t steps_ = 0;
};

class EarlyStoppingCallback : public Callback {
 public:
  explicit EarlyStoppingCallback(EarlyStoppingOptions options)
      : options_(std::move(options)), best_(options_.higher_is_better, options_.min_change) {}
  Status OnEpochEnd(Model& model, int64_t, const Logs& logs) override {
    WEIR_ASSIGN_OR_RETURN(double value, Find(logs, options_.monitor));
    waited_ = best_.Improves(value) ? 0 : waited_ + 1;
    if (waited_ > options_.patience) model.StopTraining();
    return OkStatus();
  }

 private:
  EarlyStoppingOptions options_;
  Best best_;
  int64_t waited_ = 0;
};

class ScheduleCallback : public Callback {
 public:
  explicit ScheduleCallback(std::function<double(int64_t, double)> rate) : rate_(std::move(rate)) {}
  Status OnEpochBegin(Model& model, int64_t epoch) override {
    WEIR_ASSIGN_OR_RETURN(double now, model.learning_rate());
    return model.set_learning_rate(rate_(epoch, now));
  }

 private:
  std::function<double(int64_t, double)> rate_;
};

class PlateauCallback : public Callback {
 public:
  explicit PlateauCallback(PlateauOptions options) : options_(std::move(options)), best_(false, 1e-4) {}
  Status OnEpochEnd(Model& model, int64_t, const Logs& logs) override {
    WEIR_ASSIGN_OR_RETURN(double value, Find(logs, options_.monitor));
    waited_ = best_.Improves(value) ? 0 : waited_ + 1;
    if (waited_ < options_.patience) return OkStatus();
    waited_ = 0;
    WEIR_ASSIGN_OR_RETURN(double now, model.learning_rate());
    return model.set_learning_rate(std::max(now * options_.factor, options_.min_rate));
  }

 private:
  PlateauOptions options_;
  Best best_;
  int64_t waited_ = 0;
};

class CsvCallback : public Callback {
 public:
  explicit CsvCallback(std::string path) : path_(std::move(path)) {}
  Status OnEpochEnd(Model&, int64_t epoch, const Logs& logs) override {
    std::string head = "epoch", line = Cat(epoch);
    for (const auto& [name, value] : logs) {
      head += "," + name;
      line += Cat(",", value);
    }
    std::FILE* file = std::fopen(path_.c_str(), started_ ? "a" : "w");
    if (file == nullptr) return Unknown("cannot write ", path_);
    std::fprintf(file, "%s%s\n", started_ ? "" : (head + "\n").c_str(), line.c_str());
    started_ = true;
    if (std::fclose(file) != 0) return Unknown("cannot write ", path_);
    return OkStatus();
  }

 private:
  std::string path_;
  bool started_ = false;
};

class NaNCallback : public Callback {
 public:
  bool wants_batches() const override { return true; }
  Status OnBatchEnd(Model&, int64_t index, const Logs& logs) override {
    if (logs.empty() || std::isfinite(logs[0].second)) return OkStatus();
    return OutOfRange("the loss is ", logs[0].second, " after batch ", index + 1);
  }
};

}  // namespace

CallbackPtr Checkpoint(const std::string& prefix, const CheckpointOptions& options) {
  return std::make_shared<CheckpointCallback>(prefix, options);
}
CallbackPtr TensorBoard(const std::string& folder, const TensorBoardOptions& options) {
  return std::make_shared<TensorBoardCallback>(folder, options);
}
CallbackPtr EarlyStopping(const EarlyStoppingOptions& options) {
  return std::make_shared<EarlyStoppingCallback>(options);
}
CallbackPtr LearningRateSchedule(std::function<double(int64_t epoch, double rate)> rate) {
  return std::make_shared<ScheduleCallback>(std::move(rate));
}
CallbackPtr ReduceRateOnPlateau(const PlateauOptions& options) { return std::make_shared<PlateauCallback>(options); }
CallbackPtr CsvLog(const std::string& path) { return std::make_shared<CsvCallback>(path); }
CallbackPtr StopOnNaN() { return std::make_shared<NaNCallback>(); }

}  // namespace weir::nn::callback
