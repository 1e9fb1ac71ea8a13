// Attention that is written out becomes one operation, with its gradient; and what only looks like attention does not.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/emitted_graph.h"
#include "weir/client/gradients.h"
#include "weir/passes/fuse_attention.h"
#include "weir/passes/optimizer.h"
#include "weir/runtime/eager_runtime.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

constexpr int64_t kBatch = 2, kQueries = 5, kKeys = 7, kHeads = 3, kSize = 4;

Tensor Wave(const std::vector<int64_t>& dims, double step) {
  Tensor out = Tensor::Allocate(DType::kFloat, Shape::Make(dims).value()).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  }
  return out;
}

class AttentionFusionTest : public EmittedGraphTest {
 protected:
  // Operands as [batch, heads, time, size] of tensors that lie so.
  void TakeHeadsFirst(int64_t keys = kKeys, DType dtype = DType::kFloat) {
    inputs_ = {Feed(Wave({kBatch, kHeads, kQueries, kSize}, 0.7)), Feed(Wave({kBatch, kHeads, keys, kSize}, 1.1)),
               Feed(Wave({kBatch, kHeads, keys, kSize}, 1.7))};
    Cut(dtype);
  }
  // The same of tensors [batch, time, heads, size].
  void TakeTimesFirst(int64_t keys = kKeys) {
    inputs_ = {Feed(Wave({kBatch, kQueries, kHeads, kSize}, 0.7)), Feed(Wave({kBatch, keys, kHeads, kSize}, 1.1)),
               Feed(Wave({kBatch, keys, kHeads, kSize}, 1.7))};
    for (int i = 0; i < 3; ++i) operands_[i] = Transposed(inputs_[i], {0, 2, 1, 3});
  }
  void Cut(DType dtype) {
    for (int i = 0; i < 3; ++i) operands_[i] = emit::Cast(inputs_[i], dtype);
  }
  Value q() const { return operands_[0]; }
  Value k() const { return operands_[1]; }
  Value v() const { return operands_[2]; }

  Value Transposed(Value x, std::vector<int32_t> order) {
    return emit_.Op("Transpose",
                    {x, emit_.Constant(Tensor::FromSpan<int32_t>(order, {static_cast<int64_t>(order.size())}))});
  }
  Value Product(Value x, Value y, bool adj_x = false, bool adj_y = false) {
    return emit_.Op("BatchMatMulV2", {x, y}, {{"adj_x", adj_x}, {"adj_y", adj_y}});
  }
  Value Einsum(const std::string& equation, Value x, Value y) {
    return emit_.Op("Einsum", {std::vector<Value>{x, y}}, {{"equation", equation}});
  }
  Value Softmax(Value x) { return emit_.Op("Softmax", {x}); }
  Value Number(double value, DType dtype = DType::kFloat) { return emit_.Constant(emit::ScalarTensor(dtype, value)); }
  Value Scores() { return Product(q(), k(), false, true); }
  // A constant of the scores' last two dimensions.
  Value Later(int64_t keys, float later, float seen, std::vector<int64_t> dims = {}) {
    Tensor mask = Tensor::Zeros(DType::kFloat, Shape({kQueries, keys})).value();
    for (int64_t i = 0; i < kQueries * keys; ++i) mask.data<float>()[i] = i % keys > i / keys ? later : seen;
    if (!dims.empty()) mask = mask.Reshaped(Shape::Make(dims).value()).value();
    return emit_.Constant(std::move(mask));
  }
  // Padding: of the second batch only so many keys count; of bool, or numbers.
  Tensor Seen() {
    Tensor seen = Tensor::Allocate(DType::kBool, Shape({kBatch, 1, 1, kKeys})).value();
    for (int64_t i = 0; i < seen.num_elements(); ++i) seen.data<bool>()[i] = i < kKeys + 3;
    return seen;
  }

