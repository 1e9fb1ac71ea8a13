#include <cstdio>
#include <map>

#include "absl/strings/str_join.h"
#include "weir/cli/show.h"
#include "weir/framework/attr_proto.h"
#include "weir/io/proto_file.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

std::string AttrsToText(const NodeDef& node) {
  // Sorted, since the order of a map of the wire format is any.
  std::map<std::string, const AttrValue*> sorted;
  for (const auto& [name, value] : node.attr()) {
    if (name != "_output_shapes") sorted[name] = &value;
  }
  std::string out;
  for (const auto& [name, value] : sorted) {
    StatusOr<Attribute> attribute = FromProto(*value);
    out += Cat(out.empty() ? "" : ", ", name, "=", attribute.ok() ? attribute->ToString() : "?");
  }
  return out.empty() ? out : Cat(" {", out, "}");
}

std::string NodeToText(const NodeDef& node) {
  return Cat(node.name(), " = ", node.op(), "(", absl::StrJoin(node.input(), ", "), ")", AttrsToText(node),
             node.device().empty() ? "" : Cat(" on ", node.device()), "\n");
}

std::string ArgumentToText(const OpDef::ArgDef& argument) {
  std::string type = !argument.type_attr().empty()        ? argument.type_attr()
                     : !argument.type_list_attr().empty() ? argument.type_list_attr()
                                                          : std::string(Name(static_cast<DType>(argument.type())));
  return Cat(argument.name(), ": ", argument.number_attr().empty() ? "" : argument.number_attr() + "*", type);
}

std::string FunctionToText(const FunctionDef& function) {
  std::vector<std::string> inputs, outputs;
  for (const auto& argument : function.signature().input_arg()) inputs.push_back(ArgumentToText(argument));
  for (const auto& argument : function.signature().output_arg()) outputs.push_back(ArgumentToText(argument));
  std::string out = Cat("\nfunction ", function.signature().name(), "(", absl::StrJoin(inputs, ", "), ") -> (",
                        absl::StrJoin(outputs, ", "), ")\n");
  for (const NodeDef& node : function.node_def()) out += Cat("  ", NodeToText(node));
  std::map<std::string, std::string> returned(function.ret().begin(), function.ret().end());
  for (const auto& [name, tensor] : returned) out += Cat("  return ", name, " = ", tensor, "\n");
  return out;
}

}  // namespace

std::string GraphToText(const GraphDef& graph) {
  int functions = graph.library().function_size();
  std::string out = Cat("# ", graph.node_size(), graph.node_size() == 1 ? " node" : " nodes");
  if (functions > 0) out += Cat(", ", functions, functions == 1 ? " function" : " functions");
  out += Cat(", version ", graph.versions().producer(), "\n");
  for (const NodeDef& node : graph.node()) out += NodeToText(node);
  for (const FunctionDef& function : graph.library().function()) out += FunctionToText(function);
  return out;
}

Status ShowGraph(const GraphDef& graph, const ShowOptions& options) {
  if (options.json) {
    WEIR_ASSIGN_OR_RETURN(std::string json, ProtoToJson(graph));
    std::printf("%s\n", json.c_str());
  } else {
    std::fputs(GraphToText(graph).c_str(), stdout);
  }
  return OkStatus();
}

}  // namespace weir
