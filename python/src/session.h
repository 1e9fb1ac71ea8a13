// Sessions for compat.v1: in process, or of a server (a target "grpc://host:port").
#ifndef WEIR_PYTHON_SESSION_H_
#define WEIR_PYTHON_SESSION_H_

#include "python/src/python.h"

namespace weir::python {

bool AddSessionType(PyObject* module);

}  // namespace weir::python

#endif  // WEIR_PYTHON_SESSION_H_
