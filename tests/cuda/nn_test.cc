#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/gpu_fixture.h"

namespace weir::gpu_testing {
namespace {

const std::vector<DType> kFloats = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};

AttrList Ints(std::vector<int64_t> values) {
  AttrList list;
  list.i = std::move(values);
  return list;
}
double ToleranceOf(DType dtype) { return dtype == DType::kBFloat16 ? 4e-2 : dtype == DType::kHalf ? 5e-3 : 2e-5; }

TEST(GpuNn, BiasesAgree) {
  for (DType dtype : kFloats) {
    ExpectAgree("BiasAdd", {Random(dtype, {2, 3, 4}), Random(dtype, {4}, 2)});
    ExpectAgree("BiasAdd", {Random(dtype, {2, 3, 4}), Random(dtype, {3}, 2)}, {{"data_format", "NCHW"}});
    ExpectAgree("BiasAddGrad", {Random(dtype, {6, 3, 4})}, {}, ToleranceOf(dtype));
    ExpectAgree("BiasAddGrad", {Random(dtype, {6, 3, 4})}, {{"data_format", "NCHW"}}, ToleranceOf(dtype));
  }
  ExpectAgree("BiasAdd", {Random(DType::kFloat, {2, 3}), Random(DType::kFloat, {4})});  // an error
}

TEST(GpuNn, LayoutsAgree) {
  const Attrs attrs = {{"src_format", "NHWC"}, {"dst_format", "NCHW"}};
  ExpectAgree("DataFormatDimMap", {Tensor::Vector<int32_t>({0, 1, 2, 3, -1, -4})}, attrs);
  ExpectAgree("DataFormatDimMap", {Tensor::Vector<int64_t>({3, -2})}, attrs);
  ExpectAgree("DataFormatVecPermute", {Tensor::Vector<int64_t>({5, 6, 7, 8})}, attrs);
  ExpectAgree("DataFormatVecPermute", {Random(DType::kInt32, {4, 2})}, attrs);
  ExpectAgree("DataFormatVecPermute", {Random(DType::kInt32, {3, 2})}, attrs);  // an error
}

TEST(GpuNn, PoolsAgree) {
  for (DType dtype : kFloats) {
    for (const char* padding : {"SAME", "VALID"}) {
      const Tensor image = Random(dtype, {2, 7, 6, 3});
      const Attrs attrs = {{"ksize", Ints({1, 3, 2, 1})}, {"strides", Ints({1, 2, 2, 1})}, {"padding", padding}};
      for (const char* op : {"MaxPool", "AvgPool"}) ExpectAgree(op, {image}, attrs, ToleranceOf(dtype));
      ExpectAgree("MaxPoolWithArgmax", {image}, attrs);
      const Tensor pooled = RunOn("/device:CPU:0", "MaxPool", {image}, attrs).value()[0];
      const Tensor sizes = Tensor::Vector<int32_t>({2, 7, 6, 3});
      std::vector<int64_t> dims(pooled.shape().dims().begin(), pooled.shape().dims().end());
      const Tensor gradient = Random(dtype, dims, 3);
      ExpectAgree("MaxPoolGrad", {image, pooled, gradient}, attrs, ToleranceOf(dtype));
      ExpectAgree("MaxPoolGradGrad", {image, pooled, Random(dtype, {2, 7, 6, 3}, 4)}, attrs);
      ExpectAgree("AvgPoolGrad", {sizes, gradient}, attrs, ToleranceOf(dtype));
      const Tensor argmax = RunOn("/device:CPU:0", "MaxPoolWithArgmax", {image}, attrs).value()[1];
      ExpectAgree("MaxPoolGradWithArgmax", {image, gradient, argmax}, attrs, ToleranceOf(dtype));
      const Tensor ksize = Tensor::Vector<int32_t>({1, 3, 2, 1}), strides = Tensor::Vector<int32_t>({1, 2, 2, 1});
      ExpectAgree("MaxPoolV2", {image, ksize, strides}, {{"padding", padding}});
      ExpectAgree("MaxPoolGradV2", {image, pooled, gradient, ksize, strides}, {{"padding", padding}},
                  ToleranceOf(dtype));
    }
  }
}

TEST(GpuNn, PoolsOverDepthVolumesAndPaddedImagesAgree) {
  ExpectAgree("MaxPool", {Random(DType::kFloat, {2, 2, 3, 6})},
              {{"ksize", Ints({1, 1, 1, 3})}, {"strides", Ints({1, 1, 1, 3})}, {"padding", "VALID"}});
  ExpectAgree("MaxPool", {Random(DType::kFloat, {1, 5, 5, 2})},
              {{"ksize", Ints({1, 3, 3, 1})},
               {"strides", Ints({1, 2, 2, 1})},
               {"padding", "EXPLICIT"},
               {"explicit_paddings", Ints({0, 0, 1, 2, 0, 1, 0, 0})}});
  const Attrs attrs = {{"ksize", Ints({1, 2, 3, 2, 1})}, {"strides", Ints({1, 1, 2, 2, 1})}, {"padding", "SAME"}};
  for (DType dtype : {DType::kFloat, DType::kBFloat16}) {
    const Tensor image = Random(dtype, {2, 3, 5, 4, 2});
    ExpectAgree("MaxPool3D", {image}, attrs);
    ExpectAgree("AvgPool3D", {image}, attrs, ToleranceOf(dtype));
    const Tensor pooled = RunOn("/device:CPU:0", "MaxPool3D", {image}, attrs).value()[0];
    const Tensor gradient = Random(dtype, {2, 3, 3, 2, 2}, 3);
    ExpectAgree("MaxPool3DGrad", {image, pooled, gradient}, attrs, ToleranceOf(dtype));
    ExpectAgree("MaxPool3DGradGrad", {image, pooled, Random(dtype, {2, 3, 5, 4, 2}, 4)}, attrs);
    ExpectAgree("AvgPool3DGrad", {Tensor::Vector<int32_t>({2, 3, 5, 4, 2}), gradient}, attrs, ToleranceOf(dtype));
  }
}

void ExpectNormsAgree(int64_t channels) {
  const Tensor scale = Random(DType::kFloat, {channels}, 2), offset = Random(DType::kFloat, {channels}, 3);
  const Tensor mean = Random(DType::kFloat, {channels}, 4), variance = RandomPositive(DType::kFloat, {channels}, 5);
  const Tensor none = Random(DType::kFloat, {0});
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    for (bool second : {false, true}) {
      const std::vector<int64_t> dims =
          second ? std::vector<int64_t>{3, channels, 4, 7} : std::vector<int64_t>{3, 4, 7, channels};
      const Tensor x = Random(dtype, dims), dy = Random(dtype, dims, 6);
      Attrs attrs = {{"data_format", second ? "NCHW" : "NHWC"}, {"U", DType::kFloat}};
      ExpectAgree("FusedBatchNormV3", {x, scale, offset, none, none}, attrs, ToleranceOf(dtype));
      ExpectAgree("FusedBatchNormGradV3", {dy, x, scale, mean, variance, none}, attrs, 5 * ToleranceOf(dtype));
      attrs.emplace_back("is_training", false);
      ExpectAgree("FusedBatchNormV3", {x, scale, offset, mean, variance}, attrs, ToleranceOf(dtype));
      ExpectAgree("FusedBatchNormGradV3", {dy, x, scale, mean, variance, none}, attrs, 5 * ToleranceOf(dtype));
      attrs.pop_back();
      attrs.emplace_back("exponential_avg_factor", 0.3f);
      ExpectAgree("FusedBatchNormV3", {x, scale, offset, mean, variance}, attrs, ToleranceOf(dtype));
    }
  }
}

