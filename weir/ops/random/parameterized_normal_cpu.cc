// ParameterizedTruncatedNormal and its stateless kin: normal values between bounds, each batch with parameters of its
// own. How a batch is drawn depends on where its bounds lie (Robert, "Simulation of truncated normal variables").
#include <array>
#include <numeric>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

constexpr int kMaxTries = 1000;
constexpr int64_t kScalarBatch = 100;

// A block gives kCount values of type C, which is float for half too. Those are rounded after every operation.
template <typename T>
struct Values {
  using C = ComputeType<T>;
  static constexpr int kCount = std::is_same_v<C, double> ? 2 : 4;
  static C Rounded(C x) { return Widen(T(x)); }
  static void Uniform(Philox& philox, C* out) {
    Philox::Block x = philox.Next();
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kCount == 2) {
        out[i] = random::UniformDouble(x[2 * i], x[2 * i + 1]);
      } else if constexpr (std::is_same_v<T, Half>) {
        out[i] = random::UniformHalf(x[i]);
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
        out[i] = Rounded(first);
        out[i + 1] = Rounded(second);
      }
    }
  }
};

template <typename T>
struct Batch {
  using C = ComputeType<T>;
  static C R(C x) { return Values<T>::Rounded(x); }
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
    const C low = R(R(b.min - b.mean) / b.stddev);
    const C high = R(R(b.max - b.mean) / b.stddev);
    const C root = R(std::sqrt(R(R(low * low) + C(4))));
    const C exponent = R(C(0.5) + R(R(low * R(low - root)) / C(4)));
    const C cutoff = R(R(C(2) * R(std::exp(exponent))) / R(low + root));
    const C inside = R(C(1.3));
    auto emit = [&](C z) { return accept(R(z * b.stddev) + b.mean); };
    if ((low < -inside && high >= C(0)) || (high > inside && low <= C(0))) {
      FromNormal(philox, low, high, emit);
    } else if (R(high - low) < cutoff) {
      FromUniform(philox, low, high, emit);
    } else {
      FromExponential(philox, low, high, emit);
    }
  }

  template <typename Emit>
  static void FromNormal(Philox& philox, C low, C high, Emit emit) {
    int tries = 0;
    while (true) {
      C z[Values<T>::kCount];
      Values<T>::Normal(philox, z);
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
    const C offset = low < C(0) ? C(0) : R(low * low), range = R(high - low);
    int tries = 0;
    while (true) {
      C z[Values<T>::kCount], u[Values<T>::kCount];
      Values<T>::Uniform(philox, z);
      Values<T>::Uniform(philox, u);
      for (int i = 0; i < Values<T>::kCount; ++i) {
        C value = R(R(z[i] * range) + low);
        if (u[i] > R(std::exp(R(R(offset - R(value * value)) / C(2)))) && ++tries < kMaxTries) continue;
        if (!emit(value)) return;
        tries = 0;
      }
    }
  }
  template <typename Emit>
  static void FromExponential(Philox& philox, C low, C high, Emit emit) {
    const C alpha = R(R(low + R(std::sqrt(R(R(low * low) + C(4))))) / C(2));
    int tries = 0;
    while (true) {
      C x[Values<T>::kCount];
      Values<T>::Uniform(philox, x);
      for (int i = 0; i < Values<T>::kCount; i += 2) {
        C value = R(R(-R(std::log(x[i])) / alpha) + low);
        C distance = low < alpha ? R(alpha - value) : R(low - alpha);
        bool fits = R(std::exp(R(R(-distance * distance) / C(2)))) >= x[i + 1] && value < high;
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
    kernel->broadcasts_ = init.schema().name.starts_with("Stateless");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(0), "shape"));
    WEIR_ASSIGN_OR_RETURN(Batches batches, broadcasts_ ? Broadcast(ctx, shape) : Rows(ctx, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t total = shape.num_elements();
    if (total == 0) return OkStatus();
    int64_t samples = total / batches.count;
    if (batches.are_alike) {  // they are then for threads alone
      samples = kScalarBatch;
      batches.count = (total + samples - 1) / samples;
    }
    WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, static_cast<uint64_t>(batches.count) * 2 * kMaxTries *
                                                                  static_cast<uint64_t>(samples + 3) / 4));
    Status status;
    DispatchDType(out->dtype(), TypeList<Half, float, double>{},
                  [&](auto tag) { status = Fill<typename decltype(tag)::type>(ctx, philox, batches, samples, *out); });
    return status;
  }

 private:
  struct Batches {
    int64_t count = 1;
    bool are_alike = false;
    bool are_interleaved = false;              // the values of one lie as far apart as there are batches
    std::array<std::vector<int64_t>, 4> from;  // which element of each parameter a batch has; empty: the first
  };

  // A batch is a row of the result; parameters are scalars, or vectors of one for each row.
  StatusOr<Batches> Rows(const KernelContext& ctx, const Shape& shape) const {
    if (shape.rank() < 1) return InvalidArgument("Shape tensor must not be empty, got ", shape.ToString());
    Batches out{.count = shape.dim(0), .are_alike = true};
    for (int i = 0; i < 4; ++i) {
      const Shape& parameter = ctx.input(first_ + i).shape();
      const std::string& name = ctx.node().schema->inputs[first_ + i].name;
      if (parameter.rank() > 1) {
        return InvalidArgument("Input ", name, " should be a scalar or vector, got shape: ", parameter.ToString());
      }
      out.are_alike &= i < 2 ? parameter.num_elements() == 1 : parameter.rank() == 0;
      if (parameter.num_elements() == 1) continue;
      if (parameter.num_elements() != out.count) {
        return InvalidArgument("Input ", name, " should have length 1 or shape[0], got shape: ", parameter.ToString());
      }
      out.from[i].resize(static_cast<size_t>(out.count));
      std::iota(out.from[i].begin(), out.from[i].end(), 0);
    }
    return out;
  }

  // The parameters are broadcast to the last dimensions of the result; each combination of them is a batch.
  StatusOr<Batches> Broadcast(const KernelContext& ctx, const Shape& shape) const {
    Shape common;
    for (int i = 0; i < 4; ++i) {
      WEIR_ASSIGN_OR_RETURN(common, BroadcastShape(common, ctx.input(first_ + i).shape()));
    }
    if (common.rank() > shape.rank() || !(shape.Slice(shape.rank() - common.rank(), shape.rank()) == common)) {
      return InvalidArgument("Shape passed in must end with broadcasted shape.");
    }
    Batches out{.count = common.num_elements(), .are_interleaved = true};
    for (int i = 0; i < 4; ++i) {
      const Dims strides = BroadcastStrides(ctx.input(first_ + i).shape(), common);
      for (int64_t batch = 0; batch < out.count; ++batch) {
        int64_t rest = batch, at = 0;
        for (int d = common.rank() - 1; d >= 0; --d) {
          at += rest % common.dim(d) * strides[d];
          rest /= common.dim(d);
        }
        out.from[i].push_back(at);
      }
    }
    return out;
  }

  template <typename T>
  Status Fill(KernelContext& ctx, Philox philox, const Batches& batches, int64_t samples, Tensor& out) const {
    using C = ComputeType<T>;
    auto parameter = [&](int i, int64_t batch) {
      const std::vector<int64_t>& from = batches.from[i];
      return Widen(ctx.input(first_ + i).data<T>()[from.empty() ? 0 : from[batch]]);
    };
    const bool is_interleaved = batches.are_interleaved && !batches.are_alike;
    const int64_t step = is_interleaved ? batches.count : 1, total = out.num_elements();
    for (int64_t b = 0; b < batches.count; ++b) {
      Batch<T> batch{parameter(0, b), parameter(1, b), parameter(2, b), parameter(3, b)};
      WEIR_RETURN_IF_ERROR(batch.Check());
      int64_t at = is_interleaved ? b : b * samples;
      const int64_t end = is_interleaved ? total : std::min(at + samples, total);
      batch.Draw(philox, [&](C value) {
        out.data<T>()[at] = T(value);
        at += step;
        return at < end;
      });
    }
    return OkStatus();
  }

  random::PhiloxSource source_;
  int first_ = 1;            // input with the means
  bool broadcasts_ = false;  // else each row is a batch
};

}  // namespace

void RegisterParameterizedNormalKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ParameterizedTruncatedNormal").Types("dtype", TypeList<Half, float, double>{}),
               MakeKernel<ParameterizedNormalKernel>);
  registry.Add(KernelBuilder("StatelessParameterizedTruncatedNormal").Types("dtype", TypeList<Half, float, double>{}),
               MakeKernel<ParameterizedNormalKernel>);
}

}  // namespace weir
