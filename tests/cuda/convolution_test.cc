#include "weir/ops/nn/cuda/convolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/gpu_fixture.h"
#include "weir/client/gpu_devices.h"

namespace weir::gpu_testing {
namespace {

AttrList Ints(std::vector<int64_t> values) {
  AttrList list;
  list.i = std::move(values);
  return list;
}
AttrList Strings(std::vector<std::string> values) {
  AttrList list;
  list.s = std::move(values);
  return list;
}
AttrList Types(int64_t count) {
  AttrList list;
  list.type.assign(static_cast<size_t>(count), DType::kFloat);
  return list;
}
Tensor Sizes(const Tensor& tensor) {
  std::vector<int32_t> dims;
  for (int64_t dim : tensor.shape().dims()) dims.push_back(static_cast<int32_t>(dim));
  return Tensor::Vector<int32_t>(dims);
}

// The op forward, and both gradients with what it gives as the gradient of the output.
void ExpectConvolutionsAgree(const std::string& op, const std::string& version, const Tensor& image,
                             const Tensor& filter, const Attrs& attrs, double tolerance = 1e-4) {
  ExpectAgree(op, {image, filter}, attrs, tolerance);
  StatusOr<std::vector<Tensor>> output = RunOn("/device:CPU:0", op, {image, filter}, attrs);
  ASSERT_TRUE(output.ok()) << output.status();
  ExpectAgree(op + "BackpropInput" + version, {Sizes(image), filter, (*output)[0]}, attrs, tolerance);
  if (image.dtype() == DType::kInt32) return;
  ExpectAgree(op + "BackpropFilter" + version, {image, Sizes(filter), (*output)[0]}, attrs, tolerance);
}

TEST(GpuConvolution, AgreesWithTheHostForAllTypes) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt32}) {
    ExpectConvolutionsAgree("Conv2D", "", Random(dtype, {2, 6, 5, 4}), Random(dtype, {3, 2, 4, 8}, 2),
                            {{"strides", Ints({1, 1, 1, 1})}, {"padding", "VALID"}},
                            dtype == DType::kBFloat16 ? 0.1
                            : dtype == DType::kHalf   ? 2e-2
                                                      : 1e-4);
  }
}

TEST(GpuConvolution, StridesDilationsAndPaddingsAgree) {
  const Tensor image = Random(DType::kFloat, {2, 7, 8, 3}), filter = Random(DType::kFloat, {3, 3, 3, 5}, 2);
  for (const char* padding : {"SAME", "VALID"}) {
    ExpectConvolutionsAgree("Conv2D", "", image, filter, {{"strides", Ints({1, 2, 2, 1})}, {"padding", padding}});
    ExpectConvolutionsAgree("Conv2D", "", image, filter,
                            {{"strides", Ints({1, 1, 1, 1})}, {"padding", padding}, {"dilations", Ints({1, 2, 1, 1})}});
  }
  ExpectConvolutionsAgree("Conv2D", "", image, filter,
                          {{"strides", Ints({1, 1, 2, 1})},
                           {"padding", "EXPLICIT"},
                           {"explicit_paddings", Ints({0, 0, 2, 1, 0, 2, 0, 0})}});
  for (DType dtype : {DType::kHalf, DType::kBFloat16}) {
    ExpectConvolutionsAgree("Conv2D", "", Random(dtype, {2, 7, 8, 8}), Random(dtype, {3, 3, 8, 16}, 2),
                            {{"strides", Ints({1, 2, 2, 1})}, {"padding", "SAME"}}, 1e-1);
  }
  // Sides that are padded differently, in a type whose engines do that.
  ExpectAgree("Conv2D", {Random(DType::kHalf, {1, 6, 6, 4}), Random(DType::kHalf, {3, 3, 4, 4}, 2)},
              {{"strides", Ints({1, 2, 2, 1})}, {"padding", "SAME"}}, 2e-2);
}

TEST(GpuConvolution, FewTapsAgree) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    const double tolerance = dtype == DType::kFloat ? 1e-4 : dtype == DType::kHalf ? 2e-2 : 1e-1;
    const Attrs dense = {{"strides", Ints({1, 1, 1, 1})}, {"padding", "VALID"}};
    const Attrs strided = {{"strides", Ints({1, 2, 1, 1})}, {"padding", "SAME"}, {"dilations", Ints({1, 1, 2, 1})}};
    const Tensor image = Random(dtype, {3, 14, 13, 1}), two = Random(dtype, {2, 9, 8, 2});
    ExpectConvolutionsAgree("Conv2D", "", image, Random(dtype, {3, 3, 1, 32}, 2), dense, tolerance);
    ExpectConvolutionsAgree("Conv2D", "", image, Random(dtype, {5, 5, 1, 8}, 2), strided, tolerance);
    ExpectConvolutionsAgree("Conv2D", "", two, Random(dtype, {2, 3, 2, 64}, 2), strided, tolerance);
    ExpectConvolutionsAgree("Conv2D", "", two, Random(dtype, {4, 4, 2, 16}, 2), dense, tolerance);
  }
}

