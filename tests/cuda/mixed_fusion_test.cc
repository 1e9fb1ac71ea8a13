// Fused programs on GPUs whose values have types of their own: bit for bit what the nodes give one by one.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/cuda/gpu_fixture.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/runtime/session.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::gpu_testing {
namespace {

class MixedFusionTest : public testing::Test {
 protected:
  MixedFusionTest() : graph_(GpuEnvironment()->ops), shapes_(graph_), emit_(graph_, shapes_) {}

  Value Feed(Tensor value) {
    Value out = emit_.Op("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", value.shape()}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  }
  Value Cast(Value x, DType dtype) { return emit_.Op("Cast", {x}, {{"SrcT", x.dtype()}, {"DstT", dtype}}); }
  Value Binary(std::string_view op, Value x, Value y) { return emit_.Op(op, {x, y}); }
  Value Reduced(std::string_view op, Value x) {
    return emit_.Op(op, {x, emit_.Constant(Tensor::Scalar<int32_t>(-1))}, {{"keep_dims", true}});
  }

  // Fusing alone: other rewrites would change roundings.
  std::vector<Tensor> Run(const std::vector<Value>& fetches, bool fuse) {
    SessionOptions options;
    options.rewrites.disable_all = !fuse;
    for (Toggle* toggle : {&options.rewrites.constant_folding, &options.rewrites.arithmetic}) *toggle = Toggle::kOff;
    auto session = Session::Create(GpuEnvironment(), options).value();
    EXPECT_TRUE(session->Extend(graph_).ok());
    std::vector<std::string> names;
    for (Value fetch : fetches) names.push_back(graph_.TensorName({fetch.node(), fetch.index()}));
    StepOptions step;
    step.trace = TraceLevel::kFull;
    std::vector<Tensor> out;
    report_ = {};
    const Status status = session->Run(step, feeds_, names, {}, &out, &report_);
    EXPECT_TRUE(status.ok()) << status;
    return out;
  }
  // How many nodes of an op the last step ran.
  int Count(const std::string& op) const { return CountRuns(report_, op); }
  // Runs fused last.
  void ExpectSameBits(const std::vector<Value>& fetches) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    const std::vector<Tensor> plain = Run(fetches, false), fused = Run(fetches, true);
    ASSERT_EQ(plain.size(), fetches.size());
    ASSERT_EQ(fused.size(), fetches.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      SCOPED_TRACE(i);
      ASSERT_EQ(fused[i].dtype(), plain[i].dtype());
      ASSERT_EQ(fused[i].shape(), plain[i].shape());
      if (std::memcmp(fused[i].raw_data(), plain[i].raw_data(), plain[i].num_bytes()) == 0) continue;
      ExpectTensorEqual(fused[i], plain[i]);  // NaNs may have other bits
    }
  }

  Graph graph_;
  GraphShapes shapes_;
  GraphEmitter emit_;
  std::vector<weir::Feed> feeds_;
  StepReport report_;
};

TEST_F(MixedFusionTest, CastsAreInsidePrograms) {
  for (DType small : {DType::kBFloat16, DType::kHalf}) {
    Value x = Feed(Random(small, {96, 64}, 1)), y = Feed(Random(small, {64}, 2)),
          z = Feed(Random(DType::kFloat, {96, 64}, 3));
    Value wide = Binary("Mul", Cast(Binary("AddV2", x, y), DType::kFloat), z);
    ExpectSameBits({Cast(emit_.Op("Tanh", {wide}), small), wide});
    EXPECT_EQ(Count("_FusedMixedElementwise"), 1);
    EXPECT_EQ(Count("Cast"), 0);
  }
}

TEST_F(MixedFusionTest, ProgramsOfOneTypeStayTheHosts) {
  Value x = Feed(Random(DType::kBFloat16, {6, 5}, 1));
  ExpectSameBits({emit_.Op("Tanh", {Binary("Mul", x, x)})});
  EXPECT_EQ(Count("_FusedElementwise"), 1);
  EXPECT_EQ(Count("_FusedMixedElementwise"), 0);
}

