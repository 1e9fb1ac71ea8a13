"""Cases for compare_keras.py: whole trainings, data adapters, callbacks, saving, exporting, cloning, quantization and
the rest of what programs do with Keras."""

import json
import os
import pickle
import tempfile

import keras
import numpy as np
import tensorflow as tf

L = keras.layers
CASES = {}


def case(function):
    CASES[function.__name__.strip("_")] = function
    return function


def x(*shape):
    return np.sin(np.arange(np.prod(shape))).reshape(shape).astype("float32")


def model(units=1, **compiled):
    out = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh"), L.Dense(units)])
    out.compile(**{"optimizer": "sgd", "loss": "mean_squared_error", **compiled})
    return out


def history(fitted):
    return {k: [float(v) for v in values] for k, values in fitted.history.items()}


DATA = x(20, 4), x(20, 1)


def fit(m, *arguments, **options):
    return history(m.fit(*arguments, **{"epochs": 2, "verbose": 0, "shuffle": False, **options}))


@case
def arrays_with_everything():
    m = model(metrics=["mae", keras.metrics.RootMeanSquaredError()], weighted_metrics=["mse"])
    return [fit(m, *DATA, batch_size=6, validation_split=0.25, sample_weight=np.linspace(0, 1, 20), class_weight=None),
            m.evaluate(*DATA, verbose=0), m.evaluate(*DATA, verbose=0, return_dict=True), m.predict(DATA[0], verbose=0),
            m.predict_on_batch(DATA[0][:2]), m.train_on_batch(*DATA), m.test_on_batch(*DATA, return_dict=True), m.metrics_names]


@case
def class_weights():
    m = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="softmax")])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["accuracy"])
    return fit(m, DATA[0], np.arange(20) % 3, class_weight={0: 0.5, 1: 1.0, 2: 3.0})


@case
def shuffled():
    return fit(model(), *DATA, shuffle=True, batch_size=4)


@case
def batch_shuffled():
    return fit(model(), *DATA, shuffle="batch", batch_size=4)


@case
def dictionaries():
    a, b = keras.Input((4,), name="a"), keras.Input((2,), name="b")
    h = L.Concatenate()([a, b])
    m = keras.Model({"a": a, "b": b}, {"p": L.Dense(1, name="p")(h), "q": L.Dense(2, name="q")(h)})
    m.compile("sgd", {"p": "mse", "q": "mae"}, loss_weights={"p": 0.3, "q": 2.0}, metrics={"p": ["mae"], "q": ["mse"]})
    data = {"a": x(8, 4), "b": x(8, 2)}
    return [fit(m, data, {"p": x(8, 1), "q": x(8, 2)}, sample_weight={"p": x(8), "q": x(8)}), m.predict(data, verbose=0),
            m.evaluate(data, {"p": x(8, 1), "q": x(8, 2)}, verbose=0, return_dict=True), list(m.metrics_names)]


@case
def lists_of_outputs():
    a = keras.Input((4,))
    m = keras.Model(a, [L.Dense(1)(a), L.Dense(2)(a)])
    m.compile("rmsprop", ["mse", "mae"], metrics=[["mae"], ["mse", "mae"]])
    return [fit(m, DATA[0], [x(20, 1), x(20, 2)]), m.evaluate(DATA[0], [x(20, 1), x(20, 2)], verbose=0)]


@case
def generator():
    def made():
        for start in range(0, 20, 5):
            yield DATA[0][start:start + 5], DATA[1][start:start + 5]
    return [fit(model(), made(), epochs=1), model().predict(((p,) for p, _ in made()), verbose=0)]


@case
def endless_generator():
    def made():
        while True:
            yield DATA[0][:5], DATA[1][:5], np.ones(5)
    m = model()
    return fit(m, made(), steps_per_epoch=3, validation_data=made(), validation_steps=2)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return DATA[0][index * 5:index * 5 + 5], DATA[1][index * 5:index * 5 + 5]


@case
def py_dataset():
    return [fit(model(), Batches()), fit(model(), Batches(workers=2)), fit(model(), Batches(workers=2, use_multiprocessing=False),
                                                                         validation_data=Batches())]


@case
def datasets():
    d = tf.data.Dataset.from_tensor_slices(DATA).batch(6)
    return [fit(model(), d), fit(model(), d.repeat(), steps_per_epoch=3), model().evaluate(d, verbose=0),
            model().predict(d, verbose=0), fit(model(), d.map(lambda a, b: (a, b, tf.ones(tf.shape(a)[0]))), validation_data=d)]


