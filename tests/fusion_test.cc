// Fused nodes give what the nodes they stand for give.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/fusion_fixture.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/device/cpu/rewrites/fuse_elementwise.h"
#include "weir/device/cpu/rewrites/fuse_norms.h"
#include "weir/ops/math/register.h"
#include "weir/passes/sink_broadcasts.h"
#include "weir/testing/kernel_runner.h"

namespace weir {
namespace {

// What the tables call elementwise, and what the kernels of the CPU offer to fused programs.
TEST_F(FusionTest, CommonOperationsAreFusible) {
  for (std::string_view op : {"Abs",          "Add",      "AddV2",     "Ceil",         "Cos",
                              "Div",          "DivNoNan", "Elu",       "EluGrad",      "Erf",
                              "Exp",          "Expm1",    "Floor",     "Inv",          "InvGrad",
                              "Log",          "Log1p",    "Maximum",   "Minimum",      "Mul",
                              "Neg",          "Pow",      "RealDiv",   "Reciprocal",   "ReciprocalGrad",
                              "Relu",         "Relu6",    "Relu6Grad", "ReluGrad",     "Rsqrt",
                              "RsqrtGrad",    "Selu",     "SeluGrad",  "Sigmoid",      "SigmoidGrad",
                              "Sign",         "Sin",      "Softplus",  "SoftplusGrad", "Softsign",
                              "SoftsignGrad", "Sqrt",     "SqrtGrad",  "Square",       "SquaredDifference",
                              "Sub",          "Tanh",     "TanhGrad"}) {
    EXPECT_TRUE(environment_->ops.Find(op)->is_elementwise) << op;
    EXPECT_TRUE(FindFloatLoop(op).has_value()) << op;
  }
}

TEST_F(FusionTest, ElementwiseOperationsBecomeOne) {
  Value x = Feed(Wave({4, 4}, 0.7)), y = Feed(Wave({4}, 0.3));
  Value last = Unary("Tanh", Binary("Mul", Binary("AddV2", x, y), y));
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  const Node& fused = *graph_.node(last.node());
  EXPECT_EQ(fused.op(), "_FusedElementwise");
  EXPECT_EQ(fused.inputs, (std::vector<Endpoint>{{x.node(), 0}, {y.node(), 0}}));
  EXPECT_EQ(fused.Attr<std::vector<std::string>>("ops").value(), (std::vector<std::string>{"AddV2", "Mul", "Tanh"}));
  EXPECT_EQ(fused.Attr<std::vector<int64_t>>("operands").value(), (std::vector<int64_t>{0, 1, 2, 1, 3, -1}));
  EXPECT_EQ(fused.Attr<std::vector<int64_t>>("results").value(), (std::vector<int64_t>{2}));
}

TEST_F(FusionTest, WhatOthersSeeIsAFurtherOutput) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value sum = Binary("AddV2", x, x);
  Value last = Unary("Tanh", sum);
  Value product = Binary("MatMul", sum, last);
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(graph_.node(product.node())->inputs, (std::vector<Endpoint>{{last.node(), 1}, {last.node(), 0}}));
}

// The product needs the sum and gives what the difference needs: they cannot be one node.
TEST_F(FusionTest, NoCyclesArise) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value sum = Binary("AddV2", x, x);
  Value difference = Binary("Sub", Binary("MatMul", sum, x), sum);
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(Count("_FusedElementwise"), 0);
  ExpectSame({difference});
}

TEST_F(FusionTest, DeadValuesStayApart) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value sum = Unary("Neg", Binary("AddV2", x, x));
  Value alive = Feed(Tensor::Scalar(false));
  Value branch = emit_.Outputs("Switch", {x, alive})[1];
  Value dead = Binary("Mul", sum, branch);
  Value merged = emit_.Outputs("Merge", {std::vector<Value>{dead, Unary("Identity", sum)}})[0];
  ExpectSame({merged, sum});
}

