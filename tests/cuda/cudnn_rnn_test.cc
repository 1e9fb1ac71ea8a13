#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

constexpr char kGpu[] = "/device:GPU:0";

std::vector<Tensor> OnGpu(const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  StatusOr<std::vector<Tensor>> outputs = RunOn(kGpu, op, inputs, attrs);
  EXPECT_TRUE(outputs.ok()) << op << ": " << outputs.status();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

struct Layers {
  std::string mode = "lstm";
  bool bidirectional = false;
  int64_t layers = 1, units = 3, inputs = 2, time = 4, batch = 2;
  DType dtype = DType::kDouble;

  int64_t states() const { return layers * (bidirectional ? 2 : 1); }
  int64_t linear_layers() const { return states() * (mode == "lstm" ? 8 : mode == "gru" ? 6 : 2); }
  Attrs attrs() const {
    return {{"rnn_mode", mode}, {"direction", bidirectional ? "bidirectional" : "unidirectional"}, {"T", dtype}};
  }
  std::vector<Tensor> sizes() const {
    return {Tensor::Scalar<int32_t>(static_cast<int32_t>(layers)), Tensor::Scalar<int32_t>(static_cast<int32_t>(units)),
            Tensor::Scalar<int32_t>(static_cast<int32_t>(inputs))};
  }
  Tensor Params() const {
    const std::vector<Tensor> size = OnGpu("CudnnRNNParamsSize", sizes(), With(attrs(), {{"S", DType::kInt32}}));
    return Random(dtype, {size[0].data<int32_t>()[0]}, 7);
  }
  static Attrs With(Attrs attrs, const Attrs& more) {
    attrs.insert(attrs.end(), more.begin(), more.end());
    return attrs;
  }
  // input, input_h, input_c, params
  std::vector<Tensor> Inputs() const {
    const bool has_c = mode == "lstm";
    return {Random(dtype, {time, batch, inputs}), Random(dtype, {states(), batch, units}, 2),
            has_c ? Random(dtype, {states(), batch, units}, 3) : Random(dtype, {}, 3), Params()};
  }
};

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The documentation's formulas for one layer and direction.
TEST(CudnnRnn, CellsFollowTheDocumentation) {
  for (const char* mode : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) {
    const Layers layers{.mode = mode};
    const std::vector<Tensor> inputs = layers.Inputs();
    const std::vector<Tensor> outputs = OnGpu("CudnnRNN", inputs, layers.attrs());
    std::vector<Tensor> canonical_inputs = layers.sizes();
    canonical_inputs.push_back(inputs[3]);
    const std::vector<Tensor> canonical = OnGpu("CudnnRNNParamsToCanonical", canonical_inputs,
                                                Layers::With(layers.attrs(), {{"num_params", layers.linear_layers()}}));
    const int gates = static_cast<int>(layers.linear_layers() / 2);
    for (int64_t b = 0; b < layers.batch; ++b) {
      std::vector<double> h(3), c(3);
      for (int i = 0; i < 3; ++i) {
        h[i] = inputs[1].data<double>()[b * 3 + i];
        if (gates == 4) c[i] = inputs[2].data<double>()[b * 3 + i];
      }
      for (int64_t t = 0; t < layers.time; ++t) {
        const double* x = inputs[0].data<double>() + (t * layers.batch + b) * 2;
        auto linear = [&](int which, int row, const double* v, int n) {
          double sum = canonical[2 * gates + which].data<double>()[row];
          for (int j = 0; j < n; ++j) sum += canonical[which].data<double>()[row * n + j] * v[j];
          return sum;
        };
        std::vector<double> next = h;
        for (int i = 0; i < 3; ++i) {
          auto gate = [&](int g) { return linear(g, i, x, 2) + linear(gates + g, i, h.data(), 3); };
          if (gates == 4) {
            c[i] = Logistic(gate(1)) * c[i] + Logistic(gate(0)) * std::tanh(gate(2));
            next[i] = Logistic(gate(3)) * std::tanh(c[i]);
          } else if (gates == 3) {
            const double memory = std::tanh(linear(2, i, x, 2) + Logistic(gate(0)) * linear(5, i, h.data(), 3));
            next[i] = (1 - Logistic(gate(1))) * memory + Logistic(gate(1)) * h[i];
          } else {
            next[i] = std::string(mode) == "rnn_relu" ? std::max(gate(0), 0.0) : std::tanh(gate(0));
          }
        }
        h = next;
        for (int i = 0; i < 3; ++i) {
          EXPECT_NEAR(outputs[0].data<double>()[(t * layers.batch + b) * 3 + i], h[i], 1e-9) << mode;
        }
      }
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(outputs[1].data<double>()[b * 3 + i], h[i], 1e-9) << mode;
    }
  }
}

// A sum of all outputs, each times a number of its own.
double Loss(const std::vector<Tensor>& outputs, const std::vector<Tensor>& factors) {
  double loss = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    for (int64_t k = 0; k < factors[i].num_elements(); ++k) {
      loss += outputs[i].data<double>()[k] * factors[i].data<double>()[k];
    }
  }
  return loss;
}
Tensor LikeOf(const Tensor& tensor, uint32_t seed) {
  return Random(tensor.dtype(), std::vector<int64_t>(tensor.shape().dims().begin(), tensor.shape().dims().end()), seed);
}

