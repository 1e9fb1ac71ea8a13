// _ResourceApplyMany on GPUs: the updates of many variables in as few launches as their addresses fit.
#include <algorithm>

#include "weir/device/cuda/launch.h"
#include "weir/framework/fused_nodes.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/train/cuda/update_rules.h"
#include "weir/ops/train/locked_states.h"

namespace weir::cuda {
namespace {

using train::LockedStates;

// As device code declares it; a launch takes 4 KiB.
constexpr int kMany = 64, kMaxStates = 4, kMaxScalars = 8;
constexpr int64_t kChunk = 4096;  // elements of a block
struct ManyUpdates {
  struct Variable {
    DeviceAddress states[kMaxStates];
    DeviceAddress grad;
    int64_t size, first_chunk;
  };
  Variable variables[kMany];
  DeviceAddress scalars[kMaxScalars];
  int64_t num_scalars, count, chunk;
};
static_assert(sizeof(ManyUpdates) <= 4096);

class ManyUpdatesKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ManyUpdatesKernel>();
    WEIR_ASSIGN_OR_RETURN(const std::string op, init.Attr<std::string>("rule"));
    WEIR_ASSIGN_OR_RETURN(const bool flag, init.Attr<bool>("flag"));
    WEIR_ASSIGN_OR_RETURN(kernel->num_handles_, init.Attr<int64_t>("M"));
    WEIR_ASSIGN_OR_RETURN(kernel->num_scalars_, init.Attr<int64_t>("K"));
    WEIR_ASSIGN_OR_RETURN(kernel->num_updates_, init.Attr<int64_t>("N"));
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("T"));
    WEIR_ASSIGN_OR_RETURN(const DType gradients, init.Attr<DType>("G"));
    const bool widens = kernel->dtype_ == DType::kFloat && (gradients == DType::kHalf || gradients == DType::kBFloat16);
    if (gradients != kernel->dtype_ && !widens) {
      return Unimplemented("Gradients of type ", Name(gradients), " for variables of type ", Name(kernel->dtype_));
    }
    const UpdateRule* rule = FindUpdateRule(op);
    if (rule == nullptr) return Unimplemented("There is no rule of ", op, " for GPUs");
    kernel->num_states_ = rule->num_states;
    if (kernel->num_handles_ != rule->num_states * kernel->num_updates_ || kernel->num_scalars_ > kMaxScalars) {
      return InvalidArgument(kernel->num_updates_, " updates by ", op, " do not have ", kernel->num_handles_,
                             " variables and ", kernel->num_scalars_, " numbers");
    }
    kernel->function_ = Cat("UpdateMany<", DeviceTypeName(kernel->dtype_), ", ", DeviceTypeName(gradients), ", ",
                            rule->name, ", ", flag, ">");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto states, LockedStates::Lock(ctx, static_cast<int>(num_handles_)));
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor*> tensors, states->Tensors(ctx, static_cast<int>(num_handles_), dtype_));
    WEIR_RETURN_IF_ERROR(Check(ctx, tensors));
    // Only now: a failed step must leave every snapshot as it was.
    WEIR_RETURN_IF_ERROR(states->MakeWritable(
        ctx.device().allocator(), [&](const Tensor& from, const Tensor& to) { return CopyVariable(ctx, from, to); }));
    std::vector<Tensor*> sorted = tensors;
    std::ranges::sort(sorted);
    // A variable that is updated twice is so by one launch after the other.
    const bool is_simple = std::ranges::adjacent_find(sorted) == sorted.end();
    const int64_t most = is_simple ? kMany : 1;
    for (int64_t begin = 0; begin < num_updates_; begin += most) {
      WEIR_RETURN_IF_ERROR(LaunchUpdates(ctx, tensors, begin, std::min(num_updates_, begin + most)));
    }
    return OkStatus();
  }

 private:
  const Tensor& Gradient(const KernelContext& ctx, int64_t update) const {
    return ctx.input(static_cast<int>(num_handles_ + num_scalars_ + update));
  }
  const Tensor& Scalar(const KernelContext& ctx, int64_t i) const {
    return ctx.input(static_cast<int>(num_handles_ + i));
  }

  Status Check(const KernelContext& ctx, const std::vector<Tensor*>& tensors) const {
    for (int64_t i = 0; i < num_scalars_; ++i) {
      const Shape& shape = Scalar(ctx, i).shape();
      if (!shape.IsScalar()) return InvalidArgument("A number of an update is not a scalar: ", shape.ToString());
    }
    for (int64_t u = 0; u < num_updates_; ++u) {
      const Shape& shape = tensors[u * num_states_]->shape();
      for (int k = 1; k < num_states_; ++k) {
        const Shape& slot = tensors[u * num_states_ + k]->shape();
        if (slot != shape) {
          return OfFusedNode(
              InvalidArgument("var and its slots do not have the same shape: ", shape.ToString(), " ", slot.ToString()),
              u);
        }
      }
      if (Gradient(ctx, u).shape() != shape) {
        return OfFusedNode(InvalidArgument("var and grad do not have the same shape: ", shape.ToString(), " ",
                                           Gradient(ctx, u).shape().ToString()),
                           u);
      }
    }
    return OkStatus();
  }

  Status LaunchUpdates(KernelContext& ctx, const std::vector<Tensor*>& tensors, int64_t begin, int64_t end) const {
    ManyUpdates many = {.num_scalars = num_scalars_, .count = end - begin, .chunk = kChunk};
    for (int64_t i = 0; i < num_scalars_; ++i) many.scalars[i] = Address(Scalar(ctx, i));
    int64_t chunks = 0;
    for (int64_t u = begin; u < end; ++u) {
      ManyUpdates::Variable& variable = many.variables[u - begin];
      for (int k = 0; k < num_states_; ++k) variable.states[k] = Address(*tensors[u * num_states_ + k]);
      variable.grad = Address(Gradient(ctx, u));
      variable.size = Gradient(ctx, u).num_elements();
      variable.first_chunk = chunks;
      chunks += (variable.size + kChunk - 1) / kChunk;
    }
    if (chunks == 0) return OkStatus();
    return Launch(ctx, {kUpdateSource, function_}, {.grid = static_cast<unsigned>(chunks)}, many);
  }

  int64_t num_handles_ = 0, num_scalars_ = 0, num_updates_ = 0;
  int num_states_ = 0;
  DType dtype_ = DType::kInvalid;
  std::string function_;
};

}  // namespace

void RegisterManyUpdatesKernel(GpuRegistry& registry) {
  registry.kernels().Add(OnGpu("_ResourceApplyMany").Types("T", FloatTypes{}), MakeKernel<ManyUpdatesKernel>);
}

}  // namespace weir::cuda
