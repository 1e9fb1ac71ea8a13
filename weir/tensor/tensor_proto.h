// Tensors and shapes to and from their protobuf messages.
#ifndef WEIR_TENSOR_TENSOR_PROTO_H_
#define WEIR_TENSOR_TENSOR_PROTO_H_

#include "weir/base/status.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/shape.h"
#include "weir/tensor/tensor.h"
#include "weir/tensor/variant.h"

namespace weir {

class ResourceHandleProto;
class TensorProto;
class TensorShapeProto;
class VariantTensorDataProto;

// Where the elements go. Readers take all three.
enum class TensorEncoding {
  kContent,  // numbers as bytes in tensor_content, strings, handles and variants in their fields: files and graphs
  kFields,   // every type in its own field: payloads of variants, checkpoints of the first format
  kWire,     // every type in tensor_content: what TensorFlow's gRPC peers send
};

// UNIMPLEMENTED for variants that cannot leave the process and for memory of a device; INVALID_ARGUMENT for more than a
// message can hold.
Status ToProto(const Tensor& tensor, TensorProto* proto, TensorEncoding encoding = TensorEncoding::kContent);

// Missing values repeat the last one, surplus ones are ignored. INVALID_ARGUMENT for a message that is no tensor,
// RESOURCE_EXHAUSTED for one that does not fit memory.
StatusOr<Tensor> FromProto(const TensorProto& proto);
// Takes large contents over without a copy; such a tensor is aligned to 16 bytes only.
StatusOr<Tensor> FromProto(TensorProto&& proto);

// Leaves out the values at the end that repeat, if the message then takes at most 1 / min_ratio of its bytes. Tensors
// of fewer than `min_elements` stay as they are. True if the message changed.
bool CompressProto(TensorProto* proto, int64_t min_elements = 64, double min_ratio = 2.0);

void ToProto(const Shape& shape, TensorShapeProto* proto);
void ToProto(const PartialShape& shape, TensorShapeProto* proto);
// INVALID_ARGUMENT for an unknown rank or a negative size.
StatusOr<Shape> ShapeFromProto(const TensorShapeProto& proto);
// INVALID_ARGUMENT for a size below -1.
StatusOr<PartialShape> PartialShapeFromProto(const TensorShapeProto& proto);

void ToProto(const ResourceHandle& handle, ResourceHandleProto* proto);
StatusOr<ResourceHandle> FromProto(const ResourceHandleProto& proto);

Status ToProto(const Variant& variant, VariantTensorDataProto* proto);
StatusOr<Variant> FromProto(const VariantTensorDataProto& proto);

}  // namespace weir

#endif  // WEIR_TENSOR_TENSOR_PROTO_H_
