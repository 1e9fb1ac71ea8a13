#ifndef WEIR_IO_PROTO_DEPTH_INTERNAL_H_
#define WEIR_IO_PROTO_DEPTH_INTERNAL_H_

namespace weir {

// Structured values of a SavedModel nest deeper than protobuf's own limit.
inline constexpr int kMaxProtoDepth = 200;

}  // namespace weir

#endif  // WEIR_IO_PROTO_DEPTH_INTERNAL_H_
