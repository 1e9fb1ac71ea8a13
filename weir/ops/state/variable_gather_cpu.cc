// Gathers from a snapshot of a resource variable, without reading the rest of it.
#include "weir/ops/state/indices.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/variable_gather.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// Copies slice rows[i] of `from` to place i of `to`; a negative row leaves the place zero.
void CopySlices(KernelContext& ctx, const Tensor& from, const std::vector<int64_t>& rows, int64_t slice_size,
                Tensor& to) {
  double cost = 5.0 + static_cast<double>(slice_size) * static_cast<double>(SizeOf(from.dtype())) * 0.1;
  const int64_t slice_bytes = slice_size * static_cast<int64_t>(SizeOf(from.dtype()));
  const char* first = static_cast<const char*>(from.raw_data());
  ctx.ParallelFor(static_cast<int64_t>(rows.size()), cost, [&](int64_t begin, int64_t end) {
    constexpr int64_t kAhead = 12, kLine = 64;  // slices lie far apart, so those to come are asked for early
    const int64_t asked = std::min<int64_t>(slice_bytes, 4 * kLine);
    for (int64_t i = begin; i < end; ++i) {
      if (i + kAhead < end) {
        const char* next = first + rows[static_cast<size_t>(i + kAhead)] * slice_bytes;
        for (int64_t at = 0; at < asked; at += kLine) __builtin_prefetch(next + at);
      }
      CopyElements(from, rows[static_cast<size_t>(i)] * slice_size, to, i * slice_size, slice_size);
    }
  });
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
    int64_t limit = params.dim(batch);
    WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> rows, state::RowIndices(indices, limit));
    WEIR_ASSIGN_OR_RETURN(Shape shape, indices.shape().Concat(params.shape().Slice(batch + 1, params.rank())));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (batch > 0) {
      int64_t per_batch = static_cast<int64_t>(rows.size()) / params.shape().Slice(0, batch).num_elements();
      for (size_t i = 0; i < rows.size(); ++i) rows[i] += static_cast<int64_t>(i) / per_batch * limit;
    }
    CopySlices(ctx, params, rows, params.shape().Slice(batch + 1, params.rank()).num_elements(), *out);
    return OkStatus();
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
    WEIR_ASSIGN_OR_RETURN(state::SliceIndices slices,
                          state::ResolveSlices(indices, params.shape(), /*vector_is_column=*/false));
    if (slices.first_bad >= 0) {
      return InvalidArgument("indices", state::PositionText(slices.outer, slices.first_bad), " = ",
                             state::RowText(indices, slices.first_bad, slices.depth, ", "),
                             " does not index into param shape ", params.shape().ToString(),
                             ", node name: ", ctx.node_name());
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, slices.outer.Concat(params.shape().Slice(slices.depth, params.rank())));
    if (shape.num_elements() > 0 && params.num_elements() == 0) {
      return InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ",
                             params.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() > 0) CopySlices(ctx, params, slices.rows, slices.slice_size, *out);
    return OkStatus();
  }
};

}  // namespace

void RegisterVariableGatherKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ResourceGather"), MakeKernel<ResourceGatherKernel>);
  registry.Add(KernelBuilder("ResourceGatherNd"), MakeKernel<ResourceGatherNdKernel>);
}

}  // namespace weir
