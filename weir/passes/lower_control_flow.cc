#include "weir/passes/lower_control_flow.h"

#include "weir/graph/function_library.h"
#include "weir/passes/rewrite.h"

namespace weir {
namespace {

class Lowering {
 public:
  Lowering(Graph* graph, std::vector<LoweredCall>* calls)
      : graph_(*graph), calls_(calls), replacements_(graph), num_old_(graph->num_node_ids()) {}

  Status Run() {
    for (NodeId id = 0; id < num_old_; ++id) {
      if (graph_.node(id) == nullptr) continue;
      node_ = graph_.node(id);
      replacements_.Update(node_);
      const std::string& op = node_->op();
      Status status;
      if (op == "If" || op == "StatelessIf") {
        status = LowerIf();
      } else if (op == "Case" || op == "StatelessCase") {
        status = LowerCase();
      } else if (op == "While" || op == "StatelessWhile") {
        status = LowerWhile();
      }
      WEIR_RETURN_IF_ERROR(status);
    }
    replacements_.Apply();
    return OkStatus();
  }

 private:
  // Adds a node on the device of the node that is being lowered, and named below it.
  StatusOr<NodeId> Add(std::string_view name, std::string op, DType type, std::vector<Endpoint> inputs,
                       std::vector<NodeId> control_inputs = {}, AttrMap attrs = {}) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(Cat(node_->name, "/", name));
    spec.op = std::move(op);
    spec.attrs = std::move(attrs);
    if (type != DType::kInvalid) spec.attrs.Set("T", BaseType(type));
    spec.inputs = std::move(inputs);
    spec.control_inputs = std::move(control_inputs);
    spec.device = node_->requested_device;
    WEIR_ASSIGN_OR_RETURN(Node * added, graph_.AddNode(std::move(spec)));
    added->assigned_device = node_->assigned_device;
    return added->id;
  }

  StatusOr<NodeId> AddCall(std::string_view name, const FunctionAttr& function, std::vector<Endpoint> arguments,
                           const std::vector<DType>& results, NodeId after) {
    AttrList tin, tout;
    for (Endpoint argument : arguments) tin.type.push_back(BaseType(graph_.type(argument)));
    tout.type = results;
    AttrMap attrs;
    attrs.Set("Tin", Attribute(std::move(tin)));
    attrs.Set("Tout", Attribute(std::move(tout)));
    attrs.Set("f", Attribute(function));
    std::vector<NodeId> control_inputs;
    if (after != kNoNode) control_inputs.push_back(after);
    WEIR_ASSIGN_OR_RETURN(NodeId call,
                          Add(name, IsStateful() ? "StatefulPartitionedCall" : "PartitionedCall", DType::kInvalid,
                              std::move(arguments), std::move(control_inputs), std::move(attrs)));
    if (calls_ != nullptr) calls_->push_back({call, node_->id});
    return call;
  }

  bool IsStateful() const { return node_->schema->is_stateful; }
  std::vector<DType> Results() const { return node_->types->outputs; }

  StatusOr<Endpoint> AsBool(Endpoint value) {
    DType type = BaseType(graph_.type(value));
    if (type == DType::kBool) {
      // Any shape will do: Switch checks that it is a scalar.
      return value;
    }
    WEIR_ASSIGN_OR_RETURN(NodeId converted, Add("pred", "ToBool", type, {value}));
    return Endpoint{converted, 0};
  }

