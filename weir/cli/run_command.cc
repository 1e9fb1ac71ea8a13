#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "weir/cli/commands.h"
#include "weir/cli/cost_file.h"
#include "weir/cli/file_kind.h"
#include "weir/cli/gpu_flags.h"
#include "weir/cli/literal.h"
#include "weir/client/environment.h"
#include "weir/client/saved_model.h"
#include "weir/graph/import.h"
#include "weir/io/saved_model.h"
#include "weir/proto/saved_model.pb.h"
#include "weir/runtime/measured_costs.h"
#include "weir/tensor/npy.h"

namespace weir {
namespace {

struct RunFlags {
  std::string path;
  std::vector<std::string> feeds, fetches, targets, outputs, libraries, tags = {"serve"};
  std::string signature;
  std::string trace;
  std::string costs;
  int repeat = 1;
  int max_values = 100;
  double timeout_seconds = 0;
  bool deterministic = false;
  GpuOptions gpu;
};

constexpr char kRunExamples[] = R"(Examples:
  weir run graph.pb --feed x:0=in.npy --fetch y:0       feed a NumPy file, print a tensor
  weir run graph.pbtxt --feed "x:0=[[1, 2], [3, 4]]" --fetch y:0 --output y:0=out.npy
  weir run graph.pb --target init --target train --fetch loss --repeat 100
  weir run model/ --feed x=in.npy                       a SavedModel: inputs and outputs of its signature
  weir run model/ --signature count --feed step=5 --output results/
  weir run graph.pb --fetch y --trace step.json         open step.json in https://ui.perfetto.dev
  weir run graph.pb --fetch y --repeat 20 --costs costs.txt   measure for `weir place`
)";

// What is run: a session, and the names that a signature gives to tensors.
struct Program {
  std::unique_ptr<Session> session;
  std::unique_ptr<LoadedModel> model;
  std::string signature_name;
  const Signature* signature = nullptr;
  std::unique_ptr<Graph> graph;  // for the types of tensors

  Session& Get() { return model != nullptr ? model->session() : *session; }
};

StatusOr<Program> Load(const RunFlags& flags, const std::shared_ptr<Environment>& environment) {
  WEIR_ASSIGN_OR_RETURN(KnownFile file, RecogniseFile(flags.path));
  Program out;
  out.graph = std::make_unique<Graph>(environment->ops);
  if (file.kind == FileKind::kSavedModel) {
    std::set<std::string> tags(flags.tags.begin(), flags.tags.end());
    WEIR_ASSIGN_OR_RETURN(const MetaGraphDef* meta, FindMetaGraph(*file.saved_model, tags));
    WEIR_RETURN_IF_ERROR(ImportGraphDef(meta->graph_def(), out.graph.get()));
    WEIR_ASSIGN_OR_RETURN(out.model, LoadedModel::Load(file.path, tags, environment));
    out.signature_name = flags.signature.empty() ? "serving_default" : flags.signature;
    if (!flags.signature.empty() || out.model->signatures().contains(out.signature_name)) {
      WEIR_ASSIGN_OR_RETURN(out.signature, out.model->FindSignature(out.signature_name));
    }
    return out;
  }
  if (file.kind != FileKind::kGraph && file.kind != FileKind::kMetaGraph) {
    return InvalidArgument(flags.path, " is neither a graph nor a SavedModel; `weir show` tells what it is");
  }
  if (!flags.signature.empty()) return InvalidArgument(flags.path, " is a graph; only a SavedModel has signatures");
  const GraphDef& def = file.kind == FileKind::kGraph ? *file.graph : file.meta_graph->graph_def();
  WEIR_RETURN_IF_ERROR(ImportGraphDef(def, out.graph.get()));
  WEIR_ASSIGN_OR_RETURN(out.session, Session::Create(environment));
  WEIR_RETURN_IF_ERROR(out.session->Extend(*out.graph));
  return out;
}

std::string WithIndex(const std::string& name) { return name.find(':') == name.npos ? name + ":0" : name; }

// The tensor of the graph that a name on the command line means.
std::string ResolveFeed(const Program& program, const std::string& name) {
  if (program.signature != nullptr) {
    auto found = program.signature->inputs.find(name);
    if (found != program.signature->inputs.end()) return found->second.tensor;
  }
  return WithIndex(name);
}
std::string ResolveFetch(const Program& program, const std::string& name) {
  if (program.signature != nullptr) {
    auto found = program.signature->outputs.find(name);
    if (found != program.signature->outputs.end()) return found->second.tensor;
  }
  return WithIndex(name);
}

StatusOr<DType> TypeOf(const Program& program, const std::string& tensor) {
  std::optional<TensorId> id = ParseTensorName(tensor);
  const Node* node = id.has_value() ? program.graph->Find(id->node) : nullptr;
  if (node == nullptr || id->index < 0 || id->index >= node->num_outputs()) {
    return NotFound("the graph has no tensor '", tensor, "'");
  }
  return BaseType(node->output_type(id->index));
}

// "name=value"; the names of tensors hold no '='.
StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& option, const std::string& text) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return InvalidArgument(option, " needs name=value, not '", text, "'");
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

