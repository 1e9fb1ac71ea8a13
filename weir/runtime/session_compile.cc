// From a signature to plans: prune, rewrite, place, partition, compile.
#include <algorithm>

#include "weir/base/logging.h"
#include "weir/framework/scratch.h"
#include "weir/graph/import.h"
#include "weir/passes/fuse_elementwise.h"
#include "weir/passes/optimizer.h"
#include "weir/passes/partition.h"
#include "weir/passes/place_by_cost.h"
#include "weir/passes/recv_schedule.h"
#include "weir/runtime/cost_graph.h"
#include "weir/runtime/memory_types.h"
#include "weir/runtime/session_impl.h"

namespace weir {
namespace {

// The argument or result node of each index from `first` on.
std::vector<Node*> FindEnds(const Graph& graph, std::string_view op, int first, int count) {
  std::vector<Node*> out(count, nullptr);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != op) continue;
    int64_t index = *node->Attr<int64_t>("index") - first;
    if (index >= 0 && index < count) out[index] = node.get();
  }
  return out;
}

// Lets a tensor of the graph take the place of a feed: argument `first_arg + i` is replaced by what result `first_ret +
// i` would have been.
Status Connect(Graph* graph, int first_arg, int first_ret, int count) {
  std::vector<Node*> args = FindEnds(*graph, "_Arg", first_arg, count);
  std::vector<Node*> rets = FindEnds(*graph, "_Retval", first_ret, count);
  for (int i = 0; i < count; ++i) {
    if (args[i] == nullptr || rets[i] == nullptr) return Internal("A connection was lost");
    Endpoint source = rets[i]->inputs[0];
    if (BaseType(graph->type(source)) != args[i]->output_type(0)) {
      return InvalidArgument("Tensor connection ", i, " joins ", Name(graph->type(source)), " to ",
                             Name(args[i]->output_type(0)));
    }
    for (const auto& node : graph->nodes()) {
      if (node == nullptr) continue;
      for (Endpoint& input : node->inputs) {
        if (input.node == args[i]->id) input = source;
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    graph->RemoveNode(rets[i]->id);
    graph->RemoveNode(args[i]->id);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Graph> Session::Impl::PrepareGraph(const StepSignature& signature, const Connections& connections,
                                            FeedShapes shapes) const {
  StepSignature extended = signature;
  for (const auto& [from, to] : connections) {
    extended.feeds.push_back(to);
    extended.fetches.push_back(from);
  }
  StatusOr<Graph> pruned = [&] {
    absl::ReaderMutexLock lock(&graph_mu_);
    return PruneGraph(graph_, extended);
  }();
  if (pruned.ok()) WEIR_RETURN_IF_ERROR(RestoreTaken(&*pruned));
  if (pruned.ok() && shapes == FeedShapes::kAny) {
    for (const auto& node : pruned->nodes()) {
      if (node != nullptr && node->op() == "_Arg") node->attrs.Erase(kDeclaredShapes);
    }
  }
  if (pruned.ok() && !connections.empty()) {
    WEIR_RETURN_IF_ERROR(Connect(&*pruned, static_cast<int>(signature.feeds.size()),
                                 static_cast<int>(signature.fetches.size()), static_cast<int>(connections.size())));
    // A connection may close a cycle.
    WEIR_RETURN_IF_ERROR(TopologicalOrder(*pruned).status());
  }
  return pruned;
}

StatusOr<std::shared_ptr<CompiledStep>> Session::Impl::Compile(const StepSignature& signature,
                                                               const Connections& connections, bool late_args) {
  // What arrives while the step runs cannot be looked at before it.
  const FeedShapes shapes = late_args ? FeedShapes::kAny : FeedShapes::kAsDeclared;
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<CompiledStep> compiled,
                        CompileGraph(signature, connections, late_args, shapes));
  compiled->compile_for_any_shape = [this, signature, connections, late_args] {
    return CompileGraph(signature, connections, late_args, FeedShapes::kAny);
  };
  return compiled;
}

namespace {

// Runs one node by itself, for constant folding.
StatusOr<std::vector<Tensor>> Evaluate(KernelCache& kernels, Device* device, ThreadPool* intra_op, const Node& node,
                                       std::span<const Tensor> inputs) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Kernel> kernel, kernels.Get(node, device));
  if (kernel->is_async()) return Unimplemented("Not folded: ", node.op());
  CancellationManager cancellation;
  StepContext step;
  step.device = device;
  step.intra_op = intra_op;
  step.cancellation = &cancellation;
  step.deterministic = true;
  KernelNode info{node.name, node.schema, node.types};
  std::vector<Slot> in(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) in[i].tensor = inputs[i];
  std::vector<Slot> out(node.num_outputs());
  KernelContext context(step, info, in, out);
  WEIR_RETURN_IF_ERROR(WithinMemory([&] { return kernel->Compute(context); }));
  std::vector<Tensor> results;
  for (Slot& slot : out) results.push_back(std::move(slot.tensor));
  return results;
}

}  // namespace

Status RewriteGraph(const RewriteOptions& rewrites, KernelCache& kernels, Device* device, ThreadPool* intra_op,
                    bool only_cpus, Graph* graph) {
  auto on = [&](Toggle toggle) { return !rewrites.disable_all && toggle != Toggle::kOff; };
  OptimizeOptions options;
  options.inline_functions = rewrites.inline_functions != Toggle::kOff;
  options.lower_control_flow = true;
  options.constant_folding = on(rewrites.constant_folding);
  options.common_subexpressions = on(rewrites.common_subexpressions);
  options.arithmetic = on(rewrites.arithmetic);
  options.dependencies = on(rewrites.dependencies);
  // Other devices have no fused kernels.
  options.fusion = on(rewrites.fusion) && only_cpus;
  options.elementwise_fusion = options.fusion && !kernels.registry().All("_FusedElementwise").empty();
  options.scatter_fusion = options.fusion && !kernels.registry().All("_ScaledResourceScatterSub").empty();
  options.view_products = options.fusion && !kernels.registry().All("_BatchMatMulOfViews").empty();
  options.max_folded_constant_bytes = rewrites.max_folded_constant_bytes;
  return OptimizeGraph(graph, options, [&](const Node& node, std::span<const Tensor> inputs) {
    return Evaluate(kernels, device, intra_op, node, inputs);
  });
}

bool Session::Impl::HasOnlyCpus() const {
  return std::ranges::all_of(devices_.devices(), [](const auto& device) { return device->type() == "CPU"; });
}

StatusOr<std::vector<Session::Impl::DeviceGraph>> Session::Impl::PartitionOverDevices(Graph graph, bool late_args) {
  WEIR_RETURN_IF_ERROR(RewriteGraph(options_.rewrites, *kernels_, devices_.host(), intra_op_, HasOnlyCpus(), &graph));
  return PlaceAndCut(std::move(graph), late_args);
}

StatusOr<std::vector<Session::Impl::DeviceGraph>> Session::Impl::PlaceAndCut(Graph graph, bool late_args) {
  // Feeds and fetches pass through this task's host.
  const bool through_host = remote_ != nullptr || HasAccelerators();
  for (const auto& node : graph.nodes()) {
    if (node != nullptr && (node->op() == "_Arg" || node->op() == "_Retval") && through_host) {
      node->assigned_device = devices_.host()->name();
    }
  }
  PlacementOptions placement;
  for (const auto& device : devices_.devices()) placement.devices.push_back({device->name(), device->type()});
  placement.allow_soft_placement = options_.allow_soft_placement;
  placement.spread = options_.spread_nodes;
  placement.supported_types = [this](const Node& node) { return SupportedDeviceTypes(node); };
  WEIR_RETURN_IF_ERROR(PlaceGraphByCost(&graph, placement, options_.placer, options_.costs));
  if (options_.log_device_placement) LogPlacement(graph);

  std::vector<DeviceGraph> out;
  bool one_device = true;
  const std::string* first = nullptr;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    if (first == nullptr) first = &node->assigned_device;
    one_device &= node->assigned_device == *first;
  }
  Device* device = first != nullptr ? devices_.Find(*first) : devices_.host();
  if (device == nullptr) return Internal("Nodes were placed on the unknown device ", *first);
  if (one_device && device->is_host()) {
    out.push_back({device, std::move(graph)});
    return out;
  }
  PartitionOptions partition;
  partition.fetch_references_last = !late_args;
  partition.incarnation = [this](std::string_view name) {
    Device* device = devices_.Find(name);
    return device != nullptr ? device->info().incarnation : 1;
  };
  MemoryTypes memory(environment_->kernels, devices_);
  if (HasAccelerators()) {
    partition.input_memory = [&memory](const Node& node, int index) { return memory.Input(node, index); };
    partition.output_memory = [&memory](const Node& node, int index) { return memory.Output(node, index); };
  }
  if (options_.lossy_transfers) {
    partition.lossy = [this](std::string_view from, std::string_view to) { return IsLossy(from, to); };
  }
  RecvSchedule recvs;
  // Feeds that come late may come after what a Recv gives: nothing must wait for them.
  if (options_.schedule_recvs && !late_args) {
    WEIR_ASSIGN_OR_RETURN(recvs, ScheduleRecvs(graph, CostModel(graph, options_.costs)));
    partition.recvs = &recvs;
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<weir::Partition> parts, PartitionGraph(graph, partition));
  for (weir::Partition& part : parts) {
    Device* device = devices_.Find(part.location);
    if (device == nullptr) return Internal("Nodes were placed on the unknown device ", part.location);
    out.push_back({device, std::move(part.graph)});
  }
  return out;
}

