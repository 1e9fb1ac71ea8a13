#include "weir/ops/random/philox_source.h"

#include "weir/resources/variable.h"

namespace weir::random {
namespace {

constexpr int64_t kPhilox = 1;
constexpr int64_t kThreeFry = 2;
constexpr int64_t kAutomatic = 3;

uint64_t Word(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

StatusOr<int64_t> Algorithm(const Tensor& tensor) {
  if (!tensor.shape().IsScalar()) {
    return InvalidArgument("algorithm must be of shape [], not ", tensor.shape().ToString());
  }
  return tensor.dtype() == DType::kInt32 ? tensor.scalar<int32_t>() : tensor.scalar<int64_t>();
}

Status Unsupported(int64_t algorithm) { return InvalidArgument("Unsupported algorithm id: ", algorithm); }

// Of unknown algorithms TensorFlow complains about the counter first, whose length it takes their number for.
StatusOr<Philox> KeyAndCounterInput(const Tensor& key, const Tensor& counter, int64_t algorithm) {
  if (key.shape() != Shape{1}) {
    return InvalidArgument("key must have shape [1], not ", key.shape().ToString(),
                           ". (Note that batched keys are not supported yet.)");
  }
  const bool is_philox = algorithm == kPhilox || algorithm == kAutomatic;
  const int64_t length = is_philox ? 2 : algorithm;
  if (!counter.shape().IsVector() || counter.dim(0) < length) {
    return InvalidArgument("counter must be a vector with length at least ", length,
                           "; got shape: ", counter.shape().ToString(),
                           ". (Note that batched counters are not supported yet.)");
  }
  if (!is_philox) return Unsupported(algorithm);
  const uint64_t* words = counter.data<uint64_t>();
  return Philox(key.scalar<uint64_t>(), words[0], words[1]);
}

}  // namespace

Philox FromStatelessSeed(uint64_t seed, uint64_t seed2) {
  Philox::Block mixed = Philox(Word(0x3ec8f720, 0x02461e29), seed, seed2).Next();
  return Philox(Word(mixed[0], mixed[1]), 0, Word(mixed[2], mixed[3]));
}

StatusOr<Philox> StatelessSeedInput(const KernelContext& ctx, int i) {
  const Tensor& seed = ctx.input(i);
  if (seed.shape() != Shape{2}) return InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
  uint64_t words[2] = {};
  bool known = DispatchDType(seed.dtype(), TypeList<int32_t, int64_t, uint32_t, uint64_t>{}, [&](auto tag) {
    auto values = seed.span<typename decltype(tag)::type>();
    for (int k = 0; k < 2; ++k) words[k] = static_cast<uint64_t>(values[k]);
  });
  if (!known) return InvalidArgument("seed must be an integer tensor, got ", Name(seed.dtype()));
  return FromStatelessSeed(words[0], words[1]);
}

Status CheckGeneratorAlgorithm(const Tensor& tensor) {
  WEIR_ASSIGN_OR_RETURN(int64_t id, Algorithm(tensor));
  if (id == kPhilox || id == kAutomatic) return OkStatus();
  if (id == kThreeFry) return Unimplemented("Non-XLA devices don't support the ThreeFry algorithm.");
  return Unsupported(id);
}

StatusOr<std::array<int64_t, 3>> AdvanceGenerator(KernelContext& ctx, int input, uint64_t blocks, bool spare_shared) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, LookUpResource<VariableResource>(ctx, input));
  absl::MutexLock lock(&variable->mu);
  Tensor& tensor = variable->tensor;
  if (!tensor.has_value()) {
    const ResourceHandle& handle = ctx.input(input).scalar<ResourceHandle>();
    return UninitializedVariable(handle.container, handle.name);
  }
  if (tensor.dtype() != DType::kInt64) {
    return InvalidArgument("dtype of RNG state variable must be int64, not ", Name(tensor.dtype()));
  }
  if (!tensor.shape().IsVector()) {
    return InvalidArgument("RNG state must have one and only one dimension, not ", tensor.rank());
  }
  if (tensor.dim(0) < 3) {
    return InvalidArgument("For the Philox algorithm, the size of state must be at least 3; got ", tensor.dim(0));
  }
  const bool is_spared = spare_shared && !tensor.unique();
  WEIR_RETURN_IF_ERROR(variable->MakeWritable(ctx.device().allocator()));
  int64_t* words = tensor.data<int64_t>();
  std::array<int64_t, 3> before = {words[0], words[1], words[2]};
  if (is_spared) return before;
  const uint64_t low = static_cast<uint64_t>(words[0]) + blocks;
  // TensorFlow adds 32 bits at a time: a carry into upper bits that are all ones is lost.
  const bool is_lost = blocks >> 32 == 0xffffffffu && static_cast<uint32_t>(low) < static_cast<uint32_t>(blocks);
  if (low < blocks && !is_lost) words[1] = static_cast<int64_t>(static_cast<uint64_t>(words[1]) + 1);
  words[0] = static_cast<int64_t>(low);
  return before;
}

Status PhiloxSource::Init(const KernelInit& init) {
  const OpSchema& schema = init.schema();
  if (int i = schema.FindInput("seed"); i >= 0) {
    kind_ = Kind::kStatelessSeed;
    input_ = i;
  } else if (i = schema.FindInput("key"); i >= 0) {
    kind_ = Kind::kKeyAndCounter;
    input_ = i;
    counter_ = schema.FindInput("counter");
    algorithm_ = schema.FindInput("alg");
  } else if (i = schema.FindInput("resource"); i >= 0) {
    kind_ = Kind::kVariable;
    input_ = i;
    algorithm_ = schema.FindInput("algorithm");
  } else {
    WEIR_ASSIGN_OR_RETURN(int64_t seed, init.Attr<int64_t>("seed"));
    WEIR_ASSIGN_OR_RETURN(int64_t seed2, init.Attr<int64_t>("seed2"));
    absl::MutexLock lock(&mu_);
    state_ = Philox::FromSeeds(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
  }
  return OkStatus();
}

StatusOr<Philox> PhiloxSource::Reserve(KernelContext& ctx, uint64_t blocks, bool spare_shared) {
  switch (kind_) {
    case Kind::kStatelessSeed:
      return StatelessSeedInput(ctx, input_);
    case Kind::kKeyAndCounter: {
      int64_t algorithm = kPhilox;
      if (algorithm_ >= 0) {
        WEIR_ASSIGN_OR_RETURN(algorithm, Algorithm(ctx.input(algorithm_)));
      }
      return KeyAndCounterInput(ctx.input(input_), ctx.input(counter_), algorithm);
    }
    case Kind::kVariable: {
      if (algorithm_ >= 0) WEIR_RETURN_IF_ERROR(CheckGeneratorAlgorithm(ctx.input(algorithm_)));
      WEIR_ASSIGN_OR_RETURN(auto words, AdvanceGenerator(ctx, input_, blocks, spare_shared));
      return Philox(static_cast<uint64_t>(words[2]), static_cast<uint64_t>(words[0]), static_cast<uint64_t>(words[1]));
    }
    case Kind::kSeeds:
      break;
  }
  return ReserveOwn(blocks);
}

Philox PhiloxSource::ReserveOwn(uint64_t blocks) {
  absl::MutexLock lock(&mu_);
  Philox reserved = state_;
  state_.Skip(blocks);
  return reserved;
}

}  // namespace weir::random
