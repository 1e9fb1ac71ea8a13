// StridedSliceAssign, ResourceStridedSliceAssign: writes a value, broadcast, into a region of a variable.
#include "weir/ops/state/register.h"
#include "weir/ops/state/strided_region.h"
#include "weir/ops/state/update_variable.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// For each dimension of the slice: how far one step goes in the value, 0 where the value is broadcast.
StatusOr<std::vector<int64_t>> ValueSteps(const state::StridedRegion& region, const Shape& value) {
  const Shape& target = region.value_shape;
  auto refuse = [&] {
    return InvalidArgument("Cannot broadcast input shape ", value.ToString(), " into final shape ", target.ToString());
  };
  std::vector<int64_t> target_steps(target.rank(), 0);
  if (target.num_elements() == 0) return target_steps;  // nothing is written
  int64_t step = 1;
  for (int i = 1; i <= value.rank(); ++i) {
    int64_t size = value.dim(value.rank() - i);
    int place = target.rank() - i;
    if (place < 0 && size == 1) continue;
    if (place < 0) return refuse();
    if (size != target.dim(place) && size != 1) return refuse();
    target_steps[place] = size == 1 ? 0 : step;
    step *= size;
  }
  return target_steps;
}

// Walks the region row by row; the last dimension is the inner loop.
void WriteRegion(const state::StridedRegion& region, const std::vector<int64_t>& steps, const Tensor& value,
                 Tensor& tensor) {
  int rank = tensor.rank();
  if (region.dims.num_elements() == 0) return;
  if (rank == 0) {
    CopyElements(value, 0, tensor, 0, 1);
    return;
  }
  std::vector<int64_t> pitch(rank, 1);
  for (int d = rank - 2; d >= 0; --d) pitch[d] = pitch[d + 1] * tensor.dim(d + 1);
  std::vector<int64_t> position(rank, 0);
  int last = rank - 1;
  int64_t count = region.dims.dim(last);
  int64_t rows = region.dims.num_elements() / count;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t to = region.begin[last];
    int64_t from = 0;
    for (int d = 0; d < last; ++d) {
      to += (region.begin[d] + position[d] * region.stride[d]) * pitch[d];
      from += position[d] * steps[d];
    }
    if (region.stride[last] == 1 && steps[last] == 1) {
      CopyElements(value, from, tensor, to, count);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        CopyElements(value, from + i * steps[last], tensor, to + i * region.stride[last], 1);
      }
    }
    for (int d = last - 1; d >= 0 && ++position[d] == region.dims.dim(d); --d) position[d] = 0;
  }
}

// The steps of the value for the dimensions of the tensor: those of new axes are dropped, shrunk ones stand still.
std::vector<int64_t> RegionSteps(const state::StridedRegion& region, const std::vector<int64_t>& value_steps) {
  std::vector<int64_t> steps;
  for (int axis : region.value_axis) steps.push_back(axis < 0 ? 0 : value_steps[axis]);
  return steps;
}

class StridedSliceAssignKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<StridedSliceAssignKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->masks_, state::SliceMasks::FromAttrs(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Tensor value = ctx.input(4);
    return state::UpdateVariable(ctx, value.dtype(), [&](Tensor& tensor) -> Status {
      WEIR_ASSIGN_OR_RETURN(state::StridedRegion region,
                            state::ResolveRegion(ctx.input(1), ctx.input(2), ctx.input(3), masks_, tensor.shape()));
      WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> value_steps, ValueSteps(region, value.shape()));
      // A ref variable's own memory may come back as the value.
      if (value.SharesBufferWith(tensor)) {
        WEIR_ASSIGN_OR_RETURN(value, value.Clone());
      }
      WriteRegion(region, RegionSteps(region, value_steps), value, tensor);
      return OkStatus();
    });
  }

 private:
  state::SliceMasks masks_;
};

}  // namespace

void RegisterStridedSliceAssignKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StridedSliceAssign"), MakeKernel<StridedSliceAssignKernel>);
  registry.Add(KernelBuilder("ResourceStridedSliceAssign"), MakeKernel<StridedSliceAssignKernel>);
}

}  // namespace weir
