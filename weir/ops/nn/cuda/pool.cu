// Pools over images and volumes, and their gradients. Gradients are gathered: an element adds up what the windows that
// it is in give it, so the order is always the same.
#include "weir/device/cuda/device_code/elementwise.cuh"

template <typename I>
struct Axis {
  I input, size, stride, before, output;
  I Begin(I o) const { return o * stride > before ? o * stride - before : 0; }
  I End(I o) const {
    const I end = o * stride - before + size;
    return end < input ? end : input;
  }
  // The windows [first, last) that element i is in.
  I First(I i) const {
    const I reach = i + before - size + 1;
    return reach > 0 ? (reach + stride - 1) / stride : 0;
  }
  I Last(I i) const {
    const I last = (i + before) / stride + 1;
    return last < output ? last : output;
  }
};
// Elements of images are numbered by place and channel, places in rows. I is the type of such numbers: divisions by
// 64-bit ones take long, and few images need them.
template <typename I>
struct Pool {
  I batch, channels;
  Axis<I> axes[3];
  I channels_last;
  I Places() const { return axes[0].input * axes[1].input * axes[2].input; }
  I Windows() const { return axes[0].output * axes[1].output * axes[2].output; }
  I InOffset(I image, I place, I channel) const {
    return channels_last ? (image * Places() + place) * channels + channel
                         : (image * channels + channel) * Places() + place;
  }
  I OutOffset(I image, I window, I channel) const {
    return channels_last ? (image * Windows() + window) * channels + channel
                         : (image * channels + channel) * Windows() + window;
  }
  // Calls body(place) for each place of the window inside the image, in order.
  template <typename Body>
  void ForWindow(I window, Body body) const {
    const I x = window % axes[2].output, y = window / axes[2].output % axes[1].output;
    const I z = window / axes[2].output / axes[1].output;
    for (I p = axes[0].Begin(z); p < axes[0].End(z); ++p) {
      for (I r = axes[1].Begin(y); r < axes[1].End(y); ++r) {
        const I row = (p * axes[1].input + r) * axes[2].input;
        for (I c = axes[2].Begin(x); c < axes[2].End(x); ++c) body(row + c);
      }
    }
  }
  // Calls body(window) for each window that the place is in, in order.
  template <typename Body>
  void ForWindowsOf(I place, Body body) const {
    const I x = place % axes[2].input, y = place / axes[2].input % axes[1].input;
    const I z = place / axes[2].input / axes[1].input;
    for (I p = axes[0].First(z); p < axes[0].Last(z); ++p) {
      for (I r = axes[1].First(y); r < axes[1].Last(y); ++r) {
        const I row = (p * axes[1].output + r) * axes[2].output;
        for (I c = axes[2].First(x); c < axes[2].Last(x); ++c) body(row + c);
      }
    }
  }
  I CountInside(I window) const {
    const I x = window % axes[2].output, y = window / axes[2].output % axes[1].output;
    const I z = window / axes[2].output / axes[1].output;
    const I a = axes[0].End(z) - axes[0].Begin(z), b = axes[1].End(y) - axes[1].Begin(y);
    const I c = axes[2].End(x) - axes[2].Begin(x);
    return a > 0 && b > 0 && c > 0 ? a * b * c : 0;
  }
};

template <typename I>
struct At {
  I image, index, channel;  // index: of a place or a window
};
template <typename I>
At<I> Split(const Pool<I>& pool, int64 element, I count) {
  const I i = (I)element;
  const I within = i % (count * pool.channels), image = i / (count * pool.channels);
  if (pool.channels_last) return {image, within / pool.channels, within % pool.channels};
  return {image, within % count, within / count};
}

template <typename T>
wide<T> LowestFinite() {
  if constexpr (IsSame<T, half>::value)
    return -65504.0f;
  else if constexpr (IsSame<T, bfloat16>::value)
    return __uint_as_float(0xff7f0000);
  else if constexpr (IsSame<T, float>::value)
    return __uint_as_float(0xff7fffff);
  else if constexpr (IsSame<T, double>::value)
    return __longlong_as_double(0xffefffffffffffffLL);
  else
    return Lowest<T>();
}

// How a window's largest element is found where NaN is about.
enum Nan {
  kNanNever,   // NaN is never the largest
  kNanFirst,   // only if it is the first
  kNanLatest,  // it takes the place of what came before, and gives its own to what follows
};
template <typename T, typename I, int kNan>
__global__ void MaxPool(const Pool<I> pool, const T* x, T* y, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const At<I> at = Split(pool, i, pool.Windows());
    C best = LowestFinite<T>();
    bool any = false;
    pool.ForWindow(at.index, [&](I place) {
      const C value = (C)x[pool.InOffset(at.image, place, at.channel)];
      if (kNan == kNanFirst && !any)
        best = value;
      else if (kNan == kNanLatest)
        best = value < best ? best : value;
      else
        best = value > best ? value : best;
      any = true;
    });
    y[i] = (T)(any ? best : C(0));
  }
}

