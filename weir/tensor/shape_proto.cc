#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

absl::InlinedVector<int64_t, 8> Dims(const TensorShapeProto& proto) {
  absl::InlinedVector<int64_t, 8> dims;
  for (const TensorShapeProto::Dim& dim : proto.dim()) dims.push_back(dim.size());
  return dims;
}

}  // namespace

void ToProto(const Shape& shape, TensorShapeProto* proto) {
  proto->Clear();
  for (int64_t dim : shape.dims()) proto->add_dim()->set_size(dim);
}

void ToProto(const PartialShape& shape, TensorShapeProto* proto) {
  proto->Clear();
  proto->set_unknown_rank(!shape.has_rank());
  for (int64_t dim : shape.dims()) proto->add_dim()->set_size(dim);
}

StatusOr<Shape> ShapeFromProto(const TensorShapeProto& proto) {
  if (proto.unknown_rank()) return InvalidArgument("A shape of unknown rank where a known one is needed");
  return Shape::Make(Dims(proto));
}

StatusOr<PartialShape> PartialShapeFromProto(const TensorShapeProto& proto) {
  if (!proto.unknown_rank()) return PartialShape::Make(Dims(proto));
  if (proto.dim_size() > 0) {
    return InvalidArgument("An unknown shape must not have any dimensions set");
  }
  return PartialShape::Unknown();
}

void ToProto(const ResourceHandle& handle, ResourceHandleProto* proto) {
  proto->Clear();
  proto->set_device(handle.device);
  proto->set_container(handle.container);
  proto->set_name(handle.name);
  proto->set_hash_code(handle.hash_code);
  proto->set_maybe_type_name(handle.type_name);
  for (const ResourceHandle::DTypeAndShape& each : handle.dtypes_and_shapes) {
    auto* out = proto->add_dtypes_and_shapes();
    out->set_dtype(static_cast<DataType>(each.dtype));
    ToProto(each.shape, out->mutable_shape());
  }
}

StatusOr<ResourceHandle> FromProto(const ResourceHandleProto& proto) {
  ResourceHandle handle;
  handle.device = proto.device();
  handle.container = proto.container();
  handle.name = proto.name();
  handle.hash_code = proto.hash_code();
  handle.type_name = proto.maybe_type_name();
  for (const auto& each : proto.dtypes_and_shapes()) {
    if (each.dtype() != 0 && !IsValidDType(each.dtype())) return InvalidArgument("A handle of type ", each.dtype());
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(each.shape()));
    handle.dtypes_and_shapes.push_back({static_cast<DType>(each.dtype()), std::move(shape)});
  }
  return handle;
}

}  // namespace weir
