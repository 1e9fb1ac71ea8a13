// weir place: where a graph's nodes would go, and how a step would run there.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "weir/cli/commands.h"
#include "weir/cli/cost_file.h"
#include "weir/cli/file_kind.h"
#include "weir/cli/timeline_svg.h"
#include "weir/client/environment.h"
#include "weir/graph/import.h"
#include "weir/io/file_system.h"
#include "weir/io/saved_model.h"
#include "weir/passes/optimizer.h"
#include "weir/passes/place_by_cost.h"
#include "weir/passes/prune.h"
#include "weir/proto/saved_model.pb.h"
#include "weir/runtime/execution_plan.h"

namespace weir {
namespace {

struct PlaceFlags {
  std::string path, placer = "default", costs, svg;
  std::vector<std::string> devices = {"cpu:0"}, libraries, tags = {"serve"};
  StepSignature signature;
  bool soft = false, json = false;
  int limit = 50;
};

constexpr char kPlaceExamples[] = R"(Examples:
  weir place graph.pb --devices cpu:0,cpu:1 --placer heft
  weir place train.pb --target train --feed x:0 --devices /job:worker/cpu:0,/job:ps/cpu:0 --placer greedy --svg plan.svg
  weir run graph.pb --fetch loss --repeat 20 --costs costs.txt && weir place graph.pb --fetch loss \
      --devices cpu:0,cpu:1 --placer heft --costs costs.txt --json

A device of a type that this program has no kernels for (GPU) is taken to have all that the CPU has.
)";

constexpr double kMicro = 1e3;  // nanoseconds

// Full names, in the order given.
StatusOr<std::vector<PlaceableDevice>> ParseDevices(const std::vector<std::string>& texts) {
  std::vector<PlaceableDevice> out;
  for (const std::string& text : texts) {
    WEIR_ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(text));
    WEIR_ASSIGN_OR_RETURN(DeviceName base, DeviceName::Parse("/job:localhost/replica:0/task:0/device:CPU:0"));
    name = name.MergedOver(base);
    if (std::ranges::any_of(out, [&](const auto& other) { return other.name == name.ToString(); })) {
      return InvalidArgument("--devices names ", name.ToString(), " twice");
    }
    out.push_back({name.ToString(), name.type});
  }
  return out;
}

StatusOr<Graph> ReadGraph(const PlaceFlags& flags, const Environment& environment) {
  WEIR_ASSIGN_OR_RETURN(KnownFile file, RecogniseFile(flags.path));
  Graph graph(environment.ops);
  if (file.kind == FileKind::kSavedModel) {
    WEIR_ASSIGN_OR_RETURN(const MetaGraphDef* meta,
                          FindMetaGraph(*file.saved_model, {flags.tags.begin(), flags.tags.end()}));
    WEIR_RETURN_IF_ERROR(ImportGraphDef(meta->graph_def(), &graph));
  } else if (file.kind == FileKind::kGraph) {
    WEIR_RETURN_IF_ERROR(ImportGraphDef(*file.graph, &graph));
  } else if (file.kind == FileKind::kMetaGraph) {
    WEIR_RETURN_IF_ERROR(ImportGraphDef(file.meta_graph->graph_def(), &graph));
  } else {
    return InvalidArgument(flags.path, " is neither a graph nor a SavedModel; `weir show` tells what it is");
  }
  return graph;
}

// The graph as a session would place it; without fetches and targets all that nobody consumes is a target.
StatusOr<Graph> Prepared(const PlaceFlags& flags, const Graph& graph) {
  StepSignature signature = flags.signature;
  if (signature.fetches.empty() && signature.targets.empty()) {
    Consumers consumers(graph);
    for (const auto& node : graph.nodes()) {
      if (node && consumers.of(node->id).empty()) signature.targets.push_back(node->name);
    }
  }
  WEIR_ASSIGN_OR_RETURN(Graph out, PruneGraph(graph, signature));
  OptimizeOptions options;
  options.constant_folding = false;
  RewriteContext context(&out);
  WEIR_RETURN_IF_ERROR(OptimizeGraph(context, options, nullptr));
  return out;
}

