"""Horovod's callbacks for Keras."""

import warnings

import keras

from weir.horovod.collectives import Average, allreduce
from weir.horovod.process import global_process_set, rank, size
from weir.horovod.variables import broadcast_variables

__all__ = ["BestModelCheckpoint", "BroadcastGlobalVariablesCallback", "LearningRateScheduleCallback",
           "LearningRateWarmupCallback", "MetricAverageCallback"]


class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
    """After the first batch all processes get the variables of the process `root_rank`: the model's and the
    optimizer's."""

    def __init__(self, root_rank, device="", local_variables=None, process_set=global_process_set):
        super().__init__()
        del device
        self.root_rank, self.process_set, self.broadcast_done = root_rank, process_set, False
        self._local = {id(v) for v in local_variables or ()}

    def on_train_batch_end(self, batch, logs=None):
        if self.broadcast_done:
            return
        variables = list(self.model.variables)
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            variables += [v for v in optimizer.variables if all(v is not known for known in variables)]
        broadcast_variables([v for v in variables if id(v) not in self._local], self.root_rank, self.process_set)
        self.broadcast_done = True


class MetricAverageCallback(keras.callbacks.Callback):
    """Metrics are averaged over the processes at the end of each epoch: put it before callbacks that use them."""

    def __init__(self, device="", process_set=global_process_set):
        super().__init__()
        del device
        self.process_set = process_set

    def on_epoch_end(self, epoch, logs=None):
        import weir as tf
        if logs is None or self.process_set.size() == 1:
            return
        for metric in sorted(logs):
            value = tf.constant(float(logs[metric]), tf.float64)
            logs[metric] = float(allreduce(value, op=Average, name=f"metric/{metric}", process_set=self.process_set))


class LearningRateScheduleCallback(keras.callbacks.Callback):
    """The learning rate is `initial_lr` times `multiplier`, a number or a function of the epoch, from `start_epoch` on
    and before `end_epoch`. Without `staircase` it changes with every batch."""

    def __init__(self, initial_lr, multiplier, start_epoch=0, end_epoch=None, staircase=True, momentum_correction=True,
                 steps_per_epoch=None):
        super().__init__()
        if initial_lr is None:
            raise ValueError("Parameter `initial_lr` is required")
        self.initial_lr, self.start_epoch, self.end_epoch = initial_lr, start_epoch, end_epoch
        self.staircase, self.momentum_correction, self.steps_per_epoch = staircase, momentum_correction, steps_per_epoch
        self.restore_momentum, self.current_epoch = None, None
        if callable(multiplier):
            self.multiplier = multiplier
        else:
            self.staircase, self.multiplier = True, lambda epoch: multiplier

    def on_train_begin(self, logs=None):
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = (self.params or {}).get("steps")
            if not self.steps_per_epoch:
                raise ValueError("Could not autodetect the number of steps per epoch. Please specify the steps_per_epoch "
                                 f"parameter to the {type(self).__name__}().")

    def on_epoch_begin(self, epoch, logs=None):
        self.current_epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if self.current_epoch < self.start_epoch or (self.end_epoch is not None and self.current_epoch >= self.end_epoch):
            return
        if not self.staircase:
            self._adjust(self.current_epoch + float(batch) / self.steps_per_epoch)
        elif batch == 0:
            self._adjust(self.current_epoch)

    def on_train_batch_end(self, batch, logs=None):
        if self.restore_momentum is not None:
            self.model.optimizer.momentum = self.restore_momentum
            self.restore_momentum = None

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = float(self.model.optimizer.learning_rate)

    def _adjust(self, epoch):
        optimizer = self.model.optimizer
        before, now = float(optimizer.learning_rate), float(self.initial_lr * self.multiplier(epoch))
        optimizer.learning_rate = now
        momentum = getattr(optimizer, "momentum", None)
        if not self.momentum_correction or not momentum or before == 0 or before == now:
            return
        if not self.model.run_eagerly:
            # The compiled step holds the momentum as a constant.
            warnings.warn("The momentum is corrected for a changed learning rate only with run_eagerly=True", stacklevel=2)
            self.momentum_correction = False
            return
        self.restore_momentum = momentum
        optimizer.momentum = momentum * now / before


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """The learning rate rises from `initial_lr` / size to `initial_lr` during the first epochs."""

    def __init__(self, initial_lr, warmup_epochs=5, momentum_correction=True, steps_per_epoch=None, verbose=0):
        def multiplier(epoch):
            epoch += 1.0 / self.steps_per_epoch  # the last batch of the warm-up has the whole rate
            return 1.0 / size() * (epoch * (size() - 1) / warmup_epochs + 1)
        super().__init__(initial_lr, multiplier, 0, warmup_epochs, False, momentum_correction, steps_per_epoch)
        self.verbose = verbose

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if epoch == self.end_epoch - 1 and self.verbose > 0:
            rate = float(self.model.optimizer.learning_rate)
            print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {rate}.")


class BestModelCheckpoint(keras.callbacks.ModelCheckpoint):
    """Saves the best model so far, by process 0."""

    def __init__(self, filepath=None, monitor="val_loss", verbose=0, mode="auto", save_freq="epoch", **kwargs):
        super().__init__(filepath="not_set.keras" if filepath is None else filepath, monitor=monitor, verbose=verbose,
                         save_best_only=True, save_weights_only=False, mode=mode, save_freq=save_freq, **kwargs)
        if filepath is None:
            self.filepath = None

    def on_train_begin(self, logs=None):
        if self.filepath is None:
            raise ValueError("BestModelCheckpoint needs a `filepath`")
        super().on_train_begin(logs)

    def _save_model(self, *args, **kwargs):
        if rank() == 0:
            super()._save_model(*args, **kwargs)
