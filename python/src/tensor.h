// tf.Tensor as Python objects: EagerTensor holds a value, SymbolicTensor an endpoint of a graph.
//
// Both have one layout, so that "is it a tensor" and "has it a value" are a comparison of type pointers. A symbolic
// tensor owns its graph; a graph does not own its tensors, so scratch graphs go as soon as the last tensor does.
// Tapes know tensors by id: an eager tensor's is a number of its own, a symbolic one's follows from graph and endpoint.
#ifndef WEIR_PYTHON_TENSOR_H_
#define WEIR_PYTHON_TENSOR_H_

#include "python/src/python.h"
#include "weir/graph/graph.h"
#include "weir/tensor/tensor.h"

namespace weir::python {

struct PyTensor {
  PyObject_HEAD Tensor value;  // eager; where it was made
  Tensor host;                 // the same in the host's memory, once somebody has read it there
  PyObject* graph;             // symbolic; null if eager
  Endpoint endpoint;
  int64_t id;
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* g_tensor_type;  // tf.Tensor, base of both
extern PyTypeObject* g_eager_type;
extern PyTypeObject* g_symbolic_type;

inline bool IsEager(PyObject* object) { return Py_TYPE(object) == g_eager_type; }
inline bool IsSymbolic(PyObject* object) { return Py_TYPE(object) == g_symbolic_type; }
inline bool IsTensor(PyObject* object) { return IsEager(object) || IsSymbolic(object); }
inline PyTensor* AsTensor(PyObject* object) { return reinterpret_cast<PyTensor*>(object); }

// New references; null with an error.
PyObject* NewEager(Tensor value);
// The same for a constant, which is made where operations of this thread run.
PyObject* NewConstant(Tensor value);
// The value of an eager tensor in the host's memory, as long as the tensor lives; waits for a device to compute it.
// Null with an error.
const Tensor* HostValue(PyObject* tensor);
// _core.signature(tuple): types and shapes as bytes if all of them are eager tensors, else None.
PyObject* SignatureOf(PyObject* module, PyObject* tensors);
PyObject* NewSymbolic(PyObject* graph, Endpoint endpoint);

DType DTypeOf(const PyTensor* tensor);
PartialShape ShapeOf(const PyTensor* tensor);

// DType objects of weir.framework.dtypes, and TensorShapes.
PyObject* FromDType(DType dtype);                   // new reference
bool ToDType(PyObject* object, DType* out);         // accepts what tf.as_dtype does
PyObject* FromShape(const PartialShape& shape);     // a TensorShape
PyObject* DimsTuple(const PartialShape& shape);     // a tuple with None, or None
bool ToShape(PyObject* object, PartialShape* out);  // what tf.TensorShape takes

bool AddTensorTypes(PyObject* module);

}  // namespace weir::python

#endif  // WEIR_PYTHON_TENSOR_H_
