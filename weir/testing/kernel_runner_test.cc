#include "weir/testing/kernel_runner.h"

#include "gtest/gtest.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

class TwiceKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    for (float& x : out->span<float>()) x *= 2;
    return OkStatus();
  }
};

// Never finishes by itself.
class WaitingKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto shared = std::make_shared<Completion>(std::move(done));
    ctx.cancellation().Register([shared] { (*shared)(Cancelled("stopped")); });
  }
};

class AssignKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    absl::MutexLock lock(&ctx.ref_input(0).mu);
    ctx.ref_input(0).tensor = ctx.input(1);
    ctx.ForwardRefInput(0, 0);
    return OkStatus();
  }
};

class CountInputsKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<float>(static_cast<float>(ctx.num_inputs())));
    return OkStatus();
  }
};

void RegisterTestKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Neg").Types("T", TypeList<float>{}), MakeKernel<TwiceKernel>);
  registry.Add(KernelBuilder("Abs").Types("T", TypeList<float>{}), MakeKernel<WaitingKernel>);
  registry.Add(KernelBuilder("Assign"), MakeKernel<AssignKernel>);
  registry.Add(KernelBuilder("AddN"), MakeKernel<CountInputsKernel>);
}

TEST(KernelRunnerTest, InfersTypesAndRuns) {
  KernelRunner run({RegisterTestKernels});
  auto out = run("Neg").Input(Tensor::Vector<float>({1, 2})).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::Vector<float>({2, 4}));
}

TEST(KernelRunnerTest, InfersTheNumberOfInputs) {
  KernelRunner run({RegisterTestKernels});
  auto out = run("AddN").Input(Tensor::Scalar(1.f)).Input(Tensor::Scalar(2.f)).Input(Tensor::Scalar(3.f)).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::Scalar(3.f));
}

TEST(KernelRunnerTest, ReportsUnknownOpsAndMissingKernels) {
  KernelRunner run({RegisterTestKernels});
  EXPECT_EQ(run("NoSuchOp").Run().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(run("Neg").Input(Tensor::Scalar(1.0)).Run().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(run("Neg").Run().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(KernelRunnerTest, PassesReferences) {
  KernelRunner run({RegisterTestKernels});
  auto cell = MakeRef<RefCell>();
  cell->dtype = DType::kFloat;
  auto out = run("Assign").RefInput(cell).Input(Tensor::Scalar(5.f)).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::Scalar(5.f));
  absl::MutexLock lock(&cell->mu);
  ExpectTensorEqual(cell->tensor, Tensor::Scalar(5.f));
}

TEST(KernelRunnerTest, CancelsAnAsynchronousKernel) {
  KernelRunner run({RegisterTestKernels});
  Status result;
  auto cancellation = run("Abs").Input(Tensor::Scalar(1.f)).RunAsync([&](Status status, std::vector<Slot>) {
    result = std::move(status);
  });
  ASSERT_NE(cancellation, nullptr);
  EXPECT_TRUE(result.ok());
  cancellation->StartCancel();
  EXPECT_EQ(result.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace weir
