#include "python/src/server.h"

#include "python/src/op.h"
#include "weir/client/environment.h"
#include "weir/distributed/server.h"
#include "weir/proto/config.pb.h"

namespace weir::python {
namespace {

struct PyServer {
  PyObject_HEAD Server* server;
};

PyServer* As(PyObject* self) { return reinterpret_cast<PyServer*>(self); }

StatusOr<std::unique_ptr<Server>> Start(const ServerDef& def, int port) {
  WEIR_ASSIGN_OR_RETURN(ClusterPlace place, FromServerDef(def));
  ServerOptions options;
  options.job = place.job;
  options.task = place.task;
  if (port >= 0) {
    options.port = port;
  } else if (const ClusterSpec::Task* own = place.cluster.Find(place.job, place.task)) {
    if (own->address.ends_with(":0")) options.port = 0;
  }
  if (place.cluster.tasks().size() > 1 || port < 0) options.cluster = place.cluster;
  EnvironmentOptions environment_options;
  environment_options.task_name = TaskName(place.job, place.task);
  WEIR_ASSIGN_OR_RETURN(environment_options.gpu, GpuOptions::FromConfig(def.default_session_config()));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment(environment_options));
  return Server::Start(options, std::move(environment));
}

// Server(bytes of a ServerDef, port): starts at once. A port of -1: that of the task's address in the cluster.
PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* bytes;
  Py_ssize_t size;
  int port = -1;
  if (!PyArg_ParseTuple(args, "y#|i", &bytes, &size, &port)) return nullptr;
  ServerDef def;
  if (!def.ParseFromArray(bytes, static_cast<int>(size))) {
    return PyErr_Format(PyExc_ValueError, "these are not the bytes of a ServerDef");
  }
  Runtime();  // what eager code uses too is made first
  StatusOr<std::unique_ptr<Server>> server = Internal("not started");
  {
    WithoutLock unlocked;
    server = Start(def, port);
  }
  if (!server.ok()) return Raise(server.status());
  PyServer* self = As(AllocateObject(type));
  if (self != nullptr) self->server = server->release();
  return reinterpret_cast<PyObject*>(self);
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Server* server = As(self)->server;
  if (server != nullptr) {
    WithoutLock unlocked;
    delete server;
  }
  FreeObject(type, self);
  Py_DECREF(type);
}

PyObject* Target(PyObject* self, PyObject*) { return FromString(As(self)->server->target()); }

PyObject* Shutdown(PyObject* self, PyObject*) {
  {
    WithoutLock unlocked;
    As(self)->server->Shutdown();
  }
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"target", Target, METH_NOARGS, nullptr},
    {"shutdown", Shutdown, METH_NOARGS, nullptr},
    {},
};
PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Spec kSpec = {"weir._core.Server", sizeof(PyServer), 0, Py_TPFLAGS_DEFAULT, kSlots};

}  // namespace

bool AddServerType(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  return type != nullptr && PyModule_AddObject(module, "Server", type) == 0;
}

}  // namespace weir::python
