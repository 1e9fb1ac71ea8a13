// Graphs that run with fusing and without.
#ifndef WEIR_TESTS_FUSION_FIXTURE_H_
#define WEIR_TESTS_FUSION_FIXTURE_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emitted_graph.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {

inline Tensor Wave(const Shape& shape, double frequency, float shift = 0) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * frequency)) + shift;
  }
  return out;
}

class FusionTest : public EmittedGraphTest {
 protected:
  Value Given(Tensor value, bool is_constant) { return is_constant ? emit_.Constant(std::move(value)) : Feed(value); }

  // Without fusion nothing else is rewritten either.
  std::vector<Tensor> Run(const std::vector<Value>& fetches, Toggle fusion) {
    SessionOptions options;
    options.rewrites.fusion = fusion;
    options.rewrites.disable_all = fusion == Toggle::kOff;
    return RunIn(options, fetches, /*times=*/2);  // the second time with the constants at hand
  }
  void ExpectSame(const std::vector<Value>& fetches) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    std::vector<Tensor> fused = Run(fetches, Toggle::kOn), plain = Run(fetches, Toggle::kOff);
    ASSERT_EQ(fused.size(), plain.size());
    for (size_t i = 0; i < fused.size(); ++i) ExpectTensorNear(fused[i], plain[i], 1e-4, 1e-4);
  }
  // INVALID_ARGUMENT that says this, fused or not.
  void ExpectError(Value fetch, const std::string& text) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    for (Toggle fusion : {Toggle::kOn, Toggle::kOff}) {
      SessionOptions options;
      options.rewrites.fusion = fusion;
      auto session = Session::Create(environment_, options).value();
      ASSERT_TRUE(session->Extend(graph_).ok());
      std::vector<Tensor> out;
      const std::string name = graph_.TensorName({fetch.node(), 0});
      const Status status = session->Run(feeds_, std::span(&name, 1), {}, &out);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(Message(status).find(text), std::string::npos) << status;
    }
  }

  Value Convolution(Value x, Value w) {
    return emit_.Op("Conv2D", {x, w}, {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}});
  }
  Value Activation(std::string_view op, Value x) {
    if (op.empty()) return x;
    return op == "LeakyRelu" ? emit_.Op(op, {x}, {{"alpha", 0.3f}}) : emit_.Op(op, {x});
  }
  Value Norm(Value x, int64_t channels, bool is_constant) {
    return emit_.Op("FusedBatchNormV3",
                    {x, Given(Wave({channels}, 0.3, 1), is_constant), Given(Wave({channels}, 0.4), is_constant),
                     Given(Wave({channels}, 0.5), is_constant), Given(Wave({channels}, 0.6, 1.5f), is_constant)},
                    {{"is_training", false}, {"epsilon", 0.01f}});
  }

  Value Unary(std::string_view op, Value x) { return emit_.Op(op, {x}); }
  Value Binary(std::string_view op, Value x, Value y) { return emit_.Op(op, {x, y}); }
  Value Nothing() { return emit_.Constant(Tensor::Zeros(DType::kFloat, {0}).value()); }
  Value Number(float value) { return emit_.Constant(Tensor::Scalar(value)); }
  Value Reduced(std::string_view op, Value x, int32_t axis, bool keep = true) {
    return emit_.Op(op, {x, emit_.Constant(Tensor::Scalar(axis))}, {{"keep_dims", keep}});
  }
  std::vector<std::string> OpsOf(Value fused) const {
    return graph_.node(fused.node())->Attr<std::vector<std::string>>("ops").value_or(std::vector<std::string>());
  }
  int Count(std::string_view op) const {
    return static_cast<int>(
        std::ranges::count_if(graph_.nodes(), [&](const auto& node) { return node != nullptr && node->op() == op; }));
  }
};

}  // namespace weir

#endif  // WEIR_TESTS_FUSION_FIXTURE_H_
