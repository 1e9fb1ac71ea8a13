// Names in a checkpoint; tensors are read and written by RestoreV2 and SaveV2.
#ifndef WEIR_PYTHON_CHECKPOINT_H_
#define WEIR_PYTHON_CHECKPOINT_H_

#include "python/src/python.h"

namespace weir::python {

// list_checkpoint(prefix): [(name, dtype, shape)]
PyObject* ListCheckpoint(PyObject* module, PyObject* prefix);

}  // namespace weir::python

#endif  // WEIR_PYTHON_CHECKPOINT_H_
