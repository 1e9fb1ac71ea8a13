#include "weir/graph/function_export.h"

#include <cctype>

#include "weir/framework/attr_proto.h"
#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

class Exporter {
 public:
  Exporter(const FunctionBody& body, FunctionDef* def) : body_(body), graph_(body.graph), def_(*def) {}

  Status Run() {
    OpDef& signature = *def_.mutable_signature();
    for (size_t i = 0; i < body_.args.size(); ++i) WEIR_RETURN_IF_ERROR(AddArg(i, signature));
    bool stateful = false;
    for (const auto& node : graph_.nodes()) {
      if (!node || IsEnd(*node)) continue;
      stateful |= node->schema->is_stateful;
      WEIR_RETURN_IF_ERROR(AddNode(*node));
    }
    signature.set_is_stateful(stateful);
    for (size_t i = 0; i < body_.rets.size(); ++i) {
      const Node& ret = *graph_.node(body_.rets[i]);
      OpDef::ArgDef* out = signature.add_output_arg();
      out->set_name(Cat("result_", i));
      out->set_type(static_cast<DataType>(BaseType(graph_.type(ret.inputs[0]))));
      WEIR_ASSIGN_OR_RETURN((*def_.mutable_ret())[out->name()], NameOf(ret.inputs[0]));
    }
    for (NodeId id : body_.control_rets) {
      const Node* node = graph_.node(id);
      if (node == nullptr || IsEnd(*node)) continue;
      signature.add_control_output(node->name);
      (*def_.mutable_control_ret())[node->name] = node->name;
    }
    return OkStatus();
  }

 private:
  static bool IsEnd(const Node& node) { return node.op() == "_Arg" || node.op() == "_Retval"; }

  // Lower case letters, digits and '_', and no node's name.
  std::string ArgName(const Node& arg) {
    std::string name;
    for (char c : arg.name) name += std::isalnum(static_cast<unsigned char>(c)) ? std::tolower(c) : '_';
    if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) name = "arg_" + name;
    std::string free = name;
    for (int i = 1; graph_.Find(free) != nullptr || used_.contains(free); ++i) free = Cat(name, "_", i);
    used_.insert(free);
    return free;
  }

  Status AddArg(size_t index, OpDef& signature) {
    const Node& arg = *graph_.node(body_.args[index]);
    OpDef::ArgDef* in = signature.add_input_arg();
    in->set_name(ArgName(arg));
    in->set_type(static_cast<DataType>(BaseType(arg.output_type(0))));
    arg_names_[arg.id] = in->name();
    for (const auto& [name, value] : arg.attrs) {
      if (!name.starts_with('_')) continue;
      auto& attrs = *(*def_.mutable_arg_attr())[static_cast<uint32_t>(index)].mutable_attr();
      WEIR_RETURN_IF_ERROR(ToProto(value, &attrs[name]));
    }
    return OkStatus();
  }

  // "arg", "node:output:0".
  StatusOr<std::string> NameOf(Endpoint tensor) const {
    if (auto arg = arg_names_.find(tensor.node); arg != arg_names_.end()) return arg->second;
    const Node& node = *graph_.node(tensor.node);
    for (size_t i = 0; i < node.schema->outputs.size(); ++i) {
      WEIR_ASSIGN_OR_RETURN(ArgRange range, ResolveArgRange(node.schema->outputs, node.attrs, static_cast<int>(i)));
      if (tensor.index < range.begin || tensor.index >= range.end) continue;
      return Cat(node.name, ":", node.schema->outputs[i].name, ":", tensor.index - range.begin);
    }
    return Internal("Node '", node.name, "' has no output ", tensor.index);
  }

  Status AddNode(const Node& node) {
    NodeDef* def = def_.add_node_def();
    WEIR_RETURN_IF_ERROR(ExportNode(graph_, node, def));
    def->clear_input();
    for (Endpoint input : node.inputs) {
      WEIR_ASSIGN_OR_RETURN(std::string name, NameOf(input));
      def->add_input(std::move(name));
    }
    for (NodeId input : node.control_inputs) {
      auto arg = arg_names_.find(input);
      def->add_input(Cat("^", arg != arg_names_.end() ? arg->second : graph_.node(input)->name));
    }
    return OkStatus();
  }

  const FunctionBody& body_;
  const Graph& graph_;
  FunctionDef& def_;
  StringSet used_;
  absl::flat_hash_map<NodeId, std::string> arg_names_;
};

}  // namespace

StatusOr<std::string> AddFunction(const FunctionBody& body, std::string_view prefix, FunctionLibrary& library) {
  FunctionDef def;
  WEIR_RETURN_IF_ERROR(Exporter(body, &def).Run());
  // Another thread may take the name between the look and the entry.
  constexpr int kMostAttempts = 1000;
  Status status;
  int64_t number = 0;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    do {
      def.mutable_signature()->set_name(Cat(prefix, "_", number++));
    } while (library.Contains(def.signature().name()));
    status = library.Add(def);
    if (status.ok()) return def.signature().name();
  }
  return status;
}

}  // namespace weir
