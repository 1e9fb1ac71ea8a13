// Kernels of EagerPyFunc, PyFunc and PyFuncStateless: Python functions as operations of graphs.
#ifndef WEIR_PYTHON_PY_FUNCTION_H_
#define WEIR_PYTHON_PY_FUNCTION_H_

#include "weir/framework/kernel_registry.h"

namespace weir::python {

// A kernel takes the interpreter's lock in whatever thread it runs, so nobody may hold it while waiting for a step. The
// function is found by the op's token through the hook "call_py_function".
void RegisterPythonKernels(KernelRegistry& kernels);

}  // namespace weir::python

#endif  // WEIR_PYTHON_PY_FUNCTION_H_
