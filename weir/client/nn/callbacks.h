// Callbacks, which Fit calls during training.
#ifndef WEIR_CLIENT_NN_CALLBACKS_H_
#define WEIR_CLIENT_NN_CALLBACKS_H_

#include <functional>
#include <memory>
#include <string>

#include "weir/base/export.h"
#include "weir/client/nn/model.h"
#include "weir/io/hparams.h"

namespace WEIR_PUBLIC weir {
namespace nn {

// Each method may return an error, which ends Fit. `logs` has the loss and metrics of the epoch so far.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual Status OnTrainBegin(Model& model) { return OkStatus(); }
  virtual Status OnEpochBegin(Model& model, int64_t epoch) { return OkStatus(); }
  // After the batch `index` of the epoch.
  virtual Status OnBatchEnd(Model& model, int64_t index, const Logs& logs) { return OkStatus(); }
  // Called before OnEpochEnd of all callbacks: may change the results of the epoch.
  virtual Status ChangeLogs(Model& model, int64_t epoch, Logs* logs) { return OkStatus(); }
  // `logs` includes the results of validation.
  virtual Status OnEpochEnd(Model& model, int64_t epoch, const Logs& logs) { return OkStatus(); }
  virtual Status OnTrainEnd(Model& model) { return OkStatus(); }
  // False if OnBatchEnd need not be called for every batch; then logs are not computed for it.
  virtual bool wants_batches() const { return false; }
};

namespace callback {

struct CheckpointOptions {
  std::string best_of;  // a name in the logs: only save epochs that are better than all before
  bool higher_is_better = false;
  int64_t every_steps = 0;  // also save after every so many steps
};
// Saves the model after every epoch, as `<prefix>-<step>`.
CallbackPtr Checkpoint(const std::string& prefix, const CheckpointOptions& options = {});

struct TensorBoardOptions {
  int64_t every_steps = 0;  // also log the values of batches, every so many steps; 0: epochs only
  int64_t histograms = 0;   // log histograms of all variables, every so many epochs
  bool graph = true;
  HParams parameters;  // of this training run, for the HPARAMS page
};
// Writes event files: training into `<folder>/train`, validation into `<folder>/validation`.
CallbackPtr TensorBoard(const std::string& folder, const TensorBoardOptions& options = {});

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  bool higher_is_better = false;
  int64_t patience = 0;  // number of epochs without improvement
  double min_change = 0;
};
CallbackPtr EarlyStopping(const EarlyStoppingOptions& options = {});

// Sets the learning rate of each epoch.
CallbackPtr LearningRateSchedule(std::function<double(int64_t epoch, double rate)> rate);

struct PlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  double min_rate = 0;
};
// Lowers the learning rate when there is no more improvement.
CallbackPtr ReduceRateOnPlateau(const PlateauOptions& options = {});

// Writes one line per epoch.
CallbackPtr CsvLog(const std::string& path);
// Ends training with an error when the loss is NaN.
CallbackPtr StopOnNaN();

}  // namespace callback

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_CALLBACKS_H_