TEST_F(FusionTest, ElementwiseShapes) {
  std::vector<Value> fetches;
  const std::vector<std::vector<Shape>> cases = {
      {{3, 5, 70}, {3, 5, 1}, {70}},   // a norm
      {{2, 3, 4}, {3, 1}, {1}},        // neither row nor column
      {{3000}, {}, {1}},               // more than a block
      {{40, 50}, {50}, {40, 1}},       // rows and columns that a block cuts
      {{4, 1}, {1, 5}, {4, 5}},        // only the results are large
      {{0, 3}, {3}, {1}},              // nothing
      {{}, {}, {}},                    //
      {{1, 1}, {4}, {1}},              // the same elements in other shapes
      {{5}, {1, 5}, {1, 1, 5}},        //
      {{2000, 3}, {3}, {2000, 1}},     //
      {{7, 300}, {7, 300}, {7, 300}},  //
  };
  for (const std::vector<Shape>& shapes : cases) {
    Value x = Feed(Wave(shapes[0], 0.7)), y = Feed(Wave(shapes[1], 0.3, 2)), z = Feed(Wave(shapes[2], 0.2));
    Value centred = Binary("Sub", x, z);
    Value factor = Unary("Rsqrt", Binary("AddV2", Unary("Square", y), emit_.Constant(Tensor::Scalar(0.5f))));
    Value out = Binary("AddV2", Binary("Mul", centred, Binary("Mul", factor, z)), y);
    fetches.insert(fetches.end(), {factor, out, Unary("Exp", Unary("Neg", Unary("Square", out)))});
  }
  ExpectSame(fetches);
}

TEST_F(FusionTest, GradientsOfElementwiseOperations) {
  Value x = Feed(Wave({30, 50}, 0.7)), w = Feed(Wave({50}, 0.2, 1));
  Value y = Binary("Mul", Unary("Tanh", Binary("Mul", x, w)), Unary("Sigmoid", Binary("Sub", x, w)));
  Value dy = Feed(Wave({30, 50}, 0.4));
  Value first = Binary("TanhGrad", y, dy);
  Value second = Binary("SigmoidGrad", Unary("Sigmoid", y), Binary("Mul", first, dy));
  ExpectSame({y, first, Binary("AddV2", second, first), Binary("RsqrtGrad", y, second)});
}

TEST_F(FusionTest, BatchNormsTakeTheRelu) {
  auto norm = [&](Value x) {
    return emit_.Outputs("FusedBatchNormV3", {x, Feed(Wave({5}, 0.3, 1)), Feed(Wave({5}, 0.2)), Nothing(), Nothing()},
                         {});
  };
  Value x = Feed(Wave({3, 4, 6, 5}, 0.7)), other = Feed(Wave({3, 4, 6, 5}, 0.3));
  Values plain = norm(x), added = norm(other);
  Value first = Unary("Relu", plain[0]), second = Unary("Relu", Binary("AddV2", other, added[0]));
  Value dy = Feed(Wave({3, 4, 6, 5}, 0.9));
  Values back =
      emit_.Outputs("FusedBatchNormGradV3",
                    {Binary("ReluGrad", dy, first), x, Feed(Wave({5}, 0.3, 1)), plain[3], plain[4], plain[5]}, {});
  ExpectSame({first, second, plain[1], plain[2], added[1], added[2], back[0], back[1], back[2]});
  ASSERT_TRUE(Apply(FuseNorms).ok());
  EXPECT_EQ(graph_.node(plain[0].node())->op(), "_FusedBatchNormEx");
  EXPECT_EQ(graph_.node(added[0].node())->inputs.back(), (Endpoint{other.node(), 0}));
  EXPECT_EQ(graph_.node(back[0].node())->op(), "_FusedBatchNormGradEx");
  EXPECT_EQ(graph_.node(back[0].node())->inputs.back(), (Endpoint{plain[0].node(), 0}));
}

