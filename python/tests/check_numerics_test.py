"""Checks of numbers, and callbacks that see every operation; what is expected was taken from TensorFlow 2.21."""

import unittest

import numpy as np

import weir as tf
from weir.framework import op_callbacks


class CheckNumericsTest(unittest.TestCase):
    def setUp(self):
        tf.debugging.enable_check_numerics()
        self.addCleanup(tf.debugging.disable_check_numerics)

    def test_eager(self):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r'(?s)output 0 of eagerly-executing op "Sqrt" '
                                    r'\(# of outputs: 1\).*# of \+NaN elements: 1'):
            tf.sqrt([1.0, -1.0])
        self.assertEqual(tf.sqrt([4.0]).numpy().tolist(), [2.0])

    def test_functions(self):
        @tf.function
        def f(x):
            return tf.square(tf.math.log(x + 1))
        self.assertEqual(float(f(tf.constant(0.0))), 0.0)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r'(?s)output 0 of graph op "Log".*Tensor had -Inf'):
            f(tf.constant(-1.0))

    def test_gradients(self):
        x = tf.Variable(0.0)
        with tf.GradientTape() as tape:
            y = tf.sqrt(x)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tape.gradient(y, x)

    def test_disabled(self):
        tf.debugging.disable_check_numerics()
        tf.debugging.disable_check_numerics()
        self.assertTrue(np.isnan(tf.sqrt(-1.0)))

    def test_callbacks_see_ops(self):
        tf.debugging.disable_check_numerics()
        seen = []

        def note(op_type, inputs, attrs, outputs, op_name=None, graph=None):
            seen.append((op_type, len(inputs), len(outputs), op_name))
        op_callbacks.add_op_callback(note)
        tf.add(tf.constant(1.0), 2.0)
        op_callbacks.remove_op_callback(note)
        tf.add(1.0, 2.0)
        self.assertEqual(seen, [("AddV2", 2, 1, None)])
        with self.assertRaises(KeyError):
            op_callbacks.remove_op_callback(note)


if __name__ == "__main__":
    unittest.main()
