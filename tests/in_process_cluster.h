// A cluster whose tasks are servers of this process.
#ifndef WEIR_TESTS_IN_PROCESS_CLUSTER_H_
#define WEIR_TESTS_IN_PROCESS_CLUSTER_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/free_ports.h"
#include "weir/base/strings.h"
#include "weir/client/environment.h"
#include "weir/distributed/server.h"

namespace weir {

// Two parameter servers and two workers, started on demand.
class Cluster {
 public:
  Cluster() {
    std::vector<int> ports = FreePorts(4);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(spec_.Add(i < 2 ? "ps" : "worker", i % 2, Cat("127.0.0.1:", ports[i])).ok());
    }
  }
  // Starts a task, again if it runs.
  void Start(const std::string& job, int index) {
    Stop(job, index);
    ServerOptions options;
    options.cluster = spec_;
    options.job = job;
    options.task = index;
    auto environment = MakeEnvironment({.task_name = TaskName(job, index)});
    ASSERT_TRUE(environment.ok());
    auto server = Server::Start(options, *environment);
    ASSERT_TRUE(server.ok()) << server.status();
    servers_[TaskName(job, index)] = *std::move(server);
  }
  void StartAll() {
    for (const ClusterSpec::Task& task : spec_.tasks()) Start(task.job, task.index);
  }
  void Stop(const std::string& job, int index) { servers_.erase(TaskName(job, index)); }
  std::string target(const std::string& job = "worker", int index = 0) const {
    return Cat("grpc://", spec_.Find(job, index)->address);
  }
  const Server& server(const std::string& job, int index) { return *servers_[TaskName(job, index)]; }

 private:
  ClusterSpec spec_;
  std::map<std::string, std::unique_ptr<Server>> servers_;
};

}  // namespace weir

#endif  // WEIR_TESTS_IN_PROCESS_CLUSTER_H_
