// Choosing elements: Select, SelectV2, ClipByValue.
#include <algorithm>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/vector.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/kernel_shapes.h"
#include "weir/ops/math/register.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

// n elements; steps are 0 or 1.
using SelectLoop = void (*)(const bool* condition, const void* t, const void* e, void* out, int64_t n, int c_step,
                            int t_step, int e_step);

template <typename T>
void SelectRun(const bool* condition, const void* t, const void* e, void* out, int64_t n, int c_step, int t_step,
               int e_step) {
  const T* a = static_cast<const T*>(t);
  const T* b = static_cast<const T*>(e);
  T* to = static_cast<T*>(out);
  if (c_step && t_step && e_step) {
    for (int64_t i = 0; i < n; ++i) to[i] = condition[i] ? a[i] : b[i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = condition[i * c_step] ? a[i * t_step] : b[i * e_step];
  }
}

// Reads both sides whatever the condition is: a branch that nobody can foresee costs more, as in a dropout's mask.
template <typename T>
[[gnu::always_inline]] inline void BlendBody(const bool* condition, const T* a, const T* b, T* to, int64_t n,
                                             int c_step, int t_step, int e_step) {
  const T first_a = *a, first_b = *b;
  if (c_step == 0) return SelectRun<T>(condition, a, b, to, n, c_step, t_step, e_step);
  if (t_step && e_step) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T x = a[i], y = b[i];
      to[i] = condition[i] ? x : y;
    }
  } else if (t_step) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T x = a[i];
      to[i] = condition[i] ? x : first_b;
    }
  } else if (e_step) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T y = b[i];
      to[i] = condition[i] ? first_a : y;
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = condition[i] ? first_a : first_b;
  }
}
WEIR_VECTOR void Blend4(const bool* condition, const void* t, const void* e, void* out, int64_t n, int c_step,
                        int t_step, int e_step) {
  BlendBody(condition, static_cast<const uint32_t*>(t), static_cast<const uint32_t*>(e), static_cast<uint32_t*>(out), n,
            c_step, t_step, e_step);
}
WEIR_VECTOR void Blend8(const bool* condition, const void* t, const void* e, void* out, int64_t n, int c_step,
                        int t_step, int e_step) {
  BlendBody(condition, static_cast<const uint64_t*>(t), static_cast<const uint64_t*>(e), static_cast<uint64_t*>(out), n,
            c_step, t_step, e_step);
}

struct Bytes16 {
  uint64_t words[2];
};

// Plain elements are only moved, so their size alone matters.
SelectLoop FindSelect(DType dtype) {
  switch (dtype) {
    case DType::kString:
      return &SelectRun<std::string>;
    case DType::kResource:
      return &SelectRun<ResourceHandle>;
    case DType::kVariant:
      return &SelectRun<Variant>;
    default:
      break;
  }
  switch (SizeOf(dtype)) {
    case 1:
      return &SelectRun<uint8_t>;
    case 2:
      return &SelectRun<uint16_t>;
    case 4:
      return &Blend4;
    case 8:
      return &Blend8;
    case 16:
      return &SelectRun<Bytes16>;
    default:
      return nullptr;
  }
}

class SelectKernelBase : public Kernel {
 public:
  explicit SelectKernelBase(SelectLoop loop) : loop_(loop) {}

