// Values that take several numbers of the stream each: gamma distributions, and classes by their weights.
#include "weir/device/cuda/device_code/philox.cuh"

// Uniform doubles one at a time; of the two that a block gives the second comes first.
struct UniformDoubles {
  double values[2];
  int left = 0;
  double Next(Philox& philox) {
    if (left == 0) {
      const PhiloxBlock b = philox.Next();
      values[0] = UniformDouble(b.x[0], b.x[1]);
      values[1] = UniformDouble(b.x[2], b.x[3]);
      left = 2;
    }
    return values[--left];
  }
};

// Rejection after Marsaglia and Tsang.
inline double DrawGamma(double alpha, Philox philox) {
  UniformDoubles uniform;
  if (alpha == 1.0) return -log1p(-uniform.Next(philox));
  const double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / sqrt(d);
  double normals[2];
  int left = 0;
  while (true) {
    if (left == 0) {
      const PhiloxBlock b = philox.Next();
      const NormalPair<double> pair = NormalDoubles(b.x[0], b.x[1], b.x[2], b.x[3]);
      normals[0] = pair.first;
      normals[1] = pair.second;
      left = 2;
    }
    const double x = normals[--left];
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = uniform.Next(philox);
    // The first test accepts most draws without a logarithm.
    if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v))) {
      double result = d * v;
      if (alpha < 1) result *= pow(uniform.Next(philox), 1 / alpha);
      return result;
    }
    if (!(d > 0)) return __longlong_as_double(0x7ff8000000000000ll);  // no alpha that a draw could fit
  }
}

// Sample i of n has a stream of its own, `blocks` behind that of the one before.
template <typename T>
__global__ void FillGamma(const Philox philox, int64 blocks, const T* alphas, int64 parameters, int64 samples, T* out,
                          int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    Philox own = philox;
    own.Skip((uint64)(i * blocks));
    const int64 parameter = i / samples;
    const double drawn = DrawGamma((double)(wide<T>)alphas[parameter], own);
    out[i % samples * parameters + parameter] = (T)(wide<T>)drawn;
  }
}

// The running sums of exp(logit - the row's greatest) over the finite logits. A block of 256 threads has a row; the
// sums are made one after the other, as on the host.
template <typename T>
__global__ void ClassWeights(const T* logits, int64 classes, double* sums, int64 rows) {
  __shared__ double greatest[256];
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* own = logits + row * classes;
    double most = -1.7976931348623157e308;
    for (int64 i = threadIdx.x; i < classes; i += blockDim.x) {
      const double logit = (double)(wide<T>)own[i];
      if (logit - logit == 0 && logit > most) most = logit;
    }
    greatest[threadIdx.x] = most;
    for (int half = 128; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) greatest[threadIdx.x] = fmax(greatest[threadIdx.x], greatest[threadIdx.x + half]);
    }
    __syncthreads();
    for (int64 i = threadIdx.x; i < classes; i += blockDim.x) {
      const double logit = (double)(wide<T>)own[i];
      sums[row * classes + i] = logit - logit == 0 ? exp(logit - greatest[0]) : 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int64 i = 1; i < classes; ++i) sums[row * classes + i] += sums[row * classes + i - 1];
    }
  }
}

// `sums` are the running sums of each row's weights. All rows share one stream of numbers, two for a draw.
template <typename Index>
__global__ void DrawClasses(const Philox philox, const double* sums, int64 classes, int64 samples, Index* out,
                            int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    Philox own = philox;
    own.Skip((uint64)(i / 2));
    const PhiloxBlock block = own.Next();
    const int first = (int)(i % 2) * 2;
    const double* row = sums + i / samples * classes;
    const double draw = UniformDouble(block.x[first], block.x[first + 1]) * row[classes - 1];
    int64 low = 0, high = classes;
    while (low < high) {
      const int64 middle = (low + high) / 2;
      if (draw < row[middle])
        high = middle;
      else
        low = middle + 1;
    }
    out[i] = (Index)low;
  }
}