// The place of the first largest element of each window, or -1.
template <typename T, typename I>
__global__ void MaxPlaces(const Pool<I> pool, const T* x, int32* places, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const At<I> at = Split(pool, i, pool.Windows());
    int32 best = -1;
    C value = C(0);
    pool.ForWindow(at.index, [&](I place) {
      const C other = (C)x[pool.InOffset(at.image, place, at.channel)];
      if (best < 0 || other > value) {
        best = (int32)place;
        value = other;
      }
    });
    places[i] = best;
  }
}

// Images with channels last, in packs of channels: a thread takes a pack. `i` counts packs of places or of windows.
template <int kPack>
struct PackAt {
  int32 image, y, x;
  int32 offset;  // of the pack's first channel
  PackAt(const Pool<int32>& pool, int64 i, int32 height, int32 width) {
    const uint32 packs = pool.channels / kPack, rest = (uint32)i / packs, row = rest / width;
    x = rest % width;
    y = row % height;
    image = row / height;
    offset = (uint32)i % packs * kPack;
  }
};
// Calls body(pack of x, step) for each place of a window inside the image; steps count the window's places.
template <typename T, int kPack, typename Body>
void ForPacksOfWindow(const Pool<int32>& pool, const PackAt<kPack>& at, const T* x, Body body) {
  const Axis<int32>&rows = pool.axes[1], &columns = pool.axes[2];
  const T* image = x + (int64)at.image * pool.Places() * pool.channels + at.offset;
  for (int32 r = rows.Begin(at.y); r < rows.End(at.y); ++r) {
    const int32 first = (r + rows.before - at.y * rows.stride) * columns.size + columns.before - at.x * columns.stride;
    for (int32 c = columns.Begin(at.x); c < columns.End(at.x); ++c) {
      body(*(const Pack<T, kPack>*)(image + ((int64)r * columns.input + c) * pool.channels), first + c);
    }
  }
}

template <typename T, int kNan, int kPack>
__global__ void MaxPoolPacks(const Pool<int32> pool, const T* x, T* y, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const PackAt<kPack> at(pool, i, pool.axes[1].output, pool.axes[2].output);
    C best[kPack];
    bool any = false;
    for (int k = 0; k < kPack; ++k) best[k] = LowestFinite<T>();
    ForPacksOfWindow<T, kPack>(pool, at, x, [&](const Pack<T, kPack>& values, int32) {
      for (int k = 0; k < kPack; ++k) {
        const C value = (C)values.v[k];
        best[k] = kNan == kNanFirst && !any ? value : value > best[k] ? value : best[k];
      }
      any = true;
    });
    Pack<T, kPack> out;
    for (int k = 0; k < kPack; ++k) out.v[k] = (T)(any ? best[k] : C(0));
    ((Pack<T, kPack>*)y)[i] = out;
  }
}

// The step of the first largest element of each window, or 255.
template <typename T, int kPack>
__global__ void MaxStepsOfPacks(const Pool<int32> pool, const T* x, uint8* steps, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const PackAt<kPack> at(pool, i, pool.axes[1].output, pool.axes[2].output);
    C best[kPack];
    Pack<uint8, kPack> out;
    for (int k = 0; k < kPack; ++k) out.v[k] = 255;
    ForPacksOfWindow<T, kPack>(pool, at, x, [&](const Pack<T, kPack>& values, int32 step) {
      for (int k = 0; k < kPack; ++k) {
        const C value = (C)values.v[k];
        if (out.v[k] == 255 || value > best[k]) {
          best[k] = value;
          out.v[k] = (uint8)step;
        }
      }
    });
    ((Pack<uint8, kPack>*)steps)[i] = out;
  }
}

template <typename T, int kPack>
__global__ void MaxPoolGradOfPacks(const Pool<int32> pool, const uint8* steps, const T* dy, T* dx, int64 n) {
  typedef wide<T> C;
  const Axis<int32>&rows = pool.axes[1], &columns = pool.axes[2];
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const PackAt<kPack> at(pool, i, rows.input, columns.input);
    const int64 image = (int64)at.image * pool.Windows() * pool.channels + at.offset;
    C sums[kPack] = {};
    for (int32 r = rows.First(at.y); r < rows.Last(at.y); ++r) {
      for (int32 c = columns.First(at.x); c < columns.Last(at.x); ++c) {
        const int32 step =
            (at.y + rows.before - r * rows.stride) * columns.size + at.x + columns.before - c * columns.stride;
        const int64 offset = image + ((int64)r * columns.output + c) * pool.channels;
        const Pack<uint8, kPack> taken = *(const Pack<uint8, kPack>*)(steps + offset);
        const Pack<T, kPack> slopes = *(const Pack<T, kPack>*)(dy + offset);
        for (int k = 0; k < kPack; ++k) {
          if (taken.v[k] == step) sums[k] = sums[k] + (C)slopes.v[k];
        }
      }
    }
    Pack<T, kPack> out;
    for (int k = 0; k < kPack; ++k) out.v[k] = (T)sums[k];
    ((Pack<T, kPack>*)dx)[i] = out;
  }
}

