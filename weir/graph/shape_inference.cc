#include "weir/graph/shape_inference.h"

#include <algorithm>

#include "weir/graph/function_library.h"

namespace weir {
namespace {

constexpr int kMostPasses = 12;           // over a graph with loops; then what still changes is called unknown
constexpr int kMostDepth = 24;            // of calls in calls
constexpr int64_t kMostWork = 2'000'000;  // nodes looked at inside functions

// "x = AddV2[T=DT_FLOAT](a, b)"
std::string Summarize(const Graph& graph, const Node& node) {
  std::string text = Cat("{{node ", node.name, "}} = ", node.op(), "[");
  const char* separator = "";
  for (const auto& [name, value] : node.attrs) {
    text += Cat(separator, name, "=", value.ToString());
    separator = ", ";
  }
  text += "](";
  separator = "";
  for (Endpoint input : node.inputs) {
    const std::string& name = graph.node(input.node)->name;
    text += Cat(separator, name, input.index == 0 ? "" : Cat(":", input.index));
    separator = ", ";
  }
  for (NodeId input : node.control_inputs) {
    text += Cat(separator, "^", graph.node(input)->name);
    separator = ", ";
  }
  return text + ")";
}

Status AtNode(const Status& status, const Graph& graph, const Node& node, const std::vector<InferredTensor>& inputs) {
  std::string text = Cat(" for '", Summarize(graph, node), "' with input shapes: ");
  for (size_t i = 0; i < inputs.size(); ++i) text += Cat(i == 0 ? "" : ", ", inputs[i].shape.ToString());
  std::string values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].value.has_value()) continue;
    values += Cat(values.empty() ? "" : ", ", "input[", i, "] = <", inputs[i].value.SummarizeValues(6), ">");
  }
  if (!values.empty()) text += Cat(" and with computed input tensors: ", values);
  return Annotate(status, "", text + ".");
}

// What holds of both.
PartialShape Relax(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return PartialShape();
  PartialShape out = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) out.set_dim(i, PartialShape::kUnknown);
  }
  return out;
}

bool SameHandleData(const std::vector<ResourceHandle::DTypeAndShape>& a,
                    const std::vector<ResourceHandle::DTypeAndShape>& b) {
  return std::ranges::equal(a, b,
                            [](const auto& x, const auto& y) { return x.dtype == y.dtype && x.shape == y.shape; });
}

InferredTensor Relax(const InferredTensor& a, const InferredTensor& b) {
  InferredTensor out;
  out.shape = Relax(a.shape, b.shape);
  if (SameHandleData(a.handle_data, b.handle_data)) out.handle_data = a.handle_data;
  return out;
}

bool SameInference(const InferredTensor& a, const InferredTensor& b) {
  return a.shape == b.shape && a.value.has_value() == b.value.has_value() && a.value_as_shape == b.value_as_shape &&
         SameHandleData(a.handle_data, b.handle_data);
}

// A shape vector that is known in full is a constant.
void FillValue(DType dtype, InferredTensor& tensor) {
  if (tensor.value.has_value() || !tensor.value_as_shape || !tensor.value_as_shape->IsFullyDefined()) return;
  auto dims = tensor.value_as_shape->dims();
  if (dtype == DType::kInt64) {
    tensor.value = Tensor::Vector<int64_t>(dims);
  } else if (dtype == DType::kInt32 && std::ranges::all_of(dims, [](int64_t d) { return d <= INT32_MAX; })) {
    std::vector<int32_t> narrow(dims.begin(), dims.end());
    tensor.value = Tensor::Vector<int32_t>(std::span<const int32_t>(narrow));
  }
}

class Inference {
 public:
  explicit Inference(const Graph& graph) : library_(graph.functions()) {}

