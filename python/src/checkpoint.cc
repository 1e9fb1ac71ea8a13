#include "python/src/checkpoint.h"

#include "python/src/tensor.h"
#include "weir/io/checkpoint_reader.h"

namespace weir::python {

PyObject* ListCheckpoint(PyObject*, PyObject* arg) {
  std::string prefix;
  if (!ToString(arg, &prefix)) return nullptr;
  StatusOr<std::unique_ptr<CheckpointReader>> reader = Internal("not opened");
  {
    WithoutLock unlocked;
    reader = CheckpointReader::Open(prefix);
  }
  if (!reader.ok()) return Raise(reader.status());
  Ref list = Ref::Own(PyList_New(0));
  for (const auto& [name, tensor] : (*reader)->tensors()) {
    Ref text = Ref::Own(FromString(name)), dtype = Ref::Own(FromDType(tensor.dtype));
    Ref shape = Ref::Own(FromShape(PartialShape(tensor.shape)));
    if (!text || !dtype || !shape) return nullptr;
    Ref row = Ref::Own(PyTuple_Pack(3, text.get(), dtype.get(), shape.get()));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

}  // namespace weir::python
