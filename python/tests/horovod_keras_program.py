"""Trains with Horovod's recipe on this rank's part of each batch; rank 0 prints the losses. For horovod_test.py, which
compares the losses of one process and of two."""

import json
import sys

import keras
import numpy as np
import tensorflow as tf  # noqa: F401 weir, under python -m weir

import horovod.tensorflow.keras as hvd

hvd.init()
keras.utils.set_random_seed(1 + hvd.rank())  # other first values on each rank: those of rank 0 count
BATCH, STEPS = 16, 50
rng = np.random.RandomState(0)
x = rng.normal(size=(BATCH * STEPS, 6)).astype("float32")
y = (x[:, :1] > x[:, 1:2]).astype("float32")
part = np.arange(BATCH * STEPS) % BATCH * hvd.size() // BATCH == hvd.rank()
inputs = keras.Input((6,))
hidden = keras.layers.Dense(8, "tanh")(inputs)
if "normalized" in sys.argv:
    hidden = hvd.SyncBatchNormalization(momentum=0.8)(hidden)
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
optimizer = hvd.DistributedOptimizer(keras.optimizers.Adam(0.02), backward_passes_per_step=int(sys.argv[1]))
model.compile(optimizer, keras.losses.BinaryCrossentropy(from_logits=True))
hvd.broadcast_variables(model.variables, 0)


class Losses(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.all = []

    def on_train_batch_end(self, batch, logs=None):
        self.all.append(float(hvd.allreduce(np.float64(model.evaluate(x[:64], y[:64], verbose=0, batch_size=64)))))


losses = Losses()
history = model.fit(x[part], y[part], batch_size=BATCH // hvd.size(), epochs=2, shuffle=False, verbose=0, callbacks=[
    hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback(), losses,
    hvd.callbacks.LearningRateWarmupCallback(0.02, warmup_epochs=1, verbose=0) if hvd.size() == 1 else
    hvd.callbacks.LearningRateScheduleCallback(0.02, multiplier=1.0)])
if hvd.rank() == 0:
    print(json.dumps({"steps": losses.all, "epochs": history.history["loss"], "rate": history.history["lr"]}))
