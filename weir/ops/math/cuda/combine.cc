// AddN and Select on GPUs.
#include <algorithm>

#include "weir/device/cuda/elementwise.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/kernel_shapes.h"

namespace weir::cuda {
namespace {

// Sums groups of inputs, the sum so far with each but the first.
class AddNKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AddNKernel>();
    for (int done = 1; done < init.num_inputs();) {
      const int terms = std::min(kMostTerms, init.num_inputs() - done);
      kernel->groups_.push_back(std::make_unique<ElementwiseFunction>(SumOf(init.input_type(0), terms + 1)));
      done += terms;
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(CheckAddends(ctx));
    if (groups_.empty()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    std::vector<ElementwiseOperand> terms;
    for (int i = 0; i < ctx.num_inputs(); ++i) terms.emplace_back(ctx.input(i));
    const Shape shape = ctx.input(0).shape();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    Tensor* const outputs[] = {out};
    size_t next = 1;
    ElementwiseOperand sum = terms[0];
    for (const auto& group : groups_) {
      std::vector<ElementwiseOperand> operands = {sum};
      while (operands.size() < group->program().inputs.size()) operands.push_back(terms[next++]);
      WEIR_RETURN_IF_ERROR(group->Run(ctx, operands, shape, outputs));
      sum = ElementwiseOperand(*out);
    }
    return OkStatus();
  }

 private:
  static constexpr int kMostTerms = 31;

  static ElementwiseProgram SumOf(DType dtype, int terms) {
    ElementwiseProgram program;
    program.inputs.assign(static_cast<size_t>(terms), dtype);
    for (int i = 1; i < terms; ++i) {
      program.steps.push_back({"AddV2", {i == 1 ? 0 : terms + i - 2, i}, dtype, dtype});
    }
    program.outputs = {2 * terms - 2};
    return program;
  }

  std::vector<std::unique_ptr<ElementwiseFunction>> groups_;
};

class SelectKernel : public Kernel {
 public:
  explicit SelectKernel(DType dtype) : function_(Program(dtype)) {}

  Status Compute(KernelContext& ctx) override {
    ElementwiseOperand operands[] = {ElementwiseOperand(ctx.input(0)), ElementwiseOperand(ctx.input(1)),
                                     ElementwiseOperand(ctx.input(2))};
    const Shape shape = operands[1].shape;
    WEIR_ASSIGN_OR_RETURN(operands[0].shape, SelectConditionShape(operands[0].shape, shape, operands[2].shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({1, 2}, 0, shape));
    Tensor* const outputs[] = {out};
    return function_.Run(ctx, operands, shape, outputs);
  }

 private:
  static ElementwiseProgram Program(DType dtype) {
    ElementwiseProgram program;
    program.inputs = {DType::kBool, dtype, dtype};
    program.steps = {{"Select3", {0, 1, 2}, dtype, dtype}};
    program.outputs = {3};
    return program;
  }

  const ElementwiseFunction function_;
};

}  // namespace

void RegisterCombineKernels(GpuRegistry& registry) {
  registry.Add("AddN", MakeKernel<AddNKernel>, "T", PlainElementTypes());
  registry.Add("Select", [](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    return std::make_unique<SelectKernel>(init.input_type(1));
  });
}

}  // namespace weir::cuda
