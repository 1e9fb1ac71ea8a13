// Callbacks: what happens beside training.
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

// Each method may return an error, which ends Fit. `logs` are loss and metrics so far in the epoch.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual Status OnTrainBegin(Model& model) { return OkStatus(); }
  virtual Status OnEpochBegin(Model& model, int64_t epoch) { return OkStatus(); }
  // After the batch `index` of the epoch.
  virtual Status OnBatchEnd(Model& model, int64_t index, const Logs& logs) { return OkStatus(); }
  // Before all callbacks see them: may change what the epoch gave.
  virtual Status ChangeLogs(Model& model, int64_t epoch, Logs* logs) { return OkStatus(); }
  // With the validation's values too.
  virtual Status OnEpochEnd(Model& model, int64_t epoch, const Logs& logs) { return OkStatus(); }
  virtual Status OnTrainEnd(Model& model) { return OkStatus(); }
  // False for one that need not see every batch: logs are not computed for it.
  virtual bool wants_batches() const { return false; }
};

namespace callback {

struct CheckpointOptions {
  std::string best_of;  // a name in the logs: only an epoch that is better than all before is saved
  bool higher_is_better = false;
  int64_t every_steps = 0;  // also after so many steps
};
// Saves the model after every epoch, as `<prefix>-<step>`.
CallbackPtr Checkpoint(const std::string& prefix, const CheckpointOptions& options = {});

struct TensorBoardOptions {
  int64_t every_steps = 0;  // also the batches' values; 0: epochs only
  int64_t histograms = 0;   // of all variables, every so many epochs
  bool graph = true;
  HParams parameters;  // of the run, for the page HPARAMS
};
// Writes event files: training into `<folder>/train`, validation into `<folder>/validation`.
CallbackPtr TensorBoard(const std::string& folder, const TensorBoardOptions& options = {});

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  bool higher_is_better = false;
  int64_t patience = 0;  // epochs without something better
  double min_change = 0;
};
CallbackPtr EarlyStopping(const EarlyStoppingOptions& options = {});

// The rate of each epoch.
CallbackPtr LearningRateSchedule(std::function<double(int64_t epoch, double rate)> rate);

struct PlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  double min_rate = 0;
};
// Lowers the rate when nothing gets better any more.
CallbackPtr ReduceRateOnPlateau(const PlateauOptions& options = {});

// A line an epoch.
CallbackPtr CsvLog(const std::string& path);
// Ends training with an error when the loss is no number.
CallbackPtr StopOnNaN();

}  // namespace callback

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_CALLBACKS_H_
