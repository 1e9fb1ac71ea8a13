#include "python/src/graph.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "python/src/attributes.h"
#include "python/src/op.h"
#include "python/src/python_gradient.h"
#include "python/src/tensor.h"
#include "weir/client/gradients.h"
#include "weir/graph/function_export.h"
#include "weir/graph/import.h"
#include "weir/graph/shape_inference.h"
#include "weir/proto/graph.pb.h"

namespace weir::python {

PyTypeObject* g_graph_type = nullptr;

const InferredTensor& GraphState::Inferred(Endpoint endpoint) {
  static const auto* const unknown = new InferredTensor;
  if (endpoint.node >= static_cast<NodeId>(inferred.size()) && !InferUpTo(endpoint.node + 1).ok()) return *unknown;
  std::vector<InferredTensor>& outputs = inferred[endpoint.node];
  if (endpoint.index >= static_cast<int>(outputs.size())) {
    // A pass gave the node more outputs.
    const Node& node = *graph.node(endpoint.node);
    std::vector<InferredTensor> inputs;
    for (Endpoint input : node.inputs) inputs.push_back(Inferred(input));
    if (!InferNode(graph, node, std::move(inputs), &outputs).ok()) outputs.resize(node.num_outputs());
    if (endpoint.index >= static_cast<int>(outputs.size())) return *unknown;
  }
  return outputs[endpoint.index];
}

namespace {

constexpr int64_t kMostFolded = 256;  // elements of a constant

bool IsIndex(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kBool; }

// Computes the small integers that shapes depend on where all of a node's inputs are constants, so that, for example,
// Reshape to Concat(Shape(x), [1]) has a known shape. Leaves `outputs` alone where that cannot be done.
void FoldConstants(const Node& node, const std::vector<InferredTensor>& inputs, std::vector<InferredTensor>* outputs) {
  if (node.schema->is_stateful || inputs.empty() || outputs->empty()) return;
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (!IsIndex(node.output_type(i)) || (*outputs)[i].value.has_value()) return;
    if ((*outputs)[i].shape.num_elements() > kMostFolded) return;  // -1: not known yet
  }
  for (const InferredTensor& input : inputs) {
    if (!input.value.has_value() || input.value.num_elements() > kMostFolded) return;
  }
  static const auto* const kept = new absl::flat_hash_set<std::string>(
      {"Switch", "RefSwitch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "PlaceholderWithDefault",
       "_Retval", "PartitionedCall", "StatelessIf", "StatelessCase", "StatelessWhile", "SymbolicGradient",
       "DynamicPartition"});
  if (kept->contains(node.op())) return;
  StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> prepared = Runtime().Prepare(*node.schema, node.attrs);
  if (!prepared.ok() || !(*prepared)->is_prompt()) return;
  absl::InlinedVector<Tensor, 4> values;
  for (const InferredTensor& input : inputs) values.push_back(input.value);
  EagerRuntime::Outputs results;
  if (!Runtime().RunCached(**prepared, {values.data(), values.size()}, &results).ok()) return;
  for (size_t i = 0; i < std::min(results.size(), outputs->size()); ++i) {
    if (results[i].num_elements() > kMostFolded) continue;
    StatusOr<PartialShape> merged = (*outputs)[i].shape.Merge(PartialShape(results[i].shape()));
    if (!merged.ok()) continue;
    (*outputs)[i].shape = *std::move(merged);
    (*outputs)[i].value = results[i];
  }
}

}  // namespace

Status GraphState::InferUpTo(NodeId end) {
  while (static_cast<NodeId>(inferred.size()) < end) {
    const Node* node = graph.node(static_cast<NodeId>(inferred.size()));
    inferred.emplace_back();
    if (node == nullptr) continue;
    std::vector<InferredTensor> inputs;
    for (Endpoint input : node->inputs) {
      // The back edge of a loop is not known yet.
      inputs.push_back(input.node < static_cast<NodeId>(inferred.size()) - 1 ? Inferred(input) : InferredTensor());
    }
    std::vector<InferredTensor> outputs;
    WEIR_RETURN_IF_ERROR(InferNode(graph, *node, inputs, &outputs));
    outputs.resize(node->num_outputs());
    FoldConstants(*node, inputs, &outputs);
    inferred.back() = std::move(outputs);
  }
  return OkStatus();
}

