// GetAttr of attribute.h for every type that an attribute may be asked as.
#include <limits>

#include "weir/base/export.h"
#include "weir/framework/attribute.h"

namespace weir {
namespace {

template <typename T>
constexpr std::string_view kKind = "";
template <>
constexpr std::string_view kKind<std::string> = "string";
template <>
constexpr std::string_view kKind<int64_t> = "int";
template <>
constexpr std::string_view kKind<float> = "float";
template <>
constexpr std::string_view kKind<bool> = "bool";
template <>
constexpr std::string_view kKind<DType> = "type";
template <>
constexpr std::string_view kKind<PartialShape> = "shape";
template <>
constexpr std::string_view kKind<Tensor> = "tensor";
template <>
constexpr std::string_view kKind<FunctionAttr> = "func";

std::string KindOf(const AttrList& list) {
  if (!list.s.empty()) return "list(string)";
  if (!list.i.empty()) return "list(int)";
  if (!list.f.empty()) return "list(float)";
  if (!list.b.empty()) return "list(bool)";
  if (!list.type.empty()) return "list(type)";
  if (!list.shape.empty()) return "list(shape)";
  if (!list.tensor.empty()) return "list(tensor)";
  if (!list.func.empty()) return "list(func)";
  return "list(any)";
}

std::string KindOf(const Attribute& value) {
  if (const auto* list = value.get_if<AttrList>()) return KindOf(*list);
  constexpr std::string_view kNames[] = {"none", "list(any)", "string", "int",         "float", "bool",
                                         "type", "shape",     "tensor", "placeholder", "func"};
  return std::string(kNames[value.value().index()]);
}

Status WrongKind(const Attribute& value, std::string_view name, std::string_view expected) {
  return InvalidArgument("AttrValue had value with type '", KindOf(value), "' when '", expected,
                         "' expected\n\t for attr '", name, "'");
}

StatusOr<const Attribute*> FindOrError(const AttrMap& attrs, std::string_view name) {
  const Attribute* value = attrs.Find(name);
  if (value == nullptr) return NotFound("No attr named '", name, "' in NodeDef");
  return value;
}

template <typename T>
StatusOr<T> GetOne(const AttrMap& attrs, std::string_view name) {
  WEIR_ASSIGN_OR_RETURN(const Attribute* value, FindOrError(attrs, name));
  const T* found = value->get_if<T>();
  if (found == nullptr) return WrongKind(*value, name, kKind<T>);
  return *found;
}

template <typename T>
StatusOr<std::vector<T>> GetList(const AttrMap& attrs, std::string_view name, std::vector<T> AttrList::*member) {
  WEIR_ASSIGN_OR_RETURN(const Attribute* value, FindOrError(attrs, name));
  if (!value->has_value()) return std::vector<T>();  // an empty list leaves no trace on the wire
  const AttrList* list = value->get_if<AttrList>();
  if (list == nullptr || (list->*member).size() != list->size()) {
    return WrongKind(*value, name, Cat("list(", kKind<T>, ")"));
  }
  return list->*member;
}

StatusOr<int32_t> Narrow(int64_t value, std::string_view name) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("Attr ", name, " has value ", value, " out of range for an int32");
  }
  return static_cast<int32_t>(value);
}

}  // namespace

// The specializations are marked one by one: GCC gives a specialization the visibility of its result's type, and
// Abseil's types are hidden.
#define WEIR_GET_ATTR(type, member)                                                                                 \
  template <>                                                                                                       \
  WEIR_PUBLIC StatusOr<type> GetAttr<type>(const AttrMap& attrs, std::string_view name) {                           \
    return GetOne<type>(attrs, name);                                                                               \
  }                                                                                                                 \
  template <>                                                                                                       \
  WEIR_PUBLIC StatusOr<std::vector<type>> GetAttr<std::vector<type>>(const AttrMap& attrs, std::string_view name) { \
    return GetList<type>(attrs, name, &AttrList::member);                                                           \
  }
WEIR_GET_ATTR(std::string, s)
WEIR_GET_ATTR(int64_t, i)
WEIR_GET_ATTR(float, f)
WEIR_GET_ATTR(bool, b)
WEIR_GET_ATTR(DType, type)
WEIR_GET_ATTR(PartialShape, shape)
WEIR_GET_ATTR(Tensor, tensor)
WEIR_GET_ATTR(FunctionAttr, func)
#undef WEIR_GET_ATTR

template <>
WEIR_PUBLIC StatusOr<int32_t> GetAttr<int32_t>(const AttrMap& attrs, std::string_view name) {
  WEIR_ASSIGN_OR_RETURN(int64_t value, GetOne<int64_t>(attrs, name));
  return Narrow(value, name);
}

template <>
WEIR_PUBLIC StatusOr<std::vector<int32_t>> GetAttr<std::vector<int32_t>>(const AttrMap& attrs, std::string_view name) {
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> values, GetList<int64_t>(attrs, name, &AttrList::i));
  std::vector<int32_t> out;
  out.reserve(values.size());
  for (int64_t value : values) {
    WEIR_ASSIGN_OR_RETURN(int32_t narrow, Narrow(value, name));
    out.push_back(narrow);
  }
  return out;
}

}  // namespace weir
