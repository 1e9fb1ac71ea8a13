#include "weir/graph/node_check.h"

#include <algorithm>

namespace weir {
namespace {

// "; NodeDef: {{node x}}" and the op, as TensorFlow ends its complaints about attributes.
Status InNode(const Status& status, const Node& node) {
  if (status.message().substr(0, 7) == "NodeDef")
    return Annotate(status, "", Cat("; NodeDef: {{node ", node.name, "}}"));
  return Annotate(status, "", Cat("\n\t; NodeDef: {{node ", node.name, "}}; ", Summarize(*node.schema)));
}

}  // namespace

bool IsValidNodeName(std::string_view name, bool internal) {
  // Nodes that were made of a function's body bear its name, which may hold anything:
  // "call/__inference_<lambda>_7/mul".
  if (internal) {
    auto separates = [](char c) { return c == ':' || c == '^' || static_cast<unsigned char>(c) <= ' '; };
    return !name.empty() && std::none_of(name.begin(), name.end(), separates);
  }
  auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
  };
  if (name.empty() || !alphanumeric(name[0])) return false;
  for (char c : name) {
    if (!alphanumeric(c) && c != '_' && c != '/' && c != '>' && c != '-') return false;
  }
  return true;
}

Status CompleteAttrs(Node& node) {
  std::vector<AttrMap::Entry> unknown;
  for (const auto& entry : node.attrs) {
    if (!entry.first.starts_with('_') && node.schema->FindAttr(entry.first) == nullptr) unknown.push_back(entry);
  }
  for (const auto& [name, value] : unknown) node.attrs.Erase(name);
  if (Status status = CheckAttrs(*node.schema, node.attrs); !status.ok()) return InNode(status, node);
  for (auto& [name, value] : unknown) node.attrs.Set(name, std::move(value));
  if (!IsConstant(node)) return OkStatus();
  const Tensor* value = node.attrs.Find("value")->get_if<Tensor>();
  const DType* dtype = node.attrs.Find("dtype")->get_if<DType>();
  if (value != nullptr && dtype != nullptr && value->dtype() != *dtype) {
    return InvalidArgument("Type mismatch between value (", Name(value->dtype()), ") and dtype (", Name(*dtype),
                           ")\n\t [[{{node ", node.name, "}}]]");
  }
  return OkStatus();
}

StatusOr<ArgTypes> ResolveTypes(const Node& node) {
  StatusOr<ArgTypes> types = ResolveArgTypes(*node.schema, node.attrs);
  if (!types.ok()) return InNode(types.status(), node);
  return types;
}

Status CheckInput(const Node& node, int input, const Node& producer, int index) {
  if (index < 0 || index >= producer.num_outputs()) {
    return InvalidArgument("Node '", node.name, "': Connecting to invalid output ", index, " of source node ",
                           producer.name, " which has ", producer.num_outputs(), " outputs.");
  }
  DType expected = node.input_type(input), actual = producer.output_type(index);
  if (actual == expected || (!IsRef(expected) && BaseType(actual) == expected)) return OkStatus();
  return InvalidArgument("Input ", input, " of node ", node.name, " was passed ", Name(actual), " from ", producer.name,
                         ":", index, " incompatible with expected ", Name(expected), ".");
}

Status WrongInputCount(const Node& node, size_t count) {
  std::string expected;
  for (DType type : node.types->inputs) expected += Cat(expected.empty() ? "" : ", ", Name(type));
  return InvalidArgument("NodeDef expected inputs '", expected, "' do not match ", count, " inputs specified; ",
                         Summarize(*node.schema), "; NodeDef: {{node ", node.name, "}}");
}

Status CheckDeprecation(const OpSchema& schema, int producer_version) {
  if (schema.deprecated_since == 0 || producer_version < schema.deprecated_since) return OkStatus();
  return Unimplemented("Op ", schema.name, " is not available in GraphDef version ", producer_version,
                       ". It has been removed in version ", schema.deprecated_since, ". ", schema.deprecation_reason,
                       ".");
}

}  // namespace weir
