#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "weir/ops/nn/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// All expected values are TensorFlow's.
class NnTest : public testing::Test {
 protected:
  std::vector<Tensor> RunAll(KernelCall& call) {
    auto out = call.Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *out : std::vector<Tensor>(6);
  }
  Tensor RunOne(KernelCall& call) { return RunAll(call)[0]; }
  static void ExpectInvalid(KernelCall& call, std::string_view text) {
    Status status = call.Run().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(std::string(text)));
  }
  static Tensor Counted(const Shape& shape, float step) {
    Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
    for (int64_t i = 0; i < out.num_elements(); ++i) out.data<float>()[i] = static_cast<float>(i + 1) * step;
    return out;
  }
  // 0.1, -0.2, 0.3, ... as [1, 4, 4, 2].
  static Tensor Image() {
    Tensor out = Counted({1, 4, 4, 2}, 0.1f);
    for (int64_t i = 1; i < 32; i += 2) out.data<float>()[i] *= -1;
    return out;
  }
  KernelCall Window(std::string_view op, std::string_view padding, std::vector<int64_t> strides) {
    return run(op).Attr("padding", Attribute(std::string(padding))).Attr("strides", std::move(strides));
  }
  KernelCall Pool(std::string_view op) {
    return Window(op, "SAME", {1, 2, 2, 1}).Attr("ksize", std::vector<int64_t>{1, 3, 3, 1});
  }

  KernelRunner run{RegisterNnKernels};
};

struct Activation {
  std::string_view op;
  std::initializer_list<float> values;
};

TEST_F(NnTest, Activations) {
  const Activation kRows[] = {
      {"Relu", {0, 0, 0, 0, 0.5f, 1, 7, NAN}},
      {"Relu6", {0, 0, 0, 0, 0.5f, 1, 6, NAN}},
      {"LeakyRelu", {-0.6f, -0.2f, -0.1f, 0, 0.5f, 1, 7, NAN}},
      {"Elu", {-0.95021296f, -0.63212055f, -0.39346933f, 0, 0.5f, 1, 7, NAN}},
      {"Selu", {-1.6705687f, -1.1113307f, -0.69175816f, 0, 0.52535051f, 1.050701f, 7.354907f, NAN}},
      {"Softplus", {0.048587356f, 0.31326169f, 0.47407699f, 0.69314718f, 0.97407693f, 1.3132616f, 7.0009117f, NAN}},
      {"Softsign", {-0.75f, -0.5f, -0.33333334f, 0, 0.33333334f, 0.5f, 0.875f, NAN}},
  };
  for (const Activation& row : kRows) {
    SCOPED_TRACE(row.op);
    KernelCall call = run(row.op).Input(TensorOf<float>({8}, {-3, -1, -0.5f, 0, 0.5f, 1, 7, NAN}));
    ExpectTensorNear(RunOne(call), TensorOf<float>({8}, row.values), 1e-6, 1e-7);
  }
}

TEST_F(NnTest, ActivationGradients) {
  const Activation kRows[] = {
      {"ReluGrad", {0, 0, 0, 0, 5, 6, 7, 0}},
      {"Relu6Grad", {0, 0, 0, 0, 5, 6, 0, 0}},
      {"LeakyReluGrad", {0.2f, 0.4f, 0.6f, 0.8f, 5, 6, 7, 1.6f}},
      {"SoftplusGrad", {0.047425874f, 0.53788286f, 1.132622f, 2, 3.1122966f, 4.3863516f, 6.9936228f, NAN}},
      {"SoftsignGrad", {0.0625f, 0.5f, 1.3333334f, 4, 2.2222223f, 1.5f, 0.109375f, NAN}},
      {"EluGrad", {-2, 0, 1.5f, 4, 5, 6, 7, 8}},
      {"SeluGrad", {-1.2419007f, 1.5161986f, 3.774298f, 4.2028041f, 5.2535052f, 6.3042059f, 7.354907f, 8.4056082f}},
  };
  for (const Activation& row : kRows) {
    SCOPED_TRACE(row.op);
    KernelCall call = run(row.op)
                          .Input(TensorOf<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8}))
                          .Input(TensorOf<float>({8}, {-3, -1, -0.5f, 0, 0.5f, 1, 7, NAN}));
    ExpectTensorNear(RunOne(call), TensorOf<float>({8}, row.values), 1e-6, 1e-7);
  }
}

