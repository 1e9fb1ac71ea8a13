// A vector along the channels of a tensor: outer x channels x inner.
#include "weir/device/cuda/device_code/channels.cuh"
#include "weir/device/cuda/device_code/elementwise.cuh"

template <typename T, bool kLast>
__global__ void AddBias(const T* x, const T* bias, T* out, int64 outer, int64 channels, int64 inner) {
  ForChannels<kLast>(outer, channels, inner,
                     [&](int64 i, int64 c) { out[i] = (T)WrapAdd((wide<T>)x[i], (wide<T>)bias[c]); });
}

// What a contraction is fused with: y = activation(x * scale + shift + addend), each of them if it is there.
struct Identity {
  template <typename C>
  static C Do(C x, float) {
    return x;
  }
};
#define ACTIVATION(Name, expression) \
  struct Fused##Name {               \
    template <typename C>            \
    static C Do(C x, float alpha) {  \
      return expression;             \
    }                                \
  };
ACTIVATION(Relu, x < C(0) ? C(0) : x)
ACTIVATION(Relu6, x<C(0) ? C(0) : x> C(6) ? C(6) : x)
ACTIVATION(Elu, x < C(0) ? expm1(x) : x)
ACTIVATION(Tanh, tanh(x))
ACTIVATION(Sigmoid, C(1) / (C(1) + exp(-x)))
ACTIVATION(LeakyRelu, x >= C(0) ? x : x * C(alpha))
typedef Identity FusedIdentity;

template <typename T, typename Activation, bool kLast>
__global__ void FinishContraction(const T* x, const wide<T>* scale, const wide<T>* shift, const T* bias,
                                  const T* addend, T* out, int64 outer, int64 channels, int64 inner, float alpha) {
  typedef wide<T> C;
  ForChannels<kLast>(outer, channels, inner, [&](int64 i, int64 c) {
    C value = (C)x[i];
    if (scale) value = value * scale[c] + shift[c];
    if (bias) value = value + (C)bias[c];
    if (addend) value = value + (C)addend[i];
    out[i] = (T)Activation::Do(value, alpha);
  });
}

// A fixed norm as a factor and a shift.
template <typename C>
__global__ void NormAsScale(const C* scale, const C* offset, const C* mean, const C* variance, C* factor, C* shift,
                            int64 n, float epsilon) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    factor[i] = scale[i] / sqrt(variance[i] + (C)epsilon);
    shift[i] = offset[i] - mean[i] * factor[i];
  }
}