@case
def datasets_of_dictionaries():
    a, b = keras.Input((4,), name="a"), keras.Input((2,), name="b")
    m = keras.Model([a, b], L.Dense(1)(L.Concatenate()([a, b])))
    m.compile("sgd", "mse")
    d = tf.data.Dataset.from_tensor_slices(({"a": x(8, 4), "b": x(8, 2)}, x(8, 1))).batch(3)
    return fit(m, d)


@case
def steps_per_execution():
    return [fit(model(steps_per_execution=3), *DATA, batch_size=4),
            model(steps_per_execution=4).predict(DATA[0], batch_size=3, verbose=0),
            model(steps_per_execution=2).evaluate(*DATA, batch_size=3, verbose=0)]


@case
def eagerly():
    return fit(model(run_eagerly=True, metrics=["mae"]), *DATA)


@case
def jit():
    return [fit(model(jit_compile=True), *DATA), fit(model(jit_compile=False), *DATA), model(jit_compile="auto").jit_compile]


@case
def mixed_precision():
    out = []
    for policy in ("mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float64"):
        keras.config.set_dtype_policy(policy)
        try:
            m = model()
            out.append([fit(m, *DATA), [str(w.dtype) for w in m.weights], type(m.optimizer).__name__, m.predict(DATA[0], verbose=0)])
        finally:
            keras.config.set_dtype_policy("float32")
    return out


class Stepped(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.mean = L.Dense(1), keras.metrics.Mean("mine")

    def call(self, inputs, training=False):
        return self.dense(inputs)

    def train_step(self, data):
        inputs, targets = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=targets, y_pred=self(inputs, training=True))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.mean.update_state(loss)
        return {"mine": self.mean.result(), **{v.name: v.result() for v in self.metrics if v.name == "loss"}}

    def test_step(self, data):
        return {"tested": tf.reduce_sum(self(data[0]))}

    def predict_step(self, data):
        return self(data) * 2


@case
def own_steps():
    m = Stepped()
    m.compile("adam", "mse", metrics=["mae"])
    return [fit(m, *DATA, validation_data=DATA), m.predict(DATA[0], verbose=0)]


class Losing(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = L.Dense(1)

    def call(self, inputs):
        self.add_loss(tf.reduce_mean(inputs) * 0.1)
        return self.dense(inputs)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return super().compute_loss(x, y, y_pred, sample_weight) + 1.0

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return {**super().compute_metrics(x, y, y_pred, sample_weight), "extra": tf.reduce_mean(y_pred)}


@case
def own_losses():
    m = Losing()
    m.compile("sgd", "mse", metrics=["mae"])
    return fit(m, *DATA)


class Recorder(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __getattribute__(self, name):
        if name.startswith("on_"):
            def record(*arguments, **options):
                logs = options.get("logs") or next((a for a in arguments if isinstance(a, dict)), {})
                self.seen.append([name, [a for a in arguments if isinstance(a, int)],
                                  {k: round(float(v), 3) for k, v in logs.items() if k != "outputs"}])
            return record
        return super().__getattribute__(name)


@case
def callbacks_in_order():
    recorder = Recorder()
    m = model(metrics=["mae"])
    m.fit(*DATA, batch_size=10, epochs=2, verbose=0, shuffle=False, validation_data=DATA, callbacks=[recorder])
    m.evaluate(*DATA, verbose=0, callbacks=[recorder])
    m.predict(DATA[0], verbose=0, callbacks=[recorder])
    return json.dumps(recorder.seen)


@case
def early_stopping():
    m = model()
    stop = keras.callbacks.EarlyStopping("loss", patience=1, min_delta=10.0, restore_best_weights=True)
    return [fit(m, *DATA, epochs=9, callbacks=[stop]), stop.stopped_epoch, stop.best_epoch]


@case
def plateaus_and_schedules():
    m = model()
    seen = fit(m, *DATA, epochs=5, callbacks=[
        keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=0, min_delta=5.0),
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9), keras.callbacks.TerminateOnNaN()])
    return [seen, m.optimizer.learning_rate]


