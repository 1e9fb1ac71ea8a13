#include "weir/graph/instantiate.h"

#include <algorithm>
#include <charconv>

#include "weir/framework/attr_proto.h"
#include "weir/graph/node_check.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

constexpr int kMostNesting = 100;  // of functions in attributes

// Replaces `$T` by the value that the caller gave T.
Status Substitute(const AttrMap& values, Attribute& attr, int depth);

Status Substitute(const AttrMap& values, FunctionAttr& function, int depth) {
  AttrMap attrs = function.attrs;
  for (const auto& [name, value] : function.attrs) {
    Attribute replaced = value;
    WEIR_RETURN_IF_ERROR(Substitute(values, replaced, depth + 1));
    attrs.Set(name, std::move(replaced));
  }
  function.attrs = std::move(attrs);
  return OkStatus();
}

Status Substitute(const AttrMap& values, Attribute& attr, int depth) {
  if (depth > kMostNesting) return InvalidArgument("Attributes nest too deeply");
  if (const auto* placeholder = attr.get_if<AttrPlaceholder>()) {
    const Attribute* value = values.Find(placeholder->name);
    if (value == nullptr) return InvalidArgument("Failed to bind all placeholders in $", placeholder->name);
    attr = *value;
  } else if (const auto* function = attr.get_if<FunctionAttr>()) {
    FunctionAttr replaced = *function;
    WEIR_RETURN_IF_ERROR(Substitute(values, replaced, depth));
    attr = Attribute(std::move(replaced));
  } else if (const auto* list = attr.get_if<AttrList>(); list != nullptr && !list->func.empty()) {
    AttrList replaced = *list;
    for (FunctionAttr& each : replaced.func) WEIR_RETURN_IF_ERROR(Substitute(values, each, depth));
    attr = Attribute(std::move(replaced));
  }
  return OkStatus();
}

class Instantiator {
 public:
  Instantiator(const FunctionDef& function, const OpSchema& signature, const OpRegistry& ops,
               std::shared_ptr<FunctionLibrary> library)
      : def_(function), signature_(signature), body_(std::make_unique<FunctionBody>(Graph(ops, std::move(library)))) {}

  StatusOr<std::unique_ptr<FunctionBody>> Run(const AttrMap& attrs) {
    attrs_ = attrs;
    WEIR_RETURN_IF_ERROR(CompleteSignatureAttrs());
    WEIR_ASSIGN_OR_RETURN(body_->types, ResolveArgTypes(signature_, attrs_));
    body_->graph.versions().producer = kGraphDefVersion;
    body_->graph.Reserve(def_.node_def_size() + body_->types.inputs.size() + body_->types.outputs.size());
    WEIR_RETURN_IF_ERROR(AddArgs());
    for (const NodeDef& node : def_.node_def()) {
      if (Status status = AddBodyNode(node); !status.ok()) return InNode(status, node);
    }
    for (const NodeDef& node : def_.node_def()) {
      if (Status status = Connect(node); !status.ok()) return InNode(status, node);
    }
    WEIR_RETURN_IF_ERROR(AddRets());
    WEIR_RETURN_IF_ERROR(FindControlRets());
    WEIR_RETURN_IF_ERROR(TopologicalOrder(body_->graph).status());
    return std::move(body_);
  }

 private:
  // Tensors that one name stands for: outputs [begin, end) of a node, or of as many `_Arg` nodes from `node` on.
  struct Named {
    NodeId node = kNoNode;
    int begin = 0;
    int end = 0;
    bool is_arg = false;
    Endpoint at(int i) const { return is_arg ? Endpoint{node + i, 0} : Endpoint{node, begin + i}; }
    int size() const { return end - begin; }
  };

  static Status InNode(const Status& status, const NodeDef& node) {
    return Annotate(status, "", Cat("\n\tIn {{node ", node.name(), "}}"));
  }

