// Tensors of uniform, normal, truncated normal and integer values, whatever the stream's source.
//
// Values come in groups, one block a group (truncated normal ones: a run of blocks a group), so any group can be made
// alone: the result does not depend on how the groups are split over threads.
#include "weir/device/cpu/index_input.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

using random::PhiloxSource;

template <typename T>
inline constexpr int kGroup = sizeof(T) == 8 ? 2 : 4;

// Each turns one block into kGroup<T> values.
struct UniformValues {
  template <typename T>
  static void Make(const Philox::Block& x, T* out) {
    if constexpr (sizeof(T) == 8) {
      for (int i = 0; i < 2; ++i) out[i] = random::UniformDouble(x[2 * i], x[2 * i + 1]);
    } else {
      for (int i = 0; i < 4; ++i) {
        if constexpr (std::is_same_v<T, float>) out[i] = random::UniformFloat(x[i]);
        if constexpr (std::is_same_v<T, Half>) out[i] = Half(random::UniformHalf(x[i]));
        if constexpr (std::is_same_v<T, BFloat16>) out[i] = BFloat16(random::UniformBFloat16(x[i]));
      }
    }
  }
};
struct NormalValues {
  template <typename T>
  static void Make(const Philox::Block& x, T* out) {
    if constexpr (sizeof(T) == 8) {
      auto [first, second] = random::NormalDoubles(x[0], x[1], x[2], x[3]);
      out[0] = first;
      out[1] = second;
    } else {
      for (int i = 0; i < 4; i += 2) {
        auto [first, second] = random::NormalFloats(x[i], x[i + 1]);
        out[i] = T(first);
        out[i + 1] = T(second);
      }
    }
  }
};
struct FullIntegers {
  template <typename T>
  static void Make(const Philox::Block& x, T* out) {
    for (int i = 0; i < kGroup<T>; ++i) {
      if constexpr (sizeof(T) == 8) {
        out[i] = static_cast<T>(static_cast<uint64_t>(x[2 * i + 1]) << 32 | x[2 * i]);
      } else {
        out[i] = static_cast<T>(x[i]);
      }
    }
  }
};

template <typename T, typename MakeGroup>
void FillGroups(KernelContext& ctx, const Philox& start, uint64_t blocks_per_group, double group_cost_ns, Tensor& out,
                MakeGroup make) {
  T* data = out.data<T>();
  int64_t n = out.num_elements();
  ctx.ParallelFor((n + kGroup<T> - 1) / kGroup<T>, group_cost_ns, [&](int64_t begin, int64_t end) {
    Philox philox = start;
    philox.Skip(static_cast<uint64_t>(begin) * blocks_per_group);
    for (int64_t group = begin; group < end; ++group) {
      T values[kGroup<T>];
      make(philox, values);
      std::copy_n(values, std::min<int64_t>(kGroup<T>, n - group * kGroup<T>), data + group * kGroup<T>);
    }
  });
}

template <typename Values, typename... Ts>
void FillBlocks(KernelContext& ctx, const Philox& start, TypeList<Ts...> types, double group_cost_ns, Tensor& out) {
  DispatchDType(out.dtype(), types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    FillGroups<T>(ctx, start, 1, group_cost_ns, out,
                  [](Philox& philox, T* values) { Values::template Make<T>(philox.Next(), values); });
  });
}

// The values of a group within two deviations, however many numbers that takes.
template <typename T>
void TruncatedGroup(const Philox& start, T* out) {
  PhiloxNumbers numbers(start);
  int filled = 0;
  while (filled < kGroup<T>) {
    auto take = [&](auto pair) {
      if (std::abs(pair.first) < 2 && filled < kGroup<T>) out[filled++] = T(pair.first);
      if (std::abs(pair.second) < 2 && filled < kGroup<T>) out[filled++] = T(pair.second);
    };
    uint32_t x[4];
    for (int i = 0; i < (sizeof(T) == 8 ? 4 : 2); ++i) x[i] = numbers.Next();
    if constexpr (sizeof(T) == 8) {
      take(random::NormalDoubles(x[0], x[1], x[2], x[3]));
    } else {
      take(random::NormalFloats(x[0], x[1]));
    }
  }
}