@case
def checkpoints():
    with tempfile.TemporaryDirectory() as folder:
        m = model()
        fit(m, *DATA, callbacks=[keras.callbacks.ModelCheckpoint(folder + "/{epoch:02d}-{loss:.2f}.keras"),
                                 keras.callbacks.ModelCheckpoint(folder + "/w.weights.h5", save_weights_only=True, monitor="loss",
                                                                 save_best_only=True),
                                 keras.callbacks.CSVLogger(folder + "/log.csv"),
                                 keras.callbacks.BackupAndRestore(folder + "/backup")])
        files = sorted(os.listdir(folder))
        again = keras.saving.load_model(os.path.join(folder, files[0]))
        return [files, open(folder + "/log.csv").read().split("\n")[0], again.predict(DATA[0], verbose=0), fit(again, *DATA)]


@case
def backup_after_failure():
    class Failing(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise RuntimeError("stopped")
    with tempfile.TemporaryDirectory() as folder:
        m = model("adam" and 1)
        try:
            fit(m, *DATA, epochs=4, callbacks=[keras.callbacks.BackupAndRestore(folder), Failing()])
        except RuntimeError as error:
            message = str(error)
        return [message, fit(m, *DATA, epochs=4, callbacks=[keras.callbacks.BackupAndRestore(folder)])]


@case
def lambda_and_swap():
    seen = []
    m = model(optimizer=keras.optimizers.SGD(0.1, use_ema=True))
    out = fit(m, *DATA, validation_data=DATA, callbacks=[
        keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(sorted(logs))),
        keras.callbacks.SwapEMAWeights()])
    return [out, seen, m.predict(DATA[0], verbose=0)]


def _all_kinds():
    a = keras.Input((4,), name="a")
    functional = keras.Model(a, L.Dense(2, name="d")(L.BatchNormalization()(a)), name="functional")
    nested = keras.Sequential([keras.Input((4,)), functional, L.Dropout(0.5, seed=1), L.Dense(1)])
    return {"functional": functional, "nested": nested, "sequential": model()}


@case
def saving():
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, m in _all_kinds().items():
            path = f"{folder}/{name}"
            m.save(path + ".keras")
            m.save(path + ".h5")
            m.save_weights(path + ".weights.h5")
            m.save_weights(path + ".weights.json", max_shard_size=0.001)
            one, two = keras.saving.load_model(path + ".keras"), keras.saving.load_model(path + ".h5")
            three = keras.models.clone_model(m)
            three.load_weights(path + ".weights.h5")
            four = keras.Model.from_config(m.get_config()) if name == "functional" else keras.models.model_from_json(m.to_json())
            four.load_weights(path + ".weights.json")
            out[name] = [v.predict(DATA[0], verbose=0) for v in (one, two, three, four)] + [m.to_json(), m.count_params()]
    return out


@case
def saving_while_training():
    with tempfile.TemporaryDirectory() as folder:
        m = model(optimizer=keras.optimizers.Adam(0.1), metrics=["mae", "mse"], loss=keras.losses.Huber(0.5))
        first = fit(m, *DATA)
        m.save(folder + "/m.keras")
        again = keras.saving.load_model(folder + "/m.keras")
        return [first, fit(m, *DATA), fit(again, *DATA), [v.path for v in again.optimizer.variables]]


@keras.saving.register_keras_serializable("cases")
class Own(L.Layer):
    def __init__(self, units=2, **options):
        super().__init__(**options)
        self.units, self.inner = units, L.Dense(units)
        self.table = {"a": L.Dense(2), "b": [L.Dense(1)]}

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale", regularizer="l2")
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False, dtype="int32")

    def call(self, inputs, training=None, mask=None):
        self.count.assign_add(1)
        return self.table["b"][0](self.table["a"](self.inner(inputs * self.scale)))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@case
def own_layers():
    with tempfile.TemporaryDirectory() as folder:
        m = keras.Sequential([keras.Input((4,)), Own(3), Own(name="other")])
        m.compile("adam", "mse")
        first = fit(m, *DATA)
        m.save(folder + "/m.keras")
        again = keras.saving.load_model(folder + "/m.keras")
        return [first, again.predict(DATA[0], verbose=0), [w.path for w in again.weights], [float(v) for v in again.losses],
                [str(v.dtype) for v in again.weights]]


@case
def exporting():
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, m in _all_kinds().items():
            m.export(f"{folder}/{name}", verbose=False)
            loaded = tf.saved_model.load(f"{folder}/{name}")
            layer = L.TFSMLayer(f"{folder}/{name}", call_endpoint="serve")
            out[name] = [loaded.serve(tf.constant(DATA[0])), layer(DATA[0]), list(loaded.signatures),
                         loaded.signatures["serving_default"].structured_input_signature[1]["keras_tensor" if name != "functional" else
                         "a"].shape if False else None, len(layer.weights)]
    return out


