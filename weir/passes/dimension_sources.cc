#include "weir/passes/dimension_sources.h"

#include <algorithm>
#include <string>

namespace weir {
namespace {

// Steps back from a tensor; beyond them its dimensions are their own.
constexpr int kFarthest = 100;

std::optional<int64_t> IntAt(const Tensor& tensor, int64_t i) {
  if (!tensor.has_value() || i < 0 || i >= tensor.num_elements()) return std::nullopt;
  if (tensor.dtype() == DType::kInt32) return tensor.data<int32_t>()[i];
  if (tensor.dtype() == DType::kInt64) return tensor.data<int64_t>()[i];
  return std::nullopt;
}

bool Is(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::ranges::find(ops, node.op()) != ops.end();
}

}  // namespace

bool DimensionSources::AreEqual(Endpoint a, int i, Endpoint b, int j) { return Of(a, i) == Of(b, j); }

bool DimensionSources::HaveOneShape(Endpoint a, Endpoint b) {
  const int rank = context_.ShapeOf(a).rank();
  if (rank < 0 || context_.ShapeOf(b).rank() != rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (!AreEqual(a, i, b, i)) return false;
  }
  return true;
}

DimensionSources::Source DimensionSources::Of(Endpoint tensor, int axis, int depth) {
  const Source itself{-1, tensor, axis};
  const PartialShape& shape = context_.ShapeOf(tensor);
  if (axis < 0 || axis >= shape.rank() || depth > kFarthest) return itself;
  if (shape.dim(axis) >= 0) return {.size = shape.dim(axis)};
  if (auto found = known_.find({tensor, axis}); found != known_.end()) return found->second;
  known_[{tensor, axis}] = itself;  // for who comes round again
  Source source = Trace(*graph_.node(tensor.node), tensor.index, axis, depth + 1);
  if (!source.is_known()) source = itself;
  return known_[{tensor, axis}] = source;
}

DimensionSources::Source DimensionSources::Trace(const Node& node, int output, int axis, int depth) {
  const int rank = context_.ShapeOf({node.id, output}).rank();
  auto input_rank = [&](int i) { return context_.ShapeOf(node.inputs[static_cast<size_t>(i)]).rank(); };
  if (node.schema->is_elementwise) return OfOperands(node, rank, axis, depth);
  if (node.schema->is_rowwise || node.schema->is_aggregate ||
      Is(node, {"Identity", "Snapshot", "StopGradient", "PreventGradient", "BiasAdd", "MatrixBandPart"})) {
    return input_rank(0) == rank ? Of(node.inputs[0], axis, depth) : Source();
  }
  // A loss for each row, and the gradient.
  if (node.op() == "SparseSoftmaxCrossEntropyWithLogits") return Of(node.inputs[0], axis, depth);
  if (node.schema->is_reduction) return OfReduction(node, axis, depth);
  if (node.op() == "Transpose") {
    const std::optional<int64_t> from = IntAt(context_.ValueOf(node.inputs[1]), axis);
    return from ? Of(node.inputs[0], static_cast<int>(*from < 0 ? *from + rank : *from), depth) : Source();
  }
  if (node.op() == "Reshape") {
    const Source given = Element(node.inputs[1], axis, depth);
    return given.is_known() ? given : LeftOver(node, axis, depth);
  }
  if (Is(node, {"BroadcastTo", "Fill"})) return Element(node.inputs[node.op() == "Fill" ? 0 : 1], axis, depth);
  if (node.op() == "StridedSlice") return OfSlice(node, axis, depth);
  if (node.op() == "ExpandDims") {
    std::optional<int64_t> at = IntAt(context_.ValueOf(node.inputs[1]), 0);
    if (!at) return {};
    if (*at < 0) *at += rank;
    return Of(node.inputs[0], axis > *at ? axis - 1 : axis, depth);
  }
  if (node.op() == "Unpack") {
    int64_t at = node.Attr<int64_t>("axis").value_or(0);
    if (at < 0) at += rank + 1;
    return Of(node.inputs[0], axis >= at ? axis + 1 : axis, depth);
  }
  if (Is(node, {"Split", "SplitV"})) {
    std::optional<int64_t> at = IntAt(context_.ValueOf(node.inputs[node.op() == "Split" ? 0 : 2]), 0);
    if (!at || (*at < 0 ? *at + rank : *at) == axis) return {};
    return Of(node.inputs[node.op() == "Split" ? 1 : 0], axis, depth);
  }
  if (Is(node, {"Gather", "GatherV2", "ResourceGather"})) {
    const bool is_plain = node.Attr<int64_t>("batch_dims").value_or(0) == 0 &&
                          (node.inputs.size() < 3 || IntAt(context_.ValueOf(node.inputs[2]), 0) == 0);
    return is_plain && axis < input_rank(1) ? Of(node.inputs[1], axis, depth) : Source();
  }
  if (Is(node, {"MatMul", "_FusedMatMul"})) {
    const bool is_row = axis == 0;
    const bool turned = node.Attr<bool>(is_row ? "transpose_a" : "transpose_b").value_or(false);
    return Of(node.inputs[is_row ? 0 : 1], is_row == turned ? 1 : 0, depth);
  }
  if (Is(node, {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})) return OfProduct(node, rank, axis, depth);
  if (node.op() == "Einsum") return OfEinsum(node, axis, depth);
  return {};
}

// Of operands that broadcast: those that are not known to have one element there must agree.
DimensionSources::Source DimensionSources::OfOperands(const Node& node, int rank, int axis, int depth) {
  Source source;
  for (Endpoint input : node.inputs) {
    const PartialShape& shape = context_.ShapeOf(input);
    if (!shape.has_rank()) return {};
    const int at = axis - (rank - shape.rank());
    if (at < 0 || shape.dim(at) == 1) continue;
    const Source one = Of(input, at, depth);
    if (source == Source()) source = one;
    if (!(source == one)) return {};
  }
  return source;
}

// What the known dimensions of a Reshape's result leave for the other one, if the input has one that is not known.
DimensionSources::Source DimensionSources::LeftOver(const Node& reshape, int axis, int depth) {
  const PartialShape from = context_.ShapeOf(reshape.inputs[0]), to = context_.ShapeOf({reshape.id, 0});
  if (!from.has_rank() || !to.has_rank()) return {};
  int64_t before = 1, after = 1;
  Source unknown;
  for (int i = 0; i < from.rank(); ++i) {
    if (from.dim(i) >= 0) {
      before *= from.dim(i);
    } else if (unknown.is_known()) {
      return {};
    } else {
      unknown = Of(reshape.inputs[0], i, depth);
      before *= unknown.factor;
    }
  }
  for (int i = 0; i < to.rank(); ++i) {
    if (i == axis) continue;
    if (to.dim(i) < 0) return {};
    after *= to.dim(i);
  }
  if (!unknown.is_known() || after <= 0 || before % after != 0) return {};
  unknown.factor = before / after;
  return unknown;
}

bool DimensionSources::IsLeftOver(const Node& reshape, int axis) {
  const Source given = Element(reshape.inputs[1], axis, 0);
  return given.is_known() && given == LeftOver(reshape, axis, 0);
}

DimensionSources::Source DimensionSources::OfProduct(const Node& node, int rank, int axis, int depth) {
  const bool is_row = axis == rank - 2;
  if (axis >= rank - 2) {
    const Endpoint operand = node.inputs[is_row ? 0 : 1];
    const int own_rank = context_.ShapeOf(operand).rank();
    const bool turned = node.Attr<bool>(is_row ? "adj_x" : "adj_y").value_or(false);
    return own_rank < 2 ? Source() : Of(operand, is_row == turned ? own_rank - 1 : own_rank - 2, depth);
  }
  return OfOperands(node, rank, axis, depth);
}

DimensionSources::Source DimensionSources::OfEinsum(const Node& node, int axis, int depth) {
  const std::string equation = node.Attr<std::string>("equation").value_or("");
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find_first_of(". ") != std::string::npos) return {};
  const std::string out = equation.substr(arrow + 2);
  if (axis >= std::ssize(out)) return {};
  size_t begin = 0;
  for (Endpoint input : node.inputs) {
    const size_t end = std::min(equation.find(',', begin), arrow);
    const size_t at = equation.substr(begin, end - begin).find(out[static_cast<size_t>(axis)]);
    if (at != std::string::npos) return Of(input, static_cast<int>(at), depth);
    begin = end + 1;
  }
  return {};
}

