"""Keras on weir: the trainings of keras_cases.py beside what Keras on TensorFlow gave, and behaviour under stress."""

import gc
import os
import signal
import sys
import tempfile
import threading
import unittest

import numpy as np

os.environ["KERAS_BACKEND"] = "tensorflow"
from weir import _alias  # noqa: E402

_alias.install()
try:
    import keras
except ImportError as error:
    print(f"skipped: Keras cannot be imported ({error}); pip install keras")
    sys.exit(0)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import keras_cases  # noqa: E402
import tensorflow as tf  # noqa: E402

# What `python keras_cases.py` prints with TensorFlow 2.21 and Keras 3.15.1.
EXPECTED = {
    "arrays": ([1.4433, 1.5737], [1.1404, 1.1403]),
    "datasets": [1.5901, 1.4831],
    "generators": [1.4535, 1.4074],
    "several_steps_at_once": [1.4535, 1.4074],
    "weights": [1.5152],
    "eagerly": [1.4535, 1.4074],
    "custom_step": [1.1666, 1.1647],
    "optimizers": {"SGD": [1.4448],
                   "RMSprop": [1.4381],
                   "Adam": [1.4455],
                   "AdamW": [1.4455],
                   "Adadelta": [1.4491],
                   "Adagrad": [1.448],
                   "Adamax": [1.4455],
                   "Adafactor": [1.448],
                   "Nadam": [1.4453],
                   "Ftrl": [1.2065],
                   "Lion": [1.4455],
                   "Lamb": [1.4473]},
    "optimizer_options": [[1.4115, 1.2024], [1.4003, 1.1659], [1.4447, 1.0501], [1.4113, 1.2194]],
    "recurrent": [773.802, 773.477],
    "attention": [0.9436, 0.8644],
    "text": [[1.25, 0.5109999775886536, 0.5109999775886536, 0.5109999775886536, 0.0, 0.0, 0.0, 0.0, 0.0]],
    "sparse_inputs": [0.91, 0.8444],
    "preprocessing": [[[-1.464, -1.464], [-0.878, -0.878]], [[-0.293, -0.293], [0.293, 0.293]],
                      [[0.878, 0.878], [1.464, 1.464]]],
    "mirrored": (2, [1.3935, 1.3924]),
}


class KerasTest(unittest.TestCase):
    def same(self, mine, theirs):
        if isinstance(theirs, dict):
            self.assertEqual(list(mine), list(theirs))
            for key in theirs:
                self.same(mine[key], theirs[key])
        else:
            self.assertEqual(np.asarray(mine, dtype=object).shape, np.asarray(theirs, dtype=object).shape)
            flat = [keras.tree.flatten(v) for v in (mine, theirs)]
            np.testing.assert_allclose(*flat, rtol=2e-3, atol=2e-4)

    def test_trainings_give_what_they_give_on_tensorflow(self):
        for case in keras_cases.CASES:
            with self.subTest(case=case.__name__):
                self.same(case(keras, tf), EXPECTED[case.__name__])

    def test_the_backend_is_weir(self):
        import weir
        self.assertIs(tf.constant(1).__class__, weir.constant(1).__class__)
        self.assertIs(tf.keras.layers.Dense, keras.layers.Dense)


class OptimizersTest(unittest.TestCase):
    def test_slices_that_name_a_row_twice(self):
        gradient = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([0, 2, 0]),
                                    tf.constant([4, 2]))
        for name, expected in (("Adam", [0.7647, 0.747]), ("RMSprop", [0.3579, 0.3098]), ("Adagrad", [0.7994, 0.7843])):
            weights = keras.Variable(np.ones((4, 2), "float32"))
            optimizer = getattr(keras.optimizers, name)(0.1)
            optimizer.build([weights])
            step = tf.function(lambda: optimizer.apply([gradient], [weights]))
            step()
            step()
            np.testing.assert_allclose(np.asarray(weights)[0], expected, atol=1e-4, err_msg=name)
            np.testing.assert_allclose(np.asarray(weights)[1], [1, 1], err_msg=name)