PlacementOptions MakeOptions(const Environment& environment, std::vector<PlaceableDevice> devices, bool soft) {
  PlacementOptions out;
  out.devices = std::move(devices);
  out.allow_soft_placement = soft;
  std::vector<std::string> unknown;  // types of devices, in the order of preference
  for (const PlaceableDevice& device : out.devices) {
    const auto& here = environment.devices.devices();
    if (std::ranges::any_of(here, [&](const auto& d) { return d->type() == device.type; })) continue;
    if (std::ranges::find(unknown, device.type) == unknown.end()) unknown.push_back(device.type);
  }
  out.supported_types = [&environment, unknown](const Node& node) {
    std::vector<std::string> types = environment.kernels.DeviceTypes(node.op(), node.attrs);
    if (types.empty()) types.push_back("CPU");  // executed without a kernel, or a call of a function
    types.insert(types.begin(), unknown.begin(), unknown.end());
    return types;
  };
  return out;
}

std::string TensorText(const Graph& graph, Endpoint tensor) {
  return tensor.index < 0 ? Cat("^", graph.node(tensor.node)->name) : graph.TensorName(tensor);
}

// Operations in one lane of their device, what it sends in others below.
StepReport ToReport(const Graph& graph, const SimulatedStep& step) {
  StepReport out;
  for (const std::string& device : step.devices) out.devices.emplace_back().device = device;
  auto add = [&](int device, std::string name, const std::string& op, double start, double finish, int lane) {
    NodeStats& stats = out.devices[device].nodes.emplace_back();
    stats.label = Cat(name, " = ", op, "()");
    stats.node = std::move(name);
    stats.start_ns = static_cast<int64_t>(start);
    stats.op_end_rel_ns = stats.all_end_rel_ns = static_cast<int64_t>(finish - start);
    stats.thread_id = lane;
  };
  for (const SimulatedNode& node : step.nodes) {
    const Node& info = *graph.node(node.node);
    if (node.finish > node.start) add(node.device, info.name, info.op(), node.start, node.finish, 0);
  }
  std::vector<std::vector<double>> lanes(step.devices.size());  // by device: when each lane of transfers is free
  for (const SimulatedTransfer& transfer : step.transfers) {
    std::vector<double>& free = lanes[transfer.from];
    auto lane = std::ranges::find_if(free, [&](double until) { return until <= transfer.start; });
    if (lane == free.end()) lane = free.insert(lane, 0);
    *lane = transfer.finish;
    add(transfer.from, TensorText(graph, transfer.tensor), Cat("to ", step.devices[transfer.to]), transfer.start,
        transfer.finish, static_cast<int>(lane - free.begin()) + 1);
  }
  return out;
}

void PrintText(const Graph& graph, const SimulatedStep& step, const CostModel& costs, const PlaceFlags& flags) {
  double sent = 0;
  for (const SimulatedTransfer& transfer : step.transfers) sent += static_cast<double>(transfer.bytes);
  std::printf("placer %s: makespan %.1f us, %zu nodes, %zu transfers of %.0f bytes\n", flags.placer.c_str(),
              step.makespan / kMicro, step.nodes.size(), step.transfers.size(), sent);
  std::printf("times: %lld measured, %lld estimated\n", static_cast<long long>(costs.num_measured()),
              static_cast<long long>(costs.num_estimated()));
  for (size_t d = 0; d < step.devices.size(); ++d) {
    double busy = 0;
    int count = 0;
    for (const SimulatedNode& node : step.nodes) {
      if (node.device != static_cast<int>(d)) continue;
      busy += node.finish - node.start;
      ++count;
    }
    std::printf("%s: %d nodes, busy %.1f us (%.0f%%)\n", step.devices[d].c_str(), count, busy / kMicro,
                step.makespan > 0 ? 100 * busy / step.makespan : 0.0);
  }
  std::printf("\n%12s %12s  node\n", "start us", "end us");
  int printed = 0;
  for (const SimulatedNode& node : step.nodes) {
    if (flags.limit > 0 && printed++ == flags.limit) {
      std::printf("... %zu more; --limit 0 shows all\n", step.nodes.size() - flags.limit);
      break;
    }
    const Node& info = *graph.node(node.node);
    std::printf("%12.1f %12.1f  %s (%s) on %s\n", node.start / kMicro, node.finish / kMicro, info.name.c_str(),
                info.op().c_str(), info.assigned_device.c_str());
  }
}

