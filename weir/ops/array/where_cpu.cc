// Indices of what is not zero, and rows that are zero but for one place.
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

using WhereTypes = decltype(NumberTypes{} + TypeList<bool>{});

class WhereKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const int rank = x.rank();
    if (rank == 0) return InvalidArgument("WhereOp : Unhandled input dimensions: 0");
    if (x.dtype() == DType::kHalf) {
      return Unimplemented(
          "No WhereOp available for float16/half type on CPU; dying in CPU WhereOp to avoid silently creating costly "
          "copies from device.");
    }
    std::vector<int64_t> found;
    DispatchDType(x.dtype(), WhereTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        if (Widen(from[i]) != ComputeType<T>(0)) found.push_back(i);
      }
    });
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(found.size()), rank})));
    int64_t* to = out->data<int64_t>();
    for (int64_t at : found) {
      for (int d = rank - 1; d >= 0; --d) {
        to[d] = at % x.dim(d);
        at /= x.dim(d);
      }
      to += rank;
    }
    return OkStatus();
  }
};

class OneHotKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<OneHotKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(0), on = ctx.input(2), off = ctx.input(3);
    WEIR_ASSIGN_OR_RETURN(OneHotSizes sizes, CheckOneHot(ctx, axis_));
    const auto& [shape, depth, suffix] = sizes;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const DType dtype = out->dtype();
    FillElements(dtype, off.raw_data(), out->raw_data(), out->num_elements());
    WEIR_ASSIGN_OR_RETURN(Dims values, IntElements(indices, "indices"));
    const int64_t size = static_cast<int64_t>(SizeOf(dtype));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || values[i] >= depth) continue;
      const int64_t prefix = static_cast<int64_t>(i) / suffix, rest = static_cast<int64_t>(i) % suffix;
      const int64_t at = (prefix * depth + values[i]) * suffix + rest;
      CopyElements(dtype, on.raw_data(), static_cast<char*>(out->raw_data()) + at * size, 1);
    }
    return OkStatus();
  }

 private:
  int64_t axis_ = -1;
};

}  // namespace

void RegisterWhereKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Where").Types("T", WhereTypes{}), MakeKernel<WhereKernel>);
}

void RegisterOneHotKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("OneHot").Types("TI", TypeList<uint8_t, int8_t, int32_t, int64_t>{}),
               MakeKernel<OneHotKernel>);
}

}  // namespace weir