bool Session::Impl::IsLossy(std::string_view from, std::string_view to) const {
  StatusOr<DeviceName> a = DeviceName::Parse(from), b = DeviceName::Parse(to);
  // Only the host is sure to have a kernel that casts.
  const std::string& host = devices_.host()->type();
  if (!a.ok() || !b.ok() || a->type != host || b->type != host) return false;
  return a->job != b->job || a->replica != b->replica || a->task != b->task;
}

bool Session::Impl::HasAccelerators() const {
  return std::any_of(devices_.devices().begin(), devices_.devices().end(),
                     [](const auto& device) { return !device->is_host(); });
}

std::vector<std::string> Session::Impl::SupportedDeviceTypes(const Node& node) const {
  const std::string& host = devices_.host()->type();
  const bool native = IsExecutorNative(*node.schema);
  std::vector<std::string> types;
  if (native) {  // runs anywhere
    for (const auto& device : devices_.devices()) {
      if (std::find(types.begin(), types.end(), device->type()) == types.end()) types.push_back(device->type());
    }
  } else {
    types = environment_->kernels.DeviceTypes(node.op(), node.attrs);
  }
  if (types.empty() && functions_->Contains(node.op())) types.push_back(host);  // functions run on the host
  // Who has an accelerator wants it used, for all that can be in its memory.
  bool is_for_host = native && (node.num_outputs() == 0 || NativeMemory(node.output_type(0)) == MemoryType::kHost);
  std::stable_partition(types.begin(), types.end(),
                        [&](const std::string& type) { return (type == host) == is_for_host; });
  return types;
}

