#include "python/src/devices.h"

#include "python/src/op.h"
#include "python/src/tensor.h"
#include "weir/client/environment.h"
#include "weir/proto/config.pb.h"
#include "weir/tensor/resource_handle.h"

namespace weir::python {
namespace {

// The device of a full or partial name; an error is raised, and null returned.
Device* Find(PyObject* name) {
  std::string text;
  if (!ToString(name, &text)) return nullptr;
  StatusOr<Device*> device = NotFound("");
  {
    WithoutLock unlocked;  // may start the GPUs
    device = Runtime().FindDevice(text);
  }
  if (!device.ok()) return Raise(InvalidArgument(device.status().message())), nullptr;
  return *device;
}

}  // namespace

StatusOr<Tensor> ToCurrentDevice(Tensor constant) {
  EagerRuntime& runtime = Runtime();
  Device* const asked = CurrentDevice();
  if (asked == nullptr && EagerRuntime::StaysOnHost(constant)) return constant;
  Device& device = asked != nullptr ? *asked : *runtime.default_device();
  if (device.is_host() || EagerRuntime::IsForHost(constant.dtype())) return constant;
  return runtime.ToDevice(constant, device);
}

PyObject* SetDevice(PyObject*, PyObject* arg) {
  Device* const last = CurrentDevice();
  Ref before = last != nullptr ? Ref::Own(FromString(last->name())) : Ref::Borrow(Py_None);
  std::string name;
  if (arg != Py_None && !ToString(arg, &name)) return nullptr;
  StatusOr<DeviceName> parsed = DeviceName::Parse(name);
  if (parsed.ok() && parsed->type.empty()) {
    SetCurrentDevice(nullptr);
    return before.release();
  }
  Device* device = Find(arg);
  if (device == nullptr) return nullptr;
  SetCurrentDevice(device == Runtime().default_device() && device->is_host() ? nullptr : device);
  return before.release();
}

PyObject* ListDevices(PyObject*, PyObject*) {
  Ref list = Ref::Own(PyList_New(0));
  EagerRuntime& runtime = Runtime();
  {
    WithoutLock unlocked;
    runtime.default_device();
  }
  for (const auto& device : runtime.environment()->devices.devices()) {
    Ref name = Ref::Own(FromString(device->name()));
    if (!name || PyList_Append(list.get(), name.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* DevicesStarted(PyObject*, PyObject*) { return PyBool_FromLong(DefaultEnvironment()->devices.is_complete()); }

PyObject* GpuCards(PyObject*, PyObject*) {
  std::vector<GpuCard> cards;
  {
    WithoutLock unlocked;
    cards = ListGpuCards();
  }
  Ref list = Ref::Own(PyList_New(0));
  for (const GpuCard& card : cards) {
    Ref row = Ref::Own(Py_BuildValue("sii", card.name.c_str(), card.major, card.minor));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* ConfigureGpus(PyObject*, PyObject* arg) {
  std::string bytes;
  if (!ToString(arg, &bytes)) return nullptr;
  ConfigProto config;
  if (!config.ParseFromString(bytes)) return PyErr_Format(PyExc_ValueError, "these are not the bytes of a ConfigProto");
  StatusOr<GpuOptions> options = GpuOptions::FromConfig(config);
  Status status = options.ok() ? DefaultEnvironment()->SetGpuOptions(*options) : options.status();
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

PyObject* DeviceOf(PyObject*, PyObject* tensor) {
  if (!IsEager(tensor)) return PyErr_Format(PyExc_TypeError, "expected an eager tensor");
  const Tensor& value = AsTensor(tensor)->value;
  if (value.dtype() == DType::kResource && value.num_elements() == 1) {
    const std::string& device = value.data<ResourceHandle>()[0].device;
    if (!device.empty()) return FromString(device);
  }
  if (value.in_host_memory()) return FromString(Runtime().host()->name());
  return FromString(Runtime().Home(value).name());
}

PyObject* MemoryInfo(PyObject*, PyObject* name) {
  Device* const device = Find(name);
  if (device == nullptr) return nullptr;
  if (device->is_host()) Py_RETURN_NONE;
  const AllocatorStats stats = device->allocator()->Stats();
  return Py_BuildValue("LL", static_cast<long long>(stats.bytes_in_use),
                       static_cast<long long>(stats.peak_bytes_in_use));
}

PyObject* ResetMemoryStats(PyObject*, PyObject* name) {
  Device* const device = Find(name);
  if (device == nullptr) return nullptr;
  if (device->is_host()) Py_RETURN_FALSE;
  return PyBool_FromLong(ForgetGpuPeak(*device));
}

PyObject* SetPolicy(PyObject*, PyObject* args) {
  const char* name;
  int is_on;
  if (!PyArg_ParseTuple(args, "sp", &name, &is_on)) return nullptr;
  const std::string_view policy = name;
  if (policy == "soft_placement") {
    Runtime().set_soft_placement(is_on != 0);
  } else if (policy == "log_placement") {
    Runtime().set_log_placement(is_on != 0);
  } else if (policy == "deterministic") {
    DefaultEnvironment()->deterministic = is_on != 0;
  } else if (policy == "tensor_float_32") {
    SetGpuTensorFloat32(is_on != 0);
  } else {
    return PyErr_Format(PyExc_ValueError, "there is no policy %s", name);
  }
  Py_RETURN_NONE;
}

PyObject* CudaBuild(PyObject*, PyObject*) { return PyBool_FromLong(IsBuiltWithGpus()); }

}  // namespace weir::python
