"""compat.v1: warm starts by vocabularies, loss scales, metrics of the best k. Values are TensorFlow's."""

import os
import tempfile
import unittest

import numpy as np

import weir.compat.v1 as tf


class WarmStart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with tf.Graph().as_default(), tf.Session() as session:
            for name, shape in (("a", (3, 2)), ("old/b", (2,)), ("emb", (4, 2)), ("cols", (2, 4))):
                tf.get_variable(name, initializer=np.arange(np.prod(shape), dtype="f").reshape(shape))
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, folder.name + "/m", 1)

    def vocabulary(self, name, words):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write("".join(w + "\n" for w in words))
        return path

    def test_rows_and_columns_follow_their_words(self):
        new, old = self.vocabulary("new", "yqw"), self.vocabulary("old", "wxyz")
        with tf.Graph().as_default(), tf.Session() as session:
            made = [tf.get_variable(name, shape, initializer=tf.zeros_initializer())
                    for name, shape in (("a", [3, 2]), ("b", [2]), ("emb", [4, 2]), ("cols", [2, 3]))]
            tf.train.warm_start(self.folder, ".*", {"emb": tf.train.VocabInfo(new, 3, 1, old),
                                                    "cols": tf.train.VocabInfo(new, 3, 0, old, axis=1)}, {"b": "old/b"})
            session.run(tf.global_variables_initializer())
            values = [v.tolist() for v in session.run(made)]
        self.assertEqual(values, [[[0, 1], [2, 3], [4, 5]], [0, 1], [[4, 5], [0, 0], [0, 1], [0, 0]],
                                  [[2, 0, 0], [6, 0, 4]]])

    def test_only_what_is_asked_for(self):
        with tf.Graph().as_default(), tf.Session() as session:
            a = tf.get_variable("a", [3, 2], initializer=tf.ones_initializer())
            b = tf.get_variable("emb", [4, 2], initializer=tf.ones_initializer())
            tf.train.warm_start(self.folder + "/m-1", ["emb"])
            session.run(tf.global_variables_initializer())
            self.assertEqual([session.run(a)[0].tolist(), session.run(b)[1].tolist()], [[1, 1], [2, 3]])
            with self.assertRaisesRegex(ValueError, "var_name_to_prev_var_name that were not used"):
                tf.train.warm_start(self.folder, "a", None, {"zz": "q"})


class LossScales(unittest.TestCase):
    def test_steps_without_finite_gradients_are_left_out(self):
        with tf.Graph().as_default(), tf.Session() as session:
            v, x = tf.get_variable("v", initializer=[1.0, 2.0]), tf.placeholder(tf.float32, [2])
            scale = tf.train.experimental.DynamicLossScale(8.0, 2, 2.0)
            optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), scale)
            step = optimizer.minimize(tf.reduce_sum(v * v * x))
            session.run(tf.global_variables_initializer())
            seen = []
            for fed in ([1.0, 1.0], [1.0, 1.0], [1.0, np.inf], [1.0, 1.0]):
                session.run(step, {x: fed})
                seen.append([float(session.run(v)[0]), float(session.run(scale()))])
        np.testing.assert_allclose(seen, [[0.8, 8], [0.46, 16], [0.46, 8], [0.062, 8]], rtol=1e-5)

    def test_forms(self):
        self.assertEqual(repr(tf.train.experimental.FixedLossScale(4.0)), "FixedLossScale(4.0)")
        with self.assertRaisesRegex(ValueError, "loss_scale_value must be at least 1"):
            tf.mixed_precision.FixedLossScale(0.5)


class BestK(unittest.TestCase):
    def test_values(self):
        with tf.Graph().as_default(), tf.Session() as session:
            labels = tf.constant([[1, 2], [0, 3]], tf.int64)
            scores = tf.constant([[0.1, 0.5, 0.2, 0.9], [0.4, 0.1, 0.3, 0.2]])
            best = tf.constant([[3, 1], [0, 2]], tf.int64)
            updates = [tf.metrics.average_precision_at_k(labels, scores, 3)[1],
                       tf.metrics.average_precision_at_k(labels, scores, 2, weights=[1.0, 3.0])[1],
                       tf.metrics.precision_at_top_k(labels, best, 2)[1],
                       tf.metrics.recall_at_top_k(labels, best, 2, class_id=1)[1]]
            session.run(tf.local_variables_initializer())
            np.testing.assert_allclose(session.run(updates), [0.7083333333, 0.4375, 0.5, 1.0])
            self.assertIn("recall_at_2_class1/true_positive_at_2_class1:0", [v.name for v in tf.local_variables()])


if __name__ == "__main__":
    unittest.main()
