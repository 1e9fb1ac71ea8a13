#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "weir/framework/resource_node.h"
#include "weir/ops/random/register.h"
#include "weir/resources/variable.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// All values are TensorFlow's.
class RandomTest : public testing::Test {
 protected:
  KernelCall Seeded(std::string_view op) {
    return run(op).Attr("seed", Attribute(int64_t{87654321})).Attr("seed2", Attribute(int64_t{42}));
  }
  Tensor RunOne(KernelCall& call) {
    auto out = call.Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? (*out)[0] : Tensor();
  }
  static Tensor Eight() { return Tensor::Vector<int32_t>({8}); }
  static Tensor Seed() { return Tensor::Vector<int64_t>({7, 17}); }

  KernelRunner run{RegisterRandomKernels};
};

TEST_F(RandomTest, UniformGoesOnWhereItWas) {
  auto kernel = Seeded("RandomUniform").Attr("dtype", DType::kFloat).Input(Eight()).Prepare();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectTensorEqual((*kernel->Run({Eight()}))[0],
                    TensorOf<float>({8}, {0.95227146f, 0.67740774f, 0.79531825f, 0.75578177f, 0.4759556f, 0.6310148f,
                                          0.18602037f, 0.11430776f}));
  ExpectTensorEqual((*kernel->Run({Eight()}))[0],
                    TensorOf<float>({8}, {0.88570464f, 0.954623f, 0.67119f, 0.3078066f, 0.06677902f, 0.73580134f,
                                          0.2884692f, 0.14124787f}));
}

TEST_F(RandomTest, ParameterizedTruncatedNormal) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  KernelCall call =
      Seeded("ParameterizedTruncatedNormal")
          .Inputs({Tensor::Vector<int32_t>({3, 4}), Tensor::Vector<float>({0, 1, 0}), Tensor::Vector<float>({1, 2, 1}),
                   Tensor::Vector<float>({-2, 1.5f, 2}), Tensor::Vector<float>({2, 2, kInfinity})});
  ExpectTensorNear(
      RunOne(call),
      TensorOf<float>({3, 4}, {-0.28077507f, -0.13775210f, -0.67632961f, 0.024580413f, 1.7379777f, 1.8155074f,
                               1.5930102f, 1.5571539f, 2.0802255f, 2.2821093f, 2.0779853f, 2.2104423f}),
      1e-6, 1e-7);
}

TEST_F(RandomTest, StatelessGammaAndPoisson) {
  KernelCall gamma = run("StatelessRandomGammaV2")
                         .Inputs({Tensor::Vector<int32_t>({3, 2}), Seed(), Tensor::Vector<float>({1, 0.25f})});
  ExpectTensorNear(
      RunOne(gamma),
      TensorOf<float>({3, 2}, {0.086740084f, 5.5232456e-05f, 3.0532088f, 0.35647294f, 0.45019457f, 0.0035660858f}),
      1e-6, 1e-9);
  KernelCall poisson = run("StatelessRandomPoisson")
                           .Attr("dtype", DType::kInt64)
                           .Inputs({Tensor::Vector<int32_t>({3, 2}), Seed(), Tensor::Vector<float>({3, 50})});
  ExpectTensorEqual(RunOne(poisson), TensorOf<int64_t>({3, 2}, {2, 47, 4, 53, 2, 45}));
}

TEST_F(RandomTest, ShuffleGoesOnWhereItWas) {
  const Tensor rows = Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8});
  auto kernel = run("RandomShuffle")
                    .Attr("seed", Attribute(int64_t{1}))
                    .Attr("seed2", Attribute(int64_t{2}))
                    .Input(rows)
                    .Prepare();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectTensorEqual((*kernel->Run({rows}))[0], Tensor::Vector<int32_t>({8, 4, 0, 2, 5, 7, 1, 3, 6}));
  ExpectTensorEqual((*kernel->Run({rows}))[0], Tensor::Vector<int32_t>({2, 4, 7, 8, 0, 3, 1, 6, 5}));
  ExpectTensorEqual((*kernel->Run({rows}))[0], Tensor::Vector<int32_t>({6, 0, 1, 3, 4, 7, 2, 8, 5}));
}

TEST_F(RandomTest, StatelessMultinomialShuffleAndHalfNormal) {
  KernelCall multinomial =
      run("StatelessMultinomial").Inputs({TensorOf<float>({2, 3}, {0, 1, 2, 1, 1, 1}), Tensor::Scalar(5), Seed()});
  ExpectTensorEqual(RunOne(multinomial), TensorOf<int64_t>({2, 5}, {2, 0, 2, 2, 0, 1, 2, 2, 0, 0}));
  KernelCall shuffle =
      run("StatelessShuffle")
          .Inputs({Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), Tensor::Vector<uint64_t>({5}),
                   Tensor::Vector<uint64_t>({1, 2}), Tensor::Scalar(1)});
  ExpectTensorEqual(RunOne(shuffle), Tensor::Vector<int32_t>({1, 4, 6, 3, 5, 2, 8, 9, 7, 0}));
  KernelCall normal =
      run("StatelessRandomNormal").Attr("dtype", DType::kHalf).Inputs({Tensor::Vector<int32_t>({3}), Seed()});
  ExpectTensorEqual(RunOne(normal), NumbersOf(DType::kHalf, {3}, {0.381591796875, -0.96044921875, 0.322509765625}));
}

