#include "weir/passes/partition.h"

#include <algorithm>
#include <map>

#include "weir/graph/loop_frames.h"
#include "weir/passes/prune.h"
#include "weir/passes/recv_schedule.h"
#include "weir/passes/reference_views.h"
#include "weir/passes/wait_analysis.h"

namespace weir {
namespace {

// Works on a copy of the graph:
// - Recolocate moves the control flow nodes of each loop variable to one partition.
// - AddControlLoops adds a control loop to each partition that receives tensors from inside a loop: Enter, Merge,
//   Switch and NextIteration, which are driven by the condition of the loop and so run the same number of iterations.
// - CopyNodes copies the nodes to their partitions, and Connect adds the edges. An edge that leads to another partition
//   or memory becomes a Send and a Recv. A Recv inside a loop has a control edge from the Merge of the control loop,
//   which puts it into the right frame and runs it once per iteration.
class Partitioner {
 public:
  Partitioner(const Graph& graph, const PartitionOptions& options) : graph_(graph.Clone()), options_(options) {}

  StatusOr<std::vector<Partition>> Run() {
    for (const auto& node : graph_.nodes()) {
      if (node && node->assigned_device.empty()) return Internal("Node '", node->name, "' has no device");
    }
    WEIR_ASSIGN_OR_RETURN(frames_, FindLoopFrames(graph_));
    Locate();
    if (frames_.any() && locations_.size() > 1) {
      Recolocate();
      WEIR_RETURN_IF_ERROR(AddControlLoops());
    }
    for (const std::string& location : locations_) {
      parts_.push_back({location, Graph(graph_.ops(), graph_.functions())});
      parts_.back().graph.versions() = graph_.versions();
    }
    WEIR_RETURN_IF_ERROR(CopyNodes());
    WEIR_RETURN_IF_ERROR(Connect());
    std::erase_if(parts_, [](const Partition& part) { return part.graph.num_nodes() == 0; });
    return std::move(parts_);
  }

 private:
  int LocationOf(const Node& node) {
    std::string location = options_.location ? options_.location(node) : node.assigned_device;
    auto [it, fresh] = index_of_location_.try_emplace(location, static_cast<int>(locations_.size()));
    if (fresh) locations_.push_back(std::move(location));
    return it->second;
  }

  void Locate() {
    part_of_.assign(graph_.num_node_ids(), -1);
    for (const auto& node : graph_.nodes()) {
      if (node) part_of_[node->id] = LocationOf(*node);
    }
  }

  void MoveTo(Node& node, const Node& other) {
    node.assigned_device = other.assigned_device;
    part_of_[node.id] = part_of_[other.id];
  }

  // The control flow nodes of a loop variable stay together: NextIteration is in the partition of its Merge.
  void Recolocate() {
    Consumers consumers(graph_);
    for (const auto& node : graph_.nodes()) {
      if (!node || !(IsNextIteration(*node) || (IsEnter(*node) && !IsRef(node->output_type(0))))) continue;
      for (const Consumers::Use& use : consumers.of(node->id)) {
        if (use.input < 0) continue;
        MoveTo(*node, *graph_.node(use.consumer));
        break;
      }
    }
    for (const auto& node : graph_.nodes()) {
      bool in_loop = node && frames_.of_node[node->id] != 0;
      if (in_loop && IsSwitch(*node)) MoveTo(*node, *graph_.node(node->inputs[0].node));
    }
    for (const auto& node : graph_.nodes()) {
      if (node && IsExit(*node)) MoveTo(*node, *graph_.node(node->inputs[0].node));
    }
  }

  Status AddControlLoops() {
    std::vector<std::pair<int, const Node*>> wanted;  // frame and consumer
    for (const auto& node : graph_.nodes()) {
      if (!node) continue;
      auto look = [&](NodeId producer) {
        if (part_of_[producer] != part_of_[node->id] && frames_.of_node[producer] != 0) {
          wanted.emplace_back(frames_.of_node[producer], node.get());
        }
      };
      for (Endpoint input : node->inputs) look(input.node);
      for (NodeId input : node->control_inputs) look(input);
    }
    for (const auto& [frame, consumer] : wanted) {
      WEIR_RETURN_IF_ERROR(ControlLoop(frame, part_of_[consumer->id], consumer->assigned_device).status());
    }
    return OkStatus();
  }

