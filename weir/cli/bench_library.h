// The interface to the models and operations of the benchmark. They are not part of the program but of a library
// (benchmarks/models) that `weir bench` loads.
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

// A prepared model: parameters are initialized, a few batches are in memory.
class ModelRunner {
 public:
  virtual ~ModelRunner() = default;
  // Runs one step on the next batch.
  virtual Status Run() = 0;
  // The same; returns the loss, or the sum of the logits.
  virtual StatusOr<double> RunAndSum() = 0;
  // Runs one traced step and returns its report.
  virtual StatusOr<StepReport> RunTraced() = 0;
};

// Options for a model of the section "device".
struct DeviceModelOptions {
  std::string device = "/device:GPU:0";
  bool is_training = true;
  int64_t batch = 0;  // examples per step; 0: as in the model's name
  SessionOptions session;
};

// A model on a device, with its variables and a single batch in the device's memory.
class DeviceModelRunner {
 public:
  virtual ~DeviceModelRunner() = default;
  // Enqueues a step on the device; the step may end after the call.
  virtual Status Step() = 0;
  // Waits for all steps; returns the loss of the last one, or the mean of its outputs.
  virtual StatusOr<double> Finish() = 0;
  // Runs one traced step and returns its report.
  virtual StatusOr<StepReport> RunTraced() = 0;
  // The number of images, or words, per step.
  virtual int64_t examples() const = 0;
};

// Returns the duration of each run in milliseconds: at least three runs, for about `seconds`.
using Measure = StatusOr<std::vector<double>> (*)(const std::function<Status()>& step, double seconds);

// The contents of the library. It has no state.
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
  // Measures every operation whose name contains `filter` and prints its name and the shortest time in milliseconds.
  // With a folder, also writes the graphs there as NAME.pb, for other programs: node `y` is the operation, floats are
  // fed to placeholders `x0`, `x1` ..., integers below N to `i0_below_N`.
  virtual Status MeasureOps(std::string_view filter, double seconds, const std::string& folder,
                            Measure measure) const = 0;
  // Trains an MNIST CNN with batches of 64, alternating between Model::Fit (callbacks, progress bar) and a loop that
  // only runs the session's step, and prints the best time per step of each and their ratio.
  virtual Status MeasureFit(int rounds) const = 0;
};

// Loads the library once: from the file `path`, or if that is empty, from the program's folder. It stays loaded until
// the process ends. NOT_FOUND if there is none, INVALID_ARGUMENT if the file is something else.
StatusOr<const Library*> LoadBenchLibrary(const std::string& path);

// The only symbol of the library.
inline constexpr char kBenchLibrarySymbol[] = "WeirBenchLibrary";
using BenchLibraryFunction = const Library* (*)();

}  // namespace weir::bench

#endif  // WEIR_CLI_BENCH_LIBRARY_H_