@case
def export_archive():
    with tempfile.TemporaryDirectory() as folder:
        m = model()
        archive = keras.export.ExportArchive()
        archive.track(m)
        archive.add_endpoint("call", m.call, input_signature=[tf.TensorSpec((None, 4))])
        archive.add_endpoint("twice", lambda v: m(v) * 2, input_signature=[tf.TensorSpec((3, 4))])
        archive.add_variable_collection("all", m.weights)
        archive.write_out(folder + "/e", verbose=False)
        loaded = tf.saved_model.load(folder + "/e")
        return [loaded.call(DATA[0]), loaded.twice(DATA[0][:3]), len(loaded.all)]


@case
def pickling():
    m = model()
    again = pickle.loads(pickle.dumps(m))
    return [again.predict(DATA[0], verbose=0) - m.predict(DATA[0], verbose=0), fit(again, *DATA)]


@case
def quantized():
    out = {}
    for mode in ("int8", "int4", "float8"):
        a = keras.Input((6,))
        h = L.Dense(4, activation="relu")(a)
        h = L.EinsumDense("ab,bc->ac", output_shape=3, bias_axes="c")(h)
        m = keras.Model(a, h)
        m.quantize(mode)
        with tempfile.TemporaryDirectory() as folder:
            m.save(folder + "/m.keras")
            again = keras.saving.load_model(folder + "/m.keras")
        out[mode] = [m(x(3, 6)), again(x(3, 6)), [str(w.dtype) for w in m.weights]]
    e = keras.Sequential([keras.Input((3,), dtype="int32"), L.Embedding(7, 4)])
    e.quantize("int8")
    out["embedding"] = e(np.array([[1, 2, 3]]))
    return out


@case
def lora():
    m = model()
    m.layers[0].enable_lora(2)
    m.compile("adam", "mse")
    return [fit(m, *DATA), [w.path for w in m.trainable_weights]]


@case
def frozen_layers():
    m = model()
    m.layers[0].trainable = False
    m.compile("sgd", "mse")
    before = m.layers[0].get_weights()
    seen = fit(m, *DATA)
    return [seen, np.array_equal(before[0], m.layers[0].get_weights()[0]), len(m.trainable_weights), len(m.non_trainable_weights)]


@case
def summaries():
    lines = []
    _all_kinds()["nested"].summary(print_fn=lambda line, **_: lines.append(line), expand_nested=True, show_trainable=True)
    return "\n".join(lines)


@case
def functions():
    a, b = keras.Input((3,)), keras.Input((None,))
    g = keras.Function([a, b], {"s": keras.ops.sum(b, axis=1, keepdims=True) + a, "m": keras.ops.mean(a)})
    return [g([x(2, 3), x(2, 5)]), g.compute_output_spec([keras.KerasTensor((4, 3)), keras.KerasTensor((4, 9))])]


@case
def masks():
    m = keras.Sequential([keras.Input((5,), dtype="int32"), L.Embedding(9, 4, mask_zero=True), L.LSTM(3, return_sequences=True),
                          L.Bidirectional(L.GRU(2, return_sequences=True)), L.TimeDistributed(L.Dense(2)), L.GlobalAveragePooling1D(),
                          L.Dense(1)])
    m.compile("sgd", "mse")
    data = np.array([[1, 2, 0, 0, 0], [3, 4, 5, 6, 0], [1, 1, 1, 1, 1]])
    return [fit(m, data, x(3, 1)), m.predict(data, verbose=0)]


@case
def attention_masks():
    a = keras.Input((5,), dtype="int32")
    e = L.Embedding(9, 4, mask_zero=True)(a)
    m = keras.Model(a, L.GlobalMaxPooling1D()(L.MultiHeadAttention(2, 3)(e, e, use_causal_mask=True)))
    m.compile("sgd", "mse")
    data = np.array([[1, 2, 0, 0, 0], [3, 4, 5, 6, 0], [1, 1, 1, 1, 1]])
    return [fit(m, data, x(3, 4)), m.predict(data, verbose=0)]