void PrintJson(const Graph& graph, const SimulatedStep& step, const CostModel& costs, const PlaceFlags& flags) {
  nlohmann::json out = {{"placer", flags.placer},
                        {"makespan_us", step.makespan / kMicro},
                        {"devices", step.devices},
                        {"measured", costs.num_measured()},
                        {"estimated", costs.num_estimated()},
                        {"nodes", nlohmann::json::array()},
                        {"transfers", nlohmann::json::array()}};
  for (const SimulatedNode& node : step.nodes) {
    const Node& info = *graph.node(node.node);
    out["nodes"].push_back({{"name", info.name},
                            {"op", info.op()},
                            {"device", info.assigned_device},
                            {"start_us", node.start / kMicro},
                            {"finish_us", node.finish / kMicro}});
  }
  for (const SimulatedTransfer& transfer : step.transfers) {
    out["transfers"].push_back({{"tensor", TensorText(graph, transfer.tensor)},
                                {"from", step.devices[transfer.from]},
                                {"to", step.devices[transfer.to]},
                                {"bytes", transfer.bytes},
                                {"start_us", transfer.start / kMicro},
                                {"finish_us", transfer.finish / kMicro}});
  }
  std::printf("%s\n", out.dump(2).c_str());
}

Status PlaceAndPrint(const PlaceFlags& flags) {
  WEIR_ASSIGN_OR_RETURN(PlacerKind kind, ParsePlacerKind(flags.placer));
  WEIR_ASSIGN_OR_RETURN(std::vector<PlaceableDevice> devices, ParseDevices(flags.devices));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const CostTable> measured, ReadCosts(flags.costs));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment({.libraries = flags.libraries}));
  WEIR_ASSIGN_OR_RETURN(Graph whole, ReadGraph(flags, *environment));
  WEIR_ASSIGN_OR_RETURN(Graph graph, Prepared(flags, whole));
  PlacementOptions options = MakeOptions(*environment, std::move(devices), flags.soft);
  WEIR_RETURN_IF_ERROR(PlaceGraphByCost(&graph, std::move(options), kind, measured));
  const CostModel costs(graph, measured);
  WEIR_ASSIGN_OR_RETURN(SimulatedStep step, SimulateStep(graph, costs));
  if (!flags.svg.empty()) WEIR_RETURN_IF_ERROR(WriteWholeFile(flags.svg, TimelineToSvg(ToReport(graph, step))));
  flags.json ? PrintJson(graph, step, costs, flags) : PrintText(graph, step, costs, flags);
  return OkStatus();
}

}  // namespace

void AddPlaceCommand(CLI::App& program) {
  auto flags = std::make_shared<PlaceFlags>();
  CLI::App* command = program.add_subcommand("place", "show where nodes would run, and a simulated step");
  command->footer(kPlaceExamples);
  command->add_option("path", flags->path, "a GraphDef (binary or text), a .meta file or a SavedModel's folder")
      ->required();
  command->add_option("--devices", flags->devices, "names, full or in part: cpu:0,/job:ps/task:1/cpu:0")
      ->delimiter(',');
  command->add_option("--placer", flags->placer, "default, greedy or heft");
  command->add_option("--costs", flags->costs, "measured costs, as `weir run --costs` writes them");
  command->add_option("--feed", flags->signature.feeds, "a tensor that would be fed")->delimiter(',');
  command->add_option("--fetch", flags->signature.fetches, "a tensor that would be fetched")->delimiter(',');
  command->add_option("--target", flags->signature.targets, "an operation that would be run")->delimiter(',');
  command->add_option("--library", flags->libraries, "load operations, kernels or devices from this file");
  command->add_option("--tags", flags->tags, "of a SavedModel's graph")->delimiter(',');
  command->add_option("--svg", flags->svg, "draw the simulated step into this file");
  command->add_option("--limit", flags->limit, "print at most so many nodes; 0: all")->check(CLI::NonNegativeNumber);
  command->add_flag("--soft", flags->soft, "where a requested device cannot be had, take another");
  command->add_flag("--json", flags->json, "print the whole plan for programs");
  command->callback([flags] { ExitOnError(PlaceAndPrint(*flags)); });
}

}  // namespace weir