TEST(GpuNn, BatchNormsAgree) {
  ExpectNormsAgree(5);
  ExpectNormsAgree(16);  // which are loaded in packs
  const Tensor scale = Random(DType::kFloat, {5}, 2), offset = Random(DType::kFloat, {5}, 3);
  const Tensor mean = Random(DType::kFloat, {5}, 4), variance = RandomPositive(DType::kFloat, {5}, 5);
  const Tensor none = Random(DType::kFloat, {0});
  const Tensor x = Random(DType::kFloat, {3, 4, 7, 5}), side = Random(DType::kFloat, {3, 4, 7, 5}, 7);
  const Attrs relu = {{"activation_mode", "Relu"}, {"U", DType::kFloat}};
  ExpectAgree("_FusedBatchNormEx", {x, scale, offset, none, none}, relu);
  Attrs with_side = relu;
  with_side.emplace_back("num_side_inputs", int64_t{1});
  ExpectAgree("_FusedBatchNormEx", {x, scale, offset, none, none, side}, with_side);
  ExpectAgree("_FusedBatchNormGradEx",
              {side, x, scale, mean, variance, none, offset, Random(DType::kFloat, {3, 4, 7, 5}, 8)}, relu, 1e-4);
  ExpectAgree("FusedBatchNorm", {Random(DType::kFloat, {4, 16, 16, 5}), scale, offset, none, none});  // in pieces
  ExpectAgree("FusedBatchNorm", {Random(DType::kFloat, {0, 4, 7, 5}), scale, offset, none, none});
  ExpectAgree("FusedBatchNorm", {x, mean, Random(DType::kFloat, {4}), none, none});  // an error
}

