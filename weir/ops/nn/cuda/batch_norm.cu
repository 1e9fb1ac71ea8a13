// Batch norms: sums for each channel of a tensor that is outer x channels x inner, in pieces of fixed size, and what is
// made of them. A thread adds up few numbers in float; everything after that is double.
#include "weir/device/cuda/device_code/channels.cuh"
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Images {
  int64 outer, channels, inner;
  int64 piece, pieces;  // elements of a channel that one block takes, and how many of those there are
  int64 Count() const { return outer * inner; }
};

// What is summed: x less the channel's first element, and its square.
struct Spread {
  static constexpr bool kHasGradient = false;
  static void Take(float x, float, float first, float& a, float& b) {
    const float d = x - first;
    a += d;
    b = __fmaf_rn(d, d, b);
  }
};
// The gradient, and its product with x less the mean.
struct Slopes {
  static constexpr bool kHasGradient = true;
  static void Take(float x, float dy, float mean, float& a, float& b) {
    a += dy;
    b = __fmaf_rn(dy, x - mean, b);
  }
};
// How to tell where a rectifier after the norm let its gradient through: where its output is positive, or, where that
// was not kept, the norm, computed again.
enum { kNoRectifier, kOutput, kRecomputed };
struct Rectifier {
  const void* output;
  const float *scale, *offset, *variance;
  float epsilon;
};
// What a norm multiplies a channel's distances from the mean with.
float FactorOf(float scale, float variance, float epsilon) { return scale / sqrt(variance + epsilon); }
// What of a gradient reaches the norm. `distance` is x less the mean; the norm's output is computed as Normalize does.
template <typename T, int kRectifier>
float Passing(float dy, float distance, float factor, float offset, T output) {
  if (kRectifier == kOutput) return (float)output > 0 ? dy : 0;
  if (kRectifier == kRecomputed) return (float)(T)(distance * factor + offset) > 0 ? dy : 0;
  return dy;
}

// The numbers of a pack of channels.
template <int kPack>
struct Channels {
  float v[kPack];
  // REQUIRES: values is aligned to 16 bytes if kPack is not 1.
  void Load(const float* values, int64 pack) {
    constexpr int kPart = kPack % 4 == 0 ? 4 : 1;
    for (int k = 0; k < kPack; k += kPart) {
      const Pack<float, kPart> part = *(const Pack<float, kPart>*)(values + pack * kPack + k);
      for (int j = 0; j < kPart; ++j) v[k + j] = part.v[j];
    }
  }
};

constexpr int kTurns = 32;  // numbers that are added in float

// Channels last: of the 256 threads of a block kLanes take a pack of channels each, the others share the rows. Sums in
// double are in shared memory: in registers they would leave room for fewer blocks.
template <typename Terms, int kRectifier, typename T, int kPack, int kLanes>
__global__ void __launch_bounds__(256, 3)
    SumRows(const Images images, const T* x, const T* dy, const float* means, const Rectifier rectifier, double* sums) {
  constexpr int kRows = 256 / kLanes, kColumns = kLanes * kPack;
  constexpr int kAhead = Terms::kHasGradient ? 2 : 4;  // rows whose loads are under way
  __shared__ double shared[2][kPack][256];
  __shared__ __align__(16) float norms[2][kRectifier == kRecomputed ? kColumns : 4];
  const int self = threadIdx.y * kLanes + threadIdx.x;
  for (int k = 0; k < kPack; ++k) shared[0][k][self] = shared[1][k][self] = 0;
  if (kRectifier == kRecomputed) {
    const int64 channel = (int64)blockIdx.x * kColumns + self;
    if (self < kColumns && channel < images.channels) {
      norms[0][self] = FactorOf(rectifier.scale[channel], rectifier.variance[channel], rectifier.epsilon);
      norms[1][self] = rectifier.offset[channel];
    }
    __syncthreads();
  }
  const int64 first = ((int64)blockIdx.x * kLanes + threadIdx.x) * kPack, channels = images.channels;
  const int64 begin = blockIdx.y * images.piece;
  const int64 end = begin + images.piece < images.outer ? begin + images.piece : images.outer;
  if (first < channels) {
    Channels<kPack> shift, factors, offsets;
    if (Terms::kHasGradient) {
      shift.Load(means, first / kPack);
    } else {
      const Pack<T, kPack> values = *(const Pack<T, kPack>*)(x + first);
      for (int k = 0; k < kPack; ++k) shift.v[k] = (float)values.v[k];
    }
    if (kRectifier == kRecomputed) {
      factors.Load(norms[0], threadIdx.x);
      offsets.Load(norms[1], threadIdx.x);
    }
    for (int64 turn = begin + threadIdx.y; turn < end; turn += kRows * kTurns) {
      float a[kPack] = {}, b[kPack] = {};
#pragma unroll kAhead
      for (int64 row = turn; row < end && row < turn + kRows * kTurns; row += kRows) {
        const int64 at = row * channels + first;
        const Pack<T, kPack> values = *(const Pack<T, kPack>*)(x + at);
        Pack<T, kPack> slopes, outputs;
        if (Terms::kHasGradient) slopes = *(const Pack<T, kPack>*)(dy + at);
        if (kRectifier == kOutput) outputs = *(const Pack<T, kPack>*)((const T*)rectifier.output + at);
        for (int k = 0; k < kPack; ++k) {
          const float value = (float)values.v[k];
          float slope = 0;
          if (Terms::kHasGradient) {
            slope = Passing<T, kRectifier>((float)slopes.v[k], value - shift.v[k], factors.v[k], offsets.v[k],
                                           outputs.v[k]);
          }
          Terms::Take(value, slope, shift.v[k], a[k], b[k]);
        }
      }
      for (int k = 0; k < kPack; ++k) {
        shared[0][k][self] += a[k];
        shared[1][k][self] += b[k];
      }
    }
  }
  __syncthreads();
  for (int i = self; i < 2 * kColumns; i += 256) {
    const int which = i / kColumns, k = i / kLanes % kPack, lane = i % kLanes;
    const int64 channel = ((int64)blockIdx.x * kLanes + lane) * kPack + k;
    double sum = 0;
    for (int share = 0; share < kRows; ++share) sum += shared[which][k][share * kLanes + lane];
    if (channel < channels) sums[(2 * blockIdx.y + which) * channels + channel] = sum;
  }
}

