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

  // The machinery of a loop stays together: a value turns around where its Merge is.
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
    std::vector<std::pair<int, const Node*>> wanted;  // frame, a consumer there
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

  // The Merge that starts each iteration of a frame in a partition.
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

  // What the Recv of a tensor waits for, in its own partition; kNoNode: nothing.
  NodeId RecvAfter(Endpoint tensor, int part, const Node& consumer) const {
    const NodeId after = options_.recvs != nullptr ? options_.recvs->Find(tensor, consumer.assigned_device) : kNoNode;
    return after != kNoNode && part_of_[after] == part ? after : kNoNode;
  }

  // When a tensor is sent.
  enum class Moment {
    kReady,          // as soon as it is there
    kAfterControls,  // after the control inputs of the consumer, to it alone
    kEnd,            // when the sender's part of the step has ended, to this consumer alone
  };
  // A variable's memory is looked at when the consumer may run, not when the reference is there: others may write in
  // between. A fetch shows it as the step leaves it.
  Moment ReadTime(Endpoint tensor, const Node& consumer) const {
    if (ReferenceBehind(graph_, tensor) == kNoNode) return Moment::kReady;
    if (consumer.op() == "_Retval") return options_.fetch_references_last ? Moment::kEnd : Moment::kReady;
    return consumer.control_inputs.empty() ? Moment::kReady : Moment::kAfterControls;
  }

  // The node of `part` that has the tensor in `memory`, or for index -1 runs after the node; sends it if nobody asked
  // before.
  StatusOr<NodeId> Receive(Endpoint tensor, int part, const Node& consumer, MemoryType memory,
                           Moment moment = Moment::kReady) {
    auto known = received_.find({tensor.node, tensor.index, part, memory});
    const bool shared = moment == Moment::kReady;
    if (shared && known != received_.end()) return known->second;
    const Node& producer = *graph_.node(tensor.node);
    const std::string name = Cat("edge_", num_edges_++, "_", producer.name);
    const bool is_control = tensor.index < 0;
    const DType type = is_control ? DType::kFloat : BaseType(graph_.type(tensor));

    Graph& from = parts_[part_of_[producer.id]].graph;
    Endpoint value{new_id_[producer.id], tensor.index};
    if (is_control) {
      Graph::NodeSpec spec;
      spec.name = from.UniqueName(Cat(producer.name, "/ctrl"));
      spec.op = "Const";
      WEIR_ASSIGN_OR_RETURN(spec.attrs, EmptyConst());
      spec.control_inputs = {new_id_[producer.id]};
      WEIR_ASSIGN_OR_RETURN(Node * constant, from.AddNode(std::move(spec)));
      constant->assigned_device = producer.assigned_device;
      value = {constant->id, 0};
    }
    AttrMap attrs;
    attrs.Set("tensor_name", name);
    attrs.Set("send_device", producer.assigned_device);
    uint64_t incarnation = options_.incarnation ? options_.incarnation(producer.assigned_device) : 1;
    attrs.Set("send_device_incarnation", static_cast<int64_t>(incarnation));
    attrs.Set("recv_device", consumer.assigned_device);
    attrs.Set("client_terminated", moment == Moment::kEnd);
    attrs.Set("_src", producer.name);
    attrs.Set("_dst", consumer.name);

    std::vector<NodeId> read_after;
    if (moment == Moment::kAfterControls) {
      for (NodeId input : consumer.control_inputs) {
        NodeId before = new_id_[input];
        if (part_of_[input] != part_of_[producer.id]) {
          WEIR_ASSIGN_OR_RETURN(before, Receive({input, -1}, part_of_[producer.id], producer, MemoryType::kDevice));
        }
        read_after.push_back(before);
      }
    }
    // What is read at the end must not be cast before it.
    const bool lossy = !is_control && moment != Moment::kEnd && type == DType::kFloat && options_.lossy &&
                       options_.lossy(producer.assigned_device, consumer.assigned_device);
    const DType sent_type = lossy ? DType::kBFloat16 : type;
    if (lossy) {
      WEIR_ASSIGN_OR_RETURN(value, AddCast(from, Cat(producer.name, "/_SC"), value, type, sent_type,
                                           producer.assigned_device, read_after));
      read_after.clear();
    }
    const char* send_op = OutputMemory(tensor) == MemoryType::kHost ? "_HostSend" : "_Send";
    Graph::NodeSpec send{.name = from.UniqueName(Cat(producer.name, "/_S")), .op = send_op, .attrs = attrs};
    send.attrs.Set("T", sent_type);
    send.inputs = {value};
    send.control_inputs = std::move(read_after);
    WEIR_ASSIGN_OR_RETURN(Node * sender, from.AddNode(std::move(send)));
    sender->assigned_device = producer.assigned_device;

    Graph& to = parts_[part].graph;
    const char* recv_op = memory == MemoryType::kHost ? "_HostRecv" : "_Recv";
    Graph::NodeSpec recv{.name = to.UniqueName(Cat(producer.name, "/_R")), .op = recv_op, .attrs = std::move(attrs)};
    recv.attrs.Set("tensor_type", sent_type);
    if (!is_control && options_.shape) recv.attrs.Set(kDeclaredShapes, AttrList{.shape = {options_.shape(tensor)}});
    if (options_.may_be_dead && !options_.may_be_dead(producer.id)) recv.attrs.Set(kNeverDead, true);
    auto loop = loop_merge_.find({frames_.of_node[producer.id], part});
    if (part_of_[producer.id] == part) {
      recv.control_inputs = {sender->id};  // a copy within the partition: in the same frame, after the value
    } else if (loop != loop_merge_.end()) {
      recv.control_inputs = {new_id_[loop->second]};
    } else if (const NodeId after = RecvAfter(tensor, part, consumer); after != kNoNode) {
      recv.control_inputs = {new_id_[after]};
    }
    WEIR_ASSIGN_OR_RETURN(Node * receiver, to.AddNode(std::move(recv)));
    receiver->assigned_device = consumer.assigned_device;
    NodeId result = receiver->id;
    if (is_control) {
      Graph::NodeSpec identity{.name = to.UniqueName(Cat(producer.name, "/_RC")), .op = "Identity"};
      identity.attrs.Set("T", DType::kFloat);
      identity.inputs = {{result, 0}};
      WEIR_ASSIGN_OR_RETURN(Node * after, to.AddNode(std::move(identity)));
      after->assigned_device = consumer.assigned_device;
      result = after->id;
    } else if (lossy) {
      WEIR_ASSIGN_OR_RETURN(Endpoint whole, AddCast(to, Cat(producer.name, "/_RC"), {result, 0}, sent_type, type,
                                                    consumer.assigned_device, {}));
      result = whole.node;
    }
    if (shared) received_[{tensor.node, tensor.index, part, memory}] = result;
    return result;
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