std::string GraphState::UniqueName(const std::string& name, bool mark) {
  const std::string key = absl::AsciiStrToLower(name);
  auto found = used_names.find(key);
  if (found == used_names.end()) {
    if (mark) used_names[key] = 1;
    if (graph.Find(name) == nullptr) return name;
    if (!mark) return Cat(name, "_1");
    found = used_names.find(key);  // gradients add nodes whose names are not noted
  }
  int suffix = found->second;
  std::string unique;
  do {
    unique = Cat(name, "_", suffix++);
  } while (used_names.contains(absl::AsciiStrToLower(unique)) || graph.Find(unique) != nullptr);
  if (mark) {
    found->second = suffix;
    used_names[absl::AsciiStrToLower(unique)] = 1;
  }
  return unique;
}

namespace {
bool IsNodeName(std::string_view name) {
  const auto is_plain = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.'; };
  return !name.empty() && is_plain(name[0]) && std::ranges::all_of(name, [&](char c) {
    return is_plain(c) || c == '_' || c == '\\' || c == '/' || c == '>' || c == '-';
  });
}

// True for collectives that find each other by a name, in whatever order processes come to them. Not being ordered, the
// exchange of one gradient can begin while others are still being computed.
bool MeetsByName(const OpSchema& schema) {
  return schema.is_distributed_communication && schema.FindAttr("tensor_name") != nullptr;
}
}  // namespace

StatusOr<Node*> GraphState::Add(const OpSchema& schema, const std::string& name, std::vector<Endpoint> inputs,
                                AttrMap attrs) {
  Graph::NodeSpec spec;
  if (name.ends_with("/")) {
    spec.name = name.substr(0, name.size() - 1);  // an absolute name: a scope that was opened
  } else {
    spec.name = UniqueName(name_scope + (name.empty() ? schema.name : name));
  }
  if (!IsNodeName(spec.name) && !schema.name.starts_with("_")) {
    return InvalidArgument("`", spec.name, "` is not a valid node name. Accepted names conform to Regex /re.compile('",
                           R"(^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$)", "')/");
  }
  spec.op = schema.name;
  spec.attrs = std::move(attrs);
  for (const auto& [key, value] : attributes) {
    if (spec.attrs.Find(key) == nullptr) spec.attrs.Set(key, value);
  }
  if (auto found = gradient_types.find(schema.name); found != gradient_types.end()) {
    spec.attrs.Set("_gradient_op_type", Attribute(found->second));
  }
  spec.inputs = std::move(inputs);
  spec.device = device;
  spec.control_inputs = control_inputs;
  for (const Endpoint& input : spec.inputs) std::erase(spec.control_inputs, input.node);
  const bool is_effect = orders_effects && schema.is_stateful && schema.name != "_Arg" &&
                         schema.name != "Placeholder" && schema.name != "VarHandleOp";
  const bool is_ordered = is_effect && !MeetsByName(schema);
  if (is_ordered && last_effect != kNoNode &&
      std::ranges::find(spec.control_inputs, last_effect) == spec.control_inputs.end()) {
    spec.control_inputs.push_back(last_effect);
  }
  WEIR_RETURN_IF_ERROR(InferUpTo(graph.num_node_ids()));
  WEIR_ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
  const Status inferred_status = InferUpTo(node->id + 1);
  if (!inferred_status.ok()) {
    inferred.pop_back();
    inferred.emplace_back();
    const NodeId id = node->id;
    graph.RemoveNode(id);
    return inferred_status;
  }
  if (is_ordered) last_effect = node->id;
  has_effects = has_effects || is_effect;
  return node;
}

