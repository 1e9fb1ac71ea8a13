#include "weir/device/cpu/channel_loops.h"

#include <algorithm>
#include <vector>

#include "weir/device/cpu/vector.h"

namespace weir {
namespace {

constexpr int64_t kPiece = 64 * 1024;  // elements that are added up by one thread at a time
constexpr int64_t kWidth = 256;        // the least length of an inner loop

// Few channels make short loops. Several rows are therefore taken as one wide one, with the parameters repeated.
class Tiles {
 public:
  explicit Tiles(ChannelSize size)
      : channels_(size.channels),
        repeats_(std::max<int64_t>(1, std::min(size.rows, kWidth / std::max<int64_t>(1, size.channels)))) {}
  int64_t width() const { return channels_ * repeats_; }
  int64_t repeats() const { return repeats_; }
  std::vector<float> Repeat(const float* parameters) const {
    std::vector<float> out(static_cast<size_t>(width()));
    for (int64_t i = 0; i < repeats_; ++i) std::copy_n(parameters, channels_, out.data() + i * channels_);
    return out;
  }

 private:
  const int64_t channels_, repeats_;
};

// Calls body(first row, rows, width): wide rows, then what is left as narrow ones.
template <typename Body>
void ForTiles(const Tiles& tiles, int64_t channels, int64_t begin, int64_t end, Body body) {
  const int64_t whole = (end - begin) / tiles.repeats();
  body(begin, whole, tiles.width());
  const int64_t done = begin + whole * tiles.repeats();
  if (done < end) body(done, end - done, channels);
}

// Sums of `kSums` quantities a channel; body(first row, rows, width, sums) adds to kSums arrays of `width`.
template <int kSums, typename Body>
void Reduce(const KernelContext& ctx, ChannelSize size, double cost_ns, double* const* out, Body body) {
  const Tiles tiles(size);
  const int64_t piece = std::max<int64_t>(1, kPiece / size.channels), pieces = (size.rows + piece - 1) / piece;
  std::vector<float> partial(static_cast<size_t>(pieces * kSums * size.channels));
  ctx.ParallelFor(pieces, cost_ns * static_cast<double>(piece * size.channels), [&](int64_t begin, int64_t end) {
    std::vector<float> wide(static_cast<size_t>(kSums * tiles.width()));
    for (int64_t p = begin; p < end; ++p) {
      std::fill(wide.begin(), wide.end(), 0.0f);
      ForTiles(tiles, size.channels, p * piece, std::min(size.rows, (p + 1) * piece),
               [&](int64_t first, int64_t rows, int64_t width) {
                 float* sums[kSums];
                 for (int k = 0; k < kSums; ++k) sums[k] = wide.data() + k * tiles.width();
                 body(first, rows, width, sums);
               });
      for (int k = 0; k < kSums; ++k) {
        float* sums = partial.data() + (p * kSums + k) * size.channels;
        for (int64_t i = 0; i < tiles.repeats(); ++i) {
          const float* row = wide.data() + k * tiles.width() + i * size.channels;
          for (int64_t c = 0; c < size.channels; ++c) sums[c] += row[c];
        }
      }
    }
  });
  for (int k = 0; k < kSums; ++k) std::fill_n(out[k], size.channels, 0.0);
  for (int64_t p = 0; p < pieces; ++p) {
    for (int k = 0; k < kSums; ++k) {
      const float* sums = partial.data() + (p * kSums + k) * size.channels;
      for (int64_t c = 0; c < size.channels; ++c) out[k][c] += sums[c];
    }
  }
}

// Calls body(first row, rows, width) over all rows, in parallel.
template <typename Body>
void ForRows(const KernelContext& ctx, ChannelSize size, const Tiles& tiles, double cost_ns, Body body) {
  ctx.ParallelFor(size.rows, cost_ns * static_cast<double>(size.channels),
                  [&](int64_t begin, int64_t end) { ForTiles(tiles, size.channels, begin, end, body); });
}

WEIR_VECTOR void SumRows(const float* x, int64_t rows, int64_t width, float* sums) {
  int64_t r = 0;
  // Four at once, so that the sums are seldom stored and read again.
  for (; r + 4 <= rows; r += 4, x += 4 * width) {
    const float *b = x + width, *c = b + width, *d = c + width;
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) sums[i] += (x[i] + b[i]) + (c[i] + d[i]);
  }
  for (; r < rows; ++r, x += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) sums[i] += x[i];
  }
}

