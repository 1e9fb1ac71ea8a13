"""tf.distribute on logical CPUs. The expectations are what TensorFlow 2.21 gives for the same program."""

import unittest

import numpy as np
import weir as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                           [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def parts(value):
    return [np.asarray(v).tolist() for v in strategy.experimental_local_results(value)]


def replica():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


class MirroredTest(unittest.TestCase):
    def test_replicas_reduce_and_scale(self):
        with strategy.scope():
            weight = tf.Variable(2.0)

        @tf.function
        def step():
            def one():
                return tf.distribute.get_replica_context().all_reduce("sum", replica() + 1.0), weight * (replica() + 1)
            return strategy.run(one)
        total, scaled = step()
        self.assertEqual((parts(total), parts(scaled)), ([3.0, 3.0], [2.0, 4.0]))
        self.assertEqual(float(strategy.reduce("SUM", scaled, axis=None)), 6.0)
        self.assertEqual(float(strategy.reduce(tf.distribute.ReduceOp.MEAN, scaled, axis=None)), 3.0)

    def test_printed_forms(self):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        values = strategy.experimental_distribute_values_from_function(lambda c: tf.constant(c.replica_id_in_sync_group))
        self.assertEqual(str(values), "PerReplica:{\n  0: tf.Tensor(0, shape=(), dtype=int32),\n"
                                      "  1: tf.Tensor(1, shape=(), dtype=int32)\n}")
        self.assertEqual(type(tf.distribute.get_strategy()).__name__, "_DefaultDistributionStrategy")

    def test_custom_gradients_may_reduce(self):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            v = tf.Variable([1.0, 2.0])

        @tf.custom_gradient
        def f(x):
            return x * 2.0, lambda dy: tf.distribute.get_replica_context().all_reduce("SUM", dy) * 10.0

        def replica():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(f(v * 1.0))
            return tape.gradient(loss, v)
        for run in (strategy.run, tf.function(strategy.run)):
            results = strategy.experimental_local_results(run(replica))
            self.assertEqual([r.numpy().tolist() for r in results], [[20.0, 20.0], [20.0, 20.0]])

    def test_variables_by_aggregation(self):
        with strategy.scope():
            mean = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
            first = tf.Variable(1.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
            summed = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, trainable=False,
                                 aggregation=tf.VariableAggregation.SUM)
        self.assertIsInstance(mean, tf.Variable)
        self.assertFalse(tf.distribute.has_strategy())

        def one():
            mean.assign(replica())
            first.assign_add(replica() + 5)
            summed.assign_add(replica() + 1)
        strategy.run(one)
        self.assertEqual((parts(mean), parts(first), parts(summed)), ([0.5, 0.5], [6.0, 6.0], [1.0, 2.0]))
        self.assertEqual(float(summed.read_value()), 3.0)
        with strategy.scope():
            mean.assign(7.0)
        self.assertEqual(parts(mean), [7.0, 7.0])

    def test_batches_are_shared(self):
        dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(10).batch(4))
        self.assertEqual([parts(e) for e in dataset], [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]])
        odd = strategy.experimental_distribute_dataset(tf.data.Dataset.range(5).batch(3))
        self.assertEqual([parts(e) for e in odd], [[[0, 1], [2]], [[3], [4]]])
        dealt = strategy.distribute_datasets_from_function(
            lambda context: tf.data.Dataset.range(8).batch(context.get_per_replica_batch_size(4)))
        self.assertEqual([parts(e) for e in dealt], [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])

    def test_a_loop_trains_as_one_device_does(self):
        def losses(scope, run, reduce, batches):
            with scope:
                weight = tf.Variable([[1.0], [2.0]])

            @tf.function
            def step(batch):
                def one(x):
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_sum(tf.square(tf.matmul(x, weight))) / 4
                    gradient = tape.gradient(loss, weight)
                    gradient = tf.distribute.get_replica_context().all_reduce("sum", gradient)
                    tf.distribute.get_replica_context().merge_call(
                        lambda s, g: s.extended.update(weight, lambda v, d: v.assign_sub(0.1 * d), args=(g,)), (gradient,))
                    return loss
                return reduce(run(one, args=(batch,)))
            return [round(float(step(b)), 5) for b in batches]
        data = tf.data.Dataset.from_tensor_slices(np.arange(16, dtype=np.float32).reshape(8, 2) / 8).batch(4)
        plain = tf.distribute.get_strategy()
        alone = losses(plain.scope(), plain.run, lambda v: v, data)
        together = losses(strategy.scope(), strategy.run, lambda v: strategy.reduce("SUM", v, axis=None),
                          strategy.experimental_distribute_dataset(data))
        self.assertEqual(alone, together)

    def test_an_error_of_a_replica_arrives(self):
        with self.assertRaises(tf.errors.InvalidArgumentError):
            strategy.run(lambda: tf.reshape(tf.range(3), [2]))

    def test_scopes_of_two_strategies_do_not_mix(self):
        with strategy.scope(), self.assertRaisesRegex(RuntimeError, "Mixing different tf.distribute.Strategy"):
            with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
                pass

    def test_central_storage_has_one_copy(self):
        central = tf.distribute.experimental.CentralStorageStrategy(["CPU:0", "CPU:1"])
        with central.scope():
            variable = tf.Variable(3.0)
        self.assertEqual(len(central.experimental_local_results(variable)), 1)
        results = central.run(lambda: variable * (replica() + 1))
        self.assertEqual([float(v) for v in central.experimental_local_results(results)], [3.0, 6.0])

    def test_one_replica_takes_elements_as_they_are(self):
        strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
        whole = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
        made = strategy.distribute_datasets_from_function(
            lambda context: tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2)))
        for dataset in (whole, made):
            self.assertEqual([e.numpy().tolist() for e in dataset], [[0, 1], [2, 3]])
            self.assertEqual(dataset.element_spec.shape.as_list(), [None])
            step = tf.function(lambda x: strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(x,)), axis=None))
            self.assertEqual([int(step(x)) for x in dataset], [1, 5])


if __name__ == "__main__":
    unittest.main()
