#include "weir/framework/attr_proto.h"

#include "weir/proto/graph.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

// Invalid (0) passes: who uses the type says what is wrong with it.
StatusOr<DType> ReadType(int number) {
  if (number != 0 && !IsValidDType(number)) return InvalidArgument("Unknown DataType number ", number);
  return static_cast<DType>(number);
}

DataType WriteType(DType type) { return static_cast<DataType>(type); }

Status WriteList(const AttrList& list, AttrValue::ListValue* proto) {
  for (const std::string& s : list.s) proto->add_s(s);
  for (int64_t i : list.i) proto->add_i(i);
  for (float f : list.f) proto->add_f(f);
  for (bool b : list.b) proto->add_b(b);
  for (DType type : list.type) proto->add_type(WriteType(type));
  for (const PartialShape& shape : list.shape) ToProto(shape, proto->add_shape());
  for (const Tensor& tensor : list.tensor) WEIR_RETURN_IF_ERROR(ToProto(tensor, proto->add_tensor()));
  for (const FunctionAttr& func : list.func) WEIR_RETURN_IF_ERROR(ToProto(func, proto->add_func()));
  return OkStatus();
}

StatusOr<AttrList> ReadList(const AttrValue::ListValue& proto) {
  AttrList list;
  list.s.assign(proto.s().begin(), proto.s().end());
  list.i.assign(proto.i().begin(), proto.i().end());
  list.f.assign(proto.f().begin(), proto.f().end());
  list.b.assign(proto.b().begin(), proto.b().end());
  for (int number : proto.type()) {
    WEIR_ASSIGN_OR_RETURN(DType type, ReadType(number));
    list.type.push_back(type);
  }
  for (const TensorShapeProto& each : proto.shape()) {
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(each));
    list.shape.push_back(std::move(shape));
  }
  for (const TensorProto& each : proto.tensor()) {
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, FromProto(each));
    list.tensor.push_back(std::move(tensor));
  }
  for (const NameAttrList& each : proto.func()) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr func, FromProto(each));
    list.func.push_back(std::move(func));
  }
  return list;
}

template <typename T>
StatusOr<Attribute> Wrap(StatusOr<T> value) {
  if (!value.ok()) return std::move(value).status();
  return Attribute(*std::move(value));
}

}  // namespace

Status ToProto(const Attribute& attribute, AttrValue* proto) {
  proto->Clear();
  if (auto* v = attribute.get_if<AttrList>()) return WriteList(*v, proto->mutable_list());
  if (auto* v = attribute.get_if<FunctionAttr>()) return ToProto(*v, proto->mutable_func());
  if (auto* v = attribute.get_if<Tensor>()) return ToProto(*v, proto->mutable_tensor());
  if (auto* v = attribute.get_if<PartialShape>()) ToProto(*v, proto->mutable_shape());
  if (auto* v = attribute.get_if<std::string>()) proto->set_s(*v);
  if (auto* v = attribute.get_if<int64_t>()) proto->set_i(*v);
  if (auto* v = attribute.get_if<float>()) proto->set_f(*v);
  if (auto* v = attribute.get_if<bool>()) proto->set_b(*v);
  if (auto* v = attribute.get_if<DType>()) proto->set_type(WriteType(*v));
  if (auto* v = attribute.get_if<AttrPlaceholder>()) proto->set_placeholder(v->name);
  return OkStatus();
}

StatusOr<Attribute> FromProto(const AttrValue& proto) {
  switch (proto.value_case()) {
    case AttrValue::kS:
      return Attribute(proto.s());
    case AttrValue::kI:
      return Attribute(static_cast<int64_t>(proto.i()));
    case AttrValue::kF:
      return Attribute(proto.f());
    case AttrValue::kB:
      return Attribute(proto.b());
    case AttrValue::kType:
      return Wrap(ReadType(proto.type()));
    case AttrValue::kShape:
      return Wrap(PartialShapeFromProto(proto.shape()));
    case AttrValue::kTensor:
      return Wrap(FromProto(proto.tensor()));
    case AttrValue::kList:
      return Wrap(ReadList(proto.list()));
    case AttrValue::kFunc:
      return Wrap(FromProto(proto.func()));
    case AttrValue::kPlaceholder:
      return Attribute(AttrPlaceholder{proto.placeholder()});
    case AttrValue::VALUE_NOT_SET:
      return Attribute();
  }
  return Attribute();
}

Status ToProto(const AttrMap& attrs, AttrProtoMap* proto) {
  proto->clear();
  for (const auto& [name, value] : attrs) WEIR_RETURN_IF_ERROR(ToProto(value, &(*proto)[name]));
  return OkStatus();
}

StatusOr<AttrMap> FromProto(const AttrProtoMap& proto) {
  AttrMap attrs;
  for (const auto& [name, value] : proto) {
    StatusOr<Attribute> attribute = FromProto(value);
    if (!attribute.ok()) return Annotate(attribute.status(), "", Cat("\n\t for attr '", name, "'"));
    attrs.Set(name, *std::move(attribute));
  }
  return attrs;
}

Status ToProto(const FunctionAttr& function, NameAttrList* proto) {
  proto->set_name(function.name);
  return ToProto(function.attrs, proto->mutable_attr());
}

StatusOr<FunctionAttr> FromProto(const NameAttrList& proto) {
  WEIR_ASSIGN_OR_RETURN(AttrMap attrs, FromProto(proto.attr()));
  return FunctionAttr{proto.name(), std::move(attrs)};
}

}  // namespace weir
