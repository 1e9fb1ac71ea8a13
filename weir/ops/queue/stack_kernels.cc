#include <atomic>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/step_resource.h"

namespace weir {
namespace {

// A stack of tensors that lives as long as its step. Thread-safe.
class TensorStack : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow5StackE";
  static constexpr std::string_view kContainer = "_stacks";

  TensorStack(std::string name, DType dtype, int64_t max_size)
      : name_(std::move(name)), dtype_(dtype), max_size_(max_size) {}
  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return Cat("Stack[", name_, "]"); }
  DType dtype() const { return dtype_; }

  Status Push(Tensor value) {
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(CheckOpenLocked());
    if (max_size_ >= 0 && static_cast<int64_t>(values_.size()) >= max_size_) {
      return InvalidArgument("Stack[", name_, "] overflowed its max_size (", max_size_, ")");
    }
    values_.push_back(std::move(value));
    return OkStatus();
  }
  StatusOr<Tensor> Pop() {
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(CheckOpenLocked());
    if (values_.empty()) return InvalidArgument("Stack[", name_, "] is empty when calling Pop().");
    Tensor value = std::move(values_.back());
    values_.pop_back();
    return value;
  }
  void Close() {
    absl::MutexLock lock(&mu_);
    values_.clear();
    closed_ = true;
  }

 private:
  Status CheckOpenLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return closed_ ? InvalidArgument("Stack[", name_, "] has already been closed.") : OkStatus();
  }

  const std::string name_;
  const DType dtype_;
  const int64_t max_size_;  // < 0: none
  absl::Mutex mu_;
  std::vector<Tensor> values_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

class StackKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<StackKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("elem_type"));
    WEIR_ASSIGN_OR_RETURN(kernel->name_, init.Attr<std::string>("stack_name"));
    if (kernel->name_.empty()) kernel->name_ = init.node_name();
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    static std::atomic<int64_t> counter{0};
    int64_t max_size = -1;
    if (ctx.num_inputs() > 0) {
      if (ctx.input(0).rank() != 0) {
        return InvalidArgument("Stack size must be a scalar, but had shape: ", ctx.input(0).shape().ToString());
      }
      max_size = ctx.input(0).scalar<int32_t>();
    }
    std::string name = Cat(name_, "_", counter.fetch_add(1));
    return PutStepResource(ctx, name, TensorStack::kContainer, std::make_shared<TensorStack>(name, dtype_, max_size));
  }

 private:
  DType dtype_;
  std::string name_;
};

class StackPushKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto stack, FindStepResource<TensorStack>(ctx, 0));
    const Tensor& value = ctx.input(1);
    if (value.dtype() != stack->dtype()) {
      return InvalidArgument("Must have type ", static_cast<int>(stack->dtype()), " but got ",
                             static_cast<int>(value.dtype()));
    }
    WEIR_RETURN_IF_ERROR(stack->Push(value));
    ctx.set_output(0, value);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class StackPopKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto stack, FindStepResource<TensorStack>(ctx, 0));
    if (stack->dtype() != ctx.output_type(0)) {
      return InvalidArgument("Must have type ", static_cast<int>(ctx.output_type(0)), " but the stack has ",
                             static_cast<int>(stack->dtype()));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor value, stack->Pop());
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class StackCloseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto stack, FindStepResource<TensorStack>(ctx, 0));
    stack->Close();
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterStackKernels(KernelRegistry& registry) {
  for (std::string version : {"", "V2"}) {
    registry.Add(KernelBuilder("Stack" + version), MakeKernel<StackKernel>);
    registry.Add(KernelBuilder("StackPush" + version), MakeKernel<StackPushKernel>);
    registry.Add(KernelBuilder("StackPop" + version), MakeKernel<StackPopKernel>);
    registry.Add(KernelBuilder("StackClose" + version), MakeKernel<StackCloseKernel>);
  }
}

}  // namespace weir
