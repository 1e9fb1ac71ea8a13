#include <array>
#include <utility>

#include "weir/device/cpu/vector.h"
#include "weir/device/cpu/winograd_tiles_internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WEIR_AVX512 __attribute__((target("avx512f")))
#if !defined(__clang__)
// GCC's own intrinsics begin with a vector that they leave undefined.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#endif

namespace weir::winograd {

#if defined(__x86_64__)
namespace {

// [3][3] vectors to 16; where each goes is given, null if nowhere.
WEIR_AVX512 inline void TransformTaps(const __m512 (&tap)[3][3], float* const (&to)[kPoints]) {
  const __m512 half = _mm512_set1_ps(0.5f);
  __m512 rows[4][3];
  WEIR_UNROLL
  for (int j = 0; j < 3; ++j) {
    const __m512 ends = _mm512_add_ps(tap[0][j], tap[2][j]);
    rows[0][j] = tap[0][j];
    rows[1][j] = _mm512_mul_ps(half, _mm512_add_ps(ends, tap[1][j]));
    rows[2][j] = _mm512_mul_ps(half, _mm512_sub_ps(ends, tap[1][j]));
    rows[3][j] = tap[2][j];
  }
  WEIR_UNROLL
  for (int i = 0; i < 4; ++i) {
    const __m512 ends = _mm512_add_ps(rows[i][0], rows[i][2]);
    const __m512 results[4] = {rows[i][0], _mm512_mul_ps(half, _mm512_add_ps(ends, rows[i][1])),
                               _mm512_mul_ps(half, _mm512_sub_ps(ends, rows[i][1])), rows[i][2]};
    WEIR_UNROLL
    for (int j = 0; j < 4; ++j) {
      if (to[4 * i + j] != nullptr) _mm512_storeu_ps(to[4 * i + j], results[j]);
    }
  }
}

// Two columns of 4 elements of a row of tiles, transformed along the height.
struct Rows {
  const float* at[4];
  bool is_there[4];
};
WEIR_AVX512 inline void TransformColumn(const Tiling& t, const Rows& rows, int64_t x, __m512 (&out)[4]) {
  __m512 in[4];
  if (x < 0 || x >= t.in_width) {
    WEIR_UNROLL
    for (int i = 0; i < 4; ++i) out[i] = _mm512_setzero_ps();
    return;
  }
  WEIR_UNROLL
  for (int i = 0; i < 4; ++i) {
    in[i] = rows.is_there[i] ? _mm512_loadu_ps(rows.at[i] + x * t.in_channels) : _mm512_setzero_ps();
  }
  out[0] = _mm512_sub_ps(in[0], in[2]);
  out[1] = _mm512_add_ps(in[1], in[2]);
  out[2] = _mm512_sub_ps(in[2], in[1]);
  out[3] = _mm512_sub_ps(in[1], in[3]);
}

// One piece of `count` tiles of one row from column `first` on, to [point][piece, channels / 16][tile][16].
WEIR_AVX512 void TransformInput(const Tiling& t, const float* image, int piece, int64_t row, int64_t first,
                                int64_t count, float* to, int64_t point_stride, int64_t lane_stride) {
  const int at_h = piece / t.w.count(), at_w = piece % t.w.count();
  const int64_t y = 2 * row - t.before_h + 3 * at_h;
  float* points[kPoints];
  for (int p = 0; p < kPoints; ++p) {
    const int columns = t.w.count_at(p % 4);
    const int64_t slot = (at_h * columns + at_w) * (t.in_channels / kLanes);
    const bool is_used = at_h < t.h.count_at(p / 4) && at_w < columns;
    points[p] = is_used ? to + p * point_stride + slot * lane_stride : nullptr;
  }
  for (int64_t c = 0; c < t.in_channels; c += kLanes) {
    Rows rows;
    for (int i = 0; i < 4; ++i) {
      rows.is_there[i] = y + i >= 0 && y + i < t.in_height;
      rows.at[i] = rows.is_there[i] ? image + (y + i) * t.in_width * t.in_channels + c : image;
    }
    int64_t x = 2 * first - t.before_w + 3 * at_w;
    __m512 columns[4][4];
    TransformColumn(t, rows, x, columns[0]);
    TransformColumn(t, rows, x + 1, columns[1]);
    int64_t at = c / kLanes * lane_stride;
    for (int64_t i = 0; i < count; ++i, x += 2, at += kLanes) {
      TransformColumn(t, rows, x + 2, columns[2]);
      TransformColumn(t, rows, x + 3, columns[3]);
      WEIR_UNROLL
      for (int r = 0; r < 4; ++r) {
        if (points[4 * r] != nullptr) {
          _mm512_store_ps(points[4 * r] + at, _mm512_sub_ps(columns[0][r], columns[2][r]));
          _mm512_store_ps(points[4 * r + 1] + at, _mm512_add_ps(columns[1][r], columns[2][r]));
          _mm512_store_ps(points[4 * r + 2] + at, _mm512_sub_ps(columns[2][r], columns[1][r]));
          if (points[4 * r + 3] != nullptr) {
            _mm512_store_ps(points[4 * r + 3] + at, _mm512_sub_ps(columns[1][r], columns[3][r]));
          }
        }
        columns[0][r] = columns[2][r];
        columns[1][r] = columns[3][r];
      }
    }
  }
}

// kTiles rows of [tile][channels] times a panel of the filter, kVectors vectors wide.
template <int kTiles, int kVectors>
WEIR_AVX512 void Multiply(const float* tiles, int64_t lane_stride, const float* panel, int64_t channels, float* to,
                          int64_t vector_stride) {
  __m512 sums[kTiles][kVectors];
  WEIR_UNROLL
  for (int i = 0; i < kTiles * kVectors; ++i) sums[i / kVectors][i % kVectors] = _mm512_setzero_ps();
  for (int64_t first = 0; first < channels; first += kLanes, tiles += lane_stride) {
    for (int c = 0; c < kLanes; ++c, panel += kLanes * kVectors) {
      __m512 weights[kVectors];
      WEIR_UNROLL
      for (int j = 0; j < kVectors; ++j) weights[j] = _mm512_loadu_ps(panel + kLanes * j);
      WEIR_UNROLL
      for (int i = 0; i < kTiles; ++i) {
        const __m512 element = _mm512_set1_ps(tiles[i * kLanes + c]);
        WEIR_UNROLL
        for (int j = 0; j < kVectors; ++j) sums[i][j] = _mm512_fmadd_ps(element, weights[j], sums[i][j]);
      }
    }
  }
  WEIR_UNROLL
  for (int i = 0; i < kTiles * kVectors; ++i) {
    _mm512_store_ps(to + i / kVectors * kLanes + i % kVectors * vector_stride, sums[i / kVectors][i % kVectors]);
  }
}
using Product = void (*)(const float*, int64_t, const float*, int64_t, float*, int64_t);
// By the number of tiles, from one on.
template <int kVectors, int... kTiles>
constexpr std::array<Product, sizeof...(kTiles)> Products(std::integer_sequence<int, kTiles...>) {
  return {Multiply<kTiles + 1, kVectors>...};
}
// As many sums as there are registers beside the operands.
constexpr auto kNarrowProducts = Products<1>(std::make_integer_sequence<int, 28>());
constexpr auto kWideProducts = Products<2>(std::make_integer_sequence<int, 14>());

// One tile of [point][channels / 16][tile][16] to the result, and what is done to it there.
WEIR_AVX512 void TransformOutput(const Tiling& t, const float* from, int64_t point_stride, int64_t lane_stride,
                                 const Epilogue& epilogue, int64_t row, int64_t column, int64_t image, float* output) {
  const int64_t y = 2 * row, x = 2 * column;
  const int rows = y + 1 < t.height ? 2 : 1, columns = x + 1 < t.width ? 2 : 1;
  const int64_t corner = ((image * t.height + y) * t.width + x) * t.channels;
  for (int64_t c = 0; c < t.channels; c += kLanes, from += lane_stride) {
    __m512 lines[2][4];
    WEIR_UNROLL
    for (int j = 0; j < 4; ++j) {
      __m512 p[4];
      WEIR_UNROLL
      for (int i = 0; i < 4; ++i) p[i] = _mm512_load_ps(from + (4 * i + j) * point_stride);
      lines[0][j] = _mm512_add_ps(_mm512_add_ps(p[0], p[1]), p[2]);
      lines[1][j] = _mm512_sub_ps(_mm512_sub_ps(p[1], p[2]), p[3]);
    }
    __m512 results[2][2];
    WEIR_UNROLL
    for (int i = 0; i < 2; ++i) {
      results[i][0] = _mm512_add_ps(_mm512_add_ps(lines[i][0], lines[i][1]), lines[i][2]);
      results[i][1] = _mm512_sub_ps(_mm512_sub_ps(lines[i][1], lines[i][2]), lines[i][3]);
    }
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        const int64_t at = corner + (i * t.width + j) * t.channels + c;
        __m512 value = results[i][j];
        if (epilogue.scale != nullptr) value = _mm512_mul_ps(value, _mm512_loadu_ps(epilogue.scale + c));
        if (epilogue.bias != nullptr) value = _mm512_add_ps(value, _mm512_loadu_ps(epilogue.bias + c));
        if (epilogue.addend != nullptr) value = _mm512_add_ps(value, _mm512_loadu_ps(epilogue.addend + at));
        if (epilogue.relu) value = _mm512_max_ps(value, _mm512_setzero_ps());
        _mm512_storeu_ps(output + at, value);
      }
    }
  }
}