TEST_F(MixedFusionTest, ANormInFloatOfSmallValuesIsOneProgram) {
  Value small = Feed(Random(DType::kBFloat16, {7, 48}, 1)), scale = Feed(Random(DType::kFloat, {48}, 2));
  Value x = Cast(small, DType::kFloat);
  Value mean = Reduced("Mean", x);
  Value variance = Reduced("Mean", Binary("SquaredDifference", x, mean));
  Value inverse = emit_.Op("Rsqrt", {Binary("AddV2", variance, emit_.Constant(Tensor::Scalar(1e-5f)))});
  Value out = Cast(Binary("Mul", Binary("Mul", Binary("Sub", x, mean), inverse), scale), DType::kBFloat16);
  ASSERT_TRUE(emit_.status().ok()) << emit_.status();
  const std::vector<Tensor> plain = Run({out}, false), fused = Run({out}, true);
  ExpectTensorNear(fused[0], plain[0], 1e-2, 1e-2);  // sums are in another order
  EXPECT_EQ(Count("_FusedMixedElementwise"), 1);
  EXPECT_EQ(Count("Cast"), 0);
  EXPECT_EQ(Count("Mean"), 0);
}

// A rectifier's gradient is part of its norm's: computed again from the norm, or, after a sum, from what it gave.
TEST_F(MixedFusionTest, NormsTakeTheGradientsOfTheirRectifiers) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    SCOPED_TRACE(Name(dtype));
    Value scale = Feed(Random(DType::kFloat, {8}, 2)), offset = Feed(Random(DType::kFloat, {8}, 3));
    std::vector<Value> fetches;
    for (bool adds : {false, true}) {
      Value x = Feed(Random(dtype, {3, 4, 5, 8}, 1)), none = Feed(Tensor::Zeros(DType::kFloat, {0}).value());
      Values norm = emit_.Outputs("FusedBatchNormV3", {x, scale, offset, none, none}, {});
      Value sum = adds ? Binary("AddV2", norm[0], Feed(Random(dtype, {3, 4, 5, 8}, 4))) : norm[0];
      Value y = emit_.Op("Relu", {sum}), dy = Feed(Random(dtype, {3, 4, 5, 8}, 5));
      Values back =
          emit_.Outputs("FusedBatchNormGradV3", {Binary("ReluGrad", dy, y), x, scale, norm[3], norm[4], norm[5]}, {});
      fetches.insert(fetches.end(), {y, back[0], back[1], back[2]});
    }
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    const std::vector<Tensor> plain = Run(fetches, false), fused = Run(fetches, true);
    ASSERT_EQ(fused.size(), fetches.size());
    // Fused sums are rounded once.
    const double tolerance = dtype == DType::kFloat ? 1e-5 : dtype == DType::kHalf ? 1e-2 : 1e-1;
    for (size_t i = 0; i < fetches.size(); ++i) ExpectTensorNear(fused[i], plain[i], tolerance, tolerance);
    EXPECT_EQ(Count("_BatchNormReluGrad"), 2);
    EXPECT_EQ(Count("ReluGrad") + Count("Relu"), 0);
  }
}

