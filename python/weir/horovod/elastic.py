"""hvd.elastic: processes may come and go while a program trains, under `weir launch --elastic`.

    hvd.init()
    state = hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0)

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, 10):
            ...
            state.commit()

    train(state)

A process that is lost costs what was done since the last commit: the others meet anew and go on from there. Who joins
gets the values of rank 0.
"""

import copy
import functools

from weir import _core
from weir.horovod.collectives import Max, allreduce, broadcast
from weir.horovod.process import barrier, init, is_elastic, join_round, rank, shutdown
from weir.horovod.variables import broadcast_object

__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt", "KerasState", "ObjectState", "State", "TensorFlowKerasState",
           "TensorFlowState", "run"]


class HorovodInternalError(RuntimeError):
    """A collective has failed because a process is lost."""


class HostsUpdatedInterrupt(RuntimeError):
    """Processes wait to join, or are to leave. `skip_sync`: all have the same values already."""

    def __init__(self, skip_sync=False):
        super().__init__("processes come or go")
        self.skip_sync = skip_sync


class State:
    """What all processes have in common, and can go back to."""

    def __init__(self, **kwargs):
        self._reset_callbacks = []
        for name, value in kwargs.items():
            setattr(self, name, value)

    def register_reset_callbacks(self, callbacks):
        """Functions to be called when a new round begins: to adapt a learning rate to hvd.size(), say."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def commit(self):
        """Remembers the values, and looks whether processes come or go. All processes call it at the same place."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self):
        """Raises HostsUpdatedInterrupt, in all processes, if processes come or go."""
        import weir as tf
        if not is_elastic():
            return
        news = 1 if _core.elastic_has_news() else 0
        if int(allreduce(tf.constant(news, tf.int32), op=Max, name="elastic/news")):
            raise HostsUpdatedInterrupt()

    def save(self):
        raise NotImplementedError

    def restore(self):
        raise NotImplementedError

    def sync(self):
        raise NotImplementedError

    def reset(self):
        pass


class ObjectState(State):
    """Python values: each keyword argument is an attribute."""

    def __init__(self, bcast_object=broadcast_object, get_rank=rank, **kwargs):
        self._broadcast_object, self._rank = bcast_object, get_rank
        self._saved_state = dict(kwargs)
        super().__init__(**kwargs)

    def save(self):
        self._saved_state = {name: copy.deepcopy(getattr(self, name)) for name in self._saved_state}

    def restore(self):
        for name, value in self._saved_state.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self):
        if not self._saved_state:
            return
        values = {name: getattr(self, name) for name in self._saved_state}
        for name, value in self._broadcast_object(values, root_rank=0, name="elastic/objects").items():
            setattr(self, name, value)
        self.save()


class TensorFlowState(ObjectState):
    """Variables, and Python values as keyword arguments."""

    def __init__(self, variables=None, session=None, **kwargs):
        if session is not None:
            raise NotImplementedError("hvd.elastic.TensorFlowState of a session: use variables of eager execution")
        self._given = variables
        self._values = None
        super().__init__(**kwargs)
        self.save()

    @property
    def variables(self):
        return self._given() if callable(self._given) else list(self._given or [])

    def save(self):
        self._values = [variable.numpy() for variable in self.variables]
        super().save()

    def restore(self):
        # Variables that were made after the last commit (an optimizer's slots) have no value to go back to.
        for variable, value in zip(self.variables, self._values):
            variable.assign(value)
        super().restore()

    def sync(self):
        variables = self.variables
        count = broadcast_object(len(variables), root_rank=0, name="elastic/count")
        if count != len(variables):
            raise ValueError(f"hvd.elastic: this process has {len(variables)} variables, rank 0 has {count}: build the "
                             "model and its optimizer before the first step")
        for i, variable in enumerate(variables):
            variable.assign(broadcast(variable, 0, f"elastic/{i}"))
        super().sync()


class TensorFlowKerasState(TensorFlowState):
    """A Keras model and its optimizer, and Python values as keyword arguments."""

    def __init__(self, model, optimizer=None, backend=None, **kwargs):
        del backend
        self.model = model
        self.optimizer = optimizer if optimizer is not None else getattr(model, "optimizer", None)
        if self.optimizer is not None and not self.optimizer.built:
            self.optimizer.build(model.trainable_variables)
        super().__init__(self._all_variables, **kwargs)

    def _all_variables(self):
        found = list(self.model.variables) + list(self.optimizer.variables if self.optimizer is not None else [])
        unique = {id(variable): variable for variable in found}
        return [getattr(variable, "value", variable) for variable in unique.values()]


KerasState = TensorFlowKerasState


def run(func):
    """Runs `func(state, ...)` again in every round of an elastic job, until it returns."""

    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        init()
        while True:
            try:
                state.sync()
                result = func(state, *args, **kwargs)
                if is_elastic():
                    barrier()  # nobody ends before all have
                    _core.elastic_finish()
                return result
            except HostsUpdatedInterrupt:
                pass  # who joins needs the values
            except Exception as error:
                if not is_elastic() or not (isinstance(error, HorovodInternalError) or _core.collective_failure()):
                    raise
                print(f"weir.horovod: the processes meet anew: {_core.collective_failure() or error}", flush=True)
                state.restore()
            shutdown()
            join_round()
            state.on_reset()
    return wrapper


def _callback_classes():
    import keras

    class CommitStateCallback(keras.callbacks.Callback):
        """Commits the state after every `batches_per_commit` batches, and at the end of an epoch."""

        def __init__(self, state, batches_per_commit=1):
            super().__init__()
            self.state, self.batches_per_commit, self.left = state, batches_per_commit, batches_per_commit

        def on_train_begin(self, logs=None):
            self.left = self.batches_per_commit

        def on_batch_end(self, batch, logs=None):
            self.left -= 1
            if self.left == 0:
                self.left = self.batches_per_commit
                self.state.commit()

        def on_epoch_end(self, epoch, logs=None):
            self.state.commit()

    class UpdateBatchStateCallback(keras.callbacks.Callback):
        """Keeps state.batch, and shortens the first epoch by what it has done of it already."""

        def __init__(self, state):
            super().__init__()
            self.state, self.steps_per_epoch = state, None

        def on_train_begin(self, logs=None):
            self.steps_per_epoch = self.params.get("steps")

        def on_epoch_begin(self, epoch, logs=None):
            if self.steps_per_epoch is not None:
                self.params["steps"] = self.steps_per_epoch - self.state.batch

        def on_batch_end(self, batch, logs=None):
            self.state.batch = batch

        def on_epoch_end(self, epoch, logs=None):
            self.state.batch = 0

    class UpdateEpochStateCallback(keras.callbacks.Callback):
        """Keeps state.epoch."""

        def __init__(self, state):
            super().__init__()
            self.state, self.initial_epoch = state, 0

        def on_train_begin(self, logs=None):
            self.initial_epoch = self.state.epoch

        def on_epoch_end(self, epoch, logs=None):
            self.state.epoch = epoch + 1
    return {each.__name__: each for each in (CommitStateCallback, UpdateBatchStateCallback, UpdateEpochStateCallback)}


def __getattr__(name):
    if name in ("CommitStateCallback", "UpdateBatchStateCallback", "UpdateEpochStateCallback"):
        globals().update(_callback_classes())
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
