// SparseFillEmptyRows, RaggedFillEmptyRows and their gradients, SparseToDense and SparseReorder on GPUs.
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/device/cuda/reduction.h"
#include "weir/device/cuda/scan.h"
#include "weir/device/cuda/segments.h"
#include "weir/device/cuda/slices.h"
#include "weir/device/cuda/sort.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/sparse/fill_empty_rows.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/sparse/cuda/fill.cu", std::move(name)}; }
DeviceFunction Function(std::string_view name, DType dtype) {
  return Function(Cat(name, "<", DeviceTypeName(dtype), ">"));
}

// Elements are sorted by row, so that every row's begin is known; the host reads back how many rows are empty.
class FillEmptyRowsKernel : public AsyncKernel {
 public:
  explicit FillEmptyRowsKernel(bool is_ragged) : is_ragged_(is_ragged) {}

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto work = std::make_shared<Work>();
    StatusOr<Tensor> empty = Prepare(ctx, *work);
    if (!empty.ok()) return done(empty.status());
    FinishWith(ctx, *empty, std::move(done),
               [this, &ctx, work](const Tensor& host) { return Write(ctx, *work, host.data<int64_t>()[0]); });
  }

 private:
  struct Work {
    int64_t rows = 0, rank = 1;
    SortedKeys sorted;
    Tensor begins, empty_before;
  };

  StatusOr<Tensor> Prepare(KernelContext& ctx, Work& work) const {
    if (is_ragged_) {
      WEIR_ASSIGN_OR_RETURN(work.rows, RaggedRowCount(ctx));
    } else {
      WEIR_ASSIGN_OR_RETURN(work.rows, SparseRowCount(ctx));
      work.rank = ctx.input(0).dim(1);
    }
    const int64_t n = ctx.input(1).num_elements(), rows = work.rows;
    if (n == 0) {
      WEIR_ASSIGN_OR_RETURN(work.begins, ctx.AllocateTemp(DType::kInt64, Shape({rows + 1})));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(work.begins), work.begins.num_bytes()));
    } else {
      WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
      WEIR_ASSIGN_OR_RETURN(DeviceAddress error,
                            ErrorFlag(ctx, InvalidArgument("indices are not all in the ", rows, " rows")));
      WEIR_RETURN_IF_ERROR(
          LaunchOver(ctx, Function("RowKeys"), n, Address(ctx.input(0)), n, work.rank, rows, Address(keys), error));
      WEIR_ASSIGN_OR_RETURN(work.sorted, SortKeys(ctx, std::move(keys), BitsFor(rows)));
      WEIR_ASSIGN_OR_RETURN(work.begins, SegmentBegins(ctx, work.sorted.keys, rows));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * is_empty, ctx.AllocateOutput(2, Shape({rows})));
    WEIR_ASSIGN_OR_RETURN(work.empty_before, ctx.AllocateTemp(DType::kInt64, Shape({rows + 1})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("MarkEmptyRows"), rows + 1, Address(work.begins), rows,
                                    Address(*is_empty), Address(work.empty_before)));
    WEIR_RETURN_IF_ERROR(ExclusiveSum(ctx, work.empty_before, work.empty_before));
    WEIR_ASSIGN_OR_RETURN(Tensor total, ctx.AllocateTemp(DType::kInt64, Shape({1})));
    WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(total),
                                      Address(work.empty_before) + static_cast<size_t>(rows) * sizeof(int64_t),
                                      sizeof(int64_t)));
    return total;
  }

  Status Write(KernelContext& ctx, const Work& work, int64_t empty) const {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &fallback = ctx.input(3);
    const int64_t n = values.num_elements(), total = n + empty;
    WEIR_ASSIGN_OR_RETURN(Tensor * out_indices,
                          ctx.AllocateOutput(0, is_ragged_ ? Shape({total}) : Shape({total, work.rank})));
    WEIR_ASSIGN_OR_RETURN(Tensor * out_values, ctx.AllocateOutput(1, Shape({total})));
    WEIR_ASSIGN_OR_RETURN(Tensor * reverse, ctx.AllocateOutput(3, Shape({n})));
    if (n > 0) {
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("PlaceElements", values.dtype()), n, Address(work.sorted.keys),
                                      Address(work.sorted.positions), Address(work.empty_before), Address(indices),
                                      Address(values), work.rank, work.rows, Address(*out_indices),
                                      Address(*out_values), Address(*reverse), n));
    }
    return LaunchOver(ctx, Function("PlaceDefaults", values.dtype()), work.rows, Address(work.begins),
                      Address(ctx.output(2)), Address(work.empty_before), Address(fallback), work.rank,
                      Address(*out_indices), Address(*out_values), work.rows);
  }

  const bool is_ragged_;
};

class FillEmptyRowsGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &reverse = ctx.input(0), &gradients = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckFillEmptyRowsGrad(reverse.shape(), gradients.shape()));
    const int64_t n = reverse.num_elements(), limit = gradients.num_elements();
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, reverse.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * rest, ctx.AllocateOutput(1, Shape()));
    const Status bad = InvalidArgument("Elements in reverse index must be in [0, ", limit, ")");
    GatherSizes sizes;
    sizes.limit = limit;
    sizes.count = n;
    WEIR_RETURN_IF_ERROR(GatherRows(ctx, sizes, gradients, reverse, bad, *values));
    WEIR_ASSIGN_OR_RETURN(Tensor used, ctx.AllocateTemp(DType::kUInt8, Shape({limit})));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(used), used.num_bytes()));
    WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, bad));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("MarkUsed"), n, Address(reverse), n, limit, Address(used), error));
    WEIR_ASSIGN_OR_RETURN(Tensor unused, ctx.AllocateTemp(gradients.dtype(), Shape({limit})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("KeepUnused", gradients.dtype()), limit, Address(gradients),
                                    Address(used), Address(unused), limit));
    return Reduce(ctx, "Sum", unused, {true}, *rest);
  }
};

// Indices, number of rows and rank are as on the host; what only the values of the indices tell is found later.
class SparseToDenseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SparseToDenseKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->validate_, init.Attr<bool>("validate_indices"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(2), &fallback = ctx.input(3);
    WEIR_ASSIGN_OR_RETURN(Shape shape, DenseShape(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(FillElements(ctx, out->dtype(), fallback.raw_data(), out->raw_data(), out->num_elements()));
    SliceUpdate update;
    const int64_t rank = shape.rank();
    update.rows = rank > 0 ? indices.num_elements() / rank : 0;
    if (update.rows == 0) return OkStatus();
    if (validate_) {
      WEIR_ASSIGN_OR_RETURN(DeviceAddress error,
                            ErrorFlag(ctx, InvalidArgument("sparse_indices are out of order or repeated")));
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("CheckOrder", indices.dtype()), update.rows, Address(indices), rank,
                                      update.rows, error));
    }
    update.operation = "Assign";
    update.limits = shape.dims();
    update.is_scalar = values.rank() == 0;
    update.bad_index = InvalidArgument("Indices are not valid (out of bounds).  Shape: ", shape.ToString());
    return UpdateSlices(ctx, update, indices, values, Address(*out));
  }

 private:
  bool validate_ = true;
};

class SparseReorderKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
    WEIR_RETURN_IF_ERROR(CheckSparseShapes(indices.shape(), values.shape(), shape.shape()));
    const int64_t n = indices.dim(0), rank = indices.dim(1);
    WEIR_ASSIGN_OR_RETURN(Tensor * out_indices, ctx.AllocateOutput(0, indices.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out_values, ctx.AllocateOutput(1, values.shape()));
    if (n == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, Function("PlaceKeys"), n, Address(indices), Address(shape), rank, Address(keys), n));
    WEIR_ASSIGN_OR_RETURN(SortedKeys sorted, SortKeys(ctx, std::move(keys)));
    GatherSizes sizes;
    sizes.limit = sizes.count = n;
    WEIR_RETURN_IF_ERROR(GatherRows(ctx, sizes, values, sorted.positions, OkStatus(), *out_values));
    sizes.inner = rank;
    return GatherRows(ctx, sizes, indices, sorted.positions, OkStatus(), *out_indices);
  }
};

}  // namespace

void RegisterSparseFillKernels(GpuRegistry& registry) {
  for (const char* op : {"SparseFillEmptyRows", "RaggedFillEmptyRows"}) {
    registry.Add(op, [](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<FillEmptyRowsKernel>(init.schema().name.starts_with("Ragged"));
    });
  }
  registry.Add("SparseFillEmptyRowsGrad", MakeKernel<FillEmptyRowsGradKernel>);
  registry.Add("RaggedFillEmptyRowsGrad", MakeKernel<FillEmptyRowsGradKernel>);
  registry.Add("SparseToDense", MakeKernel<SparseToDenseKernel>);
  registry.Add("SparseReorder", MakeKernel<SparseReorderKernel>);
}

}  // namespace weir::cuda