StatusOr<Feed> MakeFeed(const Program& program, const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(auto assignment, SplitAssignment("--feed", text));
  std::string tensor = ResolveFeed(program, assignment.first);
  WEIR_ASSIGN_OR_RETURN(DType dtype, TypeOf(program, tensor));
  const std::string& value = assignment.second;
  StatusOr<Tensor> out = value.ends_with(".npy") ? ReadNpy(value) : ParseLiteral(value, dtype);
  if (!out.ok()) return Annotate(out.status(), Cat("--feed ", assignment.first, ": "));
  if (out->dtype() != dtype) {
    return InvalidArgument("--feed ", assignment.first, ": ", value, " holds ", PythonName(out->dtype()),
                           ", the graph needs ", PythonName(dtype));
  }
  return Feed(tensor, *std::move(out));
}

// Where results go: those named "tensor=file.npy", all others into the folder, else to stdout.
struct Outputs {
  std::map<std::string, std::string> files;
  std::string folder;
};

StatusOr<Outputs> ParseOutputs(const std::vector<std::string>& options, const std::vector<std::string>& fetches) {
  Outputs out;
  for (const std::string& option : options) {
    if (option.find('=') == option.npos) {
      if (!out.folder.empty()) return InvalidArgument("--output names two folders");
      out.folder = option;
      std::error_code error;
      std::filesystem::create_directories(option, error);
      if (error) return InvalidArgument("--output: cannot make folder ", option, ": ", error.message());
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(auto assignment, SplitAssignment("--output", option));
    if (std::find(fetches.begin(), fetches.end(), assignment.first) == fetches.end()) {
      return InvalidArgument("--output: ", assignment.first, " is not fetched");
    }
    out.files[assignment.first] = assignment.second;
  }
  return out;
}

Status WriteResult(const Outputs& outputs, const std::string& name, const Tensor& value, int max_values) {
  if (auto found = outputs.files.find(name); found != outputs.files.end()) return WriteNpy(found->second, value);
  if (!outputs.folder.empty()) {
    std::string file = name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
    std::replace(file.begin(), file.end(), '/', '_');
    std::replace(file.begin(), file.end(), ':', '_');
    return WriteNpy(Cat(outputs.folder, "/", file, ".npy"), value);
  }
  std::printf("%s = %s\n", name.c_str(), value.ToString(max_values).c_str());
  return OkStatus();
}

void PrintTimes(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  size_t n = milliseconds.size();
  double median = n % 2 == 1 ? milliseconds[n / 2] : (milliseconds[n / 2 - 1] + milliseconds[n / 2]) / 2;
  std::printf("%zu runs: min %.4f ms, median %.4f ms, max %.4f ms\n", n, milliseconds.front(), median,
              milliseconds.back());
}

Status WriteTrace(const std::string& path, const StepReport& report) {
  std::ofstream file(path, std::ios::binary);
  file << report.ToChromeTrace();
  file.close();
  if (!file) return InvalidArgument("cannot write ", path);
  return OkStatus();
}

Status RunGraphs(const RunFlags& flags) {
  WEIR_ASSIGN_OR_RETURN(
      std::shared_ptr<Environment> environment,
      MakeEnvironment({.libraries = flags.libraries, .gpu = flags.gpu, .deterministic = flags.deterministic}));
  WEIR_ASSIGN_OR_RETURN(Program program, Load(flags, environment));
  std::vector<Feed> feeds;
  for (const std::string& text : flags.feeds) {
    WEIR_ASSIGN_OR_RETURN(Feed feed, MakeFeed(program, text));
    feeds.push_back(std::move(feed));
  }
  std::vector<std::string> names = flags.fetches;
  if (names.empty() && flags.targets.empty()) {
    if (program.signature == nullptr) return InvalidArgument("nothing to run: name a --fetch or a --target");
    for (const auto& [name, tensor] : program.signature->outputs) names.push_back(name);
  }
  std::vector<std::string> fetches;
  for (const std::string& name : names) fetches.push_back(ResolveFetch(program, name));
  WEIR_ASSIGN_OR_RETURN(Outputs outputs, ParseOutputs(flags.outputs, names));

  StepOptions options;
  if (flags.timeout_seconds > 0) options.timeout = absl::Seconds(flags.timeout_seconds);
  std::vector<Tensor> values;
  std::vector<double> milliseconds;
  StepReport report;
  WEIR_ASSIGN_OR_RETURN(CostTable costs, ReadCostsIfAny(flags.costs));
  for (int i = 0; i < flags.repeat; ++i) {
    // The last run is traced: by then everything that is made once is there. Costs are a mean over all but the first.
    const bool last = i + 1 == flags.repeat;
    const bool measured = !flags.costs.empty() && (i > 0 || last);
    const bool traced = (!flags.trace.empty() && last) || measured;
    options.trace = traced ? TraceLevel::kFull : TraceLevel::kNone;
    options.partition_graphs = measured;
    report = {};
    auto begin = std::chrono::steady_clock::now();
    WEIR_RETURN_IF_ERROR(
        program.Get().Run(options, feeds, fetches, flags.targets, &values, traced ? &report : nullptr));
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    if (measured) WEIR_RETURN_IF_ERROR(AddStepCosts(environment->ops, report, feeds, &costs));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    WEIR_RETURN_IF_ERROR(WriteResult(outputs, names[i], values[i], flags.max_values));
  }
  if (flags.repeat > 1) PrintTimes(std::move(milliseconds));
  if (!flags.costs.empty()) WEIR_RETURN_IF_ERROR(WriteCosts(flags.costs, costs));
  return flags.trace.empty() ? OkStatus() : WriteTrace(flags.trace, report);
}

}  // namespace

