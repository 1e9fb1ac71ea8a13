// The models and operations of the benchmark. They are not part of the program but of a library (benchmarks/models)
// that `weir bench` loads.
#ifndef WEIR_CLI_BENCH_LIBRARY_H_
#define WEIR_CLI_BENCH_LIBRARY_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/runtime/session.h"

namespace weir::bench {

struct ModelWorkload {
  std::string_view name;
  std::string_view section;  // "train", "infer" or "device"
  std::string_view about;
};

// A model made ready: parameters initialised, a few batches in memory.
class ModelRunner {
 public:
  virtual ~ModelRunner() = default;
  // The next batch.
  virtual Status Run() = 0;
  // The same; returns the loss, or the sum of the logits.
  virtual StatusOr<double> RunAndSum() = 0;
  // One step, traced; what it spent its time on.
  virtual StatusOr<StepReport> RunTraced() = 0;
};

// How a model of the section "device" is made.
struct DeviceModelOptions {
  std::string device = "/device:GPU:0";
  bool is_training = true;
  int64_t batch = 0;  // examples of a step; 0: what the model's name says
  SessionOptions session;
};

// A model on a device, with its variables and its one batch in the device's memory.
class DeviceModelRunner {
 public:
  virtual ~DeviceModelRunner() = default;
  // Gives the device a step, which need not have ended when this returns.
  virtual Status Step() = 0;
  // Waits for all steps; the loss of the last one, or the mean of its outputs.
  virtual StatusOr<double> Finish() = 0;
  // One step, traced; what it spent its time on.
  virtual StatusOr<StepReport> RunTraced() = 0;
  // Images of a step, or words.
  virtual int64_t examples() const = 0;
};

// Milliseconds of single runs: at least three, for about `seconds`.
using Measure = StatusOr<std::vector<double>> (*)(const std::function<Status()>& step, double seconds);

// What the library has. It holds no state.
class Library {
 public:
  virtual ~Library() = default;
  virtual std::span<const ModelWorkload> models() const = 0;
  // REQUIRES: `workload` is one of models().
  virtual StatusOr<std::unique_ptr<ModelRunner>> MakeModel(std::shared_ptr<Environment> environment,
                                                           const ModelWorkload& workload) const = 0;
  // Models of the section "device".
  virtual std::span<const ModelWorkload> device_models() const = 0;
  // REQUIRES: `workload` is one of device_models().
  virtual StatusOr<std::unique_ptr<DeviceModelRunner>> MakeDeviceModel(std::shared_ptr<Environment> environment,
                                                                       const ModelWorkload& workload,
                                                                       const DeviceModelOptions& options) const = 0;
  // Prints a line for every single operation whose name contains `filter`: its name and the least milliseconds of a
  // run. With a folder, also writes the graphs there as NAME.pb, for another program to run: node `y` is the operation,
  // floats are fed to placeholders `x0`, `x1` ..., integers below N to `i0_below_N`.
  virtual Status MeasureOps(std::string_view filter, double seconds, const std::string& folder,
                            Measure measure) const = 0;
  // Trains an MNIST CNN with batches of 64 by turns with Model::Fit (callbacks, progress bar) and with a loop that only
  // runs the session's step, and prints the best time a step of each and their ratio.
  virtual Status MeasureFit(int rounds) const = 0;
};

// Loads it once: from the file `path`, or if that is empty from beside the program. It stays loaded until the process
// ends. NOT_FOUND if there is none, INVALID_ARGUMENT if the file is something else.
StatusOr<const Library*> LoadBenchLibrary(const std::string& path);

// The one symbol of the library.
inline constexpr char kBenchLibrarySymbol[] = "WeirBenchLibrary";
using BenchLibraryFunction = const Library* (*)();

}  // namespace weir::bench

#endif  // WEIR_CLI_BENCH_LIBRARY_H_
