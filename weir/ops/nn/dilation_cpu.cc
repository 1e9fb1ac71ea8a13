// Dilation2D and its gradients: the largest sum of an image's window and the filter.
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/nn/register_extended.h"
#include "weir/ops/nn/window.h"

namespace weir {
namespace {

using nn::WindowAxis;

struct Geometry {
  int64_t batch, channels;
  WindowAxis h, w;
  Shape output;
};

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
    WEIR_ASSIGN_OR_RETURN(kernel->strides_, init.Attr<std::vector<int64_t>>("strides"));
    WEIR_ASSIGN_OR_RETURN(kernel->rates_, init.Attr<std::vector<int64_t>>("rates"));
    WEIR_ASSIGN_OR_RETURN(kernel->padding_, init.Attr<std::string>("padding"));
    const auto &strides = kernel->strides_, &rates = kernel->rates_;
    if (strides.size() != 4) return InvalidArgument("Sliding window stride field must specify 4 dimensions");
    if (rates.size() != 4) return InvalidArgument("Input stride (atrous rate) field must specify 4 dimensions");
    if (strides[0] != 1 || strides[3] != 1) {
      return Unimplemented("Stride is only supported across spatial dimensions.");
    }
    if (rates[0] != 1 || rates[3] != 1) return Unimplemented("Rate is only supported across spatial dimensions.");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Geometry g, MakeGeometry(input.shape(), filter.shape()));
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
  StatusOr<Geometry> MakeGeometry(const Shape& input, const Shape& filter) const {
    if (input.rank() != 4) return InvalidArgument("input must be 4-dimensional: ", input.ToString());
    if (filter.rank() != 3) return InvalidArgument("filter must be 3-dimensional: ", filter.ToString());
    if (filter.dim(2) != input.dim(3)) {
      return InvalidArgument("input and filter must have the same depth: ", input.dim(3), " vs ", filter.dim(2));
    }
    Geometry g{input.dim(0), input.dim(3), {}, {}, {}};
    WEIR_ASSIGN_OR_RETURN(g.h, nn::MakeWindowAxis(input.dim(1), filter.dim(0), strides_[1],
                                                  std::max<int64_t>(rates_[1], 1), padding_, 0, 0));
    WEIR_ASSIGN_OR_RETURN(g.w, nn::MakeWindowAxis(input.dim(2), filter.dim(1), strides_[2],
                                                  std::max<int64_t>(rates_[2], 1), padding_, 0, 0));
    const int64_t dims[] = {g.batch, g.h.output, g.w.output, g.channels};
    WEIR_ASSIGN_OR_RETURN(g.output, Shape::Make(dims));
    return g;
  }

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

  std::vector<int64_t> strides_, rates_;
  std::string padding_;
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
