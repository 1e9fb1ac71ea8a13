#include "weir/ops/linalg/matrix_batch.h"

#include "absl/synchronization/mutex.h"

namespace weir::linalg {

StatusOr<std::vector<Batch>> BatchInputs(const KernelContext& ctx, int num_inputs) {
  std::vector<Batch> out;
  const int rank = ctx.input(0).rank();
  if (rank < 2) return InvalidArgument("Input tensor 0 must have rank >= 2, got ", rank);
  for (int i = 0; i < num_inputs; ++i) {
    const Shape& shape = ctx.input(i).shape();
    if (shape.rank() != rank) return InvalidArgument("All input tensors must have the same rank.");
    Batch batch{shape.Slice(0, rank - 2), shape.dim(rank - 2), shape.dim(rank - 1)};
    if (i > 0 && batch.outer != out[0].outer) {
      return InvalidArgument("All input tensors must have the same outer dimensions.");
    }
    out.push_back(std::move(batch));
  }
  return out;
}

StatusOr<Batch> SquareInput(const KernelContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, BatchInputs(ctx, 1));
  if (!batches[0].is_square()) return InvalidArgument("Input matrix must be square.");
  return std::move(batches[0]);
}

StatusOr<Shape> WithOuter(const Shape& outer, std::initializer_list<int64_t> dims) {
  Shape out = outer;
  for (int64_t dim : dims) WEIR_RETURN_IF_ERROR(out.AddDim(dim));
  return out;
}

Status ForMatrices(const KernelContext& ctx, int64_t count, double operations,
                   absl::FunctionRef<Status(int64_t)> body) {
  absl::Mutex mu;
  int64_t first = count;
  Status error;
  ctx.ParallelFor(count, 100 + operations, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Status status = body(i);
      if (status.ok()) continue;
      absl::MutexLock lock(&mu);
      if (i < first) {
        first = i;
        error = std::move(status);
      }
      return;
    }
  });
  return error;
}

}  // namespace weir::linalg
