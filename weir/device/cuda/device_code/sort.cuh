// Sorting of keys with their positions; equal keys keep their order. Few keys are sorted by one block in shared memory,
// more by their digits of eight bits, the lowest first.
#pragma once
#include "weir/device/cuda/device_code/elements.cuh"

constexpr int kSortThreads = 256, kSortWarps = kSortThreads / 32, kSortTile = 2048, kDigits = 256;

inline __global__ void SortFew(uint64* keys, int32* positions, int64 n) {
  __shared__ uint64 key[kSortTile];
  __shared__ int32 position[kSortTile];
  int size = 2;
  while (size < n) size *= 2;
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    key[i] = i < n ? keys[i] : ~0ull;
    position[i] = i;
  }
  for (int run = 2; run <= size; run *= 2) {
    for (int distance = run / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const int a = 2 * i - (i & (distance - 1)), b = a + distance;
        const bool is_after = key[a] != key[b] ? key[a] > key[b] : position[a] > position[b];
        if (is_after == ((a & run) == 0)) {
          const uint64 other_key = key[a];
          const int32 other_position = position[a];
          key[a] = key[b];
          position[a] = position[b];
          key[b] = other_key;
          position[b] = other_position;
        }
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    keys[i] = key[i];
    positions[i] = position[i];
  }
}

inline int DigitOf(uint64 key, int shift) { return (int)(key >> shift & (kDigits - 1)); }

// How often each digit occurs in each tile: counts[digit * tiles + tile].
inline __global__ void CountDigits(const uint64* keys, int64 n, int32 shift, int32* counts, int64 tiles) {
  __shared__ int32 own[kDigits];
  for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int i = threadIdx.x; i < kDigits; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int64 i = tile * kSortTile + threadIdx.x; i < (tile + 1) * kSortTile && i < n; i += blockDim.x) {
      atomicAdd(&own[DigitOf(keys[i], shift)], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kDigits; i += blockDim.x) counts[i * tiles + tile] = own[i];
    __syncthreads();
  }
}

// Lanes of this warp with the same digit; those without a key have none in common with others.
inline uint32 LanesWith(int digit, bool has_key) {
  uint32 lanes = __ballot_sync(0xffffffffu, has_key);
  for (int bit = 0; bit < 8; ++bit) {
    const uint32 set = __ballot_sync(0xffffffffu, digit >> bit & 1);
    lanes &= digit >> bit & 1 ? set : ~set;
  }
  return lanes;
}

// Moves each key to its place. `places` is the running sum of the counts. `from_positions` is null in the first round.
// Each warp takes a run of its tile's keys, so that they stay in order.
inline __global__ void MoveKeys(const uint64* from_keys, const int32* from_positions, int64 n, int32 shift,
                                const int32* places, int64 tiles, uint64* to_keys, int32* to_positions) {
  __shared__ int32 next[kSortWarps][kDigits];
  constexpr int kRun = kSortTile / kSortWarps;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int i = threadIdx.x; i < kSortWarps * kDigits; i += blockDim.x) next[i / kDigits][i % kDigits] = 0;
    __syncthreads();
    const int64 begin = tile * kSortTile + warp * kRun;
    for (int step = 0; step < kRun; step += 32) {
      const int64 i = begin + step + lane;
      if (i < n) atomicAdd(&next[warp][DigitOf(from_keys[i], shift)], 1);
    }
    __syncthreads();
    {
      const int digit = threadIdx.x;
      int32 place = places[digit * tiles + tile];
      for (int w = 0; w < kSortWarps; ++w) {
        const int32 count = next[w][digit];
        next[w][digit] = place;
        place += count;
      }
    }
    __syncthreads();
    for (int step = 0; step < kRun; step += 32) {
      const int64 i = begin + step + lane;
      const uint64 key = i < n ? from_keys[i] : 0;
      const int digit = DigitOf(key, shift);
      const uint32 lanes = LanesWith(digit, i < n);
      const int rank = __popc(lanes & ((1u << lane) - 1));
      const int32 place = i < n ? next[warp][digit] + rank : 0;
      __syncwarp();
      if (i < n && rank == 0) next[warp][digit] += __popc(lanes);
      __syncwarp();
      if (i < n) {
        to_keys[place] = key;
        to_positions[place] = from_positions != nullptr ? from_positions[i] : (int32)i;
      }
    }
    __syncthreads();
  }
}