TEST(GpuConvolution, WindowsOfOnePlaceAgree) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    const double tolerance = dtype == DType::kFloat ? 1e-4 : dtype == DType::kHalf ? 2e-2 : 0.2;
    for (int64_t stride : {1, 2}) {
      const Attrs attrs = {{"strides", Ints({1, stride, stride, 1})}, {"padding", "SAME"}};
      ExpectConvolutionsAgree("Conv2D", "", Random(dtype, {2, 7, 5, 12}), Random(dtype, {1, 1, 12, 20}, 2), attrs,
                              tolerance);
    }
  }
}

TEST(GpuConvolution, FewChannelsAgree) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    const double tolerance = dtype == DType::kFloat ? 2e-3 : dtype == DType::kHalf ? 5e-2 : 0.5;
    const Tensor images = Random(dtype, {3, 44, 41, 3}), filter = Random(dtype, {5, 5, 3, 16}, 2);
    ExpectConvolutionsAgree("Conv2D", "", images, filter, {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}},
                            tolerance);
    const Tensor larger = Random(dtype, {4, 71, 75, 4});
    ExpectConvolutionsAgree("Conv2D", "", larger, Random(dtype, {7, 6, 4, 8}, 2),
                            {{"strides", Ints({1, 2, 2, 1})},
                             {"padding", "EXPLICIT"},
                             {"explicit_paddings", Ints({0, 0, 2, 1, 0, 3, 0, 0})}},
                            tolerance);
  }
  // So large that one image's windows are made at a time.
  for (DType dtype : {DType::kFloat, DType::kHalf}) {
    ExpectConvolutionsAgree("Conv2D", "", Random(dtype, {2, 92, 92, 4}), Random(dtype, {16, 16, 4, 8}, 2),
                            {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}},
                            dtype == DType::kFloat ? 1e-2 : 0.3);
  }
}

TEST(GpuConvolution, GroupsAndDepthwiseAgree) {
  ExpectConvolutionsAgree("Conv2D", "", Random(DType::kFloat, {2, 5, 5, 6}), Random(DType::kFloat, {2, 2, 3, 4}, 2),
                          {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}});
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    ExpectConvolutionsAgree("DepthwiseConv2dNative", "", Random(dtype, {2, 5, 6, 3}), Random(dtype, {3, 2, 3, 2}, 2),
                            {{"strides", Ints({1, 2, 2, 1})}, {"padding", "SAME"}},
                            dtype == DType::kHalf ? 2e-2 : 1e-4);
  }
}

TEST(GpuConvolution, VolumesAgree) {
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    ExpectConvolutionsAgree("Conv3D", "", Random(dtype, {1, 4, 5, 4, 2}), Random(dtype, {2, 3, 2, 2, 3}, 2),
                            {{"strides", Ints({1, 1, 2, 1, 1})}, {"padding", "VALID"}});
  }
}

// The host has no convolutions with channels second, so the images are moved around one with channels last.
TEST(GpuConvolution, ChannelsMayBeSecond) {
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    const Tensor image = Random(dtype, {2, 5, 6, 3}), filter = Random(dtype, {3, 3, 3, 4}, 2);
    const Attrs last = {{"strides", Ints({1, 2, 1, 1})}, {"padding", "SAME"}};
    const Attrs second = {{"strides", Ints({1, 1, 2, 1})}, {"padding", "SAME"}, {"data_format", "NCHW"}};
    const Tensor to_second = Tensor::Vector<int32_t>({0, 3, 1, 2}), to_last = Tensor::Vector<int32_t>({0, 2, 3, 1});
    auto on_host = [&](const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attrs = {}) {
      return RunOn("/device:CPU:0", op, inputs, attrs).value()[0];
    };
    auto check = [&](const std::string& op, const std::vector<Tensor>& inputs, const Tensor& expected, bool is_image) {
      StatusOr<std::vector<Tensor>> actual = RunOn("/device:GPU:0", op, inputs, second);
      ASSERT_TRUE(actual.ok()) << actual.status();
      const Tensor moved = is_image ? on_host("Transpose", {(*actual)[0], to_last}) : (*actual)[0];
      const Tensor difference = on_host("Sub", {moved, expected});
      const Tensor most = on_host("Max", {on_host("Abs", {difference}), Tensor::Vector<int32_t>({0, 1, 2, 3})});
      EXPECT_LT(on_host("Cast", {most}, {{"DstT", DType::kFloat}}).scalar<float>(), 1e-4) << op;
    };
    const Tensor expected = on_host("Conv2D", {image, filter}, last);
    const Tensor moved = on_host("Transpose", {image, to_second}), output = on_host("Transpose", {expected, to_second});
    check("Conv2D", {moved, filter}, expected, true);
    check("Conv2DBackpropInput", {Sizes(moved), filter, output},
          on_host("Conv2DBackpropInput", {Sizes(image), filter, expected}, last), true);
    check("Conv2DBackpropFilter", {moved, Sizes(filter), output},
          on_host("Conv2DBackpropFilter", {image, Sizes(filter), expected}, last), false);
  }
}

