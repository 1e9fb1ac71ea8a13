// Random numbers: those of the host, bit for bit.
#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

void ExpectSame(const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attrs = {}) {
  SCOPED_TRACE(op);
  auto host = RunOn("/device:CPU:0", op, inputs, attrs), gpu = RunOn("/device:GPU:0", op, inputs, attrs);
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  ExpectTensorEqual((*gpu)[0], (*host)[0]);
}

TEST(GpuRandom, NormalValuesAreTheHosts) {
  const Tensor shape = Tensor::Vector<int32_t>({20000}), seed = Tensor::Vector<int64_t>({3, 4});
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
    ExpectSame("StatelessRandomNormal", {shape, seed}, {{"dtype", dtype}});
    ExpectSame("StatelessTruncatedNormal", {shape, seed}, {{"dtype", dtype}});
    ExpectSame("StatelessRandomUniform", {shape, seed}, {{"dtype", dtype}});
  }
}

TEST(GpuRandom, GammaValuesAndClassesAreTheHosts) {
  const Tensor shape = Tensor::Vector<int32_t>({50, 4}), seed = Tensor::Vector<int64_t>({3, 4});
  ExpectAgree("StatelessRandomGammaV2", {shape, seed, Tensor::Vector<float>({0.3f, 1, 2, 50})});
  ExpectAgree("RandomGammaGrad", {RandomPositive(DType::kFloat, {40}), RandomPositive(DType::kFloat, {40}, 2)});
  ExpectSame("StatelessMultinomial", {Random(DType::kFloat, {3, 40}), Tensor::Scalar<int32_t>(101), seed});
  const Tensor some = Tensor::Vector<float>({1, -INFINITY, 2, NAN}).Reshaped(Shape({1, 4})).value();
  ExpectSame("StatelessMultinomial", {some, Tensor::Scalar<int32_t>(20), seed}, {{"output_dtype", DType::kInt32}});
}

// A generator's state lives on the GPU and moves on as it does on the host.
TEST(GpuRandom, GeneratorsMoveOn) {
  std::vector<std::vector<Tensor>> results;
  for (const char* device : {"/device:CPU:0", "/device:GPU:0"}) {
    Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice(device);
    Output state = ops::VarHandleOp(root, DType::kInt64, PartialShape({3}));
    Operation set = ops::AssignVariableOp(root, state, Tensor::Vector<int64_t>({1, 2, 3}));
    const Tensor philox = Tensor::Scalar<int64_t>(1), shape = Tensor::Vector<int64_t>({5});
    Output values = ops::StatefulStandardNormalV2(root, state, philox, shape);
    Output before = ops::RngReadAndSkip(root, state, Tensor::Scalar<int32_t>(1), Tensor::Scalar<uint64_t>(7));
    Output now = ops::ReadVariableOp(root, state, DType::kInt64);
    auto session = ClientSession::Create(root);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->RunTargets({set}).ok());
    std::vector<Tensor>& mine = results.emplace_back();
    for (const Output& each : {values, before, now}) {
      auto out = (*session)->Run({each});
      ASSERT_TRUE(out.ok()) << out.status();
      mine.push_back((*out)[0]);
    }
  }
  for (size_t i = 0; i < 3; ++i) ExpectTensorEqual(results[1][i], results[0][i]);
}

}  // namespace
}  // namespace weir::gpu_testing
