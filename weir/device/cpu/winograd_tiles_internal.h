// The arithmetic of Winograd's method on tiles; when and on which threads it is used is winograd.cc's.
#ifndef WEIR_DEVICE_CPU_WINOGRAD_TILES_INTERNAL_H_
#define WEIR_DEVICE_CPU_WINOGRAD_TILES_INTERNAL_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "weir/device/cpu/contraction.h"

namespace weir::winograd {

inline constexpr int64_t kLanes = 16;  // floats of a vector; channels come in so many
inline constexpr int kPoints = 16;     // of a transformed tile

// The windows of at most three places that one of 3 or 5 is cut into, along one axis. Of one with two places the last
// of the four points of a tile is not needed: its filter is zero there.
struct Pieces {
  int64_t window;
  int count() const { return window > 3 ? 2 : 1; }
  int count_at(int point) const { return window % 3 != 0 && point == 3 ? 1 : count(); }
};

// One convolution of stride 1: what `Convolve` does, and also what makes the gradient by the input.
struct Tiling {
  int64_t batch, in_height, in_width, in_channels, height, width, channels, before_h, before_w;
  Pieces h, w;

  int64_t rows() const { return (height + 1) / 2; }
  int64_t columns() const { return (width + 1) / 2; }
  int64_t tiles() const { return batch * rows() * columns(); }
  // Channels of all pieces, at most and at a point.
  int64_t depth() const { return in_channels * h.count() * w.count(); }
  int64_t depth_at(int point) const { return in_channels * h.count_at(point / 4) * w.count_at(point % 4); }
  // Channels of the result that a product makes at a time.
  int64_t panel() const { return channels % (2 * kLanes) == 0 ? 2 * kLanes : kLanes; }
  // From one point to the next in the transformed filter; a few floats more than needed, or the points of one place
  // would compete for the same lines of the cache.
  int64_t filter_stride() const { return depth() * channels + kLanes; }
  int64_t filter_bytes() const { return kPoints * filter_stride() * static_cast<int64_t>(sizeof(float)); }
  double cost_ns() const {
    constexpr double kOperationsPerNs = 120;  // of one thread
    return 2.0 * kPoints * static_cast<double>(tiles()) * static_cast<double>(depth() * channels) / kOperationsPerNs;
  }
  // Tiles that one thread transforms, multiplies and transforms back before the next ones: what they take is read back
  // soon after it is written.
  int64_t block() const {
    constexpr int64_t kBlockBytes = 640 << 10;
    const int64_t bytes = kPoints * (depth() + channels) * static_cast<int64_t>(sizeof(float));
    return std::clamp<int64_t>(kBlockBytes / bytes, 64, 256);
  }
};

// Whether this processor has the vectors; the rest is for those that have.
bool HasVectors();

// Input channels [begin, end) of the filter [h][w][in][out] to [point][panel][piece, in][panel's channels].
// `is_turned`: the filter is [h][w][out][in] and its window is to be read backwards, as the gradient by the input wants
// it.
void TransformFilter(const Tiling& t, const float* filter, bool is_turned, int64_t begin, int64_t end, float* to);

// Memory for the two functions below, of so many tiles. It is aligned as tensors are.
int64_t BlockFloats(const Tiling& t, int64_t tiles);

// The results of tiles [begin, end), in the order of the images' rows. `filter`: transformed.
void ConvolveTiles(const Tiling& t, const float* input, const float* filter, const Epilogue& epilogue, int64_t begin,
                   int64_t end, float* memory, float* output);

// What tiles [begin, end) add to `sums`, [point][piece, channels of the image][channels of the gradient].
void AccumulateTiles(const Tiling& t, const float* input, const float* gradient, int64_t begin, int64_t end,
                     float* memory, float* sums);

// Channels [begin, end) of the image: adds up what the threads have summed and makes the filter's gradient of it.
void FinishFilter(const Tiling& t, std::span<float* const> sums, int64_t begin, int64_t end, float* to);

}  // namespace weir::winograd

#endif  // WEIR_DEVICE_CPU_WINOGRAD_TILES_INTERNAL_H_