  // The Merge of the control loop for a frame in a partition, which runs at the start of each iteration. Adds the loop,
  // and those for the frames around it, on the first call.
  StatusOr<NodeId> ControlLoop(int frame, int part, const std::string& device) {
    auto known = loop_merge_.find({frame, part});
    if (known != loop_merge_.end()) return known->second;
    const LoopFrame info = frames_.frames[frame];
    if (info.loop_cond == kNoNode) {
      return InvalidArgument("A cross-device loop must have a pivot predicate: ", info.name);
    }
    Endpoint start;
    if (info.parent == 0) {
      WEIR_ASSIGN_OR_RETURN(Node * constant, AddConst(Cat("k_", info.name, "_start"), device));
      start = {constant->id, 0};
    } else {
      WEIR_ASSIGN_OR_RETURN(NodeId outer, ControlLoop(info.parent, part, device));
      start = {outer, 0};
    }
    auto add = [&](std::string name, std::string op, std::vector<Endpoint> inputs, int node_frame) -> StatusOr<Node*> {
      Graph::NodeSpec spec;
      spec.name = graph_.UniqueName(name);
      spec.op = std::move(op);
      spec.attrs.Set("T", DType::kFloat);
      if (spec.op == "Enter") {
        spec.attrs.Set("frame_name", info.name);
        spec.attrs.Set("parallel_iterations", info.parallel_iterations);
      }
      if (spec.op == "Merge") spec.attrs.Set("N", 2);
      spec.inputs = std::move(inputs);
      WEIR_ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
      return Note(node, device, part, node_frame);
    };
    WEIR_ASSIGN_OR_RETURN(Node * enter, add(Cat("k_", info.name, "_enter"), "Enter", {start}, frame));
    NodeId enter_id = enter->id;
    WEIR_ASSIGN_OR_RETURN(Node * merge,
                          add(Cat("k_", info.name, "_merge"), "Merge", {{enter_id, 0}, {enter_id, 0}}, frame));
    NodeId merge_id = merge->id;
    WEIR_ASSIGN_OR_RETURN(Node * turn,
                          add(Cat("k_", info.name, "_switch"), "Switch", {{merge_id, 0}, {info.loop_cond, 0}}, frame));
    NodeId turn_id = turn->id;
    WEIR_ASSIGN_OR_RETURN(Node * next, add(Cat("k_", info.name, "_next"), "NextIteration", {{turn_id, 1}}, frame));
    graph_.node(merge_id)->inputs[1] = {next->id, 0};
    loop_merge_[{frame, part}] = merge_id;
    return merge_id;
  }

  Node* Note(Node* node, const std::string& device, int part, int frame) {
    node->assigned_device = device;
    part_of_.resize(graph_.num_node_ids(), -1);
    frames_.of_node.resize(graph_.num_node_ids(), 0);
    part_of_[node->id] = part;
    frames_.of_node[node->id] = frame;
    return node;
  }

  StatusOr<Node*> AddConst(std::string name, const std::string& device) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(name);
    WEIR_ASSIGN_OR_RETURN(spec.attrs, EmptyConst());
    spec.op = "Const";
    WEIR_ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
    node->assigned_device = device;
    return Note(node, device, LocationOf(*node), 0);
  }

  static StatusOr<AttrMap> EmptyConst() {
    AttrMap attrs;
    WEIR_ASSIGN_OR_RETURN(Tensor empty, Tensor::Zeros(DType::kFloat, Shape({0})));
    attrs.Set("dtype", DType::kFloat);
    attrs.Set("value", std::move(empty));
    return attrs;
  }

  Status CopyNodes() {
    new_id_.assign(graph_.num_node_ids(), kNoNode);
    for (const auto& node : graph_.nodes()) {
      if (!node) continue;
      Node copy = *node;
      copy.inputs.clear();
      copy.control_inputs.clear();
      WEIR_ASSIGN_OR_RETURN(Node * added, parts_[part_of_[node->id]].graph.AddUnchecked(std::move(copy)));
      new_id_[node->id] = added->id;
    }
    return OkStatus();
  }

