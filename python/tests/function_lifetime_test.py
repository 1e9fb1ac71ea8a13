"""Functions leave the runtime with their last owner, and not before."""

import gc
import unittest

import weir as tf
from weir.data import function_owners
from weir.eager import function


class FunctionLifetimeTest(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.before = set(function.live_functions)

    def added(self):
        gc.collect()
        return len(function.live_functions - self.before)

    def test_a_dropped_function_is_removed(self):
        doubled = tf.function(lambda x: x * 2)
        self.assertEqual(float(doubled(tf.constant(2.0))), 4.0)
        self.assertEqual(self.added(), 1)
        del doubled
        self.assertEqual(self.added(), 0)

    def test_a_caller_keeps_what_it_calls(self):
        inner = tf.function(lambda x: tf.cond(x > 0, lambda: x * 2, lambda: x - 1))
        outer = tf.function(lambda x: inner(x) + 1)
        self.assertEqual(float(outer(tf.constant(2.0))), 5.0)
        del inner
        self.assertEqual(self.added(), 2)
        self.assertEqual(float(outer(tf.constant(-2.0))), -2.0)
        del outer
        self.assertEqual(self.added(), 0)

    def test_a_dataset_keeps_what_its_functions_call(self):
        inner = tf.function(lambda x: x * 3)
        iterator = iter(tf.data.Dataset.range(4).map(lambda x: inner(x) + 1))
        del inner
        gc.collect()
        self.assertEqual([int(v) for v in iterator], [1, 4, 7, 10])

    def test_a_tape_outlives_the_function_that_it_recorded(self):
        x = tf.constant(3.0)
        cubed = tf.function(lambda v: tf.while_loop(lambda i, _: i < 2, lambda i, p: (i + 1, p * v), (0, v))[1])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cubed(x)
        del cubed
        gc.collect()
        self.assertEqual(float(tape.gradient(y, x)), 27.0)

    def test_initial_values_made_while_tracing(self):
        made = {}

        @tf.function
        def scaled(x):
            y = x * 2
            if not made:
                made["factor"] = tf.Variable(tf.constant(3.0) * 2.0)
            return y + made["factor"]
        self.assertEqual(float(scaled(tf.constant(1.0))), 8.0)


class SeedTest(unittest.TestCase):
    def test_set_seed_gives_tensorflows_numbers(self):
        tf.random.set_seed(3)
        self.assertEqual(tf.random.shuffle(tf.range(8)).numpy().tolist(), [0, 6, 2, 5, 7, 4, 3, 1])
        self.assertEqual([round(float(v), 5) for v in tf.random.uniform([2])], [0.19457, 0.18628])
        traced = tf.function(lambda: tf.random.uniform([2]))
        self.assertEqual([[round(float(v), 5) for v in traced()] for _ in range(2)], [[0.12736, 0.81469], [0.88987, 0.66276]])

    def test_set_seed_restarts_operations_with_seeds(self):
        for _ in range(2):
            tf.random.set_seed(3)
            self.assertEqual([round(float(v), 5) for v in tf.random.uniform([2], seed=1)], [0.77807, 0.50529])
            self.assertEqual([round(float(v), 5) for v in tf.random.uniform([2], seed=1)], [0.59842, 0.64139])

    def test_datasets_draw_anew_in_each_iteration_of_repeat(self):
        tf.random.set_seed(3)
        dataset = tf.data.Dataset.range(1).map(lambda _: tf.random.shuffle(tf.range(8)))
        self.assertEqual([v.numpy().tolist() for v in dataset.repeat(2)],
                         [[7, 4, 2, 6, 5, 3, 0, 1], [6, 1, 0, 5, 3, 2, 7, 4]])


class DatasetFunctionLifetimeTest(unittest.TestCase):
    def setUp(self):
        self.before = self.count()

    def count(self):
        gc.collect()
        tf.data.Dataset.range(1).map(lambda x: x)  # removes what no dataset has any more
        gc.collect()
        function_owners.remove_unowned()
        return len(function.live_functions)

    def mapped(self):
        return tf.data.Dataset.range(4).map(lambda x: x * 3).filter(lambda x: x > 0).batch(2)

    def test_functions_go_with_their_datasets(self):
        dataset = self.mapped()
        self.assertEqual(self.count(), self.before + 2)
        self.assertEqual([list(x.numpy()) for x in dataset], [[3, 6], [9]])
        del dataset
        self.assertEqual(self.count(), self.before)
        self.assertEqual(int(tf.data.Dataset.range(4).reduce(tf.constant(0, tf.int64), lambda a, b: a + b)), 6)
        self.assertEqual(self.count(), self.before)

    def test_an_iterator_keeps_them(self):
        iterator = iter(self.mapped())
        self.count()
        self.assertEqual([list(x.numpy()) for x in iterator], [[3, 6], [9]])
        resource = iter(self.mapped())._resource
        self.count()
        again = tf.raw_ops.IteratorGetNext(iterator=resource, output_types=[tf.int64], output_shapes=[[None]])
        self.assertEqual(list(again[0].numpy()), [3, 6])
        del iterator, resource
        self.assertEqual(self.count(), self.before)

    def test_a_function_that_captured_the_dataset_keeps_them(self):
        dataset = self.mapped()
        total = tf.function(lambda: dataset.reduce(tf.constant(0, tf.int64), lambda a, b: a + tf.reduce_sum(b)))
        total()
        del dataset
        self.count()
        self.assertEqual(int(total()), 18)

    def test_a_dataset_that_is_an_element_keeps_them(self):
        outer = tf.data.Dataset.from_tensors(self.mapped()).flat_map(lambda dataset: dataset)
        self.count()
        self.assertEqual([list(x.numpy()) for x in outer], [[3, 6], [9]])


if __name__ == "__main__":
    unittest.main()