void AddRunCommand(CLI::App& program) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = program.add_subcommand("run", "run a graph or a SavedModel");
  command->footer(kRunExamples);
  command->add_option("path", flags->path, "a GraphDef (binary or text), a .meta file or a SavedModel's folder")
      ->required();
  // A value may hold commas and brackets, which CLI11 would take for a list of its own.
  auto repeated = [&](const char* name, std::vector<std::string>* into, const char* help) {
    command->add_option(name, *into, help)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_size(1);
  };
  repeated("--feed", &flags->feeds, "NAME=FILE.npy or NAME=VALUE: 1.5, hello, [1, 2, 3]");
  repeated("--fetch", &flags->fetches, "a tensor to compute");
  repeated("--target", &flags->targets, "an operation to run");
  repeated("--output", &flags->outputs, "NAME=FILE.npy, or a folder for all results");
  repeated("--library", &flags->libraries, "load operations, kernels or devices from this file");
  command->add_option("--signature", flags->signature, "of a SavedModel; else serving_default");
  command->add_option("--tags", flags->tags, "of a SavedModel's graph")->delimiter(',');
  command->add_option("--repeat", flags->repeat, "run so often and print the times")->check(CLI::PositiveNumber);
  command->add_option("--trace", flags->trace, "write when each operation of the last run began and ended");
  command->add_option("--costs", flags->costs, "add what the operations took to this file, for `weir place`");
  command->add_option("--values", flags->max_values, "print at most so many values a tensor")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--timeout", flags->timeout_seconds, "seconds that a run may take; 0: any");
  command->add_flag("--deterministic", flags->deterministic, "results do not depend on the number of threads; slower");
  AddGpuFlags(command, &flags->gpu);
  command->callback([flags] { ExitOnError(RunGraphs(*flags)); });
}

}  // namespace weir
