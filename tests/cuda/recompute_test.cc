// Recomputation on GPUs: the same results with less memory.
#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"
#include "weir/client/gpu_devices.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

struct Outcome {
  Tensor gradient;
  int64_t peak = 0;  // bytes
};

// A step over eight blocks, each of two products and what lies between them.
Outcome Train(Recomputation what) {
  Outcome out;
  const Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice("/device:GPU:0");
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {128, 64}});
  const Output input = x;
  const Output weights = ops::Placeholder(root, DType::kFloat, {.shape = {64, 64}});
  const Output w = ops::Mul(root, weights, 0.2f);

  for (int block = 0; block < 8; ++block) {
    const Scope inside = root.WithRecomputation();
    const Output hidden = ops::Tanh(inside, ops::Softplus(inside, ops::MatMul(inside, x, w)));
    x = ops::Sigmoid(inside, ops::Softsign(inside, ops::MatMul(inside, hidden, w)));
  }
  const std::vector<Output> gradients = ops::Gradients(root, {ops::L2Loss(root, x)}, {input});
  EXPECT_TRUE(root.status().ok()) << root.status();
  SessionOptions options;
  options.recompute.what = what;
  auto session = ClientSession::Create(root, options);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return out;
  Device* device = nullptr;
  for (const auto& known : GpuEnvironment()->devices.devices()) {
    if (device == nullptr && known->type() == "GPU") device = known.get();
  }
  const ClientSession::Feeds feeds = {{input, Random(DType::kFloat, {128, 64}, 1)},
                                      {weights, Random(DType::kFloat, {64, 64}, 2)}};
  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(ForgetGpuPeak(*device));
    const int64_t before = device->allocator()->Stats().peak_bytes_in_use;
    auto results = (*session)->Run(feeds, gradients);
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return out;
    out.gradient = (*results)[0];
    out.peak = device->allocator()->Stats().peak_bytes_in_use - before;
  }
  return out;
}

TEST(GpuRecompute, MarkedBlocksNeedLessMemory) {
  const Outcome kept = Train(Recomputation::kNone), marked = Train(Recomputation::kMarked),
                chosen = Train(Recomputation::kChosen);
  ExpectTensorEqual(marked.gradient, kept.gradient);
  ExpectTensorEqual(chosen.gradient, kept.gradient);
  EXPECT_LT(marked.peak, kept.peak * 7 / 10) << kept.peak;
  EXPECT_LT(chosen.peak, kept.peak) << kept.peak;
}

}  // namespace
}  // namespace weir::gpu_testing
