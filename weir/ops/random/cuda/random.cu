// Random values, group by group: the host's numbers (ops/random/random_cpu.cc).
#include "weir/device/cuda/device_code/philox.cuh"

// Where a stream begins: numbers, or the state of a generator in the device's memory: counter, counter, key.
struct Start {
  uint64 key, counter_low, counter_high;
  const uint64* state;
  Philox Make() const {
    if (state != nullptr) return Philox{state[2], state[0], state[1]};
    return Philox{key, counter_low, counter_high};
  }
};

template <typename T>
constexpr int kGroup = sizeof(T) == 8 ? 2 : 4;

struct UniformValues {
  template <typename T>
  static void Make(const PhiloxBlock& b, T* out) {
    if constexpr (sizeof(T) == 8) {
      for (int i = 0; i < 2; ++i) out[i] = UniformDouble(b.x[2 * i], b.x[2 * i + 1]);
    } else {
      for (int i = 0; i < 4; ++i) {
        if constexpr (IsSame<T, float>::value)
          out[i] = UniformFloat(b.x[i]);
        else if constexpr (IsSame<T, half>::value)
          out[i] = half(UniformHalf(b.x[i]));
        else
          out[i] = bfloat16(UniformBFloat16(b.x[i]));
      }
    }
  }
};
struct NormalValues {
  template <typename T>
  static void Make(const PhiloxBlock& b, T* out) {
    if constexpr (sizeof(T) == 8) {
      const NormalPair<double> pair = NormalDoubles(b.x[0], b.x[1], b.x[2], b.x[3]);
      out[0] = pair.first;
      out[1] = pair.second;
    } else {
      for (int i = 0; i < 4; i += 2) {
        const NormalPair<float> pair = NormalFloats(b.x[i], b.x[i + 1]);
        out[i] = T(pair.first);
        out[i + 1] = T(pair.second);
      }
    }
  }
};
struct FullIntegers {
  template <typename T>
  static void Make(const PhiloxBlock& b, T* out) {
    for (int i = 0; i < kGroup<T>; ++i) {
      if constexpr (sizeof(T) == 8)
        out[i] = (T)((uint64)b.x[2 * i + 1] << 32 | b.x[2 * i]);
      else
        out[i] = (T)b.x[i];
    }
  }
};

template <typename T>
void Store(const T* values, int64 group, T* out, int64 n) {
  for (int i = 0; i < kGroup<T> && group * kGroup<T> + i < n; ++i) out[group * kGroup<T> + i] = values[i];
}

template <typename T, typename Values>
__global__ void FillBlocks(const Start start, T* out, int64 n) {
  const int64 groups = (n + kGroup<T> - 1) / kGroup<T>;
  for (int64 group = GridFirst(); group < groups; group += GridStride()) {
    Philox philox = start.Make();
    philox.Skip((uint64)group);
    T values[kGroup<T>];
    Values::template Make<T>(philox.Next(), values);
    Store(values, group, out, n);
  }
}

template <typename T, typename Bits>
__global__ void FillIntegers(const Start start, T* out, int64 n, int64 minval, int64 maxval) {
  const Bits low = (Bits)minval, range = (Bits)maxval - low;
  const int64 groups = (n + kGroup<T> - 1) / kGroup<T>;
  for (int64 group = GridFirst(); group < groups; group += GridStride()) {
    Philox philox = start.Make();
    philox.Skip((uint64)group);
    Bits bits[kGroup<T>];
    FullIntegers::Make<Bits>(philox.Next(), bits);
    T values[kGroup<T>];
    for (int i = 0; i < kGroup<T>; ++i) values[i] = (T)(Bits)(low + bits[i] % range);
    Store(values, group, out, n);
  }
}

// Values within two deviations, however many numbers that takes.
template <typename T>
__global__ void FillTruncatedNormal(const Start start, T* out, int64 n, int64 blocks_per_group) {
  const int64 groups = (n + kGroup<T> - 1) / kGroup<T>;
  for (int64 group = GridFirst(); group < groups; group += GridStride()) {
    Philox philox = start.Make();
    philox.Skip((uint64)(group * blocks_per_group));
    PhiloxNumbers numbers(philox);
    T values[kGroup<T>];
    int filled = 0;
    while (filled < kGroup<T>) {
      uint32 x[4];
      for (int i = 0; i < (sizeof(T) == 8 ? 4 : 2); ++i) x[i] = numbers.Next();
      if constexpr (sizeof(T) == 8) {
        const NormalPair<double> pair = NormalDoubles(x[0], x[1], x[2], x[3]);
        if (fabs(pair.first) < 2 && filled < kGroup<T>) values[filled++] = pair.first;
        if (fabs(pair.second) < 2 && filled < kGroup<T>) values[filled++] = pair.second;
      } else {
        const NormalPair<float> pair = NormalFloats(x[0], x[1]);
        if (fabsf(pair.first) < 2 && filled < kGroup<T>) values[filled++] = T(pair.first);
        if (fabsf(pair.second) < 2 && filled < kGroup<T>) values[filled++] = T(pair.second);
      }
    }
    Store(values, group, out, n);
  }
}

// Moves a generator's counter on, as the host does (AdvanceGenerator).
__global__ void AdvanceState(uint64* state, uint64 blocks) {
  const uint64 low = state[0] + blocks;
  const bool is_lost = blocks >> 32 == 0xffffffffu && (uint32)low < (uint32)blocks;
  if (low < blocks && !is_lost) ++state[1];
  state[0] = low;
}
