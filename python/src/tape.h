// Tape: the operations that depend on watched tensors, in order, so that they can be differentiated.
//
// It works on Python tensors, eager and symbolic alike: what gradient functions emit is executed like any other op, so
// it runs, or is added to the function that is being traced, and other tapes record it.
#ifndef WEIR_PYTHON_TAPE_H_
#define WEIR_PYTHON_TAPE_H_

#include <functional>

#include "python/src/op.h"
#include "weir/autodiff/gradient_registry.h"

namespace weir::python {

// True if this thread has tapes at all.
bool AnyTape();
// True if a tape of this thread records what is computed from these.
bool IsRecorded(const Tensors& inputs);
int CountRecording(const Tensors& inputs);

// Puts an operation onto the tapes of this thread that watch one of its inputs. `gradient` is of this one alone; empty:
// the op's own.
void Record(const OpSchema& schema, std::shared_ptr<const AttrMap> attrs, const Tensors& inputs, const Tensors& outputs,
            GradientFunction gradient = nullptr);

// Runs a call of a function that `watching` tapes record: another function, which also gives what gradients need.
bool CallOnTape(const OpSchema& schema, const Tensors& inputs, const AttrMap& attrs, int watching, Tensors* outputs);

bool AddTapeType(PyObject* module);
PyObject* VariableAccessed(PyObject* module, PyObject* handle);
PyObject* RecordCustom(PyObject* module, PyObject* args);  // record(outputs, inputs, backward)
PyObject* ShouldRecord(PyObject* module, PyObject* tensors);
PyObject* PauseTapes(PyObject* module, PyObject*);
PyObject* ResumeTapes(PyObject* module, PyObject*);

}  // namespace weir::python

#endif  // WEIR_PYTHON_TAPE_H_
