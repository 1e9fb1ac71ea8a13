// Of boxes that overlap, the one with the best score stays.
#include "weir/device/cuda/device_code/elements.cuh"

// Keys that sort by falling scores; those that are too low, or no numbers, come last.
constexpr uint64 kNotThere = 0xffffffffu;
__global__ void ScoreKeys(const float* scores, int64 n, float limit, uint64* keys) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const float score = scores[i] == 0 ? 0.0f : scores[i];  // zeros of both signs are equal
    const uint32 bits = __float_as_uint(score);
    const uint32 rising = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    keys[i] = score > limit ? (uint64)(uint32)~rising : kNotThere;
  }
}

// The common area of two boxes (y, x of any two opposite corners) as a part of the area of both together.
inline float Overlap(const float* a, const float* b) {
  const float a_top = fminf(a[0], a[2]), a_left = fminf(a[1], a[3]);
  const float a_bottom = fmaxf(a[0], a[2]), a_right = fmaxf(a[1], a[3]);
  const float b_top = fminf(b[0], b[2]), b_left = fminf(b[1], b[3]);
  const float b_bottom = fmaxf(b[0], b[2]), b_right = fmaxf(b[1], b[3]);
  const float a_area = (a_bottom - a_top) * (a_right - a_left), b_area = (b_bottom - b_top) * (b_right - b_left);
  if (a_area <= 0 || b_area <= 0) return 0;
  const float height = fmaxf(fminf(a_bottom, b_bottom) - fmaxf(a_top, b_top), 0.0f);
  const float width = fmaxf(fminf(a_right, b_right) - fmaxf(a_left, b_left), 0.0f);
  const float common = height * width;
  return common / (a_area + b_area - common);
}

// One block: the best box that is left is selected, and all that overlap it are marked. `marks` begin as zeros.
__global__ void SelectBoxes(const float* boxes, const uint64* keys, const int32* order, int64 n, float limit,
                            int64 max_output, uint8* marks, int32* selected, int32* count) {
  int64 found = 0;
  for (int64 i = 0; i < n && found < max_output && keys[i] != kNotThere; ++i) {
    __syncthreads();
    if (marks[i] != 0) continue;
    const float* box = boxes + 4 * (int64)order[i];
    if (threadIdx.x == 0) selected[found] = order[i];
    ++found;
    for (int64 k = i + 1 + threadIdx.x; k < n; k += blockDim.x) {
      if (marks[k] == 0 && Overlap(boxes + 4 * (int64)order[k], box) > limit) marks[k] = 1;
    }
  }
  if (threadIdx.x == 0) *count = (int32)found;
}
