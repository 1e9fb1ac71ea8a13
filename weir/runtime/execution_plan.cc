#include "weir/runtime/execution_plan.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "weir/base/logging.h"
#include "weir/framework/fused_nodes.h"
#include "weir/framework/rendezvous.h"
#include "weir/runtime/memory_types.h"

namespace weir {
namespace {

NodeKind KindOf(const OpSchema& schema) {
  static const auto* const kinds = new StringMap<NodeKind>{
      {"Const", NodeKind::kConst},
      {"NoOp", NodeKind::kNoOp},
      {"ControlTrigger", NodeKind::kNoOp},
      {"Identity", NodeKind::kIdentity},
      {"RefIdentity", NodeKind::kIdentity},
      {"StopGradient", NodeKind::kIdentity},
      {"PreventGradient", NodeKind::kIdentity},
      {"PlaceholderWithDefault", NodeKind::kIdentity},
      {"LoopCond", NodeKind::kIdentity},
      {"_Arg", NodeKind::kArg},
      {"_Retval", NodeKind::kRetval},
      {"Switch", NodeKind::kSwitch},
      {"RefSwitch", NodeKind::kSwitch},
      {"Merge", NodeKind::kMerge},
      {"RefMerge", NodeKind::kMerge},
      {"Enter", NodeKind::kEnter},
      {"RefEnter", NodeKind::kEnter},
      {"Exit", NodeKind::kExit},
      {"RefExit", NodeKind::kExit},
      {"NextIteration", NodeKind::kNextIteration},
      {"RefNextIteration", NodeKind::kNextIteration},
      {"_Send", NodeKind::kSend},
      {"Send", NodeKind::kSend},
      {"_HostSend", NodeKind::kSend},
      {"_Recv", NodeKind::kRecv},
      {"Recv", NodeKind::kRecv},
      {"_HostRecv", NodeKind::kRecv},
  };
  auto found = kinds->find(schema.name);
  return found != kinds->end() ? found->second : NodeKind::kKernel;
}

constexpr absl::Duration kCopyTimeout = absl::Minutes(1);

// A node as error messages name it.
std::string Named(const Node& node) { return Cat("{{node ", node.name, "}}"); }
Status At(const Status& status, const Node& node) {
  return status.ok() ? status : Annotate(status, "", Cat("\n\t [[", Named(node), "]]"));
}

// Compiles a graph, visiting its nodes in topological order, in which only the back edges of loops lead backwards:
// - Describe finds each node's kind, kernel and types.
// - AssignFrames derives each node's frame from its producers. An Enter leads into a child frame, an Exit to the
//   parent.
// - FindStatics and NumberSlots give each node a range of slots and a pending count: its inputs and control inputs,
//   except values that are known before the step starts. A Merge counts only its control inputs.
// - Connect turns the inputs of consumers into edges of producers. The last edge of each output moves the value instead
//   of copying it.
class Compiler {
 public:
  Compiler(const Graph& graph, KernelCache& kernels, const PlanOptions& options)
      : graph_(graph), kernels_(kernels), options_(options), plan_(std::make_shared<ExecutionPlan>()) {}

  StatusOr<std::shared_ptr<const ExecutionPlan>> Compile() {
    plan_->device = options_.device;
    plan_->late_args = options_.late_args;
    WEIR_ASSIGN_OR_RETURN(order_, TopologicalOrder(graph_));
    position_.assign(graph_.num_node_ids(), -1);
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = static_cast<int32_t>(i);
    plan_->nodes.resize(order_.size());
    plan_->infos.resize(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      const Node& node = NodeAt(i);
      WEIR_RETURN_IF_ERROR(At(Describe(node, static_cast<int32_t>(i)), node));
    }
    WEIR_RETURN_IF_ERROR(MoveConstants());
    WEIR_RETURN_IF_ERROR(AssignFrames());
    FindStatics();
    NumberSlots();
    Connect();
    DropStatics();
    FindRoots();
    if (options_.may_record && IsRecordable()) PrepareRecordings();
    plan_->costs = std::make_unique<std::atomic<uint32_t>[]>(plan_->nodes.size());
    plan_->resume_costs = std::make_unique<std::atomic<uint32_t>[]>(plan_->nodes.size());
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      plan_->costs[i] = plan_->nodes[i].may_be_expensive ? std::numeric_limits<uint32_t>::max() / 16 : 0;
      plan_->resume_costs[i] = std::numeric_limits<uint32_t>::max();
    }
    return std::shared_ptr<const ExecutionPlan>(plan_);
  }

