// Values rounded to the levels that a quantised type would have.
#include "weir/device/cuda/device_code/elements.cuh"

struct Levels {
  float low, high, scale;
  int32 is_empty;
  float Round(float x) const {
    if (is_empty) return 0.0f;
    if (x != x) return x;
    const float inverse = 1.0f / scale;
    const float zero = floorf(-low * inverse + 0.5f);
    const float shifted = fmaxf(fminf(x, high), low) - low;
    return floorf(shifted * inverse - zero + 0.5f) * scale;
  }
};

__global__ void FakeQuant(const Levels* levels, int64 channels, const float* x, float* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) out[i] = levels[i % channels].Round(x[i]);
}

// What passes, and what is to be summed up for the lower and the upper end of the range; both may be null.
__global__ void FakeQuantGrad(const Levels* levels, int64 channels, const float* gradients, const float* x, float* out,
                              float* below, float* above, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const Levels range = levels[i % channels];
    const bool passes = range.is_empty || (x[i] >= range.low && x[i] <= range.high);
    // Products, so that a gradient which is not finite is seen in all three.
    out[i] = gradients[i] * (passes ? 1.0f : 0.0f);
    if (below == nullptr) continue;
    below[i] = gradients[i] * (!passes && x[i] < range.low ? 1.0f : 0.0f);
    above[i] = gradients[i] * (!passes && x[i] > range.high ? 1.0f : 0.0f);
  }
}

struct Rounding {
  int64 count, inner;  // slices along an axis
  int64 lowest, highest;
  int32 range_given, half_up;
};

template <typename T>
__global__ void RoundToLevels(const Rounding r, const T* x, const T* mins, const T* maxs, T* out, int64 n) {
  const T lowest = (T)r.lowest, highest = (T)r.highest;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 slice = i / r.inner % r.count;
    T min = mins[slice], max = maxs[slice];
    const T by_min = lowest * min > 0 ? lowest / min : Greatest<T>();
    const T by_max = highest * max > 0 ? highest / max : Greatest<T>();
    T scale = by_max, inverse = max / highest;
    if (by_min < by_max) {
      scale = by_min;
      inverse = min / lowest;
      max = highest * inverse;
    } else {
      min = lowest * inverse;
    }
    T value = x[i];
    if (r.range_given) {
      value = max < value ? max : value;
      value = value < min ? min : value;
    }
    const T level = value * scale;
    out[i] = (r.half_up ? floor(level + T(0.5)) : rint(level)) * inverse;
  }
}

// The gradient passes where the input lies in the range.
template <typename T>
__global__ void PassInRange(int64 count, int64 inner, const T* gradients, const T* x, const T* mins, const T* maxs,
                            T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 slice = i / inner % count;
    out[i] = x[i] >= mins[slice] && x[i] <= maxs[slice] ? gradients[i] : T(0);
  }
}