// What is added comes of the norm's own statistics: the norm cannot wait for it.
TEST_F(FusionTest, BatchNormsDoNotWaitForThemselves) {
  Value x = Feed(Wave({3, 4, 6, 5}, 0.7));
  Values norm =
      emit_.Outputs("FusedBatchNormV3", {x, Feed(Wave({5}, 0.3, 1)), Feed(Wave({5}, 0.2)), Nothing(), Nothing()}, {});
  Value out = Unary("Relu", Binary("AddV2", norm[0], Binary("Mul", x, norm[1])));
  ExpectSame({out, norm[2]});
  ASSERT_TRUE(Apply(FuseNorms).ok());
  EXPECT_EQ(graph_.node(norm[0].node())->op(), "FusedBatchNormV3");
}

TEST_F(FusionTest, ANormOverRowsBecomesOne) {
  Value x = Feed(Wave({4, 3, 70}, 0.7)), scale = Feed(Wave({70}, 0.3, 1)), offset = Feed(Wave({70}, 0.2));
  Value mean = Reduced("Mean", x, -1), variance = Reduced("Mean", Binary("SquaredDifference", x, mean), 2);
  Value factor = Binary("Mul", Unary("Rsqrt", Binary("AddV2", variance, Number(1e-5f))), scale);
  Value out = Binary("AddV2", Binary("Mul", Binary("Sub", x, mean), factor), offset);
  ExpectSame({out, mean, factor});
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(OpsOf(out), (std::vector<std::string>{"Mean", "SquaredDifference", "Mean", "AddV2", "Rsqrt", "Mul", "Sub",
                                                  "Mul", "AddV2"}));
  EXPECT_EQ(graph_.node(out.node())->inputs.size(), 4u);
}

TEST_F(FusionTest, ReductionsOfOtherDimensionsStayApart) {
  Value x = Feed(Wave({4, 3, 70}, 0.7));
  Value sums[] = {Reduced("Sum", Unary("Neg", x), 1), Reduced("Sum", Unary("Exp", x), -1, /*keep=*/false),
                  emit_.Op("Sum", {Unary("Tanh", x), emit_.Constant(emit::IntsTensor(std::vector<int64_t>{1, 2}))},
                           {{"keep_dims", true}})};
  ExpectSame({sums[0], sums[1], sums[2]});
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  for (Value sum : sums) EXPECT_EQ(graph_.node(sum.node())->op(), "Sum");
}

TEST_F(FusionTest, RowsOfManyShapes) {
  std::vector<Value> fetches;
  struct Case {
    Shape x, y, z;
  };
  const Case cases[] = {
      {{3, 5, 70}, {70}, {3, 5, 1}},             //
      {{2, 4, 9, 33}, {2, 1, 1, 33}, {9, 33}},   // a mask for each sequence
      {{2, 4, 9, 33}, {2, 1, 9, 1}, {4, 1, 1}},  // neither rows nor columns
      {{7}, {1}, {}},                            // one row
      {{3, 1}, {3, 1}, {1}},                     // rows of one
      {{600, 2}, {2}, {600, 1}},                 // more rows than a block has
      {{3, 4000}, {4000}, {3, 4000}},            // longer than a block
      {{2, 9000}, {2, 1}, {9000}},               // too long to be fused
      {{0, 5}, {5}, {1}},                        // no rows
      {{1, 1, 128}, {1, 1, 128}, {1, 1, 1}},     //
  };
  for (const auto& [xs, ys, zs] : cases) {
    Value x = Feed(Wave(xs, 0.7)), y = Feed(Wave(ys, 0.3, 2)), z = Feed(Wave(zs, 0.2));
    Value scores = Binary("AddV2", Binary("Mul", x, y), z);
    Value weights = Unary("Softmax", scores);
    // The gradient of a softmax.
    Value product = Binary("Mul", x, weights);
    Value slope = Binary("Mul", Binary("Sub", x, Reduced("Sum", product, -1)), weights);
    fetches.insert(fetches.end(), {weights, slope, Unary("LogSoftmax", Unary("Neg", scores))});
    for (std::string_view op : {"Sum", "Mean", "Max", "Min", "Prod"}) {
      Value reduced = Reduced(op, Unary("Sin", x), -1);
      fetches.insert(fetches.end(), {Binary("Maximum", Unary("Square", reduced), z), Binary("Sub", x, reduced)});
    }
  }
  ExpectSame(fetches);
}

