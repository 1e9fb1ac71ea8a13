// Deterministic sessions: what a step computes does not depend on how many threads compute it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "tests/emitted_graph.h"

namespace weir {
namespace {

// Numbers of many sizes, so that the order of a sum shows in its last bits.
Tensor Noise(const Shape& shape, uint32_t seed) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (float& x : out.span<float>()) {
    seed = seed * 1664525u + 1013904223u;
    x = std::ldexp(static_cast<float>(seed >> 8) - 8388608.0f, -20 - static_cast<int>(seed & 7));
  }
  return out;
}
Tensor Indices(int64_t count, int32_t limit) {
  Tensor out = Tensor::Zeros(DType::kInt32, {count}).value();
  uint32_t seed = 7;
  for (int32_t& x : out.span<int32_t>()) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<int32_t>((seed >> 8) % static_cast<uint32_t>(limit));
  }
  return out;
}

class DeterminismTest : public EmittedGraphTest {
 protected:
  Value Noisy(const Shape& shape) { return Feed(Noise(shape, ++seed_)); }
  Value IntVector(std::vector<int32_t> values) { return emit_.Constant(Tensor::Vector<int32_t>(values)); }
  Value Op(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {}) {
    return emit_.Op(op, inputs, std::move(attrs));
  }
  Value Output(Value first, int index) { return Value(&emit_, first.node(), index); }

  std::vector<Tensor> Run(const std::vector<Value>& fetches, int threads) {
    SessionOptions options;
    options.deterministic = true;
    options.intra_op_threads = threads;
    options.own_threads = true;
    return RunIn(options, fetches);
  }
  void ExpectSameOnAnyThreads(const std::vector<Value>& fetches) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    const std::vector<Tensor> alone = Run(fetches, 1);
    for (int threads : {2, 3, 8}) {
      const std::vector<Tensor> together = Run(fetches, threads);
      ASSERT_EQ(together.size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        ASSERT_EQ(alone[i].shape(), together[i].shape());
        EXPECT_EQ(std::memcmp(alone[i].raw_data(), together[i].raw_data(), alone[i].num_bytes()), 0)
            << graph_.node(fetches[i].node())->op() << " to " << alone[i].shape().ToString() << " on " << threads
            << " threads";
      }
    }
  }

  uint32_t seed_ = 0;
};

TEST_F(DeterminismTest, Products) {
  std::vector<Value> fetches;
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {20, 30, 20000}, {3000, 40, 64}, {300, 700, 500}, {1, 2000, 3000}, {2000, 1, 3000}, {130, 3072, 700}}) {
    fetches.push_back(Op("MatMul", {Noisy({m, k}), Noisy({k, n})}));
    fetches.push_back(Op("MatMul", {Noisy({k, m}), Noisy({n, k})}, {{"transpose_a", true}, {"transpose_b", true}}));
    fetches.push_back(
        Op("Relu", {Op("BiasAdd", {Op("MatMul", {Noisy({m, k}), emit_.Constant(Noise({k, n}, 5))}), Noisy({n})})}));
  }
  fetches.push_back(Op("BatchMatMulV2", {Noisy({12, 128, 64}), Noisy({12, 64, 128})}));
  fetches.push_back(Op("BatchMatMulV2", {Noisy({3, 10, 9000}), Noisy({3, 9000, 10})}));
  ExpectSameOnAnyThreads(fetches);
}

TEST_F(DeterminismTest, Convolutions) {
  std::vector<Value> fetches;
  for (int64_t stride : {1, 2}) {
    const int64_t size = 28 / stride;
    auto add = [&](std::string_view op, const EmitArguments& inputs) {
      fetches.push_back(Op(op, inputs, {{"strides", Ints({1, stride, stride, 1})}, {"padding", "SAME"}}));
    };
    Value x = Noisy({9, 28, 28, 16}), w = Noisy({3, 3, 16, 24}), dy = Noisy({9, size, size, 24});
    add("Conv2D", {x, w});
    add("Conv2DBackpropInput", {IntVector({9, 28, 28, 16}), w, dy});
    add("Conv2DBackpropFilter", {x, IntVector({3, 3, 16, 24}), dy});
    // Of such channels Winograd's method makes tiles.
    Value even = Noisy({3, 3, 16, 32}), dz = Noisy({9, size, size, 32});
    add("Conv2D", {x, even});
    add("Conv2DBackpropInput", {IntVector({9, 28, 28, 16}), even, dz});
    add("Conv2DBackpropFilter", {x, IntVector({3, 3, 16, 32}), dz});
    Value depthwise = Noisy({3, 3, 16, 1}), d = Noisy({9, size, size, 16});
    add("DepthwiseConv2dNative", {x, depthwise});
    add("DepthwiseConv2dNativeBackpropInput", {IntVector({9, 28, 28, 16}), depthwise, d});
    add("DepthwiseConv2dNativeBackpropFilter", {x, IntVector({3, 3, 16, 1}), d});
  }
  fetches.push_back(Op("Conv3D", {Noisy({2, 9, 20, 20, 8}), Noisy({3, 3, 3, 8, 16})},
                       {{"strides", Ints({1, 1, 1, 1, 1})}, {"padding", "SAME"}}));
  fetches.push_back(Op("Conv3DBackpropFilterV2",
                       {Noisy({2, 9, 20, 20, 8}), IntVector({3, 3, 3, 8, 16}), Noisy({2, 9, 20, 20, 16})},
                       {{"strides", Ints({1, 1, 1, 1, 1})}, {"padding", "SAME"}}));
  ExpectSameOnAnyThreads(fetches);
}

