#include "weir/client/control_flow.h"

#include <algorithm>

#include "weir/client/op_call.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/tensor_math.h"
#include "weir/client/tracer_internal.h"

namespace weir {
namespace {

std::vector<DType> Types(const std::vector<Output>& outputs) {
  std::vector<DType> types;
  for (const Output& output : outputs) types.push_back(BaseType(output.dtype()));
  return types;
}

// What all branches promise of each result.
std::vector<PartialShape> CommonShapes(const std::vector<std::unique_ptr<Tracer>>& tracers) {
  std::vector<PartialShape> shapes;
  for (int i = 0; i < tracers[0]->num_results(); ++i) {
    PartialShape common = tracers[0]->results()[i].shape();
    for (const auto& tracer : tracers) {
      const PartialShape other = tracer->results()[i].shape();
      if (!common.has_rank() || common.rank() != other.rank()) {
        common = PartialShape();
        continue;
      }
      for (int d = 0; d < common.rank(); ++d) {
        if (common.dim(d) != other.dim(d)) common.set_dim(d, PartialShape::kUnknown);
      }
    }
    shapes.push_back(common);
  }
  return shapes;
}

struct Branches {
  std::vector<FunctionAttr> functions;
  std::vector<Output> inputs;
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  bool is_stateful = false;
};
StatusOr<Branches> TraceBranches(const Scope& scope, const std::vector<Branch>& branches, const std::string& name) {
  WEIR_RETURN_IF_ERROR(scope.status());
  if (branches.empty()) return InvalidArgument("a Case needs at least one branch");
  auto captures = std::make_shared<Captures>();
  std::vector<std::unique_ptr<Tracer>> tracers;
  Branches out;
  for (const Branch& branch : branches) {
    tracers.push_back(std::make_unique<Tracer>(scope, captures));
    tracers.back()->Build([&](const Scope& inside) { return branch(inside); });
    WEIR_RETURN_IF_ERROR(tracers.back()->scope().status());
    out.is_stateful |= tracers.back()->is_stateful();
    if (Types(tracers.back()->results()) != Types(tracers[0]->results())) {
      return InvalidArgument("the branches of a conditional have results of different number or type");
    }
  }
  out.types = Types(tracers[0]->results());
  out.shapes = CommonShapes(tracers);
  for (auto& tracer : tracers) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr function, tracer->Finish(name));
    out.functions.push_back(std::move(function));
  }
  out.inputs = *captures;
  return out;
}

}  // namespace

std::vector<Output> Cond(const Scope& scope, const Output& predicate, const Branch& then_branch,
                         const Branch& else_branch) {
  StatusOr<Branches> branches = TraceBranches(scope, {then_branch, else_branch}, "cond");
  if (!branches.ok()) return scope.Fail(branches.status()), std::vector<Output>();
  return OpCall(scope.WithName("cond"), branches->is_stateful ? "If" : "StatelessIf")
      .Add(predicate)
      .Add(InputList(branches->inputs))
      .Set("Tout", branches->types)
      .Set("then_branch", branches->functions[0])
      .Set("else_branch", branches->functions[1])
      .Set("output_shapes", branches->shapes)
      .List(0);
}

std::vector<Output> Case(const Scope& scope, const Output& index, const std::vector<Branch>& branches) {
  StatusOr<Branches> traced = TraceBranches(scope, branches, "case");
  if (!traced.ok()) return scope.Fail(traced.status()), std::vector<Output>();
  return OpCall(scope.WithName("case"), traced->is_stateful ? "Case" : "StatelessCase")
      .Add(index)
      .Add(InputList(traced->inputs))
      .Set("Tout", traced->types)
      .Set("branches", traced->functions)
      .Set("output_shapes", traced->shapes)
      .List(0);
}

namespace {

struct TracedLoop {
  FunctionAttr condition;
  FunctionAttr body;
  std::vector<Output> inputs;
  std::vector<PartialShape> shapes;
  bool is_stateful = false;
};
StatusOr<TracedLoop> TraceLoop(const Scope& scope, const std::vector<Output>& values, const Condition& condition,
                               const Body& body) {
  WEIR_RETURN_IF_ERROR(scope.status());
  auto captures = std::make_shared<Captures>();
  Tracer test(scope, captures), step(scope, captures);
  std::vector<Output> test_values, step_values;
  TracedLoop loop;
  for (const Output& value : values) {
    if (!value.has_value()) return InvalidArgument("an initial value of a loop is an Output without a value");
    loop.shapes.push_back(value.shape());
    test_values.push_back(test.AddArgument(value.dtype(), value.shape()));
    step_values.push_back(step.AddArgument(value.dtype(), value.shape()));
  }
  test.Build([&](const Scope& inside) { return std::vector<Output>{condition(inside, test_values)}; });
  WEIR_RETURN_IF_ERROR(test.scope().status());
  step.Build([&](const Scope& inside) { return body(inside, step_values); });
  WEIR_RETURN_IF_ERROR(step.scope().status());
  const std::vector<Output> next = step.results();
  if (Types(next) != Types(values)) {
    return InvalidArgument("the results of a loop's body differ from its arguments in number or type");
  }
  for (size_t i = 0; i < next.size(); ++i) {
    if (!loop.shapes[i].IsCompatibleWith(next[i].shape())) {
      return InvalidArgument("value ", i, " of a loop starts with shape ", loop.shapes[i].ToString(),
                             ", which the body changes to ", next[i].shape().ToString());
    }
  }
  // What is captured goes round unchanged.
  step.AddResults(step.CapturedArguments());
  loop.is_stateful = test.is_stateful() || step.is_stateful();
  WEIR_ASSIGN_OR_RETURN(loop.condition, test.Finish("while_condition"));
  WEIR_ASSIGN_OR_RETURN(loop.body, step.Finish("while_body"));
  loop.inputs = values;
  loop.inputs.insert(loop.inputs.end(), captures->begin(), captures->end());
  for (const Output& capture : *captures) loop.shapes.push_back(capture.shape());
  return loop;
}

}  // namespace