  enum class Gradient { kNone, kAll, kKeysAlone };
  // Fuses with and without the gradients of all inputs and compares; expects this many nodes.
  void ExpectFused(Value out, int transposes = -1, double tolerance = 2e-4) {
    Check(out, Gradient::kNone, 1, transposes, tolerance);
    Check(out, Gradient::kAll, 1, -1, tolerance);
  }
  void ExpectPlain(Value out, bool with_gradient = true) {
    Check(out, with_gradient ? Gradient::kAll : Gradient::kNone, 0, -1, 1e-4);
  }
  void Check(Value out, Gradient what, int attentions, int transposes = -1, double tolerance = 2e-4,
             const std::vector<Value>& also = {}) {
    SCOPED_TRACE(what == Gradient::kNone ? "forward" : "with the gradient");
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    Graph graph = graph_.Clone();
    std::vector<Endpoint> fetches = {{out.node(), out.index()}};
    for (Value value : also) fetches.push_back({value.node(), value.index()});
    if (what != Gradient::kNone) {
      std::vector<Endpoint> xs;
      for (int i = 0; i < 3; ++i) {
        if (what == Gradient::kAll || i == 1) xs.push_back({inputs_[i].node(), inputs_[i].index()});
      }
      auto flow = AddFlow(graph, fetches[0]);
      ASSERT_TRUE(flow.ok()) << flow.status();
      const Endpoint flows[] = {{(*flow)->id, 0}};
      auto gradients = AddDenseGradients(graph, BuiltinGradients(), std::span(fetches).first(1), xs, flows);
      ASSERT_TRUE(gradients.ok()) << gradients.status();
      std::ranges::copy_if(*gradients, std::back_inserter(fetches), [](Endpoint each) { return each.node >= 0; });
    }
    // What a step has: results are taken by somebody, and shapes are folded.
    std::vector<std::string> names;
    for (Endpoint& fetch : fetches) {
      AttrMap attrs;
      attrs.Set("T", graph.type(fetch));
      auto taker = graph.AddNode({.op = "Snapshot", .attrs = attrs, .inputs = {fetch}});
      ASSERT_TRUE(taker.ok()) << taker.status();
      names.push_back(Cat((*taker)->name, ":0"));
    }
    RemoveAllBut(graph, names);
    const std::vector<Tensor> plain = RunGraph(graph, names);
    RewriteContext context(&graph);
    auto evaluate = [&](const Node& node, std::span<const Tensor> inputs) -> StatusOr<std::vector<Tensor>> {
      WEIR_ASSIGN_OR_RETURN(EagerResult result, eager_.Run(*node.schema, {inputs.begin(), inputs.end()}, node.attrs));
      return std::move(result.outputs);
    };
    ASSERT_TRUE(OptimizeGraph(context, {}, evaluate).ok());
    context.EndPass();
    ASSERT_TRUE(FuseAttention(context).ok());
    context.EndPass();
    EXPECT_EQ(Count(graph, "_Attention"), attentions);
    EXPECT_EQ(Count(graph, "_AttentionGrad"), what == Gradient::kNone ? 0 : attentions);
    if (attentions > 0) {
      EXPECT_EQ(Count(graph, "Softmax"), 0);
      EXPECT_EQ(Count(graph, "BatchMatMulV2") + Count(graph, "Einsum"), 0);
    }
    if (transposes >= 0) {
      EXPECT_EQ(Count(graph, "Transpose"), transposes);
    }
    fused_ = graph.Clone();
    const std::vector<Tensor> fused = RunGraph(graph, names);
    ASSERT_EQ(fused.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectTensorNear(fused[i], plain[i], tolerance, tolerance);
    }
  }
  template <typename T>
  T AttrOf(std::string_view name) {
    for (const auto& node : fused_->nodes()) {
      if (node != nullptr && node->op() == "_Attention") return node->Attr<T>(name).value();
    }
    ADD_FAILURE() << "no _Attention";
    return T();
  }

