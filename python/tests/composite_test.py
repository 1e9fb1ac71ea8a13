"""Values made of several tensors as arguments of functions: linear operators, iterators, variables."""

import unittest

import numpy as np

import weir as tf
from weir.variable_spec import VariableSpec

linalg = tf.linalg


class LinearOperatorTest(unittest.TestCase):
    def test_a_function_takes_operators_and_is_traced_once_for_a_type(self):
        @tf.function
        def product(operator, x):
            return operator.matmul(x)

        for scale in (1.0, 2.0):
            np.testing.assert_allclose(product(linalg.LinearOperatorDiag([scale, 3.0]), tf.eye(2)), np.diag([scale, 3.0]))
        self.assertEqual(product.experimental_get_tracing_count(), 1)
        product(linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]), tf.eye(2))
        self.assertEqual(product.experimental_get_tracing_count(), 2)

    def test_every_operator_is_made_again_of_its_components(self):
        diagonal, spectrum = linalg.LinearOperatorDiag([1.0, 2.0]), tf.constant([1.0, 2.0], tf.complex64)
        for operator in (
                linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]), linalg.LinearOperatorLowerTriangular(tf.eye(2)),
                linalg.LinearOperatorIdentity(2), linalg.LinearOperatorScaledIdentity(2, 3.0), linalg.LinearOperatorZeros(2),
                linalg.LinearOperatorLowRankUpdate(diagonal, [[1.0], [2.0]]), linalg.LinearOperatorComposition([diagonal] * 2),
                linalg.LinearOperatorKronecker([diagonal] * 2), linalg.LinearOperatorBlockDiag([diagonal] * 2),
                linalg.LinearOperatorBlockLowerTriangular([[diagonal], [diagonal, diagonal]]),
                linalg.LinearOperatorAdjoint(diagonal), linalg.LinearOperatorInversion(diagonal),
                linalg.LinearOperatorCirculant(spectrum), linalg.LinearOperatorHouseholder([0.6, 0.8]),
                linalg.LinearOperatorPermutation([1, 0]), linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]),
                linalg.LinearOperatorTridiag([[1.0, 1.0]] * 3)):
            with self.subTest(type(operator).__name__):
                parts = tf.nest.flatten(operator, expand_composites=True)
                again = tf.nest.pack_sequence_as(operator, parts, expand_composites=True)
                self.assertIs(type(again), type(operator))
                np.testing.assert_allclose(again.to_dense(), operator.to_dense())
                self.assertEqual(type(operator._type_spec).__name__, type(operator).__name__ + "Spec")
                self.assertEqual(again._type_spec, operator._type_spec)

    def test_slices_of_a_batch(self):
        diagonals = tf.reshape(tf.range(1.0, 13.0), [2, 3, 2])
        update = linalg.LinearOperatorLowRankUpdate(linalg.LinearOperatorDiag(diagonals[0]), diagonals[..., tf.newaxis])
        for operator in (linalg.LinearOperatorDiag(diagonals), linalg.LinearOperatorIdentity(2, batch_shape=[2, 3]), update):
            dense = operator.to_dense().numpy()
            np.testing.assert_allclose(operator[0].to_dense(), dense[0])
            np.testing.assert_allclose(operator[1:, :2].to_dense(), dense[1:, :2])
            np.testing.assert_allclose(operator[..., 0].to_dense(), dense[:, 0])
            np.testing.assert_allclose(operator[tf.newaxis, 0].to_dense(), dense[None, 0])
        with self.assertRaises(IndexError):
            linalg.LinearOperatorDiag(diagonals)[0, 0, 0]

    def test_conditionals_and_loops_carry_operators(self):
        operator = linalg.LinearOperatorDiag([1.0, 2.0])
        chosen = tf.cond(tf.constant(False), lambda: operator, lambda: linalg.LinearOperatorDiag([5.0, 6.0]))
        np.testing.assert_allclose(chosen.diag_part(), [5, 6])

        @tf.function
        def loop(operator):
            return tf.while_loop(lambda i, o: i < 3, lambda i, o: (i + 1, linalg.LinearOperatorDiag(o.diag * 2.0)),
                                 [0, operator])[1]
        np.testing.assert_allclose(loop(operator).diag_part(), [8, 16])

    def test_variables_inside_stay_variables(self):
        variable = tf.Variable([3.0, 4.0])
        operator = linalg.LinearOperatorDiag(variable)
        self.assertIs(tf.nest.flatten(operator, expand_composites=True)[0], variable)
        self.assertEqual(operator._type_spec._component_specs["diag"], VariableSpec([2]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(operator.matvec([1.0, 1.0]))
        np.testing.assert_allclose(tape.gradient(loss, operator.trainable_variables)[0], [1, 1])


class IteratorTest(unittest.TestCase):
    def batches(self, size):
        return iter(tf.data.Dataset.range(60).batch(size, drop_remainder=True))

    def test_iterators_of_other_elements_are_traced_again(self):
        @tf.function
        def length(iterator):
            return next(iterator).shape[0]

        self.assertEqual([int(length(self.batches(n))) for n in (10, 20, 30)], [10, 20, 30])
        self.assertEqual(length.experimental_get_tracing_count(), 3)

    def test_fewer_traces_serve_iterators_of_any_length(self):
        @tf.function(reduce_retracing=True)
        def length(iterator):
            return tf.shape(next(iterator))[0]

        self.assertEqual([int(length(self.batches(n))) for n in (10, 20, 30)], [10, 20, 30])
        self.assertEqual(length.experimental_get_tracing_count(), 2)

    def test_a_checkpoint_keeps_the_place_of_an_iterator(self):
        import os
        import tempfile
        iterator = self.batches(20)
        next(iterator)
        with tempfile.TemporaryDirectory() as folder:
            path = tf.train.Checkpoint(iterator=iterator).save(os.path.join(folder, "c"))
            other = self.batches(20)
            tf.train.Checkpoint(iterator=other).restore(path).assert_consumed()
        np.testing.assert_array_equal(next(other), np.arange(20, 40))

    def test_optionals_and_datasets_of_other_elements_are_traced_again(self):
        @tf.function
        def length(optional):
            return optional.get_value().shape[0]

        self.assertEqual([int(length(tf.experimental.Optional.from_value(tf.ones([n])))) for n in (2, 3)], [2, 3])


class CountsTest(unittest.TestCase):
    def test_integers_are_divided_as_real_numbers(self):
        for x, y, kind, expected in (([1, 2], [2, 0], tf.float64, [0.5, 0.0]),
                                     (tf.constant([6], tf.uint8), tf.constant([4], tf.uint8), tf.float32, [1.5])):
            quotient = tf.math.divide_no_nan(x, y)
            self.assertEqual((quotient.dtype, quotient.numpy().tolist()), (kind, expected))
        with self.assertRaises(TypeError):
            tf.math.divide_no_nan([True], [False])

    def test_counts_have_the_type_of_what_is_counted(self):
        for values, kind in (([1, 2, 2], tf.int32), (tf.constant([1, 2, 2], tf.int64), tf.int64),
                             (tf.ragged.constant([[1], [2, 2]]), tf.int32)):
            self.assertEqual(tf.sparse.bincount(values).values.dtype, kind)


class OperatorsTest(unittest.TestCase):
    def test_slices_and_a_tensor_make_a_tensor(self):
        slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([2, 2]))
        np.testing.assert_allclose(slices * tf.constant(2.0), [[2, 2], [0, 0]])
        np.testing.assert_allclose(tf.ones([2, 2]) - slices, [[0, 0], [1, 1]])
        with self.assertRaises(TypeError):
            slices * 2.0

    def test_products_of_truth_values(self):
        x = tf.constant([True, False])
        np.testing.assert_array_equal(x * 2, [True, False])
        np.testing.assert_array_equal(x * tf.constant([0, 3], tf.int8), [False, False])
        np.testing.assert_array_equal(tf.constant([1, 3], tf.int8) * x, [True, False])
        np.testing.assert_array_equal(tf.meshgrid([True, False], [True])[0], [[True, False]])

    def test_a_variable_alone_is_enough_for_recompute_grad(self):
        variable = tf.Variable(3.0)
        with tf.GradientTape() as tape:
            y = tf.recompute_grad(lambda x: x * variable)(tf.constant(2.0))
        self.assertEqual(float(tape.gradient(y, variable)), 2.0)

    def test_kinds_of_errors(self):
        with self.assertRaises(TypeError):
            tf.reduce_all([1])
        self.assertFalse(tf.reduce_any([]))
        with self.assertRaises(TypeError):
            tf.constant("a") / "b"  # pylint: disable=expression-not-assigned
        with self.assertRaises(TypeError):
            tf.constant([[1, 2]])[:, [0, 1]]  # pylint: disable=expression-not-assigned
        self.assertEqual(int(tf.constant([[1, 2]])[[0, 1]]), 2)
        found = tf.math.approx_max_k([1.0, 3.0, 2.0], 2)
        self.assertEqual((found[0].numpy().tolist(), found[1].numpy().tolist()), ([3.0, 2.0], [1, 2]))


if __name__ == "__main__":
    unittest.main()
