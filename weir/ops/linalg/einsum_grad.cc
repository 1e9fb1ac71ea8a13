// The gradient of Einsum is an Einsum with the subscripts exchanged.
#include <set>

#include "weir/autodiff/emit.h"
#include "weir/ops/linalg/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

constexpr std::string_view kEllipsis = "...";

Value Einsum(const std::vector<Value>& inputs, std::string_view equation) {
  if (inputs.empty() || !inputs[0]) return {};
  return inputs[0].emitter().Op("Einsum", {inputs}, {{"equation", equation}});
}

// Labels of `subscripts` that occur in none of the others.
std::string LabelsOnlyIn(std::string_view subscripts, std::string_view others) {
  std::set<char> only;
  for (char c : subscripts) {
    if (c != '.' && others.find(c) == std::string_view::npos) only.insert(c);
  }
  return std::string(only.begin(), only.end());
}

std::string Without(std::string_view subscripts, std::string_view labels) {
  std::string out;
  for (char c : subscripts) {
    if (labels.find(c) == std::string_view::npos) out += c;
  }
  return out;
}

// The place of a label among the dimensions, from the end if an ellipsis stands before it.
int64_t AxisOf(std::string_view subscripts, char label) {
  const size_t dots = subscripts.find(kEllipsis), at = subscripts.find(label);
  if (dots == std::string_view::npos || at < dots) return static_cast<int64_t>(at);
  return static_cast<int64_t>(at) - static_cast<int64_t>(subscripts.size());
}

// What was summed over is repeated: `flow` has the labels `flow_subs`, the operand has also those in `reduced`.
Value Repeat(Value flow, const std::string& flow_subs, const std::string& operand_subs, Value operand_shape,
             const std::string& reduced) {
  std::vector<Value> dims;
  for (char label : reduced) {
    dims.push_back(Reshape(At(operand_shape, AxisOf(operand_subs, label)), Ints(flow, {1})));
  }
  Value shape = Shape(flow), ones = Ints(flow, std::vector<int64_t>(reduced.size(), 1));
  Value spread = BroadcastTo(Reshape(flow, Concat({ones, shape}, 0)), Concat({Concat(dims, 0), shape}, 0));
  return Einsum({spread}, Cat(reduced, flow_subs, "->", operand_subs));
}

Value OperandGradient(Value flow, Value other, Value shape, const std::string& subs, const std::string& other_subs,
                      const std::string& output_subs) {
  const std::string reduced = LabelsOnlyIn(subs, output_subs + other_subs);
  const std::string left = Without(subs, reduced);
  Value out = Einsum({flow, other}, Cat(output_subs, ",", other_subs, "->", left));
  return reduced.empty() ? out : Repeat(out, left, subs, shape, reduced);
}

// Sums over the dimensions of the ellipsis in which an operand was broadcast.
Value SumBroadcast(Value gradient, Value operand, Value other, const std::string& subs, const std::string& other_subs) {
  auto part = [](Value shape, const std::string& text) {
    const int64_t begin = static_cast<int64_t>(text.find(kEllipsis));
    const int64_t after = static_cast<int64_t>(text.size()) - begin - static_cast<int64_t>(kEllipsis.size());
    Value count = Reshape(Size(shape) - Int(shape, begin + after), Ints(shape, {1}));
    return Slice(shape, Ints(shape, {begin}), count);
  };
  if (!gradient) return {};
  Value shape = Shape(operand);
  Values axes =
      gradient.emitter().Outputs("BroadcastGradientArgs", {part(shape, subs), part(Shape(other), other_subs)});
  Value moved = axes[0] + Int(gradient, static_cast<int64_t>(subs.find(kEllipsis)));
  return Reshape(Sum(gradient, moved), shape);
}

Gradients EinsumGradient(G& g) {
  const std::string equation = g.Attr<std::string>("equation");
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || g.num_inputs() > 2) {
    g.Fail(InvalidArgument("The gradient of Einsum needs an explicit equation of one or two operands, not ", equation));
    return {};
  }
  const std::string inputs = equation.substr(0, arrow), output = equation.substr(arrow + 2);
  Value flow = g.grad();
  if (g.num_inputs() == 1) {
    const std::string reduced = LabelsOnlyIn(inputs, output);
    if (reduced.empty()) return {Einsum({flow}, Cat(output, "->", inputs))};
    return {Repeat(flow, output, inputs, Shape(g.input(0)), reduced)};
  }
  const size_t comma = inputs.find(',');
  if (comma == std::string::npos) {
    g.Fail(InvalidArgument("The equation ", equation, " has one operand, but there are two"));
    return {};
  }
  std::string x_subs = inputs.substr(0, comma), y_subs = inputs.substr(comma + 1);
  const bool broadcast = output.find(kEllipsis) != std::string::npos;
  for (std::string* subs : {&x_subs, &y_subs}) {
    if (broadcast && subs->find(kEllipsis) == std::string::npos) *subs += kEllipsis;
  }
  Value x = Conj(g.input(0)), y = Conj(g.input(1));
  Value dx = OperandGradient(flow, y, Shape(x), x_subs, y_subs, output);
  Value dy = OperandGradient(flow, x, Shape(y), y_subs, x_subs, output);
  if (!broadcast) return {dx, dy};
  return {SumBroadcast(dx, g.input(0), g.input(1), x_subs, y_subs),
          SumBroadcast(dy, g.input(1), g.input(0), y_subs, x_subs)};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterEinsumGradients(GradientRegistry& registry) { registry.Add("Einsum", emit::EinsumGradient); }

}  // namespace weir
