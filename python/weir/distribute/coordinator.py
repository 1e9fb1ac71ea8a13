"""tf.distribute.coordinator: functions are given to workers as these become free."""

import atexit
import collections
import itertools
import threading
import weakref

from weir import nest
from weir.distribute import remote
from weir.distribute.parameter_server import ParameterServerStrategy
from weir.framework import errors

__all__ = ["ClusterCoordinator", "PerWorkerValue", "PerWorkerValues", "RemoteValue",
           "experimental_get_current_worker_index"]

_MOST_QUEUED = 256 * 1024
_RECOVERY_SECONDS = 3600.0  # for a worker that is lost
_LOOK_SECONDS = 1.0  # how often a lost worker is looked for
_MOST_TRIES = 4  # of a function whose worker is there, but which cannot reach others
_LOST = (errors.UnavailableError, errors.AbortedError)
_numbers = itertools.count()
_current = threading.local()


def experimental_get_current_worker_index():
    """The number of the worker for which a function is called."""
    index = getattr(_current, "worker", None)
    if index is None:
        raise RuntimeError("There is no current worker: this is for functions that a ClusterCoordinator calls")
    return index


class RemoteValue:
    """What a scheduled function will have returned."""

    def __init__(self):
        self._done = threading.Event()
        self._value = self._error = None

    def _set(self, value=None, error=None):
        self._value, self._error = value, error
        self._done.set()

    def get(self):
        """Waits for the value: a structure of tensors."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def fetch(self):
        """The same with arrays for tensors."""
        import weir as tf
        return nest.map_structure(lambda v: v.numpy() if isinstance(v, tf.Tensor) else v, self.get())


class PerWorkerValues:
    """A value for each worker."""

    def __init__(self, values):
        self._values = tuple(values)


PerWorkerValue = PerWorkerValues


class _PerWorkerIterator(PerWorkerValues):
    """An iterator on each worker, made there when it is first used."""

    def __init__(self, dataset):
        from weir.data import structure
        from weir.data.iterator import OwnedIterator
        from weir.framework import raw_ops
        super().__init__(())
        self._dataset, self.element_spec = dataset, dataset.element_spec
        self._name = f"iterator/{dataset._coordinator.strategy._prefix}/{next(_numbers)}"
        self._attributes = structure.types_and_shapes(self.element_spec)
        # What functions are traced with.
        self.local = OwnedIterator(components=[raw_ops.AnonymousIteratorV3(**self._attributes)],
                                   element_spec=self.element_spec)

    def __iter__(self):
        return self

    def __next__(self):
        raise NotImplementedError("The iterators are on the workers: call `next` inside a tf.function that is scheduled "
                                  "with them as an argument")

    def at(self, worker):
        """The iterator of a worker, as a resource for its functions; begins anew on a worker that has restarted."""
        from weir.framework import raw_ops
        name = f"{self._name}/{worker.index}"
        resource = remote.RemoteResource(name, lambda: raw_ops.IteratorV2(shared_name=name, container="",
                                                                          **self._attributes))
        task = worker.task
        if name not in worker.made:
            def build(to):
                dataset = self._dataset.make(worker.index)
                begin = raw_ops.MakeIterator(dataset=dataset._variant_tensor, iterator=resource.handle(to))
                return [], [], [begin]
            task.copy_tables()
            task.run(("begin", name), build, [])
            worker.made.add(name)
        return resource


class PerWorkerDataset:
    """A dataset on each worker."""

    def __init__(self, coordinator, dataset_or_fn):
        import weir as tf
        from weir.data.dataset import Dataset
        from weir.distribute.input import DistributedDataset
        self._coordinator = coordinator
        if isinstance(dataset_or_fn, (Dataset, DistributedDataset)):
            raise NotImplementedError("create_per_worker_dataset needs a function that makes the dataset: each worker calls "
                                      "for its own, and a dataset that exists already cannot be sent")
        if callable(dataset_or_fn):
            self._function = dataset_or_fn
        else:
            raise TypeError(f"Expected a dataset or a function that makes one, not {type(dataset_or_fn).__name__}")
        with tf.Graph().as_default():
            self._spec = self.make(0).element_spec

    element_spec = property(lambda self: self._spec)

    def make(self, worker):
        """The dataset of a worker, in the graph that is being built."""
        extended = self._coordinator.strategy.extended
        extended.worker.index = _current.worker = worker
        try:
            return self._function()
        finally:
            extended.worker.index = _current.worker = None

    def __iter__(self):
        return _PerWorkerIterator(self)


class _Closure:
    """A function with its arguments."""

    def __init__(self, concrete, tensors, iterators):
        self._concrete, self._tensors, self._iterators = concrete, tensors, iterators
        self.result, self.tries = RemoteValue(), 0

    def run(self, worker):
        """At a worker; waits for the end."""
        tensors = []
        for tensor in self._tensors:
            iterator = self._iterators.get(id(tensor))
            if iterator is not None:
                tensor = iterator.at(worker)
            elif isinstance(tensor, PerWorkerValues):
                tensor = tensor._values[worker.index]
            tensors.append(tensor)
        return self._concrete.pack(worker.task.call(self._concrete, tensors))


class _Queue:
    """What is to be done, and what is being done."""

    def __init__(self):
        self._changed = threading.Condition()
        self._waiting, self._running, self._error, self._closed = collections.deque(), set(), None, False

    def put(self, closure):
        with self._changed:
            self._raise_error()
            self._changed.wait_for(lambda: len(self._waiting) < _MOST_QUEUED or self._error is not None)
            self._raise_error()
            self._waiting.append(closure)
            self._changed.notify_all()

    def take(self):
        """The next one; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            closure = self._waiting.popleft()
            self._running.add(closure)
            return closure

    def end(self, closure, value=None, error=None):
        """It is done, or has failed: then all that waits is cancelled."""
        with self._changed:
            self._running.discard(closure)
            if error is not None:
                self._fail(error)
            closure.result._set(value, error)
            self._changed.notify_all()

    def give_back(self, closure):
        """Another worker is to run it."""
        with self._changed:
            self._running.discard(closure)
            if self._error is None:
                self._waiting.appendleft(closure)
            else:
                closure.result._set(error=_cancelled())
            self._changed.notify_all()

    def fail(self, error):
        with self._changed:
            self._fail(error)
            self._changed.notify_all()

    def _fail(self, error):
        if self._error is None:
            self._error = error
        while self._waiting:
            self._waiting.popleft().result._set(error=_cancelled())

    def _raise_error(self):
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def join(self):
        with self._changed:
            self._changed.wait_for(lambda: not self._running and (not self._waiting or self._error is not None))
            self._raise_error()

    def is_done(self):
        with self._changed:
            self._raise_error()
            return not self._waiting and not self._running

    def close(self):
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait_closed(self, seconds):
        """Waits so long, or until the end; whether it has come."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed, seconds)


def _cancelled():
    return errors.CancelledError(None, None, "The corresponding function is cancelled. Please reschedule the function.")


class _Worker:
    """The thread that gives functions to one worker."""

    def __init__(self, index, task, strategy, queue):
        self.index, self.task, self.made = index, task, set()
        self._servers, self._queue = strategy.servers, queue
        self._thread = threading.Thread(target=self._work, daemon=True, name=f"coordinator of {task.name}")
        self._thread.start()

    def end(self, seconds):
        """Ends what runs; not longer than so."""
        closing = threading.Thread(target=self.task.close, daemon=True)
        closing.start()
        closing.join(seconds)
        self._thread.join(seconds)

    def _work(self):
        while True:
            closure = self._queue.take()
            if closure is None:
                return
            try:
                value = closure.run(self)
            except _LOST as error:
                if not self._recover(closure, error):
                    return
            except BaseException as error:  # noqa: BLE001 the function's own, for the caller of join
                self._queue.end(closure, error=error)
            else:
                self._queue.end(closure, value)
            closure = None

    def _recover(self, closure, error):
        """After a call that did not reach the worker, or that the worker could not reach others with."""
        closure.tries += 1
        if self.task.is_alive():
            lost = [server.name for server in self._servers if not server.is_alive()]
            if lost:
                message = (f"The parameter server {', '.join(lost)} is lost. Restart the program from a checkpoint. "
                           f"({error.message})")
                self._queue.end(closure, error=errors.UnavailableError(None, None, message))
                return True
            if closure.tries >= _MOST_TRIES:
                self._queue.end(closure, error=error)
                return True
        self._queue.give_back(closure)
        waited = 0.0
        while not self.task.is_alive():
            if self._queue.wait_closed(_LOOK_SECONDS):
                return False
            waited += _LOOK_SECONDS
            if waited >= _RECOVERY_SECONDS:
                self._queue.fail(errors.UnavailableError(None, None, f"{self.task.name} did not come back: {error.message}"))
                return False
        job, task = self.task.name.split("/")[1].partition(":")[2], self.task.name.rpartition(":")[2]
        self.task, self.made = remote.RemoteTask(job, int(task), self.task.target), set()
        return True


def _end(queue, workers):
    """When the program ends: no thread may be in the middle of a call then."""
    queue.close()
    for worker in workers:
        worker.end(5.0)


class ClusterCoordinator:
    """Gives functions to the workers of a ParameterServerStrategy. There is one for a strategy."""

    def __new__(cls, strategy):
        if not isinstance(strategy, ParameterServerStrategy):
            raise ValueError("Only `tf.distribute.experimental.ParameterServerStrategy` is supported to work with "
                             "`tf.distribute.experimental.coordinator.ClusterCoordinator` currently.")
        if strategy._coordinator is None:
            strategy._coordinator = super().__new__(cls)
        return strategy._coordinator

    def __init__(self, strategy):
        if getattr(self, "_queue", None) is not None:
            return
        self._strategy, self._queue = strategy, _Queue()
        workers = [_Worker(i, task, strategy, self._queue) for i, task in enumerate(strategy.workers)]
        weakref.finalize(self, self._queue.close)
        atexit.register(_end, self._queue, workers)

    strategy = property(lambda self: self._strategy)

    def schedule(self, fn, args=None, kwargs=None):
        """Runs `fn`, a tf.function, at some worker as soon as one is free; gives its RemoteValue. If the worker is lost
        meanwhile, another one runs it again. The error of an earlier function is raised here or by `join`."""
        from weir.eager.function import ConcreteFunction, Function
        args, kwargs = tuple(args or ()), dict(kwargs or {})
        if not isinstance(fn, (Function, ConcreteFunction)):
            raise TypeError("`tf.distribute.experimental.coordinator.ClusterCoordinator.schedule` only accepts a "
                            "`tf.function` or a concrete function.")
        iterators = {}

        def local(value):
            if isinstance(value, _PerWorkerIterator):
                iterators[id(value.local._resource)] = value
                return value.local
            if isinstance(value, PerWorkerValues):
                raise NotImplementedError("Only iterators may be given as a value for each worker")
            return value.get() if isinstance(value, RemoteValue) else value
        args, kwargs = nest.map_structure(local, args), nest.map_structure(local, kwargs)
        with self._strategy.scope():
            if isinstance(fn, ConcreteFunction):
                concrete, tensors = fn, nest.flatten((args, kwargs), expand_composites=True)
            else:
                concrete, tensors = fn._find(args, kwargs)
        closure = _Closure(concrete, list(tensors), iterators)
        self._queue.put(closure)
        return closure.result

    def join(self):
        """Waits until all functions have run. Raises the error of the first that has failed; the rest is cancelled."""
        self._queue.join()

    def done(self):
        """Whether all functions have run."""
        return self._queue.is_done()

    def create_per_worker_dataset(self, dataset_fn):
        """Datasets on the workers, made there by `dataset_fn`; `iter` of it may be an argument of functions."""
        return PerWorkerDataset(self, dataset_fn)

    def fetch(self, val):
        """A structure with the values of the RemoteValues in it, as arrays."""
        import weir as tf

        def leaf(value):
            if isinstance(value, RemoteValue):
                return value.fetch()
            return value.numpy() if isinstance(value, tf.Tensor) else value
        return nest.map_structure(leaf, val)
