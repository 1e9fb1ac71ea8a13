// Dilation2D: the largest sum of a window of an image and the filter; and its gradients, which are gathered.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Axis {
  int64 input, size, stride, rate, before, output;
  int64 At(int64 o, int64 k) const { return o * stride - before + k * rate; }
};
struct Dilation {
  int64 batch, channels;
  Axis h, w;
  int64 Outputs() const { return batch * h.output * w.output * channels; }
};
// Where the largest sum is: the place in the image and the filter's tap; -1 if the window is outside.
struct Best {
  int32 place, tap;
};

template <typename T>
T LowestSum() {
  if constexpr (IsSame<T, float>::value)
    return __uint_as_float(0xff7fffff);
  else if constexpr (IsSame<T, double>::value)
    return __longlong_as_double(0xffefffffffffffffLL);
  else
    return (T)__uint_as_float(0xff800000);
}

template <typename T>
__global__ void Dilate(const Dilation d, const T* image, const T* filter, T* out, Best* best) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < d.Outputs(); i += GridStride()) {
    const int64 c = i % d.channels, ow = i / d.channels % d.w.output, oh = i / d.channels / d.w.output % d.h.output;
    const int64 n = i / d.channels / d.w.output / d.h.output;
    T value = LowestSum<T>();
    Best found = {-1, -1};
    const int64 first_h = d.h.At(oh, 0) > 0 ? d.h.At(oh, 0) : 0, first_w = d.w.At(ow, 0) > 0 ? d.w.At(ow, 0) : 0;
    if (first_h < d.h.input && first_w < d.w.input) found = {(int32)(first_h * d.w.input + first_w), 0};
    for (int64 kh = 0; kh < d.h.size; ++kh) {
      const int64 ih = d.h.At(oh, kh);
      if (ih < 0 || ih >= d.h.input) continue;
      for (int64 kw = 0; kw < d.w.size; ++kw) {
        const int64 iw = d.w.At(ow, kw);
        if (iw < 0 || iw >= d.w.input) continue;
        const int64 place = ih * d.w.input + iw, tap = kh * d.w.size + kw;
        const T sum =
            (T)WrapAdd((C)image[(n * d.h.input * d.w.input + place) * d.channels + c], (C)filter[tap * d.channels + c]);
        if ((C)sum > (C)value) {
          value = sum;
          found = {(int32)place, (int32)tap};
        }
      }
    }
    if (out) out[i] = value;
    if (best) best[i] = found;
  }
}

template <typename T>
__global__ void DilateImageGrad(const Dilation d, const Best* best, const T* dy, T* dx) {
  typedef wide<T> C;
  const int64 total = d.batch * d.h.input * d.w.input * d.channels;
  for (int64 i = GridFirst(); i < total; i += GridStride()) {
    const int64 c = i % d.channels, iw = i / d.channels % d.w.input, ih = i / d.channels / d.w.input % d.h.input;
    const int64 n = i / d.channels / d.w.input / d.h.input, place = ih * d.w.input + iw;
    C sum = C(0);
    for (int64 oh = 0; oh < d.h.output; ++oh) {
      if (d.h.At(oh, 0) > ih) break;
      if (d.h.At(oh, d.h.size - 1) < ih) continue;
      for (int64 ow = 0; ow < d.w.output; ++ow) {
        if (d.w.At(ow, 0) > iw) break;
        if (d.w.At(ow, d.w.size - 1) < iw) continue;
        const int64 o = ((n * d.h.output + oh) * d.w.output + ow) * d.channels + c;
        if (best[o].place == place) sum = sum + (C)dy[o];
      }
    }
    dx[i] = (T)sum;
  }
}

template <typename T>
__global__ void DilateFilterGrad(const Dilation d, const Best* best, const T* dy, T* df) {
  typedef wide<T> C;
  const int64 total = d.h.size * d.w.size * d.channels;
  for (int64 i = GridFirst(); i < total; i += GridStride()) {
    const int64 tap = i / d.channels;
    C sum = C(0);
    for (int64 o = i % d.channels; o < d.Outputs(); o += d.channels) {
      if (best[o].tap == tap) sum = sum + (C)dy[o];
    }
    df[i] = (T)sum;
  }
}
