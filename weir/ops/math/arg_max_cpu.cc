// Where the extremes are.
#include <limits>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

using ArgMaxTypes = decltype(RealTypes{} + TypeList<bool>{});

// The first of equals along the middle axis of [outer, n, inner]; a NaN never wins.
template <bool kMax, typename T>
void FindExtremes(const T* x, int64_t outer, int64_t n, int64_t inner, int64_t* out) {
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const T* from = x + o * n * inner + i;
      int64_t best_at = 0;
      auto best = Widen(from[0]);
      for (int64_t k = 1; k < n; ++k) {
        auto value = Widen(from[k * inner]);
        bool better = (kMax ? value > best : value < best) || (best != best && value == value);
        if (better) {
          best = value;
          best_at = k;
        }
      }
      out[o * inner + i] = best_at;
    }
  }
}

template <bool kMax>
class ArgExtremeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return InvalidArgument("dim must be a scalar, but received tensor of shape: ", ctx.input(1).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(int64_t given, IntScalar(ctx.input(1), "dimension"));
    const int rank = x.rank();
    if (given < -rank || given >= rank) {
      return InvalidArgument("Expected dimension in the range [", -rank, ", ", rank, "), but got ", given);
    }
    const int axis = static_cast<int>(given < 0 ? given + rank : given);
    if (x.dim(axis) == 0) {
      return InvalidArgument("Reduction axis ", given, " is empty in shape ", x.shape().ToString());
    }
    Shape shape = x.shape();
    shape.RemoveDim(axis);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t outer = x.shape().Slice(0, axis).num_elements();
    const int64_t inner = x.shape().Slice(axis + 1, rank).num_elements();
    std::vector<int64_t> found(shape.num_elements());
    DispatchDType(x.dtype(), ArgMaxTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t row = x.dim(axis) * inner;
      ctx.ParallelFor(outer, 1.0 * row, [&](int64_t begin, int64_t end) {
        FindExtremes<kMax>(x.data<T>() + begin * row, end - begin, x.dim(axis), inner, found.data() + begin * inner);
      });
    });
    DispatchDType(out->dtype(), IntegerTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < found.size(); ++i) out->data<T>()[i] = static_cast<T>(found[i]);
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterArgMaxKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ArgMax")
                   .Types("T", ArgMaxTypes{})
                   .Types("output_type", TypeList<int32_t, int64_t, int16_t, uint16_t>{}),
               MakeKernel<ArgExtremeKernel<true>>);
  registry.Add(KernelBuilder("ArgMin").Types("T", ArgMaxTypes{}).Types("output_type", IndexTypes{}),
               MakeKernel<ArgExtremeKernel<false>>);
}

}  // namespace weir
