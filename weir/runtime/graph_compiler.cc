#include "weir/runtime/graph_compiler.h"

#include <algorithm>

#include "weir/base/logging.h"
#include "weir/framework/scratch.h"
#include "weir/passes/optimizer.h"
#include "weir/passes/place_by_cost.h"
#include "weir/passes/recv_schedule.h"
#include "weir/runtime/execution_plan.h"
#include "weir/runtime/memory_types.h"
#include "weir/runtime/remote.h"
#include "weir/tensor/resource_handle.h"

namespace weir {
namespace {

// Executes a single node, for constant folding.
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

bool IsOn(const RewriteOptions& rewrites, Toggle toggle) { return !rewrites.disable_all && toggle != Toggle::kOff; }

bool IsEnd(const Node& node) { return node.op() == "_Arg" || node.op() == "_Retval"; }

void LogPlacement(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    WEIR_LOG(INFO) << node->name << ": (" << node->op() << "): " << node->assigned_device;
  }
}

}  // namespace

GraphCompiler::GraphCompiler(const Environment& environment, const DeviceSet& devices,
                             std::shared_ptr<const FunctionLibrary> functions, ThreadPool* intra_op,
                             SessionOptions options, Preference preference)
    : environment_(environment),
      devices_(devices),
      functions_(std::move(functions)),
      intra_op_(intra_op),
      options_(std::move(options)),
      preference_(preference) {}

std::unique_ptr<GraphCompiler> GraphCompiler::ForDetachedCalls() const {
  return std::make_unique<GraphCompiler>(environment_, devices_, functions_, intra_op_, options_, Preference::kHost);
}

StatusOr<std::vector<DeviceGraph>> GraphCompiler::Compile(Graph graph, KernelCache& kernels, bool late_args) const {
  RewriteContext context(&graph);
  WEIR_RETURN_IF_ERROR(Optimize(context, kernels));
  return PlaceAndCut(context, late_args);
}

StatusOr<std::vector<DeviceGraph>> GraphCompiler::CompilePlaced(Graph graph) const {
  RewriteContext context(&graph);
  return PlaceAndCut(context, /*late_args=*/false);
}

StatusOr<std::vector<DeviceGraph>> GraphCompiler::CompileBody(Graph graph, KernelCache& kernels,
                                                              const BodyPlaces& places) const {
  RewriteContext context(&graph);
  WEIR_RETURN_IF_ERROR(Optimize(context, kernels));
  std::vector<DeviceName> names;
  for (const auto& device : devices_.devices()) {
    if (IsRemote(*device)) continue;
    WEIR_ASSIGN_OR_RETURN(names.emplace_back(), DeviceName::Parse(device->name()));
  }
  auto is_here = [&](const std::string& request) {
    StatusOr<DeviceName> pattern = DeviceName::Parse(request);
    return pattern.ok() && std::ranges::any_of(names, [&](const DeviceName& name) { return name.Matches(*pattern); });
  };
  for (const auto& node : graph.nodes()) {
    if (node != nullptr && !node->requested_device.empty() && !is_here(node->requested_device)) {
      node->requested_device.clear();
    }
  }
  return PlaceAndCut(context, /*late_args=*/false, places);
}

StatusOr<std::vector<DeviceGraph>> GraphCompiler::PlaceAndCut(RewriteContext& context, bool late_args,
                                                              const BodyPlaces& places) const {
  WEIR_RETURN_IF_ERROR(Place(&context.graph(), places));
  std::vector<DeviceGraph> out;
  if (Device* host = OnlyHost(context.graph())) {
    WEIR_RETURN_IF_ERROR(RewriteForDevice(*host, context));
    out.push_back({host, std::move(context.graph())});
    return out;
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<Partition> parts, Cut(context, late_args));
  for (Partition& part : parts) {
    Device* device = devices_.Find(part.location);
    if (device == nullptr) return Internal("Nodes were placed on the unknown device ", part.location);
    if (!IsRemote(*device)) {
      RewriteContext rewriting(&part.graph);
      WEIR_RETURN_IF_ERROR(RewriteForDevice(*device, rewriting));
    }
    out.push_back({device, std::move(part.graph)});
  }
  return out;
}

Status GraphCompiler::Optimize(RewriteContext& context, KernelCache& kernels) const {
  const RewriteOptions& rewrites = options_.rewrites;
  OptimizeOptions options;
  options.inline_functions = rewrites.inline_functions != Toggle::kOff;
  options.lower_control_flow = true;
  options.constant_folding = IsOn(rewrites, rewrites.constant_folding);
  options.common_subexpressions = IsOn(rewrites, rewrites.common_subexpressions);
  options.arithmetic = IsOn(rewrites, rewrites.arithmetic);
  options.dependencies = IsOn(rewrites, rewrites.dependencies);
  options.max_folded_constant_bytes = rewrites.max_folded_constant_bytes;
  if (!rewrites.disable_all) options.recompute = options_.recompute;
  return OptimizeGraph(context, options, [&](const Node& node, std::span<const Tensor> inputs) {
    return Evaluate(kernels, devices_.host(), intra_op_, node, inputs);
  });
}

