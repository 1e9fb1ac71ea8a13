#include "weir/framework/op_schema.h"

#include <algorithm>

namespace weir {
namespace {

int FindArg(const std::vector<ArgSchema>& args, std::string_view name) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// A node could ask for more tensors than any machine holds; refuse before the vectors are made.
constexpr int64_t kMostTensors = 1 << 20;

StatusOr<int64_t> CountOf(const ArgSchema& arg, const AttrMap& attrs) {
  if (!arg.type_list_attr.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> types, GetAttr<std::vector<DType>>(attrs, arg.type_list_attr));
    return static_cast<int64_t>(types.size());
  }
  if (arg.number_attr.empty()) return 1;
  WEIR_ASSIGN_OR_RETURN(int64_t count, GetAttr<int64_t>(attrs, arg.number_attr));
  if (count < 0 || count > kMostTensors) {
    return InvalidArgument("Value for number_attr() ", arg.number_attr, " of ", count, " is not in [0, ", kMostTensors,
                           "]");
  }
  return count;
}

Status AppendTypes(const ArgSchema& arg, const AttrMap& attrs, std::vector<DType>& out) {
  size_t first = out.size();
  if (!arg.type_list_attr.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> types, GetAttr<std::vector<DType>>(attrs, arg.type_list_attr));
    out.insert(out.end(), types.begin(), types.end());
  } else {
    DType type = arg.type;
    if (!arg.type_attr.empty()) {
      WEIR_ASSIGN_OR_RETURN(type, GetAttr<DType>(attrs, arg.type_attr));
    }
    WEIR_ASSIGN_OR_RETURN(int64_t count, CountOf(arg, attrs));
    if (static_cast<int64_t>(first) + count > kMostTensors) return InvalidArgument("Too many tensors in ", arg.name);
    out.insert(out.end(), count, type);
  }
  for (size_t i = first; i < out.size(); ++i) {
    if (BaseType(out[i]) == DType::kInvalid) return InvalidArgument("Invalid type for argument ", arg.name);
    if (arg.is_ref) out[i] = RefType(out[i]);
  }
  return OkStatus();
}

std::string ShowArgs(const std::vector<ArgSchema>& args) {
  std::string out;
  for (const ArgSchema& arg : args) {
    if (!out.empty()) out += ", ";
    std::string type = arg.type != DType::kInvalid ? std::string(Name(arg.type)) : arg.type_attr + arg.type_list_attr;
    if (!arg.number_attr.empty()) type = Cat(arg.number_attr, "*", type);
    out += arg.is_ref ? Cat(arg.name, ":Ref(", type, ")") : Cat(arg.name, ":", type);
  }
  return out;
}

}  // namespace

const AttrSchema* OpSchema::FindAttr(std::string_view attr_name) const {
  for (const AttrSchema& attr : attrs) {
    if (attr.name == attr_name) return &attr;
  }
  return nullptr;
}

int OpSchema::FindInput(std::string_view arg_name) const { return FindArg(inputs, arg_name); }
int OpSchema::FindOutput(std::string_view arg_name) const { return FindArg(outputs, arg_name); }

StatusOr<ArgTypes> ResolveArgTypes(const OpSchema& schema, const AttrMap& attrs) {
  ArgTypes types;
  for (const ArgSchema& arg : schema.inputs) WEIR_RETURN_IF_ERROR(AppendTypes(arg, attrs, types.inputs));
  for (const ArgSchema& arg : schema.outputs) WEIR_RETURN_IF_ERROR(AppendTypes(arg, attrs, types.outputs));
  return types;
}

StatusOr<ArgRange> ResolveArgRange(const std::vector<ArgSchema>& args, const AttrMap& attrs, int index) {
  if (index < 0 || index >= static_cast<int>(args.size())) {
    return InvalidArgument("There is no argument ", index, "; there are ", args.size());
  }
  int64_t begin = 0;
  for (int i = 0; i <= index; ++i) {
    WEIR_ASSIGN_OR_RETURN(int64_t count, CountOf(args[i], attrs));
    if (begin + count > kMostTensors) return InvalidArgument("Too many tensors in ", args[i].name);
    if (i == index) return ArgRange{static_cast<int>(begin), static_cast<int>(begin + count)};
    begin += count;
  }
  return Internal("Unreachable");
}

std::string Summarize(const OpSchema& schema) {
  std::string out =
      Cat("Op<name=", schema.name, "; signature=", ShowArgs(schema.inputs), " -> ", ShowArgs(schema.outputs));
  for (const AttrSchema& attr : schema.attrs) {
    out += Cat("; attr=", attr.name, ":", attr.type);
    if (attr.default_value) out += Cat(",default=", attr.default_value->ToString());
    if (attr.minimum) out += Cat(",min=", *attr.minimum);
    if (attr.allowed) out += Cat(",allowed=", Attribute(*attr.allowed).ToString());
  }
  if (schema.is_commutative) out += "; is_commutative=true";
  if (schema.is_aggregate) out += "; is_aggregate=true";
  if (schema.is_stateful) out += "; is_stateful=true";
  if (schema.allows_uninitialized_input) out += "; allows_uninitialized_input=true";
  if (schema.is_distributed_communication) out += "; is_distributed_communication=true";
  return out + ">";
}

}  // namespace weir
