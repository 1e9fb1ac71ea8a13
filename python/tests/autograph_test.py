"""Control flow over tensors: a converted function gives in a graph what Python gives."""

import contextlib
import io
import traceback
import unittest

import weir as tf


def branches(x):
    if x > 0:
        y = x * 2
    elif x < -5:
        y = x
    else:
        y = -x
    return y


def early_return(x):
    if x > 0:
        return x * 10
    return x - 1


def loop_with_jumps(n):
    total = 0
    i = 0
    while i < n:
        i += 1
        if i == 3:
            continue
        if i == 7:
            break
        total += i
    return total


def over_tensor(values):
    total = tf.constant(0)
    for v in values:
        if v < 0 or v > 100:
            continue
        total += v
    else:
        total = total + 1000
    return total


def return_from_loop(n):
    x = tf.constant(1)
    extra = []
    for i in range(3):
        extra.append(x + i)
    for i in tf.range(n):
        x = x + i
        if x > 20:
            return x
    return x + sum(extra)


def helper(a):
    return a if a > 2 else a * 100


def calls(x):
    assert x > -1000, "too small"
    f = lambda z: z + 1 if z > 0 else z - 1  # noqa: E731
    return helper(x) + f(x)


def chained(x):
    if 0 < x < 10 and not x == 5:
        z = tf.constant(1)
    else:
        z = tf.constant(2)
    return z


def only_in_one_branch(x):
    if x > 0:
        y = x
    return y


def fails(x):
    if x > 0:
        return tf.reshape(x, [2, 2])
    return x


class Counter:
    def __init__(self):
        self.seen = tf.constant(0)

    def add(self, n):
        for i in tf.range(n):
            self.seen = self.seen + i
        return self.seen


