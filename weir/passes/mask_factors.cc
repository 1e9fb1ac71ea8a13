#include "weir/passes/mask_factors.h"

#include <algorithm>

namespace weir {
namespace {

constexpr int kMostFactors = 16;

class FactorReader {
 public:
  explicit FactorReader(RewriteContext& context) : context_(context), graph_(context.graph()) {}

  void Read(Endpoint mask, std::vector<int64_t> expansions) {
    const Node& node = *graph_.node(mask.node);
    const int rank = context_.ShapeOf(mask).rank();
    if (node.op() == "Identity" && factors.size() < kMostFactors) return Read(node.inputs[0], std::move(expansions));
    if (const std::optional<int64_t> axis = ExpandedAxis(node, rank)) {
      expansions.insert(expansions.begin(), *axis);
      return Read(node.inputs[0], std::move(expansions));
    }
    if (node.op() == "LogicalAnd" && rank >= 0 && factors.size() < kMostFactors) {
      auto has_rank = [&](Endpoint input) { return context_.ShapeOf(input).rank() == rank; };
      if (std::ranges::all_of(node.inputs, has_rank)) {
        for (Endpoint input : node.inputs) Read(input, expansions);
        return;
      }
    }
    MaskFactor factor{.tensor = mask, .expansions = std::move(expansions)};
    if (IsTrue(mask)) {
      factor.kind = MaskFactor::Kind::kTrue;
    } else if (IsNoLater(mask) && LeavesLastTwo(factor.expansions, rank)) {
      factor.kind = MaskFactor::Kind::kNoLater;
    }
    factors.push_back(std::move(factor));
  }

  bool IsTrue(Endpoint tensor) {
    const Node& node = *graph_.node(tensor.node);
    if (node.op() == "Fill" && node.control_inputs.empty()) return IsTrue(node.inputs[1]);
    const Tensor* value = context_.ConstantOf(tensor);
    if (value == nullptr || value->dtype() != DType::kBool) return false;
    return std::ranges::all_of(value->span<bool>(), [](bool x) { return x; });
  }

  std::vector<MaskFactor> factors;

 private:
  std::optional<int64_t> IntOf(Endpoint tensor) {
    const Tensor& value = context_.ValueOf(tensor);
    if (!value.has_value() || value.num_elements() != 1) return std::nullopt;
    if (value.dtype() == DType::kInt32) return value.data<int32_t>()[0];
    return value.dtype() == DType::kInt64 ? std::optional<int64_t>(value.data<int64_t>()[0]) : std::nullopt;
  }
  std::optional<int64_t> ExpandedAxis(const Node& node, int rank) {
    if (node.op() != "ExpandDims" || rank < 0) return std::nullopt;
    const std::optional<int64_t> axis = IntOf(node.inputs[1]);
    if (!axis) return std::nullopt;
    return *axis < 0 ? *axis + rank : *axis;
  }
  bool IsNoLater(Endpoint tensor) {
    const Node& node = *graph_.node(tensor.node);
    if (node.op() == "MatrixBandPart") {
      return IsTrue(node.inputs[0]) && IntOf(node.inputs[1]) == -1 && IntOf(node.inputs[2]) == 0;
    }
    const Tensor* value = context_.ConstantOf(tensor);
    return value != nullptr && SaysNoLater(*value);
  }
  // Whether new dimensions come before the last two.
  static bool LeavesLastTwo(const std::vector<int64_t>& expansions, int rank) {
    for (int64_t axis : expansions) {
      if (axis > rank - 2) return false;
      ++rank;
    }
    return true;
  }

  RewriteContext& context_;
  Graph& graph_;
};

}  // namespace

std::vector<MaskFactor> FactorsOfMask(RewriteContext& context, Endpoint mask) {
  FactorReader reader(context);
  reader.Read(mask, {});
  return std::move(reader.factors);
}

Endpoint WithoutTrivialFactors(RewriteContext& context, Endpoint mask) {
  FactorReader reader(context);
  while (true) {
    const Node& node = *context.graph().node(mask.node);
    if (node.op() != "LogicalAnd" || !node.control_inputs.empty()) return mask;
    if (reader.IsTrue(node.inputs[0])) {
      mask = node.inputs[1];
    } else if (reader.IsTrue(node.inputs[1])) {
      mask = node.inputs[0];
    } else {
      return mask;
    }
  }
}

bool SaysNoLater(const Tensor& mask) {
  const Shape& shape = mask.shape();
  if (mask.dtype() != DType::kBool || shape.rank() < 2) return false;
  const int64_t queries = shape.dim(shape.rank() - 2), keys = shape.dim(shape.rank() - 1);
  if (queries * keys != shape.num_elements() || keys == 0) return false;
  for (int64_t i = 0; i < queries * keys; ++i) {
    if (mask.data<bool>()[i] != (i % keys <= i / keys)) return false;
  }
  return true;
}

}  // namespace weir
