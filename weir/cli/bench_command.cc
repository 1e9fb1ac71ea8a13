// weir bench: figures of the engine and of whole models, for people or for a tool that measures several programs side
// by side.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>

#include "absl/strings/str_format.h"
#include "weir/cli/bench_allreduce.h"
#include "weir/cli/bench_cluster.h"
#include "weir/cli/bench_device.h"
#include "weir/cli/bench_device_engine.h"
#include "weir/cli/bench_input.h"
#include "weir/cli/bench_library.h"
#include "weir/cli/bench_workloads.h"
#include "weir/cli/commands.h"
#include "weir/cli/gpu_flags.h"
#include "weir/client/environment.h"
#include "weir/io/file_system.h"
#include "weir/proto/config.pb.h"

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

// A workload made ready: what one repetition is, and for a model the losses of steps 1 and 5.
struct Prepared {
  std::function<Status()> step;
  double setup_seconds = 0;
  std::optional<std::pair<double, double>> check;
  std::function<StatusOr<std::vector<double>>(double seconds)> measure;  // if not by repeating `step`
};

StatusOr<Prepared> PrepareModel(const bench::Library& library, const bench::ModelWorkload& workload) {
  const auto start = std::chrono::steady_clock::now();
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<bench::ModelRunner> runner, library.MakeModel(DefaultEnvironment(), workload));
  WEIR_ASSIGN_OR_RETURN(double first, runner->RunAndSum());
  Prepared out;
  out.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double fifth = 0;
  for (int i = 0; i < 4; ++i) {  // the first batch again, four updates later
    WEIR_ASSIGN_OR_RETURN(fifth, runner->RunAndSum());
  }
  out.check = {first, fifth};
  out.step = [runner] { return runner->Run(); };
  return out;
}

StatusOr<Prepared> PrepareInput(const std::string& name) {
  const auto start = std::chrono::steady_clock::now();
  Prepared out;
  WEIR_ASSIGN_OR_RETURN(out.step, PrepareInputWorkload(DefaultEnvironment(), name));
  WEIR_RETURN_IF_ERROR(out.step());
  out.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

StatusOr<Prepared> PrepareCluster(const std::string& name) {
  const auto start = std::chrono::steady_clock::now();
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ClusterRunner> runner, MakeClusterRunner(name));
  Prepared out;
  out.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.step = [runner] { return runner->Run(); };
  out.measure = [runner](double seconds) { return runner->Measure(seconds); };
  WEIR_RETURN_IF_ERROR(out.step());
  return out;
}

// `library` may be an error: there are no models then.
StatusOr<Prepared> PrepareAny(const std::string& name, const StatusOr<const bench::Library*>& library) {
  if (library.ok()) {
    for (const bench::ModelWorkload& model : (*library)->models()) {
      if (model.name == name) return PrepareModel(**library, model);
    }
  }
  if (IsInputWorkload(name)) return PrepareInput(name);
  if (IsClusterWorkload(name)) return PrepareCluster(name);
  const auto start = std::chrono::steady_clock::now();
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<EngineRunner> runner, Prepare(name));
  Prepared out;
  out.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (int i = 0; i < 3; ++i) WEIR_RETURN_IF_ERROR(runner->Run());
  out.step = [runner] { return runner->Run(); };
  return out;
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
  explicit Peer(const std::string& models) : library_(bench::LoadBenchLibrary(models)) {}
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
    WEIR_ASSIGN_OR_RETURN(Prepared prepared, PrepareAny(name, library_));
    const std::string check =
        prepared.check ? absl::StrFormat("[%.7g, %.7g]", prepared.check->first, prepared.check->second) : "null";
    const double setup = prepared.setup_seconds;
    workloads_.push_back(std::move(prepared));
    return absl::StrFormat("{\"id\": %d, \"setup_s\": %.6f, \"check\": %s}", workloads_.size() - 1, setup, check);
  }
  StatusOr<std::string> MeasureRequest(const std::string& id, const std::string& seconds) {
    size_t index = std::strtoul(id.c_str(), nullptr, 10);
    if (index >= workloads_.size()) return NotFound("no workload ", id);
    const Prepared& workload = workloads_[index];
    const double length = std::strtod(seconds.c_str(), nullptr);
    WEIR_ASSIGN_OR_RETURN(std::vector<double> ms,
                          workload.measure ? workload.measure(length) : MeasureSteps(workload.step, length));
    std::string out = "{\"ms\": [";
    for (size_t i = 0; i < ms.size(); ++i) out += absl::StrFormat("%s%.6f", i > 0 ? "," : "", ms[i]);
    return out + "]}";
  }
  const StatusOr<const bench::Library*> library_;
  std::vector<Prepared> workloads_;
};