TEST(CudnnRnn, GradientsAreTheDifferences) {
  for (const char* mode : {"lstm", "gru", "rnn_tanh"}) {
    for (bool bidirectional : {false, true}) {
      const Layers layers{.mode = mode, .bidirectional = bidirectional, .layers = 2};
      SCOPED_TRACE(Cat(mode, bidirectional ? " in both directions" : ""));
      const Tensor lengths = Tensor::Vector<int32_t>({4, 2});
      std::vector<Tensor> inputs = layers.Inputs();
      inputs.push_back(lengths);
      const std::vector<Tensor> outputs = OnGpu("CudnnRNNV3", inputs, layers.attrs());
      std::vector<Tensor> factors;
      for (uint32_t i = 0; i < 3; ++i) factors.push_back(LikeOf(outputs[i], 20 + i));
      if (std::string(mode) != "lstm") factors[2] = OnGpu("ZerosLike", {factors[2]}, {})[0];
      std::vector<Tensor> backward = inputs;
      backward.insert(backward.end(), outputs.begin(), outputs.begin() + 3);
      backward.insert(backward.end(), factors.begin(), factors.end());
      backward.push_back(outputs[3]);
      backward.push_back(outputs[4]);
      const std::vector<Tensor> gradients = OnGpu("CudnnRNNBackpropV3", backward, layers.attrs());
      constexpr double kStep = 1e-6;
      for (size_t i = 0; i < 4; ++i) {
        if (i == 2 && std::string(mode) != "lstm") continue;
        for (int64_t k = 0; k < inputs[i].num_elements(); k += 5) {
          double sides[2];
          for (int side = 0; side < 2; ++side) {
            std::vector<Tensor> moved = inputs;
            moved[i] = inputs[i].Clone().value();
            moved[i].data<double>()[k] += side == 0 ? -kStep : kStep;
            sides[side] = Loss(OnGpu("CudnnRNNV3", moved, layers.attrs()), factors);
          }
          EXPECT_NEAR(gradients[i].data<double>()[k], (sides[1] - sides[0]) / (2 * kStep), 1e-5) << i << ", " << k;
        }
      }
    }
  }
}

// What graphs are differentiated with, beside the formulas that the test above holds against differences.
TEST(CudnnRnn, AllVersionsAreDifferentiable) {
  const Layers layers;
  const std::vector<Tensor> given = layers.Inputs();
  const std::vector<Tensor> outputs = OnGpu("CudnnRNN", given, layers.attrs());
  const Tensor factor = LikeOf(outputs[0], 20), factor_h = LikeOf(outputs[1], 21);
  std::vector<Tensor> backward = given;
  backward.insert(backward.end(), outputs.begin(), outputs.begin() + 3);
  backward.insert(backward.end(), {factor, factor_h, OnGpu("ZerosLike", {outputs[2]}, {})[0], outputs[3]});
  const std::vector<Tensor> expected = OnGpu("CudnnRNNBackprop", backward, layers.attrs());
  for (int version : {1, 2, 3}) {
    SCOPED_TRACE(version);
    Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice(kGpu);
    std::vector<Output> inputs;
    for (const Tensor& tensor : given) inputs.push_back(ops::Const(root, tensor, DType::kDouble));
    Output output, output_h;
    if (version == 1) {
      auto rnn = ops::CudnnRNN(root, inputs[0], inputs[1], inputs[2], inputs[3]);
      output = rnn.output, output_h = rnn.output_h;
    } else if (version == 2) {
      auto rnn = ops::CudnnRNNV2(root, inputs[0], inputs[1], inputs[2], inputs[3]);
      output = rnn.output, output_h = rnn.output_h;
    } else {
      Output lengths = ops::Const(root, Tensor::Vector<int32_t>({4, 4}), DType::kInt32);
      auto rnn = ops::CudnnRNNV3(root, inputs[0], inputs[1], inputs[2], inputs[3], lengths);
      output = rnn.output, output_h = rnn.output_h;
    }
    const std::vector<Output> gradients =
        ops::Gradients(root, {ops::Mul(root, output, factor), ops::Mul(root, output_h, factor_h)}, inputs);
    auto session = ClientSession::Create(root);
    ASSERT_TRUE(session.ok()) << session.status();
    auto actual = (*session)->Run({}, gradients);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (int i = 0; i < 4; ++i) ExpectTensorNear((*actual)[i], expected[i], 1e-12, 1e-12);
  }
}