// Tiles [begin, end) in the order of the images' rows, as runs within a row: body(image, row, first column, how many,
// where in a vector of tiles).
template <typename Body>
void ForRows(const Tiling& t, int64_t begin, int64_t end, Body body) {
  for (int64_t tile = begin; tile < end;) {
    const int64_t column = tile % t.columns(), here = std::min(end - tile, t.columns() - column);
    body(tile / (t.columns() * t.rows()), tile / t.columns() % t.rows(), column, here, (tile - begin) * kLanes);
    tile += here;
  }
}
void TransformPieces(const Tiling& t, const float* input, int64_t image, int64_t row, int64_t column, int64_t count,
                     float* to, int64_t point_stride, int64_t lane_stride) {
  input += image * t.in_height * t.in_width * t.in_channels;
  for (int piece = 0; piece < t.h.count() * t.w.count(); ++piece) {
    TransformInput(t, input, piece, row, column, count, to, point_stride, lane_stride);
  }
}

// The gradients of `count` tiles of one row from column `first` on, to [point][channels / 16][tile][16]. What the
// transform halves is halved at the end.
WEIR_AVX512 void TransformGradient(const Tiling& t, const float* gradient, int64_t row, int64_t first, int64_t count,
                                   float* to, int64_t point_stride, int64_t lane_stride) {
  const bool has_second_row = 2 * row + 1 < t.height;
  for (int64_t c = 0; c < t.channels; c += kLanes) {
    const float* line = gradient + 2 * row * t.width * t.channels + c;
    float* tile = to + c / kLanes * lane_stride;
    for (int64_t i = 0; i < count; ++i, tile += kLanes) {
      const float* at = line + 2 * (first + i) * t.channels;
      const bool has_second = 2 * (first + i) + 1 < t.width;
      const __m512 zero = _mm512_setzero_ps();
      const __m512 corner = _mm512_loadu_ps(at), right = has_second ? _mm512_loadu_ps(at + t.channels) : zero;
      const float* below = at + t.width * t.channels;
      const __m512 low = has_second_row ? _mm512_loadu_ps(below) : zero;
      const __m512 last = has_second_row && has_second ? _mm512_loadu_ps(below + t.channels) : zero;
      const __m512 rows[4][2] = {{corner, right},
                                 {_mm512_add_ps(corner, low), _mm512_add_ps(right, last)},
                                 {_mm512_sub_ps(corner, low), _mm512_sub_ps(right, last)},
                                 {low, last}};
      WEIR_UNROLL
      for (int r = 0; r < 4; ++r) {
        float* point = tile + 4 * r * point_stride;
        _mm512_store_ps(point, rows[r][0]);
        _mm512_store_ps(point + point_stride, _mm512_add_ps(rows[r][0], rows[r][1]));
        _mm512_store_ps(point + 2 * point_stride, _mm512_sub_ps(rows[r][0], rows[r][1]));
        _mm512_store_ps(point + 3 * point_stride, rows[r][1]);
      }
    }
  }
}

