#include "tests/op_fuzz/run_case.h"

#include "tests/op_fuzz/makers.h"
#include "weir/client/gradients.h"
#include "weir/graph/import.h"
#include "weir/graph/shape_inference.h"
#include "weir/runtime/session.h"

namespace weir::op_fuzz {
namespace {

struct BuiltCase {
  explicit BuiltCase(Graph g) : graph(std::move(g)) {}
  Graph graph;
  NodeId op = kNoNode;
  std::vector<Endpoint> inputs;
  std::vector<Feed> feeds;
  std::vector<std::string> fetches;  // the outputs that can be fetched
  std::vector<int> fetched;          // their indices
  std::vector<Endpoint> gradients;   // of inputs, dense ones
  std::vector<int> differentiated;   // the inputs they belong to
};

bool CanBeFetched(DType dtype) {
  return dtype != DType::kResource && dtype != DType::kVariant && SizeOf(BaseType(dtype)) > 0;
}

StatusOr<Endpoint> AddInput(BuiltCase& built, const OpCase& node, const CaseInput& input, Chance& chance,
                            std::vector<NodeId>& before) {
  if (input.maker >= 0) return Make(input.maker, {built.graph, node.attrs, input.value, input.filled, before});
  const bool is_plain = IsPlain(input.dtype) || input.dtype == DType::kString;
  if (node.sight == Sight::kConstant && is_plain) return AddConstant(built.graph, input.value);
  Graph::NodeSpec spec;
  spec.op = "Placeholder";
  spec.name = Cat("in_", built.inputs.size());
  spec.attrs.Set("dtype", Attribute(input.dtype));
  spec.attrs.Set("shape", Attribute(node.sight == Sight::kUnknownShape ? PartialShape::Unknown()
                                                                       : Blurred(input.value.shape(), chance)));
  built.feeds.emplace_back(Cat(spec.name, ":0"), input.value);
  WEIR_ASSIGN_OR_RETURN(Node * made, built.graph.AddNode(std::move(spec)));
  return Endpoint{made->id, 0};
}

Status Build(const OpCase& node, BuiltCase& built) {
  Chance chance(node.seed);
  Graph::NodeSpec spec;
  std::vector<NodeId> before;
  for (const CaseInput& input : node.inputs) {
    if (!input.value.has_value()) return InvalidArgument("no value of such a type");
    WEIR_ASSIGN_OR_RETURN(Endpoint made, AddInput(built, node, input, chance, before));
    built.inputs.push_back(made);
  }
  spec.name = "op";
  spec.op = node.schema->name;
  spec.attrs = node.attrs;
  spec.inputs = built.inputs;
  spec.control_inputs = before;
  WEIR_ASSIGN_OR_RETURN(Node * op, built.graph.AddNode(std::move(spec)));
  built.op = op->id;
  for (int i = 0; i < op->num_outputs(); ++i) {
    if (!CanBeFetched(op->output_type(i))) continue;
    built.fetches.push_back(Cat("op:", i));
    built.fetched.push_back(i);
  }
  return OkStatus();
}

bool IsDifferentiable(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf || dtype == DType::kBFloat16 ||
         IsComplex(dtype);
}

// What cannot be differentiated says so; that is a result like any other.
void Differentiate(const OpCase& node, BuiltCase& built) {
  std::vector<Endpoint> ys, xs;
  std::vector<int> inputs;
  const Node& op = *built.graph.node(built.op);
  for (int i = 0; i < op.num_outputs(); ++i) {
    if (IsDifferentiable(op.output_type(i))) ys.push_back({op.id, i});
  }
  for (size_t i = 0; i < built.inputs.size(); ++i) {
    if (node.inputs[i].maker >= 0 || !IsDifferentiable(node.inputs[i].dtype)) continue;
    xs.push_back(built.inputs[i]);
    inputs.push_back(static_cast<int>(i));
  }
  if (ys.empty() || xs.empty()) return;
  auto gradients = AddGradients(built.graph, ys, xs);
  if (!gradients.ok()) return;
  for (size_t i = 0; i < xs.size(); ++i) {
    if ((*gradients)[i].is_none() || (*gradients)[i].is_sparse()) continue;
    built.gradients.push_back((*gradients)[i].dense);
    built.differentiated.push_back(inputs[i]);
  }
}

// Where TensorFlow's shape functions state what its kernels do not check: a declared shape, the scalar that a flow is.
bool StatesMoreThanItChecks(const OpCase& node) {
  const OpSchema& schema = *node.schema;
  for (const CaseInput& input : node.inputs) {
    if (input.maker >= 0 && MakerName(input.maker) == "an array") return true;  // whose handle is called a vector
  }
  return schema.FindAttr("output_shapes") != nullptr || schema.FindInput("flow_in") >= 0 ||
         schema.FindInput("element_shape") >= 0 || schema.name == "LoopCond" ||
         schema.name == "PlaceholderWithDefault" || schema.name == "TensorListElementShape";
}

// These take operands of other shapes with as many elements; their gradients are for equal ones.
bool ComparesElementCounts(std::string_view op) {
  for (std::string_view each : {"SigmoidGrad", "TanhGrad", "ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad"}) {
    if (op == each) return true;
  }
  // A vector of one element does for Fill's scalar, a scalar for an update; transforms of another length than the
  // input's have no gradient.
  return op == "Fill" || op == "TensorStridedSliceUpdate" || op.find("RFFT") != op.npos;
}

// Shape functions may know less than the kernel, never something else.
std::string CompareShapes(const BuiltCase& built, const InferredShapes& shapes, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PartialShape& inferred = shapes.of({built.op, built.fetched[i]}).shape;
    if (!outputs[i].has_value() || inferred.IsCompatibleWith(outputs[i].shape())) continue;
    return Cat("output ", built.fetched[i], " has shape ", outputs[i].shape().ToString(), ", inferred was ",
               inferred.ToString());
  }
  return "";
}

std::string CompareTypes(const BuiltCase& built, const std::vector<DType>& types, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DType wanted = BaseType(types[static_cast<size_t>(built.fetched[i])]);
    if (outputs[i].dtype() == wanted) continue;
    return Cat("output ", built.fetched[i], " is ", Name(outputs[i].dtype()), ", not ", Name(wanted));
  }
  return "";
}

}  // namespace

