// weir._core.Server: one task of a cluster, served by this process.
#ifndef WEIR_PYTHON_SERVER_H_
#define WEIR_PYTHON_SERVER_H_

#include "python/src/python.h"

namespace weir::python {

bool AddServerType(PyObject* module);

}  // namespace weir::python

#endif  // WEIR_PYTHON_SERVER_H_