// Sums over rows, as gradients of scales and offsets are, are made where their terms are.
TEST_F(MixedFusionTest, ColumnSumsAreInsidePrograms) {
  for (DType dtype : {DType::kFloat, DType::kBFloat16}) {
    for (int64_t width : {48, 1000}) {
      SCOPED_TRACE(Cat(Name(dtype), " ", width));
      const Tensor small = Random(dtype, {6, 41, width}, 1);
      Value x = dtype == DType::kFloat ? Feed(small) : Cast(Feed(small), DType::kFloat);
      Value dy = Feed(Random(DType::kFloat, {6, 41, width}, 2));
      Value centered = Binary("Sub", x, Reduced("Mean", x)), product = Binary("Mul", centered, dy);
      Value axes = emit_.Constant(Tensor::Vector<int32_t>({0, 1}));
      Value scale = emit_.Op("Sum", {product, axes}), offset = emit_.Op("Sum", {Binary("Mul", centered, x), axes});
      Value rest = Reduced("Mean", Binary("Mul", centered, product));
      ASSERT_TRUE(emit_.status().ok()) << emit_.status();
      const std::vector<Tensor> plain = Run({scale, offset, rest}, false), fused = Run({scale, offset, rest}, true);
      ASSERT_EQ(fused.size(), 3u);
      for (size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(fused[i].shape(), plain[i].shape());
        ExpectTensorNear(fused[i], plain[i], 1e-3, 1e-3);
      }
      EXPECT_EQ(Count("Sum") + Count("Mean"), 0);
    }
  }
}

TEST_F(MixedFusionTest, ConvolutionsOfAllTypesTakeTheirBiasAndRectifier) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    SCOPED_TRACE(Name(dtype));
    std::vector<Value> fetches;
    for (int64_t channels : {1, 3, 8}) {
      Value image = Feed(Random(dtype, {2, 50, 48, channels}, 1));
      Value filter = Feed(Random(dtype, {3, 3, channels, 8}, 2));
      Value y = emit_.Op("Conv2D", {image, filter}, {{"strides", AttrList{.i = {1, 1, 1, 1}}}, {"padding", "SAME"}});
      fetches.push_back(emit_.Op("Relu", {emit_.Op("BiasAdd", {y, Feed(Random(dtype, {8}, 3))})}));
    }
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    const std::vector<Tensor> plain = Run(fetches, false), fused = Run(fetches, true);
    ASSERT_EQ(fused.size(), fetches.size());
    // Fused, sums are rounded once.
    const double tolerance = dtype == DType::kFloat ? 1e-4 : dtype == DType::kHalf ? 2e-2 : 2e-1;
    for (size_t i = 0; i < fetches.size(); ++i) ExpectTensorNear(fused[i], plain[i], tolerance, tolerance);
    EXPECT_EQ(Count(dtype == DType::kBFloat16 ? "_FusedConv2DOfBFloat16" : "_FusedConv2D"), 3);
    EXPECT_EQ(Count("BiasAdd") + Count("Relu"), 0);
  }
}

// Attention of the parts of one projection reads them where they are, and its gradient leaves them there.
TEST_F(MixedFusionTest, AttentionTakesPackedProjections) {
  for (DType dtype : {DType::kHalf, DType::kBFloat16}) {
    for (bool is_long : {false, true}) {
      SCOPED_TRACE(Cat(Name(dtype), is_long));
      const int64_t batch = 2, times = is_long ? 256 : 20, heads = is_long ? 4 : 3, size = is_long ? 64 : 16;
      auto ints = [&](std::vector<int32_t> values) { return emit_.Constant(Tensor::Vector<int32_t>(values)); };
      Value last = emit_.Constant(Tensor::Scalar<int32_t>(2));
      Value packed = Feed(Random(dtype, {batch, times, 3 * heads * size}, 1));
      Values parts = emit_.Outputs("Split", {last, packed}, {{"num_split", 3}});
      Value dims = ints({static_cast<int32_t>(batch), -1, static_cast<int32_t>(heads), static_cast<int32_t>(size)});
      std::vector<Value> operands, slopes;
      for (int i = 0; i < 3; ++i) operands.push_back(emit_.Op("Reshape", {parts[i], dims}));
      Values out = emit_.Outputs("_Attention", {operands[0], operands[1], operands[2], Values()}, {{"causal", true}});
      Value dy = Feed(Random(dtype, {batch, times, heads, size}, 2));
      Values back = emit_.Outputs(
          "_AttentionGrad", {operands[0], operands[1], operands[2], out[0], out[1], dy, Values()}, {{"causal", true}});
      Value flat = ints({static_cast<int32_t>(batch), -1, static_cast<int32_t>(heads * size)});
      for (int i = 0; i < 3; ++i) slopes.push_back(emit_.Op("Reshape", {back[i], flat}));
      Value whole = emit_.Op("ConcatV2", {slopes, last});
      ASSERT_TRUE(emit_.status().ok()) << emit_.status();
      const std::vector<Tensor> plain = Run({out[0], whole}, false);
      EXPECT_EQ(Count("_Attention"), 1);
      const std::vector<Tensor> fused = Run({out[0], whole}, true);
      ASSERT_EQ(plain.size() + fused.size(), 4u);
      for (size_t i = 0; i < 2; ++i) ExpectTensorNear(fused[i], plain[i], 2e-2, 2e-2);
      EXPECT_EQ(Count("_PackedAttention"), 1);
      EXPECT_EQ(Count("_PackedAttentionGrad"), 1);
      EXPECT_EQ(Count("Split") + Count("ConcatV2"), 0);
    }
  }
}

