#include "weir/passes/place_by_cost.h"

#include <algorithm>
#include <map>

namespace weir {
namespace {

// A scheduling problem and the nodes that its tasks stand for.
struct GraphProblem {
  SchedulingProblem problem;
  std::vector<NodeId> node_of;  // by task
  std::vector<int> task_of;     // by node id; -1: none
};

bool TurnsAround(const Graph& graph, const Node& consumer, NodeId input) {
  return IsMerge(consumer) && IsNextIteration(*graph.node(input));
}

// Leaves out nodes of group -1, which run where they are needed.
StatusOr<GraphProblem> MakeProblem(const Graph& graph, const CostModel& costs, const std::vector<std::string>& devices,
                                   const PlacementChoices& choices) {
  WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph));
  GraphProblem out;
  out.task_of.assign(graph.num_node_ids(), -1);
  out.problem.feasible = choices.devices;
  for (const std::string& from : devices) {
    auto& row = out.problem.links.emplace_back();
    for (const std::string& to : devices) row.push_back(costs.Link(from, to));
  }
  for (NodeId id : order) {
    const Node& node = *graph.node(id);
    if (choices.group_of[id] < 0) continue;
    SchedulingProblem::Task task;
    task.group = choices.group_of[id];
    task.cost.assign(devices.size(), 0);
    for (int d : choices.devices[task.group]) task.cost[d] = costs.Time(node, devices[d]);
    for (Endpoint input : node.inputs) {
      const int from = out.task_of[input.node];
      if (from >= 0 && !TurnsAround(graph, node, input.node)) task.inputs.push_back({from, costs.Bytes(input)});
    }
    for (NodeId input : node.control_inputs) {
      if (out.task_of[input] >= 0) task.inputs.push_back({out.task_of[input], 0});
    }
    out.task_of[id] = static_cast<int>(out.problem.tasks.size());
    out.node_of.push_back(id);
    out.problem.tasks.push_back(std::move(task));
  }
  return out;
}

// The choices for a placed graph: each node can only be where it is.
StatusOr<PlacementChoices> ChoicesOfPlaced(const Graph& graph, std::vector<std::string>* devices) {
  PlacementChoices out;
  out.group_of.assign(graph.num_node_ids(), -1);
  StringMap<int> index;
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    if (node->assigned_device.empty()) return Internal("Node '", node->name, "' has no device");
    auto [it, fresh] = index.try_emplace(node->assigned_device, static_cast<int>(devices->size()));
    if (fresh) {
      out.devices.push_back({it->second});
      devices->push_back(node->assigned_device);
    }
    out.group_of[node->id] = it->second;  // one group per device
  }
  return out;
}

// The tensors that are moved between devices, once for each destination.
std::vector<SimulatedTransfer> TransfersOf(const Graph& graph, const CostModel& costs, const GraphProblem& tasks,
                                           const Schedule& schedule, const std::vector<std::string>& devices) {
  std::map<std::tuple<NodeId, int, int>, SimulatedTransfer> found;
  auto add = [&](Endpoint tensor, NodeId consumer) {
    const int producer = tasks.task_of[tensor.node];
    const int from = tasks.problem.tasks[producer].group;
    const int to = tasks.problem.tasks[tasks.task_of[consumer]].group;
    if (from == to) return;
    const int64_t bytes = tensor.index < 0 ? 0 : costs.Bytes(tensor);
    const double start = schedule.finish[producer];
    found.try_emplace(
        {tensor.node, tensor.index, to},
        SimulatedTransfer{tensor, from, to, bytes, start, start + costs.Link(devices[from], devices[to]).Time(bytes)});
  };
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    for (Endpoint input : node->inputs) add(input, node->id);
    for (NodeId input : node->control_inputs) add({input, -1}, node->id);
  }
  std::vector<SimulatedTransfer> out;
  for (auto& [key, transfer] : found) out.push_back(transfer);
  std::ranges::stable_sort(out, {}, &SimulatedTransfer::start);
  return out;
}

std::vector<std::string> AssignedDevices(const Graph& graph) {
  std::vector<std::string> out(graph.nodes().size());
  for (const auto& node : graph.nodes()) {
    if (node != nullptr) out[node->id] = node->assigned_device;
  }
  return out;
}
void AssignDevices(Graph* graph, const std::vector<std::string>& devices) {
  for (const auto& node : graph->nodes()) {
    if (node != nullptr) node->assigned_device = devices[node->id];
  }
}

// Places the graph with these options and returns the simulated duration of a step.
StatusOr<double> PlaceAndSimulate(Graph* graph, const PlacementOptions& options,
                                  const std::shared_ptr<const CostTable>& measured) {
  WEIR_RETURN_IF_ERROR(PlaceGraph(graph, options));
  WEIR_ASSIGN_OR_RETURN(const SimulatedStep step, SimulateStep(*graph, CostModel(*graph, measured)));
  return step.makespan;
}

}  // namespace

Status PlaceGraphByCost(Graph* graph, PlacementOptions options, PlacerKind kind,
                        std::shared_ptr<const CostTable> measured) {
  const std::unique_ptr<Placer> placer = MakePlacer(kind);
  if (placer == nullptr || options.devices.size() < 2) return PlaceGraph(graph, options);
  options.whole_loops = true;
  // The algorithms are heuristics: if the default placement is faster, it is kept.
  const std::vector<std::string> before = AssignedDevices(*graph);
  WEIR_ASSIGN_OR_RETURN(const double plain_makespan, PlaceAndSimulate(graph, options, measured));
  const std::vector<std::string> plain = AssignedDevices(*graph);
  AssignDevices(graph, before);
  options.choose = [&](const PlacementChoices& choices) -> StatusOr<std::vector<int>> {
    std::vector<std::string> devices;
    for (const PlaceableDevice& device : options.devices) devices.push_back(device.name);
    const CostModel costs(*graph, measured);
    WEIR_ASSIGN_OR_RETURN(GraphProblem tasks, MakeProblem(*graph, costs, devices, choices));
    WEIR_ASSIGN_OR_RETURN(Schedule schedule, PlaceOrKeepTogether(*placer, tasks.problem));
    return std::move(schedule.device);
  };
  WEIR_ASSIGN_OR_RETURN(const double makespan, PlaceAndSimulate(graph, options, measured));
  if (plain_makespan < makespan) AssignDevices(graph, plain);
  return OkStatus();
}

StatusOr<SimulatedStep> SimulateStep(const Graph& graph, const CostModel& costs) {
  SimulatedStep out;
  WEIR_ASSIGN_OR_RETURN(PlacementChoices choices, ChoicesOfPlaced(graph, &out.devices));
  if (out.devices.empty()) return out;
  WEIR_ASSIGN_OR_RETURN(GraphProblem tasks, MakeProblem(graph, costs, out.devices, choices));
  std::vector<int> where(out.devices.size());
  for (size_t d = 0; d < where.size(); ++d) where[d] = static_cast<int>(d);
  const Schedule schedule = Simulate(tasks.problem, std::move(where));
  for (size_t t = 0; t < tasks.node_of.size(); ++t) {
    out.nodes.push_back({tasks.node_of[t], tasks.problem.tasks[t].group, schedule.start[t], schedule.finish[t]});
  }
  std::ranges::stable_sort(out.nodes, {}, &SimulatedNode::start);
  out.transfers = TransfersOf(graph, costs, tasks, schedule, out.devices);
  out.makespan = schedule.makespan;
  return out;
}

}  // namespace weir