// sums[i][...] += the sum over the tiles of element i times kVectors vectors of the gradient.
template <int kElements, int kVectors>
WEIR_AVX512 void Accumulate(const float* elements, const float* gradients, int64_t lane_stride, int64_t count,
                            float* to, int64_t row_stride) {
  __m512 sums[kElements][kVectors];
  WEIR_UNROLL
  for (int i = 0; i < kElements * kVectors; ++i) {
    sums[i / kVectors][i % kVectors] = _mm512_loadu_ps(to + i / kVectors * row_stride + i % kVectors * kLanes);
  }
  for (int64_t tile = 0; tile < count; ++tile, elements += kLanes, gradients += kLanes) {
    __m512 gradient[kVectors];
    WEIR_UNROLL
    for (int j = 0; j < kVectors; ++j) gradient[j] = _mm512_load_ps(gradients + j * lane_stride);
    WEIR_UNROLL
    for (int i = 0; i < kElements; ++i) {
      const __m512 element = _mm512_set1_ps(elements[i]);
      WEIR_UNROLL
      for (int j = 0; j < kVectors; ++j) sums[i][j] = _mm512_fmadd_ps(element, gradient[j], sums[i][j]);
    }
  }
  WEIR_UNROLL
  for (int i = 0; i < kElements * kVectors; ++i) {
    _mm512_storeu_ps(to + i / kVectors * row_stride + i % kVectors * kLanes, sums[i / kVectors][i % kVectors]);
  }
}

}  // namespace

