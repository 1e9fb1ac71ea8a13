"""Tests in the manner of TensorFlow's own: internal modules, test_util, sessions, gradient checkers."""

import unittest

from weir import _alias

_alias.install()

import numpy as np  # noqa: E402

from tensorflow.python.eager import backprop, context, def_function  # noqa: E402
from tensorflow.python.framework import constant_op, dtypes, errors, ops, test_util  # noqa: E402
from tensorflow.python.ops import (array_ops, gen_math_ops, gradient_checker, gradient_checker_v2, gradients_impl,  # noqa: E402
                                   math_ops, nn_ops, resource_variable_ops, variables)
from tensorflow.python.platform import test  # noqa: E402


class InternalModules(unittest.TestCase):
    def test_names_are_weirs_own(self):
        import weir as tf
        self.assertIs(math_ops.reduce_sum, tf.reduce_sum)
        self.assertIs(math_ops.argmax, tf.compat.v1.argmax)
        self.assertIs(array_ops.placeholder, tf.compat.v1.placeholder)
        self.assertIs(ops.Graph, tf.Graph)
        self.assertIs(resource_variable_ops.ResourceVariable, tf.Variable)

    def test_generated_modules(self):
        self.assertEqual(gen_math_ops.mat_mul([[2.0]], [[3.0]]).numpy(), 6.0)
        self.assertEqual(gen_math_ops.add_v2(1, 2).numpy(), 3)
        with self.assertRaisesRegex(AttributeError, "no_such_op"):
            gen_math_ops.no_such_op  # noqa: B018

    def test_unknown_modules_are_not_made(self):
        with self.assertRaises(ImportError):
            import tensorflow.python.ops.no_such_module  # noqa: F401


class Modes(test.TestCase):
    modes = []

    @test_util.run_in_graph_and_eager_modes
    def test_both(self):
        Modes.modes.append(context.executing_eagerly())
        x = constant_op.constant([1.0, 2.0])
        self.assertAllClose(self.evaluate(x * 2), [2.0, 4.0])

    def test_both_ran(self):
        self.assertEqual(sorted(set(Modes.modes)), [False, True])

    @test_util.run_deprecated_v1
    def test_graph(self):
        x = array_ops.placeholder(dtypes.float32, [2])
        with self.cached_session() as sess:
            self.assertAllEqual(sess.run(x + 1, {x: [1, 2]}), [2, 3])
        with self.session() as sess:
            self.assertAllClose((x * 2).eval({x: [1, 2]}), [2, 4])

    def test_eager_session(self):
        with self.cached_session() as sess:
            self.assertEqual(sess.run(constant_op.constant(3)), 3)

    @test_util.run_v1_only("of TensorFlow 1")
    def test_skipped(self):
        raise AssertionError

    def test_compares(self):
        with self.assertRaises(AssertionError):
            self.assertAllEqual([1, 2], constant_op.constant([1, 3]))
        with self.assertRaisesRegex(AssertionError, "Shape mismatch"):
            self.assertAllClose([1.0], [[1.0]])
        self.assertAllClose({"a": (1.0, [2.0])}, {"a": (1.0, [2.0])})
        self.assertAllEqual(np.array([np.nan]), np.array([np.nan]))
        self.assertNotAllClose([1.0], [2.0])
        with self.assertRaises(AssertionError):
            self.assertAllInRange([0.5, 2.0], 0, 1)

    def test_op_errors(self):
        with self.assertRaisesOpError("Incompatible shapes|required broadcastable"):
            gen_math_ops.add_v2([1, 2], [1, 2, 3])
        with self.assertRaisesRegex(errors.InvalidArgumentError, "Matrix size-incompatible"):
            math_ops.matmul([[1.0, 2.0]], [[1.0]])


class Gradients(test.TestCase):
    def test_checker_v2(self):
        analytic, numeric = gradient_checker_v2.compute_gradient(lambda x: x * x, [np.float64([1.0, 3.0])])
        self.assertAllClose(analytic[0], [[2.0, 0.0], [0.0, 6.0]])
        self.assertLess(gradient_checker_v2.max_error(analytic, numeric), 1e-9)

    def test_checker_v2_complex(self):
        z = np.complex128([1 + 2j])
        analytic, numeric = gradient_checker_v2.compute_gradient(math_ops.square, [z])
        self.assertAllClose(analytic[0].shape, (2, 2))
        self.assertLess(gradient_checker_v2.max_error(analytic, numeric), 1e-9)

    @test_util.run_deprecated_v1
    def test_checker_v1(self):
        with self.cached_session():
            x = constant_op.constant([1.0, 2.0], dtype=dtypes.float64)
            y = nn_ops.softmax(x)
            error = gradient_checker.compute_gradient_error(x, [2], y, [2], x_init_value=np.array([1.0, 2.0]))
            self.assertLess(error, 1e-6)

    def test_registered_gradient(self):
        @ops.RegisterGradient("TestUtilTestDouble")
        def _gradient(op, grad):
            return 2.0 * grad + 0.0 * op.inputs[0]
        with self.assertRaises(KeyError):
            ops.RegisterGradient("TestUtilTestDouble")(_gradient)
        with ops.Graph().as_default() as graph:
            x = constant_op.constant(3.0)
            with graph.gradient_override_map({"Identity": "TestUtilTestDouble"}):
                y = array_ops.identity(x)
            plain = array_ops.identity(x)
            with self.session():
                self.assertEqual(gradients_impl.gradients(y, x)[0].eval(), 2.0)
                self.assertEqual(gradients_impl.gradients(plain, x)[0].eval(), 1.0)

    def test_custom_gradient_in_a_graph(self):
        import weir as tf

        @tf.custom_gradient
        def clipped(x):
            return x * x, lambda g: g * 100.0
        with tf.Graph().as_default():
            x = tf.constant(3.0)
            with self.session() as sess:
                self.assertEqual(sess.run(tf.gradients(clipped(x) + x, x)), [101.0])

    def test_implicit(self):
        v = variables.Variable(2.0)
        (grad, variable), = backprop.implicit_grad(lambda: v * v)()
        self.assertIs(variable, v)
        self.assertEqual(grad.numpy(), 4.0)
        self.assertEqual(backprop.gradients_function(lambda x, y: x * y)(2.0, 3.0)[0].numpy(), 3.0)
        self.assertEqual(def_function.function(lambda x: x + 1)(1).numpy(), 2)


if __name__ == "__main__":
    test.main()
