#include "weir/device/cuda/sort.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "weir/device/cuda/scan.h"

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/device/cuda/device_code/sort.cuh";
constexpr int64_t kTile = 2048, kDigits = 256;  // as in device code
constexpr int kDigitBits = 8;

}  // namespace

int BitsFor(int64_t limit) { return std::bit_width(static_cast<uint64_t>(limit)); }

StatusOr<SortedKeys> SortKeys(KernelContext& ctx, Tensor keys, int bits) {
  const int64_t n = keys.num_elements();
  if (n >= int64_t{1} << 31) return Unimplemented("Sorting ", n, " elements on a GPU");
  SortedKeys sorted;
  WEIR_ASSIGN_OR_RETURN(sorted.positions, ctx.AllocateTemp(DType::kInt32, Shape({n})));
  sorted.keys = std::move(keys);
  if (n == 0) return sorted;
  if (n <= kTile) {
    const unsigned threads = static_cast<unsigned>(std::clamp<int64_t>((n + 63) / 64 * 32, 32, 1024));
    WEIR_RETURN_IF_ERROR(Launch(ctx, {kSource, "SortFew"}, {.grid = 1, .block = threads}, Address(sorted.keys),
                                Address(sorted.positions), n));
    return sorted;
  }
  const int64_t tiles = (n + kTile - 1) / kTile;
  WEIR_ASSIGN_OR_RETURN(Tensor counts, ctx.AllocateTemp(DType::kInt32, Shape({kDigits * tiles})));
  SortedKeys other;
  WEIR_ASSIGN_OR_RETURN(other.keys, ctx.AllocateTemp(DType::kUInt64, Shape({n})));
  WEIR_ASSIGN_OR_RETURN(other.positions, ctx.AllocateTemp(DType::kInt32, Shape({n})));
  const LaunchShape shape{.grid = static_cast<unsigned>(std::min<int64_t>(tiles, 1 << 20))};
  for (int32_t shift = 0; shift < std::max(bits, 1); shift += kDigitBits) {
    WEIR_RETURN_IF_ERROR(
        Launch(ctx, {kSource, "CountDigits"}, shape, Address(sorted.keys), n, shift, Address(counts), tiles));
    WEIR_RETURN_IF_ERROR(ExclusiveSum(ctx, counts, counts));
    WEIR_RETURN_IF_ERROR(Launch(ctx, {kSource, "MoveKeys"}, shape, Address(sorted.keys),
                                shift == 0 ? DeviceAddress{0} : Address(sorted.positions), n, shift, Address(counts),
                                tiles, Address(other.keys), Address(other.positions)));
    std::swap(sorted, other);
  }
  return sorted;
}

}  // namespace weir::cuda
