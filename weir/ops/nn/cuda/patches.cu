// Windows as channels.
#include "weir/device/cuda/device_code/elements.cuh"

struct Axis {
  int64 input, size, stride, rate, before, output;
};
struct Axes {
  Axis axis[3];
};

struct alignas(16) Word16 {
  uint64 halves[2];
};

template <typename Word>
__global__ void ExtractPatches(const Axes axes, const Word* in, int64 channels, int64 window, Word* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    int64 w = i / channels % window, p = i / channels / window, at[3];
    bool is_inside = true;
    for (int d = 2; d >= 0; --d) {
      const Axis& axis = axes.axis[d];
      at[d] = p % axis.output * axis.stride - axis.before + w % axis.size * axis.rate;
      is_inside = is_inside && at[d] >= 0 && at[d] < axis.input;
      p /= axis.output;
      w /= axis.size;
    }
    const int64 place = ((p * axes.axis[0].input + at[0]) * axes.axis[1].input + at[1]) * axes.axis[2].input + at[2];
    out[i] = is_inside ? in[place * channels + i % channels] : Word();
  }
}
