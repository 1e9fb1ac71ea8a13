"""What both workers of a cluster check of MultiWorkerMirroredStrategy; started by multi_worker_test.py. The values are
those of TensorFlow 2.21, which runs this program as it is: with `import tensorflow as tf`."""

import sys
import unittest

import numpy as np
import weir as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
WORKER = strategy.cluster_resolver.task_id


def number():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def parts(dataset):
    return [[np.asarray(p).tolist() for p in strategy.experimental_local_results(e)] for e in dataset]


class MultiWorker(unittest.TestCase):
    def test_places(self):
        self.assertEqual(strategy.num_replicas_in_sync, 2)
        self.assertEqual(strategy.extended.worker_devices, (f"/job:worker/replica:0/task:{WORKER}/device:CPU:0",))
        self.assertTrue(strategy.extended._in_multi_worker_mode())
        self.assertEqual(strategy.extended.should_checkpoint, WORKER == 0)

    def test_first_values_are_the_chiefs(self):
        with strategy.scope():
            given = tf.Variable([1.0 + 10 * WORKER, 2.0])
            made = tf.Variable(lambda: tf.fill([2], WORKER), dtype=tf.int32)
        self.assertEqual((given.numpy().tolist(), made.numpy().tolist()), ([1.0, 2.0], [0, 0]))
        self.assertEqual(type(given).__name__, "MirroredVariable")

    def test_replicas_reduce_and_gather(self):
        with strategy.scope():
            total = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, trainable=False,
                                aggregation=tf.VariableAggregation.SUM)
            mean = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)

        @tf.function
        def step():
            def one():
                replica = tf.distribute.get_replica_context()
                total.assign_add(number() + 1)
                mean.assign(number() + 3)
                return (number(), replica.all_reduce("SUM", number() + 1), replica.all_reduce("MEAN", [number(), 2 * number()]),
                        replica.all_gather(tf.fill([WORKER + 1, 2], number()), 0),
                        replica.all_gather(tf.fill([2, WORKER + 1], number()), 1))
            return strategy.run(one)
        own, summed, means, rows, columns = step()
        self.assertEqual((float(own), float(summed), [float(m) for m in means]), (WORKER, 3.0, [0.5, 1.0]))
        self.assertEqual(rows.numpy().tolist(), [[0, 0], [1, 1], [1, 1]])
        self.assertEqual(columns.numpy().tolist(), [[0, 1, 1], [0, 1, 1]])
        self.assertEqual((float(total.read_value()), float(mean.read_value())), (3.0, 3.5))
        self.assertEqual([float(strategy.reduce(op, own, axis=None)) for op in ("SUM", "MEAN")], [1.0, 0.5])
        uneven = strategy.run(lambda: tf.range(2.0 + WORKER) + number())
        self.assertEqual(float(strategy.reduce("SUM", uneven, axis=0)), 7.0)
        self.assertAlmostEqual(float(strategy.reduce("MEAN", uneven, axis=0)), 1.4, places=6)
        self.assertEqual(strategy.gather(uneven, 0).numpy().tolist(), [0, 1, 1, 2, 3])
        total.assign(8.0)
        self.assertEqual(float(total.read_value()), 8.0)

    def test_an_all_reduce_has_a_gradient(self):
        def one():
            with tf.GradientTape() as tape:
                x = tf.constant(2.0) + number()
                tape.watch(x)
                y = tf.distribute.get_replica_context().all_reduce("SUM", x * x) * (number() + 1)
            return tape.gradient(y, x)
        self.assertEqual(float(tf.function(lambda: strategy.run(one))()), 3 * 2 * (2.0 + WORKER))

    def test_slices_are_gathered(self):
        with strategy.scope():
            table = tf.Variable(tf.ones([4, 2]))

        @tf.function
        def step():
            def one():
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.gather(table, [WORKER] * (WORKER + 1)))
                return tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, table))
            return strategy.run(one)
        slices = step()
        self.assertEqual((slices.indices.numpy().tolist(), slices.values.numpy().tolist()), ([0, 1, 1], [[1, 1]] * 3))

    def test_workers_share_batches(self):
        for (count, batch), expected in {
                (8, 4): ([[[0, 1]], [[4, 5]]], [[[2, 3]], [[6, 7]]]),
                (10, 4): ([[[0, 1]], [[4, 5]], [[8]]], [[[2, 3]], [[6, 7]], [[9]]]),
                (9, 4): ([[[0, 1]], [[4, 5]], [[8]]], [[[2, 3]], [[6, 7]], [[]]]),
                (5, 3): ([[[0, 1]], [[3]]], [[[2]], [[4]]])}.items():
            dataset = tf.data.Dataset.range(count).batch(batch)
            self.assertEqual(parts(strategy.experimental_distribute_dataset(dataset)), expected[WORKER])

    def test_all_workers_get_everything_without_sharding(self):
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        dataset = tf.data.Dataset.range(8).batch(4).with_options(options)
        self.assertEqual(parts(strategy.experimental_distribute_dataset(dataset)), [[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]]])

    def test_a_function_makes_each_workers_dataset(self):
        def make(context):
            self.assertEqual((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync),
                             (2, WORKER, 2))
            return tf.data.Dataset.range(8).shard(2, context.input_pipeline_id).batch(context.get_per_replica_batch_size(4))
        self.assertEqual(parts(strategy.distribute_datasets_from_function(make)),
                         ([[[0, 2]], [[4, 6]]], [[[1, 3]], [[5, 7]]])[WORKER])
        uneven = strategy.distribute_datasets_from_function(lambda context: tf.data.Dataset.range(2 + 2 * WORKER).batch(2))
        self.assertEqual(parts(uneven), ([[[0, 1]], [[]]], [[[0, 1]], [[2, 3]]])[WORKER])

    def test_an_iterator_ends_inside_a_function(self):
        iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(4)))

        @tf.function
        def step(iterator):
            return strategy.run(tf.reduce_sum, args=(next(iterator),))
        self.assertEqual([int(step(iterator)) for _ in range(2)], ([1, 4], [5, 5])[WORKER])
        with self.assertRaises(tf.errors.OutOfRangeError):
            step(iterator)

    def test_values_from_a_function(self):
        made = strategy.experimental_distribute_values_from_function(lambda c: tf.constant(c.replica_id_in_sync_group))
        self.assertEqual([int(v) for v in strategy.experimental_local_results(made)], [WORKER])


if __name__ == "__main__":
    unittest.main(failfast=True, verbosity=0, argv=sys.argv[:1])