 private:
  const Node& NodeAt(size_t position) const { return *graph_.node(order_[position]); }
  PlanNode& Planned(NodeId id) { return plan_->nodes[position_[id]]; }

  // Fills in everything except frames, slots and edges.
  Status Describe(const Node& node, int32_t position) {
    PlanNode& planned = plan_->nodes[position];
    planned.id = position;
    auto [cached, fresh] = kinds_.try_emplace(node.schema, NodeKind::kKernel);
    if (fresh) cached->second = KindOf(*node.schema);
    planned.kind = cached->second;
    planned.never_dead = node.schema->name == "ControlTrigger";
    planned.num_inputs = static_cast<int32_t>(node.inputs.size());
    if (node.num_outputs() > std::numeric_limits<int16_t>::max()) {
      return InvalidArgument("The node has ", node.num_outputs(), " outputs, more than are supported");
    }
    planned.num_outputs = static_cast<uint16_t>(node.num_outputs());
    plan_->infos[position] = {node.name, node.schema, node.types};
    if (const Attribute* names = node.attrs.Find(kFusedNodes)) {
      if (const AttrList* list = names->get_if<AttrList>())
        plan_->fused_nodes[static_cast<int32_t>(position)] = list->s;
    }
    planned.types = node.types.get();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      bool gives_ref = IsRef(graph_.type(node.inputs[i]));
      bool wants_ref = IsRef(node.input_type(static_cast<int>(i)));
      if (gives_ref) planned.takes_refs = true;
      if (wants_ref && !gives_ref) {
        return InvalidArgument("Input ", i, " must be a reference, but '", graph_.TensorName(node.inputs[i]),
                               "' is a value");
      }
    }
    if (planned.takes_refs) AddRefInputs(node, position);
    switch (planned.kind) {
      case NodeKind::kConst:
        return DescribeConst(node, planned);
      case NodeKind::kArg:
        return DescribeEnd(node, &planned, &plan_->arg_types);
      case NodeKind::kRetval:
        return DescribeEnd(node, &planned, &plan_->ret_types);
      case NodeKind::kSend:
      case NodeKind::kRecv:
        return DescribeTransfer(node, planned);
      case NodeKind::kKernel: {
        WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Kernel> kernel, kernels_.Get(node, options_.device));
        planned.kernel = kernel.get();
        if (kernel->is_async()) planned.kind = NodeKind::kAsyncKernel;
        planned.may_be_expensive = !kernel->is_async() && kernel->is_expensive();
        if (plan_->kernels.empty() || plan_->kernels.back() != kernel) plan_->kernels.push_back(std::move(kernel));
        return OkStatus();
      }
      default:
        return OkStatus();
    }
  }

  void AddRefInputs(const Node& node, int32_t position) {
    if (plan_->input_names.empty()) plan_->input_names.resize(order_.size());
    for (const Endpoint& input : node.inputs) {
      const std::string& name = graph_.node(input.node)->name;
      plan_->input_names[position].push_back(input.index == 0 ? name : Cat(name, ":", input.index));
    }
  }

  Status DescribeConst(const Node& node, PlanNode& planned) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, node.Attr<Tensor>("value"));
    WEIR_ASSIGN_OR_RETURN(DType dtype, node.Attr<DType>("dtype"));
    if (value.dtype() != dtype) {
      return InvalidArgument("Type mismatch between value (", Name(value.dtype()), ") and dtype (", Name(dtype), ")");
    }
    planned.aux = static_cast<int32_t>(plan_->constants.size());
    if (!options_.device->is_host() && NativeMemory(dtype) == MemoryType::kDevice)
      moved_constants_.push_back(planned.aux);
    plan_->constants.push_back(std::move(value));
    return OkStatus();
  }

  void BringAll(std::vector<Tensor> values, size_t next, Device::CopyAllDone done) {
    if (next == values.size()) return done(std::move(values));
    BringValue({.tensor = values[next]}, options_.device, nullptr,
               [this, values, next, done = std::move(done)](StatusOr<Tensor> copy) mutable {
                 if (!copy.ok()) return done(copy.status());
                 values[next] = *std::move(copy);
                 BringAll(std::move(values), next + 1, std::move(done));
               });
  }

  // Constants are copied to their device once, all together, when the plan is compiled.
  Status MoveConstants() {
    if (moved_constants_.empty()) return OkStatus();
    struct Copy {
      absl::Notification done;
      StatusOr<std::vector<Tensor>> result = Internal("not copied");
    };
    auto copy = std::make_shared<Copy>();
    std::vector<Tensor> values;
    for (int32_t index : moved_constants_) values.push_back(plan_->constants[index]);
    auto finish = [copy](StatusOr<std::vector<Tensor>> result) {
      copy->result = std::move(result);
      copy->done.Notify();
    };
    // Variants, which are rare, are copied one by one.
    auto variant = std::ranges::find(values, DType::kVariant, &Tensor::dtype);
    if (variant == values.end()) {
      options_.device->CopyAllFromHost(std::move(values), finish);
    } else {
      BringAll(std::move(values), 0, finish);
    }
    if (!copy->done.WaitForNotificationWithTimeout(kCopyTimeout)) {
      return DeadlineExceeded("Device ", options_.device->name(), " did not take ", moved_constants_.size(),
                              " constants within ", absl::FormatDuration(kCopyTimeout));
    }
    WEIR_RETURN_IF_ERROR(copy->result.status());
    for (size_t i = 0; i < moved_constants_.size(); ++i) {
      plan_->constants[moved_constants_[i]] = std::move((*copy->result)[i]);
    }
    return OkStatus();
  }

  Status DescribeEnd(const Node& node, PlanNode* planned, std::vector<DType>* types) {
    WEIR_ASSIGN_OR_RETURN(int64_t index, node.Attr<int64_t>("index"));
    WEIR_ASSIGN_OR_RETURN(DType dtype, node.Attr<DType>("T"));
    if (index < 0 || index > graph_.num_node_ids()) return InvalidArgument("Bad index ", index);
    planned->aux = static_cast<int32_t>(index);
    if (types->size() <= static_cast<size_t>(index)) types->resize(index + 1, DType::kInvalid);
    (*types)[index] = dtype;
    return OkStatus();
  }

  Status DescribeTransfer(const Node& node, PlanNode& planned) {
    TransferKey key;
    WEIR_ASSIGN_OR_RETURN(std::string tensor_name, node.Attr<std::string>("tensor_name"));
    WEIR_ASSIGN_OR_RETURN(std::string send_device, node.Attr<std::string>("send_device"));
    WEIR_ASSIGN_OR_RETURN(std::string recv_device, node.Attr<std::string>("recv_device"));
    WEIR_ASSIGN_OR_RETURN(int64_t incarnation, node.Attr<int64_t>("send_device_incarnation"));
    key.prefix = Cat(send_device, ";", absl::StrFormat("%016x", static_cast<uint64_t>(incarnation)), ";", recv_device,
                     ";", tensor_name, ";");
    WEIR_ASSIGN_OR_RETURN(key.client_terminated, node.Attr<bool>("client_terminated"));
    key.dtype = planned.kind == NodeKind::kSend ? node.input_type(0) : node.output_type(0);
    planned.aux = static_cast<int32_t>(plan_->transfers.size());
    plan_->transfers.push_back(std::move(key));
    return OkStatus();
  }

  // The frame of a node's outputs.
  int32_t OutputFrame(const PlanNode& node) const {
    if (node.kind == NodeKind::kEnter) return node.aux;
    if (node.kind == NodeKind::kExit) return plan_->frames[node.frame].parent;
    return node.frame;
  }

  Status AssignFrames() {
    plan_->frames.emplace_back();
    for (size_t i = 0; i < order_.size(); ++i) {
      const Node& node = NodeAt(i);
      PlanNode& planned = plan_->nodes[i];
      const Node* first = nullptr;
      auto consider = [&](NodeId producer) -> Status {
        if (position_[producer] >= static_cast<int32_t>(i)) return OkStatus();  // the back edge of a loop
        int32_t frame = OutputFrame(Planned(producer));
        if (first == nullptr) {
          first = graph_.node(producer);
          planned.frame = static_cast<int16_t>(frame);
        } else if (frame != planned.frame) {
          return InvalidArgument(Named(node), " has inputs from different frames. The input ", Named(*first),
                                 " is in frame '", plan_->frames[planned.frame].name, "'. The input ",
                                 Named(*graph_.node(producer)), " is in frame '", plan_->frames[frame].name, "'.");
        }
        return OkStatus();
      };
      for (const Endpoint& input : node.inputs) WEIR_RETURN_IF_ERROR(consider(input.node));
      for (NodeId producer : node.control_inputs) WEIR_RETURN_IF_ERROR(consider(producer));
      if (planned.kind == NodeKind::kEnter) WEIR_RETURN_IF_ERROR(At(AddEnter(node, planned), node));
      if ((planned.kind == NodeKind::kExit || planned.kind == NodeKind::kNextIteration) && planned.frame == 0) {
        return InvalidArgument(Named(node), " (", node.op(),
                               ") is not inside a loop: none of its inputs comes from an Enter");
      }
    }
    return OkStatus();
  }

  Status AddEnter(const Node& node, PlanNode& planned) {
    WEIR_ASSIGN_OR_RETURN(std::string name, node.Attr<std::string>("frame_name"));
    WEIR_ASSIGN_OR_RETURN(int64_t parallel, node.Attr<int64_t>("parallel_iterations"));
    WEIR_ASSIGN_OR_RETURN(planned.is_constant_enter, node.Attr<bool>("is_constant"));
    if (parallel < 1) return InvalidArgument("parallel_iterations must be positive, not ", parallel);
    auto [found, fresh] = frame_ids_.try_emplace({planned.frame, name}, static_cast<int32_t>(plan_->frames.size()));
    if (fresh) {
      if (plan_->frames.size() > std::numeric_limits<int16_t>::max()) return ResourceExhausted("Too many loops");
      StaticFrame frame;
      frame.name = name;
      frame.parent = planned.frame;
      frame.child_index = plan_->frames[planned.frame].num_children++;
      // More iterations in flight would only cost memory.
      frame.parallel_iterations = static_cast<int32_t>(std::min<int64_t>(parallel, 1 << 10));
      plan_->frames.push_back(std::move(frame));
    }
    planned.aux = found->second;
    ++plan_->frames[planned.aux].num_enters;
    return OkStatus();
  }

  // Finds constants and arguments that can be written to their consumers' slots before the step begins.
  void FindStatics() {
    is_static_.assign(plan_->nodes.size(), false);
    for (size_t i = 0; i < order_.size(); ++i) {
      const PlanNode& planned = plan_->nodes[i];
      bool candidate = planned.kind == NodeKind::kConst || (planned.kind == NodeKind::kArg && !options_.late_args);
      is_static_[i] = candidate && planned.frame == 0 && NodeAt(i).control_inputs.empty();
    }
    // A Merge takes whichever input arrives first, so its inputs have to arrive during the step.
    for (size_t i = 0; i < order_.size(); ++i) {
      if (plan_->nodes[i].kind != NodeKind::kMerge) continue;
      for (const Endpoint& input : NodeAt(i).inputs) is_static_[position_[input.node]] = false;
      for (NodeId input : NodeAt(i).control_inputs) is_static_[position_[input]] = false;
    }
  }

  bool IsStatic(NodeId id) const { return is_static_[position_[id]]; }

  void NumberSlots() {
    for (size_t i = 0; i < order_.size(); ++i) {
      PlanNode& planned = plan_->nodes[i];
      StaticFrame& frame = plan_->frames[planned.frame];
      planned.input_start = frame.num_slots;
      frame.num_slots += planned.num_inputs;
      planned.count = static_cast<int32_t>(frame.counts.size());
      uint64_t pending = 0;
      const Node& node = NodeAt(i);
      if (planned.kind != NodeKind::kMerge) {
        for (const Endpoint& input : node.inputs) pending += !IsStatic(input.node);
      }
      for (NodeId input : node.control_inputs) pending += !IsStatic(input);
      frame.counts.push_back(pending);
      planned.initial_count = static_cast<uint32_t>(pending);
      if (planned.kind == NodeKind::kMerge && planned.frame == 0) plan_->root_merges.push_back(planned.id);
    }
  }

  // Fills in the edges of all nodes and the values that are known before the step.
  void Connect() {
    std::vector<std::vector<PlanEdge>> edges(plan_->nodes.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      const Node& node = NodeAt(i);
      PlanNode& planned = plan_->nodes[i];
      bool to_merge = planned.kind == NodeKind::kMerge;
      bool sole = !to_merge && plan_->frames[planned.frame].counts[planned.count] == 1;
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const Endpoint& input = node.inputs[k];
        int32_t slot = planned.input_start + static_cast<int32_t>(k);
        const PlanNode& producer = Planned(input.node);
        if (!IsStatic(input.node)) {
          edges[producer.id].push_back({&planned, slot, static_cast<int16_t>(input.index), false, sole, to_merge});
        } else if (producer.kind == NodeKind::kConst) {
          planned.has_statics = true;
          plan_->statics.push_back({slot, Offer(planned, static_cast<int>(k), producer)});
        } else {
          plan_->arg_uses.push_back({producer.aux, slot});
        }
      }
      for (NodeId input : node.control_inputs) {
        if (!IsStatic(input)) edges[position_[input]].push_back({&planned, -1, -1, false, sole, to_merge});
      }
    }
    for (size_t i = 0; i < edges.size(); ++i) {
      PlanNode& planned = plan_->nodes[i];
      std::vector<bool> seen(planned.num_outputs, false);
      for (auto edge = edges[i].rbegin(); edge != edges[i].rend(); ++edge) {
        if (edge->slot < 0 || seen[edge->output]) continue;
        seen[edge->output] = true;
        edge->move = true;
      }
      planned.num_edges = static_cast<int32_t>(edges[i].size());
      plan_->edges.insert(plan_->edges.end(), edges[i].begin(), edges[i].end());
    }
    const PlanEdge* next = plan_->edges.data();
    for (PlanNode& planned : plan_->nodes) {
      planned.edges = next;
      next += planned.num_edges;
    }
  }

  // The tensor that goes into the consumer's slot: the constant, or a stand-in if the kernel keeps a packed copy of it.
  Tensor Offer(const PlanNode& consumer, int input, const PlanNode& constant) {
    const Tensor& value = plan_->constants[constant.aux];
    auto* taker = consumer.kind == NodeKind::kKernel ? dynamic_cast<ConstantTaker*>(consumer.kernel) : nullptr;
    if (taker == nullptr) return value;
    std::optional<TakenConstant> taken = taker->TakeConstant(input, value);
    if (!taken) return value;
    plan_->taken.push_back({plan_->infos[constant.id].name, *std::move(taken)});
    return plan_->taken.back().constant.absent;
  }

  // Drops constants that are in their consumers' slots: nothing else needs them.
  void DropStatics() {
    for (const PlanNode& planned : plan_->nodes) {
      if (planned.kind == NodeKind::kConst && is_static_[planned.id]) plan_->constants[planned.aux] = Tensor();
    }
  }

  void FindRoots() {
    for (const PlanNode& planned : plan_->nodes) {
      if (is_static_[planned.id] || planned.kind == NodeKind::kMerge || planned.frame != 0) continue;
      if (plan_->frames[0].counts[planned.count] == 0) plan_->roots.push_back(planned.id);
    }
  }

  bool Declines(const PlanNode& planned) const {
    const KernelNode& info = plan_->infos[planned.id];
    WEIR_LOG(DEBUG) << options_.device->name() << " runs a step node by node because of '" << info.name << "' ("
                    << info.schema->name << ")";
    return false;
  }

  // Whether the nodes do nothing but enqueue work on the device.
  bool IsRecordable() const {
    if (!options_.device->can_record() || plan_->has_loops() || !plan_->root_merges.empty()) return false;
    bool has_work = false;
    for (const PlanNode& planned : plan_->nodes) {
      if (planned.takes_refs) return false;
      // Objects may hold device memory that is not among the recording's outputs.
      if (std::ranges::count(planned.types->outputs, DType::kVariant) > 0) return Declines(planned);
      switch (planned.kind) {
        case NodeKind::kConst:
        case NodeKind::kNoOp:
        case NodeKind::kIdentity:
        case NodeKind::kSend:
        case NodeKind::kRecv:
          break;
        case NodeKind::kKernel: {
          const OpSchema& schema = *plan_->infos[planned.id].schema;
          if (schema.is_stateful && !schema.only_variables && !planned.kernel->is_repeatable()) {
            return Declines(planned);
          }
          has_work = true;
          break;
        }
        default:
          return Declines(planned);
      }
    }
    return has_work;
  }

  void PrepareRecordings() {
    StringMap<int32_t> recvs;
    for (const PlanNode& planned : plan_->nodes) {
      if (planned.kind == NodeKind::kRecv) recvs[plan_->transfers[planned.aux].prefix] = planned.id;
    }
    plan_->own_recvs.assign(plan_->transfers.size(), -1);
    std::vector<bool> is_own(plan_->nodes.size(), false);
    for (const PlanNode& planned : plan_->nodes) {
      if (planned.kind != NodeKind::kSend) continue;
      auto recv = recvs.find(plan_->transfers[planned.aux].prefix);
      if (recv == recvs.end()) continue;
      // The host would read a result of the device before the work is done.
      if (plan_->infos[planned.id].schema->name != "_HostSend") return (void)Declines(planned);
      plan_->own_recvs[planned.aux] = recv->second;
      is_own[recv->second] = true;
    }
    for (const PlanNode& planned : plan_->nodes) {
      if (planned.kind != NodeKind::kRecv || is_own[planned.id]) continue;
      if (planned.initial_count != 0) return (void)Declines(planned);  // waits for other nodes
      plan_->outer_recvs.push_back(planned.id);
    }
    plan_->recordings = std::make_unique<PlanRecordings>();
  }

  const Graph& graph_;
  KernelCache& kernels_;
  const PlanOptions& options_;
  std::shared_ptr<ExecutionPlan> plan_;
  std::vector<NodeId> order_;
  std::vector<int32_t> position_;         // by node id
  std::vector<bool> is_static_;           // by position
  std::vector<int32_t> moved_constants_;  // those that belong in the device's memory
  absl::flat_hash_map<const OpSchema*, NodeKind> kinds_;
  absl::flat_hash_map<std::pair<int32_t, std::string>, int32_t> frame_ids_;
};

}  // namespace

bool IsExecutorNative(const OpSchema& schema) { return KindOf(schema) != NodeKind::kKernel; }

StatusOr<std::shared_ptr<const ExecutionPlan>> CompilePlan(const Graph& graph, KernelCache& kernels,
                                                           const PlanOptions& options) {
  return Compiler(graph, kernels, options).Compile();
}

}  // namespace weir