class AutoGraphTest(unittest.TestCase):
    def check(self, function, *inputs):
        graph = tf.function(function)
        for value in inputs:
            with self.subTest(function=function.__name__, value=value):
                expected, got = function(tf.constant(value)), graph(tf.constant(value))
                self.assertEqual(int(got), int(expected))

    def test_functions_agree_with_python(self):
        self.check(branches, 1, -7, -2)
        self.check(early_return, 3, -3)
        self.check(loop_with_jumps, 10, 2, 5)
        self.check(return_from_loop, 3, 30)
        self.check(calls, 1, 5, -5)
        self.check(chained, 3, 5, 20)
        self.check(over_tensor, [1, -2, 3, 500])

    def test_attributes_are_state(self):
        counter = Counter()

        @tf.function
        def run(n):
            return counter.add(n)

        self.assertEqual(int(run(tf.constant(4))), 6)

    def test_one_graph_serves_both_branches(self):
        traces = []

        @tf.function
        def f(x):
            traces.append(1)
            return early_return(x)

        self.assertEqual([int(f(tf.constant(v))) for v in (1, -1)], [10, -2])
        self.assertEqual(len(traces), 1)

    def test_a_variable_of_one_branch_only_is_refused(self):
        with self.assertRaisesRegex(ValueError, "'y' must also be initialized in the else branch"):
            tf.function(only_in_one_branch)(tf.constant(1))

    def test_errors_show_the_users_line(self):
        text = ""
        try:
            tf.function(fails)(tf.constant([1, 2, 3])[0])
        except ValueError:
            text = traceback.format_exc()
        self.assertIn("return tf.reshape(x, [2, 2])", text)

    def test_datasets_are_loops(self):
        @tf.function
        def total(dataset):
            s = tf.constant(0, tf.int64)
            for x in dataset:
                if x > 3:
                    break
                s += x
            return s

        self.assertEqual(int(total(tf.data.Dataset.range(10))), 6)

    def test_options_of_loops_are_given_in_their_bodies(self):
        @tf.function
        def doubled(x):
            while tf.shape(x)[0] < 5:
                tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
                x = tf.concat([x, x], 0)
            return x

        @tf.function
        def twice(x):
            for _ in tf.range(9):
                tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))],
                                                           maximum_iterations=2)
                x = tf.concat([x, x], 0)
            return x

        for function in (doubled, twice):
            self.assertEqual(function(tf.constant([1, 2])).numpy().tolist(), [1, 2] * 4)

    def test_print_tells_of_tracing(self):
        @tf.function
        def doubled(x):
            print("tracing", x)
            return x * 2

        with contextlib.redirect_stdout(io.StringIO()) as out:
            doubled(tf.constant(1))
            doubled(tf.constant(2))
        self.assertEqual(out.getvalue(), 'tracing Tensor("x:0", shape=(), dtype=int32)\n')

    def test_do_not_convert(self):
        @tf.autograph.experimental.do_not_convert
        def plain(x):
            return 1 if x > 0 else 2

        with self.assertRaises(TypeError):
            tf.function(plain)(tf.constant(1))

    def test_a_variable_that_is_none_before_a_loop(self):
        @tf.function
        def last(n):
            y = None
            for i in tf.range(n):
                y = i
            return y
        self.assertEqual(int(last(tf.constant(3))), 2)

    def test_variables_that_do_not_fit_together(self):
        def types(x):
            y = 1
            if x > 0:
                y = tf.constant(1.0)
            return y

        def returned_types(x):
            if x > 0:
                return tf.constant(1.0)
            return 1

        def no_value(x):
            if x > 0:
                y = None
            else:
                y = 1
            return y

        def no_return(x):
            if x > 0:
                return 1

        def shapes(x):
            y = tf.zeros([1])
            while tf.shape(y)[0] < x:
                y = tf.concat([y, y], 0)
            return y
        for function, error, text in (
                (types, TypeError, "'y' has dtype float32 in the main branch, but dtype int32 in the else branch"),
                (returned_types, TypeError, "'retval_' has dtype float32 in the main branch, but dtype int32 in the else"),
                (no_value, ValueError, "'y' is None at the end of the main branch."),
                (no_return, ValueError, "the else branch must also have a return statement."),
                (lambda x: 1 if x > 0 else None, ValueError, "is None at the end of the else branch."),
                (shapes, ValueError, r"'y' has shape \(1,\) before the loop, but shape \(2,\) after one iteration")):
            with self.assertRaisesRegex(error, text):
                tf.function(function)(tf.constant(3))

    def test_errors_of_all_classes_tell_where_they_were_raised(self):
        class Own(Exception):
            pass

        class WithArguments(Exception):
            def __init__(self, a, b):
                super().__init__(a)
                self.b = b
        staging = "StagingError"
        for error, name in ((Own("m"), "Own"), (WithArguments("m", 2), staging), (KeyError("m"), "KeyError"),
                            (IndexError("m"), staging), (ValueError("m"), "ValueError"), (OSError("m"), staging),
                            (tf.errors.OutOfRangeError(None, None, "m"), "OutOfRangeError")):
            def raising(x, error=error):
                raise error
            with self.assertRaises(Exception) as caught:
                tf.function(raising)(1.0)
            self.assertEqual(type(caught.exception).__name__, name)
            self.assertRegex(str(caught.exception), rf"in user code:\n\n    File \"/.*autograph_test.py\", line \d+, in raising  "
                             rf"\*\n        raise error\n\n    {type(error).__name__}: .*m")

    def test_errors_that_come_through_functions_are_described_once(self):
        @tf.function
        def inner(x):
            raise ValueError("deep")

        @tf.function
        def outer(x):
            return inner(x)
        with self.assertRaises(ValueError) as caught:
            outer(tf.constant(1.0))
        text = str(caught.exception)
        self.assertEqual((text.count("in user code"), text.count("ValueError: deep")), (1, 1))
        self.assertLess(text.index("return inner(x)"), text.index("raise ValueError"))


if __name__ == "__main__":
    unittest.main()
