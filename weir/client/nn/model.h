// Model: a network with a loss and an optimizer. It can be trained, evaluated, saved and loaded, and makes predictions.
//
//   nn::Model model(nn::Sequential({nn::Flatten(), nn::Dense(128, {.activation = "relu"}), nn::Dense(10)}),
//                   {{28, 28, 1}});
//   WEIR_RETURN_IF_ERROR(model.Compile({.optimizer = optimizer::Adam(),
//                                       .loss = loss::SparseCategoricalCrossentropy(),
//                                       .metrics = {metric::SparseCategoricalAccuracy()}}));
//   WEIR_RETURN_IF_ERROR(model.Fit(images, labels, {.epochs = 3}).status());
//
// The model is one graph with two calls of the network, one for training and one for everything else; both use the same
// variables. A model that is created in the scope of a strategy (distribute.h) has one training call per replica.
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

// An input of a network: its shape without the batch dimension.
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
  PartialShape labels_shape;  // including the batch dimension; may be unknown
  // The type for matrix products and convolutions, also in Evaluate and Predict: "float32", "bfloat16" or "float16"
  // (docs/guide/mixed_precision.md). For float16 the loss is scaled.
  std::string precision = "float32";
  LossScaleOptions loss_scale;
  // What the backward pass computes again instead of keeping it, for less memory and more time: "none"; "marked",
  // layers in nn::Recomputed; or "chosen", also what is cheap, such as norms and activations. Results do not change.
  std::string recompute = "none";
  // The mean of this many batches' gradients makes one update.
  int64_t gradient_accumulation_steps = 1;
};

enum class Verbosity {
  kSilent,
  kAuto,   // a progress bar on a terminal, otherwise one line per epoch
  kLines,  // one line per epoch
};

struct FitOptions {
  int64_t epochs = 1;
  int64_t batch_size = 32;
  int64_t first_epoch = 0;  // for continuing an earlier training
  bool shuffle = true;
  int64_t seed = 1;
  // If set, evaluated after every epoch.
  Tensor validation_inputs;
  Tensor validation_labels;
  std::vector<CallbackPtr> callbacks;
  Verbosity verbosity = Verbosity::kAuto;
  std::FILE* out = stdout;
};

// The results of every epoch: loss and metrics, and those of the validation data with the prefix "val_".
struct History {
  std::vector<Logs> epochs;
};

class Model {
 public:
  // Variables and random numbers are derived from `seed`; with 0, they differ from run to run.
  Model(LayerPtr network, std::vector<InputSpec> inputs, int64_t seed = 0,
        std::shared_ptr<Environment> environment = nullptr);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Builds the training part of the graph and initializes everything. May be called once. With a precision other than
  // float32, or with recomputation, session() is a different one from then on, with the same variables.
  Status Compile(const CompileOptions& options);

  StatusOr<History> Fit(const Tensor& inputs, const Tensor& labels, const FitOptions& options = {});
  StatusOr<History> Fit(Batches& batches, const FitOptions& options = {});
  // Returns the loss and the metrics.
  StatusOr<Logs> Evaluate(const Tensor& inputs, const Tensor& labels, int64_t batch_size = 128);
  StatusOr<Logs> Evaluate(Batches& batches);
  StatusOr<Tensor> Predict(const Tensor& inputs, int64_t batch_size = 128);
  // Performs one step on a batch and returns its loss and metrics.
  StatusOr<Logs> TrainOnBatch(const Batch& batch);

  // Writes all variables, including the optimizer's, to a checkpoint `<prefix>-<step>`; returns its name. During Fit,
  // also saves the position in the data, if the batches support this.
  StatusOr<std::string> Save(const std::string& prefix);
  // INVALID_ARGUMENT or NOT_FOUND if the checkpoint does not fit. A folder means its latest checkpoint. If the
  // checkpoint was written during Fit, the next Fit continues with the same epoch and example.
  Status Load(const std::string& prefix, const RestoreOptions& options = {});

  // Writes a SavedModel with the signature `serving_default`, from `input` (`input_1` ...) to `output`.
  Status Export(const std::string& folder);

  // A table of the layers, their outputs and numbers of parameters; then the most memory of each GPU that the process
  // has used so far.
  std::string Summary() const;

  // The number of updates: training steps, except those that only accumulate gradients or whose gradients were not
  // finite.
  StatusOr<int64_t> step();
  StatusOr<double> learning_rate();
  // INVALID_ARGUMENT if the rate depends on the step.
  Status set_learning_rate(double rate);
  // Ends Fit after the current batch; for callbacks.
  void StopTraining() { stop_ = true; }

  const Scope& scope() const { return root_; }
  ClientSession& session() { return *session_; }
  const std::vector<Variable>& variables() const;
  // Of the part for inference.
  const std::vector<Output>& inputs() const { return inputs_; }
  const Output& predictions() const { return predictions_; }

 private:
  struct Phase;
  friend class FitLoop;
  Status Build();
  Status CheckReady() const;
  Status SetUpSession(const CompileOptions& options);
  Status OpenSession();
  // Runs the initializers of variables that a session of this process holds, or that nobody has initialized on the
  // parameter servers. Workers that are not the chief wait for those.
  Status Initialize(const std::vector<Variable>& variables);
  Status MirrorVariables();
  StatusOr<std::map<std::string, Tensor>> PositionTensors();
  Status LoadPosition(const std::string& checkpoint);
  Status RunPhase(Phase& phase, const Batch& batch, std::vector<Tensor>* outputs);

  Scope root_;
  distribute::Strategy strategy_;  // the current strategy when the model was created
  LayerPtr network_;
  std::vector<InputSpec> input_specs_;
  std::shared_ptr<NetworkState> state_;
  std::shared_ptr<ResourceManager> variables_;    // shared by both sessions
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
  Operation mirror_;  // copies the variables' values to the replicas; without a value if there are none
  std::unique_ptr<Phase> train_, test_, predict_;
  std::unique_ptr<Saver> saver_;
  Status status_;
  bool stop_ = false;
  // The position of the running Fit, and where the next one continues.
  Batches* batches_ = nullptr;
  int64_t epoch_ = 0;
  bool epoch_is_done_ = false;
  struct Position {
    int64_t epoch = 0;
    bool is_done = false;  // all batches of the epoch have been used
    Tensor batches;
  };
  std::optional<Position> position_;
};

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_MODEL_H_
