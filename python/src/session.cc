#include "python/src/session.h"

#include <algorithm>

#include "python/src/graph.h"
#include "python/src/interrupt.h"
#include "python/src/op.h"
#include "python/src/tensor.h"
#include "weir/base/cancellation.h"
#include "weir/graph/import.h"
#include "weir/proto/config.pb.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/session.h"

namespace weir::python {
namespace {

struct PySession {
  PyObject_HEAD Session* session;
};

// The nodes from the id `first` on, with the functions of the graph.
StatusOr<std::string> ExportNewNodes(const Graph& graph, NodeId first) {
  GraphDef def;
  ExportLibrary(graph, &def);
  for (NodeId id = first; id < graph.num_node_ids(); ++id) {
    if (const Node* node = graph.node(id)) WEIR_RETURN_IF_ERROR(ExportNode(graph, *node, def.add_node()));
  }
  return def.SerializeAsString();
}

PySession* As(PyObject* self) { return reinterpret_cast<PySession*>(self); }

// Session(target, config): the bytes of a ConfigProto.
PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* target;
  const char* config = nullptr;
  Py_ssize_t config_size = 0;
  if (!PyArg_ParseTuple(args, "s|y#", &target, &config, &config_size)) return nullptr;
  ConfigProto proto;
  if (config_size > 0 && !proto.ParseFromArray(config, static_cast<int>(config_size))) {
    return PyErr_Format(PyExc_ValueError, "these are not the bytes of a ConfigProto");
  }
  SessionOptions defaults;
  defaults.target = target;
  StatusOr<SessionOptions> chosen = SessionOptions::FromConfig(proto, defaults);
  if (!chosen.ok()) return Raise(chosen.status());
  SessionOptions options = *std::move(chosen);
  options.isolate_state = options.isolate_state || options.target.empty();
  StatusOr<std::unique_ptr<Session>> session = Internal("not made");
  {
    WithoutLock unlocked;
    session = Session::Create(Runtime().environment(), std::move(options));
  }
  if (!session.ok()) return Raise(session.status());
  PySession* self = As(AllocateObject(type));
  if (self != nullptr) self->session = session->release();
  return reinterpret_cast<PyObject*>(self);
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Session* session = As(self)->session;
  if (session != nullptr) {
    WithoutLock unlocked;  // waits for running steps
    delete session;
  }
  FreeObject(type, self);
  Py_DECREF(type);
}

// extend(bytes of a GraphDef)
PyObject* Extend(PyObject* self, PyObject* arg) {
  std::string bytes;
  if (!ToString(arg, &bytes)) return nullptr;
  Status status;
  {
    WithoutLock unlocked;
    status = As(self)->session->ExtendBytes(bytes);
  }
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

// extend_from(graph, first): the nodes of a graph from the id `first` on.
PyObject* ExtendFrom(PyObject* self, PyObject* args) {
  PyObject* graph;
  int first;
  if (!PyArg_ParseTuple(args, "O!i", g_graph_type, &graph, &first)) return nullptr;
  GraphState& state = StateOf(graph);
  Graph part = state.graph.Clone();
  Status status;
  if (first > 0) {
    // A GraphDef of the new nodes alone; they name the ones that the session has.
    StatusOr<std::string> bytes = ExportNewNodes(state.graph, first);
    status = bytes.status();
    if (status.ok()) {
      WithoutLock unlocked;
      status = As(self)->session->ExtendBytes(*bytes);
    }
  } else {
    WithoutLock unlocked;
    status = As(self)->session->Extend(std::move(part));
  }
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

bool ToNames(PyObject* list, std::vector<std::string>* out) {
  Ref items = Ref::Own(PySequence_Fast(list, "expected a list of names"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    out->emplace_back();
    if (!ToString(PySequence_Fast_GET_ITEM(items.get(), i), &out->back())) return false;
  }
  return true;
}

bool ToFeeds(PyObject* feed_dict, std::vector<Feed>* feeds) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(feed_dict, &position, &key, &value)) {
    std::string name;
    if (!ToString(key, &name)) return false;
    if (!IsEager(value)) {
      PyErr_Format(PyExc_TypeError, "the value fed for '%U' is no tensor", key);
      return false;
    }
    const Tensor* const host = HostValue(value);
    if (host == nullptr) return false;
    feeds->emplace_back(std::move(name), *host);
  }
  return true;
}

PyObject* ToList(std::vector<Tensor>* outputs) {
  Ref list = Ref::Own(PyList_New(0));
  for (Tensor& output : *outputs) {
    Ref tensor = Ref::Own(NewEager(std::move(output)));
    if (!tensor || PyList_Append(list.get(), tensor.get()) < 0) return nullptr;
  }
  return list.release();
}

StepOptions ToStepOptions(const RunOptions& proto) {
  StepOptions options;
  options.trace = static_cast<TraceLevel>(std::clamp<int>(proto.trace_level(), 0, 3));
  if (proto.timeout_in_ms() > 0) options.timeout = absl::Milliseconds(proto.timeout_in_ms());
  options.partition_graphs = proto.output_partition_graphs();
  options.in_caller_thread = proto.inter_op_thread_pool() < 0;
  return options;
}

// run({name: tensor}, [fetches], [targets]) -> [tensors]; with the bytes of RunOptions as a fourth argument
// ([tensors], bytes of the step's RunMetadata).
PyObject* Run(PyObject* self, PyObject* args) {
  PyObject *feed_dict, *fetch_list, *target_list;
  const char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "O!OO|y#", &PyDict_Type, &feed_dict, &fetch_list, &target_list, &bytes, &size)) {
    return nullptr;
  }
  RunOptions proto;
  if (bytes != nullptr && !proto.ParseFromArray(bytes, static_cast<int>(size))) {
    return PyErr_Format(PyExc_ValueError, "these are not the bytes of RunOptions");
  }
  std::vector<Feed> feeds;
  std::vector<std::string> fetches, targets;
  if (!ToFeeds(feed_dict, &feeds) || !ToNames(fetch_list, &fetches) || !ToNames(target_list, &targets)) return nullptr;
  // Another thread may close or drop the session meanwhile.
  Ref held = Ref::Borrow(self);
  std::vector<Tensor> outputs;
  StepReport report;
  Status status;
  Interruptible interruptible;
  {
    WithoutLock unlocked;
    StepOptions options = ToStepOptions(proto);
    options.cancellation = interruptible.cancellation();
    status =
        bytes == nullptr && options.cancellation == nullptr
            ? As(self)->session->Run(feeds, fetches, targets, &outputs)
            : As(self)->session->Run(options, feeds, fetches, targets, &outputs, bytes == nullptr ? nullptr : &report);
  }
  if (!status.ok()) return interruptible.RaiseIfInterrupted() ? nullptr : Raise(status);
  Ref list = Ref::Own(ToList(&outputs));
  if (!list || bytes == nullptr) return list.release();
  RunMetadata metadata;
  report.ToProto(&metadata);
  const std::string written = metadata.SerializeAsString();
  return Py_BuildValue("Oy#", list.get(), written.data(), static_cast<Py_ssize_t>(written.size()));
}

