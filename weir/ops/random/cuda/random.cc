// Uniform, normal, truncated normal and integer values on GPUs: the same streams and numbers as on the host.
#include "weir/device/cpu/index_input.h"
#include "weir/device/cuda/launch.h"
#include "weir/device/cuda/recording.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/state/cuda/update_variable.h"

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/ops/random/cuda/random.cu";

// As device code declares it.
struct Start {
  uint64_t key = 0, counter_low = 0, counter_high = 0;
  DeviceAddress state = 0;
};

enum class Distribution { kUniform, kNormal, kTruncatedNormal, kInteger, kFullInteger };

int64_t IntegerBound(const Tensor& tensor) {
  int64_t value = 0;
  DispatchDType(tensor.dtype(), TypeList<int32_t, int64_t, uint32_t, uint64_t>{},
                [&](auto tag) { value = static_cast<int64_t>(tensor.scalar<typename decltype(tag)::type>()); });
  return value;
}

// Moves the state of the generator in input 0 on, which stays on the device; `before` gets what it was.
Status AdvanceGenerator(KernelContext& ctx, uint64_t blocks, Tensor& before) {
  return UpdateVariable(ctx, DType::kInt64, [&](Tensor& state) -> Status {
    if (!state.shape().IsVector()) {
      return InvalidArgument("RNG state must have one and only one dimension, not ", state.rank());
    }
    if (state.dim(0) < 3) {
      return InvalidArgument("For the Philox algorithm, the size of state must be at least 3; got ", state.dim(0));
    }
    WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(before), Address(state), before.num_bytes()));
    return Launch(ctx, {kSource, "AdvanceState"}, {.grid = 1, .block = 1}, Address(state), blocks);
  });
}

// RngReadAndSkip and RngSkip: a delta counts outputs.
class SkipKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(random::CheckGeneratorAlgorithm(ctx.input(1)));
    const Tensor& delta = ctx.input(2);
    if (!delta.shape().IsScalar()) {
      return InvalidArgument("delta must be of shape [], not ", delta.shape().ToString());
    }
    const auto outputs = static_cast<uint64_t>(IntegerBound(delta));
    WEIR_ASSIGN_OR_RETURN(Tensor before, ctx.AllocateTemp(DType::kInt64, Shape({3})));
    WEIR_RETURN_IF_ERROR(AdvanceGenerator(ctx, outputs * random::kBlocksPerOutput, before));
    if (ctx.num_outputs() > 0) ctx.set_output(0, std::move(before));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class RandomKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, Distribution distribution) {
    auto kernel = std::make_unique<RandomKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    kernel->distribution_ = distribution;
    kernel->shape_ = init.schema().FindInput("shape");
    kernel->minval_ = init.schema().FindInput("minval");
    kernel->maxval_ = init.schema().FindInput("maxval");
    kernel->algorithm_ = init.schema().FindInput("algorithm");
    kernel->has_generator_ = init.schema().FindInput("resource") >= 0;
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(shape_), "shape"));
    int64_t minval = 0, maxval = 0;
    if (distribution_ == Distribution::kInteger) {
      for (int i : {minval_, maxval_}) {
        if (!ctx.input(i).shape().IsScalar()) {
          return InvalidArgument(i == minval_ ? "minval" : "maxval", " must be 0-D, got shape ",
                                 ctx.input(i).shape().ToString());
        }
      }
      minval = IntegerBound(ctx.input(minval_));
      maxval = IntegerBound(ctx.input(maxval_));
      if (minval >= maxval && shape.num_elements() > 0) {
        return InvalidArgument("Need minval < maxval, got ", minval, " >= ", maxval);
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t n = shape.num_elements();
    Tensor state;
    WEIR_ASSIGN_OR_RETURN(Start start, Reserve(ctx, static_cast<uint64_t>(n) * random::kBlocksPerOutput, state));
    const std::string_view type = DeviceTypeName(out->dtype());
    const int64_t group = SizeOf(out->dtype()) == 8 ? 2 : 4, groups = (n + group - 1) / group;
    switch (distribution_) {
      case Distribution::kUniform:
      case Distribution::kNormal:
      case Distribution::kFullInteger: {
        const char* values = distribution_ == Distribution::kUniform  ? "UniformValues"
                             : distribution_ == Distribution::kNormal ? "NormalValues"
                                                                      : "FullIntegers";
        return LaunchOver(ctx, {kSource, Cat("FillBlocks<", type, ", ", values, ">")}, groups, start, Address(*out), n);
      }
      case Distribution::kInteger: {
        const char* bits = SizeOf(out->dtype()) == 8 ? "uint64" : "uint32";
        return LaunchOver(ctx, {kSource, Cat("FillIntegers<", type, ", ", bits, ">")}, groups, start, Address(*out), n,
                          minval, maxval);
      }
      case Distribution::kTruncatedNormal: {
        const auto blocks = static_cast<int64_t>(random::kBlocksPerOutput) * group / 4;
        return LaunchOver(ctx, {kSource, Cat("FillTruncatedNormal<", type, ">")}, groups, start, Address(*out), n,
                          blocks);
      }
    }
    return OkStatus();
  }

  // A replay draws where its recording's kernel would have.
  bool is_repeatable() const override { return source_.is_own(); }

 private:
  StatusOr<Start> Reserve(KernelContext& ctx, uint64_t blocks, Tensor& copy) {
    if (source_.is_own() && RunOf(ctx).is_recording()) {
      WEIR_ASSIGN_OR_RETURN(const DeviceAddress state, RecordWords(ctx, [this, blocks] {
                              const Philox next = source_.ReserveOwn(blocks);
                              return RecordedWords{next.counter_low(), next.counter_high(), next.key()};
                            }));
      return Start{0, 0, 0, state};
    }
    if (!has_generator_) {
      WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, blocks));
      return Start{philox.key(), philox.counter_low(), philox.counter_high(), 0};
    }
    if (algorithm_ >= 0) WEIR_RETURN_IF_ERROR(random::CheckGeneratorAlgorithm(ctx.input(algorithm_)));
    WEIR_ASSIGN_OR_RETURN(copy, ctx.AllocateTemp(DType::kInt64, Shape({3})));
    WEIR_RETURN_IF_ERROR(AdvanceGenerator(ctx, blocks, copy));
    return Start{0, 0, 0, Address(copy)};
  }

  random::PhiloxSource source_;
  Distribution distribution_ = Distribution::kUniform;
  int shape_ = -1, minval_ = -1, maxval_ = -1, algorithm_ = -1;
  bool has_generator_ = false;
};

}  // namespace

