#include "weir/runtime/measured_costs.h"

#include "weir/graph/import.h"
#include "weir/graph/shape_inference.h"
#include "weir/passes/cost_model.h"
#include "weir/proto/config.pb.h"

namespace weir {
namespace {

// One part of a step: its graph and its measurements.
class MeasuredPart {
 public:
  MeasuredPart(const Graph& graph, const DeviceStats& stats, CostTable* table)
      : graph_(graph), stats_(stats), table_(*table) {
    StatusOr<InferredShapes> inferred = InferShapes(graph);
    shapes_.resize(graph.num_node_ids());
    for (const auto& node : graph.nodes()) {
      if (!node) continue;
      for (int i = 0; i < node->num_outputs(); ++i) {
        PartialShape& shape = shapes_[node->id].emplace_back();
        if (inferred.ok()) shape = inferred->of({node->id, i}).shape;
        const Shape* fed = table_.FindShape(graph.TensorName({node->id, i}));
        if (!shape.IsFullyDefined() && fed != nullptr) shape = *fed;
      }
    }
  }

  void Add() {
    for (const NodeStats& stats : stats_.nodes) TakeShapes(stats);
    for (const NodeStats& stats : stats_.nodes) {
      const Node* node = graph_.Find(stats.node);
      // The time of a node that waits for another task says nothing about this task.
      if (node == nullptr || IsSend(*node) || IsRecv(*node)) continue;
      std::vector<PartialShape> inputs;
      for (Endpoint input : node->inputs) inputs.push_back(shapes_[input.node][input.index]);
      table_.AddTime(stats_.device, node->op(), NodeSignature(*node, inputs, shapes_[node->id]),
                     static_cast<double>(stats.op_end_rel_ns - stats.op_start_rel_ns));
    }
  }

 private:
  void TakeShapes(const NodeStats& stats) {
    const Node* node = graph_.Find(stats.node);
    if (node == nullptr) return;
    for (const TensorStats& tensor : stats.outputs) {
      if (tensor.slot < 0 || tensor.slot >= node->num_outputs()) continue;
      PartialShape& shape = shapes_[node->id][tensor.slot];
      if (shape.IsFullyDefined()) continue;
      shape = tensor.shape;
      table_.SetShape(graph_.TensorName({node->id, tensor.slot}), tensor.dtype, tensor.shape);
    }
  }

  const Graph& graph_;
  const DeviceStats& stats_;
  CostTable& table_;
  std::vector<std::vector<PartialShape>> shapes_;  // by node id, then output
};

// Adds the shape under the feed's own name and under the name of the _Arg that replaces it in a step (PruneGraph).
void AddFeed(const Feed& feed, CostTable* table) {
  std::optional<TensorId> id = ParseTensorName(feed.first);
  if (!id || id->index < 0) return;
  table->SetShape(Cat(id->node, ":", id->index), feed.second.dtype(), feed.second.shape());
  table->SetShape(Cat("_Arg_", id->node, "_", id->index, ":0"), feed.second.dtype(), feed.second.shape());
}

}  // namespace

Status AddStepCosts(const OpRegistry& ops, const StepReport& report, std::span<const Feed> feeds, CostTable* table) {
  RunMetadata metadata;  // holds the statistics of this task and of the others
  report.ToProto(&metadata);
  if (metadata.partition_graphs().empty() || metadata.step_stats().dev_stats().empty()) {
    return FailedPrecondition(
        "The step report has no times or no graphs; run the step with a trace and partition_graphs");
  }
  for (const Feed& feed : feeds) AddFeed(feed, table);
  const StepReport whole = StepReport::FromProto(metadata);
  for (const GraphDef& def : metadata.partition_graphs()) {
    Graph graph(ops);
    WEIR_RETURN_IF_ERROR(ImportGraphDef(def, &graph, {.allow_internal_names = true}));
    if (def.node().empty()) continue;
    for (const DeviceStats& stats : whole.devices) {
      if (stats.device == def.node(0).device()) MeasuredPart(graph, stats, table).Add();
    }
  }
  return OkStatus();
}

}  // namespace weir
