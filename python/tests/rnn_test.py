"""compat.v1.nn.dynamic_rnn and its kin; tf.CriticalSection. Numbers recorded from TensorFlow 2.21."""

import unittest

import numpy as np

import weir as tf

v1 = tf.compat.v1


class Cell:
    """h = tanh([x, h] w)."""

    state_size = output_size = 3

    def __call__(self, x, state, scope=None):
        weights = tf.constant_initializer(np.linspace(-1, 1, 15).reshape(5, 3))
        w = v1.get_variable("w", [x.shape[-1] + 3, 3], initializer=weights)
        h = tf.tanh(tf.matmul(tf.concat([x, state], 1), w))
        return h, h

    def zero_state(self, batch_size, dtype):
        return tf.zeros([batch_size, 3], dtype)


class Rnn(unittest.TestCase):
    def run_all(self, **options):
        with tf.Graph().as_default():
            x = tf.constant(np.arange(24).reshape(3, 4, 2) / 24.0, tf.float32)
            outputs, state = v1.nn.dynamic_rnn(Cell(), x, dtype=tf.float32, **options)
            with v1.variable_scope("static"):
                steps, last = v1.nn.static_rnn(Cell(), tf.unstack(x, axis=1), dtype=tf.float32, **options)
            both, _ = v1.nn.bidirectional_dynamic_rnn(Cell(), Cell(), x, dtype=tf.float32, **options)
            names = [v.name for v in v1.global_variables()]
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                return session.run([outputs, state, tf.stack(steps, axis=1), last, *both]), names

    def test_unrolled_and_looped_agree(self):
        for options in ({}, {"sequence_length": [2, 4, 1]}):
            (outputs, state, steps, last, forward, backward), names = self.run_all(**options)
            np.testing.assert_allclose(outputs, steps, atol=1e-6)
            np.testing.assert_allclose(state, last, atol=1e-6)
            np.testing.assert_allclose(outputs, forward, atol=1e-6)
            self.assertEqual(backward.shape, (3, 4, 3))
            self.assertEqual(names, ["rnn/w:0", "static/rnn/w:0", "bidirectional_rnn/fw/w:0", "bidirectional_rnn/bw/w:0"])

    def test_ends_with_its_sequence(self):
        (outputs, state, *_), _ = self.run_all(sequence_length=[2, 4, 1])
        np.testing.assert_array_equal(outputs[0, 2:], np.zeros((2, 3)))
        np.testing.assert_array_equal(outputs[2, 1:], np.zeros((3, 3)))
        np.testing.assert_array_equal(state[0], outputs[0, 1])


class Sections(unittest.TestCase):
    def test_runs_alone(self):
        section, total = tf.CriticalSection(), tf.Variable(1)
        self.assertEqual(int(section.execute(lambda: total.assign_add(2))), 3)
        function = tf.function(lambda: section.execute(lambda: total.assign_add(2)))
        self.assertEqual([int(function()), int(function())], [5, 7])

    def test_not_inside_of_itself(self):
        section = tf.CriticalSection()
        with self.assertRaisesRegex(ValueError, "Attempting to lock a CriticalSection"):
            section.execute(lambda: section.execute(lambda: tf.constant(1)))


if __name__ == "__main__":
    unittest.main()
