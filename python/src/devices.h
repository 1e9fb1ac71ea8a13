// The devices of the process as Python sees them: which there are, how GPUs are used, where tensors are.
#ifndef WEIR_PYTHON_DEVICES_H_
#define WEIR_PYTHON_DEVICES_H_

#include "python/src/python.h"
#include "weir/tensor/tensor.h"

namespace weir::python {

// A constant where this thread's operations will want it.
StatusOr<Tensor> ToCurrentDevice(Tensor constant);

PyObject* SetDevice(PyObject* module, PyObject* name);           // _core.set_device(name or None) -> before
PyObject* ListDevices(PyObject* module, PyObject*);              // _core.list_devices() -> names; starts the GPUs
PyObject* DevicesStarted(PyObject* module, PyObject*);           // _core.devices_started()
PyObject* GpuCards(PyObject* module, PyObject*);                 // _core.gpu_cards() -> [(name, major, minor)]
PyObject* ConfigureGpus(PyObject* module, PyObject* bytes);      // _core.configure_gpus(bytes of a ConfigProto)
PyObject* DeviceOf(PyObject* module, PyObject* tensor);          // _core.device_of(tensor) -> name
PyObject* MemoryInfo(PyObject* module, PyObject* device);        // _core.memory_info(device) -> (current, peak) or None
PyObject* ResetMemoryStats(PyObject* module, PyObject* device);  // _core.reset_memory_stats(device) -> bool
PyObject* SetPolicy(PyObject* module, PyObject* args);           // _core.set_policy(name, bool)
PyObject* CudaBuild(PyObject* module, PyObject*);                // _core.cuda_build() -> bool

}  // namespace weir::python

#endif  // WEIR_PYTHON_DEVICES_H_