// What a backward pass takes of the forward pass is made again of what is stored anyway.
TEST_F(FusionTest, CheapValuesAreMadeAgain) {
  Value x = Feed(Wave({8, 8}, 0.7)), w = Feed(Wave({8, 8}, 0.2));
  Value tanh = Unary("Tanh", x), factor = Binary("AddV2", tanh, Number(1));
  Value y = Binary("Mul", w, factor);
  Value back = Binary("MatMul", y, w);
  Value slope = Binary("Mul", Binary("TanhGrad", tanh, back), factor);
  ExpectSame({y, slope});
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  const Node& forward = *graph_.node(y.node());
  EXPECT_EQ(forward.op(), "_FusedElementwise");
  EXPECT_EQ(forward.num_outputs(), 2);  // the product and the tangent, not the factor
  EXPECT_EQ(OpsOf(slope), (std::vector<std::string>{"AddV2", "TanhGrad", "Mul"}));
}

TEST_F(FusionTest, WhatComesOfValuesThatAreReadAnywayIsMadeAgain) {
  Value x = Feed(Wave({8, 8}, 0.7)), w = Feed(Wave({8, 8}, 0.2));
  Value inner = Binary("AddV2", x, Binary("Mul", Binary("Mul", x, x), Number(0.1f)));
  Value tanh = Unary("Tanh", inner);
  Value y = Binary("Mul", x, tanh);
  Value back = Binary("MatMul", y, w);
  Value slope = Binary("Mul", Binary("TanhGrad", tanh, back), x);
  ExpectSame({y, slope});
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(graph_.node(y.node())->num_outputs(), 1);
  EXPECT_EQ(OpsOf(slope), (std::vector<std::string>{"Mul", "Mul", "AddV2", "Tanh", "TanhGrad", "Mul"}));
}

TEST_F(FusionTest, SumsOfManyAreFused) {
  Value x = Feed(Wave({5, 40}, 0.7)), y = Feed(Wave({5, 40}, 0.3));
  Value sum = emit::AddN({Unary("Neg", x), Unary("Exp", y), x, Binary("Mul", x, y)});
  ExpectSame({sum, Unary("Sqrt", Unary("Square", sum))});
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(Count("_FusedElementwise"), 1);
}

TEST_F(FusionTest, SumsOfOtherShapesAreErrors) {
  auto unknown = [&](Tensor value) {
    Value out = emit_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 4})}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  };
  Value sum = emit::AddN({Unary("Neg", unknown(Wave({3, 4}, 0.1))), Unary("Exp", unknown(Wave({1, 4}, 0.1)))});
  ExpectError(Unary("Neg", sum), "must have the same size and shape.  Input 0: [3,4] != input 1: [1,4]");
}

TEST_F(FusionTest, GradientsOfMeansNeedNoBroadcast) {
  Value x = Feed(Wave({4, 3, 70}, 0.7)), dy = Feed(Wave({4, 3, 1}, 0.3)), other = Feed(Wave({4, 3, 70}, 0.1));
  Value wide = emit_.Op("BroadcastTo", {dy, emit_.Constant(emit::IntsTensor(std::vector<int64_t>{4, 3, 70}))});
  Value slope = Binary("RealDiv", wide, Number(70));
  Value product = Binary("Mul", slope, x), sum = emit::AddN({other, slope, x});
  ExpectSame({slope, product, sum});
  ASSERT_TRUE(Apply(SinkBroadcasts).ok());
  const Node& small = *graph_.node(graph_.node(product.node())->inputs[0].node);
  EXPECT_EQ(small.op(), "RealDiv");
  EXPECT_EQ(small.inputs[0], (Endpoint{dy.node(), 0}));
  EXPECT_EQ(graph_.node(slope.node())->op(), "BroadcastTo");  // for whoever wants it whole
  EXPECT_EQ(graph_.node(sum.node())->op(), "AddV2");
  EXPECT_EQ(graph_.node(sum.node())->inputs[1], (Endpoint{small.id, 0}));
}

