// The engine's workloads: graphs that measure the executor, not kernels.
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
  double units;           // what one run is divided by
  std::string_view unit;  // "ops"
  bool rewrites;          // graph rewriting on
};
std::span<const EngineWorkload> EngineWorkloads();
const EngineWorkload* FindEngineWorkload(std::string_view name);

// The graph; its nodes "feed", "fetch" and "target" (those it has) say how to run it.
StatusOr<Graph> BuildEngineGraph(const OpRegistry& ops, std::string_view name);

// A graph made ready, to be run again and again.
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

// Milliseconds of single runs: at least three, for about `seconds`.
StatusOr<std::vector<double>> MeasureSteps(const std::function<Status()>& step, double seconds);
// graph_100k: JSON of seconds to construct and to run first, and resident bytes a node.
StatusOr<std::string> ProbeLargeGraph(std::shared_ptr<Environment> environment);
// How much faster two threads run disjoint steps than one: {"scaling": 1.9}.
StatusOr<double> MeasureScaling(std::shared_ptr<Environment> environment, double seconds);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_WORKLOADS_H_
