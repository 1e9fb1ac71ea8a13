"""Tapes, custom gradients, and gradients through functions and control flow."""

import gc
import unittest
import weakref

import numpy as np

import weir as tf
from weir.framework.graph import FuncGraph


def value(x):
    return x.numpy().tolist()


class Tapes(unittest.TestCase):
    def test_gradient_of_a_square(self):
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        self.assertEqual(value(tape.gradient(y, x)), 6.0)

    def test_variables_are_watched_when_they_are_read(self):
        v = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v)
        self.assertEqual(value(tape.gradient(y, v)), [2.0, 4.0])
        self.assertIs(tape.watched_variables()[0], v)

    def test_variables_are_left_alone_if_told(self):
        v = tf.Variable(1.0)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            y = v * v
        self.assertIsNone(tape.gradient(y, v))

    def test_second_derivative(self):
        x = tf.constant(3.0)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x * x * x
            first = inner.gradient(y, x)
        self.assertEqual((value(first), value(outer.gradient(first, x))), (27.0, 18.0))

    def test_a_tape_gives_one_gradient_unless_persistent(self):
        x = tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = x * x, x * x * x
        self.assertEqual((value(tape.gradient(y, x)), value(tape.gradient(z, x))), (4.0, 12.0))
        with tf.GradientTape() as once:
            once.watch(x)
            y = x * x
        once.gradient(y, x)
        with self.assertRaises(RuntimeError):
            once.gradient(y, x)

    def test_stop_recording(self):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tape.stop_recording():
                hidden = x * x
            y = x * hidden
        self.assertEqual(value(tape.gradient(y, x)), 4.0)

    def test_structures_and_unconnected_sources(self):
        x, y = tf.constant(1.0), tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = x * 3.0
        self.assertEqual(tape.gradient(z, {"x": x, "y": y})["y"], None)
        zeros = tape.gradient(z, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)
        self.assertEqual([value(g) for g in zeros], [3.0, 0.0])

    def test_a_variable_by_itself(self):
        v = tf.Variable([2.0, 3.0])
        with tf.GradientTape(persistent=True) as tape:
            y = v * 2.0
        self.assertEqual(tape.gradient(v, v).numpy().tolist(), [1.0, 1.0])
        self.assertEqual(tape.gradient([v, y], v).numpy().tolist(), [3.0, 3.0])
        self.assertIsNone(tape.gradient(v, tf.Variable(1.0)))

    def test_gathers_give_indexed_slices(self):
        v = tf.Variable(tf.ones([4, 2]))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(v, [0, 2]))
        gradient = tape.gradient(y, v)
        self.assertIsInstance(gradient, tf.IndexedSlices)
        self.assertEqual(value(gradient.indices), [0, 2])
        self.assertEqual(value(tf.convert_to_tensor(gradient)), [[1, 1], [0, 0], [1, 1], [0, 0]])

    def test_jacobian_and_forward_accumulator(self):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        self.assertEqual(value(tape.jacobian(y, x)), [[2.0, 0.0], [0.0, 4.0]])
        p = tf.constant(3.0)
        with tf.autodiff.ForwardAccumulator(p, tf.constant(2.0)) as accumulator:
            y = p * p
        self.assertEqual(value(accumulator.jvp(y)), 12.0)

    def test_tapes_die_with_what_they_recorded(self):
        x = tf.constant(2.0)
        tape = tf.GradientTape()
        with tape:
            tape.watch(x)
            y = x * x
        kept = weakref.ref(y)
        del y, tape
        gc.collect()
        self.assertIsNone(kept())


class CustomGradients(unittest.TestCase):
    def test_the_given_function_is_used(self):
        @tf.custom_gradient
        def f(x):
            return x * x, lambda dy: dy * 100.0
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        self.assertEqual((value(y), value(tape.gradient(y, x))), (4.0, 100.0))

    def test_variables_are_given_to_the_function(self):
        v = tf.Variable(2.0)

        @tf.custom_gradient
        def f(x):
            def gradient(dy, variables=None):
                return dy * 10.0, [dy * 7.0]
            return v * x, gradient
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        self.assertEqual([value(g) for g in tape.gradient(y, [x, v])], [10.0, 7.0])

    def test_variables_may_be_arguments(self):
        @tf.custom_gradient
        def reversed_gradient(x):
            return tf.identity(x), lambda dy: -dy

        squares = tf.recompute_grad(lambda x: tf.reduce_sum(x * x))
        v = tf.Variable([1.0, 2.0])
        for eager in (True, False):
            def gradients():
                with tf.GradientTape(persistent=True) as tape:
                    y, z = tf.reduce_sum(reversed_gradient(v) * 3.0), squares(v)
                return tape.gradient(y, v), tape.gradient(z, v)
            found = gradients() if eager else tf.function(gradients)()
            self.assertEqual([g.numpy().tolist() for g in found], [[-3.0, -3.0], [2.0, 4.0]])

    def test_recompute_grad(self):
        v = tf.Variable(2.0)
        f = tf.recompute_grad(lambda x: v * x * x)
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        self.assertEqual([value(g) for g in tape.gradient(y, [x, v])], [12.0, 9.0])