// A client may feed another shape than the placeholder declares; nothing that was made of the graph may rely on it.
TEST_F(FusionTest, FeedsOfOtherShapesThanDeclared) {
  Value x = emit_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 3})}});
  Value fetches[] = {Unary("Rank", x), Reduced("Sum", Unary("Exp", x), 1)};
  ASSERT_TRUE(emit_.status().ok());
  auto session = Session::Create(environment_, {}).value();
  ASSERT_TRUE(session->Extend(graph_).ok());
  Session::CallableSpec spec;
  spec.feeds = {Cat(graph_.node(x.node())->name, ":0")};
  for (Value fetch : fetches) spec.fetches.push_back(graph_.TensorName({fetch.node(), 0}));
  auto callable = session->MakeCallable(spec);
  ASSERT_TRUE(callable.ok()) << callable.status();
  for (const Shape& shape : {Shape({5, 3}), Shape({2, 3, 4}), Shape({1, 3}), Shape({2, 7})}) {
    const Tensor value = Wave(shape, 0.3);
    const weir::Feed feed(spec.feeds[0], value);
    std::vector<Tensor> run, called;
    ASSERT_TRUE(session->Run(std::span(&feed, 1), spec.fetches, {}, &run).ok());
    ASSERT_TRUE(session->RunCallable(*callable, std::span(&value, 1), &called).ok());
    for (const std::vector<Tensor>& out : {run, called}) {
      EXPECT_EQ(out[0].scalar<int32_t>(), shape.rank());
      Shape reduced = shape;
      ASSERT_TRUE(reduced.SetDim(1, 1).ok());
      EXPECT_EQ(out[1].shape(), reduced);
    }
  }
}

TEST_F(FusionTest, ElementwiseErrorsAreThoseOfTheParts) {
  Value x = emit_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  Value out = Unary("Exp", Binary("Mul", Unary("Neg", x), Feed(Wave({4}, 0.2))));
  feeds_.emplace_back(Cat(graph_.node(x.node())->name, ":0"), Wave({3}, 0.1));
  ExpectError(out, "Incompatible shapes: [3] vs. [4]");
}

TEST_F(FusionTest, MalformedProgramsAreRefused) {
  struct Program {
    std::vector<std::string> ops;
    std::vector<int64_t> operands, results;
  };
  const Program programs[] = {{{}, {}, {0}},
                              {{"Neg"}, {0}, {0}},
                              {{"Neg"}, {0, 0}, {0}},
                              {{"Neg"}, {1, -1}, {0}},
                              {{"Neg"}, {-1, -1}, {0}},
                              {{"AddV2"}, {0, -1}, {0}},
                              {{"AddV2"}, {0, 1}, {0}},
                              {{"Neg"}, {0, -1}, {1}},
                              {{"MatMul"}, {0, 0}, {0}}};
  KernelRunner run({RegisterMathKernels});
  for (const Program& program : programs) {
    KernelCall call = run("_FusedElementwise")
                          .Attr("M", 1)
                          .Attr("ops", AttrList{.s = program.ops})
                          .Attr("operands", program.operands)
                          .Attr("results", program.results)
                          .Input(Wave({4}, 0.1));
    EXPECT_FALSE(call.Run().ok());
  }
}

}  // namespace
}  // namespace weir