DimensionSources::Source DimensionSources::OfReduction(const Node& node, int axis, int depth) {
  const Tensor& axes = context_.ValueOf(node.inputs[1]);
  const PartialShape& from = context_.ShapeOf(node.inputs[0]);
  if (!axes.has_value() || !from.has_rank()) return {};
  std::vector<bool> is_gone(static_cast<size_t>(from.rank()), false);
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    std::optional<int64_t> at = IntAt(axes, i);
    if (at && *at < 0) *at += from.rank();
    if (!at || *at < 0 || *at >= from.rank()) return {};
    is_gone[static_cast<size_t>(*at)] = true;
  }
  if (node.Attr<bool>("keep_dims").value_or(false)) {
    return is_gone[static_cast<size_t>(axis)] ? Source() : Of(node.inputs[0], axis, depth);
  }
  for (int i = 0, left = axis; i < from.rank(); ++i) {
    if (!is_gone[static_cast<size_t>(i)] && left-- == 0) return Of(node.inputs[0], i, depth);
  }
  return {};
}

// Dimensions of which nothing is cut off.
DimensionSources::Source DimensionSources::OfSlice(const Node& node, int axis, int depth) {
  auto bit = [&](const char* name, int64_t i) { return (node.Attr<int64_t>(name).value_or(0) >> i & 1) != 0; };
  const Tensor& strides = context_.ValueOf(node.inputs[3]);
  if (!strides.has_value() || node.Attr<int64_t>("ellipsis_mask").value_or(0) != 0) return {};
  int from = 0, to = 0;
  for (int64_t i = 0; i < strides.num_elements(); ++i) {
    if (bit("new_axis_mask", i)) {
      if (to++ == axis) return {};
    } else if (bit("shrink_axis_mask", i)) {
      ++from;
    } else {
      const bool is_whole = bit("begin_mask", i) && bit("end_mask", i) && IntAt(strides, i) == 1;
      if (to++ == axis) return is_whole ? Of(node.inputs[0], from, depth) : Source();
      ++from;
    }
  }
  return Of(node.inputs[0], from + axis - to, depth);
}

