#include "weir/passes/attention_pattern.h"

#include <algorithm>
#include <cmath>

#include "weir/passes/dimension_sources.h"
#include "weir/passes/mask_factors.h"
#include "weir/tensor/number.h"

namespace weir {
namespace {

// Scores that are so much lower than others get no weight at all.
constexpr double kHidden = -1e4;

// x times y, summed over the axes that the result lacks.
struct Product {
  const Node* node = nullptr;
  std::string x, y, out;  // a letter for each axis, in no meaning yet
};
// A product as one looks at it from an operand whose axes are known.
struct SeenProduct {
  AttentionOperand other;
  std::string out;
};
// What lies between the scores and the softmax.
struct Chain {
  double scale = 1;
  bool is_causal = false, is_mask_inverted = false;
  Endpoint mask{kNoNode, 0};
  std::vector<int64_t> mask_expansions;
  Endpoint condition{kNoNode, 0};  // of a selection, all of it
  double mask_value = 0;
  std::optional<Product> product;
};

bool IsSmallFloat(DType dtype) { return dtype == DType::kFloat || dtype == DType::kHalf || dtype == DType::kBFloat16; }

bool Holds(const std::string& axes, char axis) { return axes.find(axis) != std::string::npos; }

// "abc,cd->abd", where every letter is in two of the three parts, or a batch's in all.
std::optional<Product> ParseEquation(const std::string& equation) {
  Product p;
  std::string* part = &p.x;
  for (size_t i = 0; i < equation.size(); ++i) {
    const char c = equation[i];
    if (c == ',' && part == &p.x) {
      part = &p.y;
    } else if (c == '-' && part == &p.y && i + 1 < equation.size() && equation[i + 1] == '>') {
      part = &p.out;
      ++i;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      if (Holds(*part, c)) return std::nullopt;
      *part += c;
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  if (part != &p.out) return std::nullopt;
  for (char c : p.x + p.y + p.out) {
    if (Holds(p.x, c) + Holds(p.y, c) + Holds(p.out, c) < 2) return std::nullopt;
  }
  return p;
}

class AttentionFinder {
 public:
  AttentionFinder(RewriteContext& context, const Node& softmax)
      : context_(context), graph_(context.graph()), sources_(context), softmax_(softmax) {}

  std::optional<AttentionPattern> Find() {
    if (!context_.MayRewrite(softmax_) || !softmax_.control_inputs.empty()) return std::nullopt;
    const std::optional<Chain> chain = Descend(softmax_.inputs[0], softmax_, Chain());
    if (!chain || !ReadScores(*chain)) return std::nullopt;
    if (!ReadWeights()) return std::nullopt;
    return found_;
  }

 private:
  // --- products
  std::optional<Product> ProductOf(const Node& node) {
    if (!context_.MayRewrite(node) || node.num_outputs() != 1) return std::nullopt;
    for (Endpoint input : node.inputs) {
      if (graph_.type(input) != node.output_type(0)) return std::nullopt;
    }
    std::optional<Product> product;
    if (node.op() == "Einsum" && node.inputs.size() == 2) {
      product = ParseEquation(node.Attr<std::string>("equation").value_or(""));
    } else if (node.op() == "BatchMatMul" || node.op() == "BatchMatMulV2" || node.op() == "BatchMatMulV3") {
      product = BatchProduct(node);
    }
    if (product) product->node = &node;
    return product;
  }
  std::optional<Product> BatchProduct(const Node& node) {
    const PartialShape x = context_.ShapeOf(node.inputs[0]), y = context_.ShapeOf(node.inputs[1]);
    if (x.rank() < 3 || x.rank() != y.rank()) return std::nullopt;
    Product product;
    for (int i = 0; i + 2 < x.rank(); ++i) {
      // One batch for all of the other's is no attention's.
      if (!sources_.AreEqual(node.inputs[0], i, node.inputs[1], i)) return std::nullopt;
      product.x += static_cast<char>('A' + i);
    }
    product.y = product.out = product.x;
    product.x += node.Attr<bool>("adj_x").value_or(false) ? "km" : "mk";
    product.y += node.Attr<bool>("adj_y").value_or(false) ? "nk" : "kn";
    product.out += "mn";
    return product;
  }
  // Names the axes by those of the first or second operand; the one axis that this lacks is called d, or what is given.
  static std::string Rename(const std::string& letters, const std::string& from, const std::string& to, char rest) {
    std::string out;
    for (char c : letters) {
      const size_t at = from.find(c);
      out += at == std::string::npos ? rest : to[at];
    }
    return out;
  }
  AttentionOperand Operand(Endpoint tensor, const std::string& axes) {
    AttentionOperand operand{tensor, tensor, axes, axes};
    while (true) {
      const Node& node = *graph_.node(operand.base.node);
      if (node.op() != "Transpose" || !node.control_inputs.empty()) return operand;
      const Tensor& order = context_.ValueOf(node.inputs[1]);
      if (!order.has_value() || order.num_elements() != std::ssize(axes)) return operand;
      std::string before(axes.size(), ' ');
      for (size_t i = 0; i < axes.size(); ++i) {
        int64_t at = order.dtype() == DType::kInt32 ? order.data<int32_t>()[i] : order.data<int64_t>()[i];
        if (at < 0) at += std::ssize(axes);
        if (at < 0 || at >= std::ssize(axes)) return operand;
        before[static_cast<size_t>(at)] = operand.base_axes[i];
      }
      operand.base = node.inputs[0];
      operand.base_axes = before;
    }
  }
  // From an operand with known axes.
  std::optional<SeenProduct> See(const Product& p, Endpoint known, const std::string& axes) {
    const bool is_x = p.node->inputs[0] == known;
    const std::string &mine = is_x ? p.x : p.y, &others = is_x ? p.y : p.x;
    if (mine.size() != axes.size() || p.node->inputs[0] == p.node->inputs[1]) return std::nullopt;
    std::string other = Rename(others, mine, axes, 'd');
    if (std::ranges::count(other, 'd') != 1) return std::nullopt;
    return SeenProduct{Operand(p.node->inputs[is_x ? 1 : 0], other), Rename(p.out, mine, axes, 'd')};
  }
  static bool HasAxes(const std::string& axes, std::string wanted) { return std::ranges::is_permutation(axes, wanted); }
  // With or without heads.
  std::string Axes(char time) const {
    return has_heads_ ? std::string("bh") + time + "d" : std::string("b") + time + "d";
  }

  // --- the way from the softmax to the scores
  // Whether only `taker` takes the tensor, and its node may go.
  bool IsOnlyFor(Endpoint tensor, const Node& taker) {
    const Node& node = *graph_.node(tensor.node);
    return context_.MayRewrite(node) && node.control_inputs.empty() && context_.OnlyConsumer(tensor) == &taker;
  }
  std::optional<double> Scalar(Endpoint tensor) {
    const Tensor* value = context_.ConstantOf(tensor);
    if (value == nullptr || value->num_elements() != 1 || !IsSmallFloat(value->dtype())) return std::nullopt;
    return ValueAt(*value, 0);
  }
  static double ValueAt(const Tensor& tensor, int64_t i) {
    switch (tensor.dtype()) {
      case DType::kHalf:
        return static_cast<float>(tensor.data<Half>()[i]);
      case DType::kBFloat16:
        return static_cast<float>(tensor.data<BFloat16>()[i]);
      default:
        return tensor.data<float>()[i];
    }
  }
  // A scalar, or a constant that has one value only.
  std::optional<double> Uniform(Endpoint tensor) {
    const Tensor* value = context_.ConstantOf(tensor);
    if (value == nullptr || value->num_elements() == 0 || !IsSmallFloat(value->dtype())) return std::nullopt;
    const double first = ValueAt(*value, 0);
    for (int64_t i = 1; i < value->num_elements(); ++i) {
      if (ValueAt(*value, i) != first) return std::nullopt;
    }
    return first;
  }
  // Whether the operand leaves the other's shape as it is when they are broadcast.
  bool Broadcasts(Endpoint operand, Endpoint to) {
    const PartialShape small = context_.ShapeOf(operand), large = context_.ShapeOf(to);
    if (!small.has_rank() || !large.has_rank() || small.rank() > large.rank()) return false;
    for (int i = 1; i <= small.rank(); ++i) {
      const int at = small.rank() - i;
      if (small.dim(at) != 1 && !sources_.AreEqual(operand, at, to, large.rank() - i)) return false;
    }
    return true;
  }

  // From `tensor`, which `taker` takes, to the product. What was met on the way is in `chain`.
  std::optional<Chain> Descend(Endpoint tensor, const Node& taker, Chain chain) {
    const Node& node = *graph_.node(tensor.node);
    if (!IsOnlyFor(tensor, taker) || !IsSmallFloat(graph_.type(tensor))) return std::nullopt;
    if ((chain.product = ProductOf(node))) return chain;
    if (node.op() == "Cast") {
      if (node.Attr<bool>("Truncate").value_or(false)) return std::nullopt;
      return Descend(node.inputs[0], node, std::move(chain));
    }
    if (node.op() == "Mul" || node.op() == "RealDiv" || node.op() == "Div") {
      const bool divides = node.op() != "Mul";
      for (int i : {1, 0}) {
        const std::optional<double> factor = Scalar(node.inputs[i]);
        if (!factor || (divides && i == 0) || !Broadcasts(node.inputs[i], node.inputs[1 - i])) continue;
        chain.scale = divides ? chain.scale / *factor : chain.scale * *factor;
        return Descend(node.inputs[1 - i], node, std::move(chain));
      }
      return std::nullopt;
    }
    if (node.op() == "AddV2" || node.op() == "Add") {
      for (int i : {1, 0}) {
        Chain with_mask = chain;
        if (!Broadcasts(node.inputs[i], node.inputs[1 - i]) ||
            !AddMask(node.inputs[i], node.inputs[1 - i], with_mask)) {
          continue;
        }
        if (auto found = Descend(node.inputs[1 - i], node, std::move(with_mask))) return found;
      }
      return std::nullopt;
    }
    if (node.op() == "SelectV2") {
      for (int kept : {1, 2}) {
        const Endpoint scores = node.inputs[kept], hidden = node.inputs[3 - kept];
        Chain with_mask = chain;
        if (!Broadcasts(node.inputs[0], scores) || !Broadcasts(hidden, scores) ||
            !SelectMask(node.inputs[0], kept == 2, hidden, scores, with_mask)) {
          continue;
        }
        return Descend(scores, node, std::move(with_mask));
      }
    }
    return std::nullopt;
  }
  bool AddMask(Endpoint mask, Endpoint scores, Chain& chain) {
    const double scale = chain.scale;  // of what comes after the mask
    if (const Tensor* value = context_.ConstantOf(mask); value != nullptr && scale > 0) {
      auto hides = [&](int64_t i, bool is_later) {
        const double x = ValueAt(*value, i) * scale;
        return is_later ? x <= kHidden : x == 0;
      };
      if (!chain.is_causal && IsCausal(*value, scores, hides)) return chain.is_causal = true;
    }
    if (chain.mask.node != kNoNode || scale != 1 || !MayReshape(mask)) return false;
    if (!IsSmallFloat(graph_.type(mask))) return false;
    chain.mask = mask;
    return true;
  }
  bool SelectMask(Endpoint condition, bool is_inverted, Endpoint hidden, Endpoint scores, Chain& chain) {
    const std::optional<double> value = Uniform(hidden);
    if (!value || chain.scale <= 0) return false;
    const double scaled = *value * chain.scale;
    if (!(scaled <= kHidden) || chain.condition.node != kNoNode) return false;
    chain.condition = condition;
    chain.is_mask_inverted = is_inverted;
    MaskFactor rest{.tensor = condition};
    if (const Tensor* kept = context_.ConstantOf(condition); kept != nullptr) {
      auto hides = [&](int64_t i, bool is_later) { return kept->data<bool>()[i] == (is_later == is_inverted); };
      if (!chain.is_causal && IsCausal(*kept, scores, hides)) return chain.is_causal = true;
    } else if (!is_inverted) {
      bool is_causal = chain.is_causal;
      int others = 0;
      for (MaskFactor& factor : FactorsOfMask(context_, condition)) {
        if (factor.kind == MaskFactor::Kind::kTrue) continue;
        if (factor.kind == MaskFactor::Kind::kNoLater && !is_causal && IsLargeAs(factor.tensor, scores)) {
          is_causal = true;
        } else if (others++ == 0) {
          rest = std::move(factor);
        }
      }
      if (others <= 1) chain.is_causal = is_causal;
      if (others == 0) return is_causal;
      if (others > 1) rest = {.tensor = condition};
    }
    // With infinity alone, a query without keys would give NaN.
    if (chain.mask.node != kNoNode || !std::isfinite(scaled)) return false;
    if (!MayReshape(rest.tensor) || !BroadcastsExpanded(rest, scores)) return false;
    chain.mask = rest.tensor;
    chain.mask_expansions = rest.expansions;
    chain.mask_value = scaled;
    return true;
  }
  // Whether the last two dimensions are known to be those of the scores.
  bool IsLargeAs(Endpoint mask, Endpoint scores) {
    const PartialShape small = context_.ShapeOf(mask), large = context_.ShapeOf(scores);
    if (small.rank() < 2 || large.rank() < 2) return false;
    for (int i : {1, 2}) {
      const int64_t dim = small.dim(small.rank() - i);
      if (dim <= 0 || dim != large.dim(large.rank() - i)) return false;
    }
    return true;
  }
  bool BroadcastsExpanded(const MaskFactor& mask, Endpoint to) {
    const PartialShape small = context_.ShapeOf(mask.tensor), large = context_.ShapeOf(to);
    std::vector<int> axes;  // of the tensor; -1: of one element
    for (int i = 0; i < small.rank(); ++i) axes.push_back(i);
    for (int64_t axis : mask.expansions) axes.insert(axes.begin() + axis, -1);
    if (!large.has_rank() || std::ssize(axes) > large.rank()) return false;
    const int skipped = large.rank() - static_cast<int>(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] < 0 || small.dim(axes[i]) == 1) continue;
      if (!sources_.AreEqual(mask.tensor, axes[i], to, skipped + static_cast<int>(i))) return false;
    }
    return true;
  }
  // Whether the mask can be given four dimensions.
  bool MayReshape(Endpoint mask) {
    const PartialShape& shape = context_.ShapeOf(mask);
    return shape.has_rank() && (shape.rank() == 4 || std::ranges::count(shape.dims(), PartialShape::kUnknown) <= 1);
  }
  // Whether a constant hides from every query what is later, and that alone.
  template <typename Hides>
  bool IsCausal(const Tensor& mask, Endpoint scores, Hides hides) {
    const Shape& shape = mask.shape();
    const PartialShape whole = context_.ShapeOf(scores);
    if (shape.rank() < 2 || whole.rank() < 2) return false;
    const int64_t queries = shape.dim(shape.rank() - 2), keys = shape.dim(shape.rank() - 1);
    if (queries * keys != shape.num_elements() || queries != whole.dim(whole.rank() - 2) ||
        keys != whole.dim(whole.rank() - 1)) {
      return false;
    }
    for (int64_t i = 0; i < queries * keys; ++i) {
      if (!hides(i, i % keys > i / keys)) return false;
    }
    return true;
  }

  bool ReadScores(const Chain& chain) {
    const Product& p = *chain.product;
    if (!(chain.scale > 0) || !std::isfinite(chain.scale)) return false;
    if (p.out.size() != 3 && p.out.size() != 4) return false;
    has_heads_ = p.out.size() == 4;
    scores_axes_ = has_heads_ ? "bhqk" : "bqk";
    const std::string x = Rename(p.x, p.out, scores_axes_, 'd'), y = Rename(p.y, p.out, scores_axes_, 'd');
    const bool x_is_query = HasAxes(x, Axes('q')) && HasAxes(y, Axes('k'));
    if (!x_is_query && !(HasAxes(x, Axes('k')) && HasAxes(y, Axes('q')))) return false;
    const AttentionOperand first = Operand(p.node->inputs[0], x), second = Operand(p.node->inputs[1], y);
    found_.query = x_is_query ? first : second;
    found_.key = x_is_query ? second : first;
    found_.dtype = p.node->output_type(0);
    found_.scale = static_cast<float>(chain.scale);
    found_.is_causal = chain.is_causal;
    found_.mask = chain.mask;
    found_.mask_expansions = chain.mask_expansions;
    condition_ = chain.condition;
    found_.is_mask_inverted = chain.is_mask_inverted;
    found_.mask_value = static_cast<float>(chain.mask_value);
    return found_.scale > 0 && IsSmallFloat(found_.dtype);
  }

  // --- the softmax's consumers: a product with the values, and what the gradient takes
  bool ReadWeights() {
    std::vector<Node*> multiplications;
    std::vector<Product> products;
    if (!Collect({softmax_.id, 0}, multiplications, products)) return false;
    std::optional<Product> flow_product;  // of the weights and the gradient of the output
    for (const Product& product : products) {
      const Endpoint known = WeightsIn(product);
      const std::optional<SeenProduct> seen = See(product, known, scores_axes_);
      if (!seen || product.node->output_type(0) != found_.dtype) return false;
      if (found_.output == kNoNode && HasAxes(seen->other.axes, Axes('k')) && HasAxes(seen->out, Axes('q'))) {
        found_.value = seen->other;
        found_.output = product.node->id;
        found_.output_axes = seen->out;
      } else if (!flow_product && HasAxes(seen->other.axes, Axes('q')) && HasAxes(seen->out, Axes('k'))) {
        flow_product = product;
      } else {
        return false;
      }
    }
    if (found_.output == kNoNode || !HaveOneSize(found_.key, found_.value)) return false;
    if (multiplications.empty()) return !flow_product;
    return ReadGradient(multiplications, flow_product);
  }
  // All that takes the weights, also behind casts.
  bool Collect(Endpoint weights, std::vector<Node*>& multiplications, std::vector<Product>& products) {
    weights_.push_back(weights);
    for (const Consumers::Use& use : context_.consumers().of(weights.node)) {
      Node* node = graph_.node(use.consumer);
      if (use.input < 0 || !context_.MayRewrite(*node) || !context_.AreTogether(softmax_, *node)) return false;
      if (node->op() == "Cast") {
        if (!node->control_inputs.empty() || node->Attr<bool>("Truncate").value_or(false) ||
            !Collect({node->id, 0}, multiplications, products)) {
          return false;
        }
      } else if (std::optional<Product> product = ProductOf(*node)) {
        products.push_back(*std::move(product));
      } else if (node->op() == "Mul" && weights == Endpoint{softmax_.id, 0}) {
        multiplications.push_back(node);
      } else {
        return false;
      }
    }
    return true;
  }
  Endpoint WeightsIn(const Product& product) const {
    const Endpoint first = product.node->inputs[0];
    return std::ranges::count(weights_, first) > 0 ? first : product.node->inputs[1];
  }
  bool HaveOneSize(const AttentionOperand& a, const AttentionOperand& b) {
    const PartialShape x = context_.ShapeOf(a.tensor), y = context_.ShapeOf(b.tensor);
    if (!x.has_rank() || !y.has_rank()) return false;
    const int64_t size = x.dim(static_cast<int>(a.axes.find('d')));
    return size > 0 && size == y.dim(static_cast<int>(b.axes.find('d')));
  }
  static bool AreSame(const AttentionOperand& a, const AttentionOperand& b) {
    return a.base == b.base && a.base_axes == b.base_axes;
  }

  // weights * (flow - sum(weights * flow)), where `flow` is a product of the output's gradient and the values, and what
  // leads from there to the gradients of queries and keys.
  bool ReadGradient(const std::vector<Node*>& multiplications, const std::optional<Product>& flow_product) {
    if (multiplications.size() != 2) return false;
    const Endpoint weights{softmax_.id, 0};
    auto other_of = [&](const Node& node) { return node.inputs[0] == weights ? node.inputs[1] : node.inputs[0]; };
    for (int first : {0, 1}) {
      const Node &inner = *multiplications[first], &outer = *multiplications[1 - first];
      const Endpoint flow = other_of(inner), difference = other_of(outer);
      const Node& minus = *graph_.node(difference.node);
      if (minus.op() != "Sub" || minus.inputs[0] != flow || flow == weights || !IsOnlyFor(difference, outer)) continue;
      const Node& sum = *graph_.node(minus.inputs[1].node);
      if (sum.op() != "Sum" || sum.inputs[0] != Endpoint{inner.id, 0} || !IsOnlyFor(minus.inputs[1], minus) ||
          !IsOnlyFor(sum.inputs[0], sum) || !SumsRows(sum) || !outer.control_inputs.empty()) {
        continue;
      }
      found_.gradient.emplace();
      return ReadFlow(flow, {&inner, &minus}, flow_product) && ReadSlopes({outer.id, 0});
    }
    return false;
  }
  bool SumsRows(const Node& sum) {
    const Tensor& axis = context_.ValueOf(sum.inputs[1]);
    if (!sum.Attr<bool>("keep_dims").value_or(false) || !axis.has_value() || axis.num_elements() != 1) return false;
    const int64_t value = axis.dtype() == DType::kInt32 ? axis.data<int32_t>()[0] : axis.data<int64_t>()[0];
    return value == -1 || value + 1 == std::ssize(scores_axes_);
  }
  bool IsOnlyForThese(Endpoint tensor, std::vector<const Node*> takers) {
    const Node& node = *graph_.node(tensor.node);
    if (!context_.MayRewrite(node) || !node.control_inputs.empty() || node.num_outputs() != 1) return false;
    std::span<const Consumers::Use> uses = context_.consumers().of(node.id);
    return std::ranges::all_of(uses, [&](const Consumers::Use& use) {
      return use.input >= 0 && std::ranges::count(takers, graph_.node(use.consumer)) > 0;
    });
  }
  bool ReadFlow(Endpoint flow, std::vector<const Node*> takers, const std::optional<Product>& flow_product) {
    std::optional<Product> product;
    while (true) {
      const Node& node = *graph_.node(flow.node);
      if (!IsOnlyForThese(flow, std::move(takers))) return false;
      if ((product = ProductOf(node))) break;
      if (node.op() != "Cast" || node.Attr<bool>("Truncate").value_or(false)) return false;
      takers = {&node};
      flow = node.inputs[0];
    }
    if (product->node->output_type(0) != found_.dtype || product->out.size() != scores_axes_.size()) return false;
    const std::string x = Rename(product->x, product->out, scores_axes_, 'd'),
                      y = Rename(product->y, product->out, scores_axes_, 'd');
    const bool x_is_flow = HasAxes(x, Axes('q')) && HasAxes(y, Axes('k'));
    if (!x_is_flow && !(HasAxes(x, Axes('k')) && HasAxes(y, Axes('q')))) return false;
    const AttentionOperand first = Operand(product->node->inputs[0], x), second = Operand(product->node->inputs[1], y);
    AttentionGradient& gradient = *found_.gradient;
    gradient.flow = x_is_flow ? first : second;
    if (!AreSame(x_is_flow ? second : first, found_.value)) return false;
    if (!flow_product) return true;
    const std::optional<SeenProduct> seen = See(*flow_product, WeightsIn(*flow_product), scores_axes_);
    if (!AreSame(seen->other, gradient.flow)) return false;
    gradient.value = flow_product->node->id;
    gradient.value_axes = seen->out;
    return true;
  }
  // From the gradient of the softmax's input to that of the scores, and the products that take it.
  bool ReadSlopes(Endpoint slopes) {
    double scale = 1;
    bool has_select = false;
    std::vector<Product> products;
    while (products.empty()) {
      Node* next = nullptr;
      for (const Consumers::Use& use : context_.consumers().of(slopes.node)) {
        Node* node = graph_.node(use.consumer);
        if (use.input < 0 || !context_.MayRewrite(*node) || !context_.AreTogether(softmax_, *node)) return false;
        if (std::optional<Product> product = ProductOf(*node)) {
          products.push_back(*std::move(product));
        } else if (next == nullptr) {
          next = node;
        } else {
          return false;
        }
      }
      if (!products.empty()) {
        if (next != nullptr) return false;
        break;
      }
      if (next == nullptr || !next->control_inputs.empty() || !Step(*next, slopes, scale, has_select)) return false;
      slopes = {next->id, 0};
    }
    if (std::abs(scale - found_.scale) > 1e-5 * found_.scale) return false;
    const bool is_select = found_.mask.node != kNoNode && graph_.type(found_.mask) == DType::kBool;
    if (is_select && !has_select) return false;
    AttentionGradient& gradient = *found_.gradient;
    for (const Product& product : products) {
      const std::optional<SeenProduct> seen = See(product, slopes, scores_axes_);
      if (!seen || product.node->output_type(0) != found_.dtype) return false;
      if (gradient.query == kNoNode && AreSame(seen->other, found_.key) && HasAxes(seen->out, Axes('q'))) {
        gradient.query = product.node->id;
        gradient.query_axes = seen->out;
      } else if (gradient.key == kNoNode && AreSame(seen->other, found_.query) && HasAxes(seen->out, Axes('k'))) {
        gradient.key = product.node->id;
        gradient.key_axes = seen->out;
      } else {
        return false;
      }
    }
    return true;
  }
  // One operation on the way of the gradient back to the scores.
  bool Step(const Node& node, Endpoint slopes, double& scale, bool& has_select) {
    if (!IsSmallFloat(node.output_type(0))) return false;
    if (node.op() == "Cast") return !node.Attr<bool>("Truncate").value_or(false);
    if (node.op() == "Mul" || node.op() == "RealDiv" || node.op() == "Div") {
      const bool divides = node.op() != "Mul";
      const int at = node.inputs[0] == slopes ? 0 : 1;
      const std::optional<double> factor = Scalar(node.inputs[1 - at]);
      if (!factor || (divides && at == 1) || !Broadcasts(node.inputs[1 - at], slopes)) return false;
      scale = divides ? scale / *factor : scale * *factor;
      return true;
    }
    if (node.op() != "SelectV2") return false;
    const int at = node.inputs[1] == slopes ? 1 : 2;
    if (Uniform(node.inputs[3 - at]) != 0.0 || node.inputs[3 - at] == slopes) return false;
    if (!Broadcasts(node.inputs[3 - at], slopes) || !Broadcasts(node.inputs[0], slopes)) return false;
    if (node.inputs[0] == condition_) {
      has_select = true;
      return (at == 2) == found_.is_mask_inverted;
    }
    // What a causal mask hides has no gradient anyway.
    const Tensor* kept = found_.is_causal ? context_.ConstantOf(node.inputs[0]) : nullptr;
    if (kept == nullptr) return false;
    return IsCausal(*kept, slopes,
                    [&](int64_t i, bool is_later) { return kept->data<bool>()[i] == (is_later == (at == 2)); });
  }

  RewriteContext& context_;
  Graph& graph_;
  DimensionSources sources_;
  const Node& softmax_;
  bool has_heads_ = true;
  std::string scores_axes_;
  Endpoint condition_{kNoNode, 0};
  std::vector<Endpoint> weights_;  // the softmax's result, and casts of it
  AttentionPattern found_;
};

}  // namespace

std::optional<AttentionPattern> FindAttention(RewriteContext& context, const Node& softmax) {
  return AttentionFinder(context, softmax).Find();
}

}  // namespace weir
