"""TensorFlow's internal modules as its own tests use them, one small use of each kind."""

import collections
import unittest

import numpy as np
from absl.testing import parameterized

from weir import _alias

_alias.install()

import tensorflow as tf  # noqa: E402
from tensorflow.python.client import device_lib  # noqa: E402
from tensorflow.python.data.kernel_tests import checkpoint_test_base, test_base  # noqa: E402
from tensorflow.python.data.util import nest as data_nest  # noqa: E402
from tensorflow.python.data.util import structure  # noqa: E402
from tensorflow.python.eager import context  # noqa: E402
from tensorflow.python.framework import (combinations, common_shapes, dtypes, errors, func_graph, ops,  # noqa: E402
                                         test_util)
from tensorflow.python.ops import array_ops, confusion_matrix, list_ops, weights_broadcast_ops  # noqa: E402
from tensorflow.python.ops.numpy_ops import np_math_ops  # noqa: E402
from tensorflow.python.ops.parallel_for import control_flow_ops as parallel_loops  # noqa: E402
from tensorflow.python.ops.parallel_for import gradients as parallel_gradients  # noqa: E402
from tensorflow.python.ops.ragged import ragged_math_ops  # noqa: E402
from tensorflow.python.ops.linalg import linear_operator_test_util  # noqa: E402
from tensorflow.python.util import nest, object_identity  # noqa: E402

Pair = collections.namedtuple("Pair", "a b")


class NestTest(unittest.TestCase):
    def test_shallow_structures(self):
        self.assertEqual(nest.flatten_up_to([1, 1], [[1, 2], 3]), [[1, 2], 3])
        self.assertEqual(nest.map_structure_up_to([1, 1], str, [[1, 2], 3]), ["[1, 2]", "3"])
        self.assertEqual(nest.flatten_with_tuple_paths_up_to([1, 1], [[5], {"a": 6}]), [((0,), [5]), ((1,), {"a": 6})])
        self.assertEqual(nest.get_traverse_shallow_structure(lambda s: not isinstance(s, tuple), [1, (2, 3)]), [True, False])
        with self.assertRaisesRegex(TypeError, "Input structure has type <class 'tuple'>, while shallow"):
            nest.assert_shallow_structure([[1]], [(1,)])

    def test_paths(self):
        self.assertEqual(nest.flatten_with_joined_string_paths({"a": [1, 2]}), [("a/0", 1), ("a/1", 2)])
        self.assertEqual(nest.map_structure_with_paths(lambda p, a, b: p + str(a + b), {"a": 1}, {"a": 2}), {"a": "a3"})
        self.assertEqual(nest.flatten_dict_items({("a", "b"): (1, 2)}), {"a": 1, "b": 2})
        self.assertEqual(nest.list_to_tuple([1, [2]]), (1, (2,)))

    def test_messages_say_where_structures_differ(self):
        with self.assertRaises(ValueError) as raised:
            nest.assert_same_structure([[1], 2], [[1, 2], 2])
        self.assertEqual(str(raised.exception), (
            "The two structures don't have the same nested structure.\n\nFirst structure: type=list str=[[1], 2]\n\n"
            "Second structure: type=list str=[[1, 2], 2]\n\nMore specifically: The two structures don't have the same number "
            "of elements. First structure: type=list str=[1]. Second structure: type=list str=[1, 2]\n"
            "Entire first structure:\n[[.], .]\nEntire second structure:\n[[., .], .]"))
        with self.assertRaisesRegex(TypeError, "First structure type=Pair str=Pair.a=1, b=2. has type Pair"):
            nest.assert_same_structure(Pair(1, 2), (1, 2))

    def test_lists_are_leaves_of_elements(self):
        self.assertEqual(data_nest.flatten(([1, 2], {"a": 3})), [[1, 2], 3])
        self.assertEqual(structure.get_flat_tensor_types(structure.type_spec_from_value((1, {"a": 2.0}))),
                         [tf.int32, tf.float32])

    def test_identity(self):
        kept = object_identity.ObjectIdentityDictionary()
        one, other = [], []
        kept[one] = 1
        self.assertEqual((kept[one], other in kept, len(kept)), (1, False, 1))
        self.assertIn(one, object_identity.ObjectIdentitySet([one]))