TEST_F(RandomTest, GeneratorVariableMovesOn) {
  auto variable = std::make_shared<VariableResource>(DType::kInt64);
  {
    absl::MutexLock lock(&variable->mu);
    variable->tensor = Tensor::Vector<int64_t>({-1, 3, 77});
  }
  ResourceKey key{"localhost", "generator", false};
  ASSERT_EQ(run.device().resources().Create(key.container, key.name, variable), OkStatus());
  Tensor handle = HandleTensor(MakeResourceHandle(run.device(), key, VariableResource::kTypeName));
  KernelCall skip = run("RngReadAndSkip").Inputs({handle, Tensor::Scalar(1), Tensor::Scalar<uint64_t>(2)});
  ExpectTensorEqual(RunOne(skip), Tensor::Vector<int64_t>({-1, 3, 77}));
  ExpectTensorEqual(variable->Read(), Tensor::Vector<int64_t>({511, 4, 77}));

  KernelCall stateful = run("StatefulUniform")
                            .Attr("dtype", DType::kFloat)
                            .Inputs({handle, Tensor::Scalar<int64_t>(1), Tensor::Vector<int64_t>({3})});
  KernelCall stateless = run("StatelessRandomUniformV2")
                             .Attr("dtype", DType::kFloat)
                             .Inputs({Tensor::Vector<int32_t>({3}), Tensor::Vector<uint64_t>({77}),
                                      Tensor::Vector<uint64_t>({511, 4}), Tensor::Scalar(1)});
  ExpectTensorEqual(RunOne(stateful), RunOne(stateless));
  ExpectTensorEqual(variable->Read(), Tensor::Vector<int64_t>({511 + 3 * 256, 4, 77}));

  KernelCall back = run("RngReadAndSkip").Inputs({handle, Tensor::Scalar(1), Tensor::Scalar(~uint64_t{0})});
  ExpectTensorEqual(RunOne(back), Tensor::Vector<int64_t>({511 + 3 * 256, 4, 77}));
  ExpectTensorEqual(variable->Read(), Tensor::Vector<int64_t>({511 + 2 * 256, 4, 77}));

  auto with_algorithm = [&](int algorithm) {
    return run("RngReadAndSkip")
        .Inputs({handle, Tensor::Scalar(algorithm), Tensor::Scalar<uint64_t>(1)})
        .Run()
        .status();
  };
  EXPECT_EQ(with_algorithm(9).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(with_algorithm(2).code(), absl::StatusCode::kUnimplemented);

  // Like TensorFlow, a binomial draw does not move a state on that is still the memory of another value.
  auto binomial = [&] {
    KernelCall call = run("StatefulRandomBinomial")
                          .Attr("dtype", DType::kInt64)
                          .Inputs({handle, Tensor::Scalar<int64_t>(1), Tensor::Vector<int32_t>({3}),
                                   Tensor::Scalar<float>(9), Tensor::Scalar<float>(0.5f)});
    return RunOne(call);
  };
  const Tensor shared = variable->Read(), before = Tensor::Vector<int64_t>({511 + 2 * 256, 4, 77});
  const Tensor first = binomial();
  ExpectTensorEqual(variable->Read(), before);
  ExpectTensorEqual(binomial(), first);
  EXPECT_NE(variable->Read().data<int64_t>()[0], before.data<int64_t>()[0]);
}

TEST_F(RandomTest, ResultsDoNotDependOnThreads) {
  KernelRunner single({RegisterRandomKernels}, 1);
  KernelRunner many({RegisterRandomKernels}, 4);
  for (std::string_view op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"}) {
    for (DType dtype : {DType::kHalf, DType::kFloat, DType::kDouble}) {
      Tensor shape = Tensor::Vector<int32_t>({50001});
      auto a = single(op).Attr("dtype", dtype).Inputs({shape, Seed()}).Run();
      auto b = many(op).Attr("dtype", dtype).Inputs({shape, Seed()}).Run();
      ASSERT_TRUE(a.ok() && b.ok());
      ExpectTensorEqual((*a)[0], (*b)[0]);
    }
  }
}

TEST_F(RandomTest, AccidentalHits) {
  auto out = run("ComputeAccidentalHits")
                 .Attr("num_true", Attribute(int64_t{2}))
                 .Inputs({TensorOf<int64_t>({2, 2}, {1, 5, 3, 4}), Tensor::Vector<int64_t>({5, 3, 7, 9})})
                 .Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::Vector<int32_t>({0, 1}));
  ExpectTensorEqual((*out)[1], Tensor::Vector<int64_t>({0, 1}));
}

TEST_F(RandomTest, BadInputs) {
  auto expect = [](KernelCall& call, std::string_view text) {
    Status status = call.Run().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(std::string(text)));
  };
  KernelCall negative = Seeded("RandomUniform").Attr("dtype", DType::kFloat).Input(Tensor::Vector<int32_t>({-1}));
  expect(negative, "");
  KernelCall bounds = Seeded("RandomUniformInt").Inputs({Eight(), Tensor::Scalar(3), Tensor::Scalar(3)});
  expect(bounds, "Need minval < maxval, got 3 >= 3");
  KernelCall seed = run("StatelessRandomUniform").Inputs({Eight(), Tensor::Vector<int64_t>({1, 2, 3})});
  expect(seed, "seed must have shape [2], not [3]");
  KernelCall algorithm =
      run("StatelessRandomUniformV2")
          .Inputs({Eight(), Tensor::Vector<uint64_t>({1}), Tensor::Vector<uint64_t>({1, 2}), Tensor::Scalar(2)});
  expect(algorithm, "Unsupported algorithm id: 2");
  KernelCall logits = Seeded("Multinomial").Inputs({Tensor::Vector<float>({1}), Tensor::Scalar(1)});
  expect(logits, "logits should be a matrix");
}

}  // namespace
}  // namespace weir
