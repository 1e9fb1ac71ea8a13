// Optimizers on GPUs: the host's update rules (ops/train/*_rules.h), compiled as device code.
#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/train/cuda/update_rules.h"
#include "weir/ops/train/locked_states.h"

namespace weir::cuda {
namespace {

using train::LockedStates;

constexpr int kMaxStates = 4, kMaxScalars = 8;

// As device code declares it.
struct Update {
  DeviceAddress states[kMaxStates] = {};
  DeviceAddress scalars[kMaxScalars] = {};
  int64_t num_scalars = 0;
  DeviceAddress grad = 0;
};

class OptimizerKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, const UpdateRule& rule) {
    auto kernel = std::make_unique<OptimizerKernel>();
    kernel->num_states_ = rule.num_states;
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("T"));
    bool flag = false;
    if (rule.flag != nullptr) {
      WEIR_ASSIGN_OR_RETURN(flag, init.Attr<bool>(rule.flag));
    }
    const auto& inputs = init.schema().inputs;
    for (int i = rule.num_states; i < static_cast<int>(inputs.size()); ++i) {
      if (inputs[i].name == "grad" || inputs[i].name == "delta") {
        kernel->grad_ = i;
      } else if (inputs[i].name == "indices") {
        kernel->indices_ = i;
      } else {
        kernel->scalars_.push_back(i);
      }
    }
    if (kernel->grad_ < 0 || kernel->scalars_.size() > kMaxScalars) return Internal("Not the schema of an optimizer");
    const std::string_view type = DeviceTypeName(kernel->dtype_);
    const std::string tail = Cat(rule.name, ", ", flag, ">");
    if (kernel->indices_ < 0) {
      kernel->function_ = Cat("UpdateAll<", type, ", ", tail);
    } else {
      const std::string_view index = DeviceTypeName(init.input_type(kernel->indices_));
      kernel->function_ = Cat("UpdateRows<", type, ", ", index, ", ", tail);
      kernel->link_ = Cat("LinkRows<", index, ">");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto states, LockedStates::Lock(ctx, num_states_));
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor*> tensors, states->Tensors(ctx, num_states_, dtype_));
    for (int i = 1; i < num_states_; ++i) {
      if (tensors[i]->shape() != tensors[0]->shape()) return train::ShapesDiffer(ctx, i, *tensors[0], *tensors[i]);
    }
    const Tensor& grad = ctx.input(grad_);
    Update update;
    for (int i : scalars_) {
      if (!ctx.input(i).shape().IsScalar()) {
        return InvalidArgument(ctx.node().schema->inputs[i].name,
                               " is not a scalar: ", ctx.input(i).shape().ToString());
      }
      update.scalars[update.num_scalars++] = Address(ctx.input(i));
    }
    if (indices_ < 0) {
      if (grad.shape() != tensors[0]->shape()) return train::ShapesDiffer(ctx, grad_, *tensors[0], grad);
    } else {
      if (tensors[0]->rank() < 1) return InvalidArgument("var must be at least 1 dimensional");
      WEIR_RETURN_IF_ERROR(train::CheckRows(tensors[0]->shape(), grad.shape(), ctx.input(indices_)));
    }
    // Only now: a failed step must leave every snapshot as it was.
    WEIR_RETURN_IF_ERROR(states->MakeWritable(
        ctx.device().allocator(), [&](const Tensor& from, const Tensor& to) { return CopyVariable(ctx, from, to); }));
    for (int k = 0; k < num_states_; ++k) update.states[k] = Address(*tensors[k]);
    update.grad = Address(grad);
    if (indices_ < 0) {
      WEIR_RETURN_IF_ERROR(
          LaunchOver(ctx, {kUpdateSource, function_}, grad.num_elements(), update, grad.num_elements()));
    } else {
      WEIR_RETURN_IF_ERROR(UpdateRows(ctx, update, grad, *tensors[0]));
    }
    if (ctx.num_outputs() > 0) ctx.ForwardRefInput(0, 0);
    return OkStatus();
  }

 private:
  Status UpdateRows(KernelContext& ctx, const Update& update, const Tensor& grad, const Tensor& var) const {
    const Tensor& indices = ctx.input(indices_);
    const int64_t rows = indices.num_elements();
    if (rows == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor next, ctx.AllocateTemp(DType::kInt64, Shape({rows})));
    WEIR_ASSIGN_OR_RETURN(Tensor is_first, ctx.AllocateTemp(DType::kBool, Shape({rows})));
    WEIR_ASSIGN_OR_RETURN(
        DeviceAddress error,
        ErrorWord(ctx, InvalidArgument("indices of ", ctx.node_name(), " are not all in [0, ", var.dim(0), ")")));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kUpdateSource, link_}, rows, Address(indices), rows, var.dim(0),
                                    Address(next), Address(is_first), error));
    const int64_t row_size = grad.num_elements() / rows;
    return LaunchOver(ctx, {kUpdateSource, function_}, grad.num_elements(), update, Address(indices), Address(next),
                      Address(is_first), rows, row_size);
  }

  int num_states_ = 0;
  DType dtype_ = DType::kInvalid;
  int grad_ = -1, indices_ = -1;
  std::vector<int> scalars_;
  std::string function_, link_;
};

}  // namespace

void RegisterOptimizerKernels(GpuRegistry& registry) {
  for (const UpdateRule& rule : UpdateRules()) {
    registry.Add(rule.op, [rule](const KernelInit& init) { return OptimizerKernel::Make(init, rule); });
  }
  RegisterManyUpdatesKernel(registry);
}

}  // namespace weir::cuda
