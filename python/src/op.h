// Op: an operation of the tables as a Python callable; tf.raw_ops.X are these objects.
//
// A call binds its arguments to the op's inputs and attributes, converts inputs that are no tensors, infers the
// attributes that follow from the inputs, and then adds a node to the current graph or runs the kernel. A kernel is
// looked up once for each signature (types, lengths of lists, plain attributes, device) and kept by the Op, so a call
// that was made before takes no lock and builds no attribute.
#ifndef WEIR_PYTHON_OP_H_
#define WEIR_PYTHON_OP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "python/src/python.h"
#include "weir/runtime/eager_runtime.h"

namespace weir::python {

using Tensors = absl::InlinedVector<Ref, 4>;

// What ops run on: made at the first op, so that importing starts no thread.
EagerRuntime& Runtime();
const OpRegistry& Ops();

// Runs an op whose attributes are complete, or adds it to the current graph, and records it on the thread's tapes.
// False with an error.
bool Execute(const OpSchema& schema, const Tensors& inputs, const AttrMap& attrs, const char* name, Tensors* outputs);

// What this thread's operations were asked to run on; null: where they go by themselves.
Device* CurrentDevice();
void SetCurrentDevice(Device* device);

// The Op object of a schema; new reference.
PyObject* FindOp(const std::string& name);

bool AddOpType(PyObject* module);
PyObject* GetOp(PyObject* module, PyObject* name);           // _core.op(name)
PyObject* OpNames(PyObject* module, PyObject*);              // _core.op_names()
PyObject* ExecuteOp(PyObject* module, PyObject* args);       // _core.execute(op, inputs, attrs, name)
PyObject* ForgetSeeded(PyObject* module, PyObject*);         // _core.forget_seeded(): random ops start anew
PyObject* RemoveFunction(PyObject* module, PyObject* args);  // _core.remove_function(name, set of names that stay)
PyObject* HandleDataOf(PyObject* module, PyObject* tensor);

}  // namespace weir::python

#endif  // WEIR_PYTHON_OP_H_