TEST(GpuNn, SoftmaxAndLossesAgree) {
  for (DType dtype : kFloats) {
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      ExpectAgree(op, {Random(dtype, {3, 4, 7})}, {}, ToleranceOf(dtype));
      ExpectAgree(op, {Random(dtype, {2, 300})}, {}, ToleranceOf(dtype));
    }
    ExpectAgree("SoftmaxCrossEntropyWithLogits", {Random(dtype, {4, 7}), RandomPositive(dtype, {4, 7}, 2)}, {},
                5 * ToleranceOf(dtype));
    ExpectAgree("SoftmaxCrossEntropyWithLogits", {Random(dtype, {4, 7}), RandomPositive(dtype, {1, 7}, 2)}, {},
                5 * ToleranceOf(dtype));
    ExpectAgree("L2Loss", {Random(dtype, {5, 2000})}, {}, ToleranceOf(dtype));
    if (dtype == DType::kDouble) continue;
    ExpectAgree("SparseSoftmaxCrossEntropyWithLogits", {Random(dtype, {4, 7}), Tensor::Vector<int32_t>({0, 6, 3, 3})},
                {}, ToleranceOf(dtype));
  }
  ExpectAgree("SparseSoftmaxCrossEntropyWithLogits",
              {Random(DType::kFloat, {2, 3}), Tensor::Vector<int64_t>({0, 3})});  // a label out of range
  ExpectAgree("Softmax", {Random(DType::kFloat, {})});
  ExpectAgree("L2Loss", {Random(DType::kFloat, {0})});
  ExpectAgree("InTopKV2",
              {Random(DType::kFloat, {4, 6}), Tensor::Vector<int32_t>({0, 2, 5, 7}), Tensor::Scalar<int32_t>(3)});
}

TEST(GpuNn, SoftmaxOfStrangeNumbersIsTheHosts) {
  const float infinity = std::numeric_limits<float>::infinity();
  ExpectAgree("Softmax", {Tensor::Vector<float>({1, -infinity, 2})});
  ExpectAgree("Softmax", {Tensor::Vector<float>({1, NAN, 2})});
}

TEST(GpuNn, LocalResponsesAndDilationsAgree) {
  const Tensor x = Random(DType::kFloat, {2, 3, 2, 7});
  const Attrs attrs = {{"depth_radius", int64_t{2}}, {"alpha", 0.3f}, {"beta", 0.7f}};
  ExpectAgree("LRN", {x}, attrs);
  const Tensor y = RunOn("/device:CPU:0", "LRN", {x}, attrs).value()[0];
  ExpectAgree("LRNGrad", {Random(DType::kFloat, {2, 3, 2, 7}, 3), x, y}, attrs);
  for (DType dtype : kFloats) {
    const Tensor image = Random(dtype, {2, 6, 5, 3}), filter = Random(dtype, {2, 3, 3}, 2);
    const Attrs dilation = {{"strides", Ints({1, 2, 1, 1})}, {"rates", Ints({1, 1, 2, 1})}, {"padding", "SAME"}};
    ExpectAgree("Dilation2D", {image, filter}, dilation);
    const Tensor gradient = Random(dtype, {2, 3, 5, 3}, 4);
    ExpectAgree("Dilation2DBackpropInput", {image, filter, gradient}, dilation, ToleranceOf(dtype));
    ExpectAgree("Dilation2DBackpropFilter", {image, filter, gradient}, dilation, ToleranceOf(dtype));
  }
}

}  // namespace
}  // namespace weir::gpu_testing
