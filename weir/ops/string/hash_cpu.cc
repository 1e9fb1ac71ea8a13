// Buckets that strings fall into.
#include "weir/base/fingerprint.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/map_strings.h"
#include "weir/ops/string/register.h"

namespace weir {
namespace {

using HashFunction = std::function<uint64_t(std::string_view)>;

class HashBucketKernel : public Kernel {
 public:
  HashBucketKernel(HashFunction hash, int64_t buckets) : hash_(std::move(hash)), buckets_(buckets) {}
  Status Compute(KernelContext& ctx) override {
    return MapStrings<int64_t>(
        ctx, [this](const std::string& s) { return static_cast<int64_t>(hash_(s) % static_cast<uint64_t>(buckets_)); });
  }

 private:
  const HashFunction hash_;
  const int64_t buckets_;
};

// REQUIRES of the schema: num_buckets >= 1.
StatusOr<std::unique_ptr<Kernel>> MakeBuckets(const KernelInit& init, HashFunction hash) {
  WEIR_ASSIGN_OR_RETURN(int64_t buckets, init.Attr<int64_t>("num_buckets"));
  if (buckets < 1) return InvalidArgument("num_buckets must be positive, not ", buckets);
  return std::unique_ptr<Kernel>(std::make_unique<HashBucketKernel>(std::move(hash), buckets));
}

StatusOr<std::unique_ptr<Kernel>> MakeStrong(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> key, init.Attr<std::vector<int64_t>>("key"));
  if (key.size() != 2) return InvalidArgument("Key must have 2 elements");
  const std::array<uint64_t, 2> words = {static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])};
  return MakeBuckets(init, [words](std::string_view text) { return SipHash(words, text); });
}

// _TensorToHashBucketFast: of the numbers as decimal text.
class NumberBucketKernel : public Kernel {
 public:
  explicit NumberBucketKernel(int64_t buckets) : buckets_(buckets) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(int64_t buckets, init.Attr<int64_t>("num_buckets"));
    if (buckets < 1) return InvalidArgument("num_buckets must be positive, not ", buckets);
    return std::unique_ptr<Kernel>(std::make_unique<NumberBucketKernel>(buckets));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    DispatchDType(input.dtype(), IntegerTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < input.num_elements(); ++i) {
        const std::string text = std::to_string(input.data<T>()[i]);
        out->data<int64_t>()[i] = static_cast<int64_t>(Fingerprint64(text) % static_cast<uint64_t>(buckets_));
      }
    });
    return OkStatus();
  }

 private:
  const int64_t buckets_;
};

}  // namespace

void RegisterStringHashKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StringToHashBucketFast"),
               [](const KernelInit& init) { return MakeBuckets(init, Fingerprint64); });
  registry.Add(KernelBuilder("StringToHashBucket"), [](const KernelInit& init) {
    return MakeBuckets(init, [](std::string_view text) { return Hash64(text); });
  });
  registry.Add(KernelBuilder("StringToHashBucketStrong"), MakeStrong);
  registry.Add(KernelBuilder("_TensorToHashBucketFast").Types("T", IntegerTypes{}), MakeKernel<NumberBucketKernel>);
}

}  // namespace weir