bool HasVectors() {
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
}

WEIR_AVX512 void TransformFilter(const Tiling& t, const float* filter, bool is_turned, int64_t begin, int64_t end,
                                 float* to) {
  const int64_t panel = t.panel(), tap_size = t.in_channels * t.channels;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i places = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(t.in_channels)));
  const int64_t last = t.h.window * t.w.window - 1;
  for (int piece = 0; piece < t.h.count() * t.w.count(); ++piece) {
    const int at_h = piece / t.w.count(), at_w = piece % t.w.count();
    for (int64_t in = begin; in < end; ++in) {
      for (int64_t out = 0; out < t.channels; out += kLanes) {
        __m512 tap[3][3];
        WEIR_UNROLL
        for (int i = 0; i < 9; ++i) {
          const int64_t row = 3 * at_h + i / 3, column = 3 * at_w + i % 3;
          const int64_t place = row * t.w.window + column;
          if (row >= t.h.window || column >= t.w.window) {
            tap[i / 3][i % 3] = _mm512_setzero_ps();
          } else if (is_turned) {
            tap[i / 3][i % 3] =
                _mm512_i32gather_ps(places, filter + (last - place) * tap_size + out * t.in_channels + in, 4);
          } else {
            tap[i / 3][i % 3] = _mm512_loadu_ps(filter + place * tap_size + in * t.channels + out);
          }
        }
        float* points[kPoints];
        for (int p = 0; p < kPoints; ++p) {
          const int columns = t.w.count_at(p % 4);
          const int64_t channel = (at_h * columns + at_w) * t.in_channels + in;
          points[p] = nullptr;
          if (at_h >= t.h.count_at(p / 4) || at_w >= columns) continue;
          points[p] = to + p * t.filter_stride() + out / panel * panel * t.depth_at(p) + channel * panel + out % panel;
        }
        TransformTaps(tap, points);
      }
    }
  }
}

int64_t BlockFloats(const Tiling& t, int64_t tiles) {
  return kPoints * (tiles * (t.depth() + t.channels) + 2 * kLanes);
}
void ConvolveTiles(const Tiling& t, const float* input, const float* filter, const Epilogue& epilogue, int64_t begin,
                   int64_t end, float* memory, float* output) {
  const int64_t count = end - begin, lane_stride = count * kLanes;
  const int64_t in_stride = count * t.depth() + kLanes, out_stride = count * t.channels + kLanes;
  float* products = memory + kPoints * in_stride;
  ForRows(t, begin, end, [&](int64_t image, int64_t row, int64_t column, int64_t here, int64_t offset) {
    TransformPieces(t, input, image, row, column, here, memory + offset, in_stride, lane_stride);
  });
  const int64_t panel = t.panel();
  const bool is_wide = panel == 2 * kLanes;
  const int64_t strip = is_wide ? kWideProducts.size() : kNarrowProducts.size(), strips = (count + strip - 1) / strip;
  for (int point = 0; point < kPoints; ++point) {
    const int64_t depth = t.depth_at(point);
    for (int64_t first = 0; first < t.channels; first += panel) {
      const float* weights = filter + point * t.filter_stride() + first * depth;
      for (int64_t i = 0; i < strips; ++i) {
        const int64_t from = count * i / strips, size = count * (i + 1) / strips - from;
        (is_wide ? kWideProducts[size - 1] : kNarrowProducts[size - 1])(
            memory + point * in_stride + from * kLanes, lane_stride, weights, depth,
            products + point * out_stride + first * count + from * kLanes, lane_stride);
      }
    }
  }
  for (int64_t tile = begin; tile < end; ++tile) {
    TransformOutput(t, products + (tile - begin) * kLanes, out_stride, lane_stride, epilogue,
                    tile / t.columns() % t.rows(), tile % t.columns(), tile / (t.columns() * t.rows()), output);
  }
}

