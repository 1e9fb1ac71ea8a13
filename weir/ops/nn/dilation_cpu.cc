// Dilation2D and its gradients: the largest sum of an image's window and the filter.
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/nn/dilation.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using Geometry = nn::DilationGeometry;

template <typename T>
T Lowest() {
  if constexpr (kIsSmallFloat<T>) {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

class DilationKernel : public Kernel {
 public:
  enum class Part { kForward, kInput, kFilter };

  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, Part part) {
    auto kernel = std::make_unique<DilationKernel>();
    kernel->part_ = part;
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, nn::DilationAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Geometry g, attrs_.MakeGeometry(input.shape(), filter.shape()));
    if (part_ != Part::kForward && ctx.input(2).shape() != g.output) {
      return InvalidArgument("out_backprop has incompatible size.");
    }
    const Shape& shape = part_ == Part::kForward ? g.output : part_ == Part::kInput ? input.shape() : filter.shape();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (part_ == Part::kForward) {
        Forward<T>(ctx, g, *out);
      } else {
        Backward<T>(ctx, g, *out);
      }
    });
    return OkStatus();
  }

 private:
  // Where the largest sum of an output is: in the input and in the filter; their first place if no sum exceeds the
  // least value of the type.
  template <typename T>
  struct Best {
    T value = Lowest<T>();
    int64_t input = -1, filter = -1;
  };
  template <typename T>
  static Best<T> Find(const Geometry& g, const T* input, const T* filter, int64_t i) {
    const int64_t c = i % g.channels, ow = i / g.channels % g.w.output;
    const int64_t oh = i / g.channels / g.w.output % g.h.output, n = i / g.channels / g.w.output / g.h.output;
    Best<T> best;
    const int64_t first_h = std::max<int64_t>(g.h.At(oh, 0), 0), first_w = std::max<int64_t>(g.w.At(ow, 0), 0);
    if (first_h < g.h.input && first_w < g.w.input) {
      best.input = ((n * g.h.input + first_h) * g.w.input + first_w) * g.channels + c;
      best.filter = c;
    }
    for (int64_t kh = 0; kh < g.h.size; ++kh) {
      const int64_t ih = g.h.At(oh, kh);
      if (ih < 0 || ih >= g.h.input) continue;
      for (int64_t kw = 0; kw < g.w.size; ++kw) {
        const int64_t iw = g.w.At(ow, kw);
        if (iw < 0 || iw >= g.w.input) continue;
        const int64_t x = ((n * g.h.input + ih) * g.w.input + iw) * g.channels + c;
        const int64_t f = (kh * g.w.size + kw) * g.channels + c;
        const T value = static_cast<T>(WrapAdd(Widen(input[x]), Widen(filter[f])));
        if (Widen(value) > Widen(best.value)) best = {value, x, f};
      }
    }
    return best;
  }

  template <typename T>
  void Forward(KernelContext& ctx, const Geometry& g, Tensor& out) const {
    const T *input = ctx.input(0).data<T>(), *filter = ctx.input(1).data<T>();
    const double cost = 2.0 * static_cast<double>(g.h.size * g.w.size);
    ctx.ParallelFor(g.output.num_elements(), cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out.data<T>()[i] = Find(g, input, filter, i).value;
    });
  }

  // One after the other: several outputs may have the same best place.
  template <typename T>
  void Backward(KernelContext& ctx, const Geometry& g, Tensor& out) const {
    using C = ComputeType<T>;
    const T *input = ctx.input(0).data<T>(), *filter = ctx.input(1).data<T>(), *gradient = ctx.input(2).data<T>();
    std::vector<C> sums(static_cast<size_t>(out.num_elements()), C(0));
    for (int64_t i = 0; i < g.output.num_elements(); ++i) {
      const Best<T> best = Find(g, input, filter, i);
      const int64_t to = part_ == Part::kInput ? best.input : best.filter;
      if (to >= 0) sums[to] = WrapAdd(sums[to], Widen(gradient[i]));
    }
    for (size_t i = 0; i < sums.size(); ++i) out.data<T>()[i] = static_cast<T>(sums[i]);
  }

  nn::DilationAttrs attrs_;
  Part part_ = Part::kForward;
};

}  // namespace

void RegisterDilationKernels(KernelRegistry& registry) {
  using Part = DilationKernel::Part;
  auto add = [&](std::string_view op, Part part) {
    registry.Add(KernelBuilder(op).Types("T", RealTypes{}),
                 [part](const KernelInit& init) { return DilationKernel::Make(init, part); });
  };
  add("Dilation2D", Part::kForward);
  add("Dilation2DBackpropInput", Part::kInput);
  add("Dilation2DBackpropFilter", Part::kFilter);
}

}  // namespace weir
