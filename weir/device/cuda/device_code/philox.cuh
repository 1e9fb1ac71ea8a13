// Philox 4x32-10 (base/philox.h) in device code.
#pragma once
#include "weir/device/cuda/device_code/host_math.cuh"

struct PhiloxBlock {
  uint32 x[4];
};

struct Philox {
  uint64 key, counter_low, counter_high;

  PhiloxBlock Next() {
    PhiloxBlock block = At(counter_low, counter_high);
    Skip(1);
    return block;
  }
  void Skip(uint64 blocks) {
    counter_low += blocks;
    if (counter_low < blocks) ++counter_high;
  }
  PhiloxBlock At(uint64 low, uint64 high) const {
    PhiloxBlock c = {{(uint32)low, (uint32)(low >> 32), (uint32)high, (uint32)(high >> 32)}};
    uint32 k0 = (uint32)key, k1 = (uint32)(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64 p0 = (uint64)0xD2511F53u * c.x[0], p1 = (uint64)0xCD9E8D57u * c.x[2];
      c = PhiloxBlock{{(uint32)(p1 >> 32) ^ c.x[1] ^ k0, (uint32)p1, (uint32)(p0 >> 32) ^ c.x[3] ^ k1, (uint32)p0}};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return c;
  }
};

// The same stream, one number at a time.
struct PhiloxNumbers {
  Philox philox;
  PhiloxBlock block;
  int used;
  explicit PhiloxNumbers(const Philox& start) : philox(start), used(4) {}
  uint32 Next() {
    if (used == 4) {
      block = philox.Next();
      used = 0;
    }
    return block.x[used++];
  }
};

// In [0, 1).
inline float UniformFloat(uint32 x) { return __uint_as_float(0x3f800000u | (x & 0x7fffffu)) - 1.0f; }
inline double UniformDouble(uint32 x0, uint32 x1) {
  return __longlong_as_double((long long)(1023ull << 52 | (uint64)(x0 & 0xfffffu) << 32 | x1)) - 1.0;
}
inline float UniformHalf(uint32 x) {
  half h;
  h.bits = (uint16)(15u << 10 | (x & 0x3ffu));
  return (float)h - 1.0f;
}
inline float UniformBFloat16(uint32 x) { return __uint_as_float((127u << 7 | (x & 0x7fu)) << 16) - 1.0f; }

// Two independent normal values: those of floats bit for bit the host's.
template <typename R>
struct NormalPair {
  R first, second;
};
inline NormalPair<float> NormalFloats(uint32 x0, uint32 x1) {
  const float u = fmaxf(UniformFloat(x0), 1.0e-7f);
  const float angle = (float)(6.283185307179586 * UniformFloat(x1));
  const float radius = sqrtf(-2.0f * HostLog(u));
  return {HostSine(angle, 0) * radius, HostSine(angle, 1) * radius};
}
inline NormalPair<double> NormalDoubles(uint32 x0, uint32 x1, uint32 x2, uint32 x3) {
  const double u = fmax(UniformDouble(x0, x1), 1.0e-7);
  const double angle = 6.283185307179586 * UniformDouble(x2, x3);
  const double radius = sqrt(-2.0 * log(u));
  return {sin(angle) * radius, cos(angle) * radius};
}
