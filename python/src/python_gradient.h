// Gradients that are Python functions: tf.RegisterGradient, gradient_override_map and tf.custom_gradient in graphs.
#ifndef WEIR_PYTHON_PYTHON_GRADIENT_H_
#define WEIR_PYTHON_PYTHON_GRADIENT_H_

#include "python/src/python.h"

namespace weir::python {

// The graph that `_gradients` adds to in this thread, while it does so.
class DifferentiatedGraph {
 public:
  explicit DifferentiatedGraph(PyObject* graph);
  ~DifferentiatedGraph();
  DifferentiatedGraph(const DifferentiatedGraph&) = delete;
  DifferentiatedGraph& operator=(const DifferentiatedGraph&) = delete;

 private:
  PyObject* before_;
};

// _core.register_gradient(name): the hook "python_gradient" computes the gradients of nodes with this gradient type.
PyObject* RegisterPythonGradient(PyObject* module, PyObject* name);

}  // namespace weir::python

#endif  // WEIR_PYTHON_PYTHON_GRADIENT_H_
