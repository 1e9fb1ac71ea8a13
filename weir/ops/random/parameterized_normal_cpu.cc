// ParameterizedTruncatedNormal: normal values between bounds, each batch with parameters of its own. How a batch is
// drawn depends on where its bounds lie (Robert, "Simulation of truncated normal variables").
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

constexpr int kMaxTries = 1000;
constexpr int64_t kScalarBatch = 100;

// C is float (for half too) or double; a block gives kCount values of it.
template <typename C>
struct Values {
  static constexpr int kCount = std::is_same_v<C, double> ? 2 : 4;
  static void Uniform(Philox& philox, C* out) {
    Philox::Block x = philox.Next();
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kCount == 2) {
        out[i] = random::UniformDouble(x[2 * i], x[2 * i + 1]);
      } else {
        out[i] = random::UniformFloat(x[i]);
      }
    }
  }
  static void Normal(Philox& philox, C* out) {
    Philox::Block x = philox.Next();
    if constexpr (kCount == 2) {
      auto [first, second] = random::NormalDoubles(x[0], x[1], x[2], x[3]);
      out[0] = first;
      out[1] = second;
    } else {
      for (int i = 0; i < 4; i += 2) {
        auto [first, second] = random::NormalFloats(x[i], x[i + 1]);
        out[i] = first;
        out[i + 1] = second;
      }
    }
  }
};

template <typename C>
struct Batch {
  C mean, stddev, min, max;

  Status Check() const {
    if (stddev > 0 && min < max && (std::isfinite(min) || std::isfinite(max))) return OkStatus();
    return InvalidArgument("Invalid parameters");
  }

  // Calls `accept(value)` for each value in turn, until it returns false.
  template <typename Accept>
  void Draw(Philox& philox, Accept accept) const {
    // A single bound becomes the lower one, and two bounds on one side lie above the mean.
    Batch b = *this;
    if ((std::isinf(min) && min < 0) || max < mean) {
      std::swap(b.min, b.max);
      b.stddev = -b.stddev;
    }
    const C low = (b.min - b.mean) / b.stddev;
    const C high = (b.max - b.mean) / b.stddev;
    const C root = std::sqrt(low * low + C(4));
    const C cutoff = C(2) * std::exp(C(0.5) + low * (low - root) / C(4)) / (low + root);
    auto emit = [&](C z) { return accept(z * b.stddev + b.mean); };
    if ((low < C(-1.3) && high >= C(0)) || (high > C(1.3) && low <= C(0))) {
      FromNormal(philox, low, high, emit);
    } else if (high - low < cutoff) {
      FromUniform(philox, low, high, emit);
    } else {
      FromExponential(philox, low, high, emit);
    }
  }

  template <typename Emit>
  static void FromNormal(Philox& philox, C low, C high, Emit emit) {
    int tries = 0;
    while (true) {
      C z[Values<C>::kCount];
      Values<C>::Normal(philox, z);
      for (C value : z) {
        bool inside = value >= low && value <= high;
        if (!inside && ++tries <= kMaxTries) continue;
        if (!emit(value)) return;
        tries = 0;
      }
    }
  }
  template <typename Emit>
  static void FromUniform(Philox& philox, C low, C high, Emit emit) {
    const C offset = low < C(0) ? C(0) : low * low;
    int tries = 0;
    while (true) {
      C z[Values<C>::kCount], u[Values<C>::kCount];
      Values<C>::Uniform(philox, z);
      Values<C>::Uniform(philox, u);
      for (int i = 0; i < Values<C>::kCount; ++i) {
        C value = z[i] * (high - low) + low;
        if (u[i] > std::exp((offset - value * value) / C(2)) && ++tries < kMaxTries) continue;
        if (!emit(value)) return;
        tries = 0;
      }
    }
  }
  template <typename Emit>
  static void FromExponential(Philox& philox, C low, C high, Emit emit) {
    const C alpha = (low + std::sqrt(low * low + C(4))) / C(2);
    int tries = 0;
    while (true) {
      C x[Values<C>::kCount];
      Values<C>::Uniform(philox, x);
      for (int i = 0; i < Values<C>::kCount; i += 2) {
        C value = -std::log(x[i]) / alpha + low;
        C distance = low < alpha ? alpha - value : low - alpha;
        bool fits = std::exp(-distance * distance / C(2)) > x[i + 1] && value < high;
        if (!fits && ++tries < kMaxTries) continue;
        if (!emit(value)) return;
        tries = 0;
      }
    }
  }
};

class ParameterizedNormalKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ParameterizedNormalKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    kernel->first_ = init.schema().FindInput("means");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(0), "shape"));
    if (shape.rank() < 1) return InvalidArgument("Shape tensor must not be empty, got ", shape.ToString());
    int64_t batches = shape.dim(0);
    bool all_scalars = true;
    for (int i = first_; i < first_ + 4; ++i) {
      all_scalars &= ctx.input(i).rank() == 0;
      const Shape& parameter = ctx.input(i).shape();
      if (parameter.rank() > 1) {
        return InvalidArgument("Input ", ctx.node().schema->inputs[i].name,
                               " should be a scalar or vector, got shape: ", parameter.ToString());
      }
      if (parameter.num_elements() != 1 && parameter.num_elements() != batches) {
        return InvalidArgument("Shape mismatch: ", ctx.node().schema->inputs[i].name, " has shape ",
                               parameter.ToString(), " for ", batches, " batches");
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    int64_t samples = shape.num_elements() / batches;
    if (all_scalars) {  // the batches are then for threads alone
      samples = kScalarBatch;
      batches = (shape.num_elements() + samples - 1) / samples;
    }
    WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, static_cast<uint64_t>(batches) * 2 * kMaxTries *
                                                                  static_cast<uint64_t>(samples + 3) / 4));
    Status status;
    DispatchDType(out->dtype(), TypeList<Half, float, double>{}, [&](auto tag) {
      status = Fill<typename decltype(tag)::type>(ctx, first_, philox, batches, samples, *out);
    });
    return status;
  }

 private:
  template <typename T>
  static Status Fill(KernelContext& ctx, int first, Philox philox, int64_t batches, int64_t samples, Tensor& out) {
    using C = ComputeType<T>;
    auto parameter = [&](int input, int64_t batch) {
      const Tensor& tensor = ctx.input(input);
      return Widen(tensor.data<T>()[tensor.num_elements() == 1 ? 0 : batch]);
    };
    for (int64_t b = 0; b < batches; ++b) {
      Batch<C> batch{parameter(first, b), parameter(first + 1, b), parameter(first + 2, b), parameter(first + 3, b)};
      WEIR_RETURN_IF_ERROR(batch.Check());
      T* to = out.data<T>() + b * samples;
      T* end = std::min(to + samples, out.data<T>() + out.num_elements());
      batch.Draw(philox, [&](C value) {
        *to = T(value);
        return ++to < end;
      });
    }
    return OkStatus();
  }

  random::PhiloxSource source_;
  int first_ = 1;  // input with the means
};

}  // namespace

void RegisterParameterizedNormalKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ParameterizedTruncatedNormal").Types("dtype", TypeList<Half, float, double>{}),
               MakeKernel<ParameterizedNormalKernel>);
  registry.Add(KernelBuilder("StatelessParameterizedTruncatedNormal").Types("dtype", TypeList<Half, float, double>{}),
               MakeKernel<ParameterizedNormalKernel>);
}

}  // namespace weir
