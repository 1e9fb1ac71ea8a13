"""tf.experimental.ExtensionType and DLPack; what is expected is what TensorFlow gives."""

import typing
import unittest

import numpy as np

import weir as tf


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor


class Described(tf.experimental.ExtensionType):
    name: str
    sizes: typing.Tuple[int, ...] = (1, 2)
    data: tf.Tensor = [1.0]
    parts: typing.Mapping[str, tf.Tensor] = {}
    other: typing.Optional[tf.Tensor] = None

    def __validate__(self):
        self.data.shape.assert_has_rank(1)


class Node(tf.experimental.BatchableExtensionType):
    x: tf.Tensor
    y: tf.Tensor


class ExtensionTypeTest(unittest.TestCase):
    def test_fields_are_converted_and_checked(self):
        value = Described("a", parts={"k": 3})
        self.assertEqual(value.data.numpy().tolist(), [1.0])
        self.assertEqual(repr(value._type_spec),
                         "Described.Spec(name='a', sizes=(1, 2), data=TensorSpec(shape=(1,), dtype=tf.float32, name=None), "
                         "parts={'k': TensorSpec(shape=(), dtype=tf.int32, name=None)}, other=None)")
        self.assertTrue(bool(value == Described("a", parts={"k": 3})))
        self.assertIs(value == Described("b", parts={"k": 3}), False)
        for wrong in (lambda: Described(3), Described, lambda: Described("a", unknown=1)):
            self.assertRaises(TypeError, wrong)
        self.assertRaises(ValueError, lambda: Described("a", data=[[1.0]]))
        with self.assertRaises(AttributeError):
            value.name = "b"

    def test_functions_loops_and_datasets_take_them(self):
        value = Masked([1, 2], [True, False])
        doubled = tf.function(lambda v: Masked(v.values * 2, v.mask))(value)
        self.assertEqual(doubled.values.numpy().tolist(), [2, 4])
        _, end = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, Masked(v.values + 1, v.mask)),
                               (tf.constant(0), value))
        self.assertEqual(end.values.numpy().tolist(), [3, 4])
        dataset = tf.data.Dataset.from_tensor_slices(Node(x=[1, 2, 3], y=[[1.0], [2.0], [3.0]]))
        self.assertEqual([n.x.numpy().tolist() for n in dataset.batch(2)], [[1, 2], [3]])

    def test_dlpack_shares_memory(self):
        tensor = tf.constant([[1.0, 2.0]])
        shared = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(tensor))
        self.assertEqual(np.asarray(shared).ctypes.data, np.asarray(tensor).ctypes.data)
        self.assertEqual(np.from_dlpack(tensor).tolist(), [[1.0, 2.0]])
        capsule = tf.experimental.dlpack.to_dlpack(tensor)
        tf.experimental.dlpack.from_dlpack(capsule)
        self.assertRaises(TypeError, tf.experimental.dlpack.from_dlpack, capsule)
        self.assertRaises(TypeError, tf.experimental.dlpack.to_dlpack, 3)


class ElementwiseHandlers(unittest.TestCase):
    def test_of_one_value_and_of_two(self):
        @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
        def unary(function, x):
            return Masked(function(x.values), x.mask)

        @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Masked)
        def binary(function, x, y):
            return Masked(function(x.values, y.values), x.mask & y.mask)
        masked = Masked(tf.constant([1.0, -2.0]), tf.constant([True, False]))
        for result, expected in ((tf.abs(masked), [1, 2]), (tf.cast(masked, tf.int32), [1, -2]),
                                 (tf.clip_by_value(masked, 0.0, 0.5), [0.5, 0]), (tf.nn.relu(masked), [1, 0]),
                                 (tf.add(masked, masked), [2, -4]), (tf.maximum(masked, masked), [1, -2]),
                                 (tf.function(tf.negative)(masked), [-1, 2])):
            self.assertEqual(result.values.numpy().tolist(), expected)
        for handler in (unary, binary):
            tf.experimental.unregister_dispatch_for(handler)
        with self.assertRaises((TypeError, ValueError)):
            tf.abs(masked)
        with self.assertRaisesRegex(ValueError, "was not registered"):
            tf.experimental.unregister_dispatch_for(unary)


if __name__ == "__main__":
    unittest.main()