namespace {

thread_local std::vector<PyObject*> t_graphs;  // owned; null: eager

PyGraph* As(PyObject* self) { return reinterpret_cast<PyGraph*>(self); }

PyObject* New(PyTypeObject* type, PyObject*, PyObject*) {
  static int64_t next_serial = 0;
  PyGraph* self = reinterpret_cast<PyGraph*>(AllocateObject(type));
  if (self == nullptr) return nullptr;
  EagerRuntime& runtime = Runtime();
  self->state = new GraphState(Graph(runtime.environment()->ops, runtime.functions()));
  self->state->serial = ++next_serial;
  return reinterpret_cast<PyObject*>(self);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete As(self)->state;
  FreeObject(type, self);
  Py_DECREF(type);
}

// Arguments of methods: a node, perhaps an output.
Node* NodeOf(PyObject* self, long id) {
  Graph& graph = StateOf(self).graph;
  if (id < 0 || id >= graph.num_node_ids() || graph.node(static_cast<NodeId>(id)) == nullptr) {
    PyErr_Format(PyExc_ValueError, "the graph has no node %ld", id);
    return nullptr;
  }
  return graph.node(static_cast<NodeId>(id));
}
Node* NodeArg(PyObject* self, PyObject* arg) {
  const long id = PyLong_AsLong(arg);
  if (id == -1 && PyErr_Occurred()) return nullptr;
  return NodeOf(self, id);
}
bool EndpointArgs(PyObject* self, PyObject* args, Endpoint* out, PyObject** more = nullptr) {
  int node, index;
  if (more != nullptr ? !PyArg_ParseTuple(args, "iiO", &node, &index, more)
                      : !PyArg_ParseTuple(args, "ii", &node, &index)) {
    return false;
  }
  Node* found = NodeOf(self, node);
  if (found == nullptr) return false;
  if (index < 0 || index >= found->num_outputs()) {
    PyErr_Format(PyExc_IndexError, "operation '%s' has no output %d", found->name.c_str(), index);
    return false;
  }
  *out = {node, index};
  return true;
}

PyObject* NumNodes(PyObject* self, PyObject*) { return PyLong_FromLong(StateOf(self).graph.num_node_ids()); }
PyObject* HasNode(PyObject* self, PyObject* arg) {
  const long id = PyLong_AsLong(arg);
  return PyBool_FromLong(id >= 0 && id < StateOf(self).graph.num_node_ids() &&
                         StateOf(self).graph.node(static_cast<NodeId>(id)) != nullptr);
}
PyObject* NodeName(PyObject* self, PyObject* arg) {
  Node* node = NodeArg(self, arg);
  return node ? FromString(node->name) : nullptr;
}
PyObject* NodeOp(PyObject* self, PyObject* arg) {
  Node* node = NodeArg(self, arg);
  return node ? FromString(node->op()) : nullptr;
}
PyObject* NodeDevice(PyObject* self, PyObject* arg) {
  Node* node = NodeArg(self, arg);
  return node ? FromString(node->requested_device) : nullptr;
}
PyObject* SetNodeDevice(PyObject* self, PyObject* args) {
  int id;
  const char* device;
  if (!PyArg_ParseTuple(args, "is", &id, &device)) return nullptr;
  Node* node = NodeOf(self, id);
  if (node == nullptr) return nullptr;
  node->requested_device = device;
  Py_RETURN_NONE;
}
PyObject* NodeInputs(PyObject* self, PyObject* arg) {
  Node* node = NodeArg(self, arg);
  if (node == nullptr) return nullptr;
  Ref list = Ref::Own(PyList_New(0));
  for (Endpoint input : node->inputs) {
    Ref tensor = Ref::Own(NewSymbolic(self, input));
    if (!tensor || PyList_Append(list.get(), tensor.get()) < 0) return nullptr;
  }
  return list.release();
}
PyObject* NodeControlInputs(PyObject* self, PyObject* arg) {
  Node* node = NodeArg(self, arg);
  if (node == nullptr) return nullptr;
  Ref list = Ref::Own(PyList_New(0));
  for (NodeId input : node->control_inputs) {
    Ref id = Ref::Own(PyLong_FromLong(input));
    if (!id || PyList_Append(list.get(), id.get()) < 0) return nullptr;
  }
  return list.release();
}
PyObject* NodeNumOutputs(PyObject* self, PyObject* arg) {
  Node* node = NodeArg(self, arg);
  return node ? PyLong_FromLong(node->num_outputs()) : nullptr;
}
PyObject* NodeAttr(PyObject* self, PyObject* args) {
  int id;
  const char* name;
  if (!PyArg_ParseTuple(args, "is", &id, &name)) return nullptr;
  Node* node = NodeOf(self, id);
  if (node == nullptr) return nullptr;
  const Attribute* value = node->attrs.Find(name);
  if (value == nullptr) {
    return PyErr_Format(PyExc_ValueError, "Operation '%s' has no attr named '%s'.", node->name.c_str(), name);
  }
  return FromAttribute(*value);
}
PyObject* NodeAttrs(PyObject* self, PyObject* arg) {
  Node* node = NodeArg(self, arg);
  if (node == nullptr) return nullptr;
  Ref list = Ref::Own(PyList_New(0));
  for (const auto& [name, value] : node->attrs) {
    Ref text = Ref::Own(FromString(name));
    if (!text || PyList_Append(list.get(), text.get()) < 0) return nullptr;
  }
  return list.release();
}
PyObject* SetNodeAttr(PyObject* self, PyObject* args) {
  int id;
  const char *name, *type;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "issO", &id, &name, &type, &value)) return nullptr;
  Node* node = NodeOf(self, id);
  Attribute attribute;
  if (node == nullptr || !ToAttribute(value, type, name, node->op().c_str(), &attribute)) return nullptr;
  node->attrs.Set(name, std::move(attribute));
  Py_RETURN_NONE;
}
PyObject* AddControlInput(PyObject* self, PyObject* args) {
  int id, other;
  if (!PyArg_ParseTuple(args, "ii", &id, &other)) return nullptr;
  Node* node = NodeOf(self, id);
  if (node == nullptr || NodeOf(self, other) == nullptr) return nullptr;
  if (std::ranges::find(node->control_inputs, other) == node->control_inputs.end()) {
    node->control_inputs.push_back(other);
  }
  Py_RETURN_NONE;
}
PyObject* SetInput(PyObject* self, PyObject* args) {
  int id, index, from, output;
  if (!PyArg_ParseTuple(args, "iiii", &id, &index, &from, &output)) return nullptr;
  Node* node = NodeOf(self, id);
  Node* source = NodeOf(self, from);
  if (node == nullptr || source == nullptr) return nullptr;
  if (index < 0 || index >= static_cast<int>(node->inputs.size()) || output < 0 || output >= source->num_outputs()) {
    return PyErr_Format(PyExc_IndexError, "there is no such input or output");
  }
  node->inputs[index] = {from, output};
  Py_RETURN_NONE;
}
PyObject* FindNode(PyObject* self, PyObject* arg) {
  std::string name;
  if (!ToString(arg, &name)) return nullptr;
  Node* node = StateOf(self).graph.Find(name);
  return PyLong_FromLong(node != nullptr ? node->id : -1);
}
PyObject* TensorOf(PyObject* self, PyObject* args) {
  Endpoint endpoint;
  return EndpointArgs(self, args, &endpoint) ? NewSymbolic(self, endpoint) : nullptr;
}
PyObject* StaticValue(PyObject* self, PyObject* args) {
  Endpoint endpoint;
  if (!EndpointArgs(self, args, &endpoint)) return nullptr;
  const InferredTensor& inferred = StateOf(self).Inferred(endpoint);
  if (inferred.value.has_value()) return NewEager(inferred.value);
  Py_RETURN_NONE;
}
PyObject* ShapeValue(PyObject* self, PyObject* args) {
  Endpoint endpoint;
  if (!EndpointArgs(self, args, &endpoint)) return nullptr;
  const InferredTensor& inferred = StateOf(self).Inferred(endpoint);
  if (inferred.value_as_shape) return FromShape(*inferred.value_as_shape);
  Py_RETURN_NONE;
}
PyObject* SetShape(PyObject* self, PyObject* args) {
  Endpoint endpoint;
  PyObject* object;
  PartialShape shape;
  if (!EndpointArgs(self, args, &endpoint, &object) || !ToShape(object, &shape)) return nullptr;
  GraphState& state = StateOf(self);
  state.Inferred(endpoint);
  InferredTensor& inferred = state.inferred[endpoint.node][endpoint.index];
  StatusOr<PartialShape> merged = inferred.shape.Merge(shape);
  if (!merged.ok()) {
    return PyErr_Format(PyExc_ValueError, "Tensor's shape %s is not compatible with supplied shape %s.",
                        inferred.shape.ToString().c_str(), shape.ToString().c_str());
  }
  inferred.shape = *std::move(merged);
  Py_RETURN_NONE;
}
// A list of (dtype, shape) of what a handle refers to.
PyObject* HandleData(PyObject* self, PyObject* args) {
  Endpoint endpoint;
  if (!EndpointArgs(self, args, &endpoint)) return nullptr;
  Ref list = Ref::Own(PyList_New(0));
  for (const auto& data : StateOf(self).Inferred(endpoint).handle_data) {
    Ref dtype = Ref::Own(FromDType(data.dtype)), shape = Ref::Own(FromShape(data.shape));
    if (!dtype || !shape) return nullptr;
    Ref pair = Ref::Own(PyTuple_Pack(2, dtype.get(), shape.get()));
    if (!pair || PyList_Append(list.get(), pair.get()) < 0) return nullptr;
  }
  return list.release();
}
PyObject* SetHandleData(PyObject* self, PyObject* args) {
  Endpoint endpoint;
  PyObject* object;
  if (!EndpointArgs(self, args, &endpoint, &object)) return nullptr;
  Ref items = Ref::Own(PySequence_Fast(object, "handle data are a list of (dtype, shape)"));
  if (!items) return nullptr;
  std::vector<ResourceHandle::DTypeAndShape> data;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject *dtype, *shape;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(items.get(), i), "OO", &dtype, &shape)) return nullptr;
    data.emplace_back();
    if (!ToDType(dtype, &data.back().dtype) || !ToShape(shape, &data.back().shape)) return nullptr;
  }
  GraphState& state = StateOf(self);
  state.Inferred(endpoint);
  state.inferred[endpoint.node][endpoint.index].handle_data = std::move(data);
  Py_RETURN_NONE;
}
PyObject* UniqueName(PyObject* self, PyObject* args) {
  const char* name;
  int mark = 1;
  if (!PyArg_ParseTuple(args, "s|p", &name, &mark)) return nullptr;
  return FromString(StateOf(self).UniqueName(name, mark != 0));
}
PyObject* SetScope(PyObject* self, PyObject* arg) {
  std::string scope;
  if (!ToString(arg, &scope)) return nullptr;
  StateOf(self).name_scope = std::move(scope);
  Py_RETURN_NONE;
}
PyObject* SetGraphDevice(PyObject* self, PyObject* arg) {
  std::string device;
  if (!ToString(arg, &device)) return nullptr;
  StateOf(self).device = std::move(device);
  Py_RETURN_NONE;
}
PyObject* SetAsksDevice(PyObject* self, PyObject* arg) {
  StateOf(self).asks_device = PyObject_IsTrue(arg) == 1;
  Py_RETURN_NONE;
}
PyObject* SetControlInputs(PyObject* self, PyObject* arg) {
  Ref items = Ref::Own(PySequence_Fast(arg, "control inputs are a list of nodes"));
  if (!items) return nullptr;
  std::vector<NodeId> nodes;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    Node* node = NodeArg(self, PySequence_Fast_GET_ITEM(items.get(), i));
    if (node == nullptr) return nullptr;
    nodes.push_back(node->id);
  }
  StateOf(self).control_inputs = std::move(nodes);
  Py_RETURN_NONE;
}
// A dict of name -> (type, value) for every node that is added from now on.
PyObject* SetAttributes(PyObject* self, PyObject* arg) {
  if (!PyDict_Check(arg)) return PyErr_Format(PyExc_TypeError, "attributes are a dict");
  std::vector<std::pair<std::string, Attribute>> attributes;
  PyObject *key, *pair;
  Py_ssize_t position = 0;
  while (PyDict_Next(arg, &position, &key, &pair)) {
    std::string name;
    const char* type;
    PyObject* value;
    Attribute attribute;
    if (!ToString(key, &name) || !PyArg_ParseTuple(pair, "sO", &type, &value) ||
        !ToAttribute(value, type, name.c_str(), "every node", &attribute)) {
      return nullptr;
    }
    attributes.emplace_back(std::move(name), std::move(attribute));
  }
  StateOf(self).attributes = std::move(attributes);
  Py_RETURN_NONE;
}
// _set_gradient_types({op: gradient type}) for new nodes of these ops
PyObject* SetGradientTypes(PyObject* self, PyObject* arg) {
  if (!PyDict_Check(arg)) return PyErr_Format(PyExc_TypeError, "gradient types are a dict");
  std::map<std::string, std::string> types;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(arg, &position, &key, &value)) {
    std::string op, type;
    if (!ToString(key, &op) || !ToString(value, &type)) return nullptr;
    types.emplace(std::move(op), std::move(type));
  }
  StateOf(self).gradient_types = std::move(types);
  Py_RETURN_NONE;
}
PyObject* SetOrdersEffects(PyObject* self, PyObject* arg) {
  StateOf(self).orders_effects = PyObject_IsTrue(arg) == 1;
  Py_RETURN_NONE;
}
PyObject* SetFinalized(PyObject* self, PyObject* arg) {
  const int value = PyObject_IsTrue(arg);
  if (value < 0) return nullptr;
  StateOf(self).is_finalized = value != 0;
  Py_RETURN_NONE;
}
PyObject* HasEffects(PyObject* self, PyObject*) { return PyBool_FromLong(StateOf(self).has_effects); }
PyObject* LastEffect(PyObject* self, PyObject*) { return PyLong_FromLong(StateOf(self).last_effect); }

