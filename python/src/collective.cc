#include "python/src/collective.h"

#include <string>
#include <vector>

#include "weir/collective/collective.h"
#include "weir/collective/rendezvous.h"

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

// The connection to the launcher of an elastic job. It lasts as long as the process.
collective::Rendezvous* the_rendezvous = nullptr;

enum class Joined { kYes, kAgain, kLeave };

// Meets the others of the next round.
StatusOr<Joined> JoinRound(absl::Duration join_timeout, collective::InitOptions options) {
  if (the_rendezvous == nullptr) {
    WEIR_ASSIGN_OR_RETURN(auto rendezvous, collective::Rendezvous::Connect(options.timeout));
    if (rendezvous == nullptr) return FailedPrecondition("This process was not started by weir launch --elastic");
    the_rendezvous = rendezvous.release();
  }
  WEIR_ASSIGN_OR_RETURN(std::optional<collective::Place> place, the_rendezvous->Join(join_timeout));
  if (!place.has_value()) return Joined::kLeave;
  options.meeting_alarm = [] { return the_rendezvous->CheckWorkers(); };
  const Status met = collective::Init(*place, options);
  if (!met.ok() && !absl::IsUnavailable(met) && !absl::IsDeadlineExceeded(met)) return met;
  return met.ok() ? Joined::kYes : Joined::kAgain;
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

PyObject* CollectiveFailure(PyObject*, PyObject*) {
  const Status failure = collective::Failure();
  if (failure.ok()) Py_RETURN_NONE;
  const std::string text(Message(failure));
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyObject* ElasticJoin(PyObject*, PyObject* args) {
  double join_timeout, timeout, stall_error;
  if (!PyArg_ParseTuple(args, "ddd", &join_timeout, &timeout, &stall_error)) return nullptr;
  collective::InitOptions options;
  if (timeout > 0) options.timeout = absl::Seconds(timeout);
  if (stall_error > 0) options.stall_error = absl::Seconds(stall_error);
  StatusOr<Joined> joined = Joined::kLeave;
  {
    WithoutLock unlocked;
    joined = JoinRound(join_timeout > 0 ? absl::Seconds(join_timeout) : absl::Minutes(10), options);
  }
  if (!joined.ok()) return Raise(joined.status());
  if (*joined == Joined::kAgain) Py_RETURN_NONE;
  return PyBool_FromLong(*joined == Joined::kYes);
}

PyObject* ElasticHasNews(PyObject*, PyObject*) {
  StatusOr<bool> news = the_rendezvous != nullptr ? the_rendezvous->HasNews() : false;
  return news.ok() ? PyBool_FromLong(*news) : Raise(news.status());
}

PyObject* ElasticFinish(PyObject*, PyObject*) {
  return NoneOr(the_rendezvous != nullptr ? the_rendezvous->Finish() : OkStatus());
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
