#include "weir/collective/quantized_reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace weir::collective {
namespace {

constexpr int64_t kBlock = 256;
constexpr int64_t kBlockBytes = kBlock + static_cast<int64_t>(sizeof(float));

// Writes the scale and the rounded numbers. `left` (may be the input's memory) receives the rounding errors.
void EncodeBlock(std::span<const float> in, uint8_t* out, float* left) {
  float largest = 0;
  bool finite = true;
  for (const float value : in) {
    finite = finite && std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  const float scale = finite ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
  const float inverse = finite && scale > 0 ? 1 / scale : 0;
  std::memcpy(out, &scale, sizeof(scale));
  int8_t* const numbers = reinterpret_cast<int8_t*>(out + sizeof(scale));
  for (size_t i = 0; i < in.size(); ++i) {
    const float rounded = finite ? std::clamp(std::nearbyint(in[i] * inverse), -127.0f, 127.0f) : 0;
    numbers[i] = static_cast<int8_t>(rounded);
    left[i] = finite ? in[i] - rounded * scale : 0;
  }
}

template <typename Store>
void DecodeBlock(const uint8_t* in, size_t count, const Store& store) {
  float scale = 0;
  std::memcpy(&scale, in, sizeof(scale));
  const int8_t* const numbers = reinterpret_cast<const int8_t*>(in + sizeof(scale));
  for (size_t i = 0; i < count; ++i) store(i, static_cast<float>(numbers[i]) * scale);
}

// Block number `block`; the last one may be shorter.
template <typename T>
std::span<T> BlockOf(std::span<T> all, int64_t block) {
  const size_t begin = static_cast<size_t>(block * kBlock);
  return all.subspan(begin, std::min<size_t>(kBlock, all.size() - begin));
}

}  // namespace

// An all-to-all gives every rank the encoded values of its share of the blocks. It adds them up in float, and an
// all-gather distributes the encoded sums. Both encodings round; the errors go into the residual.
Status ReduceQuantized(ProcessGroup& group, const ReduceOptions& options, std::span<float> values,
                       std::span<float> residual) {
  const int64_t blocks = (static_cast<int64_t>(values.size()) + kBlock - 1) / kBlock;
  const int size = group.size();
  // The number of blocks that each rank adds up.
  std::vector<int64_t> shares(size, blocks / size);
  for (int r = 0; r < blocks % size; ++r) ++shares[r];
  int64_t first = 0;
  for (int r = 0; r < group.rank(); ++r) first += shares[r];
  const int64_t own = shares[group.rank()];

  const float before = static_cast<float>(options.prescale);
  WEIR_ASSIGN_OR_RETURN(Tensor encoded, Tensor::Allocate(DType::kUInt8, Shape({blocks, kBlockBytes})));
  std::memset(encoded.raw_data(), 0, encoded.num_bytes());
  for (int64_t b = 0; b < blocks; ++b) {
    const std::span<float> kept = BlockOf(residual, b);
    const std::span<const float> given = BlockOf(values, b);
    for (size_t i = 0; i < kept.size(); ++i) kept[i] += given[i] * before;
    EncodeBlock(kept, encoded.data<uint8_t>() + b * kBlockBytes, kept.data());
  }
  WEIR_ASSIGN_OR_RETURN(Tensor parts, group.AllToAll(encoded, shares));

  const float after =
      static_cast<float>(options.postscale) / (options.op == ReduceOp::kAverage ? static_cast<float>(size) : 1.0f);
  WEIR_ASSIGN_OR_RETURN(Tensor sums, Tensor::Allocate(DType::kUInt8, Shape({own, kBlockBytes})));
  for (int64_t b = 0; b < own; ++b) {
    const std::span<float> kept = BlockOf(residual, first + b);
    float sum[kBlock] = {}, left[kBlock];
    for (int r = 0; r < size; ++r) {
      DecodeBlock(parts.data<uint8_t>() + (r * own + b) * kBlockBytes, kBlock,
                  [&](size_t i, float value) { sum[i] += value; });
    }
    for (float& each : sum) each *= after;
    EncodeBlock(sum, sums.data<uint8_t>() + b * kBlockBytes, left);
    // The rounding error of the sum belongs to this rank.
    for (size_t i = 0; i < kept.size() && after != 0; ++i) kept[i] += left[i] / after;
  }
  WEIR_ASSIGN_OR_RETURN(Tensor all, group.AllGather(sums));
  for (int64_t b = 0; b < blocks; ++b) {
    const std::span<float> into = BlockOf(values, b);
    DecodeBlock(all.data<uint8_t>() + b * kBlockBytes, into.size(), [&](size_t i, float value) { into[i] = value; });
  }
  return OkStatus();
}

}  // namespace weir::collective
