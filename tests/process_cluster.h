// Clusters of `weir server` processes for tests, and a graph that trains on them. Needs the macro WEIR_PROGRAM.
#ifndef WEIR_TESTS_PROCESS_CLUSTER_H_
#define WEIR_TESTS_PROCESS_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "tests/cluster_fixture.h"
#include "tests/master_client.h"
#include "tests/process.h"
#include "weir/distributed/cluster_spec.h"

namespace weir {

inline constexpr char kPs0[] = "/job:ps/task:0";
inline constexpr char kPs1[] = "/job:ps/task:1";
inline constexpr char kWorker0[] = "/job:worker/task:0";
inline constexpr char kWorker1[] = "/job:worker/task:1";
inline constexpr char kPs0Name[] = "/job:ps/replica:0/task:0";

// Where the tasks are, and what is special about the process of one.
struct ClusterLayout {
  std::vector<std::string> ps, workers;                     // addresses
  std::map<std::string, std::vector<std::string>> before;   // by task name: words before the program
  std::map<std::string, std::vector<std::string>> options;  // by task name: more of the server's
};

inline ClusterLayout LocalLayout(int num_ps = 2, int num_workers = 2) {
  ClusterLayout out;
  for (int port : FreePorts(num_ps + num_workers)) {
    auto& job = static_cast<int>(out.ps.size()) < num_ps ? out.ps : out.workers;
    job.push_back(Cat("127.0.0.1:", port));
  }
  return out;
}

class ProcessCluster {
 public:
  explicit ProcessCluster(ClusterLayout layout = LocalLayout()) : layout_(std::move(layout)) {
    for (size_t i = 0; i < layout_.ps.size(); ++i) Start("ps", static_cast<int>(i));
    for (size_t i = 0; i < layout_.workers.size(); ++i) Start("worker", static_cast<int>(i));
  }
  // Returns once the task listens.
  void Start(const std::string& job, int index) {
    const std::string name = TaskName(job, index);
    std::vector<std::string> command = layout_.before[name];
    for (std::string word : {std::string(WEIR_PROGRAM), std::string("server"), std::string("--job"), job,
                             std::string("--task"), Cat(index), std::string("--ps"), absl::StrJoin(layout_.ps, ","),
                             std::string("--worker"), absl::StrJoin(layout_.workers, ",")}) {
      command.push_back(std::move(word));
    }
    for (const std::string& word : layout_.options[name]) command.push_back(word);
    auto& process = processes_[name];
    process = nullptr;
    process = std::make_unique<Process>(std::move(command));
    targets_[name] = process->Line();
  }
  Process& process(const std::string& job, int index) { return *processes_[TaskName(job, index)]; }
  const std::string& target(const std::string& job = "worker", int index = 0) { return targets_[TaskName(job, index)]; }
  void Kill(const std::string& job, int index) {
    process(job, index).Signal(SIGKILL);
    process(job, index).Wait();
  }

 private:
  ClusterLayout layout_;
  std::map<std::string, std::unique_ptr<Process>> processes_;
  std::map<std::string, std::string> targets_;
};

// v of ps 0 and w of ps 1 grow by what is fed; an empty queue of ps 0 to wait for.
inline GraphDef TrainingGraph() {
  GraphText graph;
  graph.Placeholder("x", DT_FLOAT);
  graph.Identity("grad", "x", kWorker0);
  graph.Variable("v", "grad", kPs0);
  graph.Variable("w", "grad", kPs1);
  graph.Identity("v_here", "v/read", kWorker0);
  graph.Queue("q", "grad", kPs0);
  graph.Identity("taken", "q/take", kWorker0);
  return graph.def();
}

inline StatusOr<Tensor> Train(MasterClient& client, const std::string& session) {
  return client.Run(session, {{"x:0", Tensor::Scalar(1.0f)}}, "", {"v/add", "w/add"});
}

}  // namespace weir

#endif  // WEIR_TESTS_PROCESS_CLUSTER_H_
