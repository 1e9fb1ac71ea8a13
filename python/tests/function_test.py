"""tf.function: tracing rules, captures, variables, signatures."""

import unittest

import numpy as np

import weir as tf


def value(x):
    return x.numpy().tolist()


class Tracing(unittest.TestCase):
    def test_traces_by_type_shape_and_python_value(self):
        traces = []

        @tf.function
        def f(x):
            traces.append(1)
            return x
        f(1), f(2), f(tf.constant(1.0)), f(tf.constant(2.0)), f(tf.constant([1.0])), f(tf.constant([1.0, 2.0]))
        self.assertEqual(len(traces), 5)
        self.assertEqual(f.experimental_get_tracing_count(), 5)

    def test_reduce_retracing_relaxes_shapes(self):
        shapes = []

        @tf.function(reduce_retracing=True)
        def f(x):
            shapes.append(x.shape.as_list())
            return x
        for n in (1, 2, 3, 4):
            f(tf.zeros([n, 3]))
        self.assertEqual(shapes, [[1, 3], [None, 3]])

    def test_input_signature(self):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def f(x):
            return x * 2
        self.assertEqual(value(f(tf.constant([1.0, 2.0]))), [2.0, 4.0])
        self.assertEqual(value(f([3.0])), [6.0])
        self.assertEqual(f.experimental_get_tracing_count(), 1)
        with self.assertRaises(TypeError):
            f(tf.constant([[1.0]]))

    def test_structures_in_and_out(self):
        @tf.function
        def f(pair, scale=2.0, *, extra=None):
            return {"sum": pair[0] + pair[1], "scaled": (pair[0] * scale, None)}
        out = f((tf.constant(1.0), tf.constant(2.0)))
        self.assertEqual(value(out["sum"]), 3.0)
        self.assertEqual(value(out["scaled"][0]), 2.0)
        self.assertIsNone(out["scaled"][1])
        self.assertEqual(value(f((tf.constant(1.0), tf.constant(2.0)), scale=5.0)["scaled"][0]), 5.0)

    def test_outer_tensors_are_captured(self):
        outer = tf.constant([1.0, 2.0])
        f = tf.function(lambda x: x + outer)
        self.assertEqual(value(f(tf.constant(1.0))), [2.0, 3.0])
        self.assertEqual(len(f.get_concrete_function(tf.constant(1.0)).captured_inputs), 1)

    def test_functions_call_functions(self):
        inner = tf.function(lambda x: x * x)
        outer = tf.function(lambda x: inner(x) + inner(x + 1.0))
        self.assertEqual(value(outer(tf.constant(2.0))), 13.0)

    def test_symbolic_tensors_do_not_leave(self):
        leaked = []
        f = tf.function(lambda x: leaked.append(x * 2))
        f(tf.constant(1.0))
        with self.assertRaises((TypeError, ValueError)):
            leaked[0] + 1.0

    def test_python_bool_of_a_symbolic_tensor_is_refused(self):
        @tf.function(autograph=False)
        def f(x):
            return 1 if x > 0 else 2
        with self.assertRaises(TypeError):
            f(tf.constant(1.0))

    def test_shape_errors_while_tracing_are_value_errors(self):
        f = tf.function(lambda a, b: tf.raw_ops.MatMul(a=a, b=b))
        with self.assertRaises(ValueError):
            f(tf.ones([2, 3]), tf.ones([2, 3]))

    def test_run_functions_eagerly(self):
        seen = []
        f = tf.function(lambda x: seen.append(tf.executing_eagerly()) or x)
        tf.config.run_functions_eagerly(True)
        try:
            f(tf.constant(1.0))
        finally:
            tf.config.run_functions_eagerly(False)
        self.assertEqual(seen, [True])


