// weir trace FILE: what a step's statistics say, as a trace for browsers and a drawing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "absl/strings/str_format.h"
#include "weir/cli/commands.h"
#include "weir/cli/timeline_svg.h"
#include "weir/io/file.h"
#include "weir/io/file_system.h"
#include "weir/io/record_reader.h"
#include "weir/proto/config.pb.h"
#include "weir/proto/event.pb.h"

namespace weir {
namespace {

struct TraceFlags {
  std::string path;
  std::string json;
  std::string svg;
  std::string tag;
  size_t top = 10;
};

// The run metadata of an event file, by tag; the last one if no tag is asked for.
StatusOr<RunMetadata> FromEvents(RecordReader& reader, const std::string& tag) {
  RunMetadata out;
  bool found = false;
  std::string record, tags;
  while (true) {
    Status status = reader.Read(&record);
    if (absl::IsOutOfRange(status)) break;
    WEIR_RETURN_IF_ERROR(status);
    Event event;
    if (!event.ParseFromString(record) || !event.has_tagged_run_metadata()) continue;
    const TaggedRunMetadata& tagged = event.tagged_run_metadata();
    tags += Cat(" ", tagged.tag());
    if (!tag.empty() && tagged.tag() != tag) continue;
    found = out.ParseFromString(tagged.run_metadata());
  }
  if (found) return out;
  if (tags.empty()) return NotFound("the event file has no run metadata");
  return NotFound("the event file has no run metadata with the tag '", tag, "'; there are:", tags);
}

bool HasNodes(const RunMetadata& metadata) {
  return std::ranges::any_of(metadata.step_stats().dev_stats(), [](const auto& d) { return d.node_stats_size() > 0; });
}

// A file of run metadata, of step statistics alone, or of events.
StatusOr<StepReport> ReadReport(const TraceFlags& flags) {
  StatusOr<std::unique_ptr<RecordReader>> reader = RecordReader::Open(flags.path);
  WEIR_RETURN_IF_ERROR(reader.status());
  std::string first;
  if ((*reader)->Read(&first).ok()) {
    WEIR_ASSIGN_OR_RETURN(reader, RecordReader::Open(flags.path));
    WEIR_ASSIGN_OR_RETURN(RunMetadata metadata, FromEvents(**reader, flags.tag));
    return StepReport::FromProto(metadata);
  }
  WEIR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(flags.path));
  RunMetadata metadata;
  if (metadata.ParseFromString(bytes) && HasNodes(metadata)) return StepReport::FromProto(metadata);
  metadata.Clear();
  if (metadata.mutable_step_stats()->ParseFromString(bytes) && HasNodes(metadata)) {
    return StepReport::FromProto(metadata);
  }
  return InvalidArgument(flags.path, " holds no statistics of a step");
}

// Which ops took the time of each device.
void PrintSummary(const StepReport& report, size_t top) {
  for (const DeviceStats& device : report.devices) {
    std::map<std::string, std::pair<int64_t, double>> ops;
    double total = 0;
    for (const NodeStats& node : device.nodes) {
      const size_t begin = node.label.find(" = ");
      std::string op = begin == node.label.npos ? node.node : node.label.substr(begin + 3);
      auto& [count, time] = ops[op.substr(0, op.find('('))];
      ++count;
      time += static_cast<double>(node.op_end_rel_ns - node.op_start_rel_ns) / 1e3;
      total += static_cast<double>(node.op_end_rel_ns - node.op_start_rel_ns) / 1e3;
    }
    std::printf("%s: %zu operations, %.1f us\n", device.device.c_str(), device.nodes.size(), total);
    if (const NodeStats* peak = PeakMemory(device)) {
      std::printf("  peak memory %.1f MiB, after %s\n", static_cast<double>(peak->device_bytes) / (1 << 20),
                  peak->node.c_str());
    }
    std::vector<std::pair<std::string, std::pair<int64_t, double>>> order(ops.begin(), ops.end());
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second.second > b.second.second; });
    for (size_t i = 0; i < std::min(order.size(), top); ++i) {
      std::printf("  %-30s %6lld times %12.1f us %5.1f%%\n", order[i].first.c_str(),
                  static_cast<long long>(order[i].second.first), order[i].second.second,
                  total > 0 ? 100 * order[i].second.second / total : 0.0);
    }
  }
}

Status Trace(const TraceFlags& flags) {
  WEIR_ASSIGN_OR_RETURN(StepReport report, ReadReport(flags));
  if (!flags.json.empty()) WEIR_RETURN_IF_ERROR(WriteWholeFile(flags.json, report.ToChromeTrace()));
  if (!flags.svg.empty()) WEIR_RETURN_IF_ERROR(WriteWholeFile(flags.svg, TimelineToSvg(report)));
  PrintSummary(report, flags.top);
  return OkStatus();
}

}  // namespace

void AddTraceCommand(CLI::App& program) {
  auto flags = std::make_shared<TraceFlags>();
  CLI::App* command = program.add_subcommand("trace", "show when the operations of a step ran");
  command->add_option("file", flags->path, "run metadata or step statistics, or an event file with them")->required();
  command->add_option("--json", flags->json, "write a trace for Perfetto and chrome://tracing");
  command->add_option("--svg", flags->svg, "draw a timeline of each device");
  command->add_option("--top", flags->top, "how many kinds of operations to name")->capture_default_str();
  command->add_option("--tag", flags->tag, "which run metadata of an event file; the last if none");
  command->footer(
      "\nExamples:\n  weir trace metadata.pb --svg step.svg\n"
      "  weir trace metadata.pb --json step.json    then open step.json in https://ui.perfetto.dev");
  command->callback([flags] { ExitOnError(Trace(*flags)); });
}

}  // namespace weir
