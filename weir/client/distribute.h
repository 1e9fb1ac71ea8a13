// weir::distribute: on which devices and in which processes a model trains. Models made while a strategy is current
// train by it, and Fit stays as it is:
//
//   WEIR_ASSIGN_OR_RETURN(distribute::Strategy strategy, distribute::MultiWorkerMirrored());
//   distribute::StrategyScope scope(strategy);
//   nn::Model model(...);                       // Compile and Fit as without; a batch is that of all replicas together
//
// Checkpoints do not know of strategies: what one has written, any other and none can load.
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
  std::vector<std::string> devices;  // one replica on each; none: one, where the placer puts its nodes
  std::string variable_device;       // where variables are kept; empty: beside the first replica
  bool mirrors = false;              // replicas have copies of the variables
  bool across_ranks = false;         // with the other processes of the job

  int num_local_replicas() const { return devices.empty() ? 1 : static_cast<int>(devices.size()); }
  // Whose gradients go into one update.
  int num_replicas() const { return num_local_replicas() * (across_ranks ? collective::Size() : 1); }
};

// Everything on one device.
Strategy OneDevice(const std::string& device);
// A replica with a copy of all variables on each device; no devices: all GPUs of the environment, or else its CPUs.
// Gradients are added on the first device, which updates its variables and gives them to the others.
Strategy Mirrored(const std::vector<std::string>& devices = {}, Environment* environment = nullptr);
// Replicas on the devices read and update the same variables, on the parameter device.
Strategy CentralStorage(const std::vector<std::string>& devices, const std::string& parameter_device = "/device:CPU:0");
// The same model in every process of a job (weir launch, mpirun, srun, ...), with the local devices each. Gradients are
// averaged over all (weir/collective/collective.h), and rank 0's first values count. Does the collectives' Init if the
// program has not.
StatusOr<Strategy> MultiWorkerMirrored(const std::vector<std::string>& local_devices = {});
// MultiWorkerMirrored in a job with several processes, Mirrored with several GPUs, otherwise one replica.
StatusOr<Strategy> Default();

// Makes a strategy the current one of this thread, for as long as it lives.
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
// One replica without a name if there is none.
const Strategy& Current();

// For programs with their own loops. Calls the function once for every local replica, with a scope on its device.
std::vector<Output> Run(const Scope& scope, const Strategy& strategy,
                        const std::function<Output(const Scope& scope, int replica)>& function);
// What all replicas gave, those of other processes too: their sum or mean.
enum class Reduction { kSum, kMean };
Output Reduce(const Scope& scope, const Strategy& strategy, Reduction reduction, const std::vector<Output>& values);

}  // namespace distribute
}  // namespace weir

#endif  // WEIR_CLIENT_DISTRIBUTE_H_