class CustomGradientsOfFunctions(unittest.TestCase):
    """Gradients by tapes around functions, which cannot call the Python functions that give them."""

    def setUp(self):
        self.v = tf.Variable(2.0)
        self.x = tf.constant([1.0, 2.0])

    def gradient(self, f, source=None):
        x = self.x
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.function(f)(x)
        return value(tape.gradient(y, x if source is None else source))

    @staticmethod
    def times_hundred(x, y):
        @tf.custom_gradient
        def f(x, y):
            return (x * y, x + y), lambda first, second: (first * 100.0 * x, second * 7.0 * y)
        return f(x, y)

    def test_tensors_of_the_forward_pass(self):
        def f(x):
            first, second = self.times_hundred(x, x + 1.0)
            return first * self.v + second
        self.assertEqual(self.gradient(f), [214.0, 421.0])

    def test_variables(self):
        @tf.custom_gradient
        def f(x):
            return x * self.v, lambda dy, variables: (dy * self.v * 10.0, [tf.reduce_sum(dy) * 55.0])
        self.assertEqual(self.gradient(f), [20.0, 20.0])
        self.assertEqual(self.gradient(f, self.v), 110.0)

    def test_results_without_gradients_stay_finite(self):
        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.math.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))
        self.x = tf.constant([100.0])
        self.assertEqual(self.gradient(log1pexp), [1.0])

    def test_branches_and_loops(self):
        def branch(x):
            w = x * 2.0

            @tf.custom_gradient
            def f(y):
                return y, lambda dy: dy * w * 10.0
            return tf.cond(tf.reduce_sum(x) > 0, lambda: f(x), lambda: x)

        def loop(x):
            @tf.custom_gradient
            def f(y):
                return y * 2.0, lambda dy: dy * 10.0
            return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, f(y)), (0, x))[1]
        self.assertEqual(self.gradient(branch), [20.0, 40.0])
        self.assertEqual(self.gradient(loop), [1000.0, 1000.0])

    def test_calls_of_calls(self):
        inner = tf.function(lambda x: self.times_hundred(x, x)[0])
        self.assertEqual(self.gradient(lambda x: inner(x) + 1.0), [100.0, 200.0])
        self.assertEqual(value(tf.function(lambda x: tf.gradients(inner(x), x)[0])(self.x)), [100.0, 200.0])

    def test_gradients_that_have_custom_gradients_without_end(self):
        @tf.custom_gradient
        def sine(x):
            return tf.sin(x), lambda dy: dy * cosine(x)

        @tf.custom_gradient
        def cosine(x):
            return tf.cos(x), lambda dy: -dy * sine(x)
        x = self.x
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.function(sine)(x)
            first = tape.gradient(y, x)
        np.testing.assert_allclose(first, np.cos([1.0, 2.0]), rtol=1e-6)
        np.testing.assert_allclose(outer.gradient(first, x), -np.sin([1.0, 2.0]), rtol=1e-6)

    def test_gradients_that_cannot_be_traced_fail_when_they_are_taken(self):
        @tf.custom_gradient
        def f(x):
            def gradient(dy):
                raise NotImplementedError("no")
            return x * 2.0, gradient
        self.assertEqual(value(tf.function(f)(self.x)), [2.0, 4.0])
        with self.assertRaises(LookupError):
            self.gradient(f)

    def test_functions_go_with_their_gradients(self):
        from weir import _core
        names = [f"__inference_internal_grad_fn_{i}_0" for i in range(10000)]
        known = lambda: _core.function_library(names).count(b"__inference_internal_grad_fn_")  # noqa: E731
        gc.collect()
        before = known()
        made = tf.function(lambda x: self.times_hundred(x, x)[0])
        made(self.x)
        self.assertGreater(known(), before)
        del made
        variables = []

        @tf.function
        def twice(x):  # traced once to make its variable and once to be kept
            if not variables:
                variables.append(tf.Variable(2.0))
            return self.times_hundred(x, x)[0] * variables[0]
        twice(self.x)
        with FuncGraph("scratch").as_default():
            self.times_hundred(tf.zeros([2]), tf.zeros([2]))
        del twice
        gc.collect()
        self.assertEqual(known(), before)

    def test_operations_without_gradients(self):
        def f(x):
            return tf.raw_ops.CropAndResizeGradBoxes(grads=tf.zeros([1, 2, 2, 1]) * x[0], image=tf.zeros([1, 4, 4, 1]),
                                                     boxes=tf.zeros([1, 4]), box_ind=[0])
        with self.assertRaisesRegex(LookupError, "No gradient defined for operation"):
            self.gradient(f)


