#include "weir/autodiff/call_gradient.h"
#include "weir/autodiff/emit.h"

namespace weir {
namespace {

StatusOr<NodeId> AddEnd(FunctionBody& body, std::string_view op, std::string_view name, DType type, size_t index,
                        std::vector<Endpoint> inputs) {
  Graph::NodeSpec spec{.name = body.graph.UniqueName(name), .op = std::string(op)};
  spec.attrs.Set("T", BaseType(type));
  spec.attrs.Set("index", static_cast<int64_t>(index));
  spec.inputs = std::move(inputs);
  WEIR_ASSIGN_OR_RETURN(Node * node, body.graph.AddNode(std::move(spec)));
  return node->id;
}

}  // namespace

StatusOr<NodeId> AddArgument(FunctionBody& body, std::string_view name, DType type) {
  WEIR_ASSIGN_OR_RETURN(NodeId id, AddEnd(body, "_Arg", name, type, body.args.size(), {}));
  body.args.push_back(id);
  body.types.inputs.push_back(BaseType(type));
  return id;
}

Status AddResult(FunctionBody& body, Endpoint value) {
  const DType type = BaseType(body.graph.type(value));
  WEIR_ASSIGN_OR_RETURN(NodeId id, AddEnd(body, "_Retval", "result", type, body.rets.size(), {value}));
  body.rets.push_back(id);
  body.types.outputs.push_back(type);
  return OkStatus();
}

Attribute TypesAttr(const std::vector<DType>& types) {
  AttrList list;
  for (DType type : types) list.type.push_back(BaseType(type));
  return Attribute(std::move(list));
}

StatusOr<Value> FunctionBackward::Import(Value foreign) {
  if (&foreign.emitter() != &forward_) return Internal("A backward function cannot use a value of another graph");
  const Endpoint tensor{foreign.node(), foreign.index()};
  const Node& node = *forward_.graph().node(tensor.node);
  if (IsConstant(node)) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, node.Attr<Tensor>("value"));
    return Constant(std::move(value));
  }
  Graph::NodeSpec spec{.name = graph().UniqueName(Cat("forward_", captures_.size())), .op = "_Arg"};
  spec.attrs.Set("T", foreign.dtype());
  spec.attrs.Set("index", 0);  // set once the order of the arguments is known
  AttrList shapes;
  shapes.shape.push_back(foreign.shape());
  spec.attrs.Set("_output_shapes", Attribute(std::move(shapes)));
  WEIR_ASSIGN_OR_RETURN(Node * arg, graph().AddNode(std::move(spec)));
  captures_.push_back({tensor, arg->id});
  return At({arg->id, 0});
}

DifferentiatedBody::DifferentiatedBody(std::unique_ptr<FunctionBody> body)
    : forward_(std::move(body)), backward_(Graph(forward_->graph.ops(), forward_->graph.functions())) {
  backward_.graph.versions().producer = kGraphDefVersion;
  forward_shapes_ = std::make_unique<GraphShapes>(forward_->graph);
  backward_shapes_ = std::make_unique<GraphShapes>(backward_.graph);
  forward_emitter_ = std::make_unique<GraphEmitter>(forward_->graph, *forward_shapes_);
  forward_emitter_->set_scope("saved");
  emitter_ = std::make_unique<FunctionBackward>(backward_.graph, *backward_shapes_, *forward_emitter_);
}

StatusOr<std::unique_ptr<DifferentiatedBody>> DifferentiatedBody::Make(const SweepSettings& settings,
                                                                       std::unique_ptr<FunctionBody> body,
                                                                       const std::vector<DType>& flows,
                                                                       const std::vector<bool>& wanted) {
  std::unique_ptr<DifferentiatedBody> out(new DifferentiatedBody(std::move(body)));
  Graph& graph = out->forward_->graph;
  WEIR_ASSIGN_OR_RETURN(LoopFrames frames, FindLoopFrames(graph));
  WEIR_ASSIGN_OR_RETURN(Region region, Region::Make(graph, frames, 0));
  SweepSettings inner = settings;
  inner.colocate = false;  // forward and backward nodes are in different functions
  Sweep sweep(inner, frames, region, *out->forward_emitter_, *out->emitter_);
  for (size_t i = 0; i < flows.size(); ++i) {
    if (flows[i] == DType::kInvalid) continue;
    WEIR_ASSIGN_OR_RETURN(NodeId arg, AddArgument(out->backward_, "flow", flows[i]));
    out->flow_args_.push_back(arg);
    sweep.Seed(graph.node(out->forward_->rets[i])->inputs[0], out->emitter_->At({arg, 0}));
  }
  std::vector<Endpoint> xs;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) xs.push_back({out->forward_->args[i], 0});
  }
  WEIR_RETURN_IF_ERROR(sweep.Run(xs));
  for (size_t i = 0; i < wanted.size(); ++i) {
    out->gradients_.push_back(wanted[i] ? emit::Densify(sweep.Total({out->forward_->args[i], 0})) : Value());
  }
  WEIR_RETURN_IF_ERROR(out->emitter_->status());
  WEIR_RETURN_IF_ERROR(out->forward_emitter_->status());
  return out;
}

int DifferentiatedBody::ArgumentOf(Endpoint tensor) const {
  for (size_t i = 0; i < forward_->args.size(); ++i) {
    if (forward_->args[i] == tensor.node) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace weir
