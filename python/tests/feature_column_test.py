"""tf.feature_column with compat.v1's input_layer and linear_model; numbers recorded from TensorFlow 2.21."""

import unittest

import numpy as np

import weir as tf

v1, columns = tf.compat.v1, tf.feature_column


def _features():
    return {"age": tf.constant([[10.0], [35.0], [70.0]]), "city": tf.constant([["a"], ["b"], ["zz"]]),
            "id": tf.constant([[0], [2], [9]], tf.int64), "w": tf.constant([[0.5], [2.0], [3.0]]),
            "tags": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["x", "y", "x"], [3, 2])}


AGE = columns.numeric_column("age")
BUCKETS = columns.bucketized_column(AGE, [18, 40])
CITY = columns.categorical_column_with_vocabulary_list("city", ["a", "b"], num_oov_buckets=1)
IDS = columns.categorical_column_with_identity("id", 4, default_value=0)
TAGS = columns.categorical_column_with_vocabulary_list("tags", ["x", "y"])

EXPECTED = [
    (AGE, [[10], [35], [70]]),
    (BUCKETS, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    (columns.indicator_column(CITY), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    (columns.indicator_column(IDS), [[1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]),
    (columns.indicator_column(TAGS), [[1, 1], [0, 0], [1, 0]]),
    (columns.indicator_column(columns.weighted_categorical_column(IDS, "w")), [[0.5, 0, 0, 0], [0, 0, 2, 0], [3, 0, 0, 0]]),
    (columns.embedding_column(TAGS, 2, initializer=tf.constant_initializer([[1.0, 2.0], [3.0, 4.0]])),
     [[2, 3], [0, 0], [1, 2]]),
]


class Columns(unittest.TestCase):
    def layer(self, chosen):
        with tf.Graph().as_default():
            out = v1.feature_column.input_layer(_features(), chosen)
            with v1.Session() as session:
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                return session.run(out), [v.name for v in v1.global_variables()]

    def test_one_by_one(self):
        for column, expected in EXPECTED:
            with self.subTest(column.name):
                np.testing.assert_allclose(self.layer([column])[0], expected)

    def test_together_in_the_order_of_names(self):
        found, _ = self.layer([EXPECTED[2][0], AGE])
        np.testing.assert_allclose(found, [[10, 1, 0, 0], [35, 0, 1, 0], [70, 0, 0, 1]])

    def test_variables(self):
        self.assertEqual(self.layer([EXPECTED[-1][0]])[1], ["input_layer/tags_embedding/embedding_weights:0"])

    def test_linear_model(self):
        crossed = columns.crossed_column([BUCKETS, "city"], 11)
        self.assertEqual(crossed.name, "age_bucketized_X_city")
        with tf.Graph().as_default():
            out = v1.feature_column.linear_model(_features(), [AGE, CITY, crossed], units=2)
            names = sorted(v.name for v in v1.global_variables())
            with v1.Session() as session:
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                self.assertEqual(session.run(out).shape, (3, 2))
        self.assertEqual(names, ["linear_model/age/weights:0", "linear_model/age_bucketized_X_city/weights:0",
                                 "linear_model/bias_weights:0", "linear_model/city/weights:0"])

    def test_parse_spec(self):
        spec = columns.make_parse_example_spec([AGE, CITY, BUCKETS])
        self.assertEqual(sorted(spec), ["age", "city"])
        self.assertEqual(spec["age"], tf.io.FixedLenFeature((1,), tf.float32, None))

    def test_printed_forms(self):
        age = columns.numeric_column("age")
        self.assertEqual(str(columns.bucketized_column(age, [1.0])),
                         "BucketizedColumn(source_column=NumericColumn(key='age', shape=(1,), default_value=None, "
                         "dtype=tf.float32, normalizer_fn=None), boundaries=(1.0,))")

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "boundaries must be a sorted list"):
            columns.bucketized_column(AGE, [3, 1])
        with self.assertRaisesRegex(ValueError, "must be a _DenseColumn"):
            self.layer([CITY])



class Sequences(unittest.TestCase):
    FEATURES = {"x": tf.sparse.from_dense([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 0.0, 0.0]]),
                "w": tf.sparse.from_dense([["a", "b", "z"], ["b", "", ""]])}

    def test_numbers(self):
        column = columns.sequence_numeric_column("x", shape=(2,))
        dense, lengths = column.get_sequence_dense_tensor(self.FEATURES)
        self.assertEqual(dense.numpy().tolist(), [[[1, 2], [3, 4]], [[5, 6], [0, 0]]])
        self.assertEqual((lengths.numpy().tolist(), lengths.dtype), ([2, 1], tf.int64))
        self.assertEqual(str(column), "SequenceNumericColumn(key='x', shape=(2,), default_value=0.0, dtype=tf.float32, "
                                      "normalizer_fn=None)")

    def test_words(self):
        words = columns.sequence_categorical_column_with_vocabulary_list("w", ["a", "b"], num_oov_buckets=1)
        column = columns.indicator_column(words)
        dense, lengths = column.get_sequence_dense_tensor(self.FEATURES)
        self.assertEqual(dense.numpy().tolist(), [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]]])
        self.assertEqual(lengths.numpy().tolist(), [3, 1])
        self.assertEqual(columns.make_parse_example_spec([column, columns.sequence_numeric_column("x")]),
                         {"w": tf.io.VarLenFeature(tf.string), "x": tf.io.VarLenFeature(tf.float32)})
        with tf.Graph().as_default(), self.assertRaises(ValueError):
            v1.feature_column.input_layer(self.FEATURES, [column])


class Shared(unittest.TestCase):
    def test_one_table_for_two_columns(self):
        with tf.Graph().as_default(), v1.Session() as session:
            a, b = (columns.categorical_column_with_identity(key, 3) for key in "ab")
            table = v1.constant_initializer([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
            shared = v1.feature_column.shared_embedding_columns([b, a], 2, initializer=table)
            self.assertEqual([c.name for c in shared], ["b_shared_embedding", "a_shared_embedding"])
            out = v1.feature_column.input_layer({"a": [[0], [1]], "b": [[2], [1]]}, shared)
            session.run(v1.global_variables_initializer())
            self.assertEqual(session.run(out).tolist(), [[1, 2, 5, 6], [3, 4, 3, 4]])
            self.assertEqual([v.name for v in v1.global_variables()],
                             ["input_layer/a_b_shared_embedding/embedding_weights:0"])

    def test_not_in_eager_programs(self):
        with self.assertRaisesRegex(RuntimeError, "eager execution"):
            columns.shared_embeddings([columns.categorical_column_with_identity("a", 3)], 2)


if __name__ == "__main__":
    unittest.main()
