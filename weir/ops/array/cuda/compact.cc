// Where, Unique and DynamicPartition on GPUs: the host reads back how many elements stay, then goes on.
#include <algorithm>

#include "weir/device/cuda/scan.h"
#include "weir/device/cuda/segments.h"
#include "weir/device/cuda/slices.h"
#include "weir/device/cuda/sort.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/array/cuda/compact.cu", std::move(name)}; }

Status CheckCount(const KernelContext& ctx, int64_t n) {
  if (n < int64_t{1} << 31) return OkStatus();
  return Unimplemented(ctx.node().schema->name, " of ", n, " elements on a GPU");
}

// The last of `n` + 1 running sums of marks, as a tensor to be read back.
StatusOr<Tensor> LastOf(KernelContext& ctx, const Tensor& sums) {
  WEIR_ASSIGN_OR_RETURN(Tensor total, ctx.AllocateTemp(DType::kInt32, Shape({1})));
  const size_t offset = static_cast<size_t>(sums.num_elements() - 1) * sizeof(int32_t);
  WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(total), Address(sums) + offset, sizeof(int32_t)));
  return total;
}

class WhereKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    Tensor places;
    StatusOr<Tensor> total = Prepare(ctx, places);
    if (!total.ok()) return done(total.status());
    FinishWith(ctx, *total, std::move(done),
               [&ctx, places](const Tensor& host) { return Write(ctx, places, host.data<int32_t>()[0]); });
  }

 private:
  // As device code declares it.
  struct Sizes {
    int32_t rank = 0;
    int64_t dims[16] = {};
  };

  static StatusOr<Tensor> Prepare(KernelContext& ctx, Tensor& places) {
    const Tensor& x = ctx.input(0);
    if (x.rank() == 0) return InvalidArgument("WhereOp : Unhandled input dimensions: 0");
    if (x.rank() > 16) return Unimplemented("Where of more than 16 dimensions on a GPU");
    const int64_t n = x.num_elements();
    WEIR_RETURN_IF_ERROR(CheckCount(ctx, n));
    WEIR_ASSIGN_OR_RETURN(places, ctx.AllocateTemp(DType::kInt32, Shape({n + 1})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function(Cat("MarkNonZero<", DeviceTypeName(x.dtype()), ">")), n + 1,
                                    Address(x), n, Address(places)));
    WEIR_RETURN_IF_ERROR(ExclusiveSum(ctx, places, places));
    return LastOf(ctx, places);
  }

  static Status Write(KernelContext& ctx, const Tensor& places, int64_t count) {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({count, x.rank()})));
    if (count == 0) return OkStatus();
    Sizes sizes;
    sizes.rank = x.rank();
    std::copy(x.shape().dims().begin(), x.shape().dims().end(), sizes.dims);
    return LaunchOver(ctx, Function("WriteCoordinates"), x.num_elements(), Address(places), x.num_elements(), sizes,
                      Address(*out));
  }
};