bool ToEndpoints(PyObject* self, PyObject* list, std::vector<Endpoint>* out) {
  Ref items = Ref::Own(PySequence_Fast(list, "expected a list of tensors"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (item == Py_None) {
      out->push_back(Endpoint());
    } else if (!IsSymbolic(item) || AsTensor(item)->graph != self) {
      PyErr_Format(PyExc_ValueError, "%R is not a tensor of this graph", item);
      return false;
    } else {
      out->push_back(AsTensor(item)->endpoint);
    }
  }
  return true;
}

// Leaves only what `outputs` are computed from, without control edges.
void KeepNeeded(std::span<const Endpoint> outputs, Graph* graph) {
  std::vector<bool> needed(graph->num_node_ids(), false);
  std::vector<NodeId> pending;
  for (const Endpoint& output : outputs) pending.push_back(output.node);
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    for (const Endpoint& input : graph->node(id)->inputs) pending.push_back(input.node);
  }
  for (NodeId id = graph->num_node_ids() - 1; id >= 0; --id) {
    if (graph->node(id) == nullptr) continue;
    if (needed[id]) {
      graph->node(id)->control_inputs.clear();
    } else {
      graph->RemoveNode(id);
    }
  }
}

// _to_function(name, inputs, outputs, only_needed=False): the graph, or what its outputs need of it, as a function of
// the eager runtime's library; its name there and whether it has effects.
PyObject* ToFunction(PyObject* self, PyObject* args) {
  const char* name;
  PyObject *inputs, *outputs;
  int only_needed = 0;
  if (!PyArg_ParseTuple(args, "sOO|p", &name, &inputs, &outputs, &only_needed)) return nullptr;
  std::vector<Endpoint> in, out;
  if (!ToEndpoints(self, inputs, &in) || !ToEndpoints(self, outputs, &out)) return nullptr;
  GraphState& state = StateOf(self);
  auto make = [&]() -> StatusOr<std::pair<std::string, bool>> {
    FunctionBody body(state.graph.Clone());
    if (only_needed) KeepNeeded(out, &body.graph);
    for (const auto& node : body.graph.nodes()) {
      if (node && node->schema->is_stateful && node->op() != "_Arg") body.control_rets.push_back(node->id);
    }
    body.is_stateful = !body.control_rets.empty();
    for (size_t i = 0; i < in.size(); ++i) {
      Node* node = body.graph.node(in[i].node);
      if (node->op() != "_Arg") return InvalidArgument("input ", i, " of function '", name, "' is no argument");
      AttrList shapes;
      shapes.shape.push_back(state.Inferred(in[i]).shape);
      node->attrs.Set("_output_shapes", Attribute(std::move(shapes)));
      body.args.push_back(node->id);
      body.types.inputs.push_back(node->output_type(0));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      AttrMap attrs;
      attrs.Set("T", BaseType(body.graph.type(out[i])));
      attrs.Set("index", static_cast<int64_t>(i));
      WEIR_ASSIGN_OR_RETURN(Node * ret, body.graph.AddNode({.op = "_Retval", .attrs = attrs, .inputs = {out[i]}}));
      body.rets.push_back(ret->id);
      body.types.outputs.push_back(BaseType(body.graph.type(out[i])));
    }
    WEIR_ASSIGN_OR_RETURN(std::string function, AddFunction(body, name, *Runtime().functions()));
    return std::pair(std::move(function), body.is_stateful);
  };
  StatusOr<std::pair<std::string, bool>> made = make();
  if (!made.ok()) return RaiseForGraph(made.status());
  return Py_BuildValue("sN", made->first.c_str(), PyBool_FromLong(made->second));
}