WEIR_VECTOR void SumSquareRows(const float* x, const float* shift, int64_t rows, int64_t width, float* sums,
                               float* squares) {
  for (int64_t r = 0; r < rows; ++r, x += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) {
      const float d = x[i] - shift[i];
      sums[i] += d;
      squares[i] += d * d;
    }
  }
}

WEIR_VECTOR void SumProductRows(const float* dy, const float* x, const float* shift, int64_t rows, int64_t width,
                                float* sums, float* products) {
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) {
      sums[i] += dy[i];
      products[i] += dy[i] * (x[i] - shift[i]);
    }
  }
}

WEIR_VECTOR void SumRectifiedProductRows(const float* dy, const float* output, const float* x, const float* shift,
                                         int64_t rows, int64_t width, float* sums, float* products) {
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, output += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) {
      const float slope = output[i] > 0 ? dy[i] : 0.0f;
      sums[i] += slope;
      products[i] += slope * (x[i] - shift[i]);
    }
  }
}

WEIR_VECTOR void AddRows(const float* x, const float* add, int64_t rows, int64_t width, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) y[i] = x[i] + add[i];
  }
}

WEIR_VECTOR void ScaleRows(const float* x, const float* shift, const float* factor, const float* add, int64_t rows,
                           int64_t width, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) y[i] = (x[i] - shift[i]) * factor[i] + add[i];
  }
}

// NaN stays NaN.
WEIR_VECTOR void ScaleAndRectifyRows(const float* x, const float* shift, const float* factor, const float* add,
                                     int64_t rows, int64_t width, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) {
      const float scaled = (x[i] - shift[i]) * factor[i] + add[i];
      y[i] = scaled < 0 ? 0.0f : scaled;
    }
  }
}

WEIR_VECTOR void ScaleAddAndRectifyRows(const float* x, const float* shift, const float* factor, const float* add,
                                        const float* side, int64_t rows, int64_t width, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += width, side += width, y += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) {
      const float sum = (x[i] - shift[i]) * factor[i] + add[i] + side[i];
      y[i] = sum < 0 ? 0.0f : sum;
    }
  }
}

WEIR_VECTOR void ScaleRectifiedRowsBackward(const float* dy, const float* output, const float* x, const float* shift,
                                            const float* factor, const float* mean_dy, const float* slope, int64_t rows,
                                            int64_t width, float* dx) {
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, output += width, dx += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) {
      const float rectified = output[i] > 0 ? dy[i] : 0.0f;
      dx[i] = factor[i] * (rectified - mean_dy[i] - (x[i] - shift[i]) * slope[i]);
    }
  }
}

WEIR_VECTOR void ScaleRowsBackward(const float* dy, const float* x, const float* shift, const float* factor,
                                   const float* mean_dy, const float* slope, int64_t rows, int64_t width, float* dx) {
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) dx[i] = factor[i] * (dy[i] - mean_dy[i] - (x[i] - shift[i]) * slope[i]);
  }
}

}  // namespace

void SumChannels(const KernelContext& ctx, ChannelSize size, const float* x, double* sums) {
  double* const out[] = {sums};
  Reduce<1>(ctx, size, 0.15, out, [&](int64_t first, int64_t rows, int64_t width, float* const* to) {
    SumRows(x + first * size.channels, rows, width, to[0]);
  });
}