TEST(CudnnRnn, BatchMajorDataIsTheSame) {
  const Layers layers{.bidirectional = true};
  std::vector<Tensor> inputs = layers.Inputs();
  inputs.push_back(Tensor::Vector<int32_t>({3, 4}));
  const std::vector<Tensor> expected = OnGpu("CudnnRNNV3", inputs, layers.attrs());
  const Tensor swap = Tensor::Vector<int32_t>({1, 0, 2});
  for (int i = 0; i < 3; ++i) inputs[i] = RunOn("/device:CPU:0", "Transpose", {inputs[i], swap}, {}).value()[0];
  const std::vector<Tensor> actual = OnGpu("CudnnRNNV3", inputs, Layers::With(layers.attrs(), {{"time_major", false}}));
  for (int i = 0; i < 3; ++i) {
    ExpectTensorNear(RunOn("/device:CPU:0", "Transpose", {actual[i], swap}, {}).value()[0], expected[i], 1e-12, 1e-12);
  }
}

TEST(CudnnRnn, ParametersGoToCanonicalFormAndBack) {
  for (const char* mode : {"lstm", "gru"}) {
    const Layers layers{.mode = mode, .bidirectional = true, .layers = 2, .dtype = DType::kFloat};
    const Tensor params = layers.Params();
    std::vector<Tensor> inputs = layers.sizes();
    inputs.push_back(params);
    const Attrs attrs = Layers::With(layers.attrs(), {{"num_params_weights", layers.linear_layers()},
                                                      {"num_params_biases", layers.linear_layers()}});
    const std::vector<Tensor> canonical = OnGpu("CudnnRNNParamsToCanonicalV2", inputs, attrs);
    inputs.pop_back();
    inputs.insert(inputs.end(), canonical.begin(), canonical.end());
    ExpectTensorEqual(OnGpu("CudnnRNNCanonicalToParamsV2", inputs, attrs)[0], params);
  }
}

TEST(CudnnRnn, OtherTypesAgreeWithDouble) {
  const Layers layers;
  const std::vector<Tensor> expected = OnGpu("CudnnRNN", layers.Inputs(), layers.attrs());
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    const Layers other{.dtype = dtype};
    const std::vector<Tensor> outputs =
        OnGpu("CudnnRNN", other.Inputs(), Layers::With(other.attrs(), {{"is_training", false}}));
    const double tolerance = dtype == DType::kBFloat16 ? 5e-2 : dtype == DType::kHalf ? 1e-2 : 1e-5;
    const Tensor wide = RunOn("/device:CPU:0", "Cast", {outputs[0]}, {{"DstT", DType::kDouble}}).value()[0];
    ExpectTensorNear(wide, expected[0], tolerance, tolerance);
    EXPECT_EQ(outputs[3].num_elements(), 0);
  }
}

TEST(CudnnRnn, WrongShapesAreErrors) {
  const Layers layers;
  std::vector<Tensor> inputs = layers.Inputs();
  inputs[3] = Random(DType::kDouble, {5});
  EXPECT_EQ(RunOn(kGpu, "CudnnRNN", inputs, layers.attrs()).status().code(), absl::StatusCode::kInvalidArgument);
  inputs = layers.Inputs();
  inputs[1] = Random(DType::kDouble, {1, 3, 3});
  EXPECT_EQ(RunOn(kGpu, "CudnnRNN", inputs, layers.attrs()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::gpu_testing