// Images with few channels, of which tensor cores take the lines: windows that overlap, that lie at any element, that
// reach over every edge, and channels in several groups.
TEST(GpuConvolution, NarrowConvolutionsAgreeWithTheHost) {
  struct Case {
    int64_t height, width, in, size, stride, out;
    const char* padding;
  };
  const bool allowed = AllowsTensorFloat32();
  AllowTensorFloat32(true);
  for (const Case& c : {Case{47, 49, 3, 7, 2, 64, "SAME"}, Case{52, 50, 3, 3, 1, 32, "SAME"},
                        Case{131, 139, 3, 11, 4, 96, "VALID"}, Case{64, 70, 1, 5, 1, 160, "SAME"}}) {
    for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
      const int64_t places = c.height * c.width / (c.stride * c.stride);
      const Tensor image = Random(dtype, {1 + 5000 / places, c.height, c.width, c.in});
      const Tensor filter = Random(dtype, {c.size, c.size, c.in, c.out}, 2);
      const Tensor bias = Random(dtype, {c.out}, 3);
      const double tolerance = dtype == DType::kBFloat16 ? 0.3 : 5e-2;
      const Attrs plain = {{"strides", Ints({1, c.stride, c.stride, 1})}, {"padding", c.padding}};
      ExpectAgree("Conv2D", {image, filter}, plain, tolerance);
      Attrs fused = plain;
      fused.insert(fused.end(), {{"fused_ops", Strings({"BiasAdd", "Relu"})},
                                 {"num_args", int64_t{1}},
                                 {"num_host_args", int64_t{0}},
                                 {"TArgs", Types(1)}});
      if (dtype == DType::kFloat) ExpectAgree("_FusedConv2D", {image, filter, bias}, fused, tolerance);
    }
  }
  // What is not a number reaches the windows that have it, and no others.
  Tensor image = Random(DType::kFloat, {2, 60, 60, 3});
  image.data<float>()[3 * (60 * 30 + 31)] = NAN;
  const Tensor filter = Random(DType::kFloat, {7, 7, 3, 32}, 2);
  const Attrs attrs = {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}};
  StatusOr<std::vector<Tensor>> y = RunOn("/device:GPU:0", "Conv2D", {image, filter}, attrs);
  ASSERT_TRUE(y.ok()) << y.status();
  for (int64_t i = 0; i < (*y)[0].num_elements(); ++i) {
    const int64_t row = i / 32 / 60 % 60, column = i / 32 % 60;
    const bool is_near = i < 60 * 60 * 32 && std::abs(row - 30) <= 3 && std::abs(column - 31) <= 3;
    ASSERT_EQ(std::isnan((*y)[0].data<float>()[i]), is_near) << row << ", " << column;
  }
  AllowTensorFloat32(allowed);
}

