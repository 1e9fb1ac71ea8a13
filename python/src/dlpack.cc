#include "python/src/dlpack.h"

#include "python/src/op.h"
#include "python/src/tensor.h"
#include "weir/client/gpu_devices.h"
#include "weir/tensor/dlpack.h"

namespace weir::python {
namespace {

constexpr char kName[] = "dltensor";
constexpr char kUsedName[] = "used_dltensor";

// A capsule that nobody took over still owns its tensor.
void FreeCapsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) return;
  auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

PyObject* TensorToDLPack(PyObject*, PyObject* object) {
  if (!IsEager(object))
    return PyErr_Format(PyExc_TypeError, "The argument to `to_dlpack` must be a TF tensor, not Python object");
  const Tensor value = AsTensor(object)->value;
  StatusOr<dlpack::ManagedTensor*> managed = Internal("not made");
  {
    WithoutLock unlocked;
    managed = value.in_host_memory() ? ToDLPack(value) : GpuToDLPack(value, Runtime().Home(value));
  }
  if (!managed.ok()) return Raise(managed.status());
  PyObject* capsule = PyCapsule_New(*managed, kName, FreeCapsule);
  if (capsule == nullptr) (*managed)->deleter(*managed);
  return capsule;
}

PyObject* DLPackDeviceOf(PyObject*, PyObject* object) {
  if (!IsEager(object)) return PyErr_Format(PyExc_TypeError, "expected an eager tensor");
  const Tensor& value = AsTensor(object)->value;
  const int card = value.in_host_memory() ? -1 : GpuCardOf(Runtime().Home(value));
  return card < 0 ? Py_BuildValue("ii", dlpack::kCpu, 0) : Py_BuildValue("ii", dlpack::kCuda, card);
}

PyObject* TensorFromDLPack(PyObject*, PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) {
    return PyErr_Format(PyExc_TypeError, "from_dlpack takes a capsule named \"dltensor\" that was not used before");
  }
  auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  const bool is_on_gpu = managed->array.device.device_type == dlpack::kCuda;
  StatusOr<Tensor> tensor = is_on_gpu ? GpuFromDLPack(managed, Runtime().environment()->devices) : FromDLPack(managed);
  if (!tensor.ok()) return Raise(tensor.status());
  PyCapsule_SetName(capsule, kUsedName);
  return NewEager(*std::move(tensor));
}

}  // namespace weir::python
