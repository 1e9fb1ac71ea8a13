// Model: a network with a loss and an optimizer, that trains, is evaluated, predicts, and goes to and from files.
//
//   nn::Model model(nn::Sequential({nn::Flatten(), nn::Dense(128, {.activation = "relu"}), nn::Dense(10)}),
//                   {{28, 28, 1}});
//   WEIR_RETURN_IF_ERROR(model.Compile({.optimizer = optimizer::Adam(),
//                                       .loss = loss::SparseCategoricalCrossentropy(),
//                                       .metrics = {metric::SparseCategoricalAccuracy()}}));
//   WEIR_RETURN_IF_ERROR(model.Fit(images, labels, {.epochs = 3}).status());
//
// The model is one graph with two calls of the network in it, one for training and one for the rest; both use the same
// variables. A model that is made in the scope of a strategy (distribute.h) has one call for training for every
// replica.
#ifndef WEIR_CLIENT_NN_MODEL_H_
#define WEIR_CLIENT_NN_MODEL_H_

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/client_session.h"
#include "weir/client/distribute.h"
#include "weir/client/losses.h"
#include "weir/client/metrics.h"
#include "weir/client/nn/batches.h"
#include "weir/client/nn/layers.h"
#include "weir/client/nn/progress_bar.h"
#include "weir/client/optimizer.h"
#include "weir/client/saver.h"

namespace WEIR_PUBLIC weir {

class ResourceManager;

namespace nn {

class Callback;
using CallbackPtr = std::shared_ptr<Callback>;

// One input of a network: its sizes without the batch.
struct InputSpec {
  InputSpec(std::initializer_list<int64_t> sizes, DType dtype = DType::kFloat) : sizes(sizes), dtype(dtype) {}
  std::vector<int64_t> sizes;
  DType dtype;
};

struct CompileOptions {
  Optimizer optimizer = optimizer::Adam();
  Loss loss;
  std::vector<Metric> metrics;
  GradientLimits limits;
  DType labels = DType::kInt64;
  PartialShape labels_shape;  // with the batch; may be unknown
  // What products and convolutions are computed in, here and in Evaluate and Predict: "float32", "bfloat16" or
  // "float16" (docs/guide/mixed_precision.md). Losses of float16 are scaled.
  std::string precision = "float32";
  LossScaleOptions loss_scale;
  // The mean of so many batches' gradients makes one update.
  int64_t gradient_accumulation_steps = 1;
};

enum class Verbosity {
  kSilent,
  kAuto,   // a progress bar on a terminal, a line an epoch elsewhere
  kLines,  // a line an epoch
};

struct FitOptions {
  int64_t epochs = 1;
  int64_t batch_size = 32;
  int64_t first_epoch = 0;  // where training goes on
  bool shuffle = true;
  int64_t seed = 1;
  // Evaluated after every epoch, if there.
  Tensor validation_inputs;
  Tensor validation_labels;
  std::vector<CallbackPtr> callbacks;
  Verbosity verbosity = Verbosity::kAuto;
  std::FILE* out = stdout;
};

// What every epoch gave: loss and metrics, and with "val_" before the name those of the validation data.
struct History {
  std::vector<Logs> epochs;
};

class Model {
 public:
  // Variables and random numbers follow from `seed`; 0: they differ from run to run.
  Model(LayerPtr network, std::vector<InputSpec> inputs, int64_t seed = 0,
        std::shared_ptr<Environment> environment = nullptr);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Builds the training half of the graph and initialises everything. Once. With a precision of its own the model has
  // another session() from then on, with the same variables.
  Status Compile(const CompileOptions& options);

  StatusOr<History> Fit(const Tensor& inputs, const Tensor& labels, const FitOptions& options = {});
  StatusOr<History> Fit(Batches& batches, const FitOptions& options = {});
  // Loss and metrics.
  StatusOr<Logs> Evaluate(const Tensor& inputs, const Tensor& labels, int64_t batch_size = 128);
  StatusOr<Logs> Evaluate(Batches& batches);
  StatusOr<Tensor> Predict(const Tensor& inputs, int64_t batch_size = 128);
  // One step on one batch; the loss and the metrics of it.
  StatusOr<Logs> TrainOnBatch(const Batch& batch);

  // All variables, the optimizer's too, as a checkpoint `<prefix>-<step>`; returns its name. During Fit also where in
  // the data training is, if its batches can say.
  StatusOr<std::string> Save(const std::string& prefix);
  // INVALID_ARGUMENT or NOT_FOUND if the checkpoint does not fit. A folder stands for its latest checkpoint. If the
  // checkpoint was written in the middle of Fit, the next Fit goes on with the same epoch and example.
  Status Load(const std::string& prefix, const RestoreOptions& options = {});

  // A SavedModel whose signature `serving_default` takes `input` (`input_1`, ...) and gives `output`.
  Status Export(const std::string& folder);

  // A table of layers, their outputs and numbers of parameters.
  std::string Summary() const;

  // Updates done: training steps, unless gradients are accumulated or were not finite.
  StatusOr<int64_t> step();
  StatusOr<double> learning_rate();
  // INVALID_ARGUMENT if the rate is a function of the step.
  Status set_learning_rate(double rate);
  // Ends Fit after the current batch; for callbacks.
  void StopTraining() { stop_ = true; }

  const Scope& scope() const { return root_; }
  ClientSession& session() { return *session_; }
  const std::vector<Variable>& variables() const;
  // Of the half that does not train.
  const std::vector<Output>& inputs() const { return inputs_; }
  const Output& predictions() const { return predictions_; }

 private:
  struct Phase;
  friend class FitLoop;
  Status Build();
  Status CheckReady() const;
  Status SetPrecision(const std::string& precision);
  Status MirrorVariables();
  StatusOr<std::map<std::string, Tensor>> PositionTensors();
  Status LoadPosition(const std::string& checkpoint);
  Status RunPhase(Phase& phase, const Batch& batch, std::vector<Tensor>* outputs);

  Scope root_;
  distribute::Strategy strategy_;  // the current one when the model was made
  LayerPtr network_;
  std::vector<InputSpec> input_specs_;
  std::shared_ptr<NetworkState> state_;
  std::shared_ptr<ResourceManager> variables_;    // of both sessions
  std::unique_ptr<ClientSession> first_session_;  // kept while its variables are used; may be null
  std::unique_ptr<ClientSession> session_;
  std::vector<Output> inputs_;
  Output predictions_;
  Output labels_;
  std::vector<LayerCall> calls_;
  std::vector<Metric> metrics_;
  Training training_;
  Output new_rate_;  // fed to set_rate_
  Operation set_rate_;
  Operation mirror_;  // gives replicas' copies the variables' values; without a value if there are none
  std::unique_ptr<Phase> train_, test_, predict_;
  std::unique_ptr<Saver> saver_;
  Status status_;
  bool stop_ = false;
  // Where Fit is now, and where the next one is to go on.
  Batches* batches_ = nullptr;
  int64_t epoch_ = 0;
  bool epoch_is_done_ = false;
  struct Position {
    int64_t epoch = 0;
    bool is_done = false;  // all batches of the epoch were used
    Tensor batches;
  };
  std::optional<Position> position_;
};

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_MODEL_H_
