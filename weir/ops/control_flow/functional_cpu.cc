// If, Case, While, For and calls, run as calls of functions. Most graphs never come here: the session lowers them to
// Switch and Merge first.
#include "weir/framework/call_kernel.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/control_flow/register.h"

namespace weir {
namespace {

// Truth of a tensor as TensorFlow's If and While see it: a scalar by its value, a string if not empty, anything else if
// it has elements.
StatusOr<bool> ToBool(const Tensor& tensor) {
  if (tensor.rank() > 0) return tensor.num_elements() > 0;
  if (tensor.dtype() == DType::kString) return !tensor.scalar<std::string>().empty();
  bool value = false;
  using Types = TypeList<float, double, int32_t, uint8_t, int16_t, int8_t, int64_t, bool>;
  if (!DispatchDType(tensor.dtype(), Types{},
                     [&](auto tag) { value = tensor.scalar<typename decltype(tag)::type>() != 0; })) {
    return InvalidArgument(Name(tensor.dtype()), " cannot be converted to a boolean");
  }
  return value;
}

class ToBoolKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(bool value, ToBool(ctx.input(0)));
    ctx.set_output(0, Tensor::Scalar(value));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class IfKernel : public AsyncKernel {
 public:
  IfKernel(FunctionAttr then_branch, FunctionAttr else_branch)
      : then_(std::move(then_branch)), else_(std::move(else_branch)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr then_branch, init.Attr<FunctionAttr>("then_branch"));
    WEIR_ASSIGN_OR_RETURN(FunctionAttr else_branch, init.Attr<FunctionAttr>("else_branch"));
    return std::unique_ptr<Kernel>(std::make_unique<IfKernel>(std::move(then_branch), std::move(else_branch)));
  }
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    StatusOr<bool> condition = ToBool(ctx.input(0));
    if (!condition.ok()) return done(condition.status());
    auto finish = std::make_shared<Completion>(std::move(done));
    (*condition ? then_ : else_)
        .Run(ctx.step(), TakeInputs(ctx, 1), [&ctx, finish](Status status, std::vector<Tensor> results) {
          if (status.ok()) status = SetOutputs(ctx, std::move(results));
          (*finish)(std::move(status));
        });
  }

 private:
  LazyFunction then_;
  LazyFunction else_;
};

class CaseKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::vector<FunctionAttr> branches, init.Attr<std::vector<FunctionAttr>>("branches"));
    auto kernel = std::make_unique<CaseKernel>();
    for (FunctionAttr& branch : branches)
      kernel->branches_.push_back(std::make_unique<LazyFunction>(std::move(branch)));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    const Tensor& index = ctx.input(0);
    if (index.rank() != 0) return done(InvalidArgument("branch_index must be a scalar"));
    int32_t branch = index.scalar<int32_t>();
    if (branches_.empty()) return done(InvalidArgument("Case has no branches"));
    // Out of range means the last one.
    if (branch < 0 || branch >= static_cast<int32_t>(branches_.size()))
      branch = static_cast<int32_t>(branches_.size()) - 1;
    auto finish = std::make_shared<Completion>(std::move(done));
    branches_[branch]->Run(ctx.step(), TakeInputs(ctx, 1), [&ctx, finish](Status status, std::vector<Tensor> results) {
      if (status.ok()) status = SetOutputs(ctx, std::move(results));
      (*finish)(std::move(status));
    });
  }

 private:
  std::vector<std::unique_ptr<LazyFunction>> branches_;
};