  Status CompleteSignatureAttrs() {
    for (const AttrSchema& attr : signature_.attrs) {
      if (attrs_.Find(attr.name) != nullptr) continue;
      if (!attr.default_value) {
        return NotFound("Attr ", attr.name, " is not found from the instantiation of function ", signature_.name);
      }
      attrs_.Set(attr.name, *attr.default_value);
    }
    return OkStatus();
  }

  StatusOr<Node*> AddEnd(std::string_view op, std::string name, DType type, int index, std::vector<Endpoint> inputs) {
    Graph::NodeSpec spec;
    spec.op = op;
    spec.name = body_->graph.UniqueName(name);
    spec.attrs.Set("T", BaseType(type));
    spec.attrs.Set("index", index);
    spec.inputs = std::move(inputs);
    return body_->graph.AddNode(std::move(spec));
  }

  Status AddArgs() {
    int index = 0;
    for (size_t i = 0; i < signature_.inputs.size(); ++i) {
      const ArgSchema& arg = signature_.inputs[i];
      WEIR_ASSIGN_OR_RETURN(ArgRange range, ResolveArgRange(signature_.inputs, attrs_, static_cast<int>(i)));
      bool is_list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
      Named named{body_->graph.num_node_ids(), 0, range.end - range.begin, true};
      for (int j = 0; j < named.size(); ++j, ++index) {
        WEIR_ASSIGN_OR_RETURN(Node * node, AddEnd("_Arg", is_list ? Cat(arg.name, "_", j) : arg.name,
                                                  body_->types.inputs[index], index, {}));
        auto attrs = def_.arg_attr().find(index);
        if (attrs != def_.arg_attr().end()) {
          for (const auto& [name, value] : attrs->second.attr()) {
            WEIR_ASSIGN_OR_RETURN(Attribute attr, FromProto(value));
            if (name.starts_with('_')) node->attrs.Set(name, std::move(attr));
          }
        }
        body_->args.push_back(node->id);
      }
      if (!tensors_.try_emplace(arg.name, named).second) return InvalidArgument("Duplicated arg name: ", arg.name);
      node_names_.try_emplace(arg.name, named.node);
    }
    return OkStatus();
  }

  Status AddBodyNode(const NodeDef& def) {
    Node node;
    node.name = def.name();
    node.requested_device = def.device();
    WEIR_ASSIGN_OR_RETURN(node.schema, body_->graph.FindSchema(def.op()));
    for (const auto& [name, value] : def.attr()) {
      WEIR_ASSIGN_OR_RETURN(Attribute attr, FromProto(value));
      WEIR_RETURN_IF_ERROR(Substitute(attrs_, attr, 0));
      node.attrs.Set(name, std::move(attr));
    }
    WEIR_RETURN_IF_ERROR(CompleteAttrs(node));
    WEIR_ASSIGN_OR_RETURN(ArgTypes types, ResolveTypes(node));
    node.types = body_->graph.Share(node.schema, std::move(types));
    if (node.name.empty()) return InvalidArgument("A node of function ", signature_.name, " has no name");
    // An argument may have taken the name; the graph's name then differs, the body still says the same.
    if (body_->graph.Find(node.name) != nullptr) {
      if (node_names_.contains(def.name())) return InvalidArgument("Duplicated node name: ", node.name);
      node.name = body_->graph.UniqueName(node.name);
    }
    WEIR_ASSIGN_OR_RETURN(Node * added, body_->graph.AddUnchecked(std::move(node)));
    node_names_.try_emplace(def.name(), added->id);
    body_->is_stateful |= added->schema->is_stateful;
    for (size_t i = 0; i < added->schema->outputs.size(); ++i) {
      WEIR_ASSIGN_OR_RETURN(ArgRange range, ResolveArgRange(added->schema->outputs, added->attrs, static_cast<int>(i)));
      Named named{added->id, range.begin, range.end, false};
      tensors_.try_emplace(Cat(def.name(), ":", added->schema->outputs[i].name), named);
    }
    return OkStatus();
  }