class State(unittest.TestCase):
    def test_effects_keep_their_order(self):
        v = tf.Variable(1.0)

        @tf.function
        def f():
            v.assign(v * 2.0)
            a = v.read_value()
            v.assign_add(1.0)
            return a, v.read_value()
        a, b = f()
        self.assertEqual((value(a), value(b), value(v)), (2.0, 3.0, 3.0))

    def test_variables_are_made_by_the_first_call_only(self):
        class Layer(tf.Module):
            def __init__(self):
                super().__init__()
                self.w = None

            @tf.function
            def __call__(self, x):
                if self.w is None:
                    self.w = tf.Variable(tf.ones([2]), name="w")
                return self.w * x
        a, b = Layer(), Layer()
        self.assertEqual(value(a(tf.constant(2.0))), [2.0, 2.0])
        a.w.assign([5.0, 5.0])
        self.assertEqual(value(a(tf.constant(2.0))), [10.0, 10.0])
        self.assertEqual(value(b(tf.constant(2.0))), [2.0, 2.0])
        self.assertEqual([v.name for v in a.trainable_variables], ["w:0"])

    def test_a_variable_made_on_each_call_is_refused(self):
        f = tf.function(lambda: tf.Variable(1.0).read_value())
        with self.assertRaises(ValueError):
            f()

    def test_concrete_functions_know_their_variables(self):
        v = tf.Variable(2.0)
        f = tf.function(lambda x: v * x).get_concrete_function(tf.TensorSpec([], tf.float32))
        self.assertIs(f.trainable_variables[0], v)
        self.assertEqual(value(f(tf.constant(3.0))), 6.0)


class PythonCallbacks(unittest.TestCase):
    def test_py_function_runs_when_the_graph_runs(self):
        seen = []

        @tf.function
        def f(x):
            return tf.py_function(lambda v: seen.append(tf.executing_eagerly()) or v * 2.0, [x], tf.float32)
        self.assertEqual((value(f(tf.constant(2.0))), value(f(tf.constant(3.0)))), (4.0, 6.0))
        self.assertEqual(seen, [True, True])

    def test_numpy_function_gets_arrays(self):
        f = tf.function(lambda x: tf.numpy_function(lambda v: np.sort(v), [x], tf.int32))
        self.assertEqual(value(f(tf.constant([3, 1, 2]))), [1, 2, 3])

    def test_an_exception_arrives_as_itself(self):
        def fail(v):
            raise KeyError("in the callback")
        f = tf.function(lambda x: tf.numpy_function(fail, [x], tf.int32))
        with self.assertRaisesRegex(KeyError, "in the callback"):
            f(tf.constant([3, 1, 2]))


class MoreGeneralTraces(unittest.TestCase):
    def test_serve_concrete_functions_too(self):
        traces = []

        @tf.function
        def f(x):
            traces.append(x.shape.as_list())
            return x
        general = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
        self.assertIs(f.get_concrete_function(tf.TensorSpec([2], tf.float32)), general)
        self.assertEqual(traces, [[None]])


class DecoratedCallbacks(unittest.TestCase):
    def test_without_a_function_they_decorate(self):
        @tf.numpy_function(Tout=[tf.float32, tf.int32])
        def halves(a):
            return np.float32(a / 2), np.int32(a)

        @tf.py_function(Tout=tf.float32)
        def product(a, b):
            return a * b
        self.assertEqual([float(v) for v in halves(tf.constant(3.0))], [1.5, 3.0])
        self.assertEqual(float(tf.function(product)(tf.constant(2.0), tf.constant(4.0))), 8.0)