TEST_F(MixedFusionTest, SelectionsAndComparisonsAreInsidePrograms) {
  Value x = Feed(Random(DType::kFloat, {5, 12}, 1)), y = Feed(Random(DType::kHalf, {12}, 2));
  Value kept = Binary("GreaterEqual", x, Feed(Random(DType::kFloat, {}, 4)));
  Value chosen = emit_.Op("SelectV2", {kept, Cast(x, DType::kHalf), y});
  ExpectSameBits({Binary("Mul", chosen, y)});
  EXPECT_EQ(Count("_FusedMixedElementwise"), 1);
  EXPECT_EQ(Count("SelectV2"), 0);
  EXPECT_EQ(Count("Cast"), 0);
  EXPECT_EQ(Count("GreaterEqual"), 0);
}

TEST_F(MixedFusionTest, BiasesAreInsidePrograms) {
  for (DType dtype : {DType::kFloat, DType::kBFloat16}) {
    Value x = Feed(Random(DType::kBFloat16, {3, 7, 16}, 1)), y = Feed(Random(dtype, {3, 7, 16}, 3));
    Value sum = emit_.Op("BiasAdd", {Cast(x, dtype), Feed(Random(dtype, {16}, 2))});
    ExpectSameBits({Binary("AddV2", sum, y)});
    EXPECT_EQ(Count("BiasAdd"), 0);
    EXPECT_EQ(Count("_FusedMixedElementwise"), dtype == DType::kFloat);
    Value channels = emit_.Op("BiasAdd", {y, Feed(Random(dtype, {7}, 4))}, {{"data_format", "NCHW"}});
    ExpectSameBits({emit_.Op("Neg", {channels})});
    EXPECT_EQ(Count("BiasAdd"), 1);
  }
}

// As dense layers over sequences have them: products are of matrices, what is added has one dimension more.
TEST_F(MixedFusionTest, ReshapesKeepNothingApart) {
  const DType small = DType::kBFloat16;
  Value x = Feed(Random(small, {10, 8}, 1)), w = Feed(Random(small, {8, 16}, 2)),
        bias = Feed(Random(DType::kFloat, {16}, 3));
  Value residual = Feed(Random(DType::kFloat, {2, 5, 16}, 4));
  Value layer = emit_.Op("BiasAdd", {Cast(emit_.Op("MatMul", {x, w}), DType::kFloat), bias});
  Value sum =
      Binary("AddV2", emit_.Op("Reshape", {layer, emit_.Constant(Tensor::Vector<int32_t>({2, 5, 16}))}), residual);
  Value flat = emit_.Op("Reshape", {emit_.Op("Tanh", {sum}), emit_.Constant(Tensor::Vector<int32_t>({10, 16}))});
  Value next = emit_.Op("MatMul", {Cast(flat, small), Feed(Random(small, {16, 4}, 5))});
  ExpectSameBits({next, flat});
  EXPECT_EQ(Count("_FusedMixedElementwise"), 1);
  EXPECT_EQ(Count("Cast") + Count("BiasAdd"), 0);
  // Rows of another size take other elements of the bias.
  Value other = emit_.Op("Reshape", {layer, emit_.Constant(Tensor::Vector<int32_t>({5, 32}))});
  ExpectSameBits({Binary("AddV2", other, Feed(Random(DType::kFloat, {32}, 6)))});
  EXPECT_EQ(Count("BiasAdd"), 0);  // with its cast
}

