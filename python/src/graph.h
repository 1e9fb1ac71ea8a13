// A graph as a Python object: the base class of tf.Graph.
//
// It holds the C++ graph, what is known of each tensor (shape, constant value, handle data), and the settings that
// operations are created under: name scope, control inputs, device. Python code keeps those settings up to date; op.cc
// reads them.
#ifndef WEIR_PYTHON_GRAPH_H_
#define WEIR_PYTHON_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "python/src/python.h"
#include "weir/framework/shape_context.h"
#include "weir/graph/graph.h"

namespace weir::python {

struct GraphState {
  explicit GraphState(Graph g) : graph(std::move(g)) {}
  Graph graph;
  std::vector<std::vector<InferredTensor>> inferred;  // by node id
  std::string name_scope;                             // "" or "a/b/"
  std::string device;
  bool asks_device = false;  // functions of tf.device: graph._place(id) chooses the device of every new node
  std::vector<NodeId> control_inputs;
  std::vector<std::pair<std::string, Attribute>> attributes;  // of every new node: attr_scope, colocation
  std::map<std::string, std::string> gradient_types;          // _gradient_op_type of new nodes, by op
  bool orders_effects = false;  // stateful operations run in the order in which they were added
  NodeId last_effect = kNoNode;
  bool has_effects = false;
  bool is_finalized = false;              // nothing may be added any more
  std::map<std::string, int> used_names;  // in lower case, with the next suffix
  int64_t serial = 0;
  // The objects that stand for tensors and are alive, not owned: `op.outputs[0] is tensor`.
  absl::flat_hash_map<int64_t, PyObject*> tensors;

  // What is known of a tensor, inferred now if passes have added it.
  const InferredTensor& Inferred(Endpoint endpoint);
  Status InferUpTo(NodeId end);
  std::string UniqueName(const std::string& name, bool mark = true);
  // Under the settings above. `name` is without the scope; empty: the op's.
  StatusOr<Node*> Add(const OpSchema& schema, const std::string& name, std::vector<Endpoint> inputs, AttrMap attrs);
};

struct PyGraph {
  PyObject_HEAD GraphState* state;
  PyObject* weakrefs;
};

extern PyTypeObject* g_graph_type;
inline GraphState& StateOf(PyObject* graph) { return *reinterpret_cast<PyGraph*>(graph)->state; }
// False, with an exception set, after graph.finalize().
bool MayAdd(PyObject* graph);

// The graph that operations of this thread are added to; null if they run. Borrowed.
PyObject* CurrentGraph();
// `tensor` as a tensor of `graph`: itself, or what graph.capture(tensor) gives. New reference.
PyObject* Capture(PyObject* graph, PyObject* tensor);

bool AddGraphType(PyObject* module);
PyObject* PushGraph(PyObject* module, PyObject* graph);
PyObject* PopGraph(PyObject* module, PyObject*);
PyObject* GetCurrentGraph(PyObject* module, PyObject*);

}  // namespace weir::python

#endif  // WEIR_PYTHON_GRAPH_H_
