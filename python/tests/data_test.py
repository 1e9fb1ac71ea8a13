import os
import tempfile
import unittest

import numpy as np
import weir as tf

Dataset = tf.data.Dataset


def values(dataset):
    return [tf.nest.map_structure(lambda t: t.tolist() if hasattr(t, "tolist") else t, e)
            for e in dataset.as_numpy_iterator()]


class DatasetTest(unittest.TestCase):
    def test_sources(self):
        self.assertEqual(values(Dataset.range(1, 7, 2)), [1, 3, 5])
        self.assertEqual(values(Dataset.from_tensor_slices(([1, 2], {"a": [[3.0], [4.0]]}))),
                         [(1, {"a": [3.0]}), (2, {"a": [4.0]})])
        self.assertEqual(values(Dataset.zip((Dataset.range(2), Dataset.range(5, 9)))), [(0, 5), (1, 6)])
        with self.assertRaises(ValueError):
            Dataset.from_tensor_slices(([1, 2], [1]))

    def test_functions_are_converted(self):
        doubled = Dataset.range(5).map(lambda x: x * 2 if x > 2 else x, num_parallel_calls=tf.data.AUTOTUNE)
        self.assertEqual(values(doubled), [0, 1, 2, 6, 8])
        self.assertEqual(values(Dataset.range(9).filter(lambda x: x % 3 == 0)), [0, 3, 6])
        self.assertEqual(int(Dataset.range(5).reduce(np.int64(0), lambda a, b: a + b)), 10)
        self.assertEqual(values(Dataset.range(4).scan(np.int64(0), lambda s, x: (s + x, s))), [0, 0, 1, 3])

    def test_captured_tensors(self):
        offset = tf.constant(10, tf.int64)
        self.assertEqual(values(Dataset.range(2).map(lambda x: x + offset)), [10, 11])

    def test_nested_datasets(self):
        self.assertEqual(values(Dataset.range(3).flat_map(Dataset.range)), [0, 0, 1])
        self.assertEqual(values(Dataset.range(5).window(2, drop_remainder=True).flat_map(lambda w: w.batch(2))),
                         [[0, 1], [2, 3]])
        interleaved = Dataset.range(3).interleave(lambda x: Dataset.from_tensors(x).repeat(2), cycle_length=2)
        self.assertEqual(values(interleaved), [0, 1, 0, 1, 2, 2])
        grouped = Dataset.range(6).group_by_window(lambda x: x % 2, lambda _, d: d.batch(3), 3)
        self.assertEqual(values(grouped), [[0, 2, 4], [1, 3, 5]])

    def test_batches(self):
        self.assertEqual(values(Dataset.range(5).batch(2)), [[0, 1], [2, 3], [4]])
        self.assertEqual(Dataset.range(5).batch(2, drop_remainder=True).element_spec.shape.as_list(), [2])
        padded = Dataset.range(3).map(lambda x: tf.range(x)).padded_batch(3)
        self.assertEqual(values(padded), [[[0, 0], [0, 0], [0, 1]]])
        ragged = list(Dataset.range(3).map(lambda x: tf.range(x)).ragged_batch(3))
        self.assertEqual(ragged[0].to_list(), [[], [0], [0, 1]])
        self.assertEqual(values(Dataset.range(4).batch(2).unbatch()), [0, 1, 2, 3])

    def test_rows_of_ragged_tensors(self):
        rows = [[3, 1, 4, 1], [], [5, 9, 2]]
        dataset = Dataset.from_tensor_slices(tf.ragged.constant(rows))
        for batches in (dataset.batch(2), dataset.ragged_batch(2)):
            self.assertEqual([batch.to_list() for batch in batches], [rows[:2], rows[2:]])

    def test_generators_end_inside_other_datasets(self):
        def numbers(stop):
            yield from range(stop)

        generated = Dataset.from_generator(numbers, args=[5], output_signature=tf.TensorSpec([], tf.int32))
        self.assertEqual(values(generated.batch(2)), [[0, 1], [2, 3], [4]])
        self.assertEqual(values(generated.repeat(2).batch(4)), [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]])
        self.assertEqual(values(generated.concatenate(generated.take(1))), [0, 1, 2, 3, 4, 0])
        grouped = generated.group_by_window(lambda x: tf.cast(x % 2, tf.int64), lambda _, d: d.batch(2), 2)
        self.assertEqual(values(grouped), [[0, 2], [1, 3], [4]])

    def test_printed_by_what_made_them(self):
        numbers = Dataset.range(3)
        self.assertEqual(repr(numbers), "<_RangeDataset element_spec=TensorSpec(shape=(), dtype=tf.int64, name=None)>")
        for dataset, name in ((numbers.map(lambda x: x), "_MapDataset"), (numbers.cache(), "CacheDataset"),
                              (numbers.map(lambda x: x, num_parallel_calls=2), "_ParallelMapDataset"),
                              (numbers.batch(2).prefetch(1), "_PrefetchDataset"),
                              (Dataset.from_generator(lambda: [1], tf.int32), "_FlatMapDataset"),
                              (tf.data.TextLineDataset(["x"]), "TextLineDatasetV2"),
                              (next(iter(numbers.window(2))), "_VariantDataset")):
            self.assertTrue(repr(dataset).startswith(f"<{name} "), repr(dataset))

    def test_defaults_of_csv_columns_are_values(self):
        columns = tf.io.decode_csv(["1,2.5,a", "3,,b"], [0, 1.0, ""])
        self.assertEqual([c.numpy().tolist() for c in columns], [[1, 3], [2.5, 1.0], [b"a", b"b"]])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.csv")
            with open(path, "w") as file:
                file.write("5,6\n,7\n")
            self.assertEqual(values(tf.data.experimental.CsvDataset(path, [1, tf.float32])), [(5, 6.0), (1, 7.0)])

    def test_resampling_reaches_the_wanted_proportions(self):
        classes = Dataset.from_tensor_slices(([0] * 9 + [1]) * 300)
        for initial in ([0.9, 0.1], None):
            drawn = [int(c) for c, _ in classes.rejection_resample(lambda c: c, [0.5, 0.5], initial, seed=1)]
            self.assertGreater(len(drawn), 300)
            self.assertLess(abs(sum(drawn) / len(drawn) - 0.5), 0.1)

    def test_cardinality_and_length(self):
        self.assertEqual(len(Dataset.range(5).batch(2)), 3)
        self.assertEqual(int(Dataset.range(3).repeat().cardinality()), tf.data.INFINITE_CARDINALITY)
        with self.assertRaises(TypeError):
            len(Dataset.range(3).filter(lambda x: x > 0))

    def test_shuffle_is_a_permutation_and_repeats_by_seed(self):
        first = values(Dataset.range(20).shuffle(20, seed=3))
        self.assertEqual(sorted(first), list(range(20)))
        self.assertNotEqual(first, list(range(20)))
        self.assertEqual(first, values(Dataset.range(20).shuffle(20, seed=3)))

    def test_sparse_and_ragged_elements(self):
        sparse = Dataset.from_tensor_slices(tf.sparse.from_dense([[0, 1], [2, 0]]))
        self.assertEqual([tf.sparse.to_dense(e).numpy().tolist() for e in sparse], [[0, 1], [2, 0]])
        ragged = Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
        self.assertEqual([e.numpy().tolist() for e in ragged], [[1], [2, 3]])

    def test_optionals(self):
        iterator = iter(Dataset.range(1))
        self.assertEqual(int(iterator.get_next_as_optional().get_value()), 0)
        self.assertFalse(bool(iterator.get_next_as_optional().has_value()))
        with self.assertRaises(StopIteration):
            next(iterator)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            text = os.path.join(folder, "lines")
            with open(text, "w", encoding="utf-8") as out:
                out.write("one\ntwo\n")
            self.assertEqual(values(tf.data.TextLineDataset(text)), [b"one", b"two"])
            for kind in ("", "GZIP", "ZLIB"):
                path = os.path.join(folder, "records" + kind)
                with tf.io.TFRecordWriter(path, kind) as writer:
                    for record in (b"a", b"bc" * 1000, b""):
                        writer.write(record)
                self.assertEqual(values(tf.data.TFRecordDataset(path, kind)), [b"a", b"bc" * 1000, b""])

    def test_choice(self):
        chosen = Dataset.choose_from_datasets([Dataset.range(3), Dataset.range(10, 13)],
                                              Dataset.from_tensor_slices(np.array([0, 1, 1, 0], np.int64)))
        self.assertEqual(values(chosen), [0, 10, 11, 1])
        sampled = values(Dataset.sample_from_datasets([Dataset.range(3), Dataset.range(10, 13)], seed=1))
        self.assertEqual(sorted(sampled), [0, 1, 2, 10, 11, 12])


if __name__ == "__main__":
    unittest.main()
