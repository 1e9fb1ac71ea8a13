"""CTC and ragged shapes, beside numbers of TensorFlow 2.21."""

import unittest

import numpy as np
import weir as tf


class CtcTest(unittest.TestCase):
    def setUp(self):
        self.logits = np.random.RandomState(0).randn(2, 3, 5).astype(np.float32)
        self.labels = np.array([[1, 1, 2], [1, 2, 0]], np.int32)
        self.lengths = np.array([3, 2], np.int32), np.array([3, 3], np.int32)

    def test_loss_and_gradient(self):
        x = tf.constant(self.logits)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.nn.ctc_loss(self.labels, x, *self.lengths, logits_time_major=False, blank_index=0)
            second = loss[1]
        self.assertAlmostEqual(float(loss[1]), 4.1793976, places=5)
        self.assertGreater(float(loss[0]), 700)  # three labels, two of them equal, need four steps
        gradient = tape.gradient(second, x)
        self.assertAlmostEqual(float(tf.reduce_sum(tf.abs(gradient[0]))), 0.0)
        self.assertAlmostEqual(float(tf.reduce_sum(gradient[1])), 0.0, places=5)

    def test_decoders(self):
        inputs = tf.transpose(tf.constant(self.logits), [1, 0, 2])
        decoded, _ = tf.nn.ctc_greedy_decoder(inputs, self.lengths[1], blank_index=0)
        self.assertEqual(tf.sparse.to_dense(decoded[0], default_value=-1).shape[0], 2)
        paths, scores = tf.nn.ctc_beam_search_decoder(inputs, self.lengths[1], beam_width=4, top_paths=2)
        self.assertEqual((len(paths), scores.shape.as_list()), (2, [2, 2]))

    def test_labels(self):
        labels, lengths = tf.nn.collapse_repeated(np.array([[1, 1, 2, 2, 3], [1, 2, 2, 1, 0]]), np.array([5, 4]))
        self.assertEqual((labels.numpy().tolist(), lengths.numpy().tolist()), ([[1, 2, 3], [1, 2, 1]], [3, 3]))
        unique, places = tf.nn.ctc_unique_labels(np.array([[3, 4, 4, 3], [1, 2, 2, 1]]))
        self.assertEqual(unique.numpy().tolist(), [[3, 4, 0, 0], [1, 2, 0, 0]])
        self.assertEqual(places.numpy().tolist(), [[0, 1, 1, 0], [0, 1, 1, 0]])


class RaggedTest(unittest.TestCase):
    def test_shape(self):
        shape = tf.shape(tf.ragged.constant([[1, 2], [3]]))
        self.assertEqual(repr(shape), "<DynamicRaggedShape lengths=[2, (2, 1)] num_row_partitions=1>")
        self.assertEqual(int(shape[0]), 2)
        with self.assertRaisesRegex(ValueError, "Index 1 is not uniform"):
            shape[1]  # noqa: B018

    def test_counts_of_rows(self):
        ragged = tf.ragged.constant([[1, 1, 2], [3]])
        self.assertEqual(tf.math.bincount(ragged, axis=-1).numpy().tolist(), [[0, 2, 1, 0], [0, 0, 0, 1]])
        self.assertEqual(tf.math.bincount(ragged).numpy().tolist(), [0, 2, 1, 1])

    def test_map_fn_gives_rows_of_any_length(self):
        ragged = tf.ragged.constant([[1, 1, 2], [3, 3, 3, 4, 5]])
        self.assertEqual(tf.map_fn(lambda row: tf.unique(row)[0], ragged).to_list(), [[1, 2], [3, 4, 5]])


class RowPartitionTest(unittest.TestCase):
    def test_rows_by_each_encoding(self):
        partition = tf.experimental.RowPartition
        for made in (partition.from_row_splits([0, 2, 2, 4, 5]), partition.from_row_lengths([2, 0, 2, 1]),
                     partition.from_value_rowids([0, 0, 2, 2, 3]), partition.from_row_starts([0, 2, 2, 4], nvals=5),
                     partition.from_row_limits([2, 2, 4, 5])):
            self.assertEqual(made.row_splits().numpy().tolist(), [0, 2, 2, 4, 5])
            self.assertEqual(made.value_rowids().numpy().tolist(), [0, 0, 2, 2, 3])
            self.assertEqual(made.offsets_in_rows().numpy().tolist(), [0, 1, 0, 1, 0])
        self.assertEqual(repr(partition.from_uniform_row_length(3, nvals=6)),
                         "tf.RowPartition(nrows=2, uniform_row_length=3)")


class BesselTest(unittest.TestCase):
    def test_derivatives(self):
        x = tf.constant([0.5, 1.5])
        for name, expected in (("bessel_i0", [0.2578943, 0.9816664]), ("bessel_i1", [0.5476948, 0.992279])):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = getattr(tf.math, name)(x)
            np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-4)


if __name__ == "__main__":
    unittest.main()