  // Appends the tensors that `text` names: one, or all of a list that is named without an index.
  Status Resolve(std::string_view text, std::vector<Endpoint>* out) const {
    if (auto it = tensors_.find(text); it != tensors_.end()) {
      for (int i = 0; i < it->second.size(); ++i) out->push_back(it->second.at(i));
      return OkStatus();
    }
    size_t colon = text.rfind(':');
    if (colon != std::string_view::npos) {
      std::string_view digits = text.substr(colon + 1);
      int index = -1;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
      auto it = tensors_.find(text.substr(0, colon));
      if (error == std::errc() && end == digits.data() + digits.size() && it != tensors_.end() && index >= 0 &&
          index < it->second.size()) {
        out->push_back(it->second.at(index));
        return OkStatus();
      }
    }
    return InvalidArgument("input ", text, " is not found");
  }

  Status Connect(const NodeDef& def) {
    Node* node = body_->graph.node(node_names_.find(def.name())->second);
    for (const std::string& input : def.input()) {
      if (!input.starts_with('^')) {
        if (!node->control_inputs.empty()) {
          return InvalidArgument("Node '", node->name, "': Control dependencies must come after regular dependencies");
        }
        if (Status status = Resolve(input, &node->inputs); !status.ok()) {
          return Annotate(status, "", Cat(": {{node ", node->name, "}}"));
        }
        continue;
      }
      auto it = node_names_.find(std::string_view(input).substr(1));
      if (it == node_names_.end()) {
        return InvalidArgument("input[", input, "] is not found for node '", node->name, "'");
      }
      if (std::ranges::find(node->control_inputs, it->second) == node->control_inputs.end()) {
        node->control_inputs.push_back(it->second);
      }
    }
    if (node->inputs.size() != node->types->inputs.size()) return WrongInputCount(*node, node->inputs.size());
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Node& producer = *body_->graph.node(node->inputs[i].node);
      WEIR_RETURN_IF_ERROR(CheckInput(*node, static_cast<int>(i), producer, node->inputs[i].index));
    }
    return OkStatus();
  }

  Status AddRets() {
    int index = 0;
    for (size_t i = 0; i < signature_.outputs.size(); ++i) {
      const ArgSchema& ret = signature_.outputs[i];
      WEIR_ASSIGN_OR_RETURN(ArgRange range, ResolveArgRange(signature_.outputs, attrs_, static_cast<int>(i)));
      std::string where = Cat("\n\tIn function output ", ret.name);
      auto it = def_.ret().find(ret.name);
      if (it == def_.ret().end()) return InvalidArgument("Return ", ret.name, " missing.", where);
      std::vector<Endpoint> values;
      if (Status status = Resolve(it->second, &values); !status.ok()) {
        return InvalidArgument("Return ", ret.name, " -> ", it->second, " is not found.", where);
      }
      if (values.size() != static_cast<size_t>(range.end - range.begin)) {
        return InvalidArgument("Return ", ret.name, " -> ", it->second, " has ", values.size(), " tensors, expected ",
                               range.end - range.begin, where);
      }
      bool is_list = !ret.number_attr.empty() || !ret.type_list_attr.empty();
      for (size_t j = 0; j < values.size(); ++j, ++index) {
        DType expected = body_->types.outputs[index], actual = body_->graph.type(values[j]);
        if (BaseType(expected) != BaseType(actual)) {
          return InvalidArgument("Invalid ret types ", ret.name, " : ", Name(expected), " vs. ", Name(actual), where);
        }
        std::string name = Cat(ret.name, "_RetVal", is_list ? Cat("_", j) : "");
        WEIR_ASSIGN_OR_RETURN(Node * node, AddEnd("_Retval", std::move(name), expected, index, {values[j]}));
        body_->rets.push_back(node->id);
      }
    }
    return OkStatus();
  }

  Status FindControlRets() {
    std::vector<std::string_view> names;
    for (const auto& [name, node] : def_.control_ret()) names.push_back(node);
    std::ranges::sort(names);
    std::vector<bool> kept(body_->graph.num_node_ids(), false);
    std::vector<NodeId> stack(body_->rets);
    auto keep = [&] {
      while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        if (kept[id]) continue;
        kept[id] = true;
        for (Endpoint input : body_->graph.node(id)->inputs) stack.push_back(input.node);
        for (NodeId input : body_->graph.node(id)->control_inputs) stack.push_back(input);
      }
    };
    for (std::string_view name : names) {
      auto it = node_names_.find(name);
      if (it == node_names_.end()) return InvalidArgument("Control return ", name, " is not found.");
      body_->control_rets.push_back(it->second);
      stack.push_back(it->second);
    }
    keep();
    // Side effects count even where the function does not list them.
    for (NodeId id = 0; id < body_->graph.num_node_ids(); ++id) {
      const Node& node = *body_->graph.node(id);
      if (kept[id] || !node.schema->is_stateful || node.op() == "_Arg") continue;
      body_->control_rets.push_back(id);
      stack.push_back(id);
      keep();
    }
    std::ranges::sort(body_->control_rets);
    body_->control_rets.erase(std::unique(body_->control_rets.begin(), body_->control_rets.end()),
                              body_->control_rets.end());
    return OkStatus();
  }

  const FunctionDef& def_;
  const OpSchema& signature_;
  AttrMap attrs_;
  std::unique_ptr<FunctionBody> body_;
  StringMap<Named> tensors_;      // "arg", "node:output"
  StringMap<NodeId> node_names_;  // as the FunctionDef calls them
};

}  // namespace