  // Turns the lowered node into a NoOp that runs last; its consumers read `outputs` instead.
  Status Finish(const std::vector<Endpoint>& outputs, std::vector<NodeId> done) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      replacements_.Replace(Endpoint{node_->id, static_cast<int32_t>(i)}, outputs[i]);
    }
    WEIR_ASSIGN_OR_RETURN(node_->schema, graph_.ops().LookUp("NoOp"));
    node_->attrs = AttrMap();
    node_->inputs.clear();
    node_->control_inputs = std::move(done);
    return graph_.RefreshTypes(node_);
  }

  Status LowerIf() {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr then_branch, node_->Attr<FunctionAttr>("then_branch"));
    WEIR_ASSIGN_OR_RETURN(FunctionAttr else_branch, node_->Attr<FunctionAttr>("else_branch"));
    WEIR_ASSIGN_OR_RETURN(Endpoint pred, AsBool(node_->inputs[0]));
    return LowerBranches({pred}, {then_branch, else_branch});
  }

  Status LowerCase() {
    WEIR_ASSIGN_OR_RETURN(std::vector<FunctionAttr> branches, node_->Attr<std::vector<FunctionAttr>>("branches"));
    if (branches.empty()) return OkStatus();
    // An index out of range selects the last branch, so that branch needs no test.
    std::vector<Endpoint> tests;
    for (size_t i = 0; i + 1 < branches.size(); ++i) {
      AttrMap attrs;
      attrs.Set("dtype", DType::kInt32);
      attrs.Set("value", Tensor::Scalar<int32_t>(static_cast<int32_t>(i)));
      WEIR_ASSIGN_OR_RETURN(NodeId number, Add(Cat("branch_", i), "Const", DType::kInvalid, {}, {}, std::move(attrs)));
      WEIR_ASSIGN_OR_RETURN(NodeId test,
                            Add(Cat("is_branch_", i), "Equal", DType::kInt32, {node_->inputs[0], {number, 0}}));
      tests.push_back({test, 0});
    }
    return LowerBranches(tests, branches);
  }

  // Reads a variable on its own device; returns `value` if it is not a reference.
  StatusOr<Endpoint> Read(Endpoint value) {
    if (!IsRef(graph_.type(value))) return value;
    WEIR_ASSIGN_OR_RETURN(NodeId read, Add("read", "Identity", graph_.type(value), {value}));
    PlaceWith(value.node, read);
    return Endpoint{read, 0};
  }

  void PlaceWith(NodeId other, NodeId id) {
    graph_.node(id)->requested_device = graph_.node(other)->requested_device;
    graph_.node(id)->assigned_device = graph_.node(other)->assigned_device;
  }

  // A branch that does not read a variable may be passed an uninitialized one, so the Switch passes the reference on.
  StatusOr<NodeId> AddSwitch(Endpoint value, Endpoint test) {
    DType type = graph_.type(value);
    WEIR_ASSIGN_OR_RETURN(NodeId added, Add("switch", IsRef(type) ? "RefSwitch" : "Switch", type, {value, test}));
    if (IsRef(type)) PlaceWith(value.node, added);
    return added;
  }

  // Branch i runs if tests[i] is the first test that is true; the last branch runs if none is.
  Status LowerBranches(const std::vector<Endpoint>& tests, const std::vector<FunctionAttr>& branches) {
    const std::vector<NodeId> waits = node_->control_inputs;
    std::vector<Endpoint> arguments(node_->inputs.begin() + 1, node_->inputs.end());
    std::vector<std::vector<Endpoint>> results(node_->num_outputs());
    std::vector<Endpoint> executed;
    Endpoint pivot;  // live if all tests so far were false; none before the first test
    for (size_t i = 0; i < branches.size(); ++i) {
      std::vector<Endpoint> taken = arguments;
      NodeId after = kNoNode;
      if (i < tests.size()) {
        Endpoint carried = pivot.node == kNoNode ? tests[i] : pivot;
        WEIR_ASSIGN_OR_RETURN(NodeId turn, Add("switch_pred", "Switch", graph_.type(carried), {carried, tests[i]},
                                               i == 0 ? waits : std::vector<NodeId>()));
        WEIR_ASSIGN_OR_RETURN(after, Add(Cat("pivot_", i), "Identity", graph_.type(carried), {{turn, 1}}));
        for (size_t j = 0; j < arguments.size(); ++j) {
          WEIR_ASSIGN_OR_RETURN(NodeId each, AddSwitch(arguments[j], tests[i]));
          taken[j] = {each, 1};
          arguments[j] = {each, 0};
        }
        pivot = {turn, 0};
      } else if (pivot.node != kNoNode) {
        WEIR_ASSIGN_OR_RETURN(after, Add(Cat("pivot_", i), "Identity", graph_.type(pivot), {pivot}));
      }
      for (Endpoint& argument : taken) {
        WEIR_ASSIGN_OR_RETURN(argument, Read(argument));
      }
      WEIR_ASSIGN_OR_RETURN(NodeId call, AddCall(branches[i].name, branches[i], taken, Results(), after));
      if (after == kNoNode) {
        for (NodeId id : waits) AddControlInput(graph_.node(call), id);
      }
      for (size_t j = 0; j < results.size(); ++j) results[j].push_back({call, static_cast<int32_t>(j)});
      if (after != kNoNode) {
        WEIR_ASSIGN_OR_RETURN(NodeId done,
                              Add(Cat("done_", i), "Identity", graph_.type({after, 0}), {{after, 0}}, {call}));
        executed.push_back({done, 0});
      } else {
        executed.push_back({call, -1});
      }
    }
    std::vector<Endpoint> outputs;
    std::vector<NodeId> done;
    for (size_t j = 0; j < results.size(); ++j) {
      if (results[j].size() == 1) {
        outputs.push_back(results[j][0]);
        continue;
      }
      WEIR_ASSIGN_OR_RETURN(NodeId merge, AddMerge("merge", results[j]));
      outputs.push_back({merge, 0});
      done.push_back(merge);
    }
    if (executed.size() == 1) {
      done.push_back(executed[0].node);
    } else {
      WEIR_ASSIGN_OR_RETURN(NodeId merge, AddMerge("executed", executed));
      done.push_back(merge);
    }
    return Finish(outputs, std::move(done));
  }

  StatusOr<NodeId> AddMerge(std::string_view name, const std::vector<Endpoint>& inputs) {
    AttrMap attrs;
    attrs.Set("N", static_cast<int64_t>(inputs.size()));
    return Add(name, "Merge", graph_.type(inputs[0]), inputs, {}, std::move(attrs));
  }

  Status LowerWhile() {
    if (node_->inputs.empty()) return OkStatus();  // a loop without variables stays as it is
    WEIR_ASSIGN_OR_RETURN(FunctionAttr cond, node_->Attr<FunctionAttr>("cond"));
    WEIR_ASSIGN_OR_RETURN(FunctionAttr body, node_->Attr<FunctionAttr>("body"));
    int64_t parallel = node_->Attr<int64_t>("parallel_iterations").value_or(10);
    const OpSchema* cond_schema = graph_.functions()->FindSchema(cond.name);
    if (cond_schema == nullptr || cond_schema->outputs.size() != 1) {
      return InvalidArgument("The condition '", cond.name, "' of {{node ", node_->name, "}} must have one result");
    }
    WEIR_ASSIGN_OR_RETURN(ArgTypes cond_types, ResolveArgTypes(*cond_schema, cond.attrs));
    if (cond_types.outputs.size() != 1) return InvalidArgument("The condition '", cond.name, "' must have one result");

    const std::vector<Endpoint> inputs = node_->inputs;
    const std::vector<NodeId> waits = node_->control_inputs;
    std::vector<Endpoint> merged;
    for (Endpoint input : inputs) {
      AttrMap attrs;
      attrs.Set("frame_name", node_->name);
      attrs.Set("parallel_iterations", parallel);
      DType type = graph_.type(input);
      WEIR_ASSIGN_OR_RETURN(NodeId enter, Add("enter", "Enter", type, {input}, waits, std::move(attrs)));
      WEIR_ASSIGN_OR_RETURN(NodeId merge, AddMerge("merge", {{enter, 0}, {enter, 0}}));
      merged.push_back({merge, 0});
    }
    WEIR_ASSIGN_OR_RETURN(NodeId cond_call, AddCall(cond.name, cond, merged, cond_types.outputs, merged[0].node));
    WEIR_ASSIGN_OR_RETURN(Endpoint truth, AsBool({cond_call, 0}));
    WEIR_ASSIGN_OR_RETURN(NodeId pred, Add("loop_cond", "LoopCond", DType::kInvalid, {truth}));
    std::vector<Endpoint> kept, outputs;
    std::vector<NodeId> done;
    for (Endpoint merge : merged) {
      DType type = graph_.type(merge);
      WEIR_ASSIGN_OR_RETURN(NodeId turn, Add("switch", "Switch", type, {merge, {pred, 0}}));
      WEIR_ASSIGN_OR_RETURN(NodeId exit, Add("exit", "Exit", type, {{turn, 0}}));
      WEIR_ASSIGN_OR_RETURN(NodeId identity, Add("body_input", "Identity", type, {{turn, 1}}));
      kept.push_back({identity, 0});
      outputs.push_back({exit, 0});
      done.push_back(exit);
    }
    WEIR_ASSIGN_OR_RETURN(NodeId body_call, AddCall(body.name, body, kept, Results(), kept[0].node));
    for (size_t i = 0; i < merged.size(); ++i) {
      Endpoint result{body_call, static_cast<int32_t>(i)};
      // The effects of one iteration come before those of the next.
      std::vector<NodeId> after;
      if (IsStateful()) after.push_back(body_call);
      WEIR_ASSIGN_OR_RETURN(NodeId next, Add("next", "NextIteration", graph_.type(result), {result}, std::move(after)));
      graph_.node(merged[i].node)->inputs[1] = {next, 0};
    }
    return Finish(outputs, std::move(done));
  }

  Graph& graph_;
  std::vector<LoweredCall>* calls_;
  Replacements replacements_;
  const NodeId num_old_;
  Node* node_ = nullptr;
};

}  // namespace

Status LowerControlFlow(Graph* graph, std::vector<LoweredCall>* calls) { return Lowering(graph, calls).Run(); }

}  // namespace weir
