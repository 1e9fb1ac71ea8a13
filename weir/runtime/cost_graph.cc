#include "weir/runtime/cost_graph.h"

#include "weir/proto/step_stats.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr int kSource = 0;
constexpr int kSink = 1;
constexpr int kFirstNode = 2;

struct Cost {
  int64_t nanoseconds = 0;
  const NodeStats* last = nullptr;
};

void DescribeOutput(const Node& node, int index, const Cost& cost, CostGraphDef::Node* out) {
  CostGraphDef::Node::OutputInfo* info = out->add_output_info();
  info->set_alias_input_port(-1);
  info->set_dtype(static_cast<DataType>(BaseType(node.output_type(index))));
  if (cost.last != nullptr) {
    for (const TensorStats& tensor : cost.last->outputs) {
      if (tensor.slot != index) continue;
      info->set_size(tensor.requested_bytes);
      ToProto(tensor.shape, info->mutable_shape());
      return;
    }
  }
  info->set_size(-1);
  info->mutable_shape()->set_unknown_rank(true);
}

}  // namespace

std::string BuildCostGraph(const std::vector<const Graph*>& partitions, const std::vector<DeviceStats>& stats) {
  CostGraphDef out;
  CostGraphDef::Node* source = out.add_node();
  source->set_name("_SOURCE");
  source->set_id(kSource);
  CostGraphDef::Node* sink = out.add_node();
  sink->set_name("_SINK");
  sink->set_id(kSink);
  sink->add_control_input(kSource);

  StringMap<Cost> costs;
  for (const DeviceStats& device : stats) {
    for (const NodeStats& node : device.nodes) {
      Cost& cost = costs[Cat(device.device, ";", node.node)];
      cost.nanoseconds += node.op_end_rel_ns - node.op_start_rel_ns;
      cost.last = &node;
    }
  }
  int32_t first = kFirstNode;
  for (const Graph* graph : partitions) {
    std::vector<int32_t> ids(graph->num_node_ids(), -1);
    std::vector<bool> is_used(graph->num_node_ids(), false);
    int32_t next = first;
    for (const auto& node : graph->nodes()) {
      if (node == nullptr) continue;
      ids[node->id] = next++;
      for (Endpoint input : node->inputs) is_used[input.node] = true;
      for (NodeId input : node->control_inputs) is_used[input] = true;
    }
    for (const auto& node : graph->nodes()) {
      if (node == nullptr) continue;
      CostGraphDef::Node* described = out.add_node();
      described->set_name(node->name);
      described->set_device(node->assigned_device);
      described->set_id(ids[node->id]);
      for (Endpoint input : node->inputs) {
        CostGraphDef::Node::InputInfo* info = described->add_input_info();
        info->set_preceding_node(ids[input.node]);
        info->set_preceding_port(input.index);
      }
      for (NodeId input : node->control_inputs) described->add_control_input(ids[input]);
      if (node->inputs.empty() && node->control_inputs.empty()) described->add_control_input(kSource);
      const Cost& cost = costs[Cat(node->assigned_device, ";", node->name)];
      described->set_compute_cost(cost.nanoseconds / 1000);
      for (int i = 0; i < node->num_outputs(); ++i) DescribeOutput(*node, i, cost, described);
      if (!is_used[node->id]) {
        described->set_is_final(true);
        out.mutable_node(kSink)->add_control_input(ids[node->id]);
      }
    }
    first = next;
  }
  return out.SerializeAsString();
}

}  // namespace weir
