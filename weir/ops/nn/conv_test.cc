// Convolutions of floats, which the kernel library computes, held against those of doubles, which the loops compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weir/device/cpu/winograd.h"
#include "weir/ops/nn/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

struct ConvolutionRow {
  std::string_view name;
  std::vector<int64_t> input, filter, strides, dilations;
  std::string padding;
  std::vector<int64_t> paddings;
  bool is_depthwise = false;
  bool winograd = false;
};

std::string RowName(const testing::TestParamInfo<ConvolutionRow>& info) { return std::string(info.param.name); }

Tensor Wave(DType dtype, const Shape& shape, double frequency) {
  Tensor out = Tensor::Zeros(dtype, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const float value = static_cast<float>(std::sin(static_cast<double>(i) * frequency));
    if (dtype == DType::kFloat) {
      out.data<float>()[i] = value;
    } else {
      out.data<double>()[i] = value;
    }
  }
  return out;
}

Tensor Narrowed(const Tensor& wide) {
  Tensor out = Tensor::Zeros(DType::kFloat, wide.shape()).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) out.data<float>()[i] = static_cast<float>(wide.data<double>()[i]);
  return out;
}

class ConvolutionTest : public testing::TestWithParam<ConvolutionRow> {
 protected:
  Tensor Run(std::string op, std::vector<Tensor> inputs) {
    const ConvolutionRow& row = GetParam();
    const bool is_volume = row.input.size() == 5;
    if (row.is_depthwise) op = Cat("DepthwiseConv2dNative", op);
    if (!row.is_depthwise) op = Cat(is_volume ? "Conv3D" : "Conv2D", op);
    KernelCall call = run(op).Inputs(std::move(inputs));
    call.Attr("strides", row.strides).Attr("dilations", row.dilations).Attr("padding", Attribute(row.padding));
    if (!row.paddings.empty()) call.Attr("explicit_paddings", row.paddings);
    if (row.winograd) call.Attr("_winograd", true);
    auto out = call.Run();
    EXPECT_TRUE(out.ok()) << op << ": " << out.status();
    return out.ok() ? (*out)[0] : Tensor();
  }
  void Compare(std::string op, const std::function<std::vector<Tensor>(DType)>& inputs) {
    Tensor narrow = Run(op, inputs(DType::kFloat)), wide = Run(op, inputs(DType::kDouble));
    if (narrow.has_value() && wide.has_value()) ExpectTensorNear(narrow, Narrowed(wide), 1e-4, 1e-4);
  }
  KernelRunner run{RegisterNnKernels};
};

TEST_P(ConvolutionTest, IsWhatTheLoopsCompute) {
  const ConvolutionRow& row = GetParam();
  const Shape input = Shape::Make(row.input).value(), filter = Shape::Make(row.filter).value();
  Compare("", [&](DType t) { return std::vector<Tensor>{Wave(t, input, 0.7), Wave(t, filter, 0.3)}; });
  if (row.input.size() == 5) return;
  const Shape output = Run("", {Wave(DType::kFloat, input, 0.7), Wave(DType::kFloat, filter, 0.3)}).shape();
  auto sizes = [](const std::vector<int64_t>& dims) {
    std::vector<int32_t> narrow(dims.begin(), dims.end());
    return Tensor::FromSpan<int32_t>(narrow, {static_cast<int64_t>(narrow.size())});
  };
  Compare("BackpropInput", [&](DType t) {
    return std::vector<Tensor>{sizes(row.input), Wave(t, filter, 0.3), Wave(t, output, 0.9)};
  });
  Compare("BackpropFilter", [&](DType t) {
    return std::vector<Tensor>{Wave(t, input, 0.7), sizes(row.filter), Wave(t, output, 0.9)};
  });
}