class PrintedTypes(unittest.TestCase):
    def test_of_concrete_functions(self):
        @tf.function
        def f(x, y, *rest, flag=True, **named):
            return {"a": x, "b": [x, 1.0]}
        concrete = f.get_concrete_function(tf.TensorSpec([2], name="q"), [tf.TensorSpec([]), "x"], 1, z=2)
        self.assertEqual(str(concrete), """ConcreteFunction Input Parameters:
  x (POSITIONAL_ONLY): TensorSpec(shape=(2,), dtype=tf.float32, name='q')
  y (POSITIONAL_ONLY): List[TensorSpec(shape=(), dtype=tf.float32, name=None), Literal['x']]
  rest_0 (POSITIONAL_ONLY): Literal[1]
  flag (KEYWORD_ONLY): Literal[True]
  z (KEYWORD_ONLY): Literal[2]
Output Type:
  Dict[['a', TensorSpec(shape=(2,), dtype=tf.float32, name=None)], ['b', List[TensorSpec(shape=(2,), dtype=tf.float32, \
name=None), TensorSpec(shape=(), dtype=tf.float32, name=None)]]]
Captures:
  None""")
        self.assertEqual(concrete.structured_input_signature[1], {"flag": True, "z": 2})
        self.assertRegex(repr(tf.function(lambda x: x).get_concrete_function(1)),
                         r"^<ConcreteFunction \(x: Literal\[1\]\) -> TensorSpec\(shape=\(\), dtype=tf.int32, name=None\) at 0X")

    def test_of_functions(self):
        @tf.function
        def f(a, *, b=3, **c):
            return a
        self.assertEqual(str(f.function_type), "(a, *, b=<captured_default_value>, **c)")
        with self.assertRaisesRegex(TypeError, r"^Binding inputs to tf.function failed due to `missing a required argument: "
                                               r"'a'`. Received args: \(\) and kwargs: {} for signature: \(a, \*, b="):
            f()
        g = tf.function(lambda a, b=4: a, input_signature=[tf.TensorSpec([None], tf.int32)])
        self.assertEqual(str(g.function_type), "(a: TensorSpec(shape=(None,), dtype=tf.int32, name=None), b: Literal[4] = "
                                               "<captured_default_value>)")


class Modules(unittest.TestCase):
    def test_variables_and_submodules_are_found(self):
        class Part(tf.Module):
            def __init__(self):
                super().__init__()
                self.b = tf.Variable(1.0, name="b")

        class Whole(tf.Module):
            def __init__(self):
                super().__init__()
                self.parts = [Part(), Part()]
                self.a = tf.Variable(2.0, trainable=False, name="a")
        whole = Whole()
        self.assertEqual([v.name for v in whole.variables], ["a:0", "b:0", "b:0"])
        self.assertEqual(len(whole.trainable_variables), 2)
        self.assertEqual(len(whole.submodules), 2)
        self.assertEqual(whole.name, "whole")



class Signatures(unittest.TestCase):
    def test_specs_with_names_make_a_trace_of_their_own(self):
        doubled = tf.function(lambda x: x * 2.0)
        doubled(tf.constant(1.0))
        named = doubled.get_concrete_function(tf.TensorSpec([], tf.float32, name="given"))
        self.assertEqual(float(named(given=tf.constant(2.0))), 4.0)
        self.assertIs(named, doubled.get_concrete_function(tf.TensorSpec([], tf.float32, name="given")))
        self.assertEqual(doubled.get_concrete_function(tf.TensorSpec([], tf.float32))._arg_keywords, ["x"])

    def test_tensors_of_loops_stay_in_them(self):
        def collected(n):
            found = []
            for i in tf.range(n):
                found.append(i)
            return found
        with self.assertRaisesRegex(ValueError, "is out of scope"):
            tf.function(collected)(tf.constant(3))


class Xla(unittest.TestCase):
    def test_functions_and_scopes(self):
        compiled = tf.xla.experimental.compile(lambda x: (x, x + 1.0), [2.0])
        self.assertEqual([float(v) for v in compiled], [2.0, 3.0])
        self.assertEqual([float(v) for v in tf.xla.experimental.compile(lambda: tf.constant(1.0))], [1.0])
        with self.assertRaises(RuntimeError), tf.xla.experimental.jit_scope():
            pass

        @tf.function
        def function(x):
            with tf.xla.experimental.jit_scope():
                return x * 2.0
        self.assertEqual(float(function(tf.constant(1.0))), 2.0)


if __name__ == "__main__":
    unittest.main()
