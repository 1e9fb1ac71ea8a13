// What the extension uses of CPython beyond its stable ABI, for builds with Py_LIMITED_API: functions under the names
// of the macros that read objects in place. Include instead of <Python.h>.
#ifndef WEIR_PYTHON_STABLE_ABI_H_
#define WEIR_PYTHON_STABLE_ABI_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <string>

#ifdef Py_LIMITED_API
// They check what the macros trust, and an error can only be an error of this extension.
inline Py_ssize_t PyTuple_GET_SIZE(PyObject* tuple) { return PyTuple_Size(tuple); }
inline PyObject* PyTuple_GET_ITEM(PyObject* tuple, Py_ssize_t i) { return PyTuple_GetItem(tuple, i); }
inline void PyTuple_SET_ITEM(PyObject* tuple, Py_ssize_t i, PyObject* item) { PyTuple_SetItem(tuple, i, item); }
inline Py_ssize_t PyList_GET_SIZE(PyObject* list) { return PyList_Size(list); }
inline PyObject* PyList_GET_ITEM(PyObject* list, Py_ssize_t i) { return PyList_GetItem(list, i); }
inline void PyList_SET_ITEM(PyObject* list, Py_ssize_t i, PyObject* item) { PyList_SetItem(list, i, item); }
inline double PyFloat_AS_DOUBLE(PyObject* number) { return PyFloat_AsDouble(number); }
inline Py_ssize_t PyBytes_GET_SIZE(PyObject* bytes) { return PyBytes_Size(bytes); }
inline char* PyBytes_AS_STRING(PyObject* bytes) { return PyBytes_AsString(bytes); }
inline PyObject* PyObject_CallOneArg(PyObject* function, PyObject* argument) {
  return PyObject_CallFunctionObjArgs(function, argument, nullptr);
}
inline PyObject* PyObject_CallMethodOneArg(PyObject* object, PyObject* name, PyObject* argument) {
  return PyObject_CallMethodObjArgs(object, name, argument, nullptr);
}
#if Py_LIMITED_API < 0x030d0000
inline const char* PyUnicode_AsUTF8(PyObject* text) { return PyUnicode_AsUTF8AndSize(text, nullptr); }
#endif
#endif

namespace weir::python {

// A new object of a heap type, and the end of one.
inline PyObject* AllocateObject(PyTypeObject* type) {
#ifdef Py_LIMITED_API
  return reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
#else
  return type->tp_alloc(type, 0);
#endif
}
inline void FreeObject(PyTypeObject* type, PyObject* object) {
#ifdef Py_LIMITED_API
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
#else
  type->tp_free(object);
#endif
}

// The name of a type, for messages.
std::string TypeName(PyTypeObject* type);

}  // namespace weir::python

#endif  // WEIR_PYTHON_STABLE_ABI_H_
