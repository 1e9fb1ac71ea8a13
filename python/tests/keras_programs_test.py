"""Keras programs that once behaved otherwise than on TensorFlow: what they give, as TensorFlow gives it."""

import os
import sys
import tempfile
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

import tensorflow as tf  # noqa: E402

L = keras.layers


def _model():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


class TrainingTest(unittest.TestCase):
    def test_evaluate_may_use_another_batch_size_than_validation_did(self):
        model, x, y = _model(), np.ones((20, 4), "float32"), np.ones((20, 1), "float32")
        model.fit(x, y, batch_size=10, verbose=0, validation_data=(x, y), validation_batch_size=5)
        self.assertAlmostEqual(model.evaluate(x, y, batch_size=20, verbose=0), model.evaluate(x, y, batch_size=7, verbose=0),
                               places=5)
        self.assertEqual(model.predict(x, batch_size=4, verbose=0).shape, model.predict(x, verbose=0).shape)

    def test_clipped_sparse_gradients(self):
        table = keras.Variable(np.ones((3, 2), "float32"))
        optimizer = keras.optimizers.SGD(0.1, global_clipnorm=1.0)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table.value, [0, 0]))
        optimizer.apply(tape.gradient(loss, [table.value]), [table])
        np.testing.assert_allclose(table.numpy()[:, 0], [0.9, 1, 1], rtol=1e-5)

    def test_variables_that_an_optimizer_keeps_in_attributes_are_its_own(self):
        for kind, count in (("Adafactor", 5), ("Nadam", 5)):
            optimizer = getattr(keras.optimizers, kind)()
            optimizer.build([keras.Variable(np.ones(3, "float32"), name="v")])
            self.assertEqual(len(optimizer.variables), count, kind)

    def test_remat_of_a_layer_gives_gradients_of_its_weights(self):
        layer = L.Dense(3)
        layer.build((None, 4))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(keras.remat(layer)(tf.ones((2, 4))))
        np.testing.assert_allclose(tape.gradient(y, layer.trainable_weights)[0], np.full((4, 3), 2.0))

    def test_an_endpoint_leaves_arguments_with_defaults_out_of_its_signature(self):
        model = _model()
        archive = keras.export.ExportArchive()
        archive.track(model)
        archive.add_endpoint("call", model.call, input_signature=[tf.TensorSpec((None, 4))])
        x = np.ones((2, 4), "float32")
        with tempfile.TemporaryDirectory() as folder:
            archive.write_out(folder, verbose=False)
            np.testing.assert_allclose(tf.saved_model.load(folder).call(x), model(x))

    def test_a_model_with_a_lookup_layer_is_exported(self):
        inputs = keras.Input((1,), dtype="string")
        model = keras.Model(inputs, L.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")(inputs))
        with tempfile.TemporaryDirectory() as folder:
            model.export(folder, verbose=False)
            served = tf.saved_model.load(folder).serve(tf.constant([["b"], ["z"]]))
        np.testing.assert_array_equal(served, [[0, 0, 1], [1, 0, 0]])


if __name__ == "__main__":
    unittest.main()
