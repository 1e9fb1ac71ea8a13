// RandomIndexShuffle: where an index goes in a random permutation of [0, max_index], without making the permutation.
// The permutation is a few rounds of the block cipher Simon, repeated until the result lies in the range.
#include <array>
#include <bit>
#include <vector>

#include "weir/device/cpu/index_input.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

class Cipher {
 public:
  Cipher(const std::array<uint32_t, 3>& key, uint64_t max_index, int64_t rounds) : max_index_(max_index) {
    int bits = max_index <= 1 ? 0 : static_cast<int>(std::bit_width(max_index - 1));
    bits = std::max(bits + bits % 2, 16);
    half_ = bits / 2;
    mask_ = (uint64_t{1} << half_) - 1;
    uint64_t z = 0x7369f885192c0ef5u & mask_;
    for (uint32_t word : key) keys_.push_back(word & mask_);
    for (int64_t i = 3; i < rounds; ++i, z >>= 1) {
      const uint64_t last = keys_[i - 1];
      keys_.push_back((0xfffffffcu & mask_) ^ (z & 1) ^ keys_[i - 3] ^ RotateRight(last, 3) ^ RotateRight(last, 4));
    }
    if (keys_.size() % 2 != 0) keys_.push_back(0);
  }
  uint64_t Shuffle(uint64_t index) const {
    do {
      uint64_t left = index >> half_ & mask_, right = index & mask_;
      for (size_t i = 0; i < keys_.size(); i += 2) {
        left ^= Mix(right) ^ keys_[i];
        right ^= Mix(left) ^ keys_[i + 1];
      }
      index = left << half_ | right;
    } while (index > max_index_);
    return index;
  }

 private:
  uint64_t RotateLeft(uint64_t x, int r) const { return (x << r | x >> (half_ - r)) & mask_; }
  uint64_t RotateRight(uint64_t x, int r) const { return (x >> r | x << (half_ - r)) & mask_; }
  uint64_t Mix(uint64_t x) const { return (RotateLeft(x, 1) & RotateLeft(x, 8)) ^ RotateLeft(x, 2); }

  uint64_t max_index_, mask_;
  int half_;
  std::vector<uint64_t> keys_;
};

class IndexShuffleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<IndexShuffleKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->rounds_, init.Attr<int64_t>("rounds"));
    if (kernel->rounds_ < 1 || kernel->rounds_ > 1000) {
      return InvalidArgument("rounds must be in [1, 1000], got ", kernel->rounds_);
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &index = ctx.input(0), &seed = ctx.input(1), &max_index = ctx.input(2);
    int64_t n = 1;
    for (const Tensor* tensor : {&index, &max_index}) {
      if (tensor->rank() > 1) return InvalidArgument("Index bust be a scalar or vector.");
      if (tensor->rank() == 1) n = std::max(n, tensor->dim(0));
    }
    if (seed.rank() == 2) n = std::max(n, seed.dim(0));
    if ((seed.rank() != 1 && seed.rank() != 2) || seed.dim(seed.rank() - 1) != 3) {
      return InvalidArgument("Seed must be a vector of size [3] or a matrix of size [", n, ", 3] but got ",
                             seed.shape().ToString(), ".");
    }
    const bool is_scalar = index.rank() == 0 && max_index.rank() == 0 && seed.rank() == 1;
    for (const Tensor* tensor : {&index, &max_index}) {
      if (tensor->rank() == 1 && tensor->dim(0) != n) return InvalidArgument("Index bust be a scalar or vector.");
    }
    if (seed.rank() == 2 && seed.dim(0) != n) return InvalidArgument("Index bust be a scalar or vector.");
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, is_scalar ? Shape() : Shape({n})));
    WEIR_ASSIGN_OR_RETURN(std::vector<uint64_t> keys, Words(seed));
    Status status;
    DispatchDType(index.dtype(), TypeList<int32_t, uint32_t, int64_t, uint64_t>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < n && status.ok(); ++i) {
        const T at = index.data<T>()[index.rank() == 0 ? 0 : i],
                max = max_index.data<T>()[max_index.rank() == 0 ? 0 : i];
        if (std::is_signed_v<T> && at < T(0)) {
          status = InvalidArgument("index must be >= 0 but was ", at);
        } else if (max < at) {
          status = InvalidArgument("max_index must be >= index, but ", max, " < ", at);
        } else {
          const uint64_t* key = keys.data() + (seed.rank() == 1 ? 0 : 3 * i);
          const Cipher cipher(
              {static_cast<uint32_t>(key[0]), static_cast<uint32_t>(key[1]), static_cast<uint32_t>(key[2])},
              static_cast<uint64_t>(max), rounds_);
          out->data<T>()[i] = static_cast<T>(cipher.Shuffle(static_cast<uint64_t>(at)));
        }
      }
    });
    return status;
  }

 private:
  static StatusOr<std::vector<uint64_t>> Words(const Tensor& seed) {
    std::vector<uint64_t> out;
    DispatchDType(seed.dtype(), TypeList<int32_t, uint32_t, int64_t, uint64_t>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T word : seed.span<T>()) out.push_back(static_cast<uint64_t>(word));
    });
    if (static_cast<int64_t>(out.size()) != seed.num_elements()) return InvalidArgument("seed must be of integers");
    return out;
  }
  int64_t rounds_ = 4;
};

}  // namespace

void RegisterIndexShuffleKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RandomIndexShuffle").Types("dtype", TypeList<int32_t, uint32_t, int64_t, uint64_t>{}),
               MakeKernel<IndexShuffleKernel>);
}

}  // namespace weir
