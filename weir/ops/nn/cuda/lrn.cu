// Local response normalisation over the channels of rows.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Response {
  int64 depth, radius;
  float bias, alpha, beta;
  int64 Begin(int64 c) const { return c > radius ? c - radius : 0; }
  int64 End(int64 c) const { return depth - c > radius ? c + radius + 1 : depth; }
  template <typename T>
  float Norm(const T* row, int64 c) const {
    float sum = 0;
    for (int64 k = Begin(c); k < End(c); ++k) sum += (float)row[k] * (float)row[k];
    return bias + alpha * sum;
  }
};

template <typename T>
__global__ void Normalize(const Response r, const T* x, T* y, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 c = i % r.depth;
    y[i] = (T)((float)x[i] * pow(r.Norm(x + (i - c), c), -r.beta));
  }
}

// Gathers what each output in reach gives to an input.
template <typename T>
__global__ void NormalizeGrad(const Response r, const T* dy, const T* x, const T* y, T* dx, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 c = i % r.depth, row = i - c;
    float sum = 0;
    for (int64 k = r.Begin(c); k < r.End(c); ++k) {
      const float norm = r.Norm(x + row, k), d = (float)dy[row + k];
      sum += -2.0f * r.alpha * r.beta * (float)y[row + k] / norm * d * (float)x[i];
      if (k == c) sum += pow(norm, -r.beta) * d;
    }
    dx[i] = (T)sum;
  }
}