class ThroughFunctions(unittest.TestCase):
    def gradient(self, f, x=2.0):
        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.function(f)(x)
        return value(y), value(tape.gradient(y, x))

    def test_calls(self):
        self.assertEqual(self.gradient(lambda x: x * x * x), (8.0, 12.0))

    def test_cond(self):
        self.assertEqual(self.gradient(lambda x: tf.cond(x > 0, lambda: x * x, lambda: -x)), (4.0, 4.0))
        self.assertEqual(self.gradient(lambda x: tf.cond(x > 0, lambda: x * x, lambda: -x), -2.0), (2.0, -1.0))

    def test_while(self):
        def power(x):
            return tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s * x), [0, x])[1]
        self.assertEqual(self.gradient(power), (64.0, 192.0))

    def test_tape_inside_a_function_with_control_flow(self):
        @tf.function
        def f(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.cond(x > 0, lambda: x * x, lambda: x)
            return tape.gradient(y, x)
        self.assertEqual(value(f(tf.constant(3.0))), 6.0)

    def test_a_training_step_as_a_function(self):
        v = tf.Variable(2.0)

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = v * v * x
            v.assign_sub(0.5 * tape.gradient(loss, v))
            return loss
        self.assertEqual(value(step(tf.constant(0.5))), 2.0)
        self.assertEqual(value(v), 1.0)


class Slices(unittest.TestCase):
    def test_cast_and_cond_keep_slices(self):
        slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 0]), tf.constant([3, 1]))
        self.assertEqual(type(tf.cast(slices, tf.float64)).__name__, "IndexedSlices")
        wide = tf.IndexedSlices(slices.values, tf.constant([0, 0], tf.int64), tf.constant([3, 1], tf.int64))
        chosen = tf.function(lambda which: tf.cond(which, lambda: slices, lambda: wide))(tf.constant(True))
        self.assertEqual(chosen.values.numpy().tolist(), [[1.0], [2.0]])


class PythonGradientTest(unittest.TestCase):
    """Gradients written in Python, in the bodies of functions."""

    @classmethod
    def setUpClass(cls):
        @tf.RegisterGradient("TimesSeven")
        def times_seven(op, grad):
            return grad * 7.0

        cls.scale = tf.Variable(2.0)

        @tf.function
        def function(x, y):
            with tf.compat.v1.get_default_graph().gradient_override_map({"Tanh": "TimesSeven"}):
                return tf.tanh(x) * cls.scale + y, y * y
        cls.function = staticmethod(function)

    def test_an_eager_call(self):
        x, y = tf.constant(0.5), tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            first, second = self.function(x, y)
        np.testing.assert_allclose(tape.gradient(first, [x, y, self.scale]), [14, 1, np.tanh(0.5)], rtol=1e-6)
        np.testing.assert_allclose(tape.gradient([first, second], [x, y]), [14, 7])

    def test_calls_from_other_functions(self):
        @tf.function
        def differentiated(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                result = self.function(x, x)[0]
            return tape.gradient(result, x)

        @tf.function
        def doubled(x):
            return self.function(x, x)[0] * 2.0

        x = tf.constant(0.5)
        self.assertEqual(float(differentiated(x)), 15.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = doubled(x)
        self.assertEqual(float(tape.gradient(result, x)), 30.0)

    def test_graphs_of_sessions(self):
        with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.constant(0.5)
            session.run(tf.compat.v1.global_variables_initializer())

            @tf.function
            def function(x):
                with tf.compat.v1.get_default_graph().gradient_override_map({"Tanh": "TimesSeven"}):
                    return tf.tanh(x)
            self.assertEqual(session.run(tf.gradients(function(x), x)), [7.0])


if __name__ == "__main__":
    unittest.main()
