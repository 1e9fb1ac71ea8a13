"""Shapes that are known while a function is traced. The expectations are TensorFlow 2.21's."""

import unittest

import weir as tf


def shape_of(function, *shapes, dtype=tf.float32):
    """The static shape of what a function gives for arguments of these shapes."""
    traced = tf.function(function, input_signature=[tf.TensorSpec(s, dtype) for s in shapes], autograph=False)
    shape = traced.get_concrete_function().structured_outputs.shape
    return shape.as_list() if shape.rank is not None else None


class StaticShapeTest(unittest.TestCase):
    def test_computed_dimensions_are_followed(self):
        self.assertEqual(shape_of(lambda x: tf.reshape(x, tf.concat([tf.shape(x)[1:], [-1]], 0)), [None, 3]), [3, None])
        self.assertEqual(shape_of(lambda x: tf.zeros(tf.pad(tf.shape(x), [[0, tf.rank(x)]], constant_values=1)), [2, 3]),
                         [2, 3, 1, 1])
        self.assertEqual(shape_of(lambda x: tf.transpose(x, tf.range(tf.rank(x))[::-1]), [None, 3, 4]), [4, 3, None])
        self.assertEqual(shape_of(lambda x, y: tf.linspace(x, y, 4), [None], [None]), [4, None])

    def test_comparisons_of_unknown_sizes_keep_the_rank(self):
        shapes = []

        @tf.function
        def compare(x, y):
            shapes.extend([(x == y).shape.as_list(), tf.reduce_sum(tf.cast(x == y, tf.int32)).shape.as_list()])

        compare.get_concrete_function(tf.TensorSpec([None, None]), tf.TensorSpec([None, None]))
        self.assertEqual(shapes, [[None, None], []])

    def test_comparisons_with_numbers_keep_the_shape(self):
        self.assertEqual(shape_of(lambda x: x == 0, [None, 3]), [None, 3])
        self.assertEqual(shape_of(lambda x, y: x == y, [None, 3], [2, 3]), None)

    def test_lists_of_a_known_length(self):
        def loop(x):
            _, items = tf.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, x)),
                                     (0, tf.TensorArray(tf.float32, size=5, element_shape=[None, 2])))
            return items.stack()
        self.assertEqual(shape_of(loop, [None, 2]), [5, None, 2])

    def test_tables_give_the_shape_of_their_keys(self):
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4], tf.int64, tf.int64), -1)
        self.assertEqual(shape_of(table.lookup, [None, 4], dtype=tf.int64), [None, 4])

    def test_images_and_volumes(self):
        self.assertEqual(shape_of(tf.image.rgb_to_hsv, [None, None, None, None]), [None, None, None, 3])
        self.assertEqual(shape_of(lambda x, k: tf.nn.conv3d(x, k, [1] * 5, "SAME"), [None, 5, 6, 7, 2], [None, 3, 3, 2, 4]),
                         [None, 5, 6, 7, 4])
        self.assertEqual(shape_of(lambda x: tf.nn.conv_transpose(x, tf.zeros([3, 3, 3, 2, 4]), [
            tf.shape(x)[0], 5, 6, 7, 2], [1, 1, 1]), [None, 5, 6, 7, 4]), [None, 5, 6, 7, 2])
        self.assertEqual(shape_of(lambda x: tf.nn.conv2d(x, tf.zeros([3, 3, 4, 5]), 1, "VALID", "NCHW"),
                                  [None, 4, 8, 9]), [None, 5, 6, 7])


class ListsOfLoopsTest(unittest.TestCase):
    def test_what_a_loop_writes_tells_the_shape_of_what_is_read(self):
        shapes = []

        @tf.function
        def loops(x):
            rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
            for i in tf.range(tf.shape(x)[0]):
                rows = rows.write(i, x[i] * 2.0)
            written = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, x[i])),
                                    [0, tf.TensorArray(tf.float32, 3)])[1]
            total, row = tf.map_fn(lambda r: (tf.reduce_sum(r), r), x, fn_output_signature=(tf.float32, tf.float32))
            shapes.append([t.shape.as_list() for t in (rows.stack(), rows.gather([0]), written.stack(), total, row)])
            return row

        loops.get_concrete_function(tf.TensorSpec([None, 4]))
        self.assertEqual(shapes[0], [[None, 4], [1, 4], [3, 4], [None], [None, 4]])


class StaticValueTest(unittest.TestCase):
    def test_values_are_known_where_tensorflow_knows_them(self):
        known = {}

        @tf.function(input_signature=[tf.TensorSpec([2, 3])], autograph=False)
        def trace(x):
            for name, tensor in {"shape": tf.shape(x), "element": tf.shape(x)[0], "sum": tf.rank(x) + 1,
                                 "cast": tf.cast(tf.range(3), tf.float32), "zeros": tf.zeros([2]),
                                 "choice": tf.where(True, 1, 2)}.items():
                value = tf.get_static_value(tensor)
                known[name] = None if value is None else value.tolist()
            return x
        trace.get_concrete_function()
        self.assertEqual(known, {"shape": [2, 3], "element": None, "sum": None, "cast": [0.0, 1.0, 2.0],
                                 "zeros": [0.0, 0.0], "choice": None})


class TracingErrorTest(unittest.TestCase):
    def test_types_that_do_not_fit_are_type_errors(self):
        integers = tf.constant([1, 2])
        for wrong in (lambda: integers - 0.5, lambda: 0.5 * integers, lambda: integers > 0.5, lambda: integers == 0.5):
            with self.assertRaisesRegex(TypeError, "0.5"):
                wrong()
            with self.assertRaises(TypeError):
                tf.function(wrong, autograph=False)()
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "cannot compute AddV2"):
            integers + 0.5  # noqa: B018
        with self.assertRaisesRegex(TypeError, "has type float32 that does not match type int32 of argument 'x'"):
            tf.function(lambda: tf.add(integers, tf.constant(0.5)), autograph=False)()
        with self.assertRaisesRegex(TypeError, "Value passed to parameter 'x' has DataType bool not in list"):
            tf.function(lambda x: tf.add(x, x), autograph=False)(tf.constant(True))

    def test_none_in_a_list(self):
        with self.assertRaisesRegex(TypeError, "Failed to convert elements of"):
            tf.function(lambda x: tf.reshape(x, [1, None]), autograph=False)(tf.zeros([3]))
        with self.assertRaises(ValueError):
            tf.reshape(tf.zeros([3]), [1, None])

    def test_the_users_line_is_named(self):
        @tf.function
        def fails(x):
            return tf.reshape(x, [7])
        with self.assertRaisesRegex(ValueError, r"(?s)in user code:.*static_shape_test.py.*return tf.reshape\(x, \[7\]\)"):
            fails(tf.zeros([3]))


if __name__ == "__main__":
    unittest.main()
