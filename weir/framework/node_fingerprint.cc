#include "weir/framework/node_fingerprint.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>

#include "weir/base/fingerprint.h"
#include "weir/framework/attr_proto.h"
#include "weir/proto/graph.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

// Equal values give equal bytes: maps are written in order.
std::string DeterministicBytes(const AttrValue& value) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    value.SerializeToCodedStream(&coded);
  }
  return bytes;
}

bool IsZero(const Tensor& tensor) {
  const auto* bytes = static_cast<const char*>(tensor.raw_data());
  return IsPlain(tensor.dtype()) && std::all_of(bytes, bytes + tensor.num_bytes(), [](char c) { return c == 0; });
}

Status WriteTensor(const Tensor& tensor, TensorForm form, TensorProto* proto) {
  const bool in_function = form == TensorForm::kInFunction;
  // One element goes into the field of its type, more into bytes; strings of functions always into the field.
  if (tensor.num_elements() > 1) {
    return ToProto(tensor, proto, in_function ? TensorEncoding::kContent : TensorEncoding::kWire);
  }
  if (!in_function || !IsZero(tensor)) return ToProto(tensor, proto, TensorEncoding::kFields);
  // A zero of a function is left out.
  proto->set_dtype(static_cast<DataType>(tensor.dtype()));
  ToProto(tensor.shape(), proto->mutable_tensor_shape());
  return OkStatus();
}

StatusOr<uint64_t> ValueFingerprint(const Attribute& value, TensorForm form, const FunctionFingerprints& functions) {
  if (const auto* function = value.get_if<FunctionAttr>()) {
    if (functions == nullptr) return 0;
    return functions(*function);
  }
  if (const auto* list = value.get_if<AttrList>(); list != nullptr && !list->func.empty()) {
    uint64_t hash = 0;
    if (functions == nullptr) return hash;
    for (const FunctionAttr& function : list->func) {
      WEIR_ASSIGN_OR_RETURN(uint64_t one, functions(function));
      hash = CombineFingerprints(hash, one);
    }
    return hash;
  }
  AttrValue proto;
  if (const auto* tensor = value.get_if<Tensor>()) {
    WEIR_RETURN_IF_ERROR(WriteTensor(*tensor, form, proto.mutable_tensor()));
  } else {
    WEIR_RETURN_IF_ERROR(ToProto(value, &proto));
  }
  return Hash64(DeterministicBytes(proto));
}

}  // namespace

uint64_t CombineFingerprints(uint64_t a, uint64_t b) { return a ^ (b + 0x9e3779b97f4a7800ULL + (a << 10) + (a >> 4)); }

StatusOr<uint64_t> NodeFingerprint(uint64_t op, const OpSchema& schema, const AttrMap& attrs, std::string_view device,
                                   TensorForm form, const FunctionFingerprints& functions) {
  uint64_t all = 0;
  for (const AttrSchema& attr : schema.attrs) {
    const Attribute* value = attrs.Find(attr.name);
    // What a dataset is called does not change its elements.
    if (value == nullptr || attr.name == "metadata") continue;
    WEIR_ASSIGN_OR_RETURN(uint64_t hash, ValueFingerprint(*value, form, functions));
    all = CombineFingerprints(all, CombineFingerprints(Hash64(attr.name), hash));
  }
  return CombineFingerprints(op, CombineFingerprints(all, Hash64(device)));
}

uint64_t WithInputs(uint64_t node, uint64_t control_inputs, uint64_t inputs) {
  return CombineFingerprints(node, CombineFingerprints(control_inputs, inputs));
}

uint64_t AddInput(uint64_t inputs, uint64_t node, int index) {
  return CombineFingerprints(inputs, CombineFingerprints(node, Hash64(index == 0 ? std::string() : Cat(index))));
}

}  // namespace weir
