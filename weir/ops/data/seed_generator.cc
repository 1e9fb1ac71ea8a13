#include "weir/ops/data/seed_generator.h"

#include <random>

#include "weir/framework/resource_node.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

int64_t Chosen(int64_t seed, int64_t other) {
  if (seed != 0 || other != 0) return seed;
  static std::random_device device;
  return static_cast<int64_t>((static_cast<uint64_t>(device()) << 32) | device());
}

PhiloxNumbers NumbersOf(int64_t seed, int64_t seed2) {
  return PhiloxNumbers(Philox::FromSeeds(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2)));
}

}  // namespace

SeedGenerator::SeedGenerator(int64_t seed, int64_t seed2, bool reshuffle)
    : seed_(Chosen(seed, seed2)),
      seed2_(Chosen(seed2, seed)),
      reshuffle_(reshuffle),
      numbers_(NumbersOf(seed_, seed2_)) {}

SeedGenerator::Seeds SeedGenerator::Next() {
  if (!reshuffle_) return seeds();
  absl::MutexLock lock(&mu_);
  drawn_ += 2;
  const int64_t first = numbers_.Next();
  return {first, numbers_.Next()};
}

int64_t SeedGenerator::drawn() const {
  absl::MutexLock lock(&mu_);
  return drawn_;
}

void SeedGenerator::SetDrawn(int64_t drawn) {
  absl::MutexLock lock(&mu_);
  numbers_ = NumbersOf(seed_, seed2_);
  for (drawn_ = 0; drawn_ < drawn; ++drawn_) numbers_.Next();
}

StatusOr<std::shared_ptr<SeedGenerator>> FindSeedGenerator(DatasetNode& node, bool reshuffle) {
  if (node.HasInput("seed_generator")) {
    WEIR_ASSIGN_OR_RETURN(Tensor handle, node.OneTensor("seed_generator"));
    if (handle.num_elements() != 1) return InvalidArgument("seed_generator must be a scalar");
    const ResourceHandle& key = handle.scalar<ResourceHandle>();
    auto found = key.resource != nullptr && key.resource->type_name() == SeedGenerator::kTypeName
                     ? StatusOr<std::shared_ptr<SeedGenerator>>(std::static_pointer_cast<SeedGenerator>(key.resource))
                     : node.ctx().resources().LookUp<SeedGenerator>(key.container, key.name);
    if (found.ok() || !node.HasInput("seed")) return found;
  }
  WEIR_ASSIGN_OR_RETURN(int64_t seed, node.Scalar<int64_t>("seed"));
  WEIR_ASSIGN_OR_RETURN(int64_t seed2, node.Scalar<int64_t>("seed2"));
  return std::make_shared<SeedGenerator>(seed, seed2, reshuffle);
}

namespace {

class ResourceDeleter : public VariantValue {
 public:
  std::string_view type_name() const override { return "tensorflow::ResourceDeleter"; }
};

// AnonymousSeedGenerator, AnonymousRandomSeedGenerator: a new one each time, alive as long as its handle.
class AnonymousSeedGeneratorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!ctx.input(i).shape().IsScalar()) return InvalidArgument("seeds must be scalars");
    }
    const bool reshuffle = ctx.num_inputs() < 3 || ctx.input(2).scalar<bool>();
    ResourceKey key;
    key.container = ctx.resources().default_container();
    key.name = Cat("AnonymousSeedGenerator", ResourceManager::NextUniqueId());
    ResourceHandle handle = MakeResourceHandle(ctx.device(), key, SeedGenerator::kTypeName);
    handle.resource =
        std::make_shared<SeedGenerator>(ctx.input(0).scalar<int64_t>(), ctx.input(1).scalar<int64_t>(), reshuffle);
    ctx.set_output(0, HandleTensor(std::move(handle)));
    ctx.set_output(1, Tensor::Scalar(Variant(std::shared_ptr<VariantValue>(std::make_shared<ResourceDeleter>()))));
    return OkStatus();
  }
};

// DummySeedGenerator, DummyMemoryCache, DummyIterationCounter: a handle of nothing.
class DummyHandleKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ResourceKey key;
    key.container = ctx.resources().default_container();
    key.name = "dummy";
    ctx.set_output(0, HandleTensor(MakeResourceHandle(ctx.device(), key, "dummy")));
    return OkStatus();
  }
};

// What the handle owns goes with it.
class DeleteHandleKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override { return OkStatus(); }
};

}  // namespace

void RegisterSeedGeneratorKernels(KernelRegistry& registry) {
  for (const char* op : {"AnonymousSeedGenerator", "AnonymousRandomSeedGenerator"}) {
    registry.Add(KernelBuilder(op), MakeKernel<AnonymousSeedGeneratorKernel>);
  }
  for (const char* op : {"DummySeedGenerator", "DummyMemoryCache", "DummyIterationCounter"}) {
    registry.Add(KernelBuilder(op), MakeKernel<DummyHandleKernel>);
  }
  for (const char* op : {"DeleteSeedGenerator", "DeleteRandomSeedGenerator", "DeleteMemoryCache"}) {
    registry.Add(KernelBuilder(op), MakeKernel<DeleteHandleKernel>);
  }
}

}  // namespace weir
