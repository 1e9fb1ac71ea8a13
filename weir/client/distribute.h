// weir::distribute: the devices and processes on which a model trains. A model that is created inside a StrategyScope
// trains with that strategy; its calls stay the same:
//
//   WEIR_ASSIGN_OR_RETURN(distribute::Strategy strategy, distribute::MultiWorkerMirrored());
//   distribute::StrategyScope scope(strategy);
//   nn::Model model(...);                       // Compile and Fit as without; a batch is that of all replicas together
//
// Checkpoints are independent of strategies: a checkpoint that was written with one can be loaded with any other, or
// without.
#ifndef WEIR_CLIENT_DISTRIBUTE_H_
#define WEIR_CLIENT_DISTRIBUTE_H_

#include <functional>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/environment.h"
#include "weir/client/scope.h"
#include "weir/collective/collective.h"

namespace WEIR_PUBLIC weir {
namespace distribute {

struct Strategy {
  std::string name;                  // "Mirrored", ...
  std::vector<std::string> devices;  // one replica per device; empty: a single replica, placed by the placer
  std::string variable_device;       // the device of all variables; empty: that of the first replica
  bool mirrors = false;              // replicas have copies of the variables
  bool across_ranks = false;         // includes the other processes of the job

  int num_local_replicas() const { return devices.empty() ? 1 : static_cast<int>(devices.size()); }
  // The number of replicas whose gradients are combined in one update.
  int num_replicas() const { return num_local_replicas() * (across_ranks ? collective::Size() : 1); }
};

// Everything runs on one device.
Strategy OneDevice(const std::string& device);
// One replica per device, each with a copy of all variables. No devices: all GPUs of the environment, or else its CPUs.
// The first device sums the gradients, updates its variables and copies them to the others.
Strategy Mirrored(const std::vector<std::string>& devices = {}, Environment* environment = nullptr);
// Replicas on all devices read and update the same variables, which are on the parameter device.
Strategy CentralStorage(const std::vector<std::string>& devices, const std::string& parameter_device = "/device:CPU:0");
// The same model in every process of a job (weir launch, mpirun, srun ...), each with its local devices. Gradients are
// averaged over all of them (weir/collective/collective.h), and the initial values are those of rank 0. Initializes the
// collectives if the program has not done so.
StatusOr<Strategy> MultiWorkerMirrored(const std::vector<std::string>& local_devices = {});
// MultiWorkerMirrored in a job with several processes, Mirrored with several GPUs, otherwise a single replica.
StatusOr<Strategy> Default();

// Makes a strategy the current one of this thread for the lifetime of the object.
class StrategyScope {
 public:
  explicit StrategyScope(const Strategy& strategy);
  ~StrategyScope();
  StrategyScope(const StrategyScope&) = delete;
  StrategyScope& operator=(const StrategyScope&) = delete;

 private:
  const Strategy strategy_;
  const Strategy* const before_;
};
// The current strategy; without one, a single unnamed replica.
const Strategy& Current();

// For programs with their own training loops. Calls the function once per local replica, with a scope on its device.
std::vector<Output> Run(const Scope& scope, const Strategy& strategy,
                        const std::function<Output(const Scope& scope, int replica)>& function);
// The sum or mean of the values of all replicas, including those of other processes.
enum class Reduction { kSum, kMean };
Output Reduce(const Scope& scope, const Strategy& strategy, Reduction reduction, const std::vector<Output>& values);

}  // namespace distribute
}  // namespace weir

#endif  // WEIR_CLIENT_DISTRIBUTE_H_
