#include <algorithm>

#include "weir/client/eager_execute.h"
#include "weir/client/input.h"
#include "weir/client/tracer_internal.h"
#include "weir/graph/function_export.h"
#include "weir/runtime/eager_runtime.h"

namespace weir {
namespace {

// Shapes and the like are worth more as constants of the body: shapes are inferred from them.
bool IsSmallInteger(const EagerTensor& tensor) {
  return IsInteger(tensor.dtype()) && tensor.tensor().num_elements() <= 128;
}

// Functions that trace each other deeper than this call themselves.
constexpr int kMostNested = 50;

class Nesting {
 public:
  Nesting() { ++Depth(); }
  ~Nesting() { --Depth(); }
  bool is_too_deep() const { return Depth() > kMostNested; }

 private:
  static int& Depth() {
    thread_local int depth = 0;
    return depth;
  }
};

}  // namespace

const Scope*& TracedScope() {
  thread_local const Scope* scope = nullptr;
  return scope;
}

Tracer::Tracer(const Scope& outer, std::shared_ptr<Captures> captures)
    : outer_(outer), captures_(std::move(captures)), inner_(Scope::NewRoot(outer.environment())) {
  ScopeState* state = inner_.state();
  state->graph.set_functions(outer.graph().functions());
  state->outer = std::make_shared<Scope>(outer.WithoutName());
  state->depth = outer.state()->depth + 1;
  state->orders_effects = outer.state()->orders_effects;
  state->capture = [this](const Output& output) { return Capture(output); };
}

Tracer::~Tracer() {
  inner_.state()->capture = nullptr;
  inner_.state()->capture_eager = nullptr;
}

void Tracer::CaptureEagerTensors() {
  inner_.state()->orders_effects = true;
  inner_.state()->capture_eager = [this](const EagerTensor& tensor) { return CaptureEager(tensor); };
}

Output Tracer::AddArgument(DType dtype, const PartialShape& shape) {
  Output argument = AddArg(dtype, shape);
  arguments_.push_back(argument.endpoint().node);
  return argument;
}

void Tracer::Build(const std::function<std::vector<Output>(const Scope&)>& body) {
  TraceInto trace(TracedScope() != nullptr || inner_.state()->capture_eager ? &inner_ : nullptr);
  AddResults(body(inner_));
}

void Tracer::AddResults(const std::vector<Output>& results) {
  for (const Output& result : results) {
    if (!result.has_value()) return inner_.Fail(InvalidArgument("a body returns an Output without a value"));
    Output own = inner_.state()->Import(result);
    if (!own.has_value()) return inner_.Fail(InvalidArgument("a body returns an Output of another graph"));
    results_.push_back(own);
  }
}

std::vector<Output> Tracer::CapturedArguments() {
  std::vector<Output> out;
  for (const Output& output : *captures_) out.push_back(Capture(output));
  return out;
}

bool Tracer::is_stateful() const {
  const auto nodes = inner_.graph().nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& node) { return node && node->schema->is_stateful && node->op() != "_Arg"; });
}

StatusOr<FunctionAttr> Tracer::Finish(const std::string& name) {
  for (const Output& argument : CapturedArguments()) arguments_.push_back(argument.endpoint().node);
  for (const Output& argument : eager_arguments_) arguments_.push_back(argument.endpoint().node);
  std::vector<NodeId> rets, effects;
  for (const auto& node : inner_.graph().nodes()) {
    if (node && node->schema->is_stateful && node->op() != "_Arg") effects.push_back(node->id);
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    AttrMap attrs;
    attrs.Set("T", results_[i].dtype());
    attrs.Set("index", static_cast<int64_t>(i));
    rets.push_back(inner_.AddNode({.op = "_Retval", .attrs = std::move(attrs), .inputs = {results_[i].endpoint()}}));
  }
  WEIR_RETURN_IF_ERROR(inner_.status());
  FunctionBody body(std::move(inner_.graph()));
  body.args = arguments_;
  body.rets = rets;
  body.control_rets = effects;
  body.is_stateful = !effects.empty();
  for (NodeId id : arguments_) body.types.inputs.push_back(body.graph.node(id)->output_type(0));
  for (const NodeId id : rets) body.types.outputs.push_back(BaseType(body.graph.node(id)->input_type(0)));
  FunctionAttr function;
  WEIR_ASSIGN_OR_RETURN(function.name, AddFunction(body, name, *outer_.graph().functions()));
  return function;
}

