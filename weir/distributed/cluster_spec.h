// ClusterSpec: which tasks there are and where they listen. A task is "/job:worker/replica:0/task:1".
#ifndef WEIR_DISTRIBUTED_CLUSTER_SPEC_H_
#define WEIR_DISTRIBUTED_CLUSTER_SPEC_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"

namespace weir {

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

  // {"worker": ["host:port", ...], "ps": {"0": "host:port"}}, or an object that has this as its "cluster".
  static StatusOr<ClusterSpec> FromJson(std::string_view text);
  static StatusOr<ClusterSpec> FromProto(const ClusterDef& def);

  // INVALID_ARGUMENT for a bad job name, index or address, or if the task is there already.
  Status Add(std::string_view job, int index, std::string_view address);
  // A job of "host:port,host:port".
  Status AddJob(std::string_view job, std::string_view addresses);

  bool empty() const { return tasks_.empty(); }
  const std::vector<Task>& tasks() const { return tasks_; }  // by job, then index
  const Task* Find(std::string_view job, int index) const;   // null if there is none
  void ToProto(ClusterDef* def) const;

 private:
  std::vector<Task> tasks_;
};

// A cluster and one's own place in it.
struct ClusterPlace {
  ClusterSpec cluster;
  std::string job;
  int task = 0;
};
// TensorFlow's TF_CONFIG: {"cluster": {...}, "task": {"type": "worker", "index": 0}}.
StatusOr<ClusterPlace> FromTfConfig(std::string_view text);
StatusOr<ClusterPlace> FromServerDef(const ServerDef& def);

// The variables that Slurm gives a process of `srun`: tasks in order of SLURM_PROCID fill the jobs in the order given;
// the tasks of one node listen on `first_port` and those after it.
using GetVariable = std::function<std::string(const char* name)>;
StatusOr<ClusterPlace> FromSlurm(const std::vector<std::pair<std::string, int>>& jobs, int first_port,
                                 const GetVariable& variable);
// "n[1-3,07],m2" as node names; "2(x3),1" as tasks a node.
StatusOr<std::vector<std::string>> ExpandSlurmNodes(std::string_view list);
StatusOr<std::vector<int>> ExpandSlurmCounts(std::string_view list);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_CLUSTER_SPEC_H_
