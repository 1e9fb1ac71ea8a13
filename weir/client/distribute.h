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
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/export.h"
#include "weir/client/environment.h"
#include "weir/client/replica_devices.h"
#include "weir/client/scope.h"
#include "weir/client/variable.h"
#include "weir/collective/collective.h"

namespace WEIR_PUBLIC weir {
namespace distribute {

// Parameter servers that hold the variables, and this process's place among the workers that share them.
struct ParameterServers {
  std::string target;      // the server that runs this worker's steps: "grpc://host:port"
  ReplicaDevices devices;  // of variables and of everything else
  Partitioner partitioner;
  int worker = 0;  // 0 is the chief, which gives variables their first values
  int workers = 1;
  absl::Duration ready_timeout = absl::Minutes(10);  // how long the others wait for the chief
};

struct Strategy {
  std::string name;                  // "Mirrored", ...
  std::vector<std::string> devices;  // one replica per device; empty: a single replica, placed by the placer
  std::string variable_device;       // the device of all variables; empty: that of the first replica
  bool mirrors = false;              // replicas have copies of the variables
  bool across_ranks = false;         // includes the other processes of the job
  std::optional<ParameterServers> servers;

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

struct ParameterServerOptions {
  // Empty: WEIR_TARGET, which `weir launch` sets, or else this task's address in TF_CONFIG.
  std::string target;
  // Cuts large variables into parts for different servers.
  Partitioner partitioner;
  VariablePlacement placement = VariablePlacement::kRoundRobin;
  absl::Duration ready_timeout = absl::Minutes(10);
};
// Asynchronous training: every worker of a cluster runs the same program with data of its own, reads the variables from
// the parameter servers and sends its gradients there, without waiting for the other workers. TF_CONFIG says what the
// cluster is and which of its workers this process is; servers run `weir server`. Fit divides tensors among the
// workers; each reads Batches of its own. FAILED_PRECONDITION without TF_CONFIG, or in a task that is no worker.
StatusOr<Strategy> ParameterServer(const ParameterServerOptions& options = {},
                                   const collective::Variables& variables = collective::ProcessVariable);

// Into how many parts variables are cut, by TensorFlow's rules: always so many (if there are as many rows); as many as
// have at least, or need at most, so many bytes each.
Partitioner FixedShards(int shards);
Partitioner MinSize(int64_t min_shard_bytes = 256 << 10, int max_shards = 1);
Partitioner MaxSize(int64_t max_shard_bytes, std::optional<int> max_shards = {});

// ParameterServer in a cluster with parameter servers, MultiWorkerMirrored in a job with several processes, Mirrored
// with several GPUs, otherwise a single replica.
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