TEST_F(NnTest, Convolution) {
  KernelCall same = Window("Conv2D", "SAME", {1, 2, 1, 1}).Inputs({Image(), Counted({2, 3, 2, 2}, 0.05f)});
  ExpectTensorNear(RunOne(same),
                   TensorOf<float>({1, 2, 4, 2}, {-0.54f, -0.56f, -0.81f, -0.84f, -0.93f, -0.96f, -0.62f, -0.64f,
                                                  -1.18f, -1.2f, -1.77f, -1.8f, -1.89f, -1.92f, -1.26f, -1.28f}));
  KernelCall dilated = Window("Conv2D", "EXPLICIT", {1, 1, 1, 1})
                           .Attr("explicit_paddings", std::vector<int64_t>{0, 0, 1, 0, 0, 1, 0, 0})
                           .Attr("dilations", std::vector<int64_t>{1, 2, 1, 1})
                           .Inputs({Image(), Counted({2, 3, 2, 2}, 0.05f)});
  ExpectTensorNear(RunOne(dilated), TensorOf<float>({1, 3, 3, 2}, {-0.615f, -0.63f, -0.675f, -0.69f, -0.45f, -0.46f,
                                                                   -1.05f, -1.08f, -1.17f, -1.2f, -0.78f, -0.8f, -1.53f,
                                                                   -1.56f, -1.65f, -1.68f, -1.1f, -1.12f}));
  KernelCall grouped = Window("Conv2D", "VALID", {1, 1, 1, 1}).Inputs({Image(), Counted({2, 3, 1, 2}, 0.1f)});
  ExpectTensorNear(RunOne(grouped), TensorOf<float>({1, 3, 2, 2}, {3.4f, -4.24f, 4.12f, -5.08f, 6.28f, -7.6f, 7, -8.44f,
                                                                   9.16f, -10.96f, 9.88f, -11.8f}));
}

TEST_F(NnTest, ConvolutionGradients) {
  KernelCall input =
      Window("Conv2DBackpropInput", "SAME", {1, 2, 1, 1})
          .Inputs({Tensor::Vector<int32_t>({1, 4, 4, 2}), Counted({2, 3, 2, 2}, 0.05f), Counted({1, 2, 4, 2}, 0.1f)});
  ExpectTensorNear(RunOne(input),
                   TensorOf<float>({1, 4, 4, 2}, {0.14f, 0.24f, 0.425f, 0.635f, 0.755f, 1.085f, 0.94f, 1.2f,
                                                  0.74f, 0.84f, 1.685f, 1.895f, 2.735f, 3.065f, 2.5f,  2.76f,
                                                  0.7f,  1.12f, 1.745f, 2.435f, 2.075f, 2.885f, 2.14f, 2.72f,
                                                  3.22f, 3.64f, 5.885f, 6.575f, 6.935f, 7.745f, 5.62f, 6.2f}));
  KernelCall filter = Window("Conv2DBackpropFilter", "SAME", {1, 2, 1, 1})
                          .Inputs({Image(), Tensor::Vector<int32_t>({2, 3, 2, 2}), Counted({1, 2, 4, 2}, 0.1f)});
  ExpectTensorNear(RunOne(filter),
                   TensorOf<float>({2, 3, 2, 2}, {8.02f,  8.68f,  -8.56f, -9.28f,  10.64f, 11.6f,  -11.28f, -12.32f,
                                                  7.54f,  8.32f,  -7.96f, -8.8f,   12.34f, 13.48f, -12.88f, -14.08f,
                                                  15.76f, 17.36f, -16.4f, -18.08f, 10.9f,  12.16f, -11.32f, -12.64f}));
}