@case
def sparse_inputs():
    a = keras.Input((6,), sparse=True)
    m = keras.Model(a, L.Dense(2)(a))
    m.compile("sgd", "mse")
    data = tf.sparse.from_dense(np.where(x(8, 6) > 0.5, x(8, 6), 0).astype("float32"))
    return [fit(m, data, x(8, 2), batch_size=3), m.predict(data, verbose=0), m.evaluate(data, x(8, 2), verbose=0)]


@case
def scipy_like_ragged():
    a = keras.Input((None,), ragged=True, dtype="int32")
    m = keras.Model(a, L.Embedding(9, 2)(a))
    return m(tf.ragged.constant([[1, 2], [3]], dtype=tf.int32))


@case
def preprocessing_in_data():
    text = np.array(["the cat", "a dog the", "cat cat"])
    vectors = L.TextVectorization(output_mode="int", output_sequence_length=4)
    vectors.adapt(tf.data.Dataset.from_tensor_slices(text).batch(2))
    d = tf.data.Dataset.from_tensor_slices((text, x(3, 1))).batch(2).map(lambda t, y: (vectors(t), y))
    m = keras.Sequential([L.Embedding(20, 2), L.Flatten(), L.Dense(1)])
    m.compile("sgd", "mse")
    return [fit(m, d), vectors.get_vocabulary(), [v for v, _ in d]]


@case
def preprocessing_in_models():
    a = keras.Input((1,), dtype="string")
    m = keras.Model(a, L.StringLookup(vocabulary=["a", "b", "c"], output_mode="one_hot")(a))
    with tempfile.TemporaryDirectory() as folder:
        m.save(folder + "/m.keras")
        again = keras.saving.load_model(folder + "/m.keras")
        m.export(folder + "/e", verbose=False)
        served = tf.saved_model.load(folder + "/e").serve(tf.constant([["b"], ["z"]]))
    return [m(tf.constant([["a"], ["q"]])), again(tf.constant([["c"], ["q"]])), served, m.predict(tf.constant([["a"], ["q"]]), verbose=0)]


@case
def augmentation_in_data():
    pictures = (x(4, 8, 8, 3) + 1) * 127
    out = []
    for layer in (L.RandomFlip(seed=1), L.RandomRotation(0.2, seed=1), L.RandomZoom(0.2, seed=1), L.RandomContrast(0.3, seed=1),
                  L.RandomBrightness(0.3, seed=1), L.RandomTranslation(0.1, 0.1, seed=1), L.RandomCrop(5, 5, seed=1),
                  L.Resizing(4, 4), L.CenterCrop(4, 4), L.Rescaling(0.5), L.RandomHue(0.2, seed=1), L.RandomSaturation(0.3, seed=1),
                  L.RandomErasing(seed=1), L.RandomGaussianBlur(seed=1), L.RandomShear(0.2, 0.2, seed=1), L.MixUp(seed=1),
                  L.CutMix(seed=1), L.RandAugment(seed=1), L.AutoContrast(), L.Solarization(seed=1), L.Equalization(), L.AugMix(seed=1)):
        if isinstance(layer, (L.MixUp, L.CutMix)):
            d = tf.data.Dataset.from_tensor_slices({"images": pictures, "labels": x(4, 2)}).batch(4).map(layer)
            out.append(next(iter(d))["images"])
        else:
            d = tf.data.Dataset.from_tensor_slices(pictures).batch(2).map(lambda v, g=layer: g(v, training=True)
                                                                         if "training" in g._call_signature.parameters else g(v))
            out.append(list(d))
    return out


@case
def bounding_boxes():
    boxes = {"boxes": np.array([[[1, 1, 4, 4], [2, 2, 6, 6]]], "float32"), "labels": np.array([[0, 1]], "float32")}
    picture = (x(1, 8, 8, 3) + 1) * 127
    out = []
    for kind, options in ((L.RandomFlip, {}), (L.Resizing, {"height": 4, "width": 4}), (L.RandomCrop, {"height": 5, "width": 5}), (
            L.RandomTranslation, {"height_factor": 0.2, "width_factor": 0.1}), (L.RandomZoom, {"height_factor": 0.2}), (
                L.CenterCrop, {"height": 5, "width": 5}), (L.RandomRotation, {"factor": 0.1})):
        seeded = {} if kind in (L.Resizing, L.CenterCrop) else {"seed": 1}
        layer = kind(bounding_box_format="xyxy", **options, **seeded) if kind is not L.CenterCrop else kind(**options)
        try:
            out.append(layer({"images": picture, "bounding_boxes": boxes}))
        except Exception as error:  # noqa: BLE001
            out.append(["error", type(error).__name__, str(error)])
    return out


