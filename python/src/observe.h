// Callbacks that see every op of a thread (weir.framework.op_callbacks): for tf.debugging.enable_check_numerics.
#ifndef WEIR_PYTHON_OBSERVE_H_
#define WEIR_PYTHON_OBSERVE_H_

#include <string>

#include "python/src/op.h"

namespace weir::python {

// True if this thread's ops are shown to the hook "after_op", and none is being shown now.
bool IsObserved();
// Shows an op to the hook: after_op(op, inputs, attrs, outputs, name, graph), name and graph None of ops that ran. What
// it returns, if not None, takes the place of `outputs`. False with an error. REQUIRES: IsObserved().
bool Observe(const OpSchema& schema, const Tensors& inputs, const AttrMap& attrs, PyObject* graph,
             const std::string& name, Tensors* outputs);

PyObject* ObserveOps(PyObject* module, PyObject* enabled);  // _core.observe_ops(bool), for this thread

}  // namespace weir::python

#endif  // WEIR_PYTHON_OBSERVE_H_
