// Collectives between the processes of a job (weir/collective/collective.h) for weir.horovod and
// MultiWorkerMirroredStrategy: who is there. The exchanges themselves are operations (_ProcessAllReduce, ...).
#ifndef WEIR_PYTHON_COLLECTIVE_H_
#define WEIR_PYTHON_COLLECTIVE_H_

#include "python/src/python.h"

namespace weir::python {

// _core.collective_init(place, timeout, stall error): meets the other processes. The place is a dict with rank, size,
// local_rank, local_size, job, host, address and secret, or None: what the launcher says. Times are in seconds, 0: none
// or the default.
PyObject* CollectiveInit(PyObject* module, PyObject* args);
PyObject* CollectiveShutdown(PyObject* module, PyObject*);
// (rank, size, local rank, local size, host, hosts), or None without init.
PyObject* CollectivePlace(PyObject* module, PyObject*);
PyObject* CollectiveAddSet(PyObject* module, PyObject* ranks);  // -> number
PyObject* CollectiveJoin(PyObject* module, PyObject*);          // -> the rank that joined last
PyObject* CollectiveBarrier(PyObject* module, PyObject* set);
PyObject* CollectiveTimeline(PyObject* module, PyObject* path);  // None: ends it

// None, or a text: what has ended all collectives (a process that is lost).
PyObject* CollectiveFailure(PyObject* module, PyObject*);

// Elastic jobs (weir/collective/elastic.h), for weir.horovod.elastic.
// _core.elastic_join(join timeout, timeout, stall error): a place in the next round, and the meeting. False: this
// process is to leave. None: another process was lost while they met, and it is to join again.
PyObject* ElasticJoin(PyObject* module, PyObject* args);
PyObject* ElasticHasNews(PyObject* module, PyObject*);  // whether another round is wanted
PyObject* ElasticFinish(PyObject* module, PyObject*);   // training has ended

}  // namespace weir::python

#endif  // WEIR_PYTHON_COLLECTIVE_H_
