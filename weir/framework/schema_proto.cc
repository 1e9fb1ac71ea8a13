// OpSchema to and from OpDef, of attr_proto.h.
#include "weir/framework/attr_proto.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

void WriteArg(const ArgSchema& arg, OpDef::ArgDef* proto) {
  proto->set_name(arg.name);
  proto->set_type(static_cast<DataType>(arg.type));
  proto->set_type_attr(arg.type_attr);
  proto->set_number_attr(arg.number_attr);
  proto->set_type_list_attr(arg.type_list_attr);
  proto->set_is_ref(arg.is_ref);
}

StatusOr<ArgSchema> ReadArg(const OpDef::ArgDef& proto, const OpSchema& schema) {
  if (proto.type() != 0 && !IsValidDType(proto.type())) {
    return InvalidArgument("Unknown DataType number ", static_cast<int>(proto.type()), " for argument ", proto.name());
  }
  ArgSchema arg{.name = proto.name(),
                .type = static_cast<DType>(proto.type()),
                .type_attr = proto.type_attr(),
                .number_attr = proto.number_attr(),
                .type_list_attr = proto.type_list_attr(),
                .is_ref = proto.is_ref()};
  int ways = (arg.type != DType::kInvalid) + !arg.type_attr.empty() + !arg.type_list_attr.empty();
  if (ways != 1 || (!arg.type_list_attr.empty() && !arg.number_attr.empty())) {
    return InvalidArgument("Argument ", arg.name, " of op ", schema.name, " must have one type");
  }
  auto check = [&](const std::string& name, std::string_view type) -> Status {
    if (name.empty()) return OkStatus();
    const AttrSchema* attr = schema.FindAttr(name);
    if (attr != nullptr && attr->type == type) return OkStatus();
    return InvalidArgument("Argument ", arg.name, " of op ", schema.name, " needs an attribute ", name, " of type ",
                           type);
  };
  WEIR_RETURN_IF_ERROR(check(arg.type_attr, "type"));
  WEIR_RETURN_IF_ERROR(check(arg.number_attr, "int"));
  WEIR_RETURN_IF_ERROR(check(arg.type_list_attr, "list(type)"));
  return arg;
}

StatusOr<AttrSchema> ReadAttr(const OpDef::AttrDef& proto) {
  AttrSchema attr{.name = proto.name(), .type = proto.type()};
  if (proto.has_minimum()) attr.minimum = proto.minimum();
  if (proto.has_allowed_values()) {
    WEIR_ASSIGN_OR_RETURN(Attribute allowed, FromProto(proto.allowed_values()));
    const AttrList* list = allowed.get_if<AttrList>();
    if (list == nullptr) return InvalidArgument("Allowed values of attribute ", attr.name, " must be a list");
    attr.allowed = *list;
  }
  if (proto.has_default_value()) {
    WEIR_ASSIGN_OR_RETURN(attr.default_value, FromProto(proto.default_value()));
    WEIR_RETURN_IF_ERROR(CheckAttr(attr, *attr.default_value));
  }
  return attr;
}

}  // namespace

Status ToProto(const OpSchema& schema, OpDef* proto) {
  proto->Clear();
  proto->set_name(schema.name);
  for (const ArgSchema& arg : schema.inputs) WriteArg(arg, proto->add_input_arg());
  for (const ArgSchema& arg : schema.outputs) WriteArg(arg, proto->add_output_arg());
  for (const AttrSchema& attr : schema.attrs) {
    OpDef::AttrDef* out = proto->add_attr();
    out->set_name(attr.name);
    out->set_type(attr.type);
    if (attr.default_value) WEIR_RETURN_IF_ERROR(ToProto(*attr.default_value, out->mutable_default_value()));
    if (attr.allowed) WEIR_RETURN_IF_ERROR(ToProto(Attribute(*attr.allowed), out->mutable_allowed_values()));
    if (attr.minimum) {
      out->set_has_minimum(true);
      out->set_minimum(*attr.minimum);
    }
  }
  if (schema.deprecated_since != 0) {
    proto->mutable_deprecation()->set_version(schema.deprecated_since);
    proto->mutable_deprecation()->set_explanation(schema.deprecation_reason);
  }
  proto->set_summary(schema.doc);
  proto->set_is_commutative(schema.is_commutative);
  proto->set_is_aggregate(schema.is_aggregate);
  proto->set_is_stateful(schema.is_stateful);
  proto->set_allows_uninitialized_input(schema.allows_uninitialized_input);
  proto->set_is_distributed_communication(schema.is_distributed_communication);
  return OkStatus();
}

StatusOr<OpSchema> FromProto(const OpDef& proto) {
  OpSchema schema;
  schema.name = proto.name();
  for (const OpDef::AttrDef& each : proto.attr()) {
    if (schema.FindAttr(each.name()) != nullptr) {
      return InvalidArgument("Op ", proto.name(), " has two attributes ", each.name());
    }
    WEIR_ASSIGN_OR_RETURN(AttrSchema attr, ReadAttr(each));
    schema.attrs.push_back(std::move(attr));
  }
  for (const OpDef::ArgDef& each : proto.input_arg()) {
    WEIR_ASSIGN_OR_RETURN(ArgSchema arg, ReadArg(each, schema));
    schema.inputs.push_back(std::move(arg));
  }
  for (const OpDef::ArgDef& each : proto.output_arg()) {
    WEIR_ASSIGN_OR_RETURN(ArgSchema arg, ReadArg(each, schema));
    schema.outputs.push_back(std::move(arg));
  }
  schema.deprecated_since = proto.deprecation().version();
  schema.deprecation_reason = proto.deprecation().explanation();
  schema.doc = proto.summary();
  schema.is_commutative = proto.is_commutative();
  schema.is_aggregate = proto.is_aggregate();
  schema.is_stateful = proto.is_stateful();
  schema.allows_uninitialized_input = proto.allows_uninitialized_input();
  schema.is_distributed_communication = proto.is_distributed_communication();
  return schema;
}

}  // namespace weir