 private:
  static int Count(const Graph& graph, std::string_view op) {
    return static_cast<int>(
        std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node != nullptr && node->op() == op; }));
  }
  static AttrMap ConstantAttrs(Tensor value) {
    AttrMap attrs;
    attrs.Set("dtype", value.dtype());
    attrs.Set("value", std::move(value));
    return attrs;
  }
  // What flows back into the result; made of it if its shape is not known.
  StatusOr<Node*> AddFlow(Graph& graph, Endpoint out) {
    const DType dtype = graph.type(out);
    const std::optional<Shape> shape = shapes_.Of(out).shape.ToShape();
    if (!shape) {
      AttrMap attrs;
      attrs.Set("T", dtype);
      return graph.AddNode({.op = "Tanh", .attrs = attrs, .inputs = {out}});
    }
    Tensor flow = Wave({shape->dims().begin(), shape->dims().end()}, 2.3);
    if (dtype == DType::kFloat) return graph.AddNode({.op = "Const", .attrs = ConstantAttrs(flow)});
    WEIR_ASSIGN_OR_RETURN(Tensor small, Tensor::Allocate(dtype, *shape));
    for (int64_t i = 0; i < shape->num_elements(); ++i) small.data<BFloat16>()[i] = BFloat16(flow.data<float>()[i]);
    return graph.AddNode({.op = "Const", .attrs = ConstantAttrs(std::move(small))});
  }
  static void RemoveAllBut(Graph& graph, const std::vector<std::string>& names) {
    std::vector<NodeId> keep;
    for (const std::string& name : names) keep.push_back(graph.Find(name.substr(0, name.find(':')))->id);
    RemoveUnused(&graph, keep);
  }
  std::vector<Tensor> RunGraph(const Graph& graph, const std::vector<std::string>& names) {
    SessionOptions options;
    options.rewrites.disable_all = true;
    auto session = Session::Create(environment_, options).value();
    EXPECT_TRUE(session->Extend(graph).ok());
    std::vector<weir::Feed> feeds;
    for (const weir::Feed& feed : feeds_) {
      if (graph.Find(feed.first.substr(0, feed.first.find(':'))) != nullptr) feeds.push_back(feed);
    }
    std::vector<Tensor> out;
    const Status status = session->Run(feeds, names, {}, &out);
    EXPECT_TRUE(status.ok()) << status;
    return out;
  }

 protected:
  std::array<Value, 3> inputs_, operands_;
  std::optional<Graph> fused_;
  EagerRuntime eager_{environment_};
};

TEST_F(AttentionFusionTest, ScaledAfterTheProduct) {
  TakeHeadsFirst();
  ExpectFused(Product(Softmax(emit::Binary("Mul", Scores(), Number(0.5))), v()), 0);
  EXPECT_FLOAT_EQ(AttrOf<float>("scale"), 0.5f);
  EXPECT_FALSE(AttrOf<bool>("causal"));
}

TEST_F(AttentionFusionTest, ScaledBeforeOrByDivision) {
  TakeHeadsFirst();
  ExpectFused(Product(Softmax(emit::Binary("RealDiv", Scores(), Number(2))), v()));
  EXPECT_FLOAT_EQ(AttrOf<float>("scale"), 0.5f);
  Value smaller = emit::Binary("Mul", q(), Number(0.5));
  ExpectFused(Product(Softmax(Product(smaller, k(), false, true)), v()));
  ExpectFused(Product(Softmax(Product(q(), emit::Binary("Mul", Number(0.5), k()), false, true)), v()));
}

TEST_F(AttentionFusionTest, HeadsBehindTimesAreTakenAsTheyLie) {
  TakeTimesFirst();
  Value out = Product(Softmax(emit::Binary("Mul", Scores(), Number(0.5))), v());
  ExpectFused(Transposed(out, {0, 2, 1, 3}), 0);
  EXPECT_FALSE(AttrOf<bool>("heads_first"));
  ExpectFused(out, 1);  // who wants the heads first gets them so
}

TEST_F(AttentionFusionTest, TransposedKeys) {
  TakeHeadsFirst();
  Value turned = Transposed(k(), {0, 1, 3, 2});
  ExpectFused(Product(Softmax(Product(q(), turned)), v()), 0);
}

TEST_F(AttentionFusionTest, EinsumsAsKerasWritesThem) {
  inputs_[0] = operands_[0] = Feed(Wave({kBatch, kQueries, kHeads, kSize}, 0.7));
  inputs_[1] = operands_[1] = Feed(Wave({kBatch, kKeys, kHeads, kSize}, 1.1));
  inputs_[2] = operands_[2] = Feed(Wave({kBatch, kKeys, kHeads, kSize}, 1.7));
  Value scores = Einsum("aecd,abcd->acbe", k(), emit::Binary("Mul", q(), Number(0.5)));
  ExpectFused(Einsum("acbe,aecd->abcd", Softmax(scores), v()), 0);
  EXPECT_FALSE(AttrOf<bool>("heads_first"));
}

