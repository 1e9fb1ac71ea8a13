"""Trainings that keras_test.py runs on weir. With TensorFlow's Python, `python keras_cases.py` prints what to expect."""

import numpy as np


def _data():
    rng = np.random.RandomState(3)
    return rng.rand(64, 8).astype("float32"), rng.randint(0, 3, 64)


def _model(keras):
    keras.utils.set_random_seed(3)
    layers = keras.layers
    return keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dropout(0.2),
                             layers.BatchNormalization(), layers.Dense(3)])


def _compiled(keras, optimizer="adam", **arguments):
    model = _model(keras)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"],
                  **arguments)
    return model


def _losses(history):
    return [round(float(v), 4) for v in history.history["loss"]]


def arrays(keras, tf):
    x, y = _data()
    history = _compiled(keras).fit(x, y, epochs=2, batch_size=16, verbose=0, validation_split=0.25)
    return _losses(history), [round(v, 4) for v in history.history["val_loss"]]


def datasets(keras, tf):
    x, y = _data()
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).batch(16).prefetch(2)
    return _losses(_compiled(keras).fit(dataset, epochs=2, verbose=0))


def generators(keras, tf):
    x, y = _data()

    def batches():
        while True:
            for i in range(0, 64, 16):
                yield x[i:i + 16], y[i:i + 16]
    return _losses(_compiled(keras).fit(batches(), steps_per_epoch=4, epochs=2, verbose=0))


def several_steps_at_once(keras, tf):
    x, y = _data()
    model = _compiled(keras, steps_per_execution=3)
    return _losses(model.fit(x, y, epochs=2, batch_size=16, verbose=0, shuffle=False))


def weights(keras, tf):
    x, y = _data()
    return _losses(_compiled(keras).fit(x, y, verbose=0, class_weight={0: 1.0, 1: 2.0, 2: 0.5}, shuffle=False))


def eagerly(keras, tf):
    x, y = _data()
    return _losses(_compiled(keras, run_eagerly=True).fit(x, y, epochs=2, batch_size=16, verbose=0, shuffle=False))


def custom_step(keras, tf):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
            self._loss_tracker.update_state(loss)
            return {"loss": self._loss_tracker.result()}

    keras.utils.set_random_seed(1)
    model = Model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return _losses(model.fit(*_data(), epochs=2, verbose=0, shuffle=False))


def optimizers(keras, tf):
    x, y = _data()
    kinds = "SGD RMSprop Adam AdamW Adadelta Adagrad Adamax Adafactor Nadam Ftrl Lion Lamb".split()
    return {kind: _losses(_compiled(keras, getattr(keras.optimizers, kind)()).fit(x, y, batch_size=32, verbose=0,
                                                                                  shuffle=False)) for kind in kinds}


def optimizer_options(keras, tf):
    x, y = _data()
    optimizer = keras.optimizers
    kinds = [optimizer.LossScaleOptimizer(optimizer.SGD(0.1), dynamic_growth_steps=3),
             optimizer.SGD(0.1, momentum=0.9, nesterov=True, use_ema=True, ema_overwrite_frequency=3, clipnorm=1.0),
             optimizer.Adam(0.1, gradient_accumulation_steps=3, global_clipnorm=1.0, weight_decay=0.01),
             optimizer.SGD(optimizer.schedules.CosineDecayRestarts(0.1, 3))]
    return [_losses(_compiled(keras, kind).fit(x, y, epochs=2, batch_size=16, verbose=0, shuffle=False)) for kind in kinds]


def recurrent(keras, tf):
    keras.utils.set_random_seed(2)
    layers = keras.layers
    model = keras.Sequential([keras.Input((6,), dtype="int32"), layers.Embedding(10, 4, mask_zero=True),
                              layers.Bidirectional(layers.LSTM(3, return_sequences=True)), layers.GRU(4), layers.Dense(1)])
    model.compile("adam", "mse")
    x = np.random.RandomState(0).randint(0, 10, (32, 6))
    return _losses(model.fit(x, np.sum(x, 1, keepdims=True).astype("float32"), epochs=2, verbose=0, shuffle=False))


def attention(keras, tf):
    keras.utils.set_random_seed(2)
    inputs = keras.Input((5, 8))
    x = keras.layers.MultiHeadAttention(2, 4)(inputs, inputs, use_causal_mask=True)
    x = keras.layers.LayerNormalization()(x + inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", "mse")
    rng = np.random.RandomState(0)
    return _losses(model.fit(rng.rand(32, 5, 8), rng.rand(32, 1), epochs=2, verbose=0, shuffle=False))


def text(keras, tf):
    layer = keras.layers.TextVectorization(output_mode="tf_idf", ngrams=2)
    layer.adapt(["the cat sat", "the dog, the cat"])
    return np.round(np.asarray(layer(["the cat ran"])), 3).tolist()


def sparse_inputs(keras, tf):
    keras.utils.set_random_seed(2)
    model = keras.Sequential([keras.Input((4,), sparse=True), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    x = tf.sparse.from_dense(np.tile(np.eye(4, dtype="float32"), (4, 1)))
    return _losses(model.fit(x, np.ones((16, 2)), epochs=2, batch_size=4, verbose=0, shuffle=False))


def preprocessing(keras, tf):
    dataset = tf.data.Dataset.from_tensor_slices(np.arange(12.0).reshape(6, 2)).batch(2)
    normalize = keras.layers.Normalization()
    normalize.adapt(dataset)
    return [np.round(np.asarray(v, "float64"), 3).tolist() for v in dataset.map(normalize)]


def mirrored(keras, tf):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = _compiled(keras)
    return strategy.num_replicas_in_sync, _losses(model.fit(*_data(), epochs=2, batch_size=16, verbose=0, shuffle=False))


CASES = [arrays, datasets, generators, several_steps_at_once, weights, eagerly, custom_step, optimizers, optimizer_options,
         recurrent, attention, text, sparse_inputs, preprocessing, mirrored]


def prepare(tf):
    """Two logical CPUs, before anything runs."""
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                               [tf.config.LogicalDeviceConfiguration()] * 2)


if __name__ == "__main__":
    import pprint

    import keras as real_keras
    import tensorflow as real_tf
    prepare(real_tf)
    print("EXPECTED = ", end="")
    pprint.pprint({case.__name__: case(real_keras, real_tf) for case in CASES}, width=118, sort_dicts=False)