Status GraphCompiler::RewriteForDevice(const Device& device, RewriteContext& context) const {
  const RewriteOptions& rewrites = options_.rewrites;
  DeviceRewriteOptions options;
  options.arithmetic = IsOn(rewrites, rewrites.arithmetic);
  options.fusion = IsOn(rewrites, rewrites.fusion);
  if (!rewrites.disable_all) {
    options.mixed_precision = device.is_host() ? options_.host_mixed_precision : options_.mixed_precision;
  }
  options.supports = [this, type = device.type()](std::string_view op, const AttrMap& attrs) {
    return environment_.kernels.Find(op, type, attrs).ok();
  };
  options.has_kernel = [this, type = device.type()](std::string_view op) {
    return std::ranges::any_of(environment_.kernels.All(op),
                               [&](const KernelEntry* entry) { return entry->device_type == type; });
  };
  context.set_stage(RewriteContext::Stage::kPlaced);
  return environment_.rewrites.Run(device.type(), context, options);
}

Device* GraphCompiler::HomeOf(const Tensor& tensor) const {
  if (tensor.dtype() == DType::kResource) {
    if (tensor.num_elements() != 1) return nullptr;
    Device* device = devices_.Find(tensor.data<ResourceHandle>()[0].device);
    return device == nullptr || device->is_host() ? nullptr : device;
  }
  const Allocator* allocator = tensor.device_allocator();
  if (allocator == nullptr) return nullptr;
  for (const auto& device : devices_.devices()) {
    if (!device->is_host() && device->allocator() == allocator) return device.get();
  }
  return nullptr;
}

// Leaves each result on the device that computes it, unless that device keeps it in host memory.
void GraphCompiler::LeaveResults(Graph& graph) const {
  const MemoryTypes memory(environment_.kernels, devices_);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != "_Retval") continue;
    const Endpoint value = node->inputs[0];
    const Node& producer = *graph.node(value.node);
    const Device* device = devices_.Find(producer.assigned_device);
    if (device == nullptr || device->is_host() || IsRemote(*device)) continue;
    if (NativeMemory(node->input_type(0)) != MemoryType::kDevice) continue;
    if (memory.Output(producer, value.index) == MemoryType::kDevice) node->assigned_device = device->name();
  }
}

Status GraphCompiler::Place(Graph* graph, const BodyPlaces& places) const {
  // Feeds and fetches pass through this task's host.
  const bool through_host = HasAccelerators() || std::ranges::any_of(devices_.devices(), [](const auto& device) {
                              return IsRemote(*device);
                            });
  for (const auto& node : graph->nodes()) {
    if (node == nullptr || !IsEnd(*node) || !through_host) continue;
    node->assigned_device = devices_.host()->name();
    if (node->op() != "_Arg" || places.arguments.empty()) continue;
    WEIR_ASSIGN_OR_RETURN(int64_t index, node->Attr<int64_t>("index"));
    if (index < std::ssize(places.arguments) && !places.arguments[index].empty()) {
      node->assigned_device = places.arguments[index];
    }
  }
  PlacementOptions placement;
  for (const auto& device : devices_.devices()) placement.devices.push_back({device->name(), device->type()});
  placement.allow_soft_placement = options_.allow_soft_placement;
  placement.spread = options_.spread_nodes;
  placement.calls_keep_handles = HasAccelerators();
  placement.calls_follow_handles = places.results_stay || !places.arguments.empty();
  placement.variants_stay = HasAccelerators();
  std::vector<LoopWork> loops;
  if (HasAccelerators()) loops = FindLoopWork(*graph, [this](const Node& node) { return IsDeviceWork(node); });
  placement.supported_types = [this, &loops](const Node& node) {
    return SupportedDeviceTypes(node, loops.empty() ? LoopWork::kNone : loops[node.id]);
  };
  WEIR_RETURN_IF_ERROR(PlaceGraphByCost(graph, placement, options_.placer, options_.costs));
  if (places.results_stay) LeaveResults(*graph);
  if (options_.log_device_placement) LogPlacement(*graph);
  return OkStatus();
}

StatusOr<StringMap<std::string>> GraphCompiler::PlaceState(Graph whole) const {
  StringMap<std::string> homes;
  if (!HasAccelerators()) return homes;
  RewriteContext context(&whole);
  OptimizeOptions options;
  options.inline_functions = options_.rewrites.inline_functions != Toggle::kOff;
  options.constant_folding = options.common_subexpressions = options.arithmetic = options.dependencies = false;
  WEIR_RETURN_IF_ERROR(OptimizeGraph(context, options, nullptr));
  WEIR_RETURN_IF_ERROR(Place(&whole));
  auto is_handle = [](DType type) { return IsRef(type) || type == DType::kResource; };
  for (const auto& node : whole.nodes()) {
    if (node == nullptr || std::ranges::none_of(node->types->outputs, is_handle)) continue;
    if (std::ranges::none_of(node->types->inputs, is_handle)) homes.emplace(node->name, node->assigned_device);
  }
  return homes;
}

