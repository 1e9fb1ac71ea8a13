// How much boxes overlap.
#ifndef WEIR_OPS_IMAGE_BOX_OVERLAP_H_
#define WEIR_OPS_IMAGE_BOX_OVERLAP_H_

#include <algorithm>

namespace weir {

// The common area of two boxes (y, x of any two opposite corners) as a part of the area of both together.
inline float BoxOverlap(const float* a, const float* b) {
  const float a_top = std::min(a[0], a[2]), a_left = std::min(a[1], a[3]);
  const float a_bottom = std::max(a[0], a[2]), a_right = std::max(a[1], a[3]);
  const float b_top = std::min(b[0], b[2]), b_left = std::min(b[1], b[3]);
  const float b_bottom = std::max(b[0], b[2]), b_right = std::max(b[1], b[3]);
  const float a_area = (a_bottom - a_top) * (a_right - a_left), b_area = (b_bottom - b_top) * (b_right - b_left);
  if (a_area <= 0 || b_area <= 0) return 0;
  const float height = std::max(std::min(a_bottom, b_bottom) - std::max(a_top, b_top), 0.0f);
  const float width = std::max(std::min(a_right, b_right) - std::max(a_left, b_left), 0.0f);
  const float common = height * width;
  return common / (a_area + b_area - common);
}

}  // namespace weir

#endif  // WEIR_OPS_IMAGE_BOX_OVERLAP_H_