TEST_F(AttentionFusionTest, ConstantsThatHideWhatIsLater) {
  TakeHeadsFirst(kQueries);
  Value scaled = emit::Binary("Mul", Scores(), Number(0.5));
  for (float later : {-1e9f, -INFINITY, -1e4f}) {
    ExpectFused(Product(Softmax(emit::Binary("AddV2", scaled, Later(kQueries, later, 0))), v()), 0);
    EXPECT_TRUE(AttrOf<bool>("causal"));
    EXPECT_EQ(AttrOf<int64_t>("masks"), 0);
  }
  ExpectFused(
      Product(Softmax(emit::Binary("AddV2", Later(kQueries, -1e9f, -0.0f, {1, 1, kQueries, kQueries}), scaled)), v()));
  EXPECT_TRUE(AttrOf<bool>("causal"));
  // Before the scale.
  Value masked = emit::Binary("AddV2", Scores(), Later(kQueries, -1e9f, 0));
  ExpectFused(Product(Softmax(emit::Binary("Mul", masked, Number(0.5))), v()));
  EXPECT_TRUE(AttrOf<bool>("causal"));
  EXPECT_FLOAT_EQ(AttrOf<float>("scale"), 0.5f);
}

TEST_F(AttentionFusionTest, SelectionsThatHideWhatIsLater) {
  TakeHeadsFirst(kQueries);
  for (bool inverted : {false, true}) {
    Tensor mask = Tensor::Allocate(DType::kBool, Shape({kQueries, kQueries})).value();
    for (int64_t i = 0; i < mask.num_elements(); ++i) {
      mask.data<bool>()[i] = (i % kQueries > i / kQueries) == inverted;
    }
    Value kept = emit_.Constant(mask), scores = Scores(), low = Number(-1e9);
    Value masked = emit_.Op("SelectV2", {kept, inverted ? low : scores, inverted ? scores : low});
    ExpectFused(Product(Softmax(masked), v()), 0);
    EXPECT_TRUE(AttrOf<bool>("causal"));
    EXPECT_EQ(AttrOf<int64_t>("masks"), 0);
  }
}

TEST_F(AttentionFusionTest, MasksThatAreAdded) {
  TakeHeadsFirst();
  const std::vector<std::vector<int64_t>> shapes = {
      {kBatch, 1, 1, kKeys}, {kQueries, kKeys}, {kKeys}, {kBatch, kHeads, kQueries, kKeys}, {kHeads, 1, kKeys}, {}};
  for (const std::vector<int64_t>& shape : shapes) {
    Value mask = Feed(Wave(shape, 0.9));
    ExpectFused(Product(Softmax(emit::Binary("AddV2", emit::Binary("Mul", Scores(), Number(0.5)), mask)), v()));
    EXPECT_EQ(AttrOf<int64_t>("masks"), 1);
  }
}

TEST_F(AttentionFusionTest, MasksThatChoose) {
  TakeHeadsFirst();
  Tensor seen = Seen(), hidden = Seen();
  for (int64_t i = 0; i < hidden.num_elements(); ++i) hidden.data<bool>()[i] = !seen.data<bool>()[i];
  ExpectFused(Product(Softmax(emit_.Op("SelectV2", {Feed(seen), Scores(), Number(-1e9)})), v()));
  ExpectFused(Product(Softmax(emit_.Op("SelectV2", {Feed(hidden), Number(-1e9), Scores()})), v()));
  EXPECT_EQ(AttrOf<int64_t>("masks"), 1);
}

// A query whose keys are all hidden looks at all of them alike, and its scores get no gradient.
TEST_F(AttentionFusionTest, QueriesWithoutKeys) {
  TakeHeadsFirst();
  Tensor seen = Tensor::Allocate(DType::kBool, Shape({kBatch, 1, kQueries, kKeys})).value();
  for (int64_t i = 0; i < seen.num_elements(); ++i) seen.data<bool>()[i] = i / kKeys % 3 != 1;
  ExpectFused(Product(Softmax(emit_.Op("SelectV2", {Feed(seen), Scores(), Number(-1e9)})), v()), -1, 3e-3);
}

