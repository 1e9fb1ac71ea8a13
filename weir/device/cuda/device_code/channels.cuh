// Elements of a tensor that is outer x channels x inner, with their channels, without a division for each of them.
#pragma once

#include "weir/device/cuda/device_code/elements.cuh"

// Calls body(element, channel) for the elements of this thread. kLast: inner is 1.
template <bool kLast, typename Body>
void ForChannels(int64 outer, int64 channels, int64 inner, Body body) {
  if constexpr (kLast) {
    const int64 step = GridStride() % channels;
    int64 c = GridFirst() % channels;
    for (int64 i = GridFirst(); i < outer * channels; i += GridStride()) {
      body(i, c);
      c += step;
      if (c >= channels) c -= channels;
    }
  } else {
    for (int64 row = blockIdx.x; row < outer * channels; row += gridDim.x) {
      const int64 c = row % channels;
      for (int64 i = threadIdx.x; i < inner; i += blockDim.x) body(row * inner + i, c);
    }
  }
}
