// CheckAttr and CheckAttrs of op_schema.h.
#include <algorithm>

#include "weir/framework/op_schema.h"

namespace weir {
namespace {

// "int" and "list(int)" are both of the element "int".
struct Kind {
  std::string_view element;
  bool is_list;
};
Kind Split(std::string_view type) {
  constexpr std::string_view kPrefix = "list(";
  if (type.starts_with(kPrefix) && type.ends_with(')')) {
    return {type.substr(kPrefix.size(), type.size() - kPrefix.size() - 1), true};
  }
  return {type, false};
}

Status CheckType(DType type) {
  if (IsRef(type)) return InvalidArgument("AttrValue must not have reference type value of ", Name(type));
  if (type == DType::kInvalid) return InvalidArgument("AttrValue has invalid DataType");
  return OkStatus();
}

Status CheckList(const AttrList& list, std::string_view type) {
  size_t of_kind = 0;
  auto count = [&](size_t size, std::string_view name) -> Status {
    if (size == 0) return OkStatus();
    of_kind += size;
    if (type == Cat("list(", name, ")")) return OkStatus();
    return InvalidArgument("AttrValue had value with type 'list(", name, ")' when '", type, "' expected");
  };
  WEIR_RETURN_IF_ERROR(count(list.s.size(), "string"));
  WEIR_RETURN_IF_ERROR(count(list.i.size(), "int"));
  WEIR_RETURN_IF_ERROR(count(list.f.size(), "float"));
  WEIR_RETURN_IF_ERROR(count(list.b.size(), "bool"));
  WEIR_RETURN_IF_ERROR(count(list.type.size(), "type"));
  WEIR_RETURN_IF_ERROR(count(list.shape.size(), "shape"));
  WEIR_RETURN_IF_ERROR(count(list.tensor.size(), "tensor"));
  WEIR_RETURN_IF_ERROR(count(list.func.size(), "func"));
  for (DType each : list.type) WEIR_RETURN_IF_ERROR(CheckType(each));
  return OkStatus();
}

Status CheckKind(std::string_view type, const Attribute& value) {
  Kind kind = Split(type);
  if (const AttrList* list = value.get_if<AttrList>()) return CheckList(*list, type);
  // An empty list may leave no trace on the wire.
  if (!value.has_value() && kind.is_list) return OkStatus();
  constexpr std::string_view kNames[] = {"",     "list(any)", "string", "int",         "float", "bool",
                                         "type", "shape",     "tensor", "placeholder", "func"};
  std::string_view actual = kNames[value.value().index()];
  if (value.get_if<AttrPlaceholder>() != nullptr) {
    return InvalidArgument("AttrValue had value with unexpected type 'placeholder'");
  }
  if (kind.is_list || actual != type) {
    if (actual.empty()) return InvalidArgument("AttrValue missing value with expected type '", type, "'");
    return InvalidArgument("AttrValue had value with type '", actual, "' when '", type, "' expected");
  }
  if (const DType* each = value.get_if<DType>()) return CheckType(*each);
  return OkStatus();
}

template <typename T, typename Show>
Status NotAllowed(std::string_view name, const T& value, const std::vector<T>& allowed, Show show) {
  std::string list;
  for (const T& each : allowed) list += Cat(list.empty() ? "" : ", ", show(each));
  return InvalidArgument("Value for attr '", name, "' of ", show(value),
                         " is not in the list of allowed values: ", list);
}

Status CheckAllowed(const AttrSchema& schema, const Attribute& value) {
  auto check_type = [&](DType type) {
    const std::vector<DType>& types = schema.allowed->type;
    if (std::ranges::find(types, type) != types.end()) return OkStatus();
    return NotAllowed(schema.name, type, types, [](DType each) { return Name(each); });
  };
  auto check_string = [&](const std::string& s) {
    const std::vector<std::string>& strings = schema.allowed->s;
    if (std::ranges::find(strings, s) != strings.end()) return OkStatus();
    return NotAllowed(schema.name, s, strings, [](const std::string& each) { return Cat("\"", each, "\""); });
  };
  if (const DType* type = value.get_if<DType>()) return check_type(*type);
  if (const std::string* s = value.get_if<std::string>()) return check_string(*s);
  if (const AttrList* list = value.get_if<AttrList>()) {
    for (DType type : list->type) WEIR_RETURN_IF_ERROR(check_type(type));
    for (const std::string& s : list->s) WEIR_RETURN_IF_ERROR(check_string(s));
  }
  return OkStatus();
}

}  // namespace

Status CheckAttr(const AttrSchema& schema, const Attribute& value) {
  if (Status status = CheckKind(schema.type, value); !status.ok()) {
    return Annotate(status, "", Cat("\n\t for attr '", schema.name, "'"));
  }
  if (schema.minimum) {
    if (const int64_t* i = value.get_if<int64_t>(); i != nullptr && *i < *schema.minimum) {
      return InvalidArgument("Value for attr '", schema.name, "' of ", *i, " must be at least minimum ",
                             *schema.minimum);
    }
    if (Split(schema.type).is_list) {
      const AttrList* list = value.get_if<AttrList>();
      int64_t length = list != nullptr ? static_cast<int64_t>(list->size()) : 0;
      if (length < *schema.minimum) {
        return InvalidArgument("Length for attr '", schema.name, "' of ", length, " must be at least minimum ",
                               *schema.minimum);
      }
    }
  }
  return schema.allowed ? CheckAllowed(schema, value) : OkStatus();
}

Status CheckAttrs(const OpSchema& schema, AttrMap& attrs) {
  for (const auto& [name, value] : attrs) {
    if (name.starts_with('_')) continue;
    const AttrSchema* attr = schema.FindAttr(name);
    if (attr == nullptr) {
      return InvalidArgument("NodeDef mentions attr '", name, "' not in ", Summarize(schema));
    }
    if (Status status = CheckAttr(*attr, value); !status.ok()) return status;
  }
  std::vector<std::string_view> missing;
  for (const AttrSchema& attr : schema.attrs) {
    if (attrs.Find(attr.name) != nullptr) continue;
    if (attr.default_value) {
      attrs.Set(attr.name, *attr.default_value);
    } else {
      missing.push_back(attr.name);
    }
  }
  if (missing.empty()) return OkStatus();
  std::ranges::sort(missing);
  std::string names;
  for (std::string_view name : missing) names += Cat(names.empty() ? "'" : "', '", name);
  return InvalidArgument("NodeDef missing attr", missing.size() > 1 ? "s " : " ", names, "' from ", Summarize(schema));
}

}  // namespace weir