  // `arguments` are those of a function's body; null at the top.
  StatusOr<InferredShapes> Run(const Graph& graph, const std::vector<InferredTensor>* arguments, int depth) {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph));
    InferredShapes shapes;
    shapes.outputs.resize(graph.num_node_ids());
    bool has_loop = false;
    for (NodeId id : order) has_loop |= IsNextIteration(*graph.node(id));
    // In a loop the first pass takes every iteration to be like the first. Later ones give up what does not hold;
    // until nothing changes, contradictions mean nothing.
    for (int pass = 0;; ++pass) {
      bool changed = false;
      Status error;
      for (NodeId id : order) {
        const Node& node = *graph.node(id);
        std::vector<InferredTensor> outputs(node.num_outputs());
        Status status = InferOne(graph, node, shapes, arguments, depth, &outputs);
        if (!status.ok()) {
          if (error.ok()) error = status;
          outputs.assign(node.num_outputs(), {});
        }
        if (has_loop && IsMerge(node) && pass >= kMostPasses) outputs[0] = {};
        std::vector<InferredTensor>& known = shapes.outputs[id];
        if (has_loop && !std::ranges::equal(known, outputs, SameInference)) changed = true;
        known = std::move(outputs);
      }
      if (changed && pass <= kMostPasses + 1) continue;
      if (!error.ok()) return error;
      return shapes;
    }
  }

  Status InferNode(const Graph& graph, const Node& node, std::vector<InferredTensor> inputs, int depth,
                   std::vector<InferredTensor>* outputs) {
    if (graph.functions()->FindSchema(node.op()) == node.schema) {
      return Call({node.op(), node.attrs}, graph, std::move(inputs), depth, outputs);
    }
    WEIR_ASSIGN_OR_RETURN(bool is_call, InferCall(graph, node, inputs, depth, outputs));
    if (is_call || node.schema->shape_function == nullptr) return OkStatus();
    ShapeContext context(*node.schema, node.attrs, inputs, node.num_outputs());
    if (Status status = node.schema->shape_function(context); !status.ok()) return AtNode(status, graph, node, inputs);
    *outputs = std::move(context.outputs());
    outputs->resize(node.num_outputs());
    for (int i = 0; i < node.num_outputs(); ++i) FillValue(BaseType(node.output_type(i)), (*outputs)[i]);
    return OkStatus();
  }

 private:
  Status InferOne(const Graph& graph, const Node& node, const InferredShapes& shapes,
                  const std::vector<InferredTensor>* arguments, int depth, std::vector<InferredTensor>* outputs) {
    if (node.op() == "_Arg") return InferArg(node, arguments, outputs);
    if (IsRecv(node)) return InferArg(node, nullptr, outputs);  // as far as the sender's part knew
    if (IsMerge(node)) {
      bool first = true;
      for (Endpoint input : node.inputs) {
        if (shapes.outputs[input.node].empty()) continue;  // of the next iteration, not seen yet
        const InferredTensor& tensor = shapes.of(input);
        (*outputs)[0] = first ? tensor : Relax((*outputs)[0], tensor);
        first = false;
      }
      (*outputs)[0].value = Tensor();
      (*outputs)[0].value_as_shape.reset();
      if (outputs->size() > 1) (*outputs)[1].shape = Shape();
      return OkStatus();
    }
    std::vector<InferredTensor> inputs;
    inputs.reserve(node.inputs.size());
    for (Endpoint input : node.inputs) inputs.push_back(shapes.of(input));
    return InferNode(graph, node, std::move(inputs), depth, outputs);
  }

  Status InferArg(const Node& node, const std::vector<InferredTensor>* arguments,
                  std::vector<InferredTensor>* outputs) {
    int64_t index = node.Attr<int64_t>("index").value_or(-1);
    if (arguments != nullptr && index >= 0 && index < static_cast<int64_t>(arguments->size())) {
      (*outputs)[0] = (*arguments)[index];
    }
    InferredTensor& out = (*outputs)[0];
    if (!out.shape.has_rank()) {
      auto shapes = node.Attr<std::vector<PartialShape>>("_output_shapes");
      if (shapes.ok() && shapes->size() == 1) out.shape = shapes->front();
    }
    if (out.handle_data.empty()) {
      auto types = node.Attr<std::vector<DType>>("_handle_dtypes");
      auto shapes = node.Attr<std::vector<PartialShape>>("_handle_shapes");
      if (types.ok() && shapes.ok() && types->size() == shapes->size()) {
        for (size_t i = 0; i < types->size(); ++i) out.handle_data.push_back({(*types)[i], (*shapes)[i]});
      }
    }
    return OkStatus();
  }

  // Nodes that call functions named in their attributes. False if the node is none of them.
  StatusOr<bool> InferCall(const Graph& graph, const Node& node, const std::vector<InferredTensor>& inputs, int depth,
                           std::vector<InferredTensor>* outputs) {
    const std::string& op = node.op();
    if (op == "PartitionedCall" || op == "StatefulPartitionedCall") {
      WEIR_ASSIGN_OR_RETURN(FunctionAttr function, node.Attr<FunctionAttr>("f"));
      WEIR_RETURN_IF_ERROR(Call(function, graph, inputs, depth, outputs));
      return true;
    }
    std::vector<FunctionAttr> branches;
    if (op == "If" || op == "StatelessIf") {
      for (const char* branch : {"then_branch", "else_branch"}) {
        WEIR_ASSIGN_OR_RETURN(FunctionAttr function, node.Attr<FunctionAttr>(branch));
        branches.push_back(std::move(function));
      }
    } else if (op == "Case" || op == "StatelessCase") {
      WEIR_ASSIGN_OR_RETURN(branches, node.Attr<std::vector<FunctionAttr>>("branches"));
    } else if (op == "While" || op == "StatelessWhile") {
      return InferWhile(graph, node, inputs, depth, outputs);
    } else {
      return false;
    }
    std::vector<InferredTensor> arguments(inputs.begin() + std::min<size_t>(1, inputs.size()), inputs.end());
    for (size_t i = 0; i < branches.size(); ++i) {
      std::vector<InferredTensor> results(node.num_outputs());
      WEIR_RETURN_IF_ERROR(Call(branches[i], graph, arguments, depth, &results));
      for (int j = 0; j < node.num_outputs(); ++j) {
        (*outputs)[j] = i == 0 ? results[j] : Relax((*outputs)[j], results[j]);
        (*outputs)[j].value = Tensor();
        (*outputs)[j].value_as_shape.reset();
      }
    }
    UseDeclaredShapes(node, outputs);
    return true;
  }

  StatusOr<bool> InferWhile(const Graph& graph, const Node& node, const std::vector<InferredTensor>& inputs, int depth,
                            std::vector<InferredTensor>* outputs) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr body, node.Attr<FunctionAttr>("body"));
    std::vector<InferredTensor> state = inputs;
    state.resize(node.num_outputs());
    auto forget_values = [&] {
      for (InferredTensor& each : state) {
        each.value = Tensor();
        each.value_as_shape.reset();
      }
    };
    forget_values();
    UseDeclaredShapes(node, &state);
    for (int pass = 0;; ++pass) {
      std::vector<InferredTensor> results(node.num_outputs());
      Status status = Call(body, graph, state, depth, &results);
      bool changed = false;
      for (size_t i = 0; i < state.size(); ++i) {
        InferredTensor relaxed = pass < kMostPasses ? Relax(state[i], results[i]) : InferredTensor();
        changed |= !SameInference(state[i], relaxed);
        state[i] = std::move(relaxed);
      }
      if (changed && pass <= kMostPasses) continue;
      WEIR_RETURN_IF_ERROR(status);
      break;
    }
    UseDeclaredShapes(node, &state);
    *outputs = std::move(state);
    return true;
  }

  // `output_shapes` says more than the bodies may: what the client knows of the results.
  static void UseDeclaredShapes(const Node& node, std::vector<InferredTensor>* outputs) {
    auto declared = node.Attr<std::vector<PartialShape>>("output_shapes");
    if (!declared.ok() || declared->size() != outputs->size()) return;
    for (size_t i = 0; i < outputs->size(); ++i) {
      auto merged = (*outputs)[i].shape.Merge((*declared)[i]);
      (*outputs)[i].shape = merged.ok() ? *std::move(merged) : (*declared)[i];
    }
  }

  Status Call(const FunctionAttr& function, const Graph& graph, std::vector<InferredTensor> arguments, int depth,
              std::vector<InferredTensor>* outputs) {
    // Beyond the limits nothing is said; a function that calls itself is legal.
    if (depth >= kMostDepth || work_ > kMostWork || !library_->Contains(function.name)) return OkStatus();
    uint64_t key = absl::HashOf(function.name, Hash(function.attrs));
    std::vector<std::pair<FunctionAttr, std::shared_ptr<FunctionBody>>>& bucket = bodies_[key];
    std::shared_ptr<FunctionBody> body;
    for (const auto& [known, known_body] : bucket) {
      if (known == function) body = known_body;
    }
    if (!body) {
      WEIR_ASSIGN_OR_RETURN(body, library_->Instantiate(function, library_));
      bucket.emplace_back(function, body);
    }
    work_ += body->graph.num_nodes();
    StatusOr<InferredShapes> shapes = Run(body->graph, &arguments, depth + 1);
    if (!shapes.ok()) return Annotate(shapes.status(), "", Cat("\n\tIn function '", function.name, "'"));
    for (size_t i = 0; i < std::min(body->rets.size(), outputs->size()); ++i) {
      (*outputs)[i] = shapes->of(body->graph.node(body->rets[i])->inputs[0]);
    }
    return OkStatus();
  }

  std::shared_ptr<FunctionLibrary> library_;
  absl::flat_hash_map<uint64_t, std::vector<std::pair<FunctionAttr, std::shared_ptr<FunctionBody>>>> bodies_;
  int64_t work_ = 0;
};

}  // namespace

StatusOr<InferredShapes> InferShapes(const Graph& graph) { return Inference(graph).Run(graph, nullptr, 0); }

Status InferNode(const Graph& graph, const Node& node, std::vector<InferredTensor> inputs,
                 std::vector<InferredTensor>* outputs) {
  outputs->assign(node.num_outputs(), {});
  if (inputs.size() != node.inputs.size()) return Internal("Node '", node.name, "' has other inputs than given");
  return Inference(graph).InferNode(graph, node, std::move(inputs), 0, outputs);
}

}  // namespace weir
