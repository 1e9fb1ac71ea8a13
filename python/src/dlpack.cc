#include "python/src/dlpack.h"

#include "python/src/tensor.h"
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
  StatusOr<dlpack::ManagedTensor*> managed = ToDLPack(AsTensor(object)->value);
  if (!managed.ok()) return Raise(managed.status());
  PyObject* capsule = PyCapsule_New(*managed, kName, FreeCapsule);
  if (capsule == nullptr) (*managed)->deleter(*managed);
  return capsule;
}

PyObject* TensorFromDLPack(PyObject*, PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) {
    return PyErr_Format(PyExc_TypeError, "from_dlpack takes a capsule named \"dltensor\" that was not used before");
  }
  auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  StatusOr<Tensor> tensor = FromDLPack(managed);
  if (!tensor.ok()) return Raise(tensor.status());
  PyCapsule_SetName(capsule, kUsedName);
  return NewEager(*std::move(tensor));
}

}  // namespace weir::python