class OpsTest(unittest.TestCase):
    def test_lists_of_tensors(self):
        made = list_ops.tensor_list_reserve([None], 2, tf.float32)
        made = list_ops.tensor_list_set_item(list_ops.tensor_list_set_item(made, 0, [1.0]), 1, [2.0, 3.0])
        np.testing.assert_array_equal(list_ops.tensor_list_concat(made, tf.float32), [1, 2, 3])
        self.assertEqual(int(list_ops.tensor_list_length(made)), 2)

    def test_loops_and_jacobians(self):
        doubled, ones = parallel_loops.pfor(lambda i: (2 * i, {"a": tf.ones([2])}), 3)
        np.testing.assert_array_equal(doubled, [0, 2, 4])
        self.assertEqual(ones["a"].shape, [3, 2])

        @tf.function
        def jacobians(x):
            return parallel_gradients.jacobian(x * x, x), parallel_gradients.batch_jacobian(x * x, x)
        whole, by_row = jacobians(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        np.testing.assert_allclose(by_row, [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])
        self.assertEqual(float(whole[1, 0, 1, 0]), 6.0)

    def test_names_of_other_modules(self):
        self.assertEqual(int(np_math_ops.add(1, 2)), 3)
        np.testing.assert_array_equal(ragged_math_ops.reduce_sum(tf.ragged.constant([[1], [2, 3]]), 1), [1, 5])
        self.assertEqual(dtypes.float32_ref.name, "float32_ref")
        self.assertEqual(ops.strip_name_scope("a/b", "a"), "b")

        @tf.function
        def double(x):
            return x * 2
        concrete = double.get_concrete_function(tf.TensorSpec([]))
        self.assertEqual(concrete.function_def.signature.name, concrete.name.decode())
        self.assertTrue(context.context().has_function(concrete.name))


class SmallModulesTest(unittest.TestCase):
    def test_shapes(self):
        self.assertEqual(common_shapes.broadcast_shape([2, 1], [None, 3]).as_list(), [2, 3])
        with self.assertRaisesRegex(ValueError, "Incompatible shapes for broadcasting"):
            common_shapes.broadcast_shape([2], [3])
        self.assertEqual(array_ops.get_positive_axis(-1, 3), 2)
        self.assertIsNone(array_ops.newaxis)

    def test_weights(self):
        self.assertEqual(weights_broadcast_ops.broadcast_weights([[1.0], [2.0]], tf.ones([2, 2])).numpy().tolist(),
                         [[1, 1], [2, 2]])
        with self.assertRaisesRegex(ValueError, "weights can not be broadcast to values. Mismatch at dim 0"):
            weights_broadcast_ops.assert_broadcastable([1.0, 2.0, 3.0], tf.ones([2]))
        labels, predictions = confusion_matrix.remove_squeezable_dimensions([[1], [2]], [3, 4])
        self.assertEqual((labels.shape, predictions.shape), ([2], [2]))

    def test_functions_by_hand(self):
        graph = func_graph.func_graph_from_py_func("f", lambda x, y: (x + y, {"a": x}), [tf.TensorSpec([2]), 1.0], {})
        self.assertEqual((len(graph.inputs), len(graph.outputs)), (1, 2))
        self.assertEqual(device_lib.list_local_devices()[0].name, "/device:CPU:0")


class DatasetTest(test_base.DatasetTestBase, parameterized.TestCase):
    @combinations.generate(combinations.times(test_base.v2_only_combinations(), combinations.combine(size=[1, 2])))
    def test_batches(self, size):
        dataset = tf.data.Dataset.range(4).batch(size)
        self.assertDatasetProduces(dataset, np.arange(4).reshape(-1, size))
        self.assertDatasetsEqual(dataset, dataset.map(lambda x: x))

    @combinations.generate(test_base.v2_only_combinations())
    def test_errors(self):
        dataset = tf.data.Dataset.range(4).map(lambda x: tf.debugging.check_numerics(tf.cast(x, tf.float32) / 0.0, "bad"))
        self.assertDatasetProduces(dataset, expected_error=(errors.InvalidArgumentError, "bad"))

    @combinations.generate(test_base.v1_only_combinations())
    def test_of_version_1_is_left_out(self):
        self.fail("the behaviour of TensorFlow 1 is not tested")


class CheckpointTest(checkpoint_test_base.CheckpointTestBase, parameterized.TestCase):
    @combinations.generate(combinations.times(test_base.v2_eager_only_combinations(),
                                              checkpoint_test_base.default_test_combinations()))
    def test_an_iterator_goes_on_where_it_was_saved(self, verify_fn):
        verify_fn(self, lambda: tf.data.Dataset.range(10).shuffle(4, seed=1).batch(2), num_outputs=5)


@test_util.run_all_in_graph_and_eager_modes
class DiagonalTest(linear_operator_test_util.SquareLinearOperatorDerivedClassTest):
    @staticmethod
    def dtypes_to_test():
        return [tf.float64, tf.complex64]

    def operator_and_matrix(self, shapes_info, dtype, use_placeholder, ensure_self_adjoint_and_pd=False):
        diag = linear_operator_test_util.random_sign_uniform(shapes_info.shape[:-1], 1.0, 2.0, dtype)
        if ensure_self_adjoint_and_pd:
            diag = tf.cast(tf.abs(diag), dtype)
        given = tf.compat.v1.placeholder_with_default(diag, shape=None) if use_placeholder else diag
        return tf.linalg.LinearOperatorDiag(given, is_self_adjoint=ensure_self_adjoint_and_pd or None,
                                            is_positive_definite=ensure_self_adjoint_and_pd or None), tf.linalg.diag(
            diag)

    def test_tape(self):
        self.check_tape_safe(tf.linalg.LinearOperatorDiag(tf.Variable([1.0, 2.0])))


linear_operator_test_util.add_tests(DiagonalTest)

if __name__ == "__main__":
    unittest.main()
