// UnfinishedRuns: the work that devices still do for operations that have returned.
#ifndef WEIR_RUNTIME_UNFINISHED_RUNS_H_
#define WEIR_RUNTIME_UNFINISHED_RUNS_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/framework/device.h"

namespace weir {

// Keeps device runs whose work may fail after the operation has returned, until somebody waits for their device; that
// caller gets the first error. Thread-safe.
class UnfinishedRuns : public RunKeeper {
 public:
  void Keep(Device& device, std::shared_ptr<DeviceRun> run) override { Keep(device, std::move(run), ""); }
  // Errors of the run name `op`.
  void Keep(Device& device, std::shared_ptr<DeviceRun> run, std::string_view op);

  // Removes and returns the runs of a device.
  struct Run {
    std::shared_ptr<DeviceRun> run;
    std::string op;
  };
  std::vector<Run> Take(const Device& device);
  // The first error of removed runs. REQUIRES: their work has ended.
  static Status FirstError(const std::vector<Run>& runs);

 private:
  absl::Mutex mu_;
  std::map<const Device*, std::vector<Run>> runs_ ABSL_GUARDED_BY(mu_);
};

// Blocks until all work of a run has ended and returns its error.
Status Await(DeviceRun& run);

}  // namespace weir

#endif  // WEIR_RUNTIME_UNFINISHED_RUNS_H_
