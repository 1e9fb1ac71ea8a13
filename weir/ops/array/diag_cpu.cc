// Diagonals of whole tensors, and bands of matrices.
#include <cstring>

#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

// A tensor of shape s becomes the diagonal of one of shape s + s.
class DiagKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (x.rank() < 1) return InvalidArgument("Input must be at least rank 1, got 0");
    WEIR_ASSIGN_OR_RETURN(Shape shape, x.shape().Concat(x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(ClearElements(ctx, *out));
    const int64_t n = x.num_elements();
    const int64_t dims[] = {n}, from[] = {1}, to[] = {n + 1};
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, x.raw_data(), from, out->raw_data(), to));
    return OkStatus();
  }
};

class DiagPartKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const int rank = x.rank();
    if (rank == 0 || rank % 2 != 0)
      return InvalidArgument("The rank of the tensor should be even and positive, got shape ", x.shape().ToString());
    for (int d = 0; d < rank / 2; ++d) {
      if (x.dim(d) != x.dim(d + rank / 2)) {
        return InvalidArgument("Invalid shape ", x.shape().ToString(), ": dimensions ", d, " and ", d + rank / 2,
                               " do not match.");
      }
    }
    const Shape shape = x.shape().Slice(0, rank / 2);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t n = shape.num_elements();
    const int64_t dims[] = {n}, from[] = {n + 1}, to[] = {1};
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, x.raw_data(), from, out->raw_data(), to));
    return OkStatus();
  }
};

class MatrixBandPartKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(BandLimits limits, CheckBandPart(ctx));
    const int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    std::memset(out->raw_data(), 0, out->num_bytes());
    const int64_t size = static_cast<int64_t>(SizeOf(x.dtype()));
    const int64_t total = columns > 0 ? x.num_elements() / columns : 0;
    ctx.ParallelFor(total, 5 + 0.2 * columns, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t row = line % rows;
        const int64_t first = limits.lower < 0 ? 0 : std::max<int64_t>(0, row - limits.lower);
        const int64_t last = limits.upper < 0 ? columns : std::min(columns, row + limits.upper + 1);
        if (first >= last) continue;
        const int64_t at = (line * columns + first) * size;
        std::memcpy(static_cast<char*>(out->raw_data()) + at, static_cast<const char*>(x.raw_data()) + at,
                    (last - first) * size);
      }
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterDiagKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Diag").Types("T", PlainTypes{}), MakeKernel<DiagKernel>);
  registry.Add(KernelBuilder("DiagPart").Types("T", PlainTypes{}), MakeKernel<DiagPartKernel>);
  registry.Add(KernelBuilder("MatrixBandPart").Types("T", PlainTypes{}), MakeKernel<MatrixBandPartKernel>);
  registry.Add(KernelBuilder("BatchMatrixBandPart").Types("T", PlainTypes{}), MakeKernel<MatrixBandPartKernel>);
}

}  // namespace weir
