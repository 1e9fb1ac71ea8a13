// Products of matrices that take transposed operands as they lie.
#include "gtest/gtest.h"
#include "tests/fusion_fixture.h"
#include "weir/device/cpu/rewrites/fold_transposes.h"

namespace weir {
namespace {

constexpr int64_t kBatch = 2, kLength = 64, kHeads = 4, kWidth = 16;

class TransposeFusionTest : public FusionTest {
 protected:
  Value Transposed(Value x, std::vector<int32_t> order) {
    return emit_.Op("Transpose",
                    {x, emit_.Constant(Tensor::FromSpan<int32_t>(order, {static_cast<int64_t>(order.size())}))});
  }
  Value Product(Value x, Value y, bool adj_x, bool adj_y) {
    return emit_.Op("BatchMatMulV2", {x, y}, {{"adj_x", adj_x}, {"adj_y", adj_y}});
  }
  // What a layer's result is split into: queries, keys and values, of each head.
  Values Heads(Value all) {
    return emit_.Outputs("Unpack", {Transposed(all, {2, 0, 3, 1, 4})}, {{"num", int64_t{3}}, {"axis", int64_t{0}}});
  }
  Value All() { return Feed(Wave({kBatch, kLength, 3, kHeads, kWidth}, 0.7)); }
  std::string_view OpOf(Value value) const { return graph_.node(value.node())->op(); }
};

TEST_F(TransposeFusionTest, Attention) {
  Values heads = Heads(All());
  Value scores = Product(heads[0], heads[1], false, true);
  Value weights = Unary("Softmax", Binary("Mul", scores, Number(0.25f)));
  Value mixed = Product(weights, heads[2], false, false);
  Value out = Transposed(mixed, {0, 2, 1, 3});
  // The products of its gradient.
  Value gradient = Transposed(Feed(Wave({kBatch, kLength, kHeads, kWidth}, 0.3)), {0, 2, 1, 3});
  Value of_weights = Product(gradient, heads[2], false, true), of_values = Product(weights, gradient, true, false);
  Value of_queries = Product(of_weights, heads[1], false, false), of_keys = Product(of_weights, heads[0], true, false);
  Value packed = emit_.Op("Pack", {std::vector<Value>{of_queries, of_keys, of_values}});
  ExpectSame({Unary("Neg", out), packed});
  ASSERT_TRUE(Apply(FoldTransposes).ok());
  for (Value product : {scores, out, of_weights, of_values, of_queries, of_keys}) {
    EXPECT_EQ(OpOf(product), "_BatchMatMulOfViews") << product.node();
  }
  EXPECT_EQ(graph_.node(scores.node())->inputs[0], graph_.node(of_keys.node())->inputs[1]);  // the layer's result
}

TEST_F(TransposeFusionTest, EveryOrderAndEitherOperand) {
  Value plain = Feed(Wave({kBatch, kHeads, kLength, kLength}, 0.2));
  std::vector<Value> fetches, products;
  auto add = [&](Value product) {
    products.push_back(product);
    fetches.push_back(Unary("Neg", product));
  };
  for (bool adj_x : {false, true}) {
    for (bool adj_y : {false, true}) {
      // [batch, length, heads, length] and [length, batch, heads, length] seen as [batch, heads, length, length].
      Value x = Feed(Wave({kBatch, kLength, kHeads, kLength}, 0.3)),
            y = Feed(Wave({kLength, kBatch, kHeads, kLength}, 0.4));
      Value left = Transposed(x, {0, 2, 1, 3}), right = Transposed(y, {1, 2, 0, 3});
      add(Product(left, plain, adj_x, adj_y));
      add(Product(plain, right, adj_x, adj_y));
      add(Product(left, right, adj_x, adj_y));
      add(Product(Transposed(x, {0, 2, 3, 1}), right, adj_x, adj_y));
    }
  }
  // Three dimensions; and a result that is written apart.
  Value cube = Feed(Wave({kLength, 3, kLength}, 0.3));
  add(Product(Transposed(cube, {1, 0, 2}), Feed(Wave({3, kLength, kLength}, 0.9)), false, false));
  add(Transposed(Product(plain, Feed(Wave({kBatch, kHeads, kLength, kLength}, 0.8)), false, true), {2, 0, 1, 3}));
  ExpectSame(fetches);
  ASSERT_TRUE(Apply(FoldTransposes).ok());
  for (Value product : products) EXPECT_EQ(OpOf(product), "_BatchMatMulOfViews");
}

TEST_F(TransposeFusionTest, ADeterministicStepAgrees) {
  Values heads = Heads(All());
  Value out = Transposed(Product(heads[0], heads[1], false, true), {1, 0, 2, 3});
  SessionOptions deterministic;
  deterministic.deterministic = true;
  ExpectTensorNear(RunIn(deterministic, {Unary("Neg", out)}, 1)[0], Run({Unary("Neg", out)}, Toggle::kOff)[0], 1e-4,
                   1e-4);
}

TEST_F(TransposeFusionTest, TransposesStayWhereSomebodyElseTakesThem) {
  Values heads = Heads(All());
  Value scores = Product(heads[0], heads[1], false, true), seen = Unary("Exp", heads[2]);
  // The neighbours of a row are far apart in memory.
  Value far = Transposed(Feed(Wave({kLength, kLength, kBatch, kHeads}, 0.3)), {2, 3, 0, 1});
  Value product = Product(far, far, false, false);
  // Small ones, and ones that move nothing.
  Value small =
      Product(Transposed(Feed(Wave({2, 3, 4, 5}, 0.3)), {0, 2, 1, 3}), Feed(Wave({2, 4, 5, 2}, 0.1)), false, false);
  Value result = Product(Feed(Wave({8, kLength, kLength}, 0.3)), Feed(Wave({8, kLength, kLength}, 0.4)), false, false);
  Value both = Binary("AddV2", Transposed(result, {1, 0, 2}), Transposed(result, {1, 0, 2}));
  ExpectSame({scores, seen, product, small, both});
  ASSERT_TRUE(Apply(FoldTransposes).ok());
  for (Value kept : {scores, product, small, result}) EXPECT_EQ(OpOf(kept), "BatchMatMulV2");
}

}  // namespace
}  // namespace weir