// Channels second: a block of 256 threads takes one channel.
template <typename Terms, int kRectifier, typename T>
__global__ void SumPlanes(const Images images, const T* x, const T* dy, const float* means, const Rectifier rectifier,
                          double* sums) {
  __shared__ double shared[2][256];
  const int64 channel = blockIdx.x, inner = images.inner;
  const int64 begin = blockIdx.y * images.piece;
  const int64 end = begin + images.piece < images.Count() ? begin + images.piece : images.Count();
  const float shift = Terms::kHasGradient ? means[channel] : (float)x[channel * inner];
  const T* output = (const T*)rectifier.output;
  const bool recomputes = kRectifier == kRecomputed;
  const float factor =
      recomputes ? FactorOf(rectifier.scale[channel], rectifier.variance[channel], rectifier.epsilon) : 0;
  const float offset = recomputes ? rectifier.offset[channel] : 0;
  double a = 0, b = 0;
  int64 i = begin + threadIdx.x, image = i / inner, place = i % inner;
  while (i < end) {
    float part_a = 0, part_b = 0;
    for (int turn = 0; turn < kTurns && i < end; ++turn, i += 256) {
      const int64 at = (image * images.channels + channel) * inner + place;
      float slope = 0;
      if (Terms::kHasGradient) {
        const T at_output = kRectifier == kOutput ? output[at] : T(0.0f);
        slope = Passing<T, kRectifier>((float)dy[at], (float)x[at] - shift, factor, offset, at_output);
      }
      Terms::Take((float)x[at], slope, shift, part_a, part_b);
      for (place += 256; place >= inner; place -= inner) ++image;
    }
    a += part_a;
    b += part_b;
  }
  shared[0][threadIdx.x] = a;
  shared[1][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.x < 2) {
    double sum = 0;
    for (int other = 0; other < 256; ++other) sum += shared[threadIdx.x][other];
    sums[(2 * blockIdx.y + threadIdx.x) * images.channels + channel] = sum;
  }
}

struct Statistics {
  const float *scale, *offset, *old_mean, *old_variance;
  float *mean, *variance, *saved_mean, *saved_variance;
  float *factor, *shift;  // y = (x - saved_mean) * factor + offset; shift is unused
  float epsilon, average_factor;
  int32 is_training;
};

// The sums of all pieces of a channel, for a block of 32 channels x 32 threads; those with threadIdx.y 0 get them.
void JoinPieces(const Images& images, const double* sums, int64 channel, double& a, double& b) {
  __shared__ double shared[2][32][32];
  a = b = 0;
  if (channel < images.channels) {
#pragma unroll 8
    for (int64 p = threadIdx.y; p < images.pieces; p += 32) {
      a += sums[2 * p * images.channels + channel];
      b += sums[(2 * p + 1) * images.channels + channel];
    }
  }
  shared[0][threadIdx.y][threadIdx.x] = a;
  shared[1][threadIdx.y][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int other = 1; other < 32; ++other) {
    a += shared[0][other][threadIdx.x];
    b += shared[1][other][threadIdx.x];
  }
}