Device* GraphCompiler::OnlyHost(const Graph& graph) const {
  Device* only = nullptr;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || (only != nullptr && only->name() == node->assigned_device)) continue;
    if (only != nullptr) return nullptr;
    only = devices_.Find(node->assigned_device);
    if (only == nullptr) return nullptr;
  }
  if (only == nullptr) return devices_.host();  // an empty graph
  return only->is_host() && !IsRemote(*only) ? only : nullptr;
}

StatusOr<std::vector<Partition>> GraphCompiler::Cut(RewriteContext& context, bool late_args) const {
  const Graph& graph = context.graph();
  PartitionOptions partition;
  partition.fetch_references_last = !late_args;
  partition.incarnation = [this](std::string_view name) {
    Device* device = devices_.Find(name);
    return device != nullptr ? device->info().incarnation : 1;
  };
  MemoryTypes memory(environment_.kernels, devices_);
  if (HasAccelerators()) {
    partition.input_memory = [&memory](const Node& node, int index) { return memory.Input(node, index); };
    partition.output_memory = [&memory](const Node& node, int index) { return memory.Output(node, index); };
  }
  if (options_.lossy_transfers) {
    partition.lossy = [this](std::string_view from, std::string_view to) { return IsLossy(from, to); };
  }
  // Recvs carry the inferred shapes, so that a part can be rewritten as well as the whole graph.
  if (IsOn(options_.rewrites, options_.rewrites.fusion)) {
    partition.shape = [&context](Endpoint tensor) { return context.ShapeOf(tensor); };
    const NodeId num_known = graph.num_node_ids();  // nodes beyond these are parts of loops that partitioning adds
    partition.may_be_dead = [&context, num_known](NodeId id) {
      return id >= num_known || context.waits().MayBeDead(id);
    };
  }
  RecvSchedule recvs;
  // A Recv must not be delayed by a node that may itself wait for a late feed.
  if (options_.schedule_recvs && !late_args) {
    WEIR_ASSIGN_OR_RETURN(recvs, ScheduleRecvs(graph, CostModel(graph, options_.costs)));
    partition.recvs = &recvs;
  }
  return PartitionGraph(graph, partition);
}

bool GraphCompiler::IsLossy(std::string_view from, std::string_view to) const {
  StatusOr<DeviceName> a = DeviceName::Parse(from), b = DeviceName::Parse(to);
  // Only host devices are sure to have a Cast kernel.
  const std::string& host = devices_.host()->type();
  if (!a.ok() || !b.ok() || a->type != host || b->type != host) return false;
  return a->job != b->job || a->replica != b->replica || a->task != b->task;
}

bool GraphCompiler::HasAccelerators() const {
  return std::ranges::any_of(devices_.devices(), [](const auto& device) { return !device->is_host(); });
}

// True for work on floating-point or complex numbers that an accelerator has a kernel for. Integers and booleans are
// mostly shapes and conditions.
bool GraphCompiler::IsDeviceWork(const Node& node) const {
  auto is_number = [](DType type) { return IsFloating(BaseType(type)) || IsComplex(BaseType(type)); };
  if (IsExecutorNative(*node.schema)) return false;
  if (std::ranges::none_of(node.types->inputs, is_number) && std::ranges::none_of(node.types->outputs, is_number)) {
    return false;
  }
  const std::vector<std::string> types = environment_.kernels.DeviceTypes(node.op(), node.attrs);
  return std::ranges::any_of(types, [this](const std::string& type) { return type != devices_.host()->type(); });
}

std::vector<std::string> GraphCompiler::SupportedDeviceTypes(const Node& node, LoopWork loop) const {
  const std::string& host = devices_.host()->type();
  const bool native = IsExecutorNative(*node.schema);
  std::vector<std::string> types;
  if (native) {  // runs anywhere
    for (const auto& device : devices_.devices()) {
      if (std::ranges::find(types, device->type()) == types.end()) types.push_back(device->type());
    }
  } else {
    types = environment_.kernels.DeviceTypes(node.op(), node.attrs);
  }
  if (types.empty() && functions_->Contains(node.op())) types.push_back(host);  // the call itself runs on the host
  // Prefer an accelerator, if there is one, for every node whose results can be in its memory.
  const bool is_for_host = preference_ == Preference::kHost || loop == LoopWork::kHost ||
                           (loop == LoopWork::kNone && native &&
                            (node.num_outputs() == 0 || NativeMemory(node.output_type(0)) == MemoryType::kHost));
  std::stable_partition(types.begin(), types.end(),
                        [&](const std::string& type) { return (type == host) == is_for_host; });
  return types;
}

}  // namespace weir