// Values at places, and the places as numbers of elements.
template <typename T, typename I>
__global__ void TakePlaces(const Pool<I> pool, const T* x, const int32* places, T* y, int64* argmax,
                           int64 include_batch, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const At<I> at = Split(pool, i, pool.Windows());
    const I offset = pool.InOffset(at.image, places[i] < 0 ? (I)0 : (I)places[i], at.channel);
    y[i] = places[i] < 0 ? (T)0 : x[offset];
    if (argmax == nullptr) continue;
    const I first = at.image * pool.Places() * pool.channels;
    argmax[i] = (places[i] < 0 ? first : offset) - (include_batch ? 0 : first);
  }
}

template <typename T, typename I>
__global__ void MaxPoolGrad(const Pool<I> pool, const int32* places, const T* dy, T* dx, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const At<I> at = Split(pool, i, pool.Places());
    C sum = C(0);
    pool.ForWindowsOf(at.index, [&](I window) {
      const I offset = pool.OutOffset(at.image, window, at.channel);
      if (places[offset] == at.index) sum = WrapAdd(sum, (C)dy[offset]);
    });
    dx[i] = (T)sum;
  }
}

// Every element that equals the largest of its window gets the window's gradient.
template <typename T, typename I>
__global__ void MaxPoolGradOfEqual(const Pool<I> pool, const T* x, const T* y, const T* dy, T* dx, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const At<I> at = Split(pool, i, pool.Places());
    const C value = (C)x[i];
    C sum = C(0);
    pool.ForWindowsOf(at.index, [&](I window) {
      const I offset = pool.OutOffset(at.image, window, at.channel);
      if ((C)y[offset] == value) sum = sum + (C)dy[offset];
    });
    dx[i] = (T)sum;
  }
}

template <typename T, typename I>
__global__ void AvgPool(const Pool<I> pool, const T* x, T* y, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const At<I> at = Split(pool, i, pool.Windows());
    C sum = C(0);
    pool.ForWindow(at.index, [&](I place) { sum = sum + (C)x[pool.InOffset(at.image, place, at.channel)]; });
    const I count = pool.CountInside(at.index);
    y[i] = (T)(count == 0 ? C(0) : sum / (C)count);
  }
}

template <typename T, typename I>
__global__ void AvgPoolGrad(const Pool<I> pool, const T* dy, T* dx, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const At<I> at = Split(pool, i, pool.Places());
    C sum = C(0);
    pool.ForWindowsOf(at.index, [&](I window) {
      sum = sum + (C)dy[pool.OutOffset(at.image, window, at.channel)] / (C)pool.CountInside(window);
    });
    dx[i] = (T)sum;
  }
}

// Adds each gradient to the element that its index names: one thread for each image, so that the order is fixed.
template <typename T>
__global__ void ScatterByArgmax(const T* dy, const int64* argmax, wide<T>* sums, int64 batch, int64 image, int64 pooled,
                                int64 include_batch, unsigned* error) {
  for (int64 b = GridFirst(); b < batch; b += GridStride()) {
    for (int64 i = b * pooled; i < (b + 1) * pooled; ++i) {
      const int64 first = include_batch ? b * image : 0;
      if (argmax[i] < first || argmax[i] >= first + image) {
        *error = 1;
        continue;
      }
      wide<T>& sum = sums[argmax[i] - first + b * image];
      sum = sum + (wide<T>)dy[i];
    }
  }
}
// The same with a thread for each gradient.
template <typename T>
__global__ void AddByArgmax(const T* dy, const int64* argmax, wide<T>* sums, int64 batch, int64 image, int64 pooled,
                            int64 include_batch, unsigned* error) {
  for (int64 i = GridFirst(); i < batch * pooled; i += GridStride()) {
    const int64 b = i / pooled, first = include_batch ? b * image : 0;
    if (argmax[i] < first || argmax[i] >= first + image) {
      *error = 1;
      continue;
    }
    atomicAdd(&sums[argmax[i] - first + b * image], (wide<T>)dy[i]);
  }
}
template <typename T>
__global__ void NarrowSums(const wide<T>* sums, T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) out[i] = (T)sums[i];
}
