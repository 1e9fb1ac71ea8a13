// The workloads of clusters: parameter servers and additional workers are processes of this program on this machine.
#ifndef WEIR_CLI_BENCH_CLUSTER_H_
#define WEIR_CLI_BENCH_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/base/status.h"

namespace weir {

bool IsClusterWorkload(const std::string& name);

class ClusterRunner {
 public:
  virtual ~ClusterRunner() = default;
  virtual Status Run() = 0;
  // The duration of every repetition in milliseconds, with all workers running at once.
  virtual StatusOr<std::vector<double>> Measure(double seconds) = 0;
};
// Starts the cluster of a workload; it ends with the runner.
StatusOr<std::unique_ptr<ClusterRunner>> MakeClusterRunner(const std::string& name);

// Runs the process of an additional worker: answers "run" and "measure SECONDS" on standard input. `place` is the text
// that the first worker passed to it.
Status ServeClusterWorker(const std::string& name, const std::string& place);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_CLUSTER_H_
