#include "weir/ops/nn/max_pool_places.h"

#include <algorithm>

#include "weir/device/cpu/vector.h"

namespace weir::nn {
namespace {

typedef int32_t Places __attribute__((vector_size(32)));  // of as many channels as Lanes
constexpr int kCount = 4, kBlock = kCount * 8;            // channels that are in registers at once

// The part of a window that is inside the image.
struct Part {
  int64_t top, bottom, left, right;
};

[[gnu::always_inline]] inline void FindBlock(const PoolImage& pool, const Part& part, const float* image,
                                             int32_t* places) {
  Lanes best[kCount];
  Places place[kCount];
  WEIR_UNROLL
  for (int k = 0; k < kCount; ++k) {
    LoadLanes(image + (part.top * pool.w.input + part.left) * pool.channels + k * 8, best[k]);
    place[k] = Places{};
  }
  Places at = {};
  for (int64_t ih = part.top; ih < part.bottom; ++ih) {
    const float* x = image + (ih * pool.w.input + part.left) * pool.channels;
    for (int64_t iw = part.left; iw < part.right; ++iw, x += pool.channels) {
      WEIR_UNROLL
      for (int k = 0; k < kCount; ++k) {
        Lanes value;
        LoadLanes(x + k * 8, value);
        place[k] = value > best[k] ? at : place[k];
        best[k] = value > best[k] ? value : best[k];
      }
      at = at + 1;
    }
  }
  WEIR_UNROLL
  for (int k = 0; k < kCount; ++k) std::memcpy(places + k * 8, &place[k], sizeof(Places));
}

int32_t FindOne(const PoolImage& pool, const Part& part, const float* image) {
  float best = image[(part.top * pool.w.input + part.left) * pool.channels];
  int32_t place = 0, at = 0;
  for (int64_t ih = part.top; ih < part.bottom; ++ih) {
    for (int64_t iw = part.left; iw < part.right; ++iw, ++at) {
      const float value = image[(ih * pool.w.input + iw) * pool.channels];
      place = value > best ? at : place;
      best = value > best ? value : best;
    }
  }
  return place;
}

// The windows that an element at `i` is in: [first, last].
struct Range {
  int64_t first, last;
};
Range WindowsOf(const WindowAxis& axis, int64_t i) {
  const int64_t from_start = i + axis.before;
  const int64_t first = from_start < axis.size ? 0 : (from_start - axis.size) / axis.stride + 1;
  return {first, std::min(axis.output - 1, from_start / axis.stride)};
}

}  // namespace

WEIR_VECTOR void FindPlaces(const PoolImage& pool, const float* image, int32_t* places) {
  for (int64_t oh = 0; oh < pool.h.output; ++oh) {
    for (int64_t ow = 0; ow < pool.w.output; ++ow, places += pool.channels) {
      const Part part = {pool.h.Begin(oh), pool.h.End(oh), pool.w.Begin(ow), pool.w.End(ow)};
      if (part.top >= part.bottom || part.left >= part.right) continue;
      int64_t c = 0;
      for (; c + kBlock <= pool.channels; c += kBlock) FindBlock(pool, part, image + c, places + c);
      for (; c < pool.channels; ++c) places[c] = FindOne(pool, part, image + c);
    }
  }
}

WEIR_VECTOR void GatherByPlaces(const PoolImage& pool, const int32_t* places, const float* gradient, float* to) {
  const int64_t channels = pool.channels;
  for (int64_t ih = 0; ih < pool.h.input; ++ih) {
    const Range rows = WindowsOf(pool.h, ih);
    for (int64_t iw = 0; iw < pool.w.input; ++iw, to += channels) {
      const Range columns = WindowsOf(pool.w, iw);
      int64_t c = 0;
      for (; c + kBlock <= channels; c += kBlock) {
        Lanes sum[kCount];
        WEIR_UNROLL
        for (int k = 0; k < kCount; ++k) sum[k] = Lanes{};
        for (int64_t oh = rows.first; oh <= rows.last; ++oh) {
          for (int64_t ow = columns.first; ow <= columns.last; ++ow) {
            const int64_t left = pool.w.Begin(ow), width = pool.w.End(ow) - left;
            const Places at = Places{} + static_cast<int32_t>((ih - pool.h.Begin(oh)) * width + iw - left);
            const int64_t window = (oh * pool.w.output + ow) * channels + c;
            WEIR_UNROLL
            for (int k = 0; k < kCount; ++k) {
              Places place;
              Lanes dy;
              std::memcpy(&place, places + window + k * 8, sizeof(Places));
              LoadLanes(gradient + window + k * 8, dy);
              sum[k] = sum[k] + (place == at ? dy : Lanes{});
            }
          }
        }
        WEIR_UNROLL
        for (int k = 0; k < kCount; ++k) StoreLanes(sum[k], to + c + k * 8);
      }
      for (; c < channels; ++c) {
        float sum = 0;
        for (int64_t oh = rows.first; oh <= rows.last; ++oh) {
          for (int64_t ow = columns.first; ow <= columns.last; ++ow) {
            const int64_t left = pool.w.Begin(ow), width = pool.w.End(ow) - left;
            const int64_t window = (oh * pool.w.output + ow) * channels + c;
            sum += places[window] == (ih - pool.h.Begin(oh)) * width + iw - left ? gradient[window] : 0;
          }
        }
        to[c] = sum;
      }
    }
  }
}

}  // namespace weir::nn
