// Slices of variables, gathered and updated in place on GPUs.
#include "weir/device/cuda/slices.h"

#include "weir/device/cpu/strided_copy.h"
#include "weir/device/cpu/strided_slice.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/state/cuda/update_variable.h"
#include "weir/ops/state/scatter_rows.h"
#include "weir/ops/state/variable_gather.h"

namespace weir::cuda {
namespace {

using state::ScatterOp;

const char* OperationOf(ScatterOp op) {
  switch (op) {
    case ScatterOp::kUpdate:
      return "Assign";
    case ScatterOp::kAdd:
      return "AddV2";
    case ScatterOp::kSub:
      return "Sub";
    case ScatterOp::kMul:
      return "Mul";
    case ScatterOp::kDiv:
      return "RealDiv";
    case ScatterOp::kMin:
      return "KeepLower";
    case ScatterOp::kMax:
      return "KeepHigher";
  }
  return "";
}

class ResourceGatherKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ResourceGatherKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->batch_dims_, init.Attr<int64_t>("batch_dims"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Tensor params, state::ReadForGather(ctx, ctx.output_type(0)));
    WEIR_ASSIGN_OR_RETURN(int batch, state::GatherBatchDims(params.shape(), indices.shape(), batch_dims_));
    const Shape row = params.shape().Slice(batch + 1, params.rank());
    WEIR_ASSIGN_OR_RETURN(Shape shape, indices.shape().Concat(row));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    GatherSizes sizes;
    sizes.batches = params.shape().Slice(0, batch).num_elements();
    sizes.limit = params.dim(batch);
    sizes.inner = row.num_elements();
    sizes.count = indices.shape().Slice(batch, indices.rank()).num_elements();
    return GatherRows(ctx, sizes, params, indices,
                      InvalidArgument("indices of ", ctx.node_name(), " are not all in [0, ", sizes.limit, ")"), *out);
  }

 private:
  int64_t batch_dims_ = 0;
};

class ResourceGatherNdKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Tensor params, state::ReadForGather(ctx, ctx.output_type(0)));
    WEIR_RETURN_IF_ERROR(state::CheckGatherSlices(params.shape(), indices.shape()));
    const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
    WEIR_ASSIGN_OR_RETURN(
        Shape shape, indices.shape().Slice(0, indices.rank() - 1).Concat(params.shape().Slice(depth, params.rank())));
    if (shape.num_elements() > 0 && params.num_elements() == 0) {
      return InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ",
                             params.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return GatherSlices(ctx, params, indices,
                        InvalidArgument("indices do not all index into param shape ", params.shape().ToString(),
                                        ", node name: ", ctx.node_name()),
                        *out);
  }
};

// ScatterUpdate, ResourceScatterUpdate and their like: rows of dimension 0.
class ScatterKernel : public Kernel {
 public:
  explicit ScatterKernel(ScatterOp op) : op_(op) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(1), &updates = ctx.input(2);
    const bool is_ref = ctx.is_ref_input(0);
    return UpdateVariable(ctx, updates.dtype(), [&](Tensor& params) -> Status {
      WEIR_RETURN_IF_ERROR(state::CheckScatterRows(is_ref, op_, params.shape(), indices.shape(), updates.shape()));
      if (indices.num_elements() == 0) return OkStatus();
      SliceUpdate update;
      update.operation = OperationOf(op_);
      update.limits = params.shape().dims().subspan(0, 1);
      update.rows = indices.num_elements();
      update.slice_size = params.shape().Slice(1, params.rank()).num_elements();
      update.is_scalar = updates.rank() == 0;
      update.bad_index = InvalidArgument("indices of ", ctx.node_name(), " are not all in [0, ", params.dim(0), ")");
      return UpdateSlices(ctx, update, indices, updates, Address(params));
    });
  }

 private:
  const ScatterOp op_;
};

// ScatterNdUpdate, ResourceScatterNdUpdate and their like.
class ScatterNdKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, ScatterOp op) {
    auto kernel = std::make_unique<ScatterNdKernel>();
    kernel->op_ = op;
    WEIR_ASSIGN_OR_RETURN(kernel->ignores_bad_, state::IgnoresBadIndices(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(1), &updates = ctx.input(2);
    return UpdateVariable(ctx, updates.dtype(), [&](Tensor& params) -> Status {
      WEIR_RETURN_IF_ERROR(state::CheckScatterSlices(params.shape(), indices.shape(), updates.shape()));
      if (indices.num_elements() == 0) return OkStatus();
      const int depth = indices.rank() > 1 ? static_cast<int>(indices.dim(indices.rank() - 1)) : 1;
      SliceUpdate update;
      update.operation = OperationOf(op_);
      update.limits = params.shape().dims().subspan(0, depth);
      update.rows = indices.num_elements() / depth;
      update.slice_size = params.shape().Slice(depth, params.rank()).num_elements();
      if (!ignores_bad_) {
        update.bad_index =
            InvalidArgument("indices of ", ctx.node_name(), " do not all index into shape ", params.shape().ToString());
      }
      return UpdateSlices(ctx, update, indices, updates, Address(params));
    });
  }

 private:
  ScatterOp op_ = ScatterOp::kUpdate;
  bool ignores_bad_ = false;
};

class StridedSliceAssignKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<StridedSliceAssignKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->masks_, StridedSliceMasks::FromAttrs(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Tensor value = ctx.input(4);
    return UpdateVariable(ctx, value.dtype(), [&](Tensor& tensor) -> Status {
      WEIR_ASSIGN_OR_RETURN(SolvedSlice slice,
                            SolveStridedSlice(tensor.shape(), ctx.input(1), ctx.input(2), ctx.input(3), masks_));
      WEIR_RETURN_IF_ERROR(CheckAssignable(slice, value.shape()));
      // A ref variable's own memory may come back as the value.
      if (value.SharesBufferWith(tensor)) {
        WEIR_ASSIGN_OR_RETURN(value, CloneElements(ctx, value));
      }
      return AssignSlice(ctx, slice, value, tensor.raw_data());
    });
  }

 private:
  StridedSliceMasks masks_;
};

}  // namespace

void RegisterVariableSliceKernels(GpuRegistry& registry) {
  registry.Add("ResourceGather", MakeKernel<ResourceGatherKernel>, "dtype", PlainElementTypes());
  registry.Add("ResourceGatherNd", MakeKernel<ResourceGatherNdKernel>);
  const std::pair<const char*, ScatterOp> ops[] = {
      {"Update", ScatterOp::kUpdate}, {"Add", ScatterOp::kAdd}, {"Sub", ScatterOp::kSub}, {"Mul", ScatterOp::kMul},
      {"Div", ScatterOp::kDiv},       {"Min", ScatterOp::kMin}, {"Max", ScatterOp::kMax}};
  for (auto [name, op] : ops) {
    auto rows = [op = op](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<ScatterKernel>(op);
    };
    auto slices = [op = op](const KernelInit& init) { return ScatterNdKernel::Make(init, op); };
    registry.Add(Cat("ResourceScatter", name), rows, "dtype", PlainElementTypes());
    registry.Add(Cat("Scatter", name), rows);
    registry.Add(Cat("ResourceScatterNd", name), slices);
    registry.Add(Cat("ScatterNd", name), slices);
  }
  registry.Add("ResourceStridedSliceAssign", MakeKernel<StridedSliceAssignKernel>);
  registry.Add("StridedSliceAssign", MakeKernel<StridedSliceAssignKernel>);
}

}  // namespace weir::cuda
