// Images made larger and smaller, and the gradients of that. Each thread makes one number of its output; gradients are
// added in the host's order.
#include "weir/device/cuda/device_code/elements.cuh"

struct Geometry {
  int64 channels, in_height, in_width, out_height, out_width;
  float height_scale, width_scale;
  int32 half_pixel_centers, align_corners;
};

inline int64 Clamp(float place, int64 size) {
  const int64 whole = (int64)place;
  return whole < 0 ? 0 : whole >= size ? size - 1 : whole;
}

// The source pixels that result pixel `i` lies between, and how far it is from the lower one.
struct Between {
  int64 lower, upper;
  float lerp;
  Between(int64 i, float scale, int64 size, bool half_pixel_centers) {
    const float place = half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
    lower = Clamp(floorf(place), size);
    upper = Clamp(ceilf(place), size);
    lerp = place - floorf(place);
  }
};

inline int64 Nearest(int64 i, float scale, int64 size, const Geometry& g) {
  const float place = ((float)i + (g.half_pixel_centers ? 0.5f : 0.0f)) * scale;
  return Clamp(g.align_corners ? roundf(place) : floorf(place), size);
}

// The first of `n` result pixels for which `is_there`, which stays so from then on; n if there is none.
template <typename IsThere>
int64 FirstWhere(int64 n, const IsThere& is_there) {
  int64 low = 0, high = n;
  while (low < high) {
    const int64 middle = (low + high) / 2;
    if (is_there(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

template <typename T>
__global__ void ResizeBilinear(const Geometry g, const T* in, float* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 channel = i % g.channels, x = i / g.channels % g.out_width;
    const int64 line = i / g.channels / g.out_width, batch = line / g.out_height;
    const Between row(line % g.out_height, g.height_scale, g.in_height, g.half_pixel_centers);
    const Between column(x, g.width_scale, g.in_width, g.half_pixel_centers);
    const T* top = in + ((batch * g.in_height + row.lower) * g.in_width) * g.channels + channel;
    const T* bottom = in + ((batch * g.in_height + row.upper) * g.in_width) * g.channels + channel;
    const int64 left = column.lower * g.channels, right = column.upper * g.channels;
    const float top_left = (float)top[left], low_left = (float)bottom[left];
    const float upper = top_left + ((float)top[right] - top_left) * column.lerp;
    const float lower = low_left + ((float)bottom[right] - low_left) * column.lerp;
    out[i] = upper + (lower - upper) * row.lerp;
  }
}

template <typename T>
__global__ void ResizeBilinearGrad(const Geometry g, const float* gradients, T* out, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 channel = i % g.channels, x = i / g.channels % g.in_width;
    const int64 line = i / g.channels / g.in_width, y = line % g.in_height, batch = line / g.in_height;
    auto row_at = [&](int64 r) { return Between(r, g.height_scale, g.in_height, g.half_pixel_centers); };
    auto column_at = [&](int64 c) { return Between(c, g.width_scale, g.in_width, g.half_pixel_centers); };
    const int64 first_row = FirstWhere(g.out_height, [&](int64 r) { return row_at(r).upper >= y; });
    const int64 first_column = FirstWhere(g.out_width, [&](int64 c) { return column_at(c).upper >= x; });
    T sum = T(0);
    auto add = [&](float gradient, float row_weight, float column_weight) {
      sum = T((C)sum + (C)T(gradient * row_weight * column_weight));
    };
    for (int64 r = first_row; r < g.out_height; ++r) {
      const Between row = row_at(r);
      if (row.lower > y) break;
      for (int64 c = first_column; c < g.out_width; ++c) {
        const Between column = column_at(c);
        if (column.lower > x) break;
        const float gradient = gradients[((batch * g.out_height + r) * g.out_width + c) * g.channels + channel];
        if (row.lower == y && column.lower == x) add(gradient, 1 - row.lerp, 1 - column.lerp);
        if (row.lower == y && column.upper == x) add(gradient, 1 - row.lerp, column.lerp);
        if (row.upper == y && column.lower == x) add(gradient, row.lerp, 1 - column.lerp);
        if (row.upper == y && column.upper == x) add(gradient, row.lerp, column.lerp);
      }
    }
    out[i] = sum;
  }
}

template <typename T>
__global__ void ResizeNearest(const Geometry g, const T* in, T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 channel = i % g.channels, x = i / g.channels % g.out_width;
    const int64 line = i / g.channels / g.out_width, batch = line / g.out_height;
    const int64 from_y = Nearest(line % g.out_height, g.height_scale, g.in_height, g);
    const int64 from_x = Nearest(x, g.width_scale, g.in_width, g);
    out[i] = in[((batch * g.in_height + from_y) * g.in_width + from_x) * g.channels + channel];
  }
}

template <typename T>
__global__ void ResizeNearestGrad(const Geometry g, const T* gradients, T* out, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 channel = i % g.channels, x = i / g.channels % g.in_width;
    const int64 line = i / g.channels / g.in_width, y = line % g.in_height, batch = line / g.in_height;
    auto row_at = [&](int64 r) { return Nearest(r, g.height_scale, g.in_height, g); };
    auto column_at = [&](int64 c) { return Nearest(c, g.width_scale, g.in_width, g); };
    const int64 first_column = FirstWhere(g.out_width, [&](int64 c) { return column_at(c) >= x; });
    T sum = T(0);
    for (int64 r = FirstWhere(g.out_height, [&](int64 r) { return row_at(r) >= y; });
         r < g.out_height && row_at(r) == y; ++r) {
      for (int64 c = first_column; c < g.out_width && column_at(c) == x; ++c) {
        sum = T((C)sum + (C)gradients[((batch * g.out_height + r) * g.out_width + c) * g.channels + channel]);
      }
    }
    out[i] = sum;
  }
}
