// Wire formats for Python: the descriptions of the messages, functions of the library as bytes, servers.
#ifndef WEIR_PYTHON_PROTOS_H_
#define WEIR_PYTHON_PROTOS_H_

#include "python/src/python.h"

namespace weir::python {

// proto_files() -> bytes of a FileDescriptorSet: all of weir/proto that Python uses, and what it imports first.
PyObject* ProtoFiles(PyObject* module, PyObject*);
// function_library([names]) -> bytes of a FunctionDefLibrary: these functions and all that they call.
PyObject* ExportFunctions(PyObject* module, PyObject* names);
// add_function_library(bytes): the functions can be called from now on.
PyObject* AddFunctions(PyObject* module, PyObject* bytes);

}  // namespace weir::python

#endif  // WEIR_PYTHON_PROTOS_H_