// Gradients of filters by tensor cores in half have the digits of TensorFloat-32 in every channel, whatever its numbers
// are multiplied with.
TEST(GpuConvolution, FilterGradientsInHalvesKeepTheDigitsOfEveryChannel) {
  const bool allowed = AllowsTensorFloat32();
  AllowTensorFloat32(true);
  cuda::FilterHalves() = cuda::UseOfHalves::kAlways;
  constexpr float kImageScales[] = {1e-36f, 1e-20f, 1e-6f, 0, 1, 7, 1e8f, 1e18f};
  constexpr float kGradientScales[] = {1e-18f, 1e-9f, 1e-3f, 1, 0, 3, 1e6f, 1e18f};
  for (const int64_t stride : {1, 2}) {
    Tensor image = Random(DType::kFloat, {3, 7, 6, 8}, 1);
    Tensor gradient = Random(DType::kFloat, {3, (7 + stride - 1) / stride, (6 + stride - 1) / stride, 8}, 2);
    for (int64_t i = 0; i < image.num_elements(); ++i) image.data<float>()[i] *= kImageScales[i % 8];
    for (int64_t i = 0; i < gradient.num_elements(); ++i) gradient.data<float>()[i] *= kGradientScales[i % 8];
    image.data<float>()[8 * 9 + 5] = INFINITY;
    const std::vector<Tensor> inputs = {image, Tensor::Vector<int32_t>({3, 3, 8, 8}), gradient};
    const Attrs attrs = {{"strides", Ints({1, stride, stride, 1})}, {"padding", "SAME"}};
    StatusOr<std::vector<Tensor>> expected = RunOn("/device:CPU:0", "Conv2DBackpropFilter", inputs, attrs);
    StatusOr<std::vector<Tensor>> actual = RunOn("/device:GPU:0", "Conv2DBackpropFilter", inputs, attrs);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    int64_t finite = 0;
    for (int64_t i = 0; i < 9 * 64; ++i) {
      const double a = (*actual)[0].data<float>()[i], b = (*expected)[0].data<float>()[i];
      if (!std::isfinite(b)) {
        EXPECT_FALSE(std::isfinite(a)) << i;
        continue;
      }
      finite += b != 0;
      const double scale = static_cast<double>(kImageScales[i / 8 % 8]) * static_cast<double>(kGradientScales[i % 8]);
      EXPECT_LE(std::abs(a - b), 2e-2 * scale + 1e-37) << "element " << i << ": " << a << " for " << b;
    }
    EXPECT_GT(finite, 9 * 35);
  }
  cuda::FilterHalves() = cuda::UseOfHalves::kIfFaster;
  AllowTensorFloat32(allowed);
}

TEST(GpuConvolution, EmptyAndIllFormedOperandsAreLikeOnTheHost) {
  const Attrs attrs = {{"strides", Ints({1, 1, 1, 1})}, {"padding", "VALID"}};
  ExpectAgree("Conv2D", {Random(DType::kFloat, {0, 5, 5, 3}), Random(DType::kFloat, {2, 2, 3, 4})}, attrs);
  ExpectAgree("Conv2D", {Random(DType::kFloat, {1, 5, 5, 3}), Random(DType::kFloat, {2, 2, 2, 4})}, attrs);
  ExpectAgree("Conv2D", {Random(DType::kFloat, {1, 5, 5}), Random(DType::kFloat, {2, 2, 2, 4})}, attrs);
  ExpectAgree(
      "Conv2DBackpropFilter",
      {Random(DType::kFloat, {0, 5, 5, 3}), Tensor::Vector<int32_t>({2, 2, 3, 4}), Random(DType::kFloat, {0, 4, 4, 4})},
      attrs);
}

TEST(GpuConvolution, FusedConvolutionsAgreeWithTheHost) {
  for (int64_t channels : {1, 3, 8}) {  // by kernels of our own, and as one graph or several
    const Tensor image = Random(DType::kFloat, {2, 5, 5, channels});
    const Tensor filter = Random(DType::kFloat, {3, 3, channels, 8}, 2), bias = Random(DType::kFloat, {8}, 3);
    auto attrs = [](std::vector<std::string> ops, int64_t args, bool constant = false) {
      Attrs out = {{"strides", Ints({1, 1, 1, 1})},        {"padding", "SAME"},
                   {"fused_ops", Strings(std::move(ops))}, {"num_args", args},
                   {"num_host_args", int64_t{0}},          {"TArgs", Types(args)}};
      if (constant) out.emplace_back("_constant_weights", true);
      return out;
    };
    const Tensor addend = Random(DType::kFloat, {2, 5, 5, 8}, 4);
    ExpectAgree("_FusedConv2D", {image, filter, bias}, attrs({"BiasAdd"}, 1), 1e-4);
    ExpectAgree("_FusedConv2D", {image, filter, bias}, attrs({"BiasAdd", "Relu"}, 1), 1e-4);
    ExpectAgree("_FusedConv2D", {image, filter, bias}, attrs({"BiasAdd", "Relu"}, 1, true), 1e-4);
    ExpectAgree("_FusedConv2D", {image, filter, bias}, attrs({"BiasAdd", "LeakyRelu"}, 1), 1e-4);
    ExpectAgree("_FusedConv2D", {image, filter, bias, addend}, attrs({"BiasAdd", "Add", "Relu"}, 2, true), 1e-4);
    ExpectAgree("_FusedConv2D", {image, filter, bias, Random(DType::kFloat, {5, 1}, 5)},
                attrs({"BiasAdd", "Add", "Elu"}, 2), 1e-4);
    const Tensor scale = Random(DType::kFloat, {8}, 6), mean = Random(DType::kFloat, {8}, 7);
    ExpectAgree("_FusedConv2D", {image, filter, scale, bias, mean, RandomPositive(DType::kFloat, {8}, 8)},
                attrs({"FusedBatchNorm", "Relu"}, 4), 1e-4);
  }
}

}  // namespace
}  // namespace weir::gpu_testing
