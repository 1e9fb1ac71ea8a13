// SparseConcat, SparseSlice, its gradient, and SparseSplit on GPUs.
#include "weir/ops/sparse/rearrange.h"

#include "weir/device/cuda/scan.h"
#include "weir/device/cuda/segments.h"
#include "weir/device/cuda/slices.h"
#include "weir/device/cuda/sort.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/sparse/cuda/rearrange.cu", std::move(name)}; }

// Rows of indices and elements of values at `positions`, as two outputs.
Status TakeElements(KernelContext& ctx, const SparseInput& from, const Tensor& positions, const Tensor& indices,
                    const Tensor& values) {
  GatherSizes sizes;
  sizes.limit = from.count();
  sizes.count = positions.num_elements();
  WEIR_RETURN_IF_ERROR(GatherRows(ctx, sizes, from.values, positions, OkStatus(), values));
  sizes.inner = from.rank();
  return GatherRows(ctx, sizes, from.indices, positions, OkStatus(), indices);
}

class SparseConcatKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SparseConcatKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("concat_dim"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseConcatPlan plan, PlanSparseConcat(ctx, axis_));
    const int64_t n = plan.count, rank = plan.shape.rank(), axis = plan.axis;
    ctx.set_output(2, ShapeVector(plan.shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * out_indices, ctx.AllocateOutput(0, Shape({n, rank})));
    WEIR_ASSIGN_OR_RETURN(Tensor * out_values, ctx.AllocateOutput(1, Shape({n})));
    if (n == 0) return OkStatus();
    SparseInput all{Tensor(), Tensor(), plan.shape};
    WEIR_ASSIGN_OR_RETURN(all.indices, ctx.AllocateTemp(DType::kInt64, Shape({n, rank})));
    WEIR_ASSIGN_OR_RETURN(all.values, ctx.AllocateTemp(out_values->dtype(), Shape({n})));
    int64_t at = 0, offset = 0;
    for (const SparseInput& part : plan.parts) {
      const int64_t numbers = part.indices.num_elements();
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("ShiftIndices"), numbers, Address(part.indices), rank, axis, offset,
                                      Address(all.indices) + static_cast<size_t>(at * rank) * sizeof(int64_t),
                                      numbers));
      if (part.count() > 0) {
        WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx,
                                          Address(all.values) + static_cast<size_t>(at) * SizeOf(all.values.dtype()),
                                          Address(part.values), part.values.num_bytes()));
      }
      at += part.count();
      offset += part.shape.dim(plan.axis);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor shape, Upload(ctx, plan.shape.dims().data(), static_cast<size_t>(rank) * 8));
    WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {"weir/ops/sparse/cuda/fill.cu", "PlaceKeys"}, n, Address(all.indices),
                                    Address(shape), rank, Address(keys), n));
    WEIR_ASSIGN_OR_RETURN(SortedKeys sorted, SortKeys(ctx, std::move(keys)));
    return TakeElements(ctx, all, sorted.positions, *out_indices, *out_values);
  }

 private:
  int64_t axis_ = 0;
};

// The host reads back how many elements are in the box.
class SparseSliceKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto work = std::make_shared<Work>();
    StatusOr<Tensor> count = Prepare(ctx, *work);
    if (!count.ok()) return done(count.status());
    FinishWith(ctx, *count, std::move(done),
               [&ctx, work](const Tensor& host) { return Write(ctx, *work, host.data<int32_t>()[0]); });
  }

 private:
  struct Work {
    SparseInput sparse;
    Tensor box, places;
  };

  static StatusOr<Tensor> Prepare(KernelContext& ctx, Work& work) {
    WEIR_ASSIGN_OR_RETURN(work.sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    WEIR_ASSIGN_OR_RETURN(Shape box, SparseSliceBox(ctx, work.sparse));
    ctx.set_output(2, ShapeVector(box));
    const int64_t n = work.sparse.count(), rank = box.rank();
    std::vector<int64_t> numbers(ctx.input(3).span<int64_t>().begin(), ctx.input(3).span<int64_t>().end());
    numbers.insert(numbers.end(), box.dims().begin(), box.dims().end());
    WEIR_ASSIGN_OR_RETURN(work.box, Upload(ctx, numbers));
    WEIR_ASSIGN_OR_RETURN(work.places, ctx.AllocateTemp(DType::kInt32, Shape({n + 1})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("MarkInBox"), n + 1, Address(work.sparse.indices), rank,
                                    Address(work.box), Address(work.places), n));
    WEIR_RETURN_IF_ERROR(ExclusiveSum(ctx, work.places, work.places));
    WEIR_ASSIGN_OR_RETURN(Tensor count, ctx.AllocateTemp(DType::kInt32, Shape({1})));
    WEIR_RETURN_IF_ERROR(CopyOnDevice(
        ctx, Address(count), Address(work.places) + static_cast<size_t>(n) * sizeof(int32_t), sizeof(int32_t)));
    return count;
  }

  static Status Write(KernelContext& ctx, const Work& work, int64_t count) {
    const int64_t n = work.sparse.count(), rank = work.sparse.rank();
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({count, rank})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({count})));
    if (count == 0) return OkStatus();
    return LaunchOver(ctx, Function(Cat("CutBox<", DeviceTypeName(values->dtype()), ">")), n,
                      Address(work.sparse.indices), Address(work.sparse.values), Address(work.places), rank,
                      Address(work.box), Address(*indices), Address(*values), n);
  }
};

class SparseSliceGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &gradients = ctx.input(0), &indices = ctx.input(1), &start = ctx.input(2), &kept = ctx.input(3);
    WEIR_RETURN_IF_ERROR(CheckSparseSliceGrad(ctx));
    const int64_t n = indices.dim(0), rank = indices.dim(1), count = kept.dim(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({n})));
    SortedKeys sorted;
    if (count > 0) {
      WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({count})));
      WEIR_RETURN_IF_ERROR(
          LaunchOver(ctx, Function("HashKeys"), count, Address(kept), rank, Address(start), Address(keys), count));
      WEIR_ASSIGN_OR_RETURN(sorted, SortKeys(ctx, std::move(keys)));
    }
    return LaunchOver(ctx, Function(Cat("SliceGrad<", DeviceTypeName(out->dtype()), ">")), n, Address(indices), rank,
                      Address(start), Address(kept), Address(sorted.keys), Address(sorted.positions), count,
                      Address(gradients), Address(*out), n);
  }
};

// Elements sorted by part; where each part begins is read back.
class SparseSplitKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto work = std::make_shared<Work>();
    StatusOr<Tensor> begins = Prepare(ctx, *work);
    if (!begins.ok()) return done(begins.status());
    FinishWith(ctx, *begins, std::move(done),
               [&ctx, work](const Tensor& host) { return Write(ctx, *work, host.span<int64_t>()); });
  }

 private:
  struct Work {
    SparseSplitPlan plan;
    Tensor positions;
  };

  static StatusOr<Tensor> Prepare(KernelContext& ctx, Work& work) {
    WEIR_ASSIGN_OR_RETURN(work.plan, PlanSparseSplit(ctx));
    const SparseInput& sparse = work.plan.sparse;
    const int64_t n = sparse.count(), rank = sparse.rank(), parts = work.plan.parts, axis = work.plan.axis;
    if (n == 0) {
      WEIR_ASSIGN_OR_RETURN(Tensor none, ctx.AllocateTemp(DType::kInt64, Shape({parts + 1})));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(none), none.num_bytes()));
      return none;
    }
    const int64_t size = sparse.shape.dim(work.plan.axis), rows = size / parts, more = size % parts;
    WEIR_ASSIGN_OR_RETURN(Tensor shape, Upload(ctx, sparse.shape.dims().data(), static_cast<size_t>(rank) * 8));
    WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
    WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, InvalidArgument("Sparse indices are out of bounds")));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("PartKeys"), n, Address(sparse.indices), Address(shape), rank, axis,
                                    rows, more, parts, Address(keys), n, error));
    WEIR_ASSIGN_OR_RETURN(SortedKeys sorted, SortKeys(ctx, std::move(keys), BitsFor(parts)));
    work.positions = sorted.positions;
    return SegmentBegins(ctx, sorted.keys, parts);
  }

  static Status Write(KernelContext& ctx, const Work& work, std::span<const int64_t> begins) {
    const SparseSplitPlan& plan = work.plan;
    const int64_t rank = plan.sparse.rank(), axis = plan.axis;
    int64_t start = 0;
    for (int p = 0; p < plan.parts; ++p) {
      const int64_t count = begins[p + 1] - begins[p];
      WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(p, Shape({count, rank})));
      WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(plan.parts + p, Shape({count})));
      Shape box = plan.sparse.shape;
      WEIR_RETURN_IF_ERROR(box.SetDim(plan.axis, plan.Size(p)));
      ctx.set_output(2 * plan.parts + p, ShapeVector(box));
      if (count > 0) {
        WEIR_RETURN_IF_ERROR(
            TakeElements(ctx, plan.sparse, work.positions.Slice(begins[p], begins[p + 1]), *indices, *values));
        WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("ShiftIndices"), count * rank, Address(*indices), rank, axis,
                                        -start, Address(*indices), count * rank));
      }
      start += plan.Size(p);
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseRearrangeKernels(GpuRegistry& registry) {
  registry.Add("SparseConcat", MakeKernel<SparseConcatKernel>);
  registry.Add("SparseSlice", MakeKernel<SparseSliceKernel>);
  registry.Add("SparseSliceGrad", MakeKernel<SparseSliceGradKernel>);
  registry.Add("SparseSplit", MakeKernel<SparseSplitKernel>);
}

}  // namespace weir::cuda
