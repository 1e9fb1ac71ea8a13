#include "weir/cli/op_json.h"

#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const std::string& v) { return v; }
Json ToJson(int64_t v) { return v; }
Json ToJson(bool v) { return v; }
Json ToJson(DType v) { return std::string(ShortName(v)); }
Json ToJson(float v) {
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  // The shortest decimals that read back as the float, not those of the double.
  char text[32];
  for (int digits = 1; digits <= 9; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, v);
    if (std::strtof(text, nullptr) == v) break;
  }
  return std::strtod(text, nullptr);
}
Json ToJson(const PartialShape& v) {
  if (!v.has_rank()) return nullptr;
  return std::vector<int64_t>(v.dims().begin(), v.dims().end());
}
Json ToJson(const Tensor&) { return "tensor"; }
Json ToJson(const FunctionAttr& v) { return v.name; }

template <typename T>
Json ListToJson(const std::vector<T>& values) {
  Json out = Json::array();
  for (const auto& value : values) out.push_back(ToJson(static_cast<T>(value)));
  return out;
}

Json ToJson(const AttrList& list) {
  if (!list.s.empty()) return ListToJson(list.s);
  if (!list.i.empty()) return ListToJson(list.i);
  if (!list.f.empty()) return ListToJson(list.f);
  if (!list.b.empty()) return ListToJson(list.b);
  if (!list.type.empty()) return ListToJson(list.type);
  if (!list.shape.empty()) return ListToJson(list.shape);
  return Json::array();
}

Json ToJson(const Attribute& value) {
  if (auto* v = value.get_if<std::string>()) return ToJson(*v);
  if (auto* v = value.get_if<int64_t>()) return ToJson(*v);
  if (auto* v = value.get_if<float>()) return ToJson(*v);
  if (auto* v = value.get_if<bool>()) return ToJson(*v);
  if (auto* v = value.get_if<DType>()) return ToJson(*v);
  if (auto* v = value.get_if<PartialShape>()) return ToJson(*v);
  if (auto* v = value.get_if<Tensor>()) return ToJson(*v);
  if (auto* v = value.get_if<AttrList>()) return ToJson(*v);
  if (auto* v = value.get_if<FunctionAttr>()) return ToJson(*v);
  return nullptr;
}

std::string TypeNames(const std::vector<DType>& types) {
  std::string out;
  for (DType type : types) out += Cat(out.empty() ? "" : " ", ShortName(type));
  return out;
}

Json Args(const std::vector<ArgSchema>& args) {
  Json out = Json::array();
  for (const ArgSchema& arg : args) {
    std::string type = arg.type != DType::kInvalid   ? std::string(ShortName(arg.type))
                       : !arg.type_list_attr.empty() ? "@" + arg.type_list_attr
                                                     : "$" + arg.type_attr;
    if (!arg.number_attr.empty()) type = Cat("$", arg.number_attr, "*", type);
    out.push_back(Cat(arg.name, ":", arg.is_ref ? "&" : "", type));
  }
  return out;
}

Json Attrs(const std::vector<AttrSchema>& attrs) {
  Json out = Json::object();
  for (const AttrSchema& attr : attrs) {
    Json entry = {{"type", attr.type}};
    if (attr.default_value) entry["default"] = ToJson(*attr.default_value);
    if (attr.allowed) {
      if (attr.allowed->type.empty()) {
        entry["allowed"] = ListToJson(attr.allowed->s);
      } else {
        entry["allowed"] = TypeNames(attr.allowed->type);
      }
    }
    if (attr.minimum) entry["min"] = *attr.minimum;
    out[attr.name] = std::move(entry);
  }
  return out;
}

void AddKernels(const OpSchema& schema, const KernelRegistry& kernels, Json* out) {
  std::map<std::string, std::vector<Json>> by_device;
  for (const KernelEntry* kernel : kernels.All(schema.name)) {
    if (!kernel->label.empty()) continue;
    std::string device = kernel->device_type;
    for (char& c : device) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    Json entry = Json::object();
    for (const auto& constraint : kernel->constraints) entry[constraint.attr] = TypeNames(constraint.types);
    std::string host;
    for (const std::string& arg : kernel->host_memory) host += Cat(host.empty() ? "" : " ", arg);
    if (!host.empty()) entry["*host"] = host;
    by_device[device].push_back(entry.empty() ? Json(true) : std::move(entry));
  }
  for (auto& [device, entries] : by_device) (*out)[device] = entries.size() == 1 ? entries[0] : Json(entries);
}

}  // namespace

std::string OpToJson(const OpSchema& schema, const KernelRegistry& kernels) {
  Json out = {
      {"op", schema.name}, {"family", schema.family}, {"in", Args(schema.inputs)}, {"out", Args(schema.outputs)}};
  if (!schema.attrs.empty()) out["attr"] = Attrs(schema.attrs);
  for (auto [name, set] :
       {std::pair("is_stateful", schema.is_stateful), std::pair("is_commutative", schema.is_commutative),
        std::pair("is_aggregate", schema.is_aggregate),
        std::pair("allows_uninitialized_input", schema.allows_uninitialized_input),
        std::pair("is_distributed_communication", schema.is_distributed_communication)}) {
    if (set) out[name] = true;
  }
  if (schema.deprecated_since > 0) out["deprecated"] = {schema.deprecated_since, schema.deprecation_reason};
  AddKernels(schema, kernels, &out);
  constexpr const char* kGradients[] = {"absent", "none", "yes"};
  out["grad"] = kGradients[static_cast<int>(schema.gradient)];
  if (!schema.doc.empty()) out["doc"] = schema.doc;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weir