template <typename T>
__global__ void __launch_bounds__(1024)
    FinishNorm(const Images images, const T* x, const double* sums, const Statistics s) {
  const int64 c = (int64)blockIdx.x * 32 + threadIdx.x;
  double a = 0, b = 0;
  if (s.is_training && images.Count() > 0) JoinPieces(images, sums, c, a, b);
  if (threadIdx.y == 0 && c < images.channels) {
    if (images.Count() == 0) {
      s.mean[c] = s.variance[c] = s.saved_mean[c] = s.saved_variance[c] = __int_as_float(0x7fc00000);
      return;
    }
    if (s.is_training) {
      const double count = (double)images.Count(), distance = a / count;
      const double mean = distance + (float)x[c * images.inner];
      double variance = b / count - distance * distance;
      variance = variance < 0 ? 0 : variance;  // a NaN stays one
      const float sample = (float)(variance * (count > 1 ? count / (count - 1) : 1)), f = s.average_factor;
      s.mean[c] = f == 1 ? (float)mean : (1 - f) * s.old_mean[c] + f * (float)mean;
      s.variance[c] = f == 1 ? sample : (1 - f) * s.old_variance[c] + f * sample;
      s.saved_mean[c] = (float)mean;
      s.saved_variance[c] = (float)variance;
    } else {
      s.mean[c] = s.saved_mean[c] = s.old_mean[c];
      s.variance[c] = s.saved_variance[c] = s.old_variance[c];
    }
    s.factor[c] = FactorOf(s.scale[c], s.saved_variance[c], s.epsilon);
  }
}

// Calls begin(pack of channels) before body(i) for each pack of elements. With channels last, and as many threads
// as let each stay with its channels, only once.
template <bool kLast, typename Begin, typename Body>
void ForPacks(const Images& images, int64 packs, Begin begin, Body body) {
  const int64 n = images.outer * packs * images.inner;
  if (kLast && GridStride() % packs == 0) {
    begin(GridFirst() % packs);
#pragma unroll 4
    for (int64 i = GridFirst(); i < n; i += GridStride()) body(i);
    return;
  }
  ForChannels<kLast>(images.outer, packs, images.inner, [&](int64 i, int64 pack) {
    begin(pack);
    body(i);
  });
}

template <typename T, bool kRelu, bool kLast, int kPack>
__global__ void __launch_bounds__(256, 3) Normalize(const Images images, const T* x, const float* mean,
                                                    const float* factor, const float* offset, const T* side, T* y) {
  typedef Pack<T, kPack> P;
  Channels<kPack> means, factors, offsets;
  auto begin = [&](int64 pack) {
    means.Load(mean, pack);
    factors.Load(factor, pack);
    offsets.Load(offset, pack);
  };
  ForPacks<kLast>(images, images.channels / kPack, begin, [&](int64 i) {
    const P from = ((const P*)x)[i];
    P other, to;
    if (side) other = ((const P*)side)[i];
    for (int k = 0; k < kPack; ++k) {
      float value = ((float)from.v[k] - means.v[k]) * factors.v[k] + offsets.v[k];
      if (side) value = value + (float)other.v[k];
      to.v[k] = (T)(kRelu && value < 0 ? 0.0f : value);
    }
    ((P*)y)[i] = to;
  });
}

struct Gradients {
  const float *scale, *variance;
  float *scale_gradient, *offset_gradient;
  float *factor, *shift, *slope;  // dx = factor * (dy - shift - (x - mean) * slope)
  float epsilon;
  int32 is_training;
};
__global__ void __launch_bounds__(1024) FinishNormGrad(const Images images, const double* sums, const Gradients g) {
  const int64 c = (int64)blockIdx.x * 32 + threadIdx.x;
  double sum = 0, product = 0;
  JoinPieces(images, sums, c, sum, product);
  if (threadIdx.y == 0 && c < images.channels) {
    g.scale_gradient[c] = (float)(product * FactorOf(1, g.variance[c], g.epsilon));
    g.offset_gradient[c] = (float)sum;
    g.factor[c] = FactorOf(g.scale[c], g.variance[c], g.epsilon);
    // With fixed statistics the gradient does not flow through them.
    const double count = images.Count() > 0 ? (double)images.Count() : 1;
    g.shift[c] = g.is_training ? (float)(sum / count) : 0;
    g.slope[c] = g.is_training ? (float)(product / count / ((double)g.variance[c] + g.epsilon)) : 0;
  }
}

template <typename T, int kRectifier, bool kLast, int kPack>
__global__ void __launch_bounds__(256, 3)
    NormalizeGrad(const Images images, const T* x, const T* dy, const Rectifier rectifier, const float* mean,
                  const float* factor, const float* shift, const float* slope, T* dx) {
  typedef Pack<T, kPack> P;
  Channels<kPack> means, factors, shifts, slopes, offsets;
  auto begin = [&](int64 pack) {
    if (kRectifier == kRecomputed) offsets.Load(rectifier.offset, pack);
    means.Load(mean, pack);
    factors.Load(factor, pack);
    shifts.Load(shift, pack);
    slopes.Load(slope, pack);
  };
  ForPacks<kLast>(images, images.channels / kPack, begin, [&](int64 i) {
    const P from = ((const P*)x)[i], gradient = ((const P*)dy)[i];
    P rectified, to;
    if (kRectifier == kOutput) rectified = ((const P*)rectifier.output)[i];
    for (int k = 0; k < kPack; ++k) {
      const float distance = (float)from.v[k] - means.v[k];
      const float d =
          Passing<T, kRectifier>((float)gradient.v[k], distance, factors.v[k], offsets.v[k], rectified.v[k]);
      to.v[k] = (T)(factors.v[k] * (d - shifts.v[k] - distance * slopes.v[k]));
    }
    ((P*)dx)[i] = to;
  });
}
