#include "weir/ops/queue/list_wire.h"

#include <vector>

#include "weir/proto/tensor.pb.h"

namespace weir {

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
