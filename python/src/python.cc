#include "python/src/python.h"

#include <map>

#include "weir/base/strings.h"

namespace weir::python {
namespace {

constexpr char kExceptionUrl[] = "weir.python/exception";

std::map<std::string, PyObject*>& Hooks() {
  static auto* const hooks = new std::map<std::string, PyObject*>;
  return *hooks;
}

// Exceptions that wait for the Raise of their status, by the number in its payload.
std::map<int64_t, PyObject*>& Pending() {
  static auto* const pending = new std::map<int64_t, PyObject*>;
  return *pending;
}

bool RaisePending(const Status& status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kExceptionUrl);
  if (!payload) return false;
  auto found = Pending().find(std::stoll(std::string(*payload)));
  if (found == Pending().end()) return false;
  PyObject* exception = found->second;
  Pending().erase(found);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  return true;
}

}  // namespace

PyObject* Hook(const char* name) {
  auto found = Hooks().find(name);
  if (found != Hooks().end()) return found->second;
  PyErr_Format(PyExc_RuntimeError, "weir._core was not given '%s'", name);
  return nullptr;
}

PyObject* SetHook(PyObject*, PyObject* args) {
  const char* name;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "sO", &name, &value)) return nullptr;
  Ref before = Ref::Own(std::exchange(Hooks()[name], Py_NewRef(value)));
  Py_RETURN_NONE;
}

PyObject* Raise(const Status& status) {
  if (RaisePending(status)) return nullptr;
  PyObject* make = Hook("make_error");
  if (make == nullptr) return nullptr;
  Ref message = Ref::Own(FromString(std::string(status.message())));
  Ref error = Ref::Own(PyObject_CallFunction(make, "iO", static_cast<int>(status.code()), message.get()));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

PyObject* RaiseForGraph(const Status& status) {
  if (RaisePending(status)) return nullptr;
  if (!absl::IsInvalidArgument(status) && !absl::IsNotFound(status)) return Raise(status);
  Ref message = Ref::Own(FromString(std::string(status.message())));
  if (message) PyErr_SetObject(PyExc_ValueError, message.get());
  return nullptr;
}

Status TakeException() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value == nullptr) return Internal("a Python callback failed without an exception");
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Ref text = Ref::Own(PyObject_Str(value));
  std::string message;
  if (!text || !ToString(text.get(), &message)) PyErr_Clear();
  const std::string class_name = TypeName(reinterpret_cast<PyTypeObject*>(type));
  if (PyErr_GivenExceptionMatches(type, PyExc_StopIteration)) {  // an end, by which the kernels around know it
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return absl::OutOfRangeError(Cat(class_name, ": ", message));
  }
  static int64_t next = 0;
  const int64_t number = ++next;
  Pending()[number] = value;
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  if (Pending().size() > 64) {  // statuses that nobody raised
    Py_DECREF(Pending().begin()->second);
    Pending().erase(Pending().begin());
  }
  Status status = absl::UnknownError(Cat(class_name, ": ", message));
  status.SetPayload(kExceptionUrl, absl::Cord(std::to_string(number)));
  return status;
}

std::string TypeName(PyTypeObject* type) {
#ifdef Py_LIMITED_API
  Ref name = Ref::Own(PyType_GetName(type));
  std::string text;
  if (!name || !ToString(name.get(), &text)) PyErr_Clear();
  return text;
#else
  return type->tp_name;
#endif
}

bool ToString(PyObject* object, std::string* out) {
  if (PyBytes_Check(object)) {
    out->assign(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object));
    return true;
  }
  if (PyUnicode_Check(object)) {
    Py_ssize_t size;
    const char* data = PyUnicode_AsUTF8AndSize(object, &size);
    if (data == nullptr) {
      // Surrogates: what os.fsdecode made of bytes.
      PyErr_Clear();
      Ref bytes = Ref::Own(PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape"));
      if (!bytes) return false;
      out->assign(PyBytes_AS_STRING(bytes.get()), PyBytes_GET_SIZE(bytes.get()));
      return true;
    }
    out->assign(data, size);
    return true;
  }
  PyErr_Format(PyExc_TypeError, "expected bytes or str, got %.100s", TypeName(Py_TYPE(object)).c_str());
  return false;
}

}  // namespace weir::python
