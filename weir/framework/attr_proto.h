// Attributes and schemas to and from the wire format.
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

// What is written replaces what the message held. Reading gives INVALID_ARGUMENT for type numbers, shapes and tensors
// that are not valid; whether a value suits its op is for CheckAttrs to say.
Status ToProto(const Attribute& attribute, AttrValue* proto);
StatusOr<Attribute> FromProto(const AttrValue& proto);
Status ToProto(const AttrMap& attrs, AttrProtoMap* proto);
StatusOr<AttrMap> FromProto(const AttrProtoMap& proto);
Status ToProto(const FunctionAttr& function, NameAttrList* proto);
StatusOr<FunctionAttr> FromProto(const NameAttrList& proto);

// Gradient, family and shape function have no place in an OpDef and are not written; `doc` is its summary.
Status ToProto(const OpSchema& schema, OpDef* proto);
// INVALID_ARGUMENT also for arguments without a type or with attributes that are not declared.
StatusOr<OpSchema> FromProto(const OpDef& proto);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_ATTR_PROTO_H_
