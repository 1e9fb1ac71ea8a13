#include "python/src/call.h"

#include "python/src/graph.h"
#include "python/src/interrupt.h"
#include "python/src/op.h"
#include "python/src/tape.h"
#include "python/src/tensor.h"

namespace weir::python {
namespace {

struct CallState {
  const OpSchema* schema;
  AttrMap attrs;
  std::shared_ptr<const EagerRuntime::Prepared> prepared;
  std::vector<DType> types;
};
struct PyCall {
  PyObject_HEAD CallState* state;
};
PyCall* As(PyObject* self) { return reinterpret_cast<PyCall*>(self); }

bool ToTypes(PyObject* list, AttrList* out) {
  Ref items = Ref::Own(PySequence_Fast(list, "types are a list"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    out->type.emplace_back();
    if (!ToDType(PySequence_Fast_GET_ITEM(items.get(), i), &out->type.back())) return false;
  }
  return true;
}

// Call(function, is_stateful, input types, output types)
PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* name;
  int is_stateful;
  PyObject *inputs, *outputs;
  if (!PyArg_ParseTuple(args, "spOO", &name, &is_stateful, &inputs, &outputs)) return nullptr;
  AttrList in, out;
  if (!ToTypes(inputs, &in) || !ToTypes(outputs, &out)) return nullptr;
  PyCall* self = As(AllocateObject(type));
  if (self == nullptr) return nullptr;
  self->state = new CallState;
  self->state->schema = Ops().Find(is_stateful ? "StatefulPartitionedCall" : "PartitionedCall");
  self->state->types = in.type;
  FunctionAttr function;
  function.name = name;
  self->state->attrs.Set("f", Attribute(std::move(function)));
  self->state->attrs.Set("Tin", Attribute(std::move(in)));
  self->state->attrs.Set("Tout", Attribute(std::move(out)));
  return reinterpret_cast<PyObject*>(self);
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete As(self)->state;
  FreeObject(type, self);
  Py_DECREF(type);
}

// An error of a traced function in TensorFlow's words: the node where it arose, and the function that was called.
Status FromFunction(const Status& status, const CallState& state) {
  const std::string message(status.message());
  const size_t mark = message.find("{{node ");
  const size_t end = mark == std::string::npos ? mark : message.find("}}", mark);
  if (end == std::string::npos) return status;
  const std::string node = message.substr(mark + 7, end - mark - 7);
  const std::string own = Cat(" [Op:", state.schema->name, "]");
  Status named = status;
  if (message.ends_with(own)) {
    StatusOr<FunctionAttr> function = GetAttr<FunctionAttr>(state.attrs, "f");
    named = Status(status.code(), message.substr(0, message.size() - own.size()));
    status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
    named = Annotate(named, "", Cat(" [Op:", function.ok() ? function->name : state.schema->name, "]"));
  }
  return Annotate(named, Cat("Graph execution error:\n\nDetected at node ", node,
                             " defined at (most recent call last):\n<stack traces unavailable>\n"));
}

PyObject* ToList(const Tensors& tensors) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(tensors.size()));
  for (size_t i = 0; list != nullptr && i < tensors.size(); ++i) {
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Py_NewRef(tensors[i].get()));
  }
  return list;
}

// call([tensors]) -> [tensors]
PyObject* Run(PyObject* self, PyObject* arg) {
  CallState& state = *As(self)->state;
  Ref items = Ref::Own(PySequence_Fast(arg, "arguments are a list of tensors"));
  if (!items) return nullptr;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  if (static_cast<size_t>(count) != state.types.size()) {
    return PyErr_Format(PyExc_ValueError, "the function takes %zu tensors, not %zd", state.types.size(), count);
  }
  Tensors inputs, outputs;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!IsTensor(item)) return PyErr_Format(PyExc_TypeError, "argument %zd is no tensor: %R", i, item);
    inputs.push_back(Ref::Borrow(item));
  }
  if (CurrentGraph() != nullptr || IsRecorded(inputs)) {
    return Execute(*state.schema, inputs, state.attrs, nullptr, &outputs) ? ToList(outputs) : nullptr;
  }
  absl::InlinedVector<Tensor, 8> values;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTensor* tensor = AsTensor(inputs[i].get());
    if (tensor->graph != nullptr || tensor->value.dtype() != state.types[i]) {
      return Execute(*state.schema, inputs, state.attrs, nullptr, &outputs) ? ToList(outputs) : nullptr;
    }
    values.push_back(tensor->value);
  }
  EagerRuntime::Outputs results;
  Status status;
  Interruptible interruptible;
  {
    WithoutLock unlocked;
    EagerOptions options;
    options.cancellation = interruptible.cancellation();
    std::shared_ptr<const EagerRuntime::Prepared> prepared = state.prepared;
    if (prepared == nullptr) {
      auto made = Runtime().Prepare(*state.schema, state.attrs, Runtime().Place(*state.schema, values, nullptr));
      status = made.status();
      if (status.ok()) prepared = *made;
    }
    if (status.ok()) status = Runtime().RunCached(*prepared, {values.data(), values.size()}, &results, options);
    if (state.prepared == nullptr && status.ok()) {
      WithLock locked;
      state.prepared = prepared;
    }
  }
  if (!status.ok()) return interruptible.RaiseIfInterrupted() ? nullptr : Raise(FromFunction(status, state));
  for (Tensor& result : results) {
    outputs.push_back(Ref::Own(NewEager(std::move(result))));
    if (!outputs.back()) return nullptr;
  }
  return ToList(outputs);
}

PyMethodDef kMethods[] = {{"run", Run, METH_O, nullptr}, {}};
PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Spec kSpec = {"weir._core.Call", sizeof(PyCall), 0, Py_TPFLAGS_DEFAULT, kSlots};

}  // namespace

bool AddCallType(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  return type != nullptr && PyModule_AddObject(module, "Call", type) == 0;
}

}  // namespace weir::python
