// Tensors to and from DLPack's capsules, without a copy.
#ifndef WEIR_PYTHON_SRC_DLPACK_H_
#define WEIR_PYTHON_SRC_DLPACK_H_

#include "python/src/python.h"

namespace weir::python {

PyObject* TensorToDLPack(PyObject* module, PyObject* tensor);     // _core.to_dlpack(tensor) -> capsule
PyObject* DLPackDeviceOf(PyObject* module, PyObject* tensor);     // _core.dlpack_device(tensor) -> (type, number)
PyObject* TensorFromDLPack(PyObject* module, PyObject* capsule);  // _core.from_dlpack(capsule) -> tensor

}  // namespace weir::python

#endif  // WEIR_PYTHON_SRC_DLPACK_H_