PyObject* FromGradient(PyObject* self, const GraphGradient& gradient) {
  if (gradient.is_none()) Py_RETURN_NONE;
  if (!gradient.is_sparse()) return NewSymbolic(self, gradient.dense);
  Ref values = Ref::Own(NewSymbolic(self, gradient.values)), indices = Ref::Own(NewSymbolic(self, gradient.indices));
  Ref shape = Ref::Borrow(Py_None);
  if (gradient.dense_shape.node != kNoNode) shape = Ref::Own(NewSymbolic(self, gradient.dense_shape));
  if (!values || !indices || !shape) return nullptr;
  return PyTuple_Pack(3, values.get(), indices.get(), shape.get());
}

// gradients(ys, xs, grad_ys, stops, zeros, scope, colocate): one gradient per x: None, a tensor, or a tuple (values,
// indices, dense_shape).
PyObject* Gradients(PyObject* self, PyObject* args) {
  PyObject *ys, *xs, *grad_ys, *stops;
  int zeros = 0, colocate = 0;
  const char* scope = "gradients";
  if (!PyArg_ParseTuple(args, "OOOO|psp", &ys, &xs, &grad_ys, &stops, &zeros, &scope, &colocate)) return nullptr;
  std::vector<Endpoint> y, x, grad_y;
  GradientOptions options;
  if (!ToEndpoints(self, ys, &y) || !ToEndpoints(self, xs, &x) || !ToEndpoints(self, grad_ys, &grad_y) ||
      !ToEndpoints(self, stops, &options.stop_gradients)) {
    return nullptr;
  }
  if (zeros) options.unconnected = GradientOptions::Unconnected::kZero;
  options.scope = scope;
  options.colocate = colocate != 0;
  if (!MayAdd(self)) return nullptr;
  GraphState& state = StateOf(self);
  const DifferentiatedGraph differentiated(self);
  StatusOr<std::vector<GraphGradient>> gradients = AddGradients(state.graph, y, x, grad_y, options);
  Status status = gradients.ok() ? state.InferUpTo(state.graph.num_node_ids()) : gradients.status();
  if (!status.ok()) {
    if (absl::IsNotFound(status)) {
      PyErr_SetString(PyExc_LookupError, std::string(status.message()).c_str());
      return nullptr;
    }
    return RaiseForGraph(status);
  }
  Ref list = Ref::Own(PyList_New(0));
  for (const GraphGradient& gradient : *gradients) {
    Ref item = Ref::Own(FromGradient(self, gradient));
    if (!item || PyList_Append(list.get(), item.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* ToGraphDef(PyObject* self, PyObject*) {
  StatusOr<std::string> bytes = ExportGraphDefBytes(StateOf(self).graph);
  if (!bytes.ok()) return Raise(bytes.status());
  return PyBytes_FromStringAndSize(bytes->data(), static_cast<Py_ssize_t>(bytes->size()));
}

// node_def(id) -> bytes of the node's NodeDef
PyObject* ToNodeDef(PyObject* self, PyObject* arg) {
  const Graph& graph = StateOf(self).graph;
  const long id = PyLong_AsLong(arg);
  if (id == -1 && PyErr_Occurred()) return nullptr;
  const Node* node = id >= 0 && id < graph.num_node_ids() ? graph.node(static_cast<NodeId>(id)) : nullptr;
  if (node == nullptr) return PyErr_Format(PyExc_ValueError, "the graph has no node %ld", id);
  NodeDef def;
  const Status status = ExportNode(graph, *node, &def);
  if (!status.ok()) return Raise(status);
  const std::string bytes = def.SerializeAsString();
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

// import_graph_def(bytes): names are taken as they are.
PyObject* ImportBytes(PyObject* self, PyObject* arg) {
  std::string bytes;
  if (!ToString(arg, &bytes) || !MayAdd(self)) return nullptr;
  GraphState& state = StateOf(self);
  const Status status = ImportGraphDefBytes(bytes, &state.graph);
  if (!status.ok()) return RaiseForGraph(status);
  // Loops and nodes in any order: shapes of all of them at once.
  StatusOr<InferredShapes> shapes = InferShapes(state.graph);
  if (!shapes.ok()) return RaiseForGraph(shapes.status());
  const size_t before = state.inferred.size();
  state.inferred.resize(state.graph.num_node_ids());
  for (size_t i = before; i < state.inferred.size(); ++i) state.inferred[i] = shapes->outputs[i];
  for (size_t i = before; i < state.inferred.size(); ++i) {
    if (const Node* node = state.graph.node(static_cast<NodeId>(i))) state.UniqueName(node->name);
  }
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"_num_nodes", NumNodes, METH_NOARGS, nullptr},
    {"_has_node", HasNode, METH_O, nullptr},
    {"_node_name", NodeName, METH_O, nullptr},
    {"_node_op", NodeOp, METH_O, nullptr},
    {"_node_device", NodeDevice, METH_O, nullptr},
    {"_set_node_device", SetNodeDevice, METH_VARARGS, nullptr},
    {"_node_inputs", NodeInputs, METH_O, nullptr},
    {"_node_control_inputs", NodeControlInputs, METH_O, nullptr},
    {"_node_num_outputs", NodeNumOutputs, METH_O, nullptr},
    {"_node_attr", NodeAttr, METH_VARARGS, nullptr},
    {"_node_attrs", NodeAttrs, METH_O, nullptr},
    {"_set_node_attr", SetNodeAttr, METH_VARARGS, nullptr},
    {"_add_control_input", AddControlInput, METH_VARARGS, nullptr},
    {"_set_input", SetInput, METH_VARARGS, nullptr},
    {"_find_node", FindNode, METH_O, nullptr},
    {"_tensor", TensorOf, METH_VARARGS, nullptr},
    {"_static_value", StaticValue, METH_VARARGS, nullptr},
    {"_shape_value", ShapeValue, METH_VARARGS, nullptr},
    {"_set_shape", SetShape, METH_VARARGS, nullptr},
    {"_handle_data", HandleData, METH_VARARGS, nullptr},
    {"_set_handle_data", SetHandleData, METH_VARARGS, nullptr},
    {"_unique_name", UniqueName, METH_VARARGS, nullptr},
    {"_set_scope", SetScope, METH_O, nullptr},
    {"_set_device", SetGraphDevice, METH_O, nullptr},
    {"_set_asks_device", SetAsksDevice, METH_O, nullptr},
    {"_set_control_inputs", SetControlInputs, METH_O, nullptr},
    {"_set_attributes", SetAttributes, METH_O, nullptr},
    {"_set_gradient_types", SetGradientTypes, METH_O, nullptr},
    {"_set_orders_effects", SetOrdersEffects, METH_O, nullptr},
    {"_set_finalized", SetFinalized, METH_O, nullptr},
    {"_has_effects", HasEffects, METH_NOARGS, nullptr},
    {"_last_effect", LastEffect, METH_NOARGS, nullptr},
    {"_to_function", ToFunction, METH_VARARGS, nullptr},
    {"_gradients", Gradients, METH_VARARGS, nullptr},
    {"_to_graph_def", ToGraphDef, METH_NOARGS, nullptr},
    {"_to_node_def", ToNodeDef, METH_O, nullptr},
    {"_import_graph_def", ImportBytes, METH_O, nullptr},
    {},
};
PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyGraph, weakrefs), READONLY, nullptr},
    {},
};
PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {0, nullptr},
};
PyType_Spec kSpec = {"weir._core.Graph", sizeof(PyGraph), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, kSlots};

}  // namespace

