// Call: a function of the runtime's library, ready to be called with tensors. tf.function's concrete functions have
// one.
#ifndef WEIR_PYTHON_CALL_H_
#define WEIR_PYTHON_CALL_H_

#include "python/src/python.h"

namespace weir::python {

bool AddCallType(PyObject* module);

}  // namespace weir::python

#endif  // WEIR_PYTHON_CALL_H_
