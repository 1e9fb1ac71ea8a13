// ClusterSpec: the tasks of a cluster and their addresses. A task is named "/job:worker/replica:0/task:1".
#ifndef WEIR_DISTRIBUTED_CLUSTER_SPEC_H_
#define WEIR_DISTRIBUTED_CLUSTER_SPEC_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

class ClusterDef;  // wire formats
class ServerDef;

std::string TaskName(std::string_view job, int index);
// The task that a full device name belongs to: "/job:ps/replica:0/task:0" of "/job:ps/replica:0/task:0/device:CPU:0".
std::string_view TaskOfDevice(std::string_view device);

class ClusterSpec {
 public:
  struct Task {
    std::string job;
    int index = 0;
    std::string address;  // "host:port"
    std::string name() const { return TaskName(job, index); }
  };

  // {"worker": ["host:port", ...], "ps": {"0": "host:port"}}, or an object with such a value for the key "cluster".
  static StatusOr<ClusterSpec> FromJson(std::string_view text);
  static StatusOr<ClusterSpec> FromProto(const ClusterDef& def);

  // INVALID_ARGUMENT for an invalid job name, index or address, or if the task already exists.
  Status Add(std::string_view job, int index, std::string_view address);
  // Adds a job with the addresses "host:port,host:port".
  Status AddJob(std::string_view job, std::string_view addresses);

  bool empty() const { return tasks_.empty(); }
  const std::vector<Task>& tasks() const { return tasks_; }  // by job, then index
  const Task* Find(std::string_view job, int index) const;   // null if there is none
  void ToProto(ClusterDef* def) const;

 private:
  std::vector<Task> tasks_;
};

// A cluster and the place of this task in it.
struct ClusterPlace {
  ClusterSpec cluster;
  std::string job;
  int task = 0;
};
// TensorFlow's TF_CONFIG: {"cluster": {...}, "task": {"type": "worker", "index": 0}}.
StatusOr<ClusterPlace> FromTfConfig(std::string_view text);
StatusOr<ClusterPlace> FromServerDef(const ServerDef& def);

// Reads the environment variables that Slurm sets for a process of `srun`. Tasks in the order of SLURM_PROCID fill the
// jobs in the given order; the tasks of one node listen on `first_port` and the following ports.
using GetVariable = std::function<std::string(const char* name)>;
StatusOr<ClusterPlace> FromSlurm(const std::vector<std::pair<std::string, int>>& jobs, int first_port,
                                 const GetVariable& variable);
// Expand "n[1-3,07],m2" to node names, and "2(x3),1" to numbers of tasks per node.
StatusOr<std::vector<std::string>> ExpandSlurmNodes(std::string_view list);
StatusOr<std::vector<int>> ExpandSlurmCounts(std::string_view list);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_CLUSTER_SPEC_H_