void RegisterRandomKernels(GpuRegistry& registry) {
  const std::pair<const char*, Distribution> ops[] = {
      {"RandomUniform", Distribution::kUniform},
      {"StatelessRandomUniform", Distribution::kUniform},
      {"StatelessRandomUniformV2", Distribution::kUniform},
      {"StatefulUniform", Distribution::kUniform},
      {"RandomStandardNormal", Distribution::kNormal},
      {"StatelessRandomNormal", Distribution::kNormal},
      {"StatelessRandomNormalV2", Distribution::kNormal},
      {"StatefulStandardNormalV2", Distribution::kNormal},
      {"TruncatedNormal", Distribution::kTruncatedNormal},
      {"StatelessTruncatedNormal", Distribution::kTruncatedNormal},
      {"StatelessTruncatedNormalV2", Distribution::kTruncatedNormal},
      {"StatefulTruncatedNormal", Distribution::kTruncatedNormal},
      {"RandomUniformInt", Distribution::kInteger},
      {"StatelessRandomUniformInt", Distribution::kInteger},
      {"StatelessRandomUniformIntV2", Distribution::kInteger},
      {"StatefulUniformInt", Distribution::kInteger},
      {"StatelessRandomUniformFullInt", Distribution::kFullInteger},
      {"StatelessRandomUniformFullIntV2", Distribution::kFullInteger},
      {"StatefulUniformFullInt", Distribution::kFullInteger},
  };
  registry.Add("RngReadAndSkip", MakeKernel<SkipKernel>);
  registry.Add("RngSkip", MakeKernel<SkipKernel>);
  for (auto [op, distribution] : ops) {
    // Key and counter are a few bytes, which the host made.
    registry.Add(
        op, [distribution = distribution](const KernelInit& init) { return RandomKernel::Make(init, distribution); },
        "", {}, {"key", "counter"});
  }
}

}  // namespace weir::cuda
