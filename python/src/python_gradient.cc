#include "python/src/python_gradient.h"

#include "python/src/graph.h"
#include "python/src/tensor.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/client/gradients.h"

namespace weir::python {
namespace {

thread_local PyObject* t_graph = nullptr;

PyObject* ToPython(PyObject* graph, GraphEmitter& emitter, const GradientValue& gradient) {
  if (gradient.is_none()) Py_RETURN_NONE;
  if (!gradient.is_sparse()) return NewSymbolic(graph, emitter.ToEndpoint(gradient.dense));
  PyObject* make = Hook("make_indexed_slices");
  if (make == nullptr) return nullptr;
  Ref values = Ref::Own(NewSymbolic(graph, emitter.ToEndpoint(gradient.values)));
  Ref indices = Ref::Own(NewSymbolic(graph, emitter.ToEndpoint(gradient.indices)));
  Ref shape = Ref::Borrow(Py_None);
  if (gradient.dense_shape) shape = Ref::Own(NewSymbolic(graph, emitter.ToEndpoint(gradient.dense_shape)));
  if (!values || !indices || !shape) return nullptr;
  return PyObject_CallFunctionObjArgs(make, values.get(), indices.get(), shape.get(), nullptr);
}

bool ToValue(PyObject* graph, GraphEmitter& emitter, PyObject* object, Value* out) {
  if (!IsTensor(object) || AsTensor(object)->graph != graph) {
    PyErr_SetString(PyExc_ValueError, "A gradient function returned a tensor that is not in the graph");
    return false;
  }
  *out = emitter.At(AsTensor(object)->endpoint);
  return true;
}

bool FromPython(PyObject* graph, GraphEmitter& emitter, PyObject* object, GradientValue* out) {
  if (object == Py_None) return true;
  if (IsTensor(object)) return ToValue(graph, emitter, object, &out->dense);
  PyObject* split = Hook("split_gradient");  // (tensor,) or (values, indices, dense_shape or None)
  if (split == nullptr) return false;
  Ref parts = Ref::Own(PyObject_CallOneArg(split, object));
  if (!parts) return false;
  if (PyTuple_GET_SIZE(parts.get()) == 1) {
    return ToValue(graph, emitter, PyTuple_GET_ITEM(parts.get(), 0), &out->dense);
  }
  PyObject* shape = PyTuple_GET_ITEM(parts.get(), 2);
  return ToValue(graph, emitter, PyTuple_GET_ITEM(parts.get(), 0), &out->values) &&
         ToValue(graph, emitter, PyTuple_GET_ITEM(parts.get(), 1), &out->indices) &&
         (shape == Py_None || ToValue(graph, emitter, shape, &out->dense_shape));
}

// The hook gets the node's outputs and what flows into them, and gives a list with one gradient per input.
bool CallHook(GradientContext& context, GraphEmitter& emitter, PyObject* graph, Gradients* results) {
  PyObject* hook = Hook("python_gradient");
  if (hook == nullptr) return false;
  Ref outputs = Ref::Own(PyList_New(0)), grads = Ref::Own(PyList_New(0));
  if (!outputs || !grads) return false;
  for (int i = 0; i < context.num_outputs(); ++i) {
    Ref output = Ref::Own(NewSymbolic(graph, emitter.ToEndpoint(context.output(i))));
    Ref grad = Ref::Own(ToPython(graph, emitter, context.raw_grad(i)));
    if (!output || !grad || PyList_Append(outputs.get(), output.get()) < 0 ||
        PyList_Append(grads.get(), grad.get()) < 0) {
      return false;
    }
  }
  Ref found = Ref::Own(PyObject_CallFunctionObjArgs(hook, graph, outputs.get(), grads.get(), nullptr));
  if (!found) return false;
  Ref items = Ref::Own(PySequence_Fast(found.get(), "a gradient function returns a list"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    if (!FromPython(graph, emitter, PySequence_Fast_GET_ITEM(items.get(), i), &results->emplace_back())) return false;
  }
  return true;
}

Gradients PythonGradient(GradientContext& context) {
  auto* emitter = dynamic_cast<GraphEmitter*>(&context.emitter());
  if (emitter == nullptr || t_graph == nullptr || &emitter->graph() != &StateOf(t_graph).graph) {
    context.Fail(Unimplemented("The gradient of ", context.op(),
                               " is a Python function, which cannot be called inside the body of another function"));
    return {};
  }
  Gradients results;
  if (!CallHook(context, *emitter, t_graph, &results)) context.Fail(TakeException());
  return results;
}

}  // namespace

DifferentiatedGraph::DifferentiatedGraph(PyObject* graph) : before_(t_graph) { t_graph = graph; }
DifferentiatedGraph::~DifferentiatedGraph() { t_graph = before_; }

PyObject* RegisterPythonGradient(PyObject*, PyObject* name) {
  std::string key;
  if (!ToString(name, &key)) return nullptr;
  if (BuiltinGradients().KindOf(key) == GradientRegistry::Kind::kUnknown) BuiltinGradients().Add(key, PythonGradient);
  Py_RETURN_NONE;
}

}  // namespace weir::python
