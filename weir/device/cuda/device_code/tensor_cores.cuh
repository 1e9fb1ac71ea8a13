// Products of small matrices by the tensor cores: operands of half, bfloat16, or float that is rounded to
// TensorFloat-32, and sums in float.
#pragma once

#include "weir/device/cuda/device_code/elements.cuh"

template <typename T>
__device__ __forceinline__ uint32 PackPair(float low, float high);
template <>
__device__ __forceinline__ uint32 PackPair<half>(float low, float high) {
  uint32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <>
__device__ __forceinline__ uint32 PackPair<bfloat16>(float low, float high) {
  uint32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Two neighbours as they are stored.
template <typename T>
__device__ __forceinline__ void StorePair(T* to, float low, float high) {
  *(uint32*)to = PackPair<T>(low, high);
}
template <>
__device__ __forceinline__ void StorePair<float>(float* to, float low, float high) {
  *(float2*)to = make_float2(low, high);
}

// What a product takes of 32 bits: two elements as they are, or a float with fewer digits.
template <typename T>
__device__ __forceinline__ uint32 Operand(uint32 bits) {
  return bits;
}
template <>
__device__ __forceinline__ uint32 Operand<float>(uint32 bits) {
  uint32 rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
  return rounded;
}
template <typename T>
__device__ __forceinline__ void ToOperands(uint32 (&x)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = Operand<T>(x[i]);
}

// c += a * b, of 16 x kDepth and kDepth x 8 elements: 32 bytes of each row.
template <typename T>
constexpr int kDepth = 32 / sizeof(T);

template <typename T>
__device__ __forceinline__ void MultiplyAdd(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1);
template <>
__device__ __forceinline__ void MultiplyAdd<half>(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void MultiplyAdd<bfloat16>(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void MultiplyAdd<float>(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