  Status Connect() {
    for (const auto& node : graph_.nodes()) {
      if (!node) continue;
      int part = part_of_[node->id];
      Graph& graph = parts_[part].graph;
      NodeId id = new_id_[node->id];
      graph.node(id)->inputs.reserve(node->inputs.size());
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        Endpoint input = node->inputs[i];
        Endpoint local{new_id_[input.node], input.index};
        MemoryType memory = InputMemory(*node, static_cast<int>(i));
        if (part_of_[input.node] != part || OutputMemory(input) != memory) {
          if (IsRef(node->input_type(static_cast<int>(i)))) {
            return InvalidArgument("Input ", i, " of node ", node->name, " is a reference to ",
                                   graph_.TensorName(input), " on another device");
          }
          WEIR_ASSIGN_OR_RETURN(local.node, Receive(input, part, *node, memory, ReadTime(input, *node)));
          local.index = 0;
        }
        graph.node(id)->inputs.push_back(local);
      }
      for (NodeId input : node->control_inputs) {
        NodeId local = new_id_[input];
        if (part_of_[input] != part) {
          WEIR_ASSIGN_OR_RETURN(local, Receive({input, -1}, part, *node, MemoryType::kDevice));
        }
        graph.node(id)->control_inputs.push_back(local);
      }
    }
    return OkStatus();
  }

  MemoryType InputMemory(const Node& node, int index) const {
    return options_.input_memory ? options_.input_memory(node, index) : MemoryType::kDevice;
  }
  MemoryType OutputMemory(Endpoint tensor) const {
    bool known = options_.output_memory && tensor.index >= 0;
    return known ? options_.output_memory(*graph_.node(tensor.node), tensor.index) : MemoryType::kDevice;
  }

  static StatusOr<Endpoint> AddCast(Graph& graph, const std::string& name, Endpoint value, DType from, DType to,
                                    const std::string& device, std::vector<NodeId> control_inputs) {
    Graph::NodeSpec spec{.name = graph.UniqueName(name), .op = "Cast"};
    spec.attrs.Set("SrcT", from);
    spec.attrs.Set("DstT", to);
    spec.inputs = {value};
    spec.control_inputs = std::move(control_inputs);
    WEIR_ASSIGN_OR_RETURN(Node * cast, graph.AddNode(std::move(spec)));
    cast->assigned_device = device;
    return Endpoint{cast->id, 0};
  }

  // The control input of a Recv, in the Recv's partition; kNoNode if there is none.
  NodeId RecvAfter(Endpoint tensor, int part, const Node& consumer) const {
    const NodeId after = options_.recvs != nullptr ? options_.recvs->Find(tensor, consumer.assigned_device) : kNoNode;
    return after != kNoNode && part_of_[after] == part ? after : kNoNode;
  }

  // When a tensor is sent.
  enum class Moment {
    kReady,          // as soon as it is available
    kAfterControls,  // after the control inputs of the consumer, and only to it
    kEnd,            // at the end of the sender's part of the step, and only to this consumer
  };
  // A variable is read when the consumer may run, not when the reference becomes available, because other nodes may
  // write to it in between. A fetch returns the value at the end of the step.
  Moment ReadTime(Endpoint tensor, const Node& consumer) const {
    if (ReferenceBehind(graph_, tensor) == kNoNode) return Moment::kReady;
    if (consumer.op() == "_Retval") return options_.fetch_references_last ? Moment::kEnd : Moment::kReady;
    return consumer.control_inputs.empty() ? Moment::kReady : Moment::kAfterControls;
  }

  // The transfer of a tensor (or of a control dependency, if the index is -1) to another partition or memory.
  struct Transfer {
    Endpoint tensor;
    const Node& producer;
    const Node& consumer;
    int part;  // the consumer's
    MemoryType memory;
    Moment moment;
    bool is_control() const { return tensor.index < 0; }
    DType type = DType::kFloat;       // of the tensor
    DType sent_type = DType::kFloat;  // of the transferred tensor
    AttrMap attrs;                    // for both ends
  };

