// Colours, pixel by pixel, with the host's roundings (ops/image/color_cpu.cc).
#include "weir/device/cuda/device_code/elements.cuh"

template <typename F>
struct Color {
  F a, b, c;
};

template <typename F>
F Most(F a, F b, F c) {
  const F more = a < b ? b : a;
  return more < c ? c : more;
}
template <typename F>
F Least(F a, F b, F c) {
  const F less = b < a ? b : a;
  return c < less ? c : less;
}

struct ToHsv {
  template <typename F>
  static Color<F> Do(F r, F g, F b, float) {
    const F value = Most(r, g, b), range = value - Least(r, g, b);
    const F saturation = value > 0 ? range / value : F(0);
    F hue = 0;
    if (range > 0) {
      const F norm = (F(1) / range) * (F(1) / F(6));
      hue = r == value ? norm * (g - b) : g == value ? norm * (b - r) + F(2) / F(6) : norm * (r - g) + F(4) / F(6);
      if (hue < 0) hue += 1;
    }
    return {hue, saturation, value};
  }
};

struct ToRgb {
  template <typename F>
  static F Unit(F x) {
    return x < 0 ? F(0) : x > 1 ? F(1) : x;
  }
  template <typename F>
  static F Size(F x) {
    return x < 0 ? -x : x;
  }
  template <typename F>
  static Color<F> Do(F hue, F saturation, F value, float) {
    const F turn = hue * 6;
    const F red = Unit(Size(turn - 3) - 1), green = Unit(2 - Size(turn - 2)), blue = Unit(2 - Size(turn - 4));
    const F rest = 1 - saturation;
    return {(rest + saturation * red) * value, (rest + saturation * green) * value, (rest + saturation * blue) * value};
  }
};

// A color of a sixth of the circle, by its components in order of size.
inline Color<float> InSixth(int sixth, float low, float between, float high) {
  switch (sixth) {
    case 0:
      return {high, between, low};
    case 1:
      return {between, high, low};
    case 2:
      return {low, high, between};
    case 3:
      return {low, between, high};
    case 4:
      return {between, low, high};
    default:
      return {high, low, between};
  }
}

struct AdjustHue {
  static Color<float> Do(float r, float g, float b, float delta) {
    int sector = 0;
    if (r < g)
      sector = b < r ? 1 : b > g ? 3 : 2;
    else
      sector = b < g ? 0 : b > r ? 4 : 5;
    const float places[6][3] = {{b, g, r}, {b, r, g}, {r, b, g}, {r, g, b}, {g, r, b}, {g, b, r}};
    const float low = places[sector][0], middle = places[sector][1], high = places[sector][2];
    float hue = 0;
    if (low != high) {
      const float ratio = (middle - low) / (high - low);
      hue = (float)sector + (sector % 2 == 0 ? ratio : 1 - ratio);
    }
    hue = fmodf(hue + delta * 6.0f, 6.0f);
    if (hue < 0) hue += 6.0f;
    if (hue >= 6.0f) hue -= 6.0f;
    const int to = hue >= 0 ? (int)hue : 5;  // NaN is in the last sixth
    const float part = hue - (float)to;
    return InSixth(to, low, low + (to % 2 == 0 ? part : 1 - part) * (high - low), high);
  }
};

struct AdjustSaturation {
  static Color<float> Do(float r, float g, float b, float scale) {
    const float value = Most(r, g, b), range = value - Least(r, g, b);
    const float saturation = (value > 0 ? range / value : 0) * scale;
    // A NaN becomes 0, as on the host.
    return ByChroma(Hue(r, g, b, value, range), saturation > 0 ? (saturation < 1 ? saturation : 1.0f) : 0.0f, value);
  }

 private:
  static float Hue(float r, float g, float b, float value, float range) {
    if (!(range > 0)) return 0;
    const float norm = 1.0f / (6.0f * range);
    float hue = norm * (g - b);
    if (r != value) hue = (float)(g == value ? norm * (b - r) + 2.0 / 6.0 : norm * (r - g) + 4.0 / 6.0);
    return hue < 0 ? hue + 1 : hue;
  }
  static Color<float> ByChroma(float hue, float saturation, float value) {
    const float chroma = saturation * value, rest = value - chroma, turn = hue * 6;
    if (!(turn >= 0 && turn < 6)) return {0 + rest, 0 + rest, 0 + rest};
    float pair = turn;
    while (pair <= 0) pair += 2.0f;
    while (pair >= 2) pair -= 2.0f;
    return InSixth((int)turn, 0 + rest, chroma * (1 - fabsf(pair - 1)) + rest, chroma + rest);
  }
};

// `amount` may be null.
template <typename T, typename Change>
__global__ void ChangeColors(const T* in, const float* amount, T* out, int64 pixels) {
  typedef wide<T> F;
  const float by = amount != nullptr ? *amount : 0;
  for (int64 i = GridFirst(); i < pixels; i += GridStride()) {
    const T* from = in + 3 * i;
    const auto color = Change::Do((F)from[0], (F)from[1], (F)from[2], by);
    out[3 * i] = (T)color.a;
    out[3 * i + 1] = (T)color.b;
    out[3 * i + 2] = (T)color.c;
  }
}

// `means` are those of the channels of each image.
template <typename T>
__global__ void AdjustContrast(const T* in, const float* means, const float* factor, int64 pixels, int64 channels,
                               T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const float mean = means[i / (pixels * channels) * channels + i % channels];
    out[i] = (T)(((float)in[i] - mean) * *factor + mean);
  }
}

// The mean of each channel: halves are added to each other until one pixel is left, as on the host. A block has an
// image.
__global__ void ChannelMeans(float* sums, int64 pixels, int64 channels, float* means) {
  float* own = sums + blockIdx.x * pixels * channels;
  for (int64 left = pixels; left > 1; left -= left / 2) {
    const int64 half = left / 2 * channels, second = left * channels - half;
    for (int64 k = threadIdx.x; k < half; k += blockDim.x) own[k] += own[second + k];
    __syncthreads();
  }
  const float share = 1.0f / (float)pixels;
  for (int64 c = threadIdx.x; c < channels; c += blockDim.x) means[blockIdx.x * channels + c] = own[c] * share;
}