DimensionSources::Source DimensionSources::Element(Endpoint sizes, int64_t at, int depth) {
  if (depth > kFarthest) return {};
  if (std::optional<int64_t> size = IntAt(context_.ValueOf(sizes), at); size && *size >= 0) return {.size = *size};
  const Node& node = *graph_.node(sizes.node);
  if (node.op() == "Shape") return Of(node.inputs[0], static_cast<int>(at), depth);
  if (node.op() == "ShapeN") return Of(node.inputs[static_cast<size_t>(sizes.index)], static_cast<int>(at), depth);
  if (Is(node, {"Identity", "Cast"})) return Element(node.inputs[0], at, depth + 1);
  if (node.op() == "Reshape") return Element(node.inputs[0], at, depth + 1);  // of one element, or a vector
  if (node.op() == "Pack") {
    return at < std::ssize(node.inputs) ? Element(node.inputs[static_cast<size_t>(at)], 0, depth + 1) : Source();
  }
  if (node.op() == "ConcatV2") {
    for (size_t i = 0; i + 1 < node.inputs.size(); ++i) {
      const PartialShape& part = context_.ShapeOf(node.inputs[i]);
      if (part.rank() != 1 || part.dim(0) < 0) return {};
      if (at < part.dim(0)) return Element(node.inputs[i], at, depth + 1);
      at -= part.dim(0);
    }
    return {};
  }
  if (node.op() != "StridedSlice") return {};
  auto mask = [&](const char* name) { return node.Attr<int64_t>(name).value_or(0); };
  const std::optional<int64_t> begin = IntAt(context_.ValueOf(node.inputs[1]), 0),
                               stride = IntAt(context_.ValueOf(node.inputs[3]), 0);
  const PartialShape& whole = context_.ShapeOf(node.inputs[0]);
  if (whole.rank() != 1 || whole.dim(0) < 0 || stride != 1 || mask("ellipsis_mask") != 0 ||
      mask("new_axis_mask") != 0) {
    return {};
  }
  int64_t first = 0;
  if (mask("begin_mask") == 0) {
    if (!begin) return {};
    first = *begin < 0 ? *begin + whole.dim(0) : *begin;
  }
  return Element(node.inputs[0], first + at, depth + 1);
}

}  // namespace weir
