// Conversions of attributes and schemas to and from the wire format.
#ifndef WEIR_FRAMEWORK_ATTR_PROTO_H_
#define WEIR_FRAMEWORK_ATTR_PROTO_H_

#include <string>

#include "weir/framework/op_schema.h"

namespace google::protobuf {
template <typename Key, typename T>
class Map;
}  // namespace google::protobuf

namespace weir {

class AttrValue;
class NameAttrList;
class OpDef;
using AttrProtoMap = google::protobuf::Map<std::string, AttrValue>;

// ToProto replaces the previous contents of the message. FromProto returns INVALID_ARGUMENT for invalid type numbers,
// shapes and tensors; CheckAttrs decides whether a value fits its op.
Status ToProto(const Attribute& attribute, AttrValue* proto);
StatusOr<Attribute> FromProto(const AttrValue& proto);
Status ToProto(const AttrMap& attrs, AttrProtoMap* proto);
StatusOr<AttrMap> FromProto(const AttrProtoMap& proto);
Status ToProto(const FunctionAttr& function, NameAttrList* proto);
StatusOr<FunctionAttr> FromProto(const NameAttrList& proto);

// Gradient, family and shape function have no field in an OpDef and are not written; `doc` becomes its summary.
Status ToProto(const OpSchema& schema, OpDef* proto);
// Also INVALID_ARGUMENT for arguments without a type or with undeclared attributes.
StatusOr<OpSchema> FromProto(const OpDef& proto);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_ATTR_PROTO_H_