class WhileKernel : public AsyncKernel {
 public:
  WhileKernel(FunctionAttr cond, FunctionAttr body) : cond_(std::move(cond)), body_(std::move(body)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr cond, init.Attr<FunctionAttr>("cond"));
    WEIR_ASSIGN_OR_RETURN(FunctionAttr body, init.Attr<FunctionAttr>("body"));
    return std::unique_ptr<Kernel>(std::make_unique<WhileKernel>(std::move(cond), std::move(body)));
  }
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto state = std::make_shared<State>(ctx, std::move(done));
    state->values = TakeInputs(ctx);
    Advance(state);
  }

 private:
  struct State {
    State(KernelContext& c, Completion d) : ctx(c), done(std::move(d)) {}
    KernelContext& ctx;
    Completion done;
    std::vector<Tensor> values;
    bool in_body = false;
  };

  // Functions usually finish before Run returns; the loop then goes on here instead of nesting deeper and deeper.
  void Advance(std::shared_ptr<State> state) {
    while (true) {
      if (state->ctx.cancellation().cancelled()) return state->done(state->ctx.cancellation().reason());
      auto came_back = std::make_shared<std::atomic<int>>(0);
      auto next = [this, state, came_back](Status status, std::vector<Tensor> results) {
        if (!Take(*state, std::move(status), std::move(results))) return;
        // Whoever comes second goes on.
        if (came_back->exchange(1) == 2) Advance(state);
      };
      if (state->in_body) {
        body_.Run(state->ctx.step(), std::move(state->values), next);
      } else {
        cond_.Run(state->ctx.step(), state->values, next);
      }
      if (came_back->exchange(2) != 1) return;
    }
  }

  // Takes what a function gave; false if the loop is over.
  bool Take(State& state, Status status, std::vector<Tensor> results) {
    if (!status.ok()) {
      state.done(std::move(status));
      return false;
    }
    if (state.in_body) {
      state.values = std::move(results);
      state.in_body = false;
      return true;
    }
    StatusOr<bool> go_on = results.size() == 1
                               ? ToBool(results[0])
                               : StatusOr<bool>(InvalidArgument("The loop's condition returned ", results.size(),
                                                                " values instead of one"));
    if (go_on.ok() && *go_on) {
      state.in_body = true;
      return true;
    }
    state.done(go_on.ok() ? SetOutputs(state.ctx, std::move(state.values)) : go_on.status());
    return false;
  }

  LazyFunction cond_;
  LazyFunction body_;
};

// SymbolicGradient(f): a call of the function that the runtime makes of `f`.
class SymbolicGradientKernel : public CallKernel {
 public:
  using CallKernel::CallKernel;
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr forward, init.Attr<FunctionAttr>("f"));
    FunctionAttr gradient{"SymbolicGradient", {}};
    gradient.attrs.Set("f", Attribute(std::move(forward)));
    return std::unique_ptr<Kernel>(std::make_unique<SymbolicGradientKernel>(std::move(gradient)));
  }
};

class FakeParamKernel : public Kernel {
 public:
  explicit FakeParamKernel(Tensor value) : value_(std::move(value)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(DType dtype, init.Attr<DType>("dtype"));
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, init.Attr<PartialShape>("shape"));
    Shape known;
    for (int i = 0; i < shape.rank(); ++i) WEIR_RETURN_IF_ERROR(known.AddDim(std::max<int64_t>(0, shape.dim(i))));
    WEIR_ASSIGN_OR_RETURN(Tensor value, Tensor::Zeros(dtype, known));
    return std::unique_ptr<Kernel>(std::make_unique<FakeParamKernel>(std::move(value)));
  }
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, value_);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  const Tensor value_;
};

// _ListToArray, _ArrayToList: the same tensors under another signature.
class PassThroughKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override { return SetOutputs(ctx, TakeInputs(ctx)); }
  bool is_expensive() const override { return false; }
};

// RefSelect hands one of its references on.
class RefSelectKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& index = ctx.input(0);
    if (index.rank() != 0)
      return InvalidArgument("Index must be a scalar, but it has shape ", index.shape().ToString());
    int32_t i = index.scalar<int32_t>();
    if (i < 0 || i >= ctx.num_inputs() - 1) {
      return InvalidArgument("Index must be in the range [0, ", ctx.num_inputs() - 1, ") but got ", i);
    }
    ctx.ForwardRefInput(i + 1, 0);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterFunctionalKernels(KernelRegistry& registry) {
  for (const char* op : {"PartitionedCall", "StatefulPartitionedCall"})
    registry.Add(KernelBuilder(op), MakeKernel<CallKernel>);
  for (const char* op : {"If", "StatelessIf"}) registry.Add(KernelBuilder(op), MakeKernel<IfKernel>);
  for (const char* op : {"Case", "StatelessCase"}) registry.Add(KernelBuilder(op), MakeKernel<CaseKernel>);
  for (const char* op : {"While", "StatelessWhile"}) registry.Add(KernelBuilder(op), MakeKernel<WhileKernel>);
  for (const char* op : {"_ListToArray", "_ArrayToList"})
    registry.Add(KernelBuilder(op), MakeKernel<PassThroughKernel>);
  registry.Add(KernelBuilder("SymbolicGradient"), MakeKernel<SymbolicGradientKernel>);
  registry.Add(KernelBuilder("FakeParam"), MakeKernel<FakeParamKernel>);
  registry.Add(KernelBuilder("ToBool"), MakeKernel<ToBoolKernel>);
  registry.Add(KernelBuilder("RefSelect"), MakeKernel<RefSelectKernel>);
}

}  // namespace weir
