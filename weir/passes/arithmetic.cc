#include "weir/passes/arithmetic.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace weir {
namespace {

bool IsScalarOf(const RewriteContext& context, Endpoint tensor, int number) {
  const Tensor* value = context.ConstantOf(tensor);
  if (value == nullptr || value->rank() != 0) return false;
  bool equal = false;
  DispatchDType(value->dtype(), NumberTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T wanted = static_cast<T>(static_cast<float>(number));
    // Compares bits, so that -0 is not taken for 0.
    equal = std::memcmp(value->raw_data(), &wanted, sizeof(T)) == 0;
  });
  return equal;
}

// The operand that equals the result bit for bit, if there is one.
std::optional<Endpoint> NeutralOperand(const RewriteContext& context, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  const std::string& op = node.op();
  const Endpoint x = node.inputs[0], y = node.inputs[1];
  const bool is_integer = IsInteger(BaseType(node.output_type(0)));
  if (op == "Mul" && !IsComplex(node.output_type(0))) {
    if (IsScalarOf(context, y, 1)) return x;
    if (IsScalarOf(context, x, 1)) return y;
  } else if (op == "RealDiv" || op == "Div") {
    if (!IsComplex(node.output_type(0)) && IsScalarOf(context, y, 1)) return x;
  } else if (op == "Sub") {
    if (IsScalarOf(context, y, 0)) return x;
  } else if ((op == "AddV2" || op == "Add") && is_integer) {
    if (IsScalarOf(context, y, 0)) return x;
    if (IsScalarOf(context, x, 0)) return y;
  }
  return std::nullopt;
}

// True if every value of type `from` is also a value of type `to`.
bool IsWidening(DType from, DType to) {
  if (from == to) return true;
  if (IsInteger(from) && IsInteger(to)) {
    if (IsUnsigned(from) == IsUnsigned(to)) return SizeOf(from) < SizeOf(to);
    return IsUnsigned(from) && SizeOf(from) < SizeOf(to);
  }
  if (to == DType::kDouble)
    return from == DType::kFloat || from == DType::kHalf || from == DType::kBFloat16 || from == DType::kInt32;
  return to == DType::kFloat && (from == DType::kHalf || from == DType::kBFloat16);
}

std::optional<std::vector<int64_t>> Integers(const Tensor* value) {
  if (value == nullptr || value->rank() != 1) return std::nullopt;
  std::vector<int64_t> out;
  bool known = DispatchDType(value->dtype(), IndexTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto span = value->span<T>();
    out.assign(span.begin(), span.end());
  });
  if (!known) return std::nullopt;
  return out;
}

bool PermutationsCancel(const RewriteContext& context, const Node& outer, const Node& inner) {
  auto second = Integers(context.ConstantOf(outer.inputs[1])), first = Integers(context.ConstantOf(inner.inputs[1]));
  if (!first || !second || first->size() != second->size()) return false;
  int64_t rank = static_cast<int64_t>(first->size());
  for (int64_t i = 0; i < rank; ++i) {
    int64_t at = (*second)[i];
    if (at < 0 || at >= rank || (*first)[at] != i) return false;
  }
  return true;
}

// The tensor that `outer` restores by undoing `inner`.
std::optional<Endpoint> Cancelled(const RewriteContext& context, const Node& outer, const Node& inner) {
  const std::string& op = outer.op();
  if (!inner.control_inputs.empty() || inner.inputs.empty()) return std::nullopt;
  if (op == inner.op()) {
    if (op == "Neg" || op == "Invert" || op == "LogicalNot" || op == "Conj") return inner.inputs[0];
    if (op == "Transpose" && PermutationsCancel(context, outer, inner)) return inner.inputs[0];
    if (op == "Cast" && inner.input_type(0) == outer.output_type(0) &&
        IsWidening(BaseType(inner.input_type(0)), BaseType(inner.output_type(0)))) {
      // Except for signalling NaNs, converting back and forth changes nothing; integers are restored exactly.
      return IsInteger(BaseType(inner.input_type(0))) ? std::optional(inner.inputs[0]) : std::nullopt;
    }
  }
  return std::nullopt;
}

