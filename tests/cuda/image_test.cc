// Operations on images, and those that round to the levels of quantised types.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/gpu_fixture.h"

namespace weir::gpu_testing {
namespace {

Tensor Ints(const std::vector<int32_t>& values) { return Tensor::Vector<int32_t>(values); }
Tensor Floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return Tensor::Vector<float>(values).Reshaped(Shape::Make(dims).value()).value();
}
const std::vector<DType> kFloats = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};

TEST(GpuImages, ResizesAndTheirGradientsAgree) {
  const std::vector<Attrs> placings = {{}, {{"align_corners", true}}, {{"half_pixel_centers", true}}};
  for (const Attrs& placing : placings) {
    for (DType dtype : kFloats) {
      const Tensor image = Random(dtype, {2, 5, 7, 3});
      for (const Tensor& size : {Ints({9, 4}), Ints({3, 13}), Ints({5, 7}), Ints({1, 1})}) {
        ExpectAgree("ResizeBilinear", {image, size}, placing);
        ExpectAgree("ResizeNearestNeighbor", {image, size}, placing);
      }
      ExpectAgree("ResizeBilinearGrad", {Random(DType::kFloat, {2, 9, 4, 3}), image}, placing);
      ExpectAgree("ResizeBilinearGrad", {Random(DType::kFloat, {2, 3, 15, 3}), image}, placing);
      ExpectAgree("ResizeNearestNeighborGrad", {Random(dtype, {2, 9, 4, 3}), Ints({5, 7})}, placing);
      ExpectAgree("ResizeNearestNeighborGrad", {Random(dtype, {2, 2, 15, 3}), Ints({5, 7})}, placing);
    }
  }
}

// Sizes of pictures that do not exist say nothing about memory.
TEST(GpuImages, NoPictureHasAnEmptyGradient) {
  const int64_t many = int64_t{1} << 40;
  for (DType dtype : kFloats) {
    const Tensor gradients = Random(DType::kFloat, {0, 4, many, 2}), image = Random(dtype, {0, many, 3, 2});
    ExpectAgree("ResizeBilinearGrad", {gradients, image});
    ExpectAgree("ResizeNearestNeighborGrad", {Random(dtype, {0, many, 4, 2}), Ints({5, 7})});
  }
}

TEST(GpuImages, ColoursAgree) {
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    ExpectAgree("RGBToHSV", {RandomPositive(dtype, {4, 50, 3})});
    ExpectAgree("HSVToRGB", {RandomPositive(dtype, {4, 50, 3})});
  }
  for (DType dtype : {DType::kFloat, DType::kHalf}) {
    const Tensor image = RandomPositive(dtype, {2, 6, 7, 3});
    for (float amount : {0.3f, -0.7f}) {
      ExpectAgree("AdjustHue", {image, Tensor::Scalar(amount)});
      ExpectAgree("AdjustSaturation", {image, Tensor::Scalar(amount)});
      ExpectAgree("AdjustContrastv2", {image, Tensor::Scalar(amount)});
    }
  }
  ExpectAgree("AdjustHue", {RandomPositive(DType::kFloat, {2, 6, 4}), Tensor::Scalar(0.1f)});  // four channels
}

TEST(GpuImages, CropsAndTheirGradientsAgree) {
  const Tensor boxes = Floats({3, 4}, {0, 0, 1, 1, 0.2f, 0.9f, 0.7f, -0.3f, 0.5f, 0.5f, 1.5f, 0.6f});
  const Tensor which = Ints({1, 0, 1}), size = Ints({4, 5});
  for (const char* method : {"bilinear", "nearest"}) {
    for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
      ExpectAgree("CropAndResize", {Random(dtype, {2, 6, 7, 3}), boxes, which, size},
                  {{"method", method}, {"extrapolation_value", 0.25f}});
      ExpectAgree("CropAndResizeGradImage", {Random(DType::kFloat, {3, 4, 5, 3}), boxes, which, Ints({2, 6, 7, 3})},
                  {{"method", method}, {"T", dtype}}, dtype == DType::kHalf ? 2e-2 : 1e-5);
    }
  }
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    ExpectAgree("CropAndResizeGradBoxes",
                {Random(DType::kFloat, {3, 4, 5, 3}), Random(dtype, {2, 6, 7, 3}, 5), boxes, which}, {}, 1e-4);
  }
  ExpectAgree("CropAndResize", {Random(DType::kFloat, {2, 6, 7, 3}), boxes, Ints({0, 2, 1}), size});  // no image 2
}

TEST(GpuImages, ProjectionsAgree) {
  const Tensor maps = Floats({2, 8}, {1.1f, 0.2f, -1, 0.1f, 0.9f, 0.5f, 0.01f, 0, 1, 0, 2, 0, 1, -3, 0, 0.02f});
  for (const char* interpolation : {"NEAREST", "BILINEAR"}) {
    for (const char* mode : {"CONSTANT", "REFLECT", "WRAP", "NEAREST"}) {
      const Attrs attrs = {{"interpolation", interpolation}, {"fill_mode", mode}};
      for (DType dtype : {DType::kFloat, DType::kUInt8, DType::kHalf}) {
        ExpectAgree("ImageProjectiveTransformV3",
                    {Random(dtype, {2, 5, 6, 2}), maps, Ints({7, 4}), Tensor::Scalar(1.5f)}, attrs);
      }
    }
  }
}