Output Tracer::AddArg(DType dtype, const PartialShape& shape) {
  AttrMap attrs;
  attrs.Set("T", BaseType(dtype));
  attrs.Set("index", static_cast<int64_t>(next_index_++));
  AttrList shapes;
  shapes.shape.push_back(shape);
  attrs.Set("_output_shapes", Attribute(std::move(shapes)));
  const NodeId id = inner_.AddNode({.op = "_Arg", .attrs = std::move(attrs)});
  if (id != kNoNode) inner_.state()->inferred[id][0].shape = shape;
  return Output(inner_, {id, 0});
}

Output Tracer::Capture(const Output& output) {
  for (const auto& [from, argument] : captured_) {
    if (from.endpoint() == output.endpoint()) return argument;
  }
  Output argument = AddArg(output.dtype(), output.shape());
  if (argument.has_value()) {
    // What a handle refers to is known outside.
    inner_.state()->inferred[argument.endpoint().node][0].handle_data =
        outer_.state()->inferred[output.endpoint().node][output.endpoint().index].handle_data;
  }
  captured_.emplace_back(output, argument);
  const bool known = std::any_of(captures_->begin(), captures_->end(),
                                 [&](const Output& o) { return o.endpoint() == output.endpoint(); });
  if (!known) captures_->push_back(output);
  return argument;
}

Output Tracer::CaptureEager(const EagerTensor& tensor) {
  if (IsSmallInteger(tensor)) return Output();
  for (size_t i = 0; i < eager_captures_.size(); ++i) {
    if (eager_captures_[i].id() == tensor.id()) return eager_arguments_[i];
  }
  Output argument = AddArg(tensor.dtype(), tensor.shape());
  if (argument.has_value() && tensor.dtype() == DType::kResource && tensor.tensor().num_elements() == 1) {
    inner_.state()->inferred[argument.endpoint().node][0].handle_data =
        tensor.tensor().data<ResourceHandle>()[0].dtypes_and_shapes;
  }
  eager_captures_.push_back(tensor);
  eager_arguments_.push_back(argument);
  return argument;
}

StatusOr<TracedFunction> TraceFunction(
    const std::string& name, const std::vector<ArgumentSpec>& arguments,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>&)>& body, const Scope* around) {
  const Nesting nesting;
  if (nesting.is_too_deep()) return ResourceExhausted("function '", name, "' calls itself while it is traced");
  const Scope outer = around != nullptr ? *around : Scope::NewRoot(eager::Runtime().environment());
  auto captures = std::make_shared<Captures>();
  if (around == nullptr) outer.graph().set_functions(eager::Runtime().functions());
  Tracer tracer(outer, captures);
  if (around == nullptr) tracer.CaptureEagerTensors();
  std::vector<EagerTensor> inside;
  for (const ArgumentSpec& argument : arguments) {
    inside.push_back(EagerTensor(tracer.AddArgument(argument.dtype, argument.shape)));
  }
  Status status;
  tracer.Build([&](const Scope& scope) {
    std::vector<Output> results;
    for (const EagerTensor& result : body(inside)) {
      if (!result.ok() && status.ok()) status = result.status();
      Output output = result.has_value() && result.is_traced() ? result.traced() : Output();
      if (result.has_value() && !result.is_traced()) {
        output = scope.state()->Import(result);
        if (!output.has_value()) output = Constant(scope, Input(result));
      }
      results.push_back(output);
    }
    return results;
  });
  WEIR_RETURN_IF_ERROR(status);
  WEIR_RETURN_IF_ERROR(tracer.scope().status());
  TracedFunction out;
  for (const Output& result : tracer.results()) {
    out.types.push_back(BaseType(result.dtype()));
    out.shapes.push_back(result.shape());
  }
  out.is_stateful = tracer.is_stateful();
  WEIR_ASSIGN_OR_RETURN(out.function, tracer.Finish(name));
  for (const Output& capture : *captures) out.captures.push_back(EagerTensor(capture));
  out.captures.insert(out.captures.end(), tracer.eager_captures().begin(), tracer.eager_captures().end());
  return out;
}

}  // namespace weir
