// weir bench: the engine's figures, for people or for a tool that measures several programs side by side.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "absl/strings/str_format.h"
#include "weir/cli/bench_workloads.h"
#include "weir/cli/commands.h"
#include "weir/client/environment.h"

namespace weir {
namespace {

SessionOptions OptionsFor(const EngineWorkload& workload) {
  SessionOptions options;
  options.rewrites.disable_all = !workload.rewrites;
  return options;
}

StatusOr<std::unique_ptr<EngineRunner>> Prepare(std::string_view name) {
  const EngineWorkload* workload = FindEngineWorkload(name);
  if (workload == nullptr) return NotFound("no workload named '", name, "'");
  auto environment = DefaultEnvironment();
  WEIR_ASSIGN_OR_RETURN(Graph graph, BuildEngineGraph(environment->ops, name));
  WEIR_ASSIGN_OR_RETURN(auto runner, EngineRunner::Make(environment, std::move(graph), OptionsFor(*workload)));
  WEIR_RETURN_IF_ERROR(runner->Run());
  return runner;
}

std::string ErrorLine(const Status& status) {
  std::string text = status.ToString();
  for (char& c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return Cat("{\"error\": \"", text, "\"}");
}

// The answers of --serve, one JSON object a line.
class Peer {
 public:
  std::string Answer(const std::string& line) {
    std::istringstream words(line);
    std::string request, first, second;
    words >> request >> first >> second;
    StatusOr<std::string> answer = InvalidArgument("unknown request '", request, "'");
    if (request == "prepare") answer = PrepareRequest(first);
    if (request == "measure") answer = MeasureRequest(first, second);
    if (request == "probe" && first == "graph_100k") answer = ProbeLargeGraph(DefaultEnvironment());
    return answer.ok() ? *answer : ErrorLine(answer.status());
  }

 private:
  StatusOr<std::string> PrepareRequest(const std::string& name) {
    auto start = std::chrono::steady_clock::now();
    WEIR_ASSIGN_OR_RETURN(auto runner, Prepare(name));
    double setup = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (int i = 0; i < 3; ++i) WEIR_RETURN_IF_ERROR(runner->Run());
    runners_.push_back(std::move(runner));
    return absl::StrFormat("{\"id\": %d, \"setup_s\": %.6f, \"check\": null}", runners_.size() - 1, setup);
  }
  StatusOr<std::string> MeasureRequest(const std::string& id, const std::string& seconds) {
    size_t index = std::strtoul(id.c_str(), nullptr, 10);
    if (index >= runners_.size()) return NotFound("no workload ", id);
    WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, MeasureRuns(*runners_[index], std::strtod(seconds.c_str(), nullptr)));
    std::string out = "{\"ms\": [";
    for (size_t i = 0; i < ms.size(); ++i) out += absl::StrFormat("%s%.6f", i > 0 ? "," : "", ms[i]);
    return out + "]}";
  }
  std::vector<std::unique_ptr<EngineRunner>> runners_;
};

void Serve() {
  std::cout << "{\"version\": \"weir\"}" << std::endl;
  Peer peer;
  for (std::string line; std::getline(std::cin, line);) std::cout << peer.Answer(line) << std::endl;
}

Status PrintEngine(double seconds) {
  std::printf("%-16s %14s %14s   %s\n", "workload", "best", "a unit", "what");
  for (const EngineWorkload& workload : EngineWorkloads()) {
    WEIR_ASSIGN_OR_RETURN(auto runner, Prepare(workload.name));
    WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, MeasureRuns(*runner, seconds));
    double best = *std::min_element(ms.begin(), ms.end());
    std::printf("%-16s %11.4f ms %11.1f ns   %s\n", std::string(workload.name).c_str(), best,
                best * 1e6 / workload.units, std::string(workload.about).c_str());
  }
  WEIR_ASSIGN_OR_RETURN(std::string large, ProbeLargeGraph(DefaultEnvironment()));
  std::printf("graph_100k       %s\n", large.c_str());
  WEIR_ASSIGN_OR_RETURN(double scaling, MeasureScaling(DefaultEnvironment(), seconds));
  std::printf("two threads      %.2fx the steps of one\n", scaling);
  return OkStatus();
}

}  // namespace

void AddBenchCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure the engine");
  command->footer(
      "Examples:\n  weir bench engine\n  weir bench --serve   # one request a line: prepare, measure, probe");
  auto* section = new std::string("engine");
  auto* seconds = new double(0.5);
  auto* serve = new bool(false);
  command->add_option("section", *section, "What to measure: engine")->check(CLI::IsMember({"engine"}));
  command->add_option("--seconds", *seconds, "How long each workload runs")->check(CLI::Range(0.001, 600.0));
  command->add_flag("--serve", *serve, "Answer requests of a benchmark driver on standard input");
  command->callback([seconds, serve] {
    if (*serve) return Serve();
    Status status = PrintEngine(*seconds);
    if (!status.ok()) {
      std::fprintf(stderr, "weir bench: %s\n", status.ToString().c_str());
      std::exit(1);
    }
  });
}

}  // namespace weir