void Session::Impl::LogPlacement(const Graph& graph) const {
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    WEIR_LOG(INFO) << node->name << ": (" << node->op() << "): " << node->assigned_device;
  }
}

void Session::Impl::GiveUpTaken(const Graph& compiled, const ExecutionPlan& plan) {
  absl::MutexLock lock(&graph_mu_);
  for (const ExecutionPlan::Taken& taken : plan.taken) {
    Node* own = graph_.Find(taken.node);
    const Node* used = compiled.Find(taken.node);
    if (own == nullptr || used == nullptr || !IsConstant(*own) || !IsConstant(*used)) continue;
    const Tensor* value = own->attrs.Find("value")->get_if<Tensor>();
    const Tensor* same = used->attrs.Find("value")->get_if<Tensor>();
    // A rewritten graph may have another constant of the name.
    if (value == nullptr || same == nullptr || !value->SharesBufferWith(*same)) continue;
    own->attrs.Set("value", taken.constant.absent);
    taken_.insert_or_assign(taken.node, taken.constant);
  }
}

Status Session::Impl::RestoreTaken(Graph* graph) const {
  for (const auto& node : graph->nodes()) {
    if (node == nullptr || !IsConstant(*node)) continue;
    const Tensor* value = node->attrs.Find("value")->get_if<Tensor>();
    if (value == nullptr || !IsAbsent(*value)) continue;
    std::function<StatusOr<Tensor>()> restore;
    {
      absl::ReaderMutexLock lock(&graph_mu_);
      auto taken = taken_.find(node->name);
      if (taken == taken_.end()) return Internal("The constant ", node->name, " is lost");
      restore = taken->second.restore;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor restored, restore());
    node->attrs.Set("value", std::move(restored));
  }
  return OkStatus();
}