TEST_F(NnTest, DepthwiseConvolution) {
  const Tensor image = Image();
  Tensor input = Tensor::FromSpan<float>(image.span<float>().subspan(0, 18), {1, 3, 3, 2});
  Tensor filter = Counted({2, 2, 2, 2}, 0.05f);
  Tensor gradient = Counted({1, 2, 2, 4}, 0.1f);
  KernelCall forward = Window("DepthwiseConv2dNative", "VALID", {1, 1, 1, 1}).Inputs({input, filter});
  ExpectTensorNear(RunOne(forward),
                   TensorOf<float>({1, 2, 2, 4}, {0.98f, 1.08f, -1.36f, -1.48f, 1.26f, 1.4f, -1.72f, -1.88f, 1.82f,
                                                  2.04f, -2.44f, -2.68f, 2.1f, 2.36f, -2.8f, -3.08f}));
  KernelCall by_input = Window("DepthwiseConv2dNativeBackpropInput", "VALID", {1, 1, 1, 1})
                            .Inputs({Tensor::Vector<int32_t>({1, 3, 3, 2}), filter, gradient});
  ExpectTensorNear(RunOne(by_input),
                   TensorOf<float>({1, 3, 3, 2}, {0.025f, 0.125f, 0.17f, 0.53f, 0.305f, 0.565f, 0.29f, 0.81f, 1.46f,
                                                  2.82f, 1.49f, 2.33f, 0.905f, 1.325f, 2.57f, 3.57f, 1.825f, 2.405f}));
  KernelCall by_filter = Window("DepthwiseConv2dNativeBackpropFilter", "VALID", {1, 1, 1, 1})
                             .Inputs({input, Tensor::Vector<int32_t>({2, 2, 2, 2}), gradient});
  ExpectTensorNear(RunOne(by_filter),
                   TensorOf<float>({2, 2, 2, 2}, {1.96f, 2.16f, -2.72f, -2.96f, 2.52f, 2.8f, -3.44f, -3.76f, 3.64f,
                                                  4.08f, -4.88f, -5.36f, 4.2f, 4.72f, -5.6f, -6.16f}));
}

TEST_F(NnTest, ThreeDimensionalConvolution) {
  KernelCall call = Window("Conv3D", "SAME", {1, 1, 1, 1, 1})
                        .Inputs({Counted({1, 2, 2, 2, 2}, 0.1f), Counted({2, 2, 2, 2, 1}, 0.05f)});
  ExpectTensorNear(RunOne(call),
                   TensorOf<float>({1, 2, 2, 2, 1}, {7.48f, 3.66f, 3.42f, 1.59f, 2.46f, 1.03f, 0.75f, 0.235f}));
}

TEST_F(NnTest, PlacesOfLargestValues) {
  Tensor input = Counted({2, 2, 2, 1}, 1);
  input.data<float>()[5] = 9;
  KernelCall call = Window("MaxPoolWithArgmax", "VALID", {1, 1, 1, 1})
                        .Attr("ksize", std::vector<int64_t>{1, 2, 2, 1})
                        .Attr("include_batch_in_index", Attribute(true))
                        .Input(input);
  std::vector<Tensor> out = RunAll(call);
  ExpectTensorEqual(out[0], TensorOf<float>({2, 1, 1, 1}, {4, 9}));
  ExpectTensorEqual(out[1], TensorOf<int64_t>({2, 1, 1, 1}, {3, 5}));
}

TEST_F(NnTest, Pools) {
  KernelCall max = Pool("MaxPool").Input(Image());
  Tensor largest = RunOne(max);
  ExpectTensorNear(largest, TensorOf<float>({1, 2, 2, 2}, {2.1f, -0.2f, 2.3f, -0.6f, 2.9f, -1.8f, 3.1f, -2.2f}));
  Tensor ones = TensorOf<float>({1, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1});
  KernelCall max_grad = Pool("MaxPoolGrad").Inputs({Image(), largest, ones});
  ExpectTensorEqual(RunOne(max_grad), TensorOf<float>({1, 4, 4, 2}, {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                                     0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0}));
  KernelCall mean = Pool("AvgPool").Input(Image());
  ExpectTensorNear(RunOne(mean), TensorOf<float>({1, 2, 2, 2}, {1.1f, -1.2f, 1.4f, -1.5f, 2.3f, -2.4f, 2.6f, -2.7f}));
  KernelCall mean_grad = Pool("AvgPoolGrad").Inputs({Tensor::Vector<int32_t>({1, 4, 4, 2}), ones});
  constexpr float a = 1 / 9.f, b = 5 / 18.f, c = 1 / 6.f, d = 25 / 36.f, e = 5 / 12.f;
  ExpectTensorNear(RunOne(mean_grad),
                   TensorOf<float>({1, 4, 4, 2}, {a, a, a, a, b, b, c, c, a, a, a, a, b, b, c,     c,
                                                  b, b, b, b, d, d, e, e, c, c, c, c, e, e, 0.25f, 0.25f}));
}

