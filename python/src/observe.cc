#include "python/src/observe.h"

#include "python/src/attributes.h"
#include "python/src/tensor.h"

namespace weir::python {
namespace {

thread_local bool t_observed = false;

PyObject* TupleOf(const Tensors& tensors) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
  for (size_t i = 0; tuple != nullptr && i < tensors.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), Py_NewRef(tensors[i].get()));
  }
  return tuple;
}

// {name: value} of the attributes that the op declares.
PyObject* DictOf(const OpSchema& schema, const AttrMap& attrs) {
  Ref dict = Ref::Own(PyDict_New());
  if (!dict) return nullptr;
  for (const AttrSchema& attr : schema.attrs) {
    const Attribute* found = attrs.Find(attr.name);
    if (found == nullptr) continue;
    Ref value = Ref::Own(FromAttribute(*found));
    if (!value || PyDict_SetItemString(dict.get(), attr.name.c_str(), value.get()) < 0) return nullptr;
  }
  return dict.release();
}

}  // namespace

bool IsObserved() { return t_observed; }

bool Observe(const OpSchema& schema, const Tensors& inputs, const AttrMap& attrs, PyObject* graph,
             const std::string& name, Tensors* outputs) {
  PyObject* hook = Hook("after_op");
  if (hook == nullptr) return false;
  Ref in = Ref::Own(TupleOf(inputs)), out = Ref::Own(TupleOf(*outputs)), values = Ref::Own(DictOf(schema, attrs));
  Ref shown_name = graph != nullptr ? Ref::Own(FromString(name)) : Ref::Borrow(Py_None);
  if (!in || !out || !values || !shown_name) return false;
  t_observed = false;
  Ref result = Ref::Own(PyObject_CallFunction(hook, "sOOOOO", schema.name.c_str(), in.get(), values.get(), out.get(),
                                              shown_name.get(), graph != nullptr ? graph : Py_None));
  t_observed = true;
  if (!result) return false;
  if (result.get() == Py_None) return true;
  Ref items = Ref::Own(PySequence_Fast(result.get(), "a callback of ops returns a list of tensors"));
  if (!items) return false;
  Tensors replaced;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!IsTensor(item)) return PyErr_Format(PyExc_TypeError, "a callback of ops returned %R", item), false;
    replaced.push_back(Ref::Borrow(item));
  }
  if (replaced.size() == outputs->size()) *outputs = std::move(replaced);
  return true;
}

PyObject* ObserveOps(PyObject*, PyObject* enabled) {
  const int value = PyObject_IsTrue(enabled);
  if (value < 0) return nullptr;
  t_observed = value != 0;
  Py_RETURN_NONE;
}

}  // namespace weir::python
