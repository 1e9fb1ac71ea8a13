#include "weir/device/cpu/rewrites/fold_transposes.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace weir {
namespace {

constexpr int64_t kShortest = 16;    // a row, for it to be read well
constexpr double kFewest = 500'000;  // multiplications of a product, for a copy to matter

using Ints = std::vector<int64_t>;

bool IsBatchProduct(const Node& node) { return node.schema->contraction == Contraction::kBatchProduct; }

// An operand as part of another tensor.
struct View {
  Endpoint base;
  Ints perm;
  int64_t slice = -1;
  bool is_folded = false;
};

// True if a transpose moves nothing but dimensions of one element: it copies nothing anyway.
bool IsInOrder(const Shape& shape, const Ints& perm) {
  int64_t last = -1;
  for (int64_t d : perm) {
    if (shape.dim(static_cast<int>(d)) == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

class TransposeFolder {
 public:
  explicit TransposeFolder(RewriteContext& context)
      : context_(context), graph_(context.graph()), consumers_(context.consumers()) {}

  Status Run() {
    std::vector<NodeId> products;
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr && IsGoodProduct(*node)) products.push_back(node->id);
    }
    is_product_.assign(graph_.num_node_ids(), false);
    for (NodeId id : products) is_product_[id] = true;
    for (NodeId id : products) WEIR_RETURN_IF_ERROR(Fold(graph_.node(id)));
    return OkStatus();
  }

 private:
  std::optional<Shape> ShapeOf(Endpoint tensor) const { return context_.KnownShape(tensor); }

  bool IsGoodProduct(const Node& node) const {
    if (!IsBatchProduct(node) || !context_.MayRewrite(node)) return false;
    if (graph_.type(node.inputs[0]) != DType::kFloat || graph_.type(node.inputs[1]) != DType::kFloat ||
        node.output_type(0) != DType::kFloat) {
      return false;
    }
    const std::optional<Shape> a = ShapeOf(node.inputs[0]), b = ShapeOf(node.inputs[1]), out = ShapeOf({node.id, 0});
    if (!a || !b || !out || a->rank() < 3 || a->rank() > 4 || b->rank() != a->rank()) return false;
    const int batch = a->rank() - 2;
    if (!(a->Slice(0, batch) == b->Slice(0, batch))) return false;
    for (const Shape* shape : {&*a, &*b}) {
      if (shape->dim(batch) < kShortest || shape->dim(batch + 1) < kShortest) return false;
    }
    const bool* adj_x = node.attrs.Find("adj_x")->get_if<bool>();
    const int64_t depth = a->dim(adj_x != nullptr && *adj_x ? batch : batch + 1);
    return static_cast<double>(out->num_elements()) * static_cast<double>(depth) >= kFewest;
  }

  // The order of a Transpose of floats that copies, if it is known.
  std::optional<Ints> OrderOf(const Node& node) const {
    if (node.op() != "Transpose" || !node.control_inputs.empty() || !context_.MayRewrite(node)) return std::nullopt;
    const std::optional<Shape> shape = ShapeOf(node.inputs[0]);
    const Tensor& order = context_.ValueOf(node.inputs[1]);
    if (!shape || !ShapeOf({node.id, 0}) || !order.has_value()) return std::nullopt;
    Ints perm;
    if (order.dtype() == DType::kInt32) {
      perm.assign(order.span<int32_t>().begin(), order.span<int32_t>().end());
    } else {
      perm.assign(order.span<int64_t>().begin(), order.span<int64_t>().end());
    }
    for (int64_t& d : perm) d += d < 0 ? shape->rank() : 0;
    return IsInOrder(*shape, perm) ? std::nullopt : std::optional(perm);
  }

  // True if all that takes the node's results are operands of products.
  bool IsOnlyForProducts(const Node& node) const {
    return std::ranges::all_of(consumers_.of(node.id), [&](const Consumers::Use& use) {
      return use.input >= 0 && is_product_[use.consumer] && context_.AreTogether(node, *graph_.node(use.consumer));
    });
  }

  bool IsUnpackOfFirst(const Node& node) const {
    if (node.op() != "Unpack" || !node.control_inputs.empty()) return false;
    const Attribute* axis = node.attrs.Find("axis");
    const int64_t* value = axis == nullptr ? nullptr : axis->get_if<int64_t>();
    return axis == nullptr || (value != nullptr && *value == 0);
  }

  // What a tensor is of the one before the Transpose it comes from; the tensor itself if that cannot be left out.
  View ViewOf(Endpoint tensor) const {
    View itself{tensor, Ints(static_cast<size_t>(ShapeOf(tensor)->rank()))};
    std::iota(itself.perm.begin(), itself.perm.end(), 0);
    const Node* node = graph_.node(tensor.node);
    View view;
    if (IsUnpackOfFirst(*node)) {
      if (!IsOnlyForProducts(*node)) return itself;
      view.slice = tensor.index;
      const Node* transpose = graph_.node(node->inputs[0].node);
      if (!context_.AreTogether(*node, *transpose) || consumers_.of(transpose->id).size() != 1) return itself;
      node = transpose;
    } else if (!IsOnlyForProducts(*node)) {
      return itself;
    }
    std::optional<Ints> perm = OrderOf(*node);
    if (!perm) return itself;
    // The last dimension of the tensor, whose elements are neighbours, must be one of the matrices'.
    const size_t rank = perm->size(), first = view.slice >= 0 ? 1 : 0;
    const int64_t last = static_cast<int64_t>(rank) - 1;
    if (rank - first < 3 || rank - first > 4 || ((*perm)[rank - 1] != last && (*perm)[rank - 2] != last)) return itself;
    view.base = node->inputs[0];
    view.perm = std::move(*perm);
    view.is_folded = true;
    return view;
  }

  // The Transpose that alone takes a product's result, if the product may write as it does.
  Node* TransposeOf(const Node& product, Ints& perm) const {
    std::span<const Consumers::Use> uses = consumers_.of(product.id);
    if (uses.size() != 1 || uses[0].input != 0) return nullptr;
    Node* node = graph_.node(uses[0].consumer);
    std::optional<Ints> order = OrderOf(*node);
    if (!order || !context_.AreTogether(*node, product) || order->back() != static_cast<int64_t>(order->size()) - 1)
      return nullptr;
    perm = std::move(*order);
    return node;
  }

  Status Fold(Node* product) {
    const View x = ViewOf(product->inputs[0]), y = ViewOf(product->inputs[1]);
    Ints perm_output(static_cast<size_t>(ShapeOf({product->id, 0})->rank()));
    std::iota(perm_output.begin(), perm_output.end(), 0);
    Node* transpose = TransposeOf(*product, perm_output);
    if (!x.is_folded && !y.is_folded && transpose == nullptr) return OkStatus();
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    for (std::string_view name : {"adj_x", "adj_y"}) attrs.Set(name, *product->attrs.Find(name));
    attrs.Set("perm_x", AttrList{.i = x.perm});
    attrs.Set("slice_x", x.slice);
    attrs.Set("perm_y", AttrList{.i = y.perm});
    attrs.Set("slice_y", y.slice);
    attrs.Set("perm_output", AttrList{.i = perm_output});
    Node* node = transpose != nullptr ? transpose : product;
    WEIR_ASSIGN_OR_RETURN(node->schema, graph_.ops().LookUp("_BatchMatMulOfViews"));
    node->attrs = std::move(attrs);
    node->inputs = {x.base, y.base};
    if (node != product) node->control_inputs = product->control_inputs;
    return context_.Changed(node);
  }

  RewriteContext& context_;
  Graph& graph_;
  const Consumers& consumers_;
  std::vector<bool> is_product_;  // by node
};

}  // namespace

Status FoldTransposes(RewriteContext& context) {
  bool has_product = false, has_transpose = false;
  for (const auto& node : context.graph().nodes()) {
    if (node == nullptr) continue;
    has_product |= IsBatchProduct(*node);
    has_transpose |= node->op() == "Transpose";
  }
  if (!has_product || !has_transpose || !context.ShapesAgree()) return OkStatus();
  return TransposeFolder(context).Run();
}

}  // namespace weir
