// The nodes of accumulators; one kernel for both kinds of handle.
#include "weir/framework/resource_node.h"
#include "weir/ops/accumulator/accumulator.h"
#include "weir/ops/accumulator/register.h"

namespace weir {
namespace {

class AccumulatorKernel : public ResourceNodeKernel {
 public:
  AccumulatorKernel(const KernelInit& init, ResourceKey key, AccumulatorSpec spec)
      : ResourceNodeKernel(init, std::move(key), Accumulator::kTypeName),
        spec_(std::move(spec)),
        is_sparse_(init.schema().name == "SparseConditionalAccumulator") {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    AccumulatorSpec spec;
    WEIR_ASSIGN_OR_RETURN(spec.dtype, init.Attr<DType>("dtype"));
    WEIR_ASSIGN_OR_RETURN(spec.shape, init.Attr<PartialShape>("shape"));
    WEIR_ASSIGN_OR_RETURN(std::string reduction, init.Attr<std::string>("reduction_type"));
    if (reduction != "MEAN" && reduction != "SUM") {
      return InvalidArgument("reduction_type must be MEAN or SUM, got ", reduction);
    }
    spec.is_mean = reduction == "MEAN";
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, /*use_node_name=*/false));
    return std::make_unique<AccumulatorKernel>(init, std::move(key), std::move(spec));
  }

 protected:
  StatusOr<std::shared_ptr<Resource>> Create(KernelContext&) override {
    return is_sparse_ ? MakeSparseAccumulator(spec_) : MakeDenseAccumulator(spec_);
  }

 private:
  const AccumulatorSpec spec_;
  const bool is_sparse_;
};

template <typename T>
StatusOr<int64_t> ScalarInput(KernelContext& ctx, int i, std::string_view name) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() != kDTypeOf<T> || tensor.rank() != 0) {
    return InvalidArgument("Argument ", name, " must be scalar, but had bad shape ", tensor.shape().ToString());
  }
  return tensor.scalar<T>();
}

StatusOr<std::shared_ptr<Accumulator>> AccumulatorInput(KernelContext& ctx, bool is_sparse, DType dtype) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Accumulator> found, FindByHandle<Accumulator>(ctx, 0));
  if (found->is_sparse() != is_sparse) {
    return InvalidArgument("The accumulator is ", found->is_sparse() ? "sparse" : "dense", ", node ", ctx.node_name(),
                           " needs a ", is_sparse ? "sparse" : "dense", " one");
  }
  if (found->spec().dtype != dtype) {
    return InvalidArgument("The accumulator is of type ", Name(found->spec().dtype), ", the gradient of type ",
                           Name(dtype));
  }
  return found;
}

class ApplyGradientKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto accumulator, AccumulatorInput(ctx, /*is_sparse=*/false, ctx.input(2).dtype()));
    WEIR_ASSIGN_OR_RETURN(int64_t local_step, ScalarInput<int64_t>(ctx, 1, "local_step"));
    return accumulator->Apply(local_step, {ctx.TakeInput(2)});
  }
};

class SparseApplyGradientKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SparseApplyGradientKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->has_known_shape_, init.Attr<bool>("has_known_shape"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto accumulator, AccumulatorInput(ctx, /*is_sparse=*/true, ctx.input(3).dtype()));
    WEIR_ASSIGN_OR_RETURN(int64_t local_step, ScalarInput<int64_t>(ctx, 1, "local_step"));
    Accumulator::Tensors gradient = {ctx.TakeInput(2), ctx.TakeInput(3)};
    if (has_known_shape_) gradient.push_back(ctx.TakeInput(4));
    return accumulator->Apply(local_step, gradient);
  }

 private:
  bool has_known_shape_ = false;
};

template <bool kSparse>
class TakeGradientKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto accumulator = AccumulatorInput(ctx, kSparse, ctx.output_type(kSparse ? 1 : 0));
    if (!accumulator.ok()) return done(accumulator.status());
    auto num_required = ScalarInput<int32_t>(ctx, 1, "num_required");
    if (!num_required.ok()) return done(num_required.status());
    if (*num_required <= 0) {
      return done(InvalidArgument("Argument num_required must be positive, but was ", *num_required));
    }
    auto shared_done = std::make_shared<Completion>(std::move(done));
    (*accumulator)->Take(*num_required, ctx.cancellation(), [&ctx, shared_done](StatusOr<Accumulator::Tensors> result) {
      if (!result.ok()) return (*shared_done)(result.status());
      for (size_t i = 0; i < result->size(); ++i) ctx.set_output(static_cast<int>(i), std::move((*result)[i]));
      (*shared_done)(OkStatus());
    });
  }
};

class NumAccumulatedKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Accumulator> accumulator, FindByHandle<Accumulator>(ctx, 0));
    ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(accumulator->NumAccumulated())));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class SetGlobalStepKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Accumulator> accumulator, FindByHandle<Accumulator>(ctx, 0));
    WEIR_ASSIGN_OR_RETURN(int64_t step, ScalarInput<int64_t>(ctx, 1, "new_global_step"));
    accumulator->SetGlobalStep(step);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterAccumulatorKernels(KernelRegistry& registry) {
  for (const char* op : {"ConditionalAccumulator", "SparseConditionalAccumulator", "ResourceConditionalAccumulator"}) {
    registry.Add(KernelBuilder(op).Types("dtype", FloatTypes{}), MakeKernel<AccumulatorKernel>);
  }
  for (std::string_view prefix : {"", "Resource"}) {
    registry.Add(KernelBuilder(Cat(prefix, "AccumulatorApplyGradient")), MakeKernel<ApplyGradientKernel>);
    registry.Add(KernelBuilder(Cat(prefix, "AccumulatorTakeGradient")), MakeKernel<TakeGradientKernel<false>>);
    registry.Add(KernelBuilder(Cat(prefix, "AccumulatorNumAccumulated")), MakeKernel<NumAccumulatedKernel>);
    registry.Add(KernelBuilder(Cat(prefix, "AccumulatorSetGlobalStep")), MakeKernel<SetGlobalStepKernel>);
  }
  registry.Add(KernelBuilder("SparseAccumulatorApplyGradient"), MakeKernel<SparseApplyGradientKernel>);
  registry.Add(KernelBuilder("SparseAccumulatorTakeGradient"), MakeKernel<TakeGradientKernel<true>>);
}

}  // namespace weir
