// The engine's workloads: graphs that measure the executor rather than kernels.
#ifndef WEIR_CLI_BENCH_WORKLOADS_H_
#define WEIR_CLI_BENCH_WORKLOADS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/graph/graph.h"
#include "weir/runtime/session.h"

namespace weir {

struct EngineWorkload {
  std::string_view name;
  std::string_view about;
  double units;           // results are divided by this
  std::string_view unit;  // "ops"
  bool rewrites;          // with graph rewriting
};
std::span<const EngineWorkload> EngineWorkloads();
const EngineWorkload* FindEngineWorkload(std::string_view name);

// Builds the graph; those of the nodes "feed", "fetch" and "target" that it has define the step.
StatusOr<Graph> BuildEngineGraph(const OpRegistry& ops, std::string_view name);

// A prepared graph, to be run repeatedly.
class EngineRunner {
 public:
  static StatusOr<std::unique_ptr<EngineRunner>> Make(std::shared_ptr<Environment> environment, Graph graph,
                                                      SessionOptions options);
  Status Run();

 private:
  std::unique_ptr<Session> session_;
  std::vector<Feed> feeds_;
  std::vector<std::string> fetches_;
  std::vector<std::string> targets_;
  std::vector<Tensor> outputs_;
};

// The duration of each run in milliseconds: at least three runs, for about `seconds`.
StatusOr<std::vector<double>> MeasureSteps(const std::function<Status()>& step, double seconds);
// graph_100k: JSON with the seconds to construct and to run it for the first time, and the resident bytes per node.
StatusOr<std::string> ProbeLargeGraph(std::shared_ptr<Environment> environment);
// How much faster two threads run independent steps than one: {"scaling": 1.9}.
StatusOr<double> MeasureScaling(std::shared_ptr<Environment> environment, double seconds);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_WORKLOADS_H_