TEST(GpuImages, TheSameBoxesStay) {
  Tensor boxes = Random(DType::kFloat, {300, 4}, 11), scores = Random(DType::kFloat, {300}, 12);
  scores.data<float>()[7] = scores.data<float>()[100];  // the first of equals
  for (float overlap : {0.0f, 0.3f, 1.0f}) {
    for (int32_t most : {0, 5, 1000}) {
      const std::vector<Tensor> inputs = {boxes, scores, Tensor::Scalar(most), Tensor::Scalar(overlap)};
      ExpectAgree("NonMaxSuppressionV2", inputs);
      std::vector<Tensor> limited = inputs;
      limited.push_back(Tensor::Scalar(0.5f));
      ExpectAgree("NonMaxSuppressionV3", limited);
      ExpectAgree("NonMaxSuppressionV4", limited, {{"pad_to_max_output_size", true}});
      ExpectAgree("NonMaxSuppressionV4", limited);
    }
  }
}

TEST(GpuImages, PatchesAgree) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kComplex128}) {
    for (const char* padding : {"SAME", "VALID"}) {
      ExpectAgree("ExtractImagePatches", {Random(dtype, {2, 9, 8, 3})},
                  {{"ksizes", AttrList{.i = {1, 3, 2, 1}}},
                   {"strides", AttrList{.i = {1, 2, 3, 1}}},
                   {"rates", AttrList{.i = {1, 2, 1, 1}}},
                   {"padding", padding}});
    }
  }
  ExpectAgree(
      "ExtractVolumePatches", {Random(DType::kFloat, {2, 5, 6, 4, 3})},
      {{"ksizes", AttrList{.i = {1, 2, 3, 2, 1}}}, {"strides", AttrList{.i = {1, 2, 2, 1, 1}}}, {"padding", "SAME"}});
}

TEST(GpuQuantization, FakeLevelsAndTheirGradientsAgree) {
  const Tensor x = Random(DType::kFloat, {40, 6}), gradient = Random(DType::kFloat, {40, 6}, 2);
  const Tensor low = Tensor::Scalar(-0.7f), high = Tensor::Scalar(1.1f);
  const Tensor lows = Tensor::Vector<float>({-1, -0.5f, 0, -2, -1, 0}),
               highs = Tensor::Vector<float>({1, 0.5f, 1, 0, 1.5f, 0});
  for (bool narrow : {false, true}) {
    const Attrs attrs = {{"narrow_range", narrow}, {"num_bits", int64_t{4}}};
    ExpectAgree("FakeQuantWithMinMaxArgs", {x}, attrs);
    ExpectAgree("FakeQuantWithMinMaxArgsGradient", {gradient, x}, attrs);
    ExpectAgree("FakeQuantWithMinMaxVars", {x, low, high}, attrs);
    ExpectAgree("FakeQuantWithMinMaxVarsGradient", {gradient, x, low, high}, attrs);
    ExpectAgree("FakeQuantWithMinMaxVarsPerChannel", {x, lows, highs}, attrs);
    ExpectAgree("FakeQuantWithMinMaxVarsPerChannelGradient", {gradient, x, lows, highs}, attrs);
  }
}

TEST(GpuQuantization, RoundsToTheSameLevels) {
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    const Tensor x = Random(dtype, {4, 5, 6});
    const Tensor low = Random(dtype, {}, 40), bits = Tensor::Scalar<int32_t>(5);
    for (const char* mode : {"HALF_TO_EVEN", "HALF_UP"}) {
      ExpectAgree("QuantizeAndDequantizeV2", {x, low, low}, {{"round_mode", mode}});
    }
    ExpectAgree("QuantizeAndDequantizeV4", {x, low, low}, {{"axis", int64_t{1}}});
    ExpectAgree("QuantizeAndDequantizeV3", {x, low, low, bits}, {{"range_given", true}});
    ExpectAgree("QuantizeAndDequantizeV4Grad", {x, Random(dtype, {4, 5, 6}, 3), low, low});
  }
}

TEST(GpuQuantization, NothingHasNoRange) {
  const int64_t many = int64_t{1} << 40;
  const Tensor none = Random(DType::kFloat, {many, 0}), low = Random(DType::kFloat, {}, 40);
  ExpectAgree("QuantizeAndDequantizeV2", {none, low, low}, {{"axis", int64_t{0}}});
  const Tensor columns = Random(DType::kFloat, {many, 2, 0}), lows = Tensor::Vector<float>({-1, -2});
  const std::vector<Tensor> given = {columns, lows, Tensor::Vector<float>({1, 2})};
  ExpectAgree("QuantizeAndDequantizeV4", given, {{"axis", int64_t{1}}, {"range_given", true}});
}

TEST(GpuQuantization, WhatIsNotANumberIsNoEndOfARange) {
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    Tensor x = Random(dtype, {2, 5, 300});
    const Tensor low = Random(dtype, {}, 40);
    auto set = [&](int64_t i, double value) {
      if (dtype == DType::kFloat)
        x.data<float>()[i] = static_cast<float>(value);
      else
        x.data<double>()[i] = value;
    };
    for (int64_t i : {0, 299, 700, 1501}) set(i, NAN);
    for (int64_t i = 1200; i < 1500; ++i) set(i, NAN);  // one of its slices has nothing else
    for (int64_t i = 2700; i < 3000; ++i) set(i, NAN);
    ExpectAgree("QuantizeAndDequantizeV2", {x, low, low});
    ExpectAgree("QuantizeAndDequantizeV4", {x, low, low}, {{"axis", int64_t{1}}});
    ExpectAgree("QuantizeAndDequantizeV4", {x, low, low}, {{"axis", int64_t{2}}});
    set(5, INFINITY);
    ExpectAgree("QuantizeAndDequantizeV2", {x, low, low}, {{"signed_input", false}});
  }
}

}  // namespace
}  // namespace weir::gpu_testing
