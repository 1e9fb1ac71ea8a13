// Boxes of images, sampled on a grid, and the gradients of that.
#include "weir/device/cuda/device_code/elements.cuh"

struct Crop {
  int64 batch, height, width, channels;  // of the images
  int64 crop_height, crop_width;
  int32 is_nearest;
  float outside;
};

// The grid of one dimension of a box.
struct Grid {
  float low, high, last, step;
  int64 samples;
  Grid(float low, float high, int64 samples, int64 size)
      : low(low), high(high), last((float)(size - 1)), step(0), samples(samples) {
    if (samples > 1) step = (high - low) * last / (float)(samples - 1);
  }
  // Where sample `i` is; false if that is outside the image.
  bool Place(int64 i, float* place) const {
    *place = samples > 1 ? low * last + (float)i * step : 0.5f * (low + high) * last;
    return *place >= 0 && *place <= last;
  }
};

struct Corners {
  int64 lower, upper;
  float lerp;
  explicit Corners(float place)
      : lower((int64)floorf(place)), upper((int64)ceilf(place)), lerp(place - floorf(place)) {}
};

inline bool IsImage(int32 image, const Crop& crop, uint32* error) {
  if (image >= 0 && image < crop.batch) return true;
  *error = 1;
  return false;
}

template <typename T>
__global__ void CropAndResize(const Crop crop, const T* images, const float* boxes, const int32* indices, float* out,
                              int64 n, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 channel = i % crop.channels, x = i / crop.channels % crop.crop_width;
    const int64 line = i / crop.channels / crop.crop_width, y = line % crop.crop_height, b = line / crop.crop_height;
    out[i] = crop.outside;
    if (!IsImage(indices[b], crop, error)) continue;
    const float* box = boxes + 4 * b;
    float row_place, column_place;
    if (!Grid(box[0], box[2], crop.crop_height, crop.height).Place(y, &row_place)) continue;
    if (!Grid(box[1], box[3], crop.crop_width, crop.width).Place(x, &column_place)) continue;
    const T* picture = images + indices[b] * crop.height * crop.width * crop.channels + channel;
    auto at = [&](int64 r, int64 c) { return (float)picture[(r * crop.width + c) * crop.channels]; };
    if (crop.is_nearest) {
      out[i] = at((int64)roundf(row_place), (int64)roundf(column_place));
      continue;
    }
    const Corners row(row_place), column(column_place);
    const float tl = at(row.lower, column.lower), ll = at(row.upper, column.lower);
    const float top = tl + (at(row.lower, column.upper) - tl) * column.lerp;
    const float low = ll + (at(row.upper, column.upper) - ll) * column.lerp;
    out[i] = top + (low - top) * row.lerp;
  }
}

// What each sample gives to the four pixels around it: their rows among all pixels, or -1, and for each channel the
// number that is added.
template <typename T>
__global__ void SpreadCrops(const Crop crop, const float* gradients, const float* boxes, const int32* indices,
                            int64* pixels, T* updates, int64 samples, uint32* error) {
  for (int64 i = GridFirst(); i < samples; i += GridStride()) {
    const int64 x = i % crop.crop_width, y = i / crop.crop_width % crop.crop_height;
    const int64 b = i / crop.crop_width / crop.crop_height;
    const float* box = boxes + 4 * b;
    const float* from = gradients + i * crop.channels;
    float row_place = 0, column_place = 0;
    const bool is_inside = IsImage(indices[b], crop, error) &&
                           Grid(box[0], box[2], crop.crop_height, crop.height).Place(y, &row_place) &&
                           Grid(box[1], box[3], crop.crop_width, crop.width).Place(x, &column_place);
    auto add = [&](int corner, int64 r, int64 c, float row_weight, float column_weight) {
      pixels[4 * i + corner] = (indices[b] * crop.height + r) * crop.width + c;
      T* to = updates + (4 * i + corner) * crop.channels;
      for (int64 k = 0; k < crop.channels; ++k) to[k] = (T)(column_weight * (row_weight * from[k]));
    };
    for (int corner = 0; corner < 4; ++corner) pixels[4 * i + corner] = -1;
    if (!is_inside) continue;
    if (crop.is_nearest) {
      add(0, (int64)roundf(row_place), (int64)roundf(column_place), 1, 1);
      continue;
    }
    const Corners row(row_place), column(column_place);
    add(0, row.lower, column.lower, 1 - row.lerp, 1 - column.lerp);
    add(1, row.lower, column.upper, 1 - row.lerp, column.lerp);
    add(2, row.upper, column.lower, row.lerp, 1 - column.lerp);
    add(3, row.upper, column.upper, row.lerp, column.lerp);
  }
}

// What a move of the low and of the high end of a box does to sample `i`.
inline void AddEnds(float slope, const Grid& grid, int64 i, float* low, float* high) {
  const float ratio = grid.samples > 1 ? grid.last / (float)(grid.samples - 1) : 0;
  const float share = grid.samples > 1 ? (float)i * ratio : 0.5f * grid.last;
  *low += slope * (grid.last - share);
  *high += slope * share;
}

// A block of 256 threads has a box; the order of the sum depends on the sizes alone.
template <typename T>
__global__ void CropGradBoxes(const Crop crop, const float* gradients, const T* images, const float* boxes,
                              const int32* indices, float* out, uint32* error) {
  __shared__ float sums[256][4];
  const int64 b = blockIdx.x, n = crop.crop_height * crop.crop_width * crop.channels;
  const float* box = boxes + 4 * b;
  const Grid rows(box[0], box[2], crop.crop_height, crop.height), columns(box[1], box[3], crop.crop_width, crop.width);
  float own[4] = {0, 0, 0, 0};
  if (IsImage(indices[b], crop, error)) {
    const T* image = images + indices[b] * crop.height * crop.width * crop.channels;
    for (int64 i = threadIdx.x; i < n; i += blockDim.x) {
      const int64 channel = i % crop.channels, x = i / crop.channels % crop.crop_width;
      const int64 y = i / crop.channels / crop.crop_width;
      float row_place, column_place;
      if (!rows.Place(y, &row_place) || !columns.Place(x, &column_place)) continue;
      const Corners row(row_place), column(column_place);
      auto at = [&](int64 r, int64 c) { return (float)image[(r * crop.width + c) * crop.channels + channel]; };
      const float tl = at(row.lower, column.lower), tr = at(row.lower, column.upper);
      const float ll = at(row.upper, column.lower), lr = at(row.upper, column.upper);
      const float y_slope = (1 - column.lerp) * (ll - tl) + column.lerp * (lr - tr);
      const float x_slope = (1 - row.lerp) * (tr - tl) + row.lerp * (lr - ll);
      const float gradient = gradients[b * n + i];
      AddEnds(y_slope * gradient, rows, y, &own[0], &own[2]);
      AddEnds(x_slope * gradient, columns, x, &own[1], &own[3]);
    }
  }
  for (int k = 0; k < 4; ++k) sums[threadIdx.x][k] = own[k];
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      for (int k = 0; k < 4; ++k) sums[threadIdx.x][k] += sums[threadIdx.x + half][k];
    }
  }
  if (threadIdx.x < 4) out[4 * b + threadIdx.x] = sums[0][threadIdx.x];
}
