// Batch norms: sums for each channel of a tensor that is outer x channels x inner, in pieces of fixed size, and what is
// made of them. A thread adds up few numbers in float; everything after that is double.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Images {
  int64 outer, channels, inner;
  int64 piece, pieces;  // elements of a channel that one block takes, and how many of those there are
  int64 Count() const { return outer * inner; }
  int64 Offset(int64 channel, int64 i) const { return (i / inner * channels + channel) * inner + i % inner; }
};

// What is summed: x less the channel's first element, and its square.
template <typename T>
struct Spread {
  const T* x;
  const T* unused;
  const float* unused_vector;
  const T* unused_output;
  float first;
  void Start(const Images& images, int64 channel) { first = (float)x[images.Offset(channel, 0)]; }
  void Take(int64 offset, float& a, float& b) const {
    const float d = (float)x[offset] - first;
    a += d;
    b += d * d;
  }
};
// The gradient, where the rectified output is positive, and its product with x less the mean.
template <typename T>
struct Slopes {
  const T* x;
  const T* dy;
  const float* means;
  const T* output;  // null: no rectifier
  float mean;
  void Start(const Images&, int64 channel) { mean = means[channel]; }
  void Take(int64 offset, float& a, float& b) const {
    const float d = output && !((float)output[offset] > 0) ? 0 : (float)dy[offset];
    a += d;
    b += d * ((float)x[offset] - mean);
  }
};

// Channels last: a block of 32 x 8 takes 32 channels; the eight share the rows. Else a block of 256 takes one channel.
template <typename Terms, typename T, bool kChannelsLast>
__global__ void SumChannels(const Images images, const T* x, const T* dy, const float* means, const T* output,
                            double* sums) {
  __shared__ double shared_a[256], shared_b[256];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int64 channel = kChannelsLast ? (int64)blockIdx.x * 32 + threadIdx.x : (int64)blockIdx.x;
  const int shares = kChannelsLast ? 8 : 256, share = kChannelsLast ? threadIdx.y : threadIdx.x;
  const int64 begin = blockIdx.y * images.piece;
  const int64 end = begin + images.piece < images.Count() ? begin + images.piece : images.Count();
  double a = 0, b = 0;
  if (channel < images.channels) {
    Terms terms = {x, dy, means, output, 0};
    terms.Start(images, channel);
    for (int64 first = begin + share; first < end; first += 32 * shares) {
      float part_a = 0, part_b = 0;
      for (int64 i = first; i < end && i < first + 32 * shares; i += shares) {
        terms.Take(images.Offset(channel, i), part_a, part_b);
      }
      a += part_a;
      b += part_b;
    }
  }
  shared_a[thread] = a;
  shared_b[thread] = b;
  __syncthreads();
  if (share == 0 && channel < images.channels) {
    for (int i = 1; i < shares; ++i) {
      const int other = kChannelsLast ? i * 32 + threadIdx.x : i;
      a += shared_a[other];
      b += shared_b[other];
    }
    sums[(2 * blockIdx.y) * images.channels + channel] = a;
    sums[(2 * blockIdx.y + 1) * images.channels + channel] = b;
  }
}

struct Statistics {
  const float *scale, *offset, *old_mean, *old_variance;
  float *mean, *variance, *saved_mean, *saved_variance;
  float *factor, *shift;  // y = (x - saved_mean) * factor + offset; shift is unused
  float epsilon, average_factor;
  int32 is_training;
};
template <typename T>
__global__ void FinishNorm(const Images images, const T* x, const double* sums, const Statistics s) {
  for (int64 c = GridFirst(); c < images.channels; c += GridStride()) {
    if (images.Count() == 0) {
      s.mean[c] = s.variance[c] = s.saved_mean[c] = s.saved_variance[c] = __int_as_float(0x7fc00000);
      continue;
    }
    if (s.is_training) {
      double a = 0, b = 0;
      for (int64 p = 0; p < images.pieces; ++p) {
        a += sums[2 * p * images.channels + c];
        b += sums[(2 * p + 1) * images.channels + c];
      }
      const double count = (double)images.Count(), distance = a / count;
      const double mean = distance + (float)x[images.Offset(c, 0)];
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
    s.factor[c] = s.scale[c] / sqrt(s.saved_variance[c] + s.epsilon);
  }
}

template <typename T, bool kRelu>
__global__ void Normalize(const Images images, const T* x, const float* mean, const float* factor, const float* offset,
                          const T* side, T* y) {
  const int64 n = images.Count() * images.channels;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 c = i / images.inner % images.channels;
    float value = ((float)x[i] - mean[c]) * factor[c] + offset[c];
    if (side) value = value + (float)side[i];
    y[i] = (T)(kRelu && value < 0 ? 0.0f : value);
  }
}

struct Gradients {
  const float *scale, *variance;
  float *scale_gradient, *offset_gradient;
  float *factor, *shift, *slope;  // dx = factor * (dy - shift - (x - mean) * slope)
  float epsilon;
  int32 is_training;
};
__global__ void FinishNormGrad(const Images images, const double* sums, const Gradients g) {
  for (int64 c = GridFirst(); c < images.channels; c += GridStride()) {
    double sum = 0, product = 0;
    for (int64 p = 0; p < images.pieces; ++p) {
      sum += sums[2 * p * images.channels + c];
      product += sums[(2 * p + 1) * images.channels + c];
    }
    const float inverse = 1.0f / sqrt(g.variance[c] + g.epsilon);
    g.scale_gradient[c] = (float)(product * inverse);
    g.offset_gradient[c] = (float)sum;
    g.factor[c] = g.scale[c] * inverse;
    // With fixed statistics the gradient does not flow through them.
    const double count = images.Count() > 0 ? (double)images.Count() : 1;
    g.shift[c] = g.is_training ? (float)(sum / count) : 0;
    g.slope[c] = g.is_training ? (float)(product / count / ((double)g.variance[c] + g.epsilon)) : 0;
  }
}

template <typename T>
__global__ void NormalizeGrad(const Images images, const T* x, const T* dy, const T* output, const float* mean,
                              const float* factor, const float* shift, const float* slope, T* dx) {
  const int64 n = images.Count() * images.channels;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 c = i / images.inner % images.channels;
    const float d = output && !((float)output[i] > 0) ? 0 : (float)dy[i];
    dx[i] = (T)(factor[c] * (d - shift[c] - ((float)x[i] - mean[c]) * slope[c]));
  }
}
