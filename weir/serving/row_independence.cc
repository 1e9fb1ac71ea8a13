#include "weir/serving/row_independence.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "weir/passes/inline_functions.h"
#include "weir/passes/rewrite_context.h"

namespace weir {
namespace {

enum class Rows {
  kFixed,        // does not depend on the inputs
  kIndependent,  // row i depends on row i of the inputs alone
  kMixed,        // anything else
};

using Names = std::set<std::string_view>;

// Operations that treat each element by itself without having the trait: they hand tensors on, or broadcast or sum up
// operands in ways of their own.
const Names& ElementByElement() {
  static const Names* const names =
      new Names{"AddN",   "CheckNumerics", "ClipByValue",  "Identity", "IdentityN", "OnesLike", "PreventGradient",
                "Select", "Snapshot",      "StopGradient", "ZerosLike"};
  return *names;
}

// The first input has the rows, all others are fixed.
const Names& FirstInput() {
  static const Names* const names = new Names{"Conv1D",  "Conv2D",       "Conv3D",         "DepthwiseConv2dNative",
                                              "MaxPool", "MaxPool3D",    "AvgPool",        "AvgPool3D",
                                              "BiasAdd", "BiasAddV1",    "ResizeBilinear", "ResizeNearestNeighbor",
                                              "LRN",     "SpaceToDepth", "DepthToSpace"};
  return *names;
}

// Ops with state that only read it.
bool OnlyReads(std::string_view op) {
  static const Names* const names =
      new Names{"VarHandleOp",     "ReadVariableOp", "VariableV2",         "Variable",
                "HashTableV2",     "HashTable",      "MutableHashTableV2", "LookupTableFindV2",
                "LookupTableFind", "ResourceGather", "Placeholder",        "_Arg",
                "_Retval"};
  return names->contains(op);
}

class Analysis {
 public:
  explicit Analysis(Graph* graph) : graph_(*graph), context_(graph) {}

  StatusOr<std::vector<bool>> Run(size_t num_fetches) {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    rows_.resize(static_cast<size_t>(graph_.num_node_ids()), Rows::kMixed);
    std::vector<bool> out(num_fetches, false);
    bool pure = true;
    for (NodeId id : order) {
      const Node& node = *graph_.node(id);
      pure = pure && (!node.schema->is_stateful || OnlyReads(node.op()));
      rows_[id] = Of(node);
      if (node.op() != "_Retval") continue;
      WEIR_ASSIGN_OR_RETURN(int64_t index, node.Attr<int64_t>("index"));
      if (index >= 0 && static_cast<size_t>(index) < num_fetches) out[index] = rows_[id] == Rows::kIndependent;
    }
    if (!pure) out.assign(num_fetches, false);
    return out;
  }

 private:
  Rows In(const Node& node, size_t i) const { return rows_[node.inputs[i].node]; }
  int Rank(const Node& node, size_t i) { return context_.ShapeOf(node.inputs[i]).rank(); }
  const Tensor* Constant(const Node& node, size_t i) const { return context_.ConstantOf(node.inputs[i]); }

  static Rows If(bool independent) { return independent ? Rows::kIndependent : Rows::kMixed; }

  static std::vector<int64_t> Integers(const Tensor& tensor) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      out.push_back(tensor.dtype() == DType::kInt32 ? tensor.data<int32_t>()[i] : tensor.data<int64_t>()[i]);
    }
    return out;
  }
  // Whether a constant names dimensions, of `rank` many, none of which is the first.
  bool AvoidsFirst(const Tensor* dims, int rank) const {
    if (dims == nullptr || rank < 1 || (dims->dtype() != DType::kInt32 && dims->dtype() != DType::kInt64)) return false;
    for (int64_t dim : Integers(*dims)) {
      if ((dim < 0 ? dim + rank : dim) <= 0) return false;
    }
    return true;
  }