Status Session::Impl::CompileParts(const std::vector<DeviceGraph>& partitions, bool late_args, CompiledStep* compiled) {
  for (const DeviceGraph& partition : partitions) {
    if (IsRemote(*partition.device)) {
      WEIR_ASSIGN_OR_RETURN(auto part, remote_->AddPart(*partition.device, partition.graph));
      compiled->remote_parts.push_back(std::move(part));
      continue;
    }
    PlanOptions options;
    options.device = partition.device;
    options.late_args = late_args;
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const ExecutionPlan> plan, CompilePlan(partition.graph, *kernels_, options));
    std::vector<int>& rets = compiled->plan_rets.emplace_back();
    for (size_t i = 0; i < plan->ret_types.size(); ++i) {
      if (plan->ret_types[i] != DType::kInvalid) rets.push_back(static_cast<int>(i));
    }
    GiveUpTaken(partition.graph, *plan);
    compiled->plans.push_back(std::move(plan));
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<CompiledStep>> Session::Impl::CompileGraph(const StepSignature& signature,
                                                                    const Connections& connections, bool late_args,
                                                                    FeedShapes shapes) {
  WEIR_ASSIGN_OR_RETURN(Graph graph, PrepareGraph(signature, connections, shapes));
  auto compiled = std::make_shared<CompiledStep>();
  compiled->feed_names = signature.feeds;
  compiled->num_fetches = signature.fetches.size();
  compiled->feed_types.assign(signature.feeds.size(), DType::kInvalid);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != "_Arg") continue;
    WEIR_ASSIGN_OR_RETURN(int64_t index, node->Attr<int64_t>("index"));
    WEIR_ASSIGN_OR_RETURN(compiled->feed_types[index], node->Attr<DType>("T"));
    if (late_args) node->attrs.Set(kLateArgument, true);
    auto declared = node->Attr<std::vector<PartialShape>>(kDeclaredShapes);
    if (!declared.ok() || declared->size() != 1) continue;
    compiled->feed_shapes.resize(signature.feeds.size());
    compiled->feed_shapes[index] = declared->front();
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<DeviceGraph> partitions, PartitionOverDevices(std::move(graph), late_args));
  WEIR_RETURN_IF_ERROR(CompileParts(partitions, late_args, compiled.get()));
  compiled->export_partitions = [this, signature, connections, late_args, shapes]() -> std::vector<std::string> {
    std::vector<std::string> out;
    StatusOr<Graph> again = PrepareGraph(signature, connections, shapes);
    if (!again.ok()) return out;
    auto parts = PartitionOverDevices(*std::move(again), late_args);
    if (!parts.ok()) return out;
    for (const DeviceGraph& partition : *parts) {
      StatusOr<std::string> bytes = ExportGraphDefBytes(partition.graph);
      if (bytes.ok()) out.push_back(*std::move(bytes));
    }
    return out;
  };
  compiled->export_costs = [this, signature, connections, late_args,
                            shapes](const std::vector<DeviceStats>& stats) -> std::string {
    StatusOr<Graph> again = PrepareGraph(signature, connections, shapes);
    if (!again.ok()) return "";
    auto parts = PartitionOverDevices(*std::move(again), late_args);
    if (!parts.ok()) return "";
    std::vector<const Graph*> graphs;
    for (const DeviceGraph& partition : *parts) graphs.push_back(&partition.graph);
    return BuildCostGraph(graphs, stats);
  };
  return compiled;
}

}  // namespace weir