TEST_F(AttentionFusionTest, PaddingAndWhatIsLater) {
  TakeHeadsFirst();
  Value later = emit::Binary("AddV2", Scores(), Later(kKeys, -1e9f, 0));
  ExpectFused(Product(Softmax(emit_.Op("SelectV2", {Feed(Seen()), later, Number(-1e9)})), v()));
  EXPECT_TRUE(AttrOf<bool>("causal"));
  EXPECT_EQ(AttrOf<int64_t>("masks"), 1);
}

TEST_F(AttentionFusionTest, OneHead) {
  inputs_[0] = operands_[0] = Feed(Wave({kBatch, kQueries, kSize}, 0.7));
  inputs_[1] = operands_[1] = Feed(Wave({kBatch, kKeys, kSize}, 1.1));
  inputs_[2] = operands_[2] = Feed(Wave({kBatch, kKeys, kSize}, 1.7));
  ExpectFused(Product(Softmax(emit::Binary("Mul", Scores(), Number(0.5))), v()), 0);
  Tensor seen = Tensor::Allocate(DType::kBool, Shape({kBatch, 1, kKeys})).value();
  for (int64_t i = 0; i < seen.num_elements(); ++i) seen.data<bool>()[i] = i < kKeys + 3;
  ExpectFused(Product(Softmax(emit_.Op("SelectV2", {Feed(seen), Scores(), Number(-1e9)})), v()), 0);
}

TEST_F(AttentionFusionTest, SoftmaxInFloatBetweenSmallProducts) {
  TakeHeadsFirst(kQueries, DType::kBFloat16);
  Value scores = emit::Cast(Scores(), DType::kFloat);
  Value weights = Softmax(emit::Binary("AddV2", emit::Binary("Mul", scores, Number(0.5)), Later(kQueries, -1e9f, 0)));
  ExpectFused(Product(emit::Cast(weights, DType::kBFloat16), v()), 0, 6e-2);
  EXPECT_EQ(AttrOf<DType>("T"), DType::kBFloat16);
  EXPECT_TRUE(AttrOf<bool>("causal"));
}

TEST_F(AttentionFusionTest, AllInBFloat16) {
  TakeHeadsFirst(kKeys, DType::kBFloat16);
  ExpectFused(Product(Softmax(emit::Binary("Mul", Scores(), Number(0.5, DType::kBFloat16))), v()), 0, 6e-2);
}

TEST_F(AttentionFusionTest, TheGradientOfKeysAlone) {
  TakeHeadsFirst();
  Check(Product(Softmax(emit::Binary("Mul", Scores(), Number(0.5))), v()), Gradient::kKeysAlone, 1);
}

TEST_F(AttentionFusionTest, TwoLayers) {
  TakeHeadsFirst(kQueries);
  Value first = Product(Softmax(Scores()), v());
  Value second = Product(Softmax(Product(first, k(), false, true)), first);
  Check(second, Gradient::kAll, 2);
}

// The batch is not known before the step, as in models: it is the same for all that is made of one tensor.
class UnknownBatch : public AttentionFusionTest {
 protected:
  static constexpr int64_t kFeatures = 6;
  Value FeedAnyBatch(Tensor value) {
    PartialShape shape = value.shape();
    shape.set_dim(0, PartialShape::kUnknown);
    Value out = emit_.Op("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", shape}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  }
  // [batch, time, features] as heads, by a flat product.
  Value Project(Value x, double step) {
    const int64_t time = x.shape().dim(1);
    Value weights = emit_.Constant(Wave({kFeatures, kHeads * kSize}, step));
    Value flat = emit::MatMul(emit::Reshape(x, emit::Ints(x, {-1, kFeatures})), weights);
    Value batch = emit_.Op("StridedSlice", {emit::Shape(x), emit::Ints(x, {0}), emit::Ints(x, {1}), emit::Ints(x, {1})},
                           {{"shrink_axis_mask", 1}});
    Value dims =
        emit_.Op("Pack", {std::vector<Value>{batch, emit::Int(x, time), emit::Int(x, kHeads), emit::Int(x, kSize)}});
    return Transposed(emit::Reshape(flat, dims), {0, 2, 1, 3});
  }
};