// A value whose type is narrower than that of what it is made of is stored, and not made again by each that takes it.
TEST_F(MixedFusionTest, NarrowValuesAreStored) {
  Value x = Feed(Random(DType::kFloat, {64, 40}, 1)), w = Feed(Random(DType::kFloat, {40, 40}, 2));
  Value narrow = Cast(emit_.Op("Tanh", {x}), DType::kBFloat16);
  Value product = emit_.Op("MatMul", {narrow, Cast(w, DType::kBFloat16)});
  Value later = Binary("Mul", Cast(narrow, DType::kFloat), Cast(product, DType::kFloat));
  ExpectSameBits({later});
}

TEST_F(MixedFusionTest, TruncatingCastsStayNodes) {
  Value x = Feed(Random(DType::kFloat, {5, 12}, 1));
  Value cut = emit_.Op("Cast", {Binary("Mul", x, x)},
                       {{"SrcT", DType::kFloat}, {"DstT", DType::kBFloat16}, {"Truncate", true}});
  ExpectSameBits({emit_.Op("Neg", {cut})});
  EXPECT_EQ(Count("Cast"), 1);
}

// Random programs of many types, shapes and operations.
class RandomMixedFusion : public MixedFusionTest, public testing::WithParamInterface<int> {
 protected:
  int Draw(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  template <typename T>
  const T& Any(const std::vector<T>& from) {
    return from[static_cast<size_t>(Draw(static_cast<int>(from.size())))];
  }
  Value AnyOf(DType dtype) {
    std::vector<Value> fitting;
    for (Value value : values_) {
      if (value.dtype() == dtype) fitting.push_back(value);
    }
    return fitting.empty() ? Cast(Any(values_), dtype) : Any(fitting);
  }
  Value Make() {
    static const std::vector<DType> kFloats = {DType::kFloat, DType::kHalf, DType::kBFloat16, DType::kDouble};
    static const std::vector<DType> kAll = {DType::kFloat, DType::kHalf,    DType::kBFloat16, DType::kDouble,
                                            DType::kBool,  DType::kInt64,   DType::kInt32,    DType::kUInt8,
                                            DType::kFloat, DType::kBFloat16};
    switch (Draw(8)) {
      case 0:
      case 1:
        return Cast(Any(values_), Any(kAll));
      case 2: {
        static const std::vector<std::string> ops = {"Neg", "Square", "Tanh", "Relu", "Exp", "Sigmoid", "Abs", "Floor"};
        return emit_.Op(Any(ops), {AnyOf(Any(kFloats))});
      }
      case 3:
      case 4: {
        static const std::vector<std::string> ops = {"AddV2", "Sub", "Mul", "Maximum", "SquaredDifference", "RealDiv"};
        const DType dtype = Any(kFloats);
        return Binary(Any(ops), AnyOf(dtype), AnyOf(dtype));
      }
      case 5: {
        static const std::vector<std::string> ops = {"Less", "Equal", "NotEqual", "GreaterEqual"};
        const DType dtype = Draw(3) == 0 ? DType::kInt64 : Any(kFloats);
        const std::string& op = Any(ops);
        return Binary(op, AnyOf(dtype), AnyOf(dtype));
      }
      case 6:
        return Binary(Draw(2) == 0 ? "LogicalAnd" : "LogicalOr", AnyOf(DType::kBool), AnyOf(DType::kBool));
      default: {
        const DType dtype = Any(kFloats);
        return emit_.Op("SelectV2", {AnyOf(DType::kBool), AnyOf(dtype), AnyOf(dtype)});
      }
    }
  }

  std::mt19937 random_{static_cast<uint32_t>(GetParam())};
  std::vector<Value> values_;
};

TEST_P(RandomMixedFusion, GivesTheBitsOfTheNodes) {
  const std::vector<std::vector<int64_t>> shapes = {{4, 7}, {7}, {4, 1}, {}, {1, 7}};
  // Read in vectors, of rows that are divided by them or not.
  const std::vector<std::vector<int64_t>> large = {{72, 64}, {72, 64}, {}, {64}, {72, 1}};
  const std::vector<std::vector<int64_t>> odd = {{72, 2, 62}, {62}, {72, 1, 62}, {2, 1}, {72, 2, 1}};
  const DType types[] = {DType::kFloat, DType::kBFloat16, DType::kHalf, DType::kDouble, DType::kBool, DType::kInt64};
  for (uint32_t i = 0; i < 6; ++i)
    values_.push_back(Feed(Random(types[i], Any(GetParam() % 3 == 0 ? large : GetParam() % 3 == 1 ? odd : shapes), i)));
  std::vector<Value> made;
  for (int i = 0; i < 18; ++i) {
    values_.push_back(Make());
    made.push_back(values_.back());
  }
  std::vector<Value> fetches = {made.back()};
  for (int i = 0; i < 4; ++i) fetches.push_back(Any(made));
  ExpectSameBits(fetches);
  EXPECT_GT(Count("_FusedMixedElementwise") + Count("_FusedElementwise"), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMixedFusion, testing::Range(0, 24));

TEST(MixedPrograms, ThatAreMalformedAreRefused) {
  struct Program {
    std::vector<std::string> ops;
    std::vector<int64_t> operands;
    std::vector<DType> types;
    std::vector<int64_t> results;
    DType out = DType::kHalf;
  };
  const Program programs[] = {{{}, {}, {}, {0}},
                              {{"Cast"}, {0, -1}, {DType::kHalf}, {0}},
                              {{"Cast"}, {0, -1, -1}, {}, {0}},
                              {{"Cast"}, {0, 0, -1}, {DType::kHalf}, {0}},
                              {{"Cast"}, {1, -1, -1}, {DType::kHalf}, {0}},
                              {{"Cast"}, {0, -1, -1}, {DType::kFloat}, {0}},
                              {{"Cast"}, {0, -1, -1}, {DType::kString}, {0}, DType::kString},
                              {{"Cast"}, {0, -1, -1}, {DType::kComplex64}, {0}, DType::kComplex64},
                              {{"Neg"}, {0, -1, -1}, {DType::kHalf}, {0}},
                              {{"Neg"}, {0, 0, -1}, {DType::kFloat}, {0}, DType::kFloat},
                              {{"Mean"}, {0, -1, -1}, {DType::kHalf}, {0}},
                              {{"Less"}, {0, 0, -1}, {DType::kFloat}, {0}, DType::kFloat},
                              {{"SelectV2"}, {0, 0, 0}, {DType::kFloat}, {0}, DType::kFloat},
                              {{"MatMul"}, {0, 0, -1}, {DType::kFloat}, {0}, DType::kFloat}};
  for (const Program& program : programs) {
    const Attrs attrs = {{"ops", AttrList{.s = program.ops}},
                         {"operands", AttrList{.i = program.operands}},
                         {"types", AttrList{.type = program.types}},
                         {"results", AttrList{.i = program.results}},
                         {"Tout", AttrList{.type = {program.out}}}};
    const auto out = RunOn("/device:GPU:0", "_FusedMixedElementwise", {Random(DType::kFloat, {4})}, attrs);
    EXPECT_FALSE(out.ok()) << (program.ops.empty() ? "nothing" : program.ops[0]);
  }
}

}  // namespace
}  // namespace weir::gpu_testing
