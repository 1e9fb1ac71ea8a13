// Places of values in sorted rows, and of flat indices in a shape.
#include <algorithm>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class BoundKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BoundKernel>();
    kernel->upper_ = init.schema().name == "UpperBound";
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor sorted = ctx.input(0), values = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckBound(sorted.shape(), values.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, values.shape()));
    const int64_t n = sorted.dim(1), columns = values.dim(1);
    DispatchDType(sorted.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      DispatchDType(out->dtype(), IndexTypes{}, [&](auto out_tag) {
        using Out = typename decltype(out_tag)::type;
        for (int64_t i = 0; i < values.num_elements(); ++i) {
          const T* row = sorted.data<T>() + i / columns * n;
          const auto value = Widen(values.data<T>()[i]);
          auto found = upper_ ? std::upper_bound(row, row + n, value, [](auto v, const T& x) { return v < Widen(x); })
                              : std::lower_bound(row, row + n, value, [](const T& x, auto v) { return Widen(x) < v; });
          out->data<Out>()[i] = static_cast<Out>(found - row);
        }
      });
    });
    return OkStatus();
  }

 private:
  bool upper_ = false;
};

class UnravelIndexKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(0);
    if (indices.rank() > 1) {
      return InvalidArgument("The indices can only be scalar or vector, got \"", indices.shape().ToString(), "\"");
    }
    if (!ctx.input(1).shape().IsVector()) {
      return InvalidArgument("The indices can only be 1-D, got \"", ctx.input(1).shape().ToString(), "\"");
    }
    WEIR_ASSIGN_OR_RETURN(Shape dims, ShapeInput(ctx.input(1), "dims"));
    for (int64_t size : dims.dims()) {
      if (size == 0) return InvalidArgument("Input dims cannot contain a dim of zero, but dims contains zero");
    }
    if (indices.num_elements() == 0) {
      return InvalidArgument("received empty tensor indices: Tensor<type: ", Name(indices.dtype()),
                             " shape: ", indices.shape().ToString(), " values: >");
    }
    WEIR_ASSIGN_OR_RETURN(Dims flat, IntElements(indices, "indices"));
    for (int64_t index : flat) {
      // One below zero is taken apart all the same, as division by the sizes does.
      if (index >= dims.num_elements()) return InvalidArgument("index is out of bound as with dims");
    }
    const int64_t count = static_cast<int64_t>(flat.size());
    const Shape shape = indices.rank() == 0 ? Shape({dims.rank()}) : Shape({dims.rank(), count});
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(out->dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = flat[i];
        for (int d = dims.rank() - 1; d >= 0; --d) {
          out->data<T>()[d * count + i] = static_cast<T>(rest % dims.dim(d));
          rest /= dims.dim(d);
        }
      }
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterSearchKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("LowerBound").Types("T", RealTypes{}), MakeKernel<BoundKernel>);
  registry.Add(KernelBuilder("UpperBound").Types("T", RealTypes{}), MakeKernel<BoundKernel>);
  registry.Add(KernelBuilder("UnravelIndex").Types("Tidx", IndexTypes{}), MakeKernel<UnravelIndexKernel>);
}

}  // namespace weir