void Serve(const std::string& models) {
  std::cout << "{\"version\": \"weir\"}" << std::endl;
  Peer peer(models);
  for (std::string line; std::getline(std::cin, line);) std::cout << peer.Answer(line) << std::endl;
}

Status PrintEngine(double seconds) {
  std::printf("%-16s %14s %14s   %s\n", "workload", "best", "a unit", "what");
  for (const EngineWorkload& workload : EngineWorkloads()) {
    WEIR_ASSIGN_OR_RETURN(auto runner, Prepare(workload.name));
    WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, MeasureSteps([&] { return runner->Run(); }, seconds));
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

// Writes what `weir trace` shows.
Status WriteTrace(const bench::Library& library, const bench::ModelWorkload& workload, const std::string& folder) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<bench::ModelRunner> runner, library.MakeModel(DefaultEnvironment(), workload));
  for (int i = 0; i < 3; ++i) WEIR_RETURN_IF_ERROR(runner->Run());
  WEIR_ASSIGN_OR_RETURN(StepReport report, runner->RunTraced());
  RunMetadata metadata;
  report.ToProto(&metadata);
  return WriteWholeFile(Cat(folder, "/", workload.name, ".run_metadata"), metadata.SerializeAsString());
}

Status PrintModels(const bench::Library& library, std::string_view section, const std::string& filter,
                   const std::string& traces, double seconds) {
  std::printf("%-20s %12s %12s   %s\n", "workload", "best", "median", "what");
  for (const bench::ModelWorkload& workload : library.models()) {
    if (workload.section != section || workload.name.find(filter) == std::string_view::npos) continue;
    if (!traces.empty()) WEIR_RETURN_IF_ERROR(WriteTrace(library, workload, traces));
    WEIR_ASSIGN_OR_RETURN(Prepared prepared, PrepareModel(library, workload));
    WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, MeasureSteps(prepared.step, seconds));
    std::sort(ms.begin(), ms.end());
    std::printf("%-20s %9.3f ms %9.3f ms   %s\n", std::string(workload.name).c_str(), ms[0], ms[ms.size() / 2],
                std::string(workload.about).c_str());
  }
  return OkStatus();
}

Status PrintCluster(double seconds) {
  std::printf("%-22s %12s %12s\n", "workload", "best", "median");
  for (const char* name :
       {"null_step_scalar_1x1", "null_step_dense_1x1", "null_step_sparse_1x1", "null_step_scalar_2x2",
        "null_step_dense_2x2", "null_step_sparse_2x2", "fetch_ps_worker", "fetch_worker_client"}) {
    WEIR_ASSIGN_OR_RETURN(Prepared prepared, PrepareCluster(name));
    WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, prepared.measure(seconds));
    std::sort(ms.begin(), ms.end());
    std::printf("%-22s %9.3f ms %9.3f ms\n", name, ms[0], ms[ms.size() / 2]);
    std::fflush(stdout);
  }
  return OkStatus();
}

struct BenchOptions {
  std::string section = "engine", filter, graphs, traces, place, models, device, precision = "tf32", recompute = "none";
  double seconds = 0.5;
  int steps = 30;
  bool serve = false, train = false;
  GpuOptions gpu;
  int64_t batch = 0;
  std::vector<int64_t> bytes{4, 4096, 262144, 4194304, 100000000};
};

