// Each number of the result comes from where a projective map sends its pixel.
#include "weir/device/cuda/device_code/elements.cuh"

struct Projection {
  int64 height, width, channels, out_height, out_width;
  int32 one_map, is_bilinear, mode;  // kConstant, kReflect, kWrap, kNearest
  float fill;
};

inline float Inside(float place, int64 size) {
  const float last = (float)(size - 1);
  return place < 0 ? 0.0f : place > last ? last : place;
}

// abcd as dcba|abcd|dcba.
inline float Reflect(float place, int64 size) {
  const float whole = (float)(2 * size), length = (float)size;
  if (size <= 1) return 0;
  if (place < 0) {
    place += whole * truncf(-place / whole);
    place = place < -length ? place + whole : -place - 1;
  } else if (place > length - 1) {
    place -= whole * truncf(place / whole);
    if (place >= length) place = whole - place - 1;
  }
  return Inside(place, size);
}

// abcd as abcd|abcd|abcd.
inline float Wrap(float place, int64 size) {
  if (size <= 1) return 0;
  const float length = (float)size, last = (float)(size - 1);
  if (place < 0)
    place += length * (truncf(-place / last) + 1);
  else if (place > last)
    place -= length * truncf(place / last);
  return Inside(place, size);
}

inline float Map(float place, int64 size, int mode) {
  return mode == 1 ? Reflect(place, size) : mode == 2 ? Wrap(place, size) : mode == 3 ? Inside(place, size) : place;
}

template <typename T>
__global__ void ProjectImages(const Projection p, const T* images, const float* maps, T* out, int64 n) {
  const T fill = (T)p.fill;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 channel = i % p.channels, line = i / p.channels / p.out_width, b = line / p.out_height;
    const float x = (float)(i / p.channels % p.out_width), y = (float)(line % p.out_height);
    const float* map = maps + (p.one_map ? 0 : 8 * b);
    const float projection = map[6] * x + map[7] * y + 1.0f;
    out[i] = fill;
    if (projection == 0) continue;
    const float from_x = Map((map[0] * x + map[1] * y + map[2]) / projection, p.width, p.mode);
    const float from_y = Map((map[3] * x + map[4] * y + map[5]) / projection, p.height, p.mode);
    const T* image = images + b * p.height * p.width * p.channels + channel;
    auto at = [&](float row, float column) -> T {
      // Comparisons as floats: a place far outside is no integer.
      if (!(row >= 0 && row < (float)p.height && column >= 0 && column < (float)p.width)) return fill;
      return image[((int64)row * p.width + (int64)column) * p.channels];
    };
    if (!p.is_bilinear) {
      out[i] = at(roundf(from_y), roundf(from_x));
      continue;
    }
    const float top = floorf(from_y), left = floorf(from_x), bottom = top + 1, right = left + 1;
    const float upper = (right - from_x) * (float)at(top, left) + (from_x - left) * (float)at(top, right);
    const float lower = (right - from_x) * (float)at(bottom, left) + (from_x - left) * (float)at(bottom, right);
    out[i] = (T)((bottom - from_y) * upper + (from_y - top) * lower);
  }
}