using Divisible = decltype(FloatTypes{} + ComplexTypes{});

// 1 / x in the type of x, for each element.
StatusOr<Tensor> Reciprocals(const Tensor& x) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(x.dtype(), x.shape()));
  DispatchDType(x.dtype(), Divisible{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        out.data<T>()[i] = T(1.0f / static_cast<float>(x.data<T>()[i]));
      } else {
        out.data<T>()[i] = T(1) / x.data<T>()[i];
      }
    }
  });
  return out;
}

}  // namespace

Status MultiplyByReciprocals(RewriteContext& context) {
  Graph* const graph = &context.graph();
  constexpr int kMinNodes = 4;
  int nodes = 0;
  std::vector<NodeId> divisions;
  for (const auto& node : graph->nodes()) {
    if (!node || node->op() == "_Retval") continue;
    ++nodes;
    if ((node->op() == "RealDiv" || node->op() == "Div") && !IsPinned(*node)) divisions.push_back(node->id);
  }
  if (nodes < kMinNodes) return OkStatus();
  for (NodeId id : divisions) {
    const Node& divisor = *graph->node(graph->node(id)->inputs[1].node);
    if (!IsConstant(divisor)) continue;
    const Tensor* value = divisor.attrs.Find("value")->get_if<Tensor>();
    if (!DispatchDType(value->dtype(), Divisible{}, [](auto) {})) continue;
    std::vector<NodeId> after = divisor.control_inputs;  // in a loop, they tie the divisor to its frame
    WEIR_ASSIGN_OR_RETURN(Tensor reciprocals, Reciprocals(*value));
    AttrMap attrs;
    attrs.Set("dtype", reciprocals.dtype());
    attrs.Set("value", std::move(reciprocals));
    WEIR_ASSIGN_OR_RETURN(Node * constant, context.AddBeside(*graph->node(id), "Const", {}, std::move(attrs)));
    constant->control_inputs = std::move(after);
    Node* node = graph->node(id);
    WEIR_ASSIGN_OR_RETURN(node->schema, graph->ops().LookUp("Mul"));
    node->inputs[1] = {constant->id, 0};
    WEIR_RETURN_IF_ERROR(context.Changed(node));
  }
  return OkStatus();
}

Status SimplifyArithmetic(RewriteContext& context) {
  Graph* const graph = &context.graph();
  WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(*graph));
  for (NodeId id : order) {
    Node* node = graph->node(id);
    if (node->inputs.empty() || IsPinned(*node) || !context.MayRewrite(*node)) continue;
    if (auto operand = NeutralOperand(context, *node)) {
      if (BaseType(graph->type(*operand)) == node->output_type(0) && !IsRef(graph->type(*operand))) {
        WEIR_RETURN_IF_ERROR(context.TurnIntoIdentity(node, *operand));
      }
      continue;
    }
    const Node& producer = *graph->node(node->inputs[0].node);
    if (IsPinned(producer) || !context.MayRewrite(producer) || node->inputs[0].index != 0) continue;
    if (auto back = Cancelled(context, *node, producer)) {
      if (!IsRef(graph->type(*back))) WEIR_RETURN_IF_ERROR(context.TurnIntoIdentity(node, *back));
    } else if (node->op() == "Reshape" && producer.op() == "Reshape" && producer.control_inputs.empty()) {
      // Reshape keeps the order of elements, so only the last shape matters, and a -1 in it is computed from the same
      // size.
      if (context.ConstantOf(node->inputs[1]) != nullptr && context.ConstantOf(producer.inputs[1]) != nullptr) {
        node->inputs[0] = producer.inputs[0];
      }
    }
  }
  return OkStatus();
}

}  // namespace weir