  Transfer Describe(Endpoint tensor, int part, const Node& consumer, MemoryType memory, Moment moment) {
    const Node& producer = *graph_.node(tensor.node);
    Transfer out{tensor, producer, consumer, part, memory, moment};
    if (!out.is_control()) out.type = BaseType(graph_.type(tensor));
    // A cast would read the value before the end.
    const bool lossy = !out.is_control() && moment != Moment::kEnd && out.type == DType::kFloat && options_.lossy &&
                       options_.lossy(producer.assigned_device, consumer.assigned_device);
    out.sent_type = lossy ? DType::kBFloat16 : out.type;
    out.attrs.Set("tensor_name", Cat("edge_", num_edges_++, "_", producer.name));
    out.attrs.Set("send_device", producer.assigned_device);
    uint64_t incarnation = options_.incarnation ? options_.incarnation(producer.assigned_device) : 1;
    out.attrs.Set("send_device_incarnation", static_cast<int64_t>(incarnation));
    out.attrs.Set("recv_device", consumer.assigned_device);
    out.attrs.Set("client_terminated", moment == Moment::kEnd);
    out.attrs.Set("_src", producer.name);
    out.attrs.Set("_dst", consumer.name);
    return out;
  }

  // The node of `part` that provides the tensor in `memory`; if the index is -1, a node that runs after the producer.
  // The first call adds the Send and the Recv; later consumers share them.
  StatusOr<NodeId> Receive(Endpoint tensor, int part, const Node& consumer, MemoryType memory,
                           Moment moment = Moment::kReady) {
    auto known = received_.find({tensor.node, tensor.index, part, memory});
    const bool shared = moment == Moment::kReady;
    if (shared && known != received_.end()) return known->second;
    const Transfer transfer = Describe(tensor, part, consumer, memory, moment);
    WEIR_ASSIGN_OR_RETURN(NodeId sender, AddSend(transfer));
    WEIR_ASSIGN_OR_RETURN(NodeId result, AddRecv(transfer, sender));
    if (shared) received_[{tensor.node, tensor.index, part, memory}] = result;
    return result;
  }

  // A constant that becomes available when a node has run.
  StatusOr<Endpoint> AfterNode(const Node& producer, Graph& graph) {
    Graph::NodeSpec spec;
    spec.name = graph.UniqueName(Cat(producer.name, "/ctrl"));
    spec.op = "Const";
    WEIR_ASSIGN_OR_RETURN(spec.attrs, EmptyConst());
    spec.control_inputs = {new_id_[producer.id]};
    WEIR_ASSIGN_OR_RETURN(Node * constant, graph.AddNode(std::move(spec)));
    constant->assigned_device = producer.assigned_device;
    return Endpoint{constant->id, 0};
  }

  // Nodes of the producer's partition that run after the control inputs of the consumer.
  StatusOr<std::vector<NodeId>> ControlsOfConsumer(const Transfer& transfer) {
    const int part = part_of_[transfer.producer.id];
    std::vector<NodeId> out;
    for (NodeId input : transfer.consumer.control_inputs) {
      NodeId before = new_id_[input];
      if (part_of_[input] != part) {
        WEIR_ASSIGN_OR_RETURN(before, Receive({input, -1}, part, transfer.producer, MemoryType::kDevice));
      }
      out.push_back(before);
    }
    return out;
  }

