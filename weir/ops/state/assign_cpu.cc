// Assign, AssignAdd, AssignSub for ref variables; AssignAddVariableOp, AssignSubVariableOp for resource variables.
#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/ops/state/arithmetic.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/update_variable.h"
#include "weir/resources/variable.h"

namespace weir {
namespace {

class AssignKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AssignKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->validate_shape_, init.Attr<bool>("validate_shape"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    {
      RefCell& cell = ctx.ref_input(0);
      absl::MutexLock lock(&cell.mu);
      WEIR_RETURN_IF_ERROR(AssignLocked(ctx, cell));
    }
    ctx.ForwardRefInput(0, 0);
    return OkStatus();
  }

 private:
  Status AssignLocked(KernelContext& ctx, RefCell& cell) ABSL_EXCLUSIVE_LOCKS_REQUIRED(cell.mu) {
    const Shape& shape = ctx.input(1).shape();
    if (cell.dtype != ctx.input(1).dtype()) {
      return InvalidArgument("Assign requires tensors of one type, got ", Name(cell.dtype), " and ",
                             Name(ctx.input(1).dtype()));
    }
    bool has_value = cell.tensor.has_value();
    if (validate_shape_) {
      bool fits = has_value ? cell.tensor.shape() == shape : cell.shape.IsCompatibleWith(PartialShape(shape));
      if (!fits) {
        return InvalidArgument("Assign requires shapes of both tensors to match. lhs shape= ",
                               has_value ? cell.tensor.shape().ToString() : cell.shape.ToString(),
                               " rhs shape= ", shape.ToString());
      }
    }
    // Readers of this step share the variable's memory and must see the new value in it.
    if (has_value && cell.tensor.num_elements() == shape.num_elements()) {
      WEIR_RETURN_IF_ERROR(PlaceParts(ctx, {{&ctx.input(1), 0}}, cell.tensor));
      if (cell.tensor.shape() != shape) {
        WEIR_ASSIGN_OR_RETURN(cell.tensor, cell.tensor.Reshaped(shape));
      }
      return OkStatus();
    }
    Tensor value = ctx.TakeInput(1);
    if (!value.unique()) {
      WEIR_ASSIGN_OR_RETURN(value, CloneElements(ctx, value));
    }
    cell.tensor = std::move(value);
    return OkStatus();
  }

  bool validate_shape_ = true;
};

template <typename Op>
void UpdateElements(KernelContext& ctx, const Tensor& before, const Tensor& value, Tensor& after) {
  DispatchDType(value.dtype(), NumberTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* a = before.data<T>();
    const T* b = value.data<T>();
    T* out = after.data<T>();
    ctx.ParallelFor(value.num_elements(), 1.0, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = Op::template Apply<T>(a[i], b[i]);
    });
  });
}

template <typename Op>
class AssignUpdateKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(1);
    return state::UpdateVariable(ctx, value.dtype(), [&](Tensor& tensor) -> Status {
      if (tensor.shape() != value.shape()) return InvalidArgument("Parameters and update must be the same size");
      UpdateElements<Op>(ctx, tensor, value, tensor);
      return OkStatus();
    });
  }
};

template <typename Op>
class AssignUpdateVariableKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, LookUpResource<VariableResource>(ctx, 0));
    absl::MutexLock lock(&variable->mu);
    Tensor& tensor = variable->tensor;
    if (!tensor.has_value()) {
      const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
      return UninitializedVariable(handle.container, handle.name);
    }
    if (tensor.dtype() != value.dtype()) return InvalidArgument("DType of variable handle and value does not match.");
    if (tensor.shape() != value.shape()) {
      return InvalidArgument("Cannot update variable with shape ", tensor.shape().ToString(),
                             " using a Tensor with shape ", value.shape().ToString(), ", shapes must be equal.");
    }
    if (tensor.unique()) {
      UpdateElements<Op>(ctx, tensor, value, tensor);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor after, ctx.AllocateTemp(tensor.dtype(), tensor.shape()));
    UpdateElements<Op>(ctx, tensor, value, after);
    tensor = std::move(after);
    return OkStatus();
  }
};

}  // namespace

void RegisterAssignKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Assign"), MakeKernel<AssignKernel>);
  registry.Add(KernelBuilder("AssignAdd").Types("T", NumberTypes{}), MakeKernel<AssignUpdateKernel<state::AddOp>>);
  registry.Add(KernelBuilder("AssignSub").Types("T", NumberTypes{}), MakeKernel<AssignUpdateKernel<state::SubOp>>);
  registry.Add(KernelBuilder("AssignAddVariableOp").Types("dtype", NumberTypes{}),
               MakeKernel<AssignUpdateVariableKernel<state::AddOp>>);
  registry.Add(KernelBuilder("AssignSubVariableOp").Types("dtype", NumberTypes{}),
               MakeKernel<AssignUpdateVariableKernel<state::SubOp>>);
}

}  // namespace weir