class RandomKernel : public Kernel {
 public:
  enum class Distribution { kUniform, kNormal, kTruncatedNormal, kInteger, kFullInteger };

  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, Distribution distribution) {
    auto kernel = std::make_unique<RandomKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    kernel->distribution_ = distribution;
    kernel->shape_ = init.schema().FindInput("shape");
    kernel->seed_ = init.schema().FindInput("seed");
    kernel->minval_ = init.schema().FindInput("minval");
    kernel->maxval_ = init.schema().FindInput("maxval");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(shape_), "shape"));
    if (distribution_ == Distribution::kInteger) WEIR_RETURN_IF_ERROR(CheckBounds(ctx, shape));
    if (distribution_ == Distribution::kFullInteger && seed_ >= 0) {
      const DType dtype = ctx.input(seed_).dtype();
      if (dtype != DType::kInt32 && dtype != DType::kInt64) return InvalidArgument("Invalid seed type: ", Name(dtype));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Philox philox,
                          source_.Reserve(ctx, static_cast<uint64_t>(shape.num_elements()) * random::kBlocksPerOutput));
    switch (distribution_) {
      case Distribution::kUniform:
        FillBlocks<UniformValues>(ctx, philox, FloatTypes{}, 10, *out);
        break;
      case Distribution::kNormal:
        FillBlocks<NormalValues>(ctx, philox, FloatTypes{}, 80, *out);
        break;
      case Distribution::kFullInteger:
        FillBlocks<FullIntegers>(ctx, philox, Integers{}, 10, *out);
        break;
      case Distribution::kInteger:
        FillIntegers(ctx, philox, *out);
        break;
      case Distribution::kTruncatedNormal:
        DispatchDType(out->dtype(), FloatTypes{}, [&](auto tag) {
          using T = typename decltype(tag)::type;
          constexpr uint64_t kBlocks = random::kBlocksPerOutput * kGroup<T> / 4;
          FillGroups<T>(ctx, philox, kBlocks, 100, *out, [](Philox& stream, T* values) {
            TruncatedGroup<T>(stream, values);
            stream.Skip(kBlocks);
          });
        });
        break;
    }
    return OkStatus();
  }

  using Integers = TypeList<int32_t, int64_t, uint32_t, uint64_t>;

 private:
  Status CheckBounds(KernelContext& ctx, const Shape& shape) const {
    const Tensor& minval = ctx.input(minval_);
    const Tensor& maxval = ctx.input(maxval_);
    if (!minval.shape().IsScalar()) return InvalidArgument("minval must be 0-D, got shape ", minval.shape().ToString());
    if (!maxval.shape().IsScalar()) return InvalidArgument("maxval must be 0-D, got shape ", maxval.shape().ToString());
    if (shape.num_elements() == 0) return OkStatus();
    Status status;
    DispatchDType(minval.dtype(), Integers{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T low = minval.scalar<T>();
      T high = maxval.scalar<T>();
      if (low >= high) status = InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
    });
    return status;
  }

  void FillIntegers(KernelContext& ctx, const Philox& start, Tensor& out) const {
    if (out.num_elements() == 0) return;
    DispatchDType(out.dtype(), Integers{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using U = std::make_unsigned_t<T>;
      U low = static_cast<U>(ctx.input(minval_).scalar<T>());
      U range = static_cast<U>(ctx.input(maxval_).scalar<T>()) - low;
      FillGroups<T>(ctx, start, 1, 15, out, [=](Philox& philox, T* values) {
        U bits[kGroup<T>];
        FullIntegers::Make<U>(philox.Next(), bits);
        for (int i = 0; i < kGroup<T>; ++i) values[i] = static_cast<T>(low + bits[i] % range);
      });
    });
  }

  PhiloxSource source_;
  Distribution distribution_ = Distribution::kUniform;
  int shape_ = -1;
  int seed_ = -1;
  int minval_ = -1;
  int maxval_ = -1;
};

// Numbers from the system, different at every run.
class NonDeterministicIntsKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(0), "shape"));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillBlocks<FullIntegers>(ctx, Philox::FromSeeds(0, 0), RandomKernel::Integers{}, 10, *out);
    return OkStatus();
  }
};

template <typename... Ts>
void Register(KernelRegistry& registry, RandomKernel::Distribution distribution, std::string_view type_attr,
              TypeList<Ts...> types, std::initializer_list<std::string_view> ops) {
  for (std::string_view op : ops) {
    registry.Add(KernelBuilder(op).Types(type_attr, types),
                 [=](const KernelInit& init) { return RandomKernel::Make(init, distribution); });
  }
}

}  // namespace

void RegisterRandomValueKernels(KernelRegistry& registry) {
  using Distribution = RandomKernel::Distribution;
  using AllInts = RandomKernel::Integers;
  Register(registry, Distribution::kUniform, "dtype", FloatTypes{},
           {"RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2", "StatefulUniform"});
  Register(registry, Distribution::kNormal, "dtype", FloatTypes{},
           {"RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2", "StatefulStandardNormal",
            "StatefulStandardNormalV2"});
  Register(registry, Distribution::kTruncatedNormal, "dtype", FloatTypes{},
           {"TruncatedNormal", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2", "StatefulTruncatedNormal"});
  Register(registry, Distribution::kInteger, "Tout", IndexTypes{}, {"RandomUniformInt"});
  Register(registry, Distribution::kInteger, "dtype", IndexTypes{},
           {"StatelessRandomUniformInt", "StatelessRandomUniformIntV2", "StatefulUniformInt"});
  Register(registry, Distribution::kFullInteger, "dtype", AllInts{},
           {"StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2", "StatefulUniformFullInt"});
  registry.Add(KernelBuilder("NonDeterministicInts").Types("dtype", AllInts{}), MakeKernel<NonDeterministicIntsKernel>);
}

}  // namespace weir