  StatusOr<NodeId> AddSend(const Transfer& transfer) {
    const Node& producer = transfer.producer;
    Graph& graph = parts_[part_of_[producer.id]].graph;
    Endpoint value{new_id_[producer.id], transfer.tensor.index};
    if (transfer.is_control()) {
      WEIR_ASSIGN_OR_RETURN(value, AfterNode(producer, graph));
    }
    std::vector<NodeId> read_after;
    if (transfer.moment == Moment::kAfterControls) {
      WEIR_ASSIGN_OR_RETURN(read_after, ControlsOfConsumer(transfer));
    }
    if (transfer.sent_type != transfer.type) {
      WEIR_ASSIGN_OR_RETURN(value, AddCast(graph, Cat(producer.name, "/_SC"), value, transfer.type, transfer.sent_type,
                                           producer.assigned_device, read_after));
      read_after.clear();
    }
    const char* op = OutputMemory(transfer.tensor) == MemoryType::kHost ? "_HostSend" : "_Send";
    Graph::NodeSpec send{.name = graph.UniqueName(Cat(producer.name, "/_S")), .op = op, .attrs = transfer.attrs};
    send.attrs.Set("T", transfer.sent_type);
    send.inputs = {value};
    send.control_inputs = std::move(read_after);
    WEIR_ASSIGN_OR_RETURN(Node * sender, graph.AddNode(std::move(send)));
    sender->assigned_device = producer.assigned_device;
    return sender->id;
  }

  // The control inputs of a Recv.
  std::vector<NodeId> RecvControls(const Transfer& transfer, NodeId sender) const {
    // A copy within the partition must run in the frame of the value, after it.
    if (part_of_[transfer.producer.id] == transfer.part) return {sender};
    auto loop = loop_merge_.find({frames_.of_node[transfer.producer.id], transfer.part});
    if (loop != loop_merge_.end()) return {new_id_[loop->second]};
    const NodeId after = RecvAfter(transfer.tensor, transfer.part, transfer.consumer);
    return after != kNoNode ? std::vector<NodeId>{new_id_[after]} : std::vector<NodeId>();
  }

  // The Recv, or the node after it that restores the tensor (a Cast) or the control edge (an Identity).
  StatusOr<NodeId> AddRecv(const Transfer& transfer, NodeId sender) {
    const std::string& name = transfer.producer.name;
    const std::string& device = transfer.consumer.assigned_device;
    Graph& graph = parts_[transfer.part].graph;
    const char* op = transfer.memory == MemoryType::kHost ? "_HostRecv" : "_Recv";
    Graph::NodeSpec recv{.name = graph.UniqueName(Cat(name, "/_R")), .op = op, .attrs = transfer.attrs};
    recv.attrs.Set("tensor_type", transfer.sent_type);
    if (!transfer.is_control() && options_.shape) {
      recv.attrs.Set(kDeclaredShapes, AttrList{.shape = {options_.shape(transfer.tensor)}});
    }
    if (options_.may_be_dead && !options_.may_be_dead(transfer.producer.id)) recv.attrs.Set(kNeverDead, true);
    recv.control_inputs = RecvControls(transfer, sender);
    WEIR_ASSIGN_OR_RETURN(Node * receiver, graph.AddNode(std::move(recv)));
    receiver->assigned_device = device;
    if (transfer.is_control()) {
      Graph::NodeSpec identity{.name = graph.UniqueName(Cat(name, "/_RC")), .op = "Identity"};
      identity.attrs.Set("T", DType::kFloat);
      identity.inputs = {{receiver->id, 0}};
      WEIR_ASSIGN_OR_RETURN(Node * after, graph.AddNode(std::move(identity)));
      after->assigned_device = device;
      return after->id;
    }
    if (transfer.sent_type == transfer.type) return receiver->id;
    WEIR_ASSIGN_OR_RETURN(Endpoint whole, AddCast(graph, Cat(name, "/_RC"), {receiver->id, 0}, transfer.sent_type,
                                                  transfer.type, device, {}));
    return whole.node;
  }

  Graph graph_;  // with the control loops
  const PartitionOptions& options_;
  LoopFrames frames_;
  std::vector<std::string> locations_;
  StringMap<int> index_of_location_;
  std::vector<int> part_of_;  // by node id
  std::vector<NodeId> new_id_;
  std::vector<Partition> parts_;
  std::map<std::pair<int, int>, NodeId> loop_merge_;  // by frame and partition
  std::map<std::tuple<NodeId, int, int, MemoryType>, NodeId> received_;
  int64_t num_edges_ = 0;
};

}  // namespace

StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const PartitionOptions& options) {
  return Partitioner(graph, options).Run();
}

}  // namespace weir