Status Measure(const BenchOptions& options) {
  if (!options.place.empty()) return ServeClusterWorker(options.filter, options.place);
  if (options.section == "engine" && !options.device.empty()) {
    return BenchDeviceEngine(options.device, options.seconds);
  }
  if (options.section == "engine") return PrintEngine(options.seconds);
  if (options.section == "cluster") return PrintCluster(options.seconds);
  if (options.section == "allreduce" && options.train) {
    return BenchDistributedTraining(options.batch > 0 ? options.batch : 64, options.seconds);
  }
  if (options.section == "allreduce") return BenchAllReduce(options.bytes, options.seconds);
  WEIR_ASSIGN_OR_RETURN(const bench::Library* library, bench::LoadBenchLibrary(options.models));
  if (options.section == "fit") return library->MeasureFit(std::max(1, static_cast<int>(options.seconds * 5)));
  if (options.section == "ops") {
    return library->MeasureOps(options.filter, options.seconds, options.graphs, MeasureSteps);
  }
  if (!options.device.empty()) {
    return BenchOnDevice(*library, {.device = options.device,
                                    .precision = options.precision,
                                    .recompute = options.recompute,
                                    .is_training = options.section == "train",
                                    .filter = options.filter,
                                    .batch = options.batch,
                                    .steps = options.steps,
                                    .traces = options.traces});
  }
  return PrintModels(*library, options.section, options.filter, options.traces, options.seconds);
}

}  // namespace

void AddBenchCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure the engine and whole models");
  command->footer(
      "Examples:\n  weir bench engine\n  weir bench engine --device GPU:0\n  weir bench train\n  weir bench train "
      "--filter lstm --traces /tmp/traces\n  "
      "weir bench train --device GPU:0 --precision tf32 --filter resnet\n  "
      "weir launch -n 2 -- weir bench allreduce --bytes 4096,4194304   # between the processes of a job\n  "
      "weir bench --serve   # one request a line: prepare, "
      "measure, probe");
  auto options = std::make_shared<BenchOptions>();
  command
      ->add_option("section", options->section, "What to measure: engine, train, infer, ops, fit, cluster or allreduce")
      ->check(CLI::IsMember({"engine", "train", "infer", "ops", "fit", "cluster", "allreduce"}));
  command->add_option("--bytes", options->bytes, "Sizes for allreduce")->delimiter(',')->check(CLI::PositiveNumber);
  command->add_flag("--train", options->train, "allreduce: steps of training over the ranks instead");
  command
      ->add_option("--batch", options->batch,
                   "Examples of a step: of each rank of allreduce --train, or of a model "
                   "on a device")
      ->check(CLI::PositiveNumber);
  command->add_option("--device", options->device,
                      "train, infer: models of GPUs on this device, with their data there: GPU:0; engine: eager "
                      "operations and copies");
  command->add_option("--precision", options->precision, "Of products and convolutions on that device")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kPrecisions), std::end(kPrecisions))));
  command->add_option("--recompute", options->recompute, "What the backward pass on that device computes again")
      ->check(CLI::IsMember({"none", "marked", "chosen"}));
  command->add_option("--steps", options->steps, "Of a round on that device")->check(CLI::PositiveNumber);
  command->add_option("--seconds", options->seconds, "How long each workload runs")->check(CLI::Range(0.001, 600.0));
  command->add_option("--filter", options->filter, "Only the ops or models whose names contain this");
  command->add_option("--graphs", options->graphs, "A folder for the ops' graphs");
  command->add_option("--traces", options->traces, "A folder for a trace of one step of each model, for weir trace");
  command->add_option("--models", options->models,
                      "The library of train, infer, ops and fit, if it does not lie beside the program");
  command->add_option("--cluster_worker", options->place, "Be a further worker of a cluster's workload")->group("");
  command->add_flag("--serve", options->serve, "Answer requests of a benchmark driver on standard input");
  AddGpuFlags(command, &options->gpu);
  command->callback([options] {
    DefaultEnvironment()->SetGpuOptions(options->gpu).IgnoreError();  // nothing has used them yet
    if (options->serve) return Serve(options->models);
    Status status = Measure(*options);
    if (!status.ok()) {
      std::fprintf(stderr, "weir bench: %s\n", status.ToString().c_str());
      std::exit(1);
    }
  });
}

}  // namespace weir