TEST_F(UnknownBatch, OfOneTensor) {
  Value x = FeedAnyBatch(Wave({kBatch, kQueries, kFeatures}, 0.7));
  inputs_ = {x, x, x};
  operands_ = {Project(x, 0.3), Project(x, 0.5), Project(x, 0.9)};
  Value scores = emit::Binary("AddV2", emit::Binary("Mul", Scores(), Number(0.5)), Later(kQueries, -1e9f, 0));
  Check(Product(Softmax(scores), v()), Gradient::kNone, 1);
  Check(Product(Softmax(scores), v()), Gradient::kKeysAlone, 1);
  EXPECT_TRUE(AttrOf<bool>("causal"));
}

TEST_F(UnknownBatch, WithAMaskOfTheSameBatch) {
  Value x = FeedAnyBatch(Wave({kBatch, kQueries, kFeatures}, 0.7));
  inputs_ = {x, x, x};
  operands_ = {Project(x, 0.3), Project(x, 0.5), Project(x, 0.9)};
  // The features that are positive in the first place say which keys count.
  Value first = emit_.Op("Sum", {x, emit_.Constant(Tensor::Vector<int32_t>({-1}))}, {});
  Value seen = emit_.Op("Greater", {first, Number(-3)});
  Value mask = emit_.Op("ExpandDims", {emit_.Op("ExpandDims", {seen, emit::Int(x, 1)}), emit::Int(x, 1)});
  Check(Product(Softmax(emit_.Op("SelectV2", {mask, Scores(), Number(-1e9)})), v()), Gradient::kKeysAlone, 1, -1, 3e-3);
  EXPECT_EQ(AttrOf<int64_t>("masks"), 1);
}

// As Keras makes them: of shapes that are taken of the scores, joined by conditions that always hold.
TEST_F(UnknownBatch, MasksThatAreComputed) {
  Value x = FeedAnyBatch(Wave({kBatch, kQueries, kFeatures}, 0.7));
  inputs_ = {x, x, x};
  operands_ = {Project(x, 0.3), Project(x, 0.5), Project(x, 0.9)};
  Value scores = emit::Binary("Mul", Scores(), Number(0.5)), yes = emit_.Constant(Tensor::Scalar(true));
  Value batch = emit_.Op("StridedSlice", {emit::Shape(x), emit::Ints(x, {0}), emit::Ints(x, {1}), emit::Ints(x, {1})},
                         {{"shrink_axis_mask", 1}});
  Value square = emit_.Op(
      "Fill", {emit_.Op("Pack", {std::vector<Value>{batch, emit::Int(x, kQueries), emit::Int(x, kQueries)}}), yes});
  auto band = [&](int64_t upper) {
    Value cut =
        emit_.Op("MatrixBandPart", {square, emit::Int(x, -1, DType::kInt64), emit::Int(x, upper, DType::kInt64)});
    return emit_.Op("ExpandDims", {cut, emit::Int(x, 1)});
  };
  auto both = [&](Value a, Value b) { return emit_.Op("LogicalAnd", {a, b}); };
  auto masked = [&](Value mask) { return Product(Softmax(emit_.Op("SelectV2", {mask, scores, Number(-1e9)})), v()); };
  Check(masked(both(emit_.Op("Fill", {emit_.Op("Shape", {scores}), yes}), band(0))), Gradient::kKeysAlone, 1);
  EXPECT_TRUE(AttrOf<bool>("causal"));
  EXPECT_EQ(AttrOf<int64_t>("masks"), 0);
  Value sum = emit_.Op("Sum", {x, emit_.Constant(Tensor::Vector<int32_t>({-1}))}, {});
  Value seen =
      emit_.Op("ExpandDims",
               {emit_.Op("ExpandDims", {emit_.Op("Greater", {sum, Number(-3)}), emit::Int(x, 1)}), emit::Int(x, 1)});
  Check(masked(both(band(0), seen)), Gradient::kKeysAlone, 1, -1, 3e-3);
  EXPECT_TRUE(AttrOf<bool>("causal"));
  EXPECT_EQ(AttrOf<int64_t>("masks"), 1);
  Check(masked(both(band(1), seen)), Gradient::kKeysAlone, 1, -1, 3e-3);
  EXPECT_FALSE(AttrOf<bool>("causal"));
  Check(masked(both(both(band(0), seen), band(1))), Gradient::kKeysAlone, 1, -1, 3e-3);
  EXPECT_FALSE(AttrOf<bool>("causal"));
}

