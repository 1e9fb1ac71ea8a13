// Convolutions of the types that cuDNN does not have, depthwise ones, and changes of layout.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Axis {
  int64 input, size, stride, dilation, before, output;
};
// Up to three axes; missing ones, the first, have size 1. Strides say where places and channels of images lie.
struct Geometry {
  int64 batch, in_channels, out_channels, group_in, group_out;
  int64 in_place, in_channel, out_place, out_channel;
  Axis axes[3];
  int64 InPlaces() const { return axes[0].input * axes[1].input * axes[2].input; }
  int64 OutPlaces() const { return axes[0].output * axes[1].output * axes[2].output; }
  int64 Taps() const { return axes[0].size * axes[1].size * axes[2].size; }
  // The place that tap `t` of window `o` falls on, or -1.
  int64 InPlace(int64 o, int64 t) const {
    int64 place = 0, scale = 1;
    for (int d = 2; d >= 0; --d) {
      const Axis& a = axes[d];
      const int64 at = o % a.output * a.stride - a.before + t % a.size * a.dilation;
      if (at < 0 || at >= a.input) return -1;
      place += at * scale;
      scale *= a.input;
      o /= a.output;
      t /= a.size;
    }
    return place;
  }
  // The window whose tap `t` falls on place `i`, or -1.
  int64 OutPlace(int64 i, int64 t) const {
    int64 place = 0, scale = 1;
    for (int d = 2; d >= 0; --d) {
      const Axis& a = axes[d];
      const int64 from = i % a.input + a.before - t % a.size * a.dilation;
      if (from < 0 || from % a.stride != 0 || from / a.stride >= a.output) return -1;
      place += from / a.stride * scale;
      scale *= a.output;
      i /= a.input;
      t /= a.size;
    }
    return place;
  }
};

// A number of an image's elements in the order of memory, as batch, place and channel.
struct Element {
  int64 image, place, channel;
};
inline Element ElementOf(int64 i, int64 places, int64 channels, bool channels_last) {
  const int64 within = i % (places * channels), image = i / (places * channels);
  if (channels_last) return {image, within / channels, within % channels};
  return {image, within % places, within / places};
}

template <typename T>
__global__ void ConvolveForward(const Geometry g, const T* x, const T* filter, T* y) {
  typedef wide<T> C;
  const int64 places = g.OutPlaces(), in_image = g.InPlaces() * g.in_channels;
  for (int64 i = GridFirst(); i < g.batch * places * g.out_channels; i += GridStride()) {
    const Element e = ElementOf(i, places, g.out_channels, g.out_channel == 1);
    const int64 first = e.channel / g.group_out * g.group_in;
    C sum = C(0);
    for (int64 t = 0; t < g.Taps(); ++t) {
      const int64 place = g.InPlace(e.place, t);
      if (place < 0) continue;
      const T* from = x + e.image * in_image + place * g.in_place + first * g.in_channel;
      const T* w = filter + t * g.group_in * g.out_channels + e.channel;
      for (int64 c = 0; c < g.group_in; ++c) {
        sum = WrapAdd(sum, WrapMul((C)from[c * g.in_channel], (C)w[c * g.out_channels]));
      }
    }
    y[i] = (T)sum;
  }
}

template <typename T>
__global__ void ConvolveImage(const Geometry g, const T* filter, const T* dy, T* dx) {
  typedef wide<T> C;
  const int64 places = g.InPlaces(), out_image = g.OutPlaces() * g.out_channels;
  for (int64 i = GridFirst(); i < g.batch * places * g.in_channels; i += GridStride()) {
    const Element e = ElementOf(i, places, g.in_channels, g.in_channel == 1);
    const int64 first = e.channel / g.group_in * g.group_out;
    C sum = C(0);
    for (int64 t = 0; t < g.Taps(); ++t) {
      const int64 place = g.OutPlace(e.place, t);
      if (place < 0) continue;
      const T* from = dy + e.image * out_image + place * g.out_place + first * g.out_channel;
      const T* w = filter + (t * g.group_in + e.channel % g.group_in) * g.out_channels + first;
      for (int64 k = 0; k < g.group_out; ++k) {
        sum = WrapAdd(sum, WrapMul((C)from[k * g.out_channel], (C)w[k]));
      }
    }
    dx[i] = (T)sum;
  }
}

// A block of 32 x 8 threads takes 32 output channels of one row of the filter; the eight share the windows.
template <typename T>
__global__ void ConvolveFilter(const Geometry g, const T* x, const T* dy, T* dw) {
  typedef wide<T> C;
  __shared__ C partial[8][33];
  const int64 in_image = g.InPlaces() * g.in_channels, windows = g.OutPlaces(), out_image = windows * g.out_channels;
  const int64 k = (int64)blockIdx.x * 32 + threadIdx.x;
  for (int64 row = blockIdx.y; row < g.Taps() * g.group_in; row += gridDim.y) {
    C sum = C(0);
    if (k < g.out_channels) {
      const int64 t = row / g.group_in, c = k / g.group_out * g.group_in + row % g.group_in;
      for (int64 i = threadIdx.y; i < g.batch * windows; i += 8) {
        const int64 image = i / windows, window = i % windows, place = g.InPlace(window, t);
        if (place < 0) continue;
        sum = WrapAdd(sum, WrapMul((C)x[image * in_image + place * g.in_place + c * g.in_channel],
                                   (C)dy[image * out_image + window * g.out_place + k * g.out_channel]));
      }
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && k < g.out_channels) {
      for (int share = 1; share < 8; ++share) sum = WrapAdd(sum, partial[share][threadIdx.x]);
      dw[row * g.out_channels + k] = (T)sum;
    }
    __syncthreads();
  }
}

// The largest absolute difference of two tensors and the largest absolute value of the second, as bits of floats; what
// is not a number counts as the largest there is. REQUIRES: both are 0.
template <typename T>
__global__ void LargestDifference(const T* x, const T* y, int64 n, uint32* largest) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const float a = (float)x[i], b = (float)y[i];
    const uint32 difference = a == b ? 0 : __float_as_uint(a - b) & 0x7fffffff, size = __float_as_uint(b) & 0x7fffffff;
    if (difference > largest[0]) atomicMax(largest, difference);
    if (size > largest[1]) atomicMax(largest + 1, size);
  }
}

// Images with channels last inside larger ones, at `before`: copied into them, with zeros around, or out of them.
struct Frame {
  int64 inner[3], outer[3], before[3], channels;
};
template <typename T, bool kInto>
__global__ void FrameImages(const Frame f, const T* from, T* to, int64 n) {
  const int64* sizes = kInto ? f.outer : f.inner;
  const int64* others = kInto ? f.inner : f.outer;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    int64 rest = i / f.channels, place = 0, scale = 1;
    bool inside = true;
    for (int d = 2; d >= 0; --d) {
      const int64 at = rest % sizes[d] + (kInto ? -f.before[d] : f.before[d]);
      inside = inside && at >= 0 && at < others[d];
      place += at * scale;
      scale *= others[d];
      rest /= sizes[d];
    }
    to[i] = inside ? from[(rest * scale + place) * f.channels + i % f.channels] : (T)0;
  }
}
