// CudaDevice as an ElementMover: kernels that only move elements, or add some up, are the host's.
#include <algorithm>
#include <cstring>
#include <limits>

#include "weir/device/cuda/elementwise.h"

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/device/cuda/device_code/move.cuh";
constexpr int kMostDims = 12;
constexpr int64_t kTile = 32;

// As device code declares it.
struct Block {
  int32_t rank = 0;
  int64_t sizes[kMostDims] = {}, from[kMostDims] = {}, to[kMostDims] = {};
};

// The type that is as wide as an element.
std::string_view WordName(size_t size) {
  switch (size) {
    case 1:
      return "uint8";
    case 2:
      return "uint16";
    case 4:
      return "uint32";
    case 8:
      return "uint64";
    default:
      return "Word16";
  }
}

// Whether the block is a batch of matrices that change rows for columns, read along the one and written along the
// other: then a tile goes through shared memory.
bool IsTransposed(const Block& block) {
  if (block.rank < 2) return false;
  const int last = block.rank - 1;
  if (block.to[last] != 1 || block.from[last] == 1) return false;
  for (int d = 0; d < last; ++d) {
    if (block.from[d] == 1 && block.sizes[d] >= kTile / 2) return block.sizes[last] >= kTile / 2;
  }
  return false;
}

// Makes one element of as many neighbours along the last dimension as a load takes, and returns its size.
size_t Widen(Block& block, size_t element_size, DeviceAddress from, DeviceAddress to) {
  if (block.rank == 0) return element_size;
  const int last = block.rank - 1;
  if (block.from[last] != 1 || block.to[last] != 1) return element_size;
  auto fits = [&](int64_t count) {
    const auto bytes = static_cast<size_t>(count) * element_size;
    if (bytes > 16 || block.sizes[last] % count != 0 || from % bytes != 0 || to % bytes != 0) return false;
    for (int d = 0; d < last; ++d) {
      if (block.from[d] % count != 0 || block.to[d] % count != 0) return false;
    }
    return true;
  };
  int64_t count = 1;
  while (fits(2 * count)) count *= 2;
  block.sizes[last] /= count;
  for (int d = 0; d < last; ++d) {
    block.from[d] /= count;
    block.to[d] /= count;
  }
  return element_size * static_cast<size_t>(count);
}

// Whether indices and places fit 32 bits.
bool IsSmall(const Block& block, int64_t n) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t from = 0, to = 0;
  for (int d = 0; d < block.rank; ++d) {
    if (block.from[d] < 0 || block.to[d] < 0) return false;
    from += (block.sizes[d] - 1) * block.from[d];
    to += (block.sizes[d] - 1) * block.to[d];
  }
  // The loop's index may pass n by the size of a grid.
  return n <= kMost && from <= kMost && to <= kMost;
}

}  // namespace

Status CudaDevice::MoveElements(const KernelContext& ctx, size_t element_size, std::span<const int64_t> dims,
                                const void* from, std::span<const int64_t> from_strides, void* to,
                                std::span<const int64_t> to_strides) {
  const auto source = reinterpret_cast<DeviceAddress>(from), target = reinterpret_cast<DeviceAddress>(to);
  if (dims.size() > kMostDims) return Unimplemented("Copies of more than ", kMostDims, " dimensions on a GPU");
  int64_t n = 1;
  Block block;
  block.rank = static_cast<int32_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    block.sizes[d] = dims[d];
    block.from[d] = from_strides[d];
    block.to[d] = to_strides[d];
    n *= dims[d];
  }
  if (n == 0) return OkStatus();
  if (block.rank == 1 && block.from[0] == 1 && block.to[0] == 1) {
    return CopyOnDevice(ctx, target, source, static_cast<size_t>(n) * element_size);
  }
  if (IsTransposed(block)) {
    const int last = block.rank - 1;
    const int other = static_cast<int>(std::find(block.from, block.from + last, 1) - block.from);
    std::swap(block.sizes[other], block.sizes[last - 1]);
    std::swap(block.from[other], block.from[last - 1]);
    std::swap(block.to[other], block.to[last - 1]);
    const int64_t tiles = (block.sizes[last - 1] + kTile - 1) / kTile * ((block.sizes[last] + kTile - 1) / kTile);
    const int64_t matrices = n / (block.sizes[last] * block.sizes[last - 1]);
    const LaunchShape shape{.grid = static_cast<unsigned>(std::min<int64_t>(tiles * matrices, 1 << 20)),
                            .block = static_cast<unsigned>(kTile),
                            .block_y = 8};
    return Launch(ctx, {kSource, Cat("Transpose<", WordName(element_size), ">")}, shape, block, source, target,
                  tiles * matrices);
  }
  const size_t word = Widen(block, element_size, source, target);
  n /= static_cast<int64_t>(word / element_size);
  const std::string_view index = IsSmall(block, n) ? "uint32" : "int64";
  return LaunchOver(ctx, {kSource, Cat("Move<", WordName(word), ", ", index, ">")}, n, block, source, target, n);
}

Status CudaDevice::FillElements(const KernelContext& ctx, size_t element_size, const void* value, void* to, int64_t n) {
  struct alignas(16) {
    char bytes[16] = {};
  } word;
  std::memcpy(word.bytes, value, std::min(element_size, sizeof(word)));
  return LaunchOver(ctx, {kSource, Cat("Fill<", WordName(element_size), ">")}, n, word,
                    reinterpret_cast<DeviceAddress>(to), n);
}

Status CudaDevice::PlaceParts(KernelContext& ctx, size_t element_size, std::span<const Part> parts, void* to) {
  const auto target = reinterpret_cast<DeviceAddress>(to);
  constexpr size_t kFew = 4;  // copies that are faster than a table for a kernel
  if (parts.size() <= kFew) {
    for (const Part& part : parts) {
      const size_t bytes = static_cast<size_t>(part.count) * element_size;
      if (bytes == 0) continue;
      WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, target + static_cast<size_t>(part.begin) * element_size,
                                        reinterpret_cast<DeviceAddress>(part.from), bytes));
    }
    return OkStatus();
  }
  const int64_t first = parts.front().begin, n = parts.back().begin + parts.back().count - first;
  WEIR_ASSIGN_OR_RETURN(Tensor table, Upload(ctx, parts.data(), parts.size_bytes()));
  return LaunchOver(ctx, {kSource, Cat("PlaceParts<", WordName(element_size), ">")}, n, Address(table),
                    static_cast<int64_t>(parts.size()), first, target, n);
}

Status CudaDevice::AddElements(KernelContext& ctx, const Tensor& a, const Tensor& b, Tensor& to) {
  const DType dtype = to.dtype();
  const ElementwiseFunction sum({.inputs = {dtype, dtype}, .steps = {{"AddV2", {0, 1}, dtype, dtype}}, .outputs = {2}});
  const ElementwiseOperand operands[] = {ElementwiseOperand(a), ElementwiseOperand(b)};
  Tensor* const outputs[] = {&to};
  return sum.Run(ctx, operands, to.shape(), outputs);
}

Status CudaDevice::ClearBytes(const KernelContext& ctx, void* to, size_t bytes) {
  return FillZero(ctx, reinterpret_cast<DeviceAddress>(to), bytes);
}

}  // namespace weir::cuda
