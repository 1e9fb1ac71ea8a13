// Shapes of the segment ops, checked as on all devices.
#ifndef WEIR_OPS_MATH_SEGMENT_H_
#define WEIR_OPS_MATH_SEGMENT_H_

#include "weir/framework/kernel.h"

namespace weir {

// Of SegmentSum and its like.
Status CheckSegments(const Shape& data, const Shape& ids);

// Of UnsortedSegmentSum and its like: data, ids and, in the host's memory, the number of segments.
struct UnsortedSegments {
  Shape shape;  // of the output
  int64_t count = 0;
  int64_t inner = 1;  // elements that one id is for
};
StatusOr<UnsortedSegments> CheckUnsortedSegments(const KernelContext& ctx);

}  // namespace weir

#endif  // WEIR_OPS_MATH_SEGMENT_H_
