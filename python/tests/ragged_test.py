"""Ragged tensors: what fits together, what does not, and functions of arrays."""

import unittest

import weir as tf

ROWS = tf.ragged.constant([[1, 3, 5, 7], [2, 4], [6]])


class Operands(unittest.TestCase):
    def test_rows_that_differ_are_refused(self):
        for other in (tf.ragged.constant([[1], [2, 3], [4]]), tf.ragged.constant([[1], [2], [3]]), [1, 2, 3],
                      tf.constant([1, 2, 3, 4]), [[1], [2], [3], [4]], tf.ragged.constant([[[1]], [], []])):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Condition x == y did not hold"):
                ROWS + other  # pylint: disable=pointless-statement
        with self.assertRaisesRegex(ValueError, "the same outer-dimension size"):
            tf.ragged.map_flat_values(tf.add, ROWS, tf.ragged.constant([[1], [2, 3], [4]]))

    def test_dense_values_are_repeated_along_rows(self):
        self.assertEqual((ROWS + [[10], [20], [30]]).to_list(), [[11, 13, 15, 17], [22, 24], [36]])
        self.assertEqual((ROWS + [[[1]]]).to_list(), [[[2, 4, 6, 8], [3, 5], [7]]])
        self.assertEqual((tf.ragged.constant([[1, 2], [3, 4]]) + [[1, 2], [3, 4]]).to_list(), [[2, 4], [6, 8]])

    def test_what_is_no_use_of_a_ragged_tensor(self):
        for function, kind, text in (
                (lambda: ROWS[5], IndexError, "Row key 5 out of bounds"),
                (lambda: ROWS[:, 0], ValueError, "Cannot index into an inner ragged dimension"),
                (lambda: tf.reduce_sum(ROWS, axis=2), ValueError, "axis=2 out of bounds: expected -2<=axis<2"),
                (lambda: bool(ROWS), TypeError, "may not be used as a boolean"),
                (lambda: hash(ROWS), TypeError, "RaggedTensor is unhashable"),
                (lambda: ROWS.with_values(tf.range(6)), ValueError, "incompatible"),
                (lambda: tf.ragged.constant([[1], [[2]]]), ValueError, "all scalar values must have the same nesting")):
            with self.assertRaisesRegex(kind, text):
                function()


class Functions(unittest.TestCase):
    def test_arrays(self):
        self.assertEqual(tf.reshape(ROWS, [-1]).numpy().tolist(), [1, 3, 5, 7, 2, 4, 6])
        self.assertEqual(tf.gather_nd(ROWS, [[0, 1], [2, 0]]).numpy().tolist(), [3, 6])
        self.assertEqual(tf.gather_nd(ROWS, [[0], [2]]).to_list(), [[1, 3, 5, 7], [6]])
        self.assertEqual(tf.gather(ROWS, [0], axis=1).numpy().tolist(), [[1], [2], [6]])
        self.assertEqual(tf.cumsum(ROWS).to_list(), [[1, 3, 5, 7], [3, 7], [9]])
        self.assertEqual(tf.cumsum(ROWS, axis=1).to_list(), [[1, 4, 9, 16], [2, 6], [6]])

    def test_tiles_in_functions(self):
        tiled = tf.function(lambda rows: tf.tile(rows, [1, 2]), input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
        self.assertEqual(tiled(ROWS[1:]).to_list(), [[2, 4, 2, 4], [6, 6]])

    def test_means_and_variances(self):
        self.assertEqual((tf.reduce_mean(ROWS).dtype, float(tf.reduce_mean(ROWS))), (tf.float64, 4.0))
        rows = tf.cast(ROWS, tf.float32)
        self.assertEqual(tf.math.reduce_variance(rows, 1).numpy().tolist(), [5.0, 1.0, 0.0])
        self.assertEqual(float(tf.math.reduce_std(rows)), 2.0)

    def test_inner_dimensions_are_merged_into_rows(self):
        rows = tf.ragged.constant([[[1], [2, 3]], [], [[4, 5, 6]]])
        self.assertEqual(rows.merge_dims(1, 2).to_list(), [[1, 2, 3], [], [4, 5, 6]])
        dense = tf.RaggedTensor.from_row_splits(tf.reshape(tf.range(6), [3, 2]), [0, 2, 2, 3])
        self.assertEqual(dense.merge_dims(1, 2).to_list(), [[0, 1, 2, 3], [], [4, 5]])

    def test_rows_of_one_length(self):
        with self.assertRaisesRegex(ValueError, "uniform_row_length=2 times nrows=1 must equal nvals=3"):
            tf.RaggedTensor.from_uniform_row_length([1, 2, 3], 2)
        self.assertEqual(tf.RaggedTensor.from_uniform_row_length([], 0).shape, [0, 0])
        self.assertEqual(tf.ragged.constant([[[1, 2]], [[3, 4]]], inner_shape=(2,)).dtype, tf.int32)

    def test_what_parsing_and_sparse_functions_refuse(self):
        for feature in (tf.io.FixedLenSequenceFeature([], tf.int64), tf.io.FixedLenFeature([None], tf.int64)):
            with self.assertRaises(ValueError):
                tf.io.parse_example([b""], {"a": feature})
        sparse = tf.SparseTensor([[0], [2]], [1, 2], [3])
        with self.assertRaisesRegex(ValueError, "Dimensions 1 and 2 are not compatible"):
            tf.sparse.retain(sparse, [True])
        with self.assertRaises(TypeError):
            tf.sparse.cross([[["a"]], [["b"]]])


if __name__ == "__main__":
    unittest.main()