StatusOr<std::unique_ptr<FunctionBody>> InstantiateFunction(const FunctionDef& function, const OpSchema& signature,
                                                            const AttrMap& attrs, const OpRegistry& ops,
                                                            std::shared_ptr<FunctionLibrary> library) {
  return Instantiator(function, signature, ops, std::move(library)).Run(attrs);
}

StatusOr<std::unique_ptr<FunctionBody>> InstantiateOp(const OpSchema& op, const AttrMap& attrs, const OpRegistry& ops,
                                                      std::shared_ptr<FunctionLibrary> library) {
  auto body = std::make_unique<FunctionBody>(Graph(ops, std::move(library)));
  Graph& graph = body->graph;
  graph.versions().producer = kGraphDefVersion;
  Graph::NodeSpec spec{.name = "op", .op = op.name, .attrs = attrs};
  AttrMap complete = attrs;
  WEIR_RETURN_IF_ERROR(CheckAttrs(op, complete));
  WEIR_ASSIGN_OR_RETURN(body->types, ResolveArgTypes(op, complete));
  auto add_end = [&](std::string_view kind, DType type, size_t index, std::vector<Endpoint> inputs) {
    Graph::NodeSpec end{.name = Cat(kind == "_Arg" ? "arg" : "ret", index), .op = std::string(kind)};
    end.attrs.Set("T", BaseType(type));
    end.attrs.Set("index", static_cast<int64_t>(index));
    end.inputs = std::move(inputs);
    return graph.AddNode(std::move(end));
  };
  for (size_t i = 0; i < body->types.inputs.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(Node * arg, add_end("_Arg", body->types.inputs[i], i, {}));
    body->args.push_back(arg->id);
    spec.inputs.push_back({arg->id, 0});
  }
  WEIR_ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
  body->is_stateful = op.is_stateful;
  for (size_t i = 0; i < body->types.outputs.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(Node * ret,
                          add_end("_Retval", body->types.outputs[i], i, {{node->id, static_cast<int32_t>(i)}}));
    body->rets.push_back(ret->id);
  }
  return body;
}

}  // namespace weir
