"""Rules of graphs: what is finished, names, what is asked of them; what is expected was taken from TensorFlow 2.21."""

import unittest

import weir as tf

v1 = tf.compat.v1


class FinalizedTest(unittest.TestCase):
    def test_a_finalized_graph_takes_nothing_more(self):
        graph = tf.Graph()
        with graph.as_default():
            a = tf.constant(1.0)
            graph.finalize()
            self.assertTrue(graph.finalized)
            for change in (lambda: a + 1.0, lambda: tf.constant(2), lambda: v1.placeholder(tf.float32),
                           lambda: v1.Variable(1.0), lambda: v1.add_to_collection("x", 1), lambda: tf.gradients(a, [a]),
                           lambda: graph.clear_collection("x"), lambda: tf.cond(a > 0, lambda: a, lambda: a)):
                with self.assertRaisesRegex(RuntimeError, "Graph is finalized and cannot be modified."):
                    change()
            with v1.Session() as session:
                self.assertEqual(session.run(a), 1.0)
            graph._unsafe_unfinalize()
            self.assertEqual((a + 1.0).name, "add_1:0")


class NamesTest(unittest.TestCase):
    def test_names_that_are_none(self):
        with tf.Graph().as_default():
            for name in ("bad name", "_x", "a:b"):
                with self.assertRaisesRegex(ValueError, f"`{name}` is not a valid node name"):
                    tf.constant(1, name=name)

    def test_a_scope_without_a_name_is_the_root(self):
        with tf.Graph().as_default(), tf.name_scope("a"), v1.name_scope(None):
            self.assertEqual(tf.constant(1).name, "Const:0")

    def test_what_is_asked_of_a_graph(self):
        with tf.Graph().as_default() as graph:
            x = tf.constant([1.0], name="x")
            self.assertIs(graph.get_tensor_by_name("x:0"), x)
            self.assertIs(x.op.outputs[0], x)
            with self.assertRaisesRegex(KeyError, "exists but only has 1 outputs"):
                graph.get_tensor_by_name("x:1")
            with self.assertRaisesRegex(ValueError, "appears to refer to a Tensor"):
                graph.get_operation_by_name("x:0")
            with self.assertRaisesRegex(TypeError, "not int"):
                graph.get_tensor_by_name(1)
            with graph.colocate_with(x):
                self.assertEqual(tf.constant(1).op.colocation_groups(), [b"loc:@x"])
            self.assertEqual(x.op.colocation_groups(), [b"loc:@x"])
        with self.assertRaisesRegex(ValueError, "Unknown attribute 'x'"):
            with tf.device("/x:y"):
                pass
        self.assertEqual(float(tf.constant(1.0) + 1.0), 2.0)  # which is not placed there
        with tf.Graph().as_default() as graph:
            with self.assertRaisesRegex(ValueError, "Unknown attribute 'bad'"):
                with graph.device("bad"):
                    pass
            self.assertEqual(tf.constant(1).device, "")

    def test_what_may_not_be_fed(self):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = tf.constant(1.0)
            y = x + 1.0
            graph.prevent_feeding(x)
            graph.prevent_fetching(y.op)
            self.assertEqual((graph.is_feedable(x), graph.is_feedable(y), graph.is_fetchable(y)), (False, True, False))
            with self.assertRaisesRegex(ValueError, "Tensor Const:0 may not be fed."):
                session.run(y, {x: 2.0})

    def test_templates_know_their_variables(self):
        with tf.Graph().as_default():
            made = v1.make_template("t", lambda: v1.get_variable("x", [1]))
            self.assertIs(made(), made())
            self.assertEqual((made.name, [v.name for v in made.trainable_variables]), ("t", ["t/x:0"]))

    def test_constants_of_other_shapes(self):
        with tf.Graph().as_default(), v1.Session() as session:
            self.assertEqual(session.run(v1.constant_initializer([1, 2])([3])).tolist(), [1, 2, 2])
            with self.assertRaisesRegex(TypeError, r"Expected Tensor's shape: \(2, 2\), but got \(4,\)"):
                v1.constant_initializer([1, 2, 3, 4], verify_shape=True)([2, 2])


if __name__ == "__main__":
    unittest.main()
