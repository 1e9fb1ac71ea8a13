// Products and convolutions that are cut into pieces for several threads give what one thread gives.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <thread>

#include "tests/emitted_graph.h"

namespace weir {
namespace {

Tensor Noise(const Shape& shape, uint32_t seed) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (float& x : out.span<float>()) {
    seed = seed * 1664525u + 1013904223u;
    x = std::ldexp(static_cast<float>(seed >> 8) - 8388608.0f, -23);
  }
  return out;
}

class ContractionPiecesTest : public EmittedGraphTest {
 protected:
  Value Noisy(const Shape& shape) { return Feed(Noise(shape, ++seed_)); }
  Value Constant(const Shape& shape) { return emit_.Constant(Noise(shape, ++seed_)); }
  Value IntVector(std::vector<int32_t> values) { return emit_.Constant(Tensor::Vector<int32_t>(values)); }
  Value Op(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {}) {
    return emit_.Op(op, inputs, std::move(attrs));
  }

  // Twice, so that constants are used as the first step has left them.
  std::vector<Tensor> Run(const std::vector<Value>& fetches, int threads) {
    SessionOptions options;
    options.intra_op_threads = threads;
    options.own_threads = true;
    return RunIn(options, fetches, 2);
  }
  // `length`: of the sums that the elements are.
  void ExpectSameOnAnyThreads(const std::vector<Value>& fetches, int64_t length) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    const std::vector<Tensor> alone = Run(fetches, 1);
    const float tolerance = 1e-6f * static_cast<float>(std::sqrt(length)) + 1e-6f;
    for (int threads : {2, 3, 5, 16}) {
      const std::vector<Tensor> together = Run(fetches, threads);
      ASSERT_EQ(together.size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        ASSERT_EQ(alone[i].shape(), together[i].shape());
        ExpectNear(alone[i].span<float>(), together[i].span<float>(), tolerance,
                   Cat(graph_.node(fetches[i].node())->op(), " to ", alone[i].shape().ToString(), " on ", threads,
                       " threads"));
      }
    }
  }

 private:
  // Relative to what the results usually are: an algorithm with fewer products (Winograd's) rounds a small result as
  // much as a large one.
  static void ExpectNear(std::span<const float> a, std::span<const float> b, float tolerance, const std::string& what) {
    double squares = 0;
    for (float each : a) squares += double{each} * each;
    const double usual = a.empty() ? 0 : std::sqrt(squares / static_cast<double>(a.size()));
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + usual)) << what << ", element " << i;
    }
  }

  uint32_t seed_ = 0;
};

TEST_F(ContractionPiecesTest, Products) {
  std::vector<Value> fetches;
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1500, 900},
                                                                   {1500, 1, 900},
                                                                   {7, 999, 300},
                                                                   {40, 130, 257},
                                                                   {101, 333, 64},
                                                                   {700, 10, 333},
                                                                   {20, 30, 5000},
                                                                   {513, 129, 65}}) {
    fetches.push_back(Op("MatMul", {Noisy({m, k}), Noisy({k, n})}));
    fetches.push_back(Op("MatMul", {Noisy({k, m}), Noisy({n, k})}, {{"transpose_a", true}, {"transpose_b", true}}));
  }
  for (int64_t batch : {2, 3, 7, 64}) {
    fetches.push_back(Op("BatchMatMulV2", {Noisy({batch, 65, 40}), Noisy({batch, 40, 130})}));
    fetches.push_back(Op("BatchMatMulV2", {Noisy({batch, 65, 40}), Noisy({1, 40, 130})}));
  }
  ExpectSameOnAnyThreads(fetches, 5000);
}

// The library packs these, whole or by columns; what comes after the product is done with each piece.
TEST_F(ContractionPiecesTest, ProductsByConstants) {
  std::vector<Value> fetches;
  for (int64_t m : {1, 2, 16, 50, 63, 64, 200, 1100}) {
    const int64_t k = 300, n = 1000;
    for (bool is_transposed : {false, true}) {
      Value product = Op("MatMul", {Noisy({m, k}), Constant(is_transposed ? Shape{n, k} : Shape{k, n})},
                         {{"transpose_b", is_transposed}});
      Value sum = Op("BiasAdd", {product, Constant({n})});
      fetches.push_back(sum);
      fetches.push_back(Op("Relu", {Op("BiasAdd", {Op("MatMul", {Noisy({m, k}), Constant({k, n})}), Constant({n})})}));
      Value residual = Op("BiasAdd", {Op("MatMul", {Noisy({m, k}), Constant({k, n})}), Constant({n})});
      fetches.push_back(Op("AddV2", {residual, Op("Tanh", {Noisy({m, n})})}));
      Value other = Op("BiasAdd", {Op("MatMul", {Noisy({m, k}), Constant({k, n})}), Constant({n})});
      fetches.push_back(Op("Relu", {Op("AddV2", {other, Noisy({m, n})})}));
    }
  }
  ExpectSameOnAnyThreads(fetches, 300);
}

struct Convolution {
  int64_t batch, size, in, out, window, stride, dilation;
  const char* padding;
};

