// Cross entropies on GPUs whose gradient is never kept in float.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

class GpuCrossEntropy : public testing::Test {
 protected:
  // The losses' mean and its gradient for logits of the type, which are cast for the loss; `more` is fetched, too.
  void Build(DType dtype, int64_t rows, int64_t classes, DType label_type = DType::kInt64) {
    logits_ = ops::Placeholder(root_, dtype, {.shape = {-1, classes}});
    labels_ = ops::Placeholder(root_, label_type, {.shape = {-1}});
    Output wide = dtype == DType::kFloat ? logits_ : ops::Cast(root_, logits_, DType::kFloat);
    const auto entropy = ops::SparseSoftmaxCrossEntropyWithLogits(root_, wide, labels_);
    losses_ = entropy.loss;
    backprop_ = entropy.backprop;
    loss_ = ops::Mean(root_, losses_, {0});
    gradients_ = ops::Gradients(root_, {loss_}, {logits_});
    Tensor numbers = Tensor::Allocate(label_type, Shape({rows})).value();
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t label = (i * 7 + 3) % classes;
      if (label_type == DType::kInt32) {
        numbers.data<int32_t>()[i] = static_cast<int32_t>(label);
      } else {
        numbers.data<int64_t>()[i] = label;
      }
    }
    feeds_ = {{logits_.name(), Random(dtype, {rows, classes}, 3)}, {labels_.name(), numbers}};
  }
  StatusOr<std::vector<Tensor>> Run(const std::vector<Output>& fetches, bool fuse) {
    SessionOptions options;
    options.rewrites.disable_all = !fuse;
    WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root_, options));
    WEIR_RETURN_IF_ERROR(session->session().Extend(root_.graph()));
    std::vector<std::string> names;
    for (const Output& fetch : fetches) names.push_back(fetch.name());
    StepOptions step;
    step.trace = TraceLevel::kFull;
    report_ = {};
    std::vector<Tensor> out;
    WEIR_RETURN_IF_ERROR(session->session().Run(step, feeds_, names, {}, &out, &report_));
    return out;
  }
  // Runs fused last.
  void ExpectSame(const std::vector<Output>& fetches, double tolerance) {
    const auto plain = Run(fetches, false), fused = Run(fetches, true);
    ASSERT_TRUE(plain.ok()) << plain.status();
    ASSERT_TRUE(fused.ok()) << fused.status();
    for (size_t i = 0; i < fetches.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectTensorNear((*fused)[i], (*plain)[i], tolerance, tolerance * 1e-2);
    }
  }

  Scope root_ = Scope::NewRoot(GpuEnvironment());
  Output logits_, labels_, losses_, backprop_, loss_;
  std::vector<Output> gradients_;
  std::vector<Feed> feeds_;
  StepReport report_;
};

TEST_F(GpuCrossEntropy, OfSmallLogitsIsNeverFloat) {
  for (DType dtype : {DType::kBFloat16, DType::kHalf}) {
    for (int64_t classes : {160, 37}) {
      Build(dtype, 9, classes, classes == 37 ? DType::kInt32 : DType::kInt64);
      ExpectSame({loss_, gradients_[0]}, dtype == DType::kHalf ? 2e-3 : 1e-2);
      EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropy"), 1);
      EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropyGrad"), 1);
      EXPECT_EQ(CountRuns(report_, "Cast"), 0);
      EXPECT_EQ(CountRuns(report_, "SparseSoftmaxCrossEntropyWithLogits"), 0);
    }
  }
}

TEST_F(GpuCrossEntropy, OfFloatLogitsKeepsANumberForEachRow) {
  Build(DType::kFloat, 70, 300);
  ExpectSame({loss_, gradients_[0]}, 1e-5);
  EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropyGrad"), 1);
  ExpectSame({loss_}, 1e-5);
  EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropy"), 1);
  EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropyGrad"), 0);
}

TEST_F(GpuCrossEntropy, WhoseGradientIsSeenStays) {
  Build(DType::kBFloat16, 5, 16);
  ExpectSame({loss_, gradients_[0], backprop_}, 1e-2);
  EXPECT_EQ(CountRuns(report_, "SparseSoftmaxCrossEntropyWithLogits"), 1);
  EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropy"), 0);
  // Times something else than a number for each row.
  Output columns = ops::Mul(root_, backprop_, Random(DType::kFloat, {1, 16}, 8));
  ExpectSame({loss_, columns}, 1e-2);
  EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropy"), 0);
}

TEST_F(GpuCrossEntropy, WhoseScaledGradientIsSeenInFloatGivesThat) {
  Build(DType::kBFloat16, 5, 16);
  Output rows = ops::Mul(root_, backprop_, ops::ExpandDims(root_, ops::Exp(root_, losses_), -1));
  ExpectSame({loss_, rows, ops::Cast(root_, rows, DType::kBFloat16)}, 1e-2);
  EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropyGrad"), 1);
}

TEST_F(GpuCrossEntropy, LargeNumbersInfinitiesAndNaNsAreAsBefore) {
  Build(DType::kFloat, 6, 40);
  Tensor& logits = feeds_[0].second;
  for (int64_t i = 0; i < 40; ++i) {
    logits.data<float>()[i] *= 1000;
    logits.data<float>()[40 + i] = i == 5 ? std::numeric_limits<float>::quiet_NaN() : 1;
    logits.data<float>()[80 + i] = i % 3 == 0 ? -INFINITY : static_cast<float>(i);
    logits.data<float>()[120 + i] = i == 7 ? INFINITY : 0;
    logits.data<float>()[160 + i] = -INFINITY;
  }
  ExpectSame({losses_, gradients_[0]}, 1e-4);
  EXPECT_EQ(CountRuns(report_, "_SparseCrossEntropy"), 1);
}

TEST_F(GpuCrossEntropy, LabelsOutOfRangeFail) {
  Build(DType::kBFloat16, 4, 10);
  feeds_[1].second.data<int64_t>()[2] = 10;
  for (bool fuse : {false, true}) {
    const auto out = Run({loss_, gradients_[0]}, fuse);
    EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(out.status().ToString().find("Received a label value"), std::string::npos) << out.status();
  }
}

}  // namespace
}  // namespace weir::gpu_testing