// In the order of first occurrence.
class UniqueKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto work = std::make_shared<Work>();
    StatusOr<Tensor> total = Prepare(ctx, *work);
    if (!total.ok()) return done(total.status());
    if (!total->has_value()) return done(Write(ctx, *work, 0));
    FinishWith(ctx, *total, std::move(done),
               [&ctx, work](const Tensor& host) { return Write(ctx, *work, host.data<int32_t>()[0]); });
  }

 private:
  struct Work {
    Tensor first_of, numbers;
  };

  // No value: there are no elements.
  static StatusOr<Tensor> Prepare(KernelContext& ctx, Work& work) {
    const Tensor& x = ctx.input(0);
    if (!x.shape().IsVector()) return InvalidArgument("unique expects a 1D vector.");
    const int64_t n = x.num_elements();
    WEIR_RETURN_IF_ERROR(CheckCount(ctx, n));
    if (n == 0) return Tensor();
    WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, Function(Cat("ValueKeys<", DeviceTypeName(x.dtype()), ">")), n, Address(x), n, Address(keys)));
    WEIR_ASSIGN_OR_RETURN(SortedKeys sorted, SortKeys(ctx, std::move(keys)));
    Tensor runs, firsts;
    for (Tensor* each : {&runs, &firsts, &work.first_of}) {
      WEIR_ASSIGN_OR_RETURN(*each, ctx.AllocateTemp(DType::kInt32, Shape({n})));
    }
    WEIR_ASSIGN_OR_RETURN(work.numbers, ctx.AllocateTemp(DType::kInt32, Shape({n + 1})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function(Cat("MarkRuns<", IsFloating(x.dtype()), ">")), n,
                                    Address(sorted.keys), n, Address(runs)));
    WEIR_RETURN_IF_ERROR(ScanLines(ctx, {}, DType::kInt32, 1, n, 1, Address(runs), Address(runs)));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, Function("FirstsOfRuns"), n, Address(runs), Address(sorted.positions), n, Address(firsts)));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("FirstEquals"), n, Address(runs), Address(sorted.positions),
                                    Address(firsts), n, Address(work.first_of), Address(work.numbers)));
    WEIR_RETURN_IF_ERROR(ExclusiveSum(ctx, work.numbers, work.numbers));
    return LastOf(ctx, work.numbers);
  }

  static Status Write(KernelContext& ctx, const Work& work, int64_t count) {
    const Tensor& x = ctx.input(0);
    const int64_t n = x.num_elements();
    WEIR_ASSIGN_OR_RETURN(Tensor * unique, ctx.AllocateOutput(0, Shape({count})));
    WEIR_ASSIGN_OR_RETURN(Tensor * index, ctx.AllocateOutput(1, Shape({n})));
    DeviceAddress counts = 0;
    if (ctx.num_outputs() == 3) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(2, Shape({count})));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
      counts = Address(*out);
    }
    if (n == 0) return OkStatus();
    const std::string types = Cat(DeviceTypeName(x.dtype()), ", ", DeviceTypeName(index->dtype()), ">");
    return LaunchOver(ctx, Function(Cat("WriteUnique<", types)), n, Address(x), Address(work.first_of),
                      Address(work.numbers), n, Address(*unique), Address(*index), counts);
  }
};

// Rows sorted by partition; where each partition begins is read back.
class DynamicPartitionKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto positions = std::make_shared<Tensor>();
    StatusOr<Tensor> begins = Prepare(ctx, *positions);
    if (!begins.ok()) return done(begins.status());
    FinishWith(ctx, *begins, std::move(done),
               [&ctx, positions](const Tensor& host) { return Write(ctx, *positions, host); });
  }

 private:
  static StatusOr<Tensor> Prepare(KernelContext& ctx, Tensor& positions) {
    const Tensor& partitions = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckPartitions(ctx.input(0).shape(), partitions.shape()));
    const int64_t n = partitions.num_elements(), count = ctx.num_outputs();
    WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
    WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, InvalidArgument("partitions of ", ctx.node_name(),
                                                                              " are not all in [0, ", count, ")")));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, Function("PartitionKeys"), n, Address(partitions), n, count, Address(keys), error));
    WEIR_ASSIGN_OR_RETURN(SortedKeys sorted, SortKeys(ctx, std::move(keys), BitsFor(count)));
    positions = sorted.positions;
    return SegmentBegins(ctx, sorted.keys, count);
  }

  static Status Write(KernelContext& ctx, const Tensor& positions, const Tensor& begins) {
    const Tensor& data = ctx.input(0);
    const Shape row = data.shape().Slice(ctx.input(1).rank(), data.rank());
    GatherSizes sizes;
    sizes.limit = ctx.input(1).num_elements();
    sizes.inner = row.num_elements();
    for (int p = 0; p < ctx.num_outputs(); ++p) {
      const int64_t begin = begins.data<int64_t>()[p], end = begins.data<int64_t>()[p + 1];
      WEIR_ASSIGN_OR_RETURN(Shape shape, Shape({end - begin}).Concat(row));
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(p, shape));
      sizes.count = end - begin;
      WEIR_RETURN_IF_ERROR(GatherRows(ctx, sizes, data, positions.Slice(begin, end), OkStatus(), *out));
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterCompactKernels(GpuRegistry& registry) {
  registry.Add("Where", MakeKernel<WhereKernel>);
  registry.Add("Unique", MakeKernel<UniqueKernel>);
  registry.Add("UniqueWithCounts", MakeKernel<UniqueKernel>);
  registry.Add("DynamicPartition", MakeKernel<DynamicPartitionKernel>);
}

}  // namespace weir::cuda