class ModelsTest(unittest.TestCase):
    def model(self):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    def test_saved_models_give_the_same_results(self):
        import copy
        import pickle
        model, x = self.model(), np.ones((2, 4), "float32")
        model.fit(x, np.ones((2, 1)), verbose=0)
        expected = model.predict(x, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder + "/model.keras")
            model.save_weights(folder + "/model.weights.h5")
            loaded = keras.models.load_model(folder + "/model.keras")
            clone = keras.models.clone_model(model)
            clone.load_weights(folder + "/model.weights.h5")
        for other in (loaded, clone, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_allclose(other.predict(x, verbose=0), expected, rtol=1e-6)

    def test_callbacks(self):
        with tempfile.TemporaryDirectory() as folder:
            callbacks = [keras.callbacks.ModelCheckpoint(folder + "/{epoch}.keras"),
                         keras.callbacks.BackupAndRestore(folder + "/backup"),
                         keras.callbacks.CSVLogger(folder + "/log.csv"),
                         keras.callbacks.EarlyStopping(monitor="loss", patience=1, min_delta=100),
                         keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1)]
            history = self.model().fit(np.ones((8, 4)), np.ones((8, 1)), epochs=5, verbose=0, callbacks=callbacks)
            self.assertEqual(len(history.history["loss"]), 2)
            self.assertEqual(sorted(f for f in os.listdir(folder) if f.endswith(".keras")), ["1.keras", "2.keras"])

    def test_symbolic_shapes_keep_unknown_dimensions(self):
        x = keras.Input((None, 8))
        self.assertEqual(keras.layers.LSTM(3, return_sequences=True)(x).shape, (None, None, 3))
        self.assertEqual(keras.ops.median(x, axis=-1).shape, (None, None))
        self.assertEqual(keras.layers.Conv1D(2, 3, padding="same")(x).shape, (None, None, 2))


class StressTest(unittest.TestCase):
    def model(self):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    def test_functions_of_dropped_models_are_removed(self):
        from weir.eager import function

        def train_and_drop():
            self.model().train_on_batch(np.ones((4, 4)), np.ones((4, 1)))
            gc.collect()
            return len(function.live_functions)
        first = train_and_drop()
        self.assertEqual([train_and_drop() for _ in range(5)], [first] * 5)

    def test_an_exception_of_a_callback_or_a_generator_arrives(self):
        class Failing(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                raise ZeroDivisionError("of the callback")

        def batches():
            yield np.ones((4, 4)), np.ones((4, 1))
            raise OSError("of the generator")
        with self.assertRaisesRegex(ZeroDivisionError, "of the callback"):
            self.model().fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0, callbacks=[Failing()])
        with self.assertRaisesRegex(Exception, "of the generator"):
            self.model().fit(batches(), steps_per_epoch=3, verbose=0)

    def test_ctrl_c_ends_fit(self):
        class Interrupting(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                os.kill(os.getpid(), signal.SIGINT)
        model = self.model()
        with self.assertRaises(KeyboardInterrupt):
            model.fit(np.ones((64, 4)), np.ones((64, 1)), epochs=1000, verbose=0, callbacks=[Interrupting()])
        self.assertEqual(model.predict(np.ones((2, 4)), verbose=0).shape, (2, 1))

    def test_two_threads_train(self):
        results = []

        def train():
            history = self.model().fit(np.ones((64, 4)), np.ones((64, 1)), epochs=3, batch_size=8, verbose=0)
            results.append(len(history.history["loss"]))
        threads = [threading.Thread(target=train) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [3, 3])

    def test_workers_of_a_dataset_end_without_waiting_for_each_other(self):
        class Batches(keras.utils.PyDataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                return np.ones((4, 4)), np.ones((4, 1))
        for _ in range(5):
            history = self.model().fit(Batches(workers=2), epochs=2, verbose=0)
            self.assertEqual(len(history.history["loss"]), 2)


if __name__ == "__main__":
    keras_cases.prepare(tf)
    unittest.main()