@case
def feature_space():
    space = keras.utils.FeatureSpace(features={
        "n": keras.utils.FeatureSpace.float_normalized(), "s": keras.utils.FeatureSpace.string_categorical(),
        "i": keras.utils.FeatureSpace.integer_categorical(), "d": keras.utils.FeatureSpace.float_discretized(num_bins=3),
        "h": keras.utils.FeatureSpace.string_hashed(num_bins=4)}, crosses=[keras.utils.FeatureSpace.cross(("s", "i"), 5)],
        output_mode="concat")
    data = {"n": x(6), "s": np.array(list("abcabc")), "i": np.array([1, 2, 3, 1, 2, 3]), "d": x(6), "h": np.array(list("pqrpqr"))}
    space.adapt(tf.data.Dataset.from_tensor_slices(data))
    return [space({k: v[:2] for k, v in data.items()}), space({k: v[0] for k, v in data.items()})]


@case
def utilities():
    u = keras.utils
    return [u.to_categorical([0, 2, 1]), u.normalize(x(2, 3)), u.split_dataset(x(10, 2), left_size=0.7)[0].cardinality(),
            list(u.timeseries_dataset_from_array(np.arange(20.0), np.arange(20), 4, sampling_rate=2, batch_size=3, shuffle=False)),
            u.pad_sequences([[1], [2, 3, 4]], maxlen=2), u.bounding_boxes.convert_format(
                np.array([[[1, 2, 3, 4.0]]]), "xyxy", "xywh"), u.bounding_boxes.compute_iou(
                    np.array([[0, 0, 2, 2.0]]), np.array([[1, 1, 3, 3.0]]), "xyxy"),
            [v for v in u.split_dataset(tf.data.Dataset.range(10), right_size=3)[1]]]


@case
def image_folders():
    with tempfile.TemporaryDirectory() as folder:
        for label in ("cat", "dog"):
            os.makedirs(f"{folder}/{label}")
            for number in range(3):
                data = tf.io.encode_png(tf.cast((x(6, 7, 3) + 1) * (100 + number), tf.uint8))
                tf.io.write_file(f"{folder}/{label}/{number}.png", data)
        d = keras.utils.image_dataset_from_directory(folder, image_size=(4, 5), batch_size=2, shuffle=False, verbose=False)
        e = keras.utils.image_dataset_from_directory(folder, image_size=(4, 5), batch_size=2, seed=3, validation_split=0.3,
                                                     subset="both", label_mode="categorical", verbose=False)
        return [list(d), d.class_names, [len(list(v)) for v in e], keras.utils.img_to_array(x(2, 2, 1))]


@case
def text_folders():
    with tempfile.TemporaryDirectory() as folder:
        for label in ("no", "yes"):
            os.makedirs(f"{folder}/{label}")
            for number in range(3):
                tf.io.write_file(f"{folder}/{label}/{number}.txt", f"{label} {number}")
        d = keras.utils.text_dataset_from_directory(folder, batch_size=2, shuffle=False, verbose=False, label_mode="binary")
        return list(d)


@case
def applications():
    out = {}
    for name, size in (("MobileNetV2", 32), ("MobileNetV3Small", 32), ("EfficientNetB0", 32), ("ResNet50V2", 32), ("DenseNet121", 32)):
        m = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=3)
        for w in m.weights:
            w.assign(np.sin(np.arange(np.prod(w.shape))).reshape(w.shape) * 0.05 + (1.0 if "variance" in w.path else 0.0))
        out[name] = [m(x(1, size, size, 3)), m.count_params(), len(m.layers)]
    return out


@case
def distillation():
    teacher, student = model(), model()
    teacher.predict(DATA[0], verbose=0)
    d = keras.distillation.Distiller(teacher=teacher, student=student, distillation_losses=keras.distillation.LogitsDistillation(
        temperature=2.0, loss="mse"), student_loss_weight=0.5)
    d.compile("sgd", "mse")
    return fit(d, *DATA)


@case
def random_streams():
    g = keras.random.SeedGenerator(3)
    return [g.next(), g.next(), keras.random.normal((2,), seed=g), g.state.numpy(), L.Dropout(0.5, seed=2)(x(3, 3), training=True)]


