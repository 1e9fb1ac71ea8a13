// Where a node's random stream comes from, told by its schema: attributes seed and seed2 (the kernel keeps the state),
// a generator variable, a seed, or a key and counter.
#ifndef WEIR_OPS_RANDOM_PHILOX_SOURCE_H_
#define WEIR_OPS_RANDOM_PHILOX_SOURCE_H_

#include "absl/synchronization/mutex.h"
#include "weir/base/philox.h"
#include "weir/framework/kernel.h"

namespace weir::random {

// Blocks set aside for each output, used or not.
inline constexpr uint64_t kBlocksPerOutput = 256;

// Key and counter of a seed of two numbers.
Philox FromStatelessSeed(uint64_t seed, uint64_t seed2);
// Input `i`, two integers, as such. INVALID_ARGUMENT if it is not.
StatusOr<Philox> StatelessSeedInput(const KernelContext& ctx, int i);
// The state of a generator variable moved on by `blocks`; gives the state before, as int64 [counter, counter, key].
// With `spare_shared` a variable whose memory another value shares, such as the constant that it began with, stays as
// it is.
StatusOr<std::array<int64_t, 3>> AdvanceGenerator(KernelContext& ctx, int input, uint64_t blocks,
                                                  bool spare_shared = false);
// OK for Philox and "automatic", UNIMPLEMENTED for ThreeFry. `tensor` is a scalar of int32 or int64.
Status CheckGeneratorAlgorithm(const Tensor& tensor);

// Thread-safe.
class PhiloxSource {
 public:
  Status Init(const KernelInit& init);
  // A stream of which the caller may use `blocks` blocks; the next caller's begins behind them.
  // `spare_shared`: as for AdvanceGenerator.
  StatusOr<Philox> Reserve(KernelContext& ctx, uint64_t blocks, bool spare_shared = false);
  // Whether the stream is the kernel's own, which ReserveOwn takes from without a node at hand.
  bool is_own() const { return kind_ == Kind::kSeeds; }
  Philox ReserveOwn(uint64_t blocks);

 private:
  enum class Kind { kSeeds, kStatelessSeed, kKeyAndCounter, kVariable };
  Kind kind_ = Kind::kSeeds;
  int input_ = -1;      // of seed, key or resource
  int counter_ = -1;    // input
  int algorithm_ = -1;  // input
  absl::Mutex mu_;
  Philox state_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::random

#endif  // WEIR_OPS_RANDOM_PHILOX_SOURCE_H_
