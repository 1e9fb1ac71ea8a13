// The bytes of a tensor list's metadata: varints and a serialized TensorShapeProto.
#ifndef WEIR_OPS_QUEUE_LIST_WIRE_H_
#define WEIR_OPS_QUEUE_LIST_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/tensor/shape.h"

namespace weir {

void AppendVarint(std::string& out, uint64_t value);
// Moves the first varint of `text` to `value`; false if there is none.
bool TakeVarint(std::string_view& text, uint64_t& value);

void AppendShape(std::string& out, const PartialShape& shape);
// Nothing if `text` is no TensorShapeProto, or says something absurd.
std::optional<PartialShape> ParseShape(std::string_view text);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_LIST_WIRE_H_