  bool OthersAreFixed(const Node& node, size_t but) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i != but && In(node, i) != Rows::kFixed) return false;
    }
    return In(node, but) == Rows::kIndependent;
  }

  // Inputs that broadcast to the rank of those with rows, with a first dimension of 1 if they have one.
  bool BroadcastsRows(const Node& node) {
    int rank = -1;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (In(node, i) != Rows::kIndependent) continue;
      const int own = Rank(node, i);
      if (own < 1 || (rank >= 0 && own != rank)) return node.inputs.size() == 1;
      rank = own;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (In(node, i) != Rows::kFixed) continue;
      const PartialShape& shape = context_.ShapeOf(node.inputs[i]);
      if (!shape.has_rank() || shape.rank() > rank || (shape.rank() == rank && shape.dim(0) != 1)) return false;
    }
    return true;
  }

  // [n, a, b] to [-1, ...] where a row keeps its number of elements.
  bool ReshapesRows(const Node& node) {
    const Tensor* shape = Constant(node, 1);
    const PartialShape& from = context_.ShapeOf(node.inputs[0]);
    if (shape == nullptr || !from.has_rank() || from.rank() < 1 || shape->num_elements() < 1) return false;
    const std::vector<int64_t> to = Integers(*shape);
    if (to[0] != -1) return false;
    int64_t before = 1, after = 1;
    for (int i = 1; i < from.rank(); ++i) {
      if (from.dim(i) < 0) return false;
      before *= from.dim(i);
    }
    for (size_t i = 1; i < to.size(); ++i) after *= to[i];
    return before == after && before > 0;
  }

  Rows Of(const Node& node) {
    if (node.op() == "_Arg") {
      return If(context_.ShapeOf({node.id, 0}).rank() != 0);
    }
    bool fixed = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (In(node, i) == Rows::kMixed) return Rows::kMixed;
      fixed = fixed && In(node, i) == Rows::kFixed;
    }
    if (fixed) return IsControlFlow(node) ? Rows::kMixed : Rows::kFixed;
    return If(KeepsRows(node));
  }

  bool KeepsRows(const Node& node) {
    const std::string_view op = node.op();
    if (op == "_Retval") return context_.ShapeOf(node.inputs[0]).rank() != 0;
    if (node.schema->is_elementwise || ElementByElement().contains(op)) return BroadcastsRows(node);
    if (FirstInput().contains(op)) return OthersAreFixed(node, 0);
    if (node.schema->is_reduction || op == "ArgMax" || op == "ArgMin") {
      return node.inputs.size() == 2 && OthersAreFixed(node, 0) && AvoidsFirst(Constant(node, 1), Rank(node, 0));
    }
    if (op == "Softmax" || op == "LogSoftmax") return Rank(node, 0) >= 2;
    if (op == "MatMul") return OthersAreFixed(node, 0) && !node.Attr<bool>("transpose_a").value_or(true);
    if (op == "BatchMatMulV2" || op == "BatchMatMul") {
      if (In(node, 0) == Rows::kIndependent && In(node, 1) == Rows::kIndependent) {
        return Rank(node, 0) >= 3 && Rank(node, 0) == Rank(node, 1);
      }
      return OthersAreFixed(node, 0) && Rank(node, 0) >= 3 && Rank(node, 1) == 2;
    }
    if (op.starts_with("FusedBatchNorm")) {
      return OthersAreFixed(node, 0) && !node.Attr<bool>("is_training").value_or(true);
    }
    if (op == "Reshape") return OthersAreFixed(node, 0) && ReshapesRows(node);
    if (op == "ExpandDims") {
      const Tensor* dim = Constant(node, 1);
      return OthersAreFixed(node, 0) && AvoidsFirst(dim, Rank(node, 0) + 1);
    }
    if (op == "Squeeze") {
      StatusOr<std::vector<int64_t>> dims = node.Attr<std::vector<int64_t>>("squeeze_dims");
      const int rank = Rank(node, 0);
      return dims.ok() && !dims->empty() && rank > 0 &&
             std::all_of(dims->begin(), dims->end(), [&](int64_t dim) { return (dim < 0 ? dim + rank : dim) > 0; });
    }
    if (op == "Transpose") {
      const Tensor* order = Constant(node, 1);
      return OthersAreFixed(node, 0) && order != nullptr && order->num_elements() > 0 && Integers(*order)[0] == 0;
    }
    if (op == "ConcatV2") {
      const size_t axis = node.inputs.size() - 1;
      for (size_t i = 0; i < axis; ++i) {
        if (In(node, i) != Rows::kIndependent) return false;
      }
      return AvoidsFirst(Constant(node, axis), Rank(node, 0));
    }
    if (op == "Pad" || op == "PadV2" || op == "MirrorPad") {
      const Tensor* paddings = Constant(node, 1);
      if (!OthersAreFixed(node, 0) || paddings == nullptr || paddings->num_elements() < 2) return false;
      const std::vector<int64_t> sizes = Integers(*paddings);
      return sizes[0] == 0 && sizes[1] == 0;
    }
    if (op == "GatherV2") {
      const Tensor* axis = Constant(node, 2);
      return OthersAreFixed(node, 1) && axis != nullptr && Integers(*axis)[0] == 0 &&
             node.Attr<int64_t>("batch_dims").value_or(1) == 0;
    }
    if (op == "ResourceGather") return OthersAreFixed(node, 1) && node.Attr<int64_t>("batch_dims").value_or(1) == 0;
    if (op == "LookupTableFindV2") return OthersAreFixed(node, 1);
    if (op == "OneHot") return OthersAreFixed(node, 0) && node.Attr<int64_t>("axis").value_or(0) == -1;
    return false;
  }

  Graph& graph_;
  RewriteContext context_;
  std::vector<Rows> rows_;  // by node; of all its outputs
};

}  // namespace

StatusOr<std::vector<bool>> FindRowIndependence(const Graph& graph, const StepSignature& step) {
  WEIR_ASSIGN_OR_RETURN(Graph pruned, PruneGraph(graph, step));
  WEIR_RETURN_IF_ERROR(InlineFunctions(&pruned));
  return Analysis(&pruned).Run(step.fetches.size());
}

}  // namespace weir
