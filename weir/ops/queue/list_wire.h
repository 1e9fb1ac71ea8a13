// The shape in a tensor list's metadata: a serialized TensorShapeProto.
#ifndef WEIR_OPS_QUEUE_LIST_WIRE_H_
#define WEIR_OPS_QUEUE_LIST_WIRE_H_

#include <optional>
#include <string>
#include <string_view>

#include "weir/tensor/shape.h"

namespace weir {

void AppendShape(std::string& out, const PartialShape& shape);
// Nothing if `text` is no TensorShapeProto, or says something absurd.
std::optional<PartialShape> ParseShape(std::string_view text);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_LIST_WIRE_H_