CaseRunner::CaseRunner(std::shared_ptr<Environment> environment, absl::Duration deadline)
    : environment_(std::move(environment)), deadline_(deadline), functions_(environment_->ops) {
  const Status status = ImportGraphDefBytes(FunctionLibraryText(), &functions_);
  if (!status.ok()) std::fprintf(stderr, "functions of the cases: %s\n", status.ToString().c_str());
}

std::string CaseRunner::Question(const OpCase& node, const Outcome& outcome) const {
  OpCase plain = node;
  plain.sight = Sight::kConstant;
  for (const CaseInput& input : plain.inputs) {
    if (input.maker >= 0 || !(IsPlain(input.dtype) || input.dtype == DType::kString)) return "";
  }
  BuiltCase built(functions_.Clone());
  if (!Build(plain, built).ok()) return "";
  auto add = [&](std::string name, const Tensor& value) {
    auto constant = AddConstant(built.graph, value);
    return constant.ok() && built.graph.Rename(built.graph.node(constant->node), name).ok();
  };
  if (!add("code", Tensor::Scalar<int32_t>(static_cast<int32_t>(outcome.status.code())))) return "";
  if (!add("message", Tensor::Scalar(Message(outcome.status)))) return "";
  for (size_t i = 0; i < outcome.outputs.size(); ++i) {
    if (!outcome.outputs[i].has_value() || !add(Cat("out_", outcome.fetched[i]), outcome.outputs[i])) return "";
  }
  return ExportGraphDefBytes(built.graph).value_or("");
}

Outcome CaseRunner::Run(const OpCase& node) {
  Outcome outcome;
  BuiltCase built(functions_.Clone());
  outcome.status = Build(node, built);
  if (!outcome.status.ok()) return outcome;
  const std::vector<DType> types = built.graph.node(built.op)->types->outputs;
  if (node.with_gradient) Differentiate(node, built);
  const StatusOr<InferredShapes> shapes = InferShapes(built.graph);

  SessionOptions options;
  options.operation_timeout = deadline_;
  auto session = Session::Create(environment_, options);
  if (!session.ok()) return {session.status(), "no session"};
  std::vector<std::string> gradients;
  for (Endpoint gradient : built.gradients) gradients.push_back(built.graph.TensorName(gradient));
  outcome.status = (*session)->Extend(std::move(built.graph));
  if (outcome.status.ok()) {
    std::vector<Tensor> outputs;
    const std::string targets[] = {"op"};
    outcome.status = (*session)->Run(built.feeds, built.fetches, targets, &outputs);
    if (outcome.status.ok()) {
      outcome.complaint = CompareTypes(built, types, outputs);
      if (shapes.ok() && outcome.complaint.empty() && !StatesMoreThanItChecks(node)) {
        outcome.complaint = CompareShapes(built, *shapes, outputs);
      }
      outcome.outputs = std::move(outputs);
      outcome.fetched = built.fetched;
    }
  }
  if (outcome.status.ok() && !gradients.empty() && !ComparesElementCounts(node.schema->name) &&
      !StatesMoreThanItChecks(node)) {
    std::vector<Tensor> values;
    if ((*session)->Run(built.feeds, gradients, {}, &values).ok()) {
      for (size_t i = 0; i < values.size(); ++i) {
        const Shape& wanted = node.inputs[static_cast<size_t>(built.differentiated[i])].value.shape();
        if (values[i].shape() == wanted || !outcome.complaint.empty()) continue;
        outcome.complaint = Cat("the gradient of input ", built.differentiated[i], " has shape ",
                                values[i].shape().ToString(), ", not ", wanted.ToString());
      }
    }
  }
  (*session)->Close().IgnoreError();
  if ((*session)->running_steps() != 0) outcome.complaint = "a step outlived its session";
  ResetContainers(*environment_, {});
  return outcome;
}

}  // namespace weir::op_fuzz