void SumShiftedSquares(const KernelContext& ctx, ChannelSize size, const float* x, const float* shift, double* sums,
                       double* squares) {
  double* const out[] = {sums, squares};
  const std::vector<float> wide = Tiles(size).Repeat(shift);
  Reduce<2>(ctx, size, 0.2, out, [&](int64_t first, int64_t rows, int64_t width, float* const* to) {
    SumSquareRows(x + first * size.channels, wide.data(), rows, width, to[0], to[1]);
  });
}

void SumShiftedProducts(const KernelContext& ctx, ChannelSize size, const float* dy, const float* output,
                        const float* x, const float* shift, double* sums, double* products) {
  double* const out[] = {sums, products};
  const std::vector<float> wide = Tiles(size).Repeat(shift);
  Reduce<2>(ctx, size, 0.3, out, [&](int64_t first, int64_t rows, int64_t width, float* const* to) {
    const int64_t at = first * size.channels;
    if (output == nullptr) {
      SumProductRows(dy + at, x + at, wide.data(), rows, width, to[0], to[1]);
    } else {
      SumRectifiedProductRows(dy + at, output + at, x + at, wide.data(), rows, width, to[0], to[1]);
    }
  });
}

void AddToChannels(const KernelContext& ctx, ChannelSize size, const float* x, const float* add, float* y) {
  const Tiles tiles(size);
  const std::vector<float> wide = tiles.Repeat(add);
  ForRows(ctx, size, tiles, 0.2, [&](int64_t first, int64_t rows, int64_t width) {
    AddRows(x + first * size.channels, wide.data(), rows, width, y + first * size.channels);
  });
}

void ScaleChannels(const KernelContext& ctx, ChannelSize size, const float* x, const float* shift, const float* factor,
                   const float* add, float* y) {
  const Tiles tiles(size);
  const std::vector<float> shifts = tiles.Repeat(shift), factors = tiles.Repeat(factor), adds = tiles.Repeat(add);
  ForRows(ctx, size, tiles, 0.25, [&](int64_t first, int64_t rows, int64_t width) {
    const int64_t at = first * size.channels;
    ScaleRows(x + at, shifts.data(), factors.data(), adds.data(), rows, width, y + at);
  });
}

void ScaleAndRectifyChannels(const KernelContext& ctx, ChannelSize size, const float* x, const float* shift,
                             const float* factor, const float* add, const float* side, float* y) {
  const Tiles tiles(size);
  const std::vector<float> shifts = tiles.Repeat(shift), factors = tiles.Repeat(factor), adds = tiles.Repeat(add);
  ForRows(ctx, size, tiles, 0.3, [&](int64_t first, int64_t rows, int64_t width) {
    const int64_t at = first * size.channels;
    if (side == nullptr) {
      ScaleAndRectifyRows(x + at, shifts.data(), factors.data(), adds.data(), rows, width, y + at);
    } else {
      ScaleAddAndRectifyRows(x + at, shifts.data(), factors.data(), adds.data(), side + at, rows, width, y + at);
    }
  });
}

void ScaleChannelsBackward(const KernelContext& ctx, ChannelSize size, const float* dy, const float* output,
                           const float* x, const float* shift, const float* factor, const float* mean_dy,
                           const float* slope, float* dx) {
  const Tiles tiles(size);
  const std::vector<float> shifts = tiles.Repeat(shift), factors = tiles.Repeat(factor);
  const std::vector<float> means = tiles.Repeat(mean_dy), slopes = tiles.Repeat(slope);
  ForRows(ctx, size, tiles, 0.35, [&](int64_t first, int64_t rows, int64_t width) {
    const int64_t at = first * size.channels;
    if (output == nullptr) {
      ScaleRowsBackward(dy + at, x + at, shifts.data(), factors.data(), means.data(), slopes.data(), rows, width,
                        dx + at);
    } else {
      ScaleRectifiedRowsBackward(dy + at, output + at, x + at, shifts.data(), factors.data(), means.data(),
                                 slopes.data(), rows, width, dx + at);
    }
  });
}

}  // namespace weir
