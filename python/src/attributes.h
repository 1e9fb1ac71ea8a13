// Attributes between Python and C++.
#ifndef WEIR_PYTHON_ATTRIBUTES_H_
#define WEIR_PYTHON_ATTRIBUTES_H_

#include "python/src/python.h"
#include "weir/framework/op_schema.h"

namespace weir::python {

// A Python value as an attribute of type `type` ("int", "list(shape)", ...). False with an error that names `attr` and
// `op`.
bool ToAttribute(PyObject* value, const std::string& type, const char* attr, const char* op, Attribute* out);
// New reference; null with an error. Strings are bytes, as TensorFlow's op.get_attr gives them.
PyObject* FromAttribute(const Attribute& attribute);

}  // namespace weir::python

#endif  // WEIR_PYTHON_ATTRIBUTES_H_