TEST_F(UnknownBatch, OfTwoTensorsMayDiffer) {
  Value x = FeedAnyBatch(Wave({1, kQueries, kFeatures}, 0.7)), y = FeedAnyBatch(Wave({kBatch, kKeys, kFeatures}, 0.8));
  inputs_ = {x, y, y};
  operands_ = {Project(x, 0.3), Project(y, 0.5), Project(y, 0.9)};
  Check(Product(Softmax(Scores()), v()), Gradient::kNone, 0);
  Check(Product(Softmax(Scores()), v()), Gradient::kKeysAlone, 0);
}

// --- not attention
TEST_F(AttentionFusionTest, WeightsThatAreSeenStay) {
  TakeHeadsFirst();
  Value weights = Softmax(Scores());
  Check(Product(weights, v()), Gradient::kNone, 0, -1, 1e-4, {weights});
  Value scores = Scores();
  Check(Product(Softmax(scores), v()), Gradient::kNone, 0, -1, 1e-4, {scores});
}

TEST_F(AttentionFusionTest, WeightsThatAreDroppedStay) {
  TakeHeadsFirst();
  Value kept = Feed(Wave({kBatch, kHeads, kQueries, kKeys}, 0.3));
  ExpectPlain(Product(emit::Binary("Mul", Softmax(Scores()), kept), v()));
}

TEST_F(AttentionFusionTest, OtherWaysToLowerScoresStay) {
  TakeHeadsFirst();
  Value factors = Feed(Wave({kKeys}, 0.4)), scale = Feed(Tensor::Scalar(0.5f));
  ExpectPlain(Product(Softmax(emit::Binary("Mul", Scores(), factors)), v()));
  ExpectPlain(Product(Softmax(emit::Binary("Mul", Scores(), scale)), v()));  // not known now
  ExpectPlain(Product(Softmax(emit::Binary("RealDiv", Number(2), Scores())), v()), false);
  ExpectPlain(Product(Softmax(emit::Binary("Mul", Scores(), Number(-1))), v()));
  ExpectPlain(Product(Softmax(emit_.Op("Tanh", {Scores()})), v()));
  Value seen = Feed(Seen());
  ExpectPlain(Product(Softmax(emit_.Op("SelectV2", {seen, Scores(), Number(-5)})), v()));  // not hidden
  ExpectPlain(Product(Softmax(emit_.Op("SelectV2", {seen, Scores(), Number(-INFINITY)})), v()));
  Value mask = Feed(Wave({kBatch, 1, 1, kKeys}, 0.2));
  ExpectPlain(Product(Softmax(emit::Binary("Mul", emit::Binary("AddV2", Scores(), mask), Number(0.5))), v()));
  Value two = emit::Binary("AddV2", emit::Binary("AddV2", Scores(), mask), Feed(Wave({kQueries, 1}, 0.3)));
  ExpectPlain(Product(Softmax(two), v()));
}

TEST_F(AttentionFusionTest, ConstantsThatAreNotQuiteCausalAreMasks) {
  TakeHeadsFirst(kQueries);
  for (float later : {-5.0f, -100.0f}) {
    ExpectFused(Product(Softmax(emit::Binary("AddV2", Scores(), Later(kQueries, later, 0))), v()));
    EXPECT_FALSE(AttrOf<bool>("causal"));
    EXPECT_EQ(AttrOf<int64_t>("masks"), 1);
  }
  ExpectFused(Product(Softmax(emit::Binary("AddV2", Scores(), Later(kQueries, 0, -1e9f))), v()), -1, 3e-3);
  EXPECT_FALSE(AttrOf<bool>("causal"));
}