TEST_F(NnTest, BatchNorm) {
  Tensor scale = Tensor::Vector<float>({1, 2});
  KernelCall call = run("FusedBatchNormV3")
                        .Attr("epsilon", Attribute(0.001f))
                        .Attr("exponential_avg_factor", Attribute(0.9f))
                        .Inputs({Image(), scale, Tensor::Vector<float>({0.5f, -0.5f}),
                                 Tensor::Vector<float>({0.1f, 0.2f}), Tensor::Vector<float>({1, 2})});
  std::vector<Tensor> out = RunAll(call);
  ExpectTensorNear(out[0].SubTensor(0).SubTensor(0).Slice(0, 2),
                   TensorOf<float>({2, 2}, {-1.1260223f, 2.7520442f, -0.90921938f, 2.3184385f}));
  ExpectTensorNear(out[1], Tensor::Vector<float>({1.45f, -1.51f}));
  ExpectTensorNear(out[2], Tensor::Vector<float>({0.91600013f, 1.0160002f}));
  ExpectTensorNear(out[3], Tensor::Vector<float>({1.6f, -1.7f}));
  ExpectTensorNear(out[4], Tensor::Vector<float>({0.85f, 0.85f}));

  Tensor gradient = Image();
  for (float& x : gradient.span<float>()) x *= x;
  for (bool is_training : {true, false}) {
    KernelCall grad = run("FusedBatchNormGradV3")
                          .Attr("epsilon", Attribute(0.001f))
                          .Attr("is_training", Attribute(is_training))
                          .Inputs({gradient, Image(), scale, out[3], out[4], out[5]});
    std::vector<Tensor> back = RunAll(grad);
    ExpectTensorNear(back[0].SubTensor(0).SubTensor(0).Slice(0, 2),
                     is_training ? TensorOf<float>({2, 2}, {1.5115058f, 3.0222478f, 0.90527332f, 1.8098845f})
                                 : TensorOf<float>({2, 2}, {0.010840149f, 0.086721189f, 0.097561337f, 0.34688476f}),
                     1e-5, 1e-5);
    ExpectTensorNear(back[1], Tensor::Vector<float>({47.176323f, -50.124844f}));
    ExpectTensorNear(back[2], Tensor::Vector<float>({54.56f, 59.84f}));
    EXPECT_EQ(back[3].shape(), Shape{0});
  }
}

TEST_F(NnTest, LocalResponse) {
  auto call = [&](std::string_view op) {
    return run(op)
        .Attr("depth_radius", Attribute(int64_t{1}))
        .Attr("alpha", Attribute(0.5f))
        .Attr("beta", Attribute(0.75f));
  };
  Tensor x = TensorOf<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  KernelCall forward = call("LRN").Input(x);
  Tensor y = RunOne(forward);
  ExpectTensorNear(y, TensorOf<float>({1, 1, 1, 4}, {0.39079496f, 0.42044821f, 0.38403648f, 0.56794941f}));
  KernelCall backward = call("LRNGrad").Inputs({TensorOf<float>({1, 1, 1, 4}, {1, -1, 0.5f, 2}), x, y});
  ExpectTensorNear(RunOne(backward),
                   TensorOf<float>({1, 1, 1, 4}, {0.34647021f, -0.31745601f, -0.034932926f, -0.0056120865f}), 1e-5,
                   1e-6);
}

