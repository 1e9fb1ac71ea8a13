"""Eager tensors, operators, slices, types and errors print what TensorFlow's do (fixtures/eager.json)."""

import json
import pathlib
import unittest

import numpy as np

import weir as tf
import eager_cases


class PrintedForms(unittest.TestCase):
    def test_expressions_give_what_tensorflow_gives(self):
        recorded = json.loads((pathlib.Path(__file__).parent / "fixtures" / "eager.json").read_text())
        self.assertEqual([row[0] for row in recorded], eager_cases.CASES, "run tests/record again")
        for (case, kind, text), (_, our_kind, our_text) in zip(recorded, eager_cases.evaluate(tf, np)):
            with self.subTest(case):
                self.assertEqual((our_kind, our_text), (kind, text))

    def test_python_values_beside_tensors(self):
        # What TensorFlow gives: a class of error, or (type, values).
        ints, floats = tf.constant([1, 2]), tf.constant([1.0, 2.0])
        cases = [
            (lambda: ints * 0.5, TypeError), (lambda: 0.5 * ints, TypeError), (lambda: ints == 0.5, TypeError),
            (lambda: ints + 0.5, tf.errors.InvalidArgumentError), (lambda: ints + True, ("int32", [2, 3])),
            (lambda: np.float32(0.5) * ints, ("int32", [0, 0])), (lambda: floats * np.float64(2), ("float32", [2, 4])),
            (lambda: True + floats, ("float32", [2, 3])), (lambda: tf.maximum(floats, 1.5), ("float32", [1.5, 2])),
            (lambda: tf.add(1, floats), tf.errors.InvalidArgumentError), (lambda: tf.constant([1, True]), ("int32", [1, 1])),
            (lambda: tf.constant(True, tf.uint8), TypeError), (lambda: tf.constant([np.int64(5)]), ("int32", [5])),
            (lambda: tf.constant([2, np.float32(1.5)]), ("float32", [2, 1.5])), (lambda: tf.constant(1e300), ValueError),
            (lambda: tf.constant([1e300]), ValueError), (lambda: tf.constant(2**40, tf.int32), ("int32", 0)),
            (lambda: tf.constant([np.float32(1.5)], tf.int32), TypeError), (lambda: tf.constant(2**63), ValueError),
            (lambda: tf.constant(2**63, tf.uint64), ("uint64", 2**63)), (lambda: tf.constant([1], tf.string), TypeError),
            (lambda: tf.constant([float("inf")]), ("float32", [np.inf])),
        ]
        for number, (call, expected) in enumerate(cases):
            with self.subTest(number):
                if isinstance(expected, tuple):
                    result = call()
                    self.assertEqual((result.dtype.name, result.numpy().tolist()), expected)
                else:
                    self.assertRaises(expected, call)

    def test_initializers_with_a_seed_give_the_same_again(self):
        for initializer, expected in ((tf.random_normal_initializer(0.0, 0.02, seed=1), [0.002533006, -0.009860331]),
                                      (tf.random_uniform_initializer(-1.0, 1.0, seed=4), [0.161195517, 0.811577559])):
            for _ in range(2):
                np.testing.assert_allclose(initializer([2]), expected, rtol=1e-6)



class ListsOfTensors(unittest.TestCase):
    def test_the_first_tensor_gives_the_type(self):
        whole, half = tf.constant(1), tf.constant(2.5)
        self.assertEqual(tf.convert_to_tensor([np.float64(1), half]).dtype, tf.float32)
        self.assertEqual(tf.convert_to_tensor([[3, whole], [2, 4]]).numpy().tolist(), [[3, 1], [2, 4]])
        self.assertEqual(tf.convert_to_tensor([whole, half], tf.float32).numpy().tolist(), [1.0, 2.5])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "expected to be a int32 tensor but is a float tensor"):
            tf.convert_to_tensor([whole, half])
        with self.assertRaisesRegex(TypeError, "Cannot convert a list containing a tensor of dtype <dtype: 'float32'>"):
            tf.function(lambda: tf.convert_to_tensor([whole, half]))()

    def test_nodes_have_the_names_of_their_places(self):
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.int32, [])
            tf.convert_to_tensor([[x, 1], [2, 3]], name="table")
            tf.convert_to_tensor([x, x])
            self.assertEqual([o.name for o in graph.get_operations()][1:],
                             ["table/0/1", "table/0", "table/1_1", "table", "packed"])


if __name__ == "__main__":
    unittest.main()
