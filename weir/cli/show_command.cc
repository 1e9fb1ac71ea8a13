#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "weir/cli/commands.h"
#include "weir/cli/graph_svg.h"
#include "weir/cli/show.h"
#include "weir/io/saved_model.h"
#include "weir/proto/saved_model.pb.h"

namespace weir {
namespace {

struct ShowFlags {
  std::string path;
  ShowOptions show;
  bool graph = false;
  std::string svg;
  std::vector<std::string> tags = {"serve"};
};

constexpr char kShowExamples[] = R"(Examples:
  weir show graph.pb                          one line a node
  weir show graph.pbtxt --svg graph.svg       ... as a drawing
  weir show model/                            a SavedModel: signatures and variables
  weir show model/ --graph                    ... its graph
  weir show checkpoints/                      the latest checkpoint of a folder
  weir show checkpoints/model.ckpt-200 --tensor dense/kernel
  weir show train.tfrecord --limit 3          examples, also in compressed files
  weir show events.out.tfevents.1700000000.host --json
)";

Status WriteSvg(const GraphDef& graph, const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::string svg, GraphToSvg(graph));
  std::ofstream file(path, std::ios::binary);
  file << svg;
  file.close();
  if (!file) return InvalidArgument("cannot write ", path);
  return OkStatus();
}

// The graph in a file, if --graph or --svg ask for one.
StatusOr<const GraphDef*> GraphOf(const KnownFile& file, const ShowFlags& flags) {
  switch (file.kind) {
    case FileKind::kGraph:
      return file.graph.get();
    case FileKind::kMetaGraph:
      return &file.meta_graph->graph_def();
    case FileKind::kSavedModel: {
      std::set<std::string> tags(flags.tags.begin(), flags.tags.end());
      WEIR_ASSIGN_OR_RETURN(const MetaGraphDef* meta, FindMetaGraph(*file.saved_model, tags));
      return &meta->graph_def();
    }
    default:
      return InvalidArgument(flags.path, " holds no graph");
  }
}

Status Show(const ShowFlags& flags) {
  WEIR_ASSIGN_OR_RETURN(KnownFile file, RecogniseFile(flags.path));
  if (flags.graph || !flags.svg.empty() || file.kind == FileKind::kGraph) {
    WEIR_ASSIGN_OR_RETURN(const GraphDef* graph, GraphOf(file, flags));
    return flags.svg.empty() ? ShowGraph(*graph, flags.show) : WriteSvg(*graph, flags.svg);
  }
  switch (file.kind) {
    case FileKind::kMetaGraph:
      return ShowMetaGraph(*file.meta_graph, flags.show);
    case FileKind::kSavedModel:
      return ShowSavedModel(file, flags.show);
    case FileKind::kCheckpoint:
      return ShowCheckpoint(file.path, flags.show);
    case FileKind::kRecords:
      return ShowRecords(file, flags.show);
    case FileKind::kEvents:
      return ShowEvents(file, flags.show);
    default:
      return ShowNpy(file.path, flags.show);
  }
}

}  // namespace

void AddShowCommand(CLI::App& program) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command =
      program.add_subcommand("show", "print what a file holds: graph, model, checkpoint, records, events");
  command->footer(kShowExamples);
  command->add_option("file", flags->path, "a file, a folder or the prefix of a checkpoint")->required();
  command->add_flag("--json", flags->show.json, "for programs");
  command->add_flag("--graph", flags->graph, "of a SavedModel or .meta file: its graph");
  command->add_option("--svg", flags->svg, "draw the graph into this file");
  command->add_option("--tags", flags->tags, "of a SavedModel's graph")->delimiter(',');
  command->add_option("--tensor", flags->show.tensors, "of a checkpoint: this tensor with its values")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--values", flags->show.values, "so many values of each tensor")->check(CLI::NonNegativeNumber);
  command->add_option("--limit", flags->show.limit, "at most so many records, events or tensors")
      ->check(CLI::NonNegativeNumber);
  command->callback([flags] { ExitOnError(Show(*flags)); });
}

}  // namespace weir