TEST_F(NnTest, CrossEntropyBroadcasts) {
  KernelCall call =
      run("SoftmaxCrossEntropyWithLogits")
          .Inputs({TensorOf<float>({1, 3}, {1, 2, 3}), TensorOf<float>({2, 3}, {.2f, .3f, .5f, 0, 1, 0})});
  std::vector<Tensor> out = RunAll(call);
  ExpectTensorNear(out[0], Tensor::Vector<float>({1.1076059f, 1.4076059f}));
  ExpectTensorNear(out[1], TensorOf<float>({2, 3}, {-0.10996943f, -0.05527154f, 0.16524094f, 0.09003057f, -0.75527155f,
                                                    0.66524094f}));
}

TEST_F(NnTest, InTopK) {
  KernelCall call = run("InTopKV2")
                        .Inputs({TensorOf<float>({5, 3}, {1, 2, 3, 3, 2, 1, 1, INFINITY, 0, 1, 2, 3, 1, 2, 3}),
                                 Tensor::Vector<int32_t>({2, 2, 0, 7, -1}), Tensor::Scalar(1)});
  ExpectTensorEqual(RunOne(call), TensorOf<bool>({5}, {true, false, false, false, false}));
}

TEST_F(NnTest, EmptyTensors) {
  KernelCall softmax = run("Softmax").Input(Tensor::Zeros(DType::kFloat, {0, 3}).value());
  EXPECT_EQ(RunOne(softmax).shape(), (Shape{0, 3}));
  KernelCall convolution =
      Window("Conv2D", "SAME", {1, 1, 1, 1})
          .Inputs({Tensor::Zeros(DType::kFloat, {0, 4, 4, 2}).value(), Counted({2, 3, 2, 2}, 0.05f)});
  EXPECT_EQ(RunOne(convolution).shape(), (Shape{0, 4, 4, 2}));
  KernelCall bias = run("BiasAddGrad").Input(Tensor::Zeros(DType::kFloat, {0, 2}).value());
  ExpectTensorEqual(RunOne(bias), Tensor::Vector<float>({0, 0}));
}

TEST_F(NnTest, BadInputs) {
  KernelCall rank = run("BiasAdd").Inputs({Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1})});
  ExpectInvalid(rank, "Input tensor must be at least 2D: [2]");
  KernelCall bias = run("BiasAdd").Inputs({TensorOf<float>({1, 2}, {1, 2}), Tensor::Vector<float>({1})});
  ExpectInvalid(bias, "Must provide as many biases as the last dimension of the input tensor: [1] vs. [1,2]");
  KernelCall label = run("SparseSoftmaxCrossEntropyWithLogits")
                         .Inputs({TensorOf<float>({1, 2}, {1, 2}), Tensor::Vector<int32_t>({2})});
  ExpectInvalid(label, "Received a label value of 2 which is outside the valid range of [0, 2).  Label values: 2");
  KernelCall scalar = run("Softmax").Input(Tensor::Scalar(1.f));
  ExpectInvalid(scalar, "logits must have >= 1 dimension, got []");
  KernelCall sizes = run("ReluGrad").Inputs({Tensor::Vector<float>({1}), Tensor::Vector<float>({1, 2})});
  ExpectInvalid(sizes, "must have the same size and shape.  Input 0: [1] != input 1: [2]");
  KernelCall window = Window("Conv2D", "VALID", {1, 1, 1, 1}).Inputs({Image(), Counted({6, 6, 2, 2}, 1)});
  ExpectInvalid(window,
                "Computed output size would be negative: -1 [input_size: 4, effective_filter_size: 6, stride: 1]");
  KernelCall depth = Window("Conv2D", "VALID", {1, 1, 1, 1}).Inputs({Image(), Counted({3, 3, 3, 2}, 1)});
  ExpectInvalid(depth, "input depth must be evenly divisible by filter depth: 2 vs 3");
  KernelCall stride = Window("Conv2D", "VALID", {1, 0, 1, 1}).Inputs({Image(), Counted({1, 1, 2, 2}, 1)});
  ExpectInvalid(stride, "");
}

}  // namespace
}  // namespace weir
