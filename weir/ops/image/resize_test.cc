#include <gtest/gtest.h>

#include "weir/ops/image/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// A batch without pictures is empty, however large its pictures would be.
TEST(Resize, NoPicturesAskForNoMemory) {
  constexpr int64_t kMany = int64_t{1} << 40;
  KernelRunner run({RegisterImageKernels});
  auto empty = [](DType dtype, std::initializer_list<int64_t> dims) {
    return Tensor::Zeros(dtype, Shape(dims)).value();
  };
  auto expect_empty = [](KernelCall& call, const Shape& shape) {
    StatusOr<std::vector<Tensor>> out = call.Run();
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].shape(), shape);
  };
  const Tensor gradients = empty(DType::kFloat, {0, 4, kMany, 2}), image = empty(DType::kFloat, {0, kMany, 3, 2});
  const Tensor ones = Tensor::Vector<float>({1, 1}), size = Tensor::Vector<int32_t>({3, INT32_MAX});
  for (const char* op : {"ResizeBilinearGrad", "ResizeBicubicGrad"}) {
    expect_empty(run(op).Input(gradients).Input(image), image.shape());
  }
  expect_empty(run("ResizeNearestNeighborGrad").Input(gradients).Input(size), Shape({0, 3, INT32_MAX, 2}));
  expect_empty(run("ScaleAndTranslateGrad").Input(gradients).Input(image).Input(ones).Input(ones), image.shape());
  const Tensor small = empty(DType::kFloat, {0, 2, 2, 1});
  for (const char* op : {"ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"}) {
    expect_empty(run(op).Input(small).Input(size), Shape({0, 3, INT32_MAX, 1}));
  }
  expect_empty(run("ScaleAndTranslate").Input(small).Input(size).Input(ones).Input(ones), Shape({0, 3, INT32_MAX, 1}));
}

}  // namespace
}  // namespace weir
