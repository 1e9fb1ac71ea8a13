#include "python/src/collective.h"

#include <string>
#include <vector>

#include "weir/collective/collective.h"

namespace weir::python {
namespace {

bool TakeText(PyObject* dict, const char* key, std::string* out) {
  PyObject* value = PyDict_GetItemString(dict, key);
  return value == nullptr || ToString(value, out);
}

bool TakeNumber(PyObject* dict, const char* key, int* out) {
  PyObject* value = PyDict_GetItemString(dict, key);
  if (value == nullptr) return true;
  *out = static_cast<int>(PyLong_AsLong(value));
  return !PyErr_Occurred();
}

bool TakePlace(PyObject* dict, collective::Place* out) {
  out->launcher = "the program";
  return TakeNumber(dict, "rank", &out->rank) && TakeNumber(dict, "size", &out->size) &&
         TakeNumber(dict, "local_rank", &out->local_rank) && TakeNumber(dict, "local_size", &out->local_size) &&
         TakeText(dict, "job", &out->job) && TakeText(dict, "launcher", &out->launcher) &&
         TakeText(dict, "host", &out->host) && TakeText(dict, "address", &out->address) &&
         TakeText(dict, "secret", &out->secret);
}

PyObject* NoneOr(const Status& status) {
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

}  // namespace

PyObject* CollectiveInit(PyObject*, PyObject* args) {
  PyObject* where;
  double timeout, stall_error;
  if (!PyArg_ParseTuple(args, "Odd", &where, &timeout, &stall_error)) return nullptr;
  collective::InitOptions options;
  if (timeout > 0) options.timeout = absl::Seconds(timeout);
  if (stall_error > 0) options.stall_error = absl::Seconds(stall_error);
  collective::Place place;
  if (where != Py_None && (!PyDict_Check(where) || !TakePlace(where, &place))) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "the place must be a dict or None");
    return nullptr;
  }
  Status status;
  {
    WithoutLock unlocked;
    status = where == Py_None ? collective::Init(options) : collective::Init(place, options);
  }
  return NoneOr(status);
}

PyObject* CollectiveShutdown(PyObject*, PyObject*) {
  {
    WithoutLock unlocked;
    collective::Shutdown();
  }
  Py_RETURN_NONE;
}

PyObject* CollectivePlace(PyObject*, PyObject*) {
  if (!collective::IsInitialized()) Py_RETURN_NONE;
  return Py_BuildValue("(iiiiii)", collective::Rank(), collective::Size(), collective::LocalRank(),
                       collective::LocalSize(), collective::CrossRank(), collective::CrossSize());
}

PyObject* CollectiveAddSet(PyObject*, PyObject* list) {
  std::vector<int> ranks;
  Ref iterator = Ref::Own(PyObject_GetIter(list));
  if (!iterator) return nullptr;
  while (Ref item = Ref::Own(PyIter_Next(iterator.get()))) ranks.push_back(static_cast<int>(PyLong_AsLong(item.get())));
  if (PyErr_Occurred()) return nullptr;
  StatusOr<collective::ProcessSet> set = Internal("no answer");
  {
    WithoutLock unlocked;
    set = collective::AddProcessSet(ranks);
  }
  return set.ok() ? PyLong_FromLong(*set) : Raise(set.status());
}

PyObject* CollectiveJoin(PyObject*, PyObject*) {
  StatusOr<int> last = Internal("no answer");
  {
    WithoutLock unlocked;
    last = collective::Join();
  }
  return last.ok() ? PyLong_FromLong(*last) : Raise(last.status());
}

PyObject* CollectiveBarrier(PyObject*, PyObject* set) {
  const long number = PyLong_AsLong(set);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  Status status;
  {
    WithoutLock unlocked;
    status = collective::Barrier(static_cast<collective::ProcessSet>(number));
  }
  return NoneOr(status);
}

PyObject* CollectiveTimeline(PyObject*, PyObject* path) {
  if (path == Py_None) {
    collective::StopTimeline();
    Py_RETURN_NONE;
  }
  std::string text;
  if (!ToString(path, &text)) return nullptr;
  return NoneOr(collective::StartTimeline(text));
}

}  // namespace weir::python
