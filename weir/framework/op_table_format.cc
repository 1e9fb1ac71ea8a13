// FormatOpSchema of op_table.h.
#include <charconv>
#include <cmath>

#include "weir/framework/op_table.h"
#include "weir/framework/op_table_lexer.h"
#include "weir/framework/op_trait_names.h"

namespace weir {
namespace {

std::string FormatArgs(const std::vector<ArgSchema>& args) {
  std::string out = "(";
  for (const ArgSchema& arg : args) {
    if (out.size() > 1) out += ", ";
    out += Cat(arg.name, ": ", arg.is_ref ? "&" : "", arg.type_list_attr.empty() ? "" : "@");
    if (!arg.number_attr.empty()) out += Cat(arg.number_attr, "*");
    out += arg.type != DType::kInvalid ? std::string(ShortName(arg.type)) : Cat(arg.type_attr, arg.type_list_attr);
  }
  return out + ")";
}

std::string Format(const std::string& v) { return Quote(v); }
std::string Format(int64_t v) { return Cat(v); }
std::string Format(bool v) { return v ? "true" : "false"; }
std::string Format(DType v) { return std::string(ShortName(v)); }
std::string Format(const FunctionAttr& v) { return v.name; }
std::string Format(float v) {
  char digits[32];  // the fewest that give the value back
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
}
std::string Format(const PartialShape& v) {
  if (!v.has_rank()) return "?";
  std::string out = "[";
  for (int64_t dim : v.dims()) {
    if (out.size() > 1) out += ", ";
    out += dim < 0 ? "?" : Cat(dim);
  }
  return out + "]";
}
std::string Format(const Tensor& v) {
  std::string out = Cat(ShortName(v.dtype()), " ", Format(PartialShape(v.shape())), " {");
  using Types = decltype(SignedTypes{} + TypeList<uint8_t, uint16_t, uint32_t, float, double, std::string>{});
  DispatchDType(v.dtype(), Types{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const char* separator = "";
    for (const T& each : v.span<T>()) {
      out += separator;
      if constexpr (std::is_integral_v<T>) {
        out += Format(static_cast<int64_t>(each));
      } else if constexpr (std::is_floating_point_v<T>) {
        out += Format(static_cast<float>(each));
      } else {
        out += Format(each);
      }
      separator = " ";
    }
  });
  return out + "}";
}

template <typename Values>
void Append(const Values& values, std::string_view separator, std::string& out) {
  for (const auto& v : values) out += Cat(out.size() > 1 ? separator : std::string_view(), Format(v));
}

std::string FormatDefault(const Attribute& value) {
  if (const AttrList* list = value.get_if<AttrList>()) {
    std::string out = "[";
    Append(list->s, ", ", out);
    Append(list->i, ", ", out);
    Append(list->f, ", ", out);
    for (bool b : list->b) out += Cat(out.size() > 1 ? ", " : "", Format(b));
    Append(list->type, ", ", out);
    Append(list->shape, ", ", out);
    Append(list->tensor, ", ", out);
    Append(list->func, ", ", out);
    return out + "]";
  }
  if (auto* v = value.get_if<std::string>()) return Format(*v);
  if (auto* v = value.get_if<int64_t>()) return Format(*v);
  if (auto* v = value.get_if<float>()) return Format(*v);
  if (auto* v = value.get_if<bool>()) return Format(*v);
  if (auto* v = value.get_if<DType>()) return Format(*v);
  if (auto* v = value.get_if<PartialShape>()) return Format(*v);
  if (auto* v = value.get_if<Tensor>()) return Format(*v);
  if (auto* v = value.get_if<FunctionAttr>()) return Format(*v);
  return "[]";  // only lists may have no value
}

std::string FormatAttr(const AttrSchema& attr) {
  std::string out = Cat("  ", attr.name, ":");
  if (attr.type != "type" || !attr.allowed) out += Cat(" ", attr.type);
  if (attr.allowed) {
    std::string set = "{";
    Append(attr.allowed->type, " ", set);
    Append(attr.allowed->s, " ", set);
    out += Cat(" ", set, "}");
  }
  if (attr.minimum) out += Cat(" >= ", *attr.minimum);
  if (attr.default_value) out += Cat(" = ", FormatDefault(*attr.default_value));
  return out + "\n";
}

}  // namespace

std::string FormatOpSchema(const OpSchema& schema) {
  std::string out = Cat("op ", schema.name, FormatArgs(schema.inputs), " -> ", FormatArgs(schema.outputs), "\n");
  for (const AttrSchema& attr : schema.attrs) out += FormatAttr(attr);
  std::string traits;
  for (const OpFlag& flag : kOpFlags) {
    if (schema.*flag.member) traits += Cat(" ", flag.name);
  }
  for (const auto& [name, waiting] : kWaitingNames) {
    if (schema.waiting == waiting) traits += Cat(" ", name);
  }
  for (const auto& [name, cost] : kCostNames) {
    if (schema.cost == cost) traits += Cat(" cost ", name);
  }
  for (const auto& [name, contraction] : kContractionNames) {
    if (schema.contraction == contraction) traits += Cat(" contraction ", name);
  }
  for (const auto& [name, precision] : kMixedPrecisionNames) {
    if (schema.mixed_precision == precision) traits += Cat(" mixed_precision ", name);
  }
  if (!traits.empty()) out += Cat(" ", traits, "\n");
  if (!schema.shape_function_name.empty()) out += Cat("  shape ", schema.shape_function_name, "\n");
  if (schema.gradient != Gradient::kAbsent) {
    out += Cat("  gradient ", schema.gradient == Gradient::kYes ? "yes" : "none", "\n");
  }
  if (schema.deprecated_since != 0) {
    out += Cat("  deprecated ", schema.deprecated_since, " ", Quote(schema.deprecation_reason), "\n");
  }
  if (!schema.doc.empty()) out += Cat("  doc ", Quote(schema.doc), "\n");
  return out;
}

}  // namespace weir
