#include "weir/ops/queue/list_wire.h"

#include <vector>

#include "weir/proto/tensor.pb.h"

namespace weir {

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

bool TakeVarint(std::string_view& text, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < text.size() && i < 10; ++i) {
    uint64_t byte = static_cast<unsigned char>(text[i]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

void AppendShape(std::string& out, const PartialShape& shape) {
  TensorShapeProto proto;
  proto.set_unknown_rank(!shape.has_rank());
  for (int64_t size : shape.dims()) proto.add_dim()->set_size(size);
  out += proto.SerializeAsString();
}

std::optional<PartialShape> ParseShape(std::string_view text) {
  TensorShapeProto proto;
  if (!proto.ParseFromArray(text.data(), static_cast<int>(text.size()))) return std::nullopt;
  if (proto.unknown_rank()) return PartialShape::Unknown();
  std::vector<int64_t> dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  auto shape = PartialShape::Make(dims);
  if (!shape.ok()) return std::nullopt;
  return *std::move(shape);
}

}  // namespace weir
