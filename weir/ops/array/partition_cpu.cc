// Rows dealt out to several tensors and put together again: DynamicPartition, DynamicStitch.
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class DynamicPartitionKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0), partitions = ctx.input(1);
    const int count = ctx.num_outputs(), outer = partitions.rank();
    WEIR_RETURN_IF_ERROR(CheckPartitions(data.shape(), partitions.shape()));
    WEIR_ASSIGN_OR_RETURN(Dims to, IntElements(partitions, "partitions"));
    Dims sizes(count, 0);
    for (size_t i = 0; i < to.size(); ++i) {
      if (to[i] < 0 || to[i] >= count) {
        return InvalidArgument("partitions", Position(partitions.shape(), static_cast<int64_t>(i)), " = ", to[i],
                               " is not in [0, ", count, ")");
      }
      ++sizes[to[i]];
    }
    const Shape row = data.shape().Slice(outer, data.rank());
    std::vector<char*> at(count);
    for (int p = 0; p < count; ++p) {
      WEIR_ASSIGN_OR_RETURN(Shape shape, Shape({sizes[p]}).Concat(row));
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(p, shape));
      at[p] = static_cast<char*>(out->raw_data());
    }
    const int64_t n = row.num_elements(), bytes = n * static_cast<int64_t>(SizeOf(data.dtype()));
    const char* from = static_cast<const char*>(data.raw_data());
    for (size_t i = 0; i < to.size(); ++i) {
      CopyElements(data.dtype(), from + static_cast<int64_t>(i) * bytes, at[to[i]], n);
      at[to[i]] += bytes;
    }
    return OkStatus();
  }

 private:
  static std::string Position(const Shape& shape, int64_t i) {
    std::string out;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      out = Cat(i % shape.dim(d), out.empty() ? "" : ",", out);
      i /= shape.dim(d);
    }
    return out.empty() ? out : Cat("[", out, "]");
  }
};

class DynamicStitchKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const int count = ctx.num_inputs() / 2;
    WEIR_ASSIGN_OR_RETURN(StitchSizes sizes, CheckStitch(ctx));
    const auto& [first_row, rows, indices] = sizes;
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape({rows}).Concat(first_row));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const DType dtype = out->dtype();
    if (IsPlain(dtype)) std::fill_n(static_cast<char*>(out->raw_data()), out->num_bytes(), 0);
    const int64_t n = first_row.num_elements(), bytes = n * static_cast<int64_t>(SizeOf(dtype));
    for (int i = 0; i < count; ++i) {
      const char* from = static_cast<const char*>(ctx.input(count + i).raw_data());
      for (size_t k = 0; k < indices[i].size(); ++k) {
        CopyElements(dtype, from + static_cast<int64_t>(k) * bytes,
                     static_cast<char*>(out->raw_data()) + indices[i][k] * bytes, n);
      }
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterPartitionKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DynamicPartition"), MakeKernel<DynamicPartitionKernel>);
  registry.Add(KernelBuilder("DynamicStitch"), MakeKernel<DynamicStitchKernel>);
  registry.Add(KernelBuilder("ParallelDynamicStitch"), MakeKernel<DynamicStitchKernel>);
}

}  // namespace weir