const std::vector<int64_t> kOnes = {1, 1, 1, 1};
INSTANTIATE_TEST_SUITE_P(
    Rows, ConvolutionTest,
    testing::Values(
        ConvolutionRow{"Square", {4, 14, 14, 16}, {3, 3, 16, 32}, kOnes, kOnes, "SAME", {}},
        ConvolutionRow{"OddChannels", {3, 9, 7, 5}, {3, 2, 5, 11}, kOnes, kOnes, "VALID", {}},
        ConvolutionRow{"OneChannel", {2, 28, 28, 1}, {5, 5, 1, 32}, kOnes, kOnes, "SAME", {}},
        ConvolutionRow{"Strided", {2, 15, 16, 8}, {3, 3, 8, 16}, {1, 2, 2, 1}, kOnes, "SAME", {}},
        ConvolutionRow{"StrideBeyondFilter", {2, 17, 16, 8}, {1, 2, 8, 16}, {1, 3, 4, 1}, kOnes, "SAME", {}},
        ConvolutionRow{"StrideLeavesRows", {2, 18, 19, 8}, {3, 3, 8, 16}, {1, 4, 3, 1}, kOnes, "VALID", {}},
        ConvolutionRow{"Dilated", {2, 16, 16, 8}, {3, 3, 8, 8}, kOnes, {1, 2, 3, 1}, "SAME", {}},
        ConvolutionRow{
            "Explicit", {2, 12, 12, 8}, {3, 3, 8, 8}, {1, 2, 1, 1}, kOnes, "EXPLICIT", {0, 0, 2, 1, 0, 3, 0, 0}},
        ConvolutionRow{
            "PaddingBeyondFilter", {2, 6, 6, 8}, {2, 2, 8, 8}, kOnes, kOnes, "EXPLICIT", {0, 0, 5, 4, 3, 6, 0, 0}},
        ConvolutionRow{"FilterBeyondImage", {2, 3, 3, 8}, {7, 7, 8, 8}, kOnes, kOnes, "SAME", {}},
        ConvolutionRow{"Groups", {2, 10, 10, 16}, {3, 3, 4, 24}, kOnes, kOnes, "SAME", {}},
        ConvolutionRow{"Depthwise", {2, 12, 12, 16}, {3, 3, 16, 1}, kOnes, kOnes, "SAME", {}, true},
        ConvolutionRow{"DepthMultiplier", {2, 12, 12, 8}, {3, 3, 8, 3}, {1, 2, 2, 1}, kOnes, "SAME", {}, true},
        ConvolutionRow{"PointwiseLarge", {8, 14, 14, 64}, {1, 1, 64, 128}, kOnes, kOnes, "SAME", {}},
        ConvolutionRow{"Volume", {2, 6, 7, 8, 4}, {3, 3, 2, 4, 8}, {1, 1, 2, 1, 1}, {1, 1, 1, 1, 1}, "SAME", {}}),
    RowName);

const std::vector<int64_t> kThin = {16, 9, 8, 16};
INSTANTIATE_TEST_SUITE_P(
    Winograd, ConvolutionTest,
    testing::Values(
        ConvolutionRow{"Same", {8, 14, 14, 16}, {3, 3, 16, 32}, kOnes, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"Valid", {5, 17, 20, 32}, {3, 3, 32, 16}, kOnes, kOnes, "VALID", {}, false, true},
        ConvolutionRow{"OddSizes", {7, 13, 15, 48}, {3, 3, 48, 48}, kOnes, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"OneColumn", {300, 2, 1, 16}, {3, 3, 16, 16}, kOnes, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"ManyChannels", {16, 8, 8, 96}, {3, 3, 96, 160}, kOnes, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"Explicit",
                       {8, 12, 14, 16},
                       {3, 3, 16, 16},
                       kOnes,
                       kOnes,
                       "EXPLICIT",
                       {0, 0, 2, 1, 0, 2, 0, 0},
                       false,
                       true},
        ConvolutionRow{
            "WidePadding", kThin, {3, 3, 16, 16}, kOnes, kOnes, "EXPLICIT", {0, 0, 2, 5, 1, 4, 0, 0}, false, true},
        ConvolutionRow{"FiveByFive", {8, 14, 14, 16}, {5, 5, 16, 32}, kOnes, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"FiveByFiveValid", {9, 15, 18, 32}, {5, 5, 32, 16}, kOnes, kOnes, "VALID", {}, false, true},
        ConvolutionRow{"FiveByThree", {9, 13, 12, 32}, {5, 3, 32, 32}, kOnes, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"ThreeByFive", {9, 12, 13, 16}, {3, 5, 16, 48}, kOnes, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"Strided", {8, 16, 16, 16}, {3, 3, 16, 16}, {1, 2, 2, 1}, kOnes, "SAME", {}, false, true},
        ConvolutionRow{"Dilated", {8, 16, 16, 16}, {3, 3, 16, 16}, kOnes, {1, 2, 2, 1}, "SAME", {}, false, true},
        ConvolutionRow{"Groups", {8, 16, 16, 32}, {3, 3, 16, 32}, kOnes, kOnes, "SAME", {}, false, true}),
    RowName);

// One infinity in the corner of an image: the sum has it in the results around, Winograd's differences make NaN of it.
TEST(WinogradTest, IsUsedWhereAllowed) {
  KernelRunner run{RegisterNnKernels};
  for (const bool is_allowed : {false, true}) {
    Tensor image = Tensor::Zeros(DType::kFloat, {16, 8, 8, 16}).value();
    image.data<float>()[0] = std::numeric_limits<float>::infinity();
    KernelCall call = run("Conv2D").Inputs({image, Wave(DType::kFloat, {3, 3, 16, 16}, 0.3)});
    call.Attr("strides", kOnes)
        .Attr("dilations", kOnes)
        .Attr("padding", Attribute("SAME"))
        .Attr("_winograd", is_allowed);
    auto out = call.Run();
    ASSERT_TRUE(out.ok()) << out.status();
    const float* result = (*out)[0].data<float>();
    const bool has_nan = std::any_of(result, result + 2 * 16, [](float x) { return std::isnan(x); });
    EXPECT_EQ(has_nan, is_allowed && WinogradConvolver::IsAvailable());
    EXPECT_FALSE(std::isfinite(result[0]));
    EXPECT_EQ(result[2 * 16], 0);
  }
}

}  // namespace
}  // namespace weir