// Without those that go by Winograd's method. Batches that are divided and those that are not; images that are cut
// into strips; large filters on small images, which are cut by channels.
constexpr Convolution kConvolutions[] = {
    {1, 33, 5, 20, 3, 1, 1, "SAME"},    {1, 33, 5, 20, 3, 1, 1, "VALID"},  {3, 30, 6, 24, 5, 2, 1, "SAME"},
    {5, 31, 3, 40, 7, 2, 1, "SAME"},    {8, 28, 12, 20, 3, 2, 1, "VALID"}, {64, 14, 20, 12, 3, 1, 1, "SAME"},
    {1, 40, 8, 24, 3, 1, 3, "SAME"},    {2, 20, 24, 40, 1, 1, 1, "VALID"}, {2, 21, 24, 40, 1, 2, 1, "SAME"},
    {1, 7, 200, 264, 1, 1, 1, "VALID"}, {1, 7, 200, 264, 3, 2, 1, "SAME"}, {2, 7, 264, 136, 1, 3, 1, "VALID"},
    {1, 9, 160, 168, 7, 1, 1, "SAME"},  {1, 50, 20, 24, 1, 4, 1, "VALID"}, {1, 4, 520, 600, 2, 1, 1, "VALID"},
};

TEST_F(ContractionPiecesTest, Convolutions) {
  std::vector<Value> fetches;
  for (const Convolution& c : kConvolutions) {
    const int64_t reach = (c.window - 1) * c.dilation + 1;
    const bool is_same = std::string_view(c.padding) == "SAME";
    const int64_t size = is_same ? (c.size + c.stride - 1) / c.stride : (c.size - reach) / c.stride + 1;
    const EmitAttrs attrs = {{"strides", Ints({1, c.stride, c.stride, 1})},
                             {"dilations", Ints({1, c.dilation, c.dilation, 1})},
                             {"padding", c.padding}};
    Value x = Noisy({c.batch, c.size, c.size, c.in}), w = Noisy({c.window, c.window, c.in, c.out});
    Value dy = Noisy({c.batch, size, size, c.out});
    auto sizes = [&](std::vector<int64_t> dims) { return IntVector({dims.begin(), dims.end()}); };
    fetches.push_back(Op("Conv2D", {x, w}, attrs));
    fetches.push_back(Op("Conv2DBackpropInput", {sizes({c.batch, c.size, c.size, c.in}), w, dy}, attrs));
    fetches.push_back(Op("Conv2DBackpropFilter", {x, sizes({c.window, c.window, c.in, c.out}), dy}, attrs));
    auto convolve = [&] {
      Value out = Op("Conv2D", {x, Constant({c.window, c.window, c.in, c.out})}, attrs);
      return Op("BiasAdd", {out, Constant({c.out})});
    };
    fetches.push_back(Op("Relu", {convolve()}));
    fetches.push_back(Op("Relu", {Op("AddV2", {convolve(), Noisy({c.batch, size, size, c.out})})}));
    fetches.push_back(Op("AddV2", {convolve(), Op("Tanh", {Noisy({c.batch, size, size, c.out})})}));
  }
  ExpectSameOnAnyThreads(fetches, 160 * 49);
}

TEST_F(ContractionPiecesTest, ConvolutionsOfGroupsAndVolumes) {
  std::vector<Value> fetches;
  const EmitAttrs flat = {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}};
  for (int64_t batch : {1, 3}) {
    Value x = Noisy({batch, 41, 41, 24}), w = Noisy({3, 3, 24, 1});
    fetches.push_back(Op("DepthwiseConv2dNative", {x, w}, flat));
    fetches.push_back(Op("Conv2D", {x, Noisy({3, 3, 8, 36})}, flat));
    const EmitAttrs deep = {{"strides", Ints({1, 1, 2, 1, 1})}, {"padding", "SAME"}};
    const int32_t images = static_cast<int32_t>(batch);
    Value volume = Noisy({batch, 9, 12, 12, 8}), filter = Noisy({3, 3, 3, 8, 12}), dz = Noisy({batch, 9, 6, 12, 12});
    fetches.push_back(Op("Conv3D", {volume, filter}, deep));
    fetches.push_back(Op("Conv3DBackpropInputV2", {IntVector({images, 9, 12, 12, 8}), filter, dz}, deep));
    fetches.push_back(Op("Conv3DBackpropFilterV2", {volume, IntVector({3, 3, 3, 8, 12}), dz}, deep));
  }
  ExpectSameOnAnyThreads(fetches, 2000);
}

int64_t NumThreads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

TEST_F(ContractionPiecesTest, StartNoThreadsBesideThePools) {
  Value product = Op("MatMul", {Noisy({512, 512}), Noisy({512, 512})});
  SessionOptions options;
  options.inter_op_threads = -1;
  options.intra_op_threads = 3;
  options.own_threads = true;
  auto session = Session::Create(environment_, options).value();
  ASSERT_TRUE(session->Extend(graph_).ok());
  const std::vector<std::string> fetches = {graph_.TensorName({product.node(), 0})};
  std::vector<Tensor> out;
  std::thread([] {}).join();  // with the first thread a sanitizer starts one of its own
  const int64_t before = NumThreads();
  ASSERT_TRUE(session->Run(feeds_, fetches, {}, &out).ok());
  EXPECT_LE(NumThreads(), before + 3);
  session.reset();
  EXPECT_EQ(NumThreads(), before);
}

}  // namespace
}  // namespace weir