@case
def remat():
    with keras.RematScope("full"):
        a = keras.Input((4,))
        m = keras.Model(a, L.Dense(1)(L.Dense(3, activation="relu")(a)))
    m.compile("sgd", "mse")
    return fit(m, *DATA)


@case
def gradient_checkpoint_of_layer():
    layer = L.Dense(3)
    layer.build((None, 4))
    inputs = tf.constant(x(2, 4))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(keras.remat(lambda v: layer(v) ** 2)(inputs))
    return tape.gradient(y, layer.trainable_weights)


@case
def stateless_calls():
    m = model()
    trainable, rest = [v.value for v in m.trainable_variables], [v.value for v in m.non_trainable_variables]
    return [m.stateless_call(trainable, rest, x(2, 4)), m.optimizer.stateless_apply(
        [v.value for v in m.optimizer.variables], [tf.ones_like(v) for v in trainable], trainable)
        if m.optimizer.built else None]


@case
def errors():
    out = []
    for wrong in (lambda: model().fit(x(3, 5), x(3, 1), verbose=0), lambda: L.Dense(3)(x(2)[0]), lambda: L.Conv2D(3, 3)(x(2, 4)),
                  lambda: model(loss="nonsense"), lambda: L.Dense(-1), lambda: model().predict(x(0, 4), verbose=0),
                  lambda: model().fit(*DATA, batch_size=0, verbose=0), lambda: L.Reshape((7,))(x(2, 4)),
                  lambda: L.Concatenate()([x(2, 3), x(3, 3)]), lambda: keras.Model([], []), lambda: L.Embedding(3, 2)(np.array([[7]])),
                  lambda: keras.ops.reshape(x(2, 3), (4,)), lambda: model().fit(x(3, 4), x(2, 1), verbose=0),
                  lambda: model().load_weights("/nonexistent.weights.h5"), lambda: keras.saving.load_model("/nonexistent.keras"),
                  lambda: keras.Sequential([L.Dense(2)]).predict(np.array([["a"]]), verbose=0),
                  lambda: model().fit(DATA[0], DATA[1], validation_data=(x(2, 9), x(2, 1)), verbose=0),
                  lambda: L.LSTM(2)(x(2, 4)), lambda: keras.ops.matmul(x(2, 3), x(2, 3)), lambda: model(optimizer="nonsense"),
                  lambda: L.Dot(axes=1)([x(2, 3), x(2, 4)]), lambda: L.BatchNormalization(axis=5)(x(2, 3))):
        try:
            wrong()
            out.append(None)
        except Exception as error:  # noqa: BLE001
            out.append([type(error).__name__, str(error)])
    return out


@case
def strategies():
    out = []
    for strategy in (tf.distribute.get_strategy(), tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.MirroredStrategy(["/cpu:0"])):
        with strategy.scope():
            m = model()
        out.append([fit(m, *DATA), m.predict(DATA[0], verbose=0)])
    return out


@case
def convolutional():
    m = keras.Sequential([keras.Input((8, 8, 2)), L.Conv2D(4, 3, padding="same"), L.BatchNormalization(), L.ReLU(), L.MaxPooling2D(),
                          L.SeparableConv2D(4, 3), L.DepthwiseConv2D(2), L.GlobalAveragePooling2D(), L.Dense(3, activation="softmax")])
    m.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return [fit(m, x(12, 8, 8, 2), np.arange(12) % 3, batch_size=4), m.predict(x(3, 8, 8, 2), verbose=0)]


@case
def legacy_backend():
    b = keras.src.legacy.backend

    def x(*shape):
        return tf.constant(globals()["x"](*shape))
    return [b.mean(x(2, 3), axis=1), b.dot(x(2, 3), x(3, 2)), b.batch_dot(x(2, 3, 4), x(2, 4, 2)), b.one_hot(np.array([1, 0]), 3),
            b.softmax(x(2, 3)), b.resize_images(x(1, 2, 2, 1), 2, 2, "channels_last"), b.temporal_padding(x(1, 3, 2)),
            b.categorical_crossentropy(np.eye(3, dtype="float32"), abs(x(3, 3))), b.int_shape(tf.zeros((2, 3))), b.repeat_elements(x(2, 2), 2, 1),
            b.switch(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2)), b.rnn(lambda i, s: (i + s[0], [i + s[0]]),
                                                                                             x(2, 3, 4), [tf.zeros((2, 4))])]


def cases():
    for name, function in CASES.items():
        yield "program." + name, function