// partial_run_setup([feeds], [fetches], [targets]) -> handle
PyObject* PartialRunSetup(PyObject* self, PyObject* args) {
  PyObject *feed_list, *fetch_list, *target_list;
  if (!PyArg_ParseTuple(args, "OOO", &feed_list, &fetch_list, &target_list)) return nullptr;
  std::vector<std::string> feeds, fetches, targets;
  if (!ToNames(feed_list, &feeds) || !ToNames(fetch_list, &fetches) || !ToNames(target_list, &targets)) return nullptr;
  StatusOr<std::string> handle = Internal("not set up");
  {
    WithoutLock unlocked;
    handle = As(self)->session->PartialRunSetup(feeds, fetches, targets);
  }
  if (!handle.ok()) return Raise(handle.status());
  return FromString(*handle);
}

// partial_run(handle, {name: tensor}, [fetches]) -> [tensors]
PyObject* PartialRun(PyObject* self, PyObject* args) {
  const char* handle;
  PyObject *feed_dict, *fetch_list;
  if (!PyArg_ParseTuple(args, "sO!O", &handle, &PyDict_Type, &feed_dict, &fetch_list)) return nullptr;
  std::vector<Feed> feeds;
  std::vector<std::string> fetches;
  if (!ToFeeds(feed_dict, &feeds) || !ToNames(fetch_list, &fetches)) return nullptr;
  Ref held = Ref::Borrow(self);
  std::vector<Tensor> outputs;
  Status status;
  {
    WithoutLock unlocked;
    status = As(self)->session->PartialRun(handle, feeds, fetches, &outputs);
  }
  if (!status.ok()) return Raise(status);
  return ToList(&outputs);
}

// list_devices() -> [(name, type, memory limit, incarnation)]
PyObject* ListSessionDevices(PyObject* self, PyObject*) {
  std::vector<DeviceInfo> devices;
  {
    WithoutLock unlocked;
    devices = As(self)->session->ListDevices();
  }
  Ref list = Ref::Own(PyList_New(0));
  for (const DeviceInfo& device : devices) {
    Ref row = Ref::Own(Py_BuildValue("(ssLK)", device.name.c_str(), device.device_type.c_str(),
                                     static_cast<long long>(device.memory_limit),
                                     static_cast<unsigned long long>(device.incarnation)));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* Close(PyObject* self, PyObject*) {
  Status status;
  {
    WithoutLock unlocked;
    status = As(self)->session->Close();
  }
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"extend", Extend, METH_O, nullptr},
    {"extend_from", ExtendFrom, METH_VARARGS, nullptr},
    {"run", Run, METH_VARARGS, nullptr},
    {"partial_run_setup", PartialRunSetup, METH_VARARGS, nullptr},
    {"partial_run", PartialRun, METH_VARARGS, nullptr},
    {"list_devices", ListSessionDevices, METH_NOARGS, nullptr},
    {"close", Close, METH_NOARGS, nullptr},
    {},
};
PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Spec kSpec = {"weir._core.Session", sizeof(PySession), 0, Py_TPFLAGS_DEFAULT, kSlots};

}  // namespace

bool AddSessionType(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  return type != nullptr && PyModule_AddObject(module, "Session", type) == 0;
}

}  // namespace weir::python