void AccumulateTiles(const Tiling& t, const float* input, const float* gradient, int64_t begin, int64_t end,
                     float* memory, float* sums) {
  const int64_t count = end - begin, lane_stride = count * kLanes;
  const int64_t in_stride = count * t.depth() + kLanes, out_stride = count * t.channels + kLanes;
  float* gradients = memory + kPoints * in_stride;
  ForRows(t, begin, end, [&](int64_t image, int64_t row, int64_t column, int64_t here, int64_t offset) {
    TransformPieces(t, input, image, row, column, here, memory + offset, in_stride, lane_stride);
    TransformGradient(t, gradient + image * t.height * t.width * t.channels, row, column, here, gradients + offset,
                      out_stride, lane_stride);
  });
  const int64_t panel = t.panel();
  constexpr int kHalf = kLanes / 2;
  for (int point = 0; point < kPoints; ++point) {
    for (int64_t channel = 0; channel < t.depth_at(point); channel += kLanes) {
      const float* elements = memory + point * in_stride + channel * count;
      float* rows = sums + point * t.filter_stride() + channel * t.channels;
      for (int64_t first = 0; first < t.channels; first += panel) {
        const float* vectors = gradients + point * out_stride + first * count;
        if (panel == kLanes) {
          Accumulate<kLanes, 1>(elements, vectors, lane_stride, count, rows + first, t.channels);
          continue;
        }
        Accumulate<kHalf, 2>(elements, vectors, lane_stride, count, rows + first, t.channels);
        Accumulate<kHalf, 2>(elements + kHalf, vectors, lane_stride, count, rows + kHalf * t.channels + first,
                             t.channels);
      }
    }
  }
}

WEIR_AVX512 void FinishFilter(const Tiling& t, std::span<float* const> sums, int64_t begin, int64_t end, float* to) {
  const __m512 half = _mm512_set1_ps(0.5f);
  for (int piece = 0; piece < t.h.count() * t.w.count(); ++piece) {
    const int at_h = piece / t.w.count(), at_w = piece % t.w.count();
    for (int64_t in = begin; in < end; ++in) {
      for (int64_t out = 0; out < t.channels; out += kLanes) {
        __m512 points[4][4];
        WEIR_UNROLL
        for (int p = 0; p < kPoints; ++p) {
          const int columns = t.w.count_at(p % 4);
          __m512 sum = _mm512_setzero_ps();
          if (at_h < t.h.count_at(p / 4) && at_w < columns) {
            const int64_t channel = (at_h * columns + at_w) * t.in_channels + in;
            const int64_t at = p * t.filter_stride() + channel * t.channels + out;
            for (const float* part : sums) sum = _mm512_add_ps(sum, _mm512_loadu_ps(part + at));
          }
          points[p / 4][p % 4] = sum;
        }
        __m512 rows[3][4];
        WEIR_UNROLL
        for (int j = 0; j < 4; ++j) {
          const __m512 plus = _mm512_mul_ps(half, _mm512_add_ps(points[1][j], points[2][j]));
          rows[0][j] = _mm512_add_ps(points[0][j], plus);
          rows[1][j] = _mm512_mul_ps(half, _mm512_sub_ps(points[1][j], points[2][j]));
          rows[2][j] = _mm512_sub_ps(plus, points[3][j]);
        }
        WEIR_UNROLL
        for (int i = 0; i < 3; ++i) {
          const __m512 plus = _mm512_mul_ps(half, _mm512_add_ps(rows[i][1], rows[i][2]));
          const __m512 results[3] = {_mm512_add_ps(rows[i][0], plus),
                                     _mm512_mul_ps(half, _mm512_sub_ps(rows[i][1], rows[i][2])),
                                     _mm512_sub_ps(plus, rows[i][3])};
          WEIR_UNROLL
          for (int j = 0; j < 3; ++j) {
            const int64_t row = 3 * at_h + i, column = 3 * at_w + j;
            if (row >= t.h.window || column >= t.w.window) continue;
            const int64_t tap = row * t.w.window + column;
            _mm512_storeu_ps(to + (tap * t.in_channels + in) * t.channels + out, results[j]);
          }
        }
      }
    }
  }
}

#else  // other processors have the library alone

bool HasVectors() { return false; }
void TransformFilter(const Tiling&, const float*, bool, int64_t, int64_t, float*) {}
int64_t BlockFloats(const Tiling&, int64_t) { return 0; }
void ConvolveTiles(const Tiling&, const float*, const float*, const Epilogue&, int64_t, int64_t, float*, float*) {}
void AccumulateTiles(const Tiling&, const float*, const float*, int64_t, int64_t, float*, float*) {}
void FinishFilter(const Tiling&, std::span<float* const>, int64_t, int64_t, float*) {}

#endif

}  // namespace weir::winograd