PyObject* CurrentGraph() { return t_graphs.empty() ? nullptr : t_graphs.back(); }

bool MayAdd(PyObject* graph) {
  if (!StateOf(graph).is_finalized) return true;
  PyErr_SetString(PyExc_RuntimeError, "Graph is finalized and cannot be modified.");
  return false;
}

PyObject* Capture(PyObject* graph, PyObject* tensor) {
  if (IsSymbolic(tensor) && AsTensor(tensor)->graph == graph) return Py_NewRef(tensor);
  static PyObject* const name = PyUnicode_InternFromString("capture");
  Ref captured = Ref::Own(PyObject_CallMethodOneArg(graph, name, tensor));
  if (!captured) return nullptr;
  if (!IsSymbolic(captured.get()) || AsTensor(captured.get())->graph != graph) {
    return PyErr_Format(PyExc_ValueError, "%R cannot be used in this graph", tensor);
  }
  return captured.release();
}

PyObject* PushGraph(PyObject*, PyObject* graph) {
  if (graph != Py_None && !PyObject_TypeCheck(graph, g_graph_type)) {
    return PyErr_Format(PyExc_TypeError, "expected a Graph or None");
  }
  t_graphs.push_back(graph == Py_None ? nullptr : Py_NewRef(graph));
  Py_RETURN_NONE;
}

PyObject* PopGraph(PyObject*, PyObject*) {
  if (t_graphs.empty()) return PyErr_Format(PyExc_RuntimeError, "no graph is current");
  PyObject* graph = t_graphs.back();
  t_graphs.pop_back();
  Py_XDECREF(graph);
  Py_RETURN_NONE;
}

PyObject* GetCurrentGraph(PyObject*, PyObject*) {
  PyObject* graph = CurrentGraph();
  return Py_NewRef(graph != nullptr ? graph : Py_None);
}

bool AddGraphType(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  if (type == nullptr) return false;
  g_graph_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Graph", type) == 0;
}

}  // namespace weir::python
