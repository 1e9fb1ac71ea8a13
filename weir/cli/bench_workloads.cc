#include "weir/cli/bench_workloads.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "absl/strings/str_format.h"

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr EngineWorkload kWorkloads[] = {
    {"call_constant", "run a graph of one scalar constant and fetch it", 1, "calls", true},
    {"call_add", "feed a scalar x, fetch x+1", 1, "calls", true},
    {"chain_noop", "10,000 NoOps in a row", 10'000, "ops", false},
    {"chain_identity", "10,000 Identity ops in a row", 10'000, "ops", false},
    {"chain_add", "10,000 scalar additions in a row", 10'000, "ops", false},
    {"wide_noop", "100 chains of 100 NoOps", 10'000, "ops", false},
    {"while_loop", "100,000 iterations of a counter", 100'000, "iterations", false},
    {"cond_chain", "200 conditionals in a row", 200, "conditionals", false},
};

// Adds nodes and remembers the first error.
class Builder {
 public:
  explicit Builder(const OpRegistry& ops) : graph_(ops) {}

  Endpoint Add(std::string op, std::vector<Endpoint> inputs, AttrMap attrs = {}, std::string name = "",
               std::vector<NodeId> control = {}) {
    if (!status_.ok()) return {};
    Graph::NodeSpec spec;
    spec.name = name.empty() ? Cat(op, next_++) : std::move(name);
    spec.op = std::move(op);
    spec.inputs = std::move(inputs);
    spec.attrs = std::move(attrs);
    spec.control_inputs = std::move(control);
    StatusOr<Node*> node = graph_.AddNode(std::move(spec));
    status_ = node.status();
    return status_.ok() ? Endpoint{(*node)->id, 0} : Endpoint{};
  }
  Endpoint Constant(Tensor value, std::string name = "", std::vector<NodeId> control = {}) {
    AttrMap attrs;
    attrs.Set("dtype", value.dtype());
    attrs.Set("value", value);
    return Add("Const", {}, std::move(attrs), std::move(name), std::move(control));
  }
  Endpoint Feed(DType dtype) {
    AttrMap attrs = Typed("dtype", dtype);
    attrs.Set("shape", Shape());
    return Add("Placeholder", {}, std::move(attrs), "feed");
  }
  static AttrMap Typed(std::string_view attr, DType dtype) {
    AttrMap attrs;
    attrs.Set(attr, dtype);
    return attrs;
  }
  Endpoint Float(std::string op, std::vector<Endpoint> inputs, std::string name = "") {
    return Add(std::move(op), std::move(inputs), Typed("T", DType::kFloat), std::move(name));
  }
  StatusOr<Graph> Finish() {
    if (!status_.ok()) return status_;
    return std::move(graph_);
  }
  Graph& graph() { return graph_; }

 private:
  Graph graph_;
  Status status_;
  int next_ = 0;
};

void BuildNoOps(Builder& b, int chains, int length) {
  std::vector<NodeId> ends;
  for (int i = 0; i < chains; ++i) {
    std::vector<NodeId> last;
    for (int k = 0; k < length; ++k) last = {b.Add("NoOp", {}, {}, "", last).node};
    ends.push_back(last[0]);
  }
  b.Add("NoOp", {}, {}, "target", ends);
}

void BuildChain(Builder& b, bool adds) {
  Endpoint x = b.Feed(DType::kFloat);
  Endpoint one = b.Constant(Tensor::Scalar(1.0f));
  for (int i = 0; i < 10'000; ++i) x = adds ? b.Float("AddV2", {x, one}) : b.Float("Identity", {x});
  b.Add("NoOp", {}, {}, "target", {x.node});
}

void BuildLoop(Builder& b) {
  AttrMap type = Builder::Typed("T", DType::kInt32);
  AttrMap enter = type;
  enter.Set("frame_name", "loop");
  enter.Set("parallel_iterations", 10);
  Endpoint start = b.Constant(Tensor::Scalar<int32_t>(0));
  Endpoint entered = b.Add("Enter", {start}, enter);
  AttrMap pair = type;
  pair.Set("N", 2);
  // The second input becomes the NextIteration when that exists.
  Endpoint merge = b.Add("Merge", {entered, entered}, pair, "merge");
  Endpoint limit = b.Constant(Tensor::Scalar<int32_t>(100'000), "", {merge.node});
  Endpoint less = b.Add("Less", {merge, limit}, type);
  Endpoint cond = b.Add("LoopCond", {less});
  Endpoint choice = b.Add("Switch", {merge, cond}, type);
  Endpoint body = b.Add("Identity", {Endpoint{choice.node, 1}}, type);
  Endpoint one = b.Constant(Tensor::Scalar<int32_t>(1), "", {body.node});
  Endpoint sum = b.Add("AddV2", {body, one}, type);
  Endpoint next = b.Add("NextIteration", {sum}, type);
  Endpoint exit = b.Add("Exit", {Endpoint{choice.node, 0}}, type);
  b.Add("Identity", {exit}, type, "fetch");
  if (next.node != kNoNode) b.graph().node(merge.node)->inputs[1] = next;
}

void BuildConditionals(Builder& b) {
  Endpoint p = b.Feed(DType::kBool);
  Endpoint x = b.Constant(Tensor::Scalar(0.0f));
  for (int i = 0; i < 200; ++i) {
    Endpoint pivot = b.Add("Switch", {p, p}, Builder::Typed("T", DType::kBool));
    Endpoint on_true = b.Add("Identity", {Endpoint{pivot.node, 1}}, Builder::Typed("T", DType::kBool));
    Endpoint on_false = b.Add("Identity", {pivot}, Builder::Typed("T", DType::kBool));
    Endpoint one = b.Constant(Tensor::Scalar(1.0f), "", {on_true.node});
    Endpoint two = b.Constant(Tensor::Scalar(1.0f), "", {on_false.node});
    Endpoint first = b.Float("Switch", {x, p});
    Endpoint second = b.Float("Switch", {x, p});
    Endpoint plus = b.Float("AddV2", {Endpoint{first.node, 1}, one});
    Endpoint minus = b.Float("Sub", {second, two});
    AttrMap pair = Builder::Typed("T", DType::kFloat);
    pair.Set("N", 2);
    x = b.Add("Merge", {minus, plus}, pair);
  }
  b.Float("Identity", {x}, "fetch");
}

void BuildLargeGraph(Builder& b) {
  Endpoint start = b.Feed(DType::kFloat);
  std::vector<NodeId> ends;
  for (int chain = 0; chain < 100; ++chain) {
    Endpoint x = start;
    for (int i = 0; i < 1000; ++i) x = b.Float("AddV2", {x, start});
    ends.push_back(x.node);
  }
  b.Add("NoOp", {}, {}, "target", ends);
}

double ResidentBytes() {
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

SessionOptions Unrewritten() {
  SessionOptions options;
  options.rewrites.disable_all = true;
  return options;
}

}  // namespace

std::span<const EngineWorkload> EngineWorkloads() { return kWorkloads; }

const EngineWorkload* FindEngineWorkload(std::string_view name) {
  for (const EngineWorkload& workload : kWorkloads) {
    if (workload.name == name) return &workload;
  }
  return nullptr;
}

StatusOr<Graph> BuildEngineGraph(const OpRegistry& ops, std::string_view name) {
  Builder b(ops);
  if (name == "call_constant") {
    b.Constant(Tensor::Scalar(1.0f), "fetch");
  } else if (name == "call_add") {
    Endpoint x = b.Feed(DType::kFloat);
    b.Float("AddV2", {x, b.Constant(Tensor::Scalar(1.0f))}, "fetch");
  } else if (name == "chain_noop") {
    BuildNoOps(b, 1, 10'000);
  } else if (name == "wide_noop") {
    BuildNoOps(b, 100, 100);
  } else if (name == "chain_identity" || name == "chain_add") {
    BuildChain(b, name == "chain_add");
  } else if (name == "while_loop") {
    BuildLoop(b);
  } else if (name == "cond_chain") {
    BuildConditionals(b);
  } else if (name == "graph_100k") {
    BuildLargeGraph(b);
  } else {
    return NotFound("no workload named '", name, "'");
  }
  return b.Finish();
}

StatusOr<std::unique_ptr<EngineRunner>> EngineRunner::Make(std::shared_ptr<Environment> environment, Graph graph,
                                                           SessionOptions options) {
  auto runner = std::make_unique<EngineRunner>();
  if (const Node* feed = graph.Find("feed")) {
    bool is_bool = feed->output_type(0) == DType::kBool;
    runner->feeds_.emplace_back("feed:0", is_bool ? Tensor::Scalar(true) : Tensor::Scalar(1.0f));
  }
  if (graph.Find("fetch") != nullptr) runner->fetches_.push_back("fetch:0");
  if (graph.Find("target") != nullptr) runner->targets_.push_back("target");
  WEIR_ASSIGN_OR_RETURN(runner->session_, Session::Create(std::move(environment), options));
  WEIR_RETURN_IF_ERROR(runner->session_->Extend(std::move(graph)));
  return runner;
}

Status EngineRunner::Run() { return session_->Run(feeds_, fetches_, targets_, &outputs_); }

StatusOr<std::vector<double>> MeasureSteps(const std::function<Status()>& step, double seconds) {
  std::vector<double> ms;
  auto begin = Clock::now();
  while (ms.size() < 3 || (SecondsSince(begin) < seconds && ms.size() < 20'000)) {
    auto start = Clock::now();
    WEIR_RETURN_IF_ERROR(step());
    ms.push_back(SecondsSince(start) * 1e3);
  }
  return ms;
}

StatusOr<std::string> ProbeLargeGraph(std::shared_ptr<Environment> environment) {
  double before = ResidentBytes();
  auto start = Clock::now();
  WEIR_ASSIGN_OR_RETURN(Graph graph, BuildEngineGraph(environment->ops, "graph_100k"));
  double construct = SecondsSince(start);
  double built = ResidentBytes();
  start = Clock::now();
  WEIR_ASSIGN_OR_RETURN(auto runner, EngineRunner::Make(environment, std::move(graph), Unrewritten()));
  WEIR_RETURN_IF_ERROR(runner->Run());
  double first = SecondsSince(start);
  double ran = ResidentBytes();
  WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, MeasureSteps([&] { return runner->Run(); }, 1.0));
  std::sort(ms.begin(), ms.end());
  return absl::StrFormat(
      "{\"construct_s\": %.4f, \"first_run_s\": %.4f, \"later_run_ms\": %.4f, \"graph_bytes_per_node\": %.1f, "
      "\"total_bytes_per_node\": %.1f}",
      construct, first, ms[ms.size() / 2], (built - before) / 1e5, (ran - before) / 1e5);
}

StatusOr<double> MeasureScaling(std::shared_ptr<Environment> environment, double seconds) {
  // Disjoint steps: a session for each thread, so that only the process is shared.
  auto rate = [&](int threads) -> StatusOr<double> {
    std::vector<std::unique_ptr<EngineRunner>> runners;
    for (int i = 0; i < threads; ++i) {
      WEIR_ASSIGN_OR_RETURN(Graph graph, BuildEngineGraph(environment->ops, "chain_add"));
      WEIR_ASSIGN_OR_RETURN(auto runner, EngineRunner::Make(environment, std::move(graph), Unrewritten()));
      for (int k = 0; k < 4; ++k) WEIR_RETURN_IF_ERROR(runner->Run());
      runners.push_back(std::move(runner));
    }
    std::atomic<int64_t> runs{0};
    std::vector<std::thread> workers;
    auto begin = Clock::now();
    for (auto& runner : runners) {
      workers.emplace_back([&runs, &runner, begin, seconds] {
        while (SecondsSince(begin) < seconds && runner->Run().ok()) ++runs;
      });
    }
    for (std::thread& worker : workers) worker.join();
    return static_cast<double>(runs) / SecondsSince(begin);
  };
  WEIR_ASSIGN_OR_RETURN(double one, rate(1));
  WEIR_ASSIGN_OR_RETURN(double two, rate(2));
  return two / one;
}

}  // namespace weir
