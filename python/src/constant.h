// Values between Python and tensors.
#ifndef WEIR_PYTHON_CONSTANT_H_
#define WEIR_PYTHON_CONSTANT_H_

#include "python/src/python.h"
#include "weir/tensor/tensor.h"

namespace weir::python {

enum class Converted { kYes, kError, kUnknown };

// A Python number, string, nested list of them, or an array with the buffer protocol as a tensor. `wanted` is the type
// that the result must have, or `hint` one that is preferred; kInvalid if none. kUnknown, without an error, for what
// only Python code can convert.
Converted ToTensor(PyObject* value, DType wanted, Tensor* out);

// tensor.numpy() for plain types: a new array with a copy; for others a list of Python objects.
PyObject* ToPythonList(const Tensor& tensor);  // flat, for strings
PyObject* ItemOf(const Tensor& tensor, int64_t index);

PyObject* Constant(PyObject* module,
                   PyObject* args);  // constant(value, dtype or None) -> EagerTensor or NotImplemented
PyObject* FromFlatStrings(PyObject* module, PyObject* args);
// Whether elements of this type are shown through the buffer protocol.
bool HasBufferFormat(DType dtype);
int GetBuffer(PyObject* self, Py_buffer* view, int flags);
void ReleaseBuffer(PyObject* self, Py_buffer* view);

}  // namespace weir::python

#endif  // WEIR_PYTHON_CONSTANT_H_