TEST_F(DeterminismTest, Sums) {
  std::vector<Value> fetches;
  Value x = Noisy({1500, 1000}), image = Noisy({8, 56, 56, 24});
  for (const char* op : {"Sum", "Mean", "Prod", "EuclideanNorm"}) {
    for (std::vector<int32_t> axes : {std::vector<int32_t>{0, 1}, {0}, {1}}) {
      fetches.push_back(Op(op, {x, IntVector(axes)}));
    }
    fetches.push_back(Op(op, {image, IntVector({0, 2})}));
  }
  fetches.push_back(Op("L2Loss", {x}));
  fetches.push_back(Op("BiasAddGrad", {image}));
  fetches.push_back(Op("Cumsum", {x, emit_.Constant(Tensor::Scalar<int32_t>(0))}));
  Value norm = Op("FusedBatchNormV3", {image, Noisy({24}), Noisy({24}), Feed(Tensor::Zeros(DType::kFloat, {0}).value()),
                                       Feed(Tensor::Zeros(DType::kFloat, {0}).value())});
  for (int i = 0; i < 5; ++i) fetches.push_back(Output(norm, i));
  Value gradient = Op("FusedBatchNormGradV3",
                      {Noisy({8, 56, 56, 24}), image, Noisy({24}), Output(norm, 3), Output(norm, 4), Output(norm, 5)});
  for (int i = 0; i < 3; ++i) fetches.push_back(Output(gradient, i));
  Value loss = Op("SparseSoftmaxCrossEntropyWithLogits", {x, Feed(Indices(1500, 1000))});
  fetches.push_back(loss);
  fetches.push_back(Output(loss, 1));
  fetches.push_back(Op("LRN", {image}));
  ExpectSameOnAnyThreads(fetches);
}

TEST_F(DeterminismTest, ScatteredSums) {
  std::vector<Value> fetches;
  Value rows = Noisy({20000, 16}), ids = Feed(Indices(20000, 50));
  fetches.push_back(Op("UnsortedSegmentSum", {rows, ids, emit_.Constant(Tensor::Scalar<int32_t>(50))}));
  fetches.push_back(Op(
      "ScatterNd", {Op("ExpandDims", {ids, emit_.Constant(Tensor::Scalar<int32_t>(1))}), rows, IntVector({50, 16})}));
  fetches.push_back(Op("MaxPoolGrad", {Noisy({8, 56, 56, 16}), Noisy({8, 28, 28, 16}), Noisy({8, 28, 28, 16})},
                       {{"ksize", Ints({1, 3, 3, 1})}, {"strides", Ints({1, 2, 2, 1})}, {"padding", "SAME"}}));
  fetches.push_back(Op("AvgPoolGrad", {IntVector({8, 56, 56, 16}), Noisy({8, 28, 28, 16})},
                       {{"ksize", Ints({1, 3, 3, 1})}, {"strides", Ints({1, 2, 2, 1})}, {"padding", "SAME"}}));
  ExpectSameOnAnyThreads(fetches);
}

TEST_F(DeterminismTest, RandomNumbers) {
  std::vector<Value> fetches;
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    fetches.push_back(Op(op, {IntVector({1000, 1000})}, {{"seed", 3}, {"seed2", 4}, {"dtype", DType::kFloat}}));
  }
  ExpectSameOnAnyThreads(fetches);
}

}  // namespace
}  // namespace weir
