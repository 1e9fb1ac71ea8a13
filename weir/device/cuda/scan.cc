#include "weir/device/cuda/scan.h"

#include <algorithm>

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/device/cuda/device_code/scan.cuh";
constexpr int64_t kTile = 2048;             // as in device code
constexpr int64_t kEnoughLines = 16 << 10;  // to keep a GPU busy with a thread for each

// As device code declares it.
struct Lines {
  int64_t lines, length, inner, tiles, reverse;
};

}  // namespace

Status ScanLines(KernelContext& ctx, const ScanOptions& options, DType dtype, int64_t outer, int64_t length,
                 int64_t inner, DeviceAddress in, DeviceAddress out) {
  Lines lines{outer * inner, length, inner, (length + kTile - 1) / kTile, options.reverse ? 1 : 0};
  if (lines.lines == 0 || length == 0) return OkStatus();
  const std::string_view type = DeviceTypeName(dtype);
  const std::string tail = Cat(type, ", ", options.operation, ", ", options.exclusive, ">");
  if (length <= 16 || (inner > 1 && lines.lines >= kEnoughLines)) {
    return LaunchOver(ctx, {kSource, Cat("ScanWholeLines<", tail)}, lines.lines, lines, in, out);
  }
  const LaunchShape per_tile{.grid = static_cast<unsigned>(std::min<int64_t>(lines.lines * lines.tiles, 1 << 20))};
  if (lines.tiles == 1) {
    return Launch(ctx, {kSource, Cat("ScanTiles<", tail)}, per_tile, lines, in, DeviceAddress{0}, out);
  }
  const bool is_short = dtype == DType::kHalf || dtype == DType::kBFloat16;
  const DType sum_type = is_short ? DType::kFloat : dtype;
  WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(sum_type, Shape({lines.lines * lines.tiles})));
  WEIR_RETURN_IF_ERROR(
      Launch(ctx, {kSource, Cat("SumTiles<", type, ", ", options.operation, ">")}, per_tile, lines, in, Address(sums)));
  const LaunchShape per_line{.grid = static_cast<unsigned>(std::min<int64_t>(lines.lines, 1 << 20))};
  WEIR_RETURN_IF_ERROR(Launch(ctx, {kSource, Cat("ScanSums<", DeviceTypeName(sum_type), ", ", options.operation, ">")},
                              per_line, lines, Address(sums)));
  return Launch(ctx, {kSource, Cat("ScanTiles<", tail)}, per_tile, lines, in, Address(sums), out);
}

}  // namespace weir::cuda