 protected:
  // All three operands broadcast to `shape`.
  Status Run(KernelContext& ctx, const Shape& shape, const Shape& c_shape) {
    const Tensor &c = ctx.input(0), &t = ctx.input(1), &e = ctx.input(2);
    if (shape.num_elements() == 0) return ctx.AllocateOutput(0, shape).status();
    const Shape* operands[] = {&c_shape, &t.shape(), &e.shape()};
    BroadcastRuns runs(shape, operands);
    const int64_t size = SizeOf(t.dtype());
    const bool* condition = c.data<bool>();
    const char* t_data = static_cast<const char*>(t.raw_data());
    const char* e_data = static_cast<const char*>(e.raw_data());
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({1, 2}, 0, shape));
    char* to = static_cast<char*>(out->raw_data());
    const int c_step = runs.step(0), t_step = runs.step(1), e_step = runs.step(2);
    auto rows = [&](int64_t begin, int64_t end) {
      runs.ForRows(begin, end, [&](int64_t row, const auto& at) {
        loop_(condition + at[0], t_data + at[1] * size, e_data + at[2] * size, to + row * size, runs.run(), c_step,
              t_step, e_step);
      });
    };
    if (shape.num_elements() < 4096) {
      rows(0, runs.rows());
    } else if (runs.rows() == 1) {
      ctx.ParallelFor(runs.run(), 1, [&](int64_t begin, int64_t end) {
        loop_(condition + begin * c_step, t_data + begin * t_step * size, e_data + begin * e_step * size,
              to + begin * size, end - begin, c_step, t_step, e_step);
      });
    } else {
      ctx.ParallelFor(runs.rows(), 3.0 + runs.run(), rows);
    }
    return OkStatus();
  }

 private:
  const SelectLoop loop_;
};

class SelectV2Kernel : public SelectKernelBase {
 public:
  using SelectKernelBase::SelectKernelBase;
  Status Compute(KernelContext& ctx) override {
    const Shape &c = ctx.input(0).shape(), &t = ctx.input(1).shape(), &e = ctx.input(2).shape();
    if (c == t && t == e) {
      Shape shape = t;
      return Run(ctx, shape, shape);
    }
    auto values = BroadcastShape(t, e);
    auto shape = values.ok() ? BroadcastShape(c, *values) : values;
    if (!shape.ok()) {
      return InvalidArgument("condition ", c.ToString(), ", then ", t.ToString(), ", and else ", e.ToString(),
                             " must be broadcastable");
    }
    return Run(ctx, *shape, Shape(c));
  }
};

// The condition is a scalar, of the values' shape, or a vector that chooses whole rows.
class SelectKernel : public SelectKernelBase {
 public:
  using SelectKernelBase::SelectKernelBase;
  Status Compute(KernelContext& ctx) override {
    const Shape t = ctx.input(1).shape();
    WEIR_ASSIGN_OR_RETURN(Shape rows, SelectConditionShape(ctx.input(0).shape(), t, ctx.input(2).shape()));
    return Run(ctx, t, rows);
  }
};

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeSelect(const KernelInit& init) {
  SelectLoop loop = FindSelect(init.output_type(0));
  if (loop == nullptr) return Unimplemented("Select of ", Name(init.output_type(0)));
  return std::make_unique<K>(loop);
}

class ClipByValueKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0), low = ctx.input(1), high = ctx.input(2);
    auto fits = [&](const Tensor& limit) { return limit.shape() == x.shape() || limit.shape().IsScalar(); };
    if (!fits(low) || !fits(high)) {
      return InvalidArgument(
          "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: ",
          x.shape().ToString(), "clip_value_min shape: ", low.shape().ToString(),
          "clip_value_max shape: ", high.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    DispatchDType(x.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T *from = x.data<T>(), *least = low.data<T>(), *most = high.data<T>();
      T* to = out->data<T>();
      const int low_step = low.shape().IsScalar() ? 0 : 1, high_step = high.shape().IsScalar() ? 0 : 1;
      ctx.ParallelFor(x.num_elements(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto value = Widen(from[i]), a = Widen(least[i * low_step]), b = Widen(most[i * high_step]);
          if constexpr (kIsComplex<T>) {  // each part by itself
            to[i] = T(Clip(value.real(), a.real(), b.real()), Clip(value.imag(), a.imag(), b.imag()));
          } else {
            to[i] = static_cast<T>(Clip(value, a, b));
          }
        }
      });
    });
    return OkStatus();
  }

 private:
  template <typename C>
  static C Clip(C value, C least, C most) {
    value = most < value ? most : value;
    return value < least ? least : value;
  }
};

}  // namespace

void RegisterSelectKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Select"), MakeSelect<SelectKernel>);
  registry.Add(KernelBuilder("SelectV2"), MakeSelect<SelectV2Kernel>);
  registry.Add(KernelBuilder("ClipByValue").Types("T", NumberTypes{}), MakeKernel<ClipByValueKernel>);
}

}  // namespace weir