std::vector<Output> While(const Scope& scope, const std::vector<Output>& values, const Condition& condition,
                          const Body& body, const WhileOptions& options) {
  StatusOr<TracedLoop> loop = TraceLoop(scope, values, condition, body);
  if (!loop.ok()) return scope.Fail(loop.status()), std::vector<Output>(values.size(), Output(scope, {}));
  std::vector<Output> out = OpCall(scope.WithName("while"), loop->is_stateful ? "While" : "StatelessWhile")
                                .Add(InputList(loop->inputs))
                                .Set("cond", loop->condition)
                                .Set("body", loop->body)
                                .Set("output_shapes", loop->shapes)
                                .Set("parallel_iterations", options.parallel_iterations)
                                .List(0);
  out.resize(values.size(), Output(scope, {}));
  return out;
}

std::vector<Output> Call(const Scope& scope, const std::string& name, const std::vector<Output>& arguments,
                         const Body& body) {
  if (!scope.ok()) return {};
  auto captures = std::make_shared<Captures>();
  Tracer tracer(scope, captures);
  std::vector<Output> inside;
  for (const Output& argument : arguments) inside.push_back(tracer.AddArgument(argument.dtype(), argument.shape()));
  tracer.Build([&](const Scope& scope_inside) { return body(scope_inside, inside); });
  const bool is_stateful = tracer.is_stateful();
  const std::vector<DType> types = Types(tracer.results());
  StatusOr<FunctionAttr> function =
      tracer.scope().ok() ? tracer.Finish(name) : StatusOr<FunctionAttr>(tracer.scope().status());
  if (!function.ok()) return scope.Fail(function.status()), std::vector<Output>();
  std::vector<Output> inputs = arguments;
  inputs.insert(inputs.end(), captures->begin(), captures->end());
  return OpCall(scope.WithName(name), is_stateful ? "StatefulPartitionedCall" : "PartitionedCall")
      .Add(InputList(inputs))
      .Set("Tout", types)
      .Set("f", *function)
      .List(0);
}

namespace {

// A loop over the rows that collects what `function` gives in a list and carries a state along.
Output OverRows(const Scope& scope, const Output& rows, const Output& initial,
                const std::function<std::pair<Output, Output>(const Scope&, const Output&, const Output&)>& function) {
  Output count = DimSize(scope, rows, 0);
  Output any = Constant(scope, -1, DType::kInt32);  // shapes of elements may differ
  // The type of the results is known once the body is built, so the list is made of what a first look says.
  DType dtype = DType::kInvalid;
  PartialShape element;
  {
    Tracer look(scope, std::make_shared<Captures>());
    PartialShape row_shape = rows.shape();
    PartialShape inner_shape;
    if (row_shape.has_rank() && row_shape.rank() > 0) {
      inner_shape = *PartialShape::Make(row_shape.dims().subspan(1));
    }
    Output row = look.AddArgument(rows.dtype(), inner_shape);
    Output state = initial.has_value() ? look.AddArgument(initial.dtype(), initial.shape()) : Output();
    look.Build([&](const Scope& inside) { return std::vector<Output>{function(inside, state, row).first}; });
    if (!look.scope().ok()) return scope.Fail(look.scope().status()), Output(scope, {});
    dtype = look.results()[0].dtype();
    element = look.results()[0].shape();
  }
  Output list = OpCall(scope, "TensorListReserve").Add(any).Add(count).Set("element_dtype", dtype).Single();
  std::vector<Output> values = {Constant(scope, 0, DType::kInt32), list};
  if (initial.has_value()) values.push_back(initial);
  std::vector<Output> end = While(
      scope, values, [&](const Scope& s, const std::vector<Output>& v) { return v[0] < count; },
      [&](const Scope& s, const std::vector<Output>& v) {
        Output row = ops::GatherV2(s, rows, v[0], Constant(s, 0, DType::kInt32));
        auto [result, state] = function(s, v.size() > 2 ? v[2] : Output(), row);
        Output grown = OpCall(s, "TensorListSetItem").Add(v[1]).Add(v[0]).Add(result).Single();
        std::vector<Output> next = {v[0] + 1, grown};
        if (v.size() > 2) next.push_back(state);
        return next;
      });
  std::vector<int64_t> sizes;
  const bool known = element.IsFullyDefined();
  if (known) sizes.assign(element.dims().begin(), element.dims().end());
  Output shape = known ? Constant(scope, Input(sizes), DType::kInt32) : any;
  return OpCall(scope, "TensorListStack").Add(end[1]).Add(shape).Set("element_dtype", dtype).Single();
}

}  // namespace

Output MapFn(const Scope& scope, const Output& rows,
             const std::function<Output(const Scope& scope, const Output& row)>& function) {
  return OverRows(scope.SubScope("map"), rows, Output(), [&](const Scope& s, const Output&, const Output& row) {
    return std::make_pair(function(s, row), Output());
  });
}

Output Scan(const Scope& scope, const Output& rows, const Output& initial,
            const std::function<Output(const Scope& scope, const Output& state, const Output& row)>& function) {
  return OverRows(scope.SubScope("scan"), rows, initial, [&](const Scope& s, const Output& state, const Output& row) {
    Output next = function(s, state, row);
    return std::make_pair(next, next);
  });
}

}  // namespace weir