TEST_F(AttentionFusionTest, OtherProductsStay) {
  TakeHeadsFirst(kQueries);
  Value turned = Transposed(Softmax(Scores()), {0, 1, 3, 2});
  ExpectPlain(Product(turned, v()));                                                        // weights the other way
  ExpectPlain(Product(Softmax(Scores()), v(), true, false), false);                         // summed over queries
  ExpectPlain(Product(Softmax(Scores()), Feed(Wave({kBatch, kHeads, kQueries, 6}, 0.4))));  // values of another size
  ExpectPlain(Product(Softmax(Scores()), Feed(Wave({1, kHeads, kQueries, kSize}, 0.4))));   // that broadcast
  ExpectPlain(Einsum("bhqk,bhkd->bqd", Softmax(Scores()), v()));                            // summed over heads
  ExpectPlain(Einsum("bhqk,hkd->bhqd", Softmax(Scores()), Feed(Wave({kHeads, kQueries, kSize}, 0.4))));
  ExpectPlain(Product(emit_.Op("LogSoftmax", {Scores()}), v()));
}

TEST_F(AttentionFusionTest, MasksThatAreTrainedStay) {
  TakeHeadsFirst();
  Value mask = Feed(Wave({kQueries, kKeys}, 0.2));
  Value out = Product(Softmax(emit::Binary("AddV2", Scores(), mask)), v());
  inputs_[0] = mask;
  ExpectPlain(out);
}

TEST_F(AttentionFusionTest, MasksThatWidenTheScoresStay) {
  inputs_[0] = operands_[0] = Feed(Wave({1, kHeads, kQueries, kSize}, 0.7));
  inputs_[1] = operands_[1] = Feed(Wave({1, kHeads, kKeys, kSize}, 1.1));
  inputs_[2] = operands_[2] = Feed(Wave({kBatch, kHeads, kKeys, kSize}, 1.7));
  Value mask = Feed(Wave({kBatch, 1, 1, kKeys}, 0.2));
  ExpectPlain(Product(Softmax(emit::Binary("AddV2", Scores(), mask)), v()));
}

TEST_F(AttentionFusionTest, OtherGradientsStay) {
  TakeHeadsFirst();
  Value weights = Softmax(Scores());
  Value out = Product(weights, v());
  // As a gradient begins, but of another flow.
  Value flow = Feed(Wave({kBatch, kHeads, kQueries, kSize}, 0.9)),
        other = Feed(Wave({kBatch, kHeads, kQueries, kSize}, 0.8));
  Value of_weights = Product(flow, v(), false, true);
  Value sum = emit_.Op("Sum", {emit::Binary("Mul", of_weights, weights), emit_.Constant(Tensor::Vector<int32_t>({-1}))},
                       {{"keep_dims", true}});
  Value slopes = emit::Binary("Mul", emit::Binary("Sub", of_weights, sum), weights);
  Value of_queries = Product(slopes, k()), of_values = Product(weights, other, true, false);
  Check(out, Gradient::kNone, 0, -1, 1e-4, {of_queries, of_values});
}

// Values that are made of their own gradient: the one node would wait for itself.
TEST_F(AttentionFusionTest, ValuesThatWaitForTheirGradientStay) {
  TakeHeadsFirst();
  Value weights = Softmax(Scores());
  Value flow = Feed(Wave({kBatch, kHeads, kQueries, kSize}, 0.9));
  Value of_values = Product(weights, flow, true, false);
  Value values = emit::Binary("AddV2", v(), of_values);
  Value of_weights = Product(flow, values, false, true);
  Value sum = emit_.Op("Sum", {emit::Binary("Mul", of_weights, weights), emit_.Constant(Tensor::Vector<int32_t>({-1}))},
                       {{"keep_dims", true}});
  Value slopes = emit::Binary("Mul", emit::Binary("Sub", of_weights, sum), weights);
  Check(Product(weights, values), Gradient::kNone, 0, -1, 1e-4, {Product(slopes, k()), of_values});
}

}  // namespace
}  // namespace weir
