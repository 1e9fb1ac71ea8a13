"""tf.distribute.ParameterServerStrategy and ClusterCoordinator, with servers that are processes of their own. The
expectations are what TensorFlow 2.21 gives for the same calls."""

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import weir as tf
from launching import DEADLINE, environment

SERVER = """
import json, sys, weir as tf
cluster, job, task = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
try:
    server = tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=task, protocol="grpc")
except tf.errors.OpError as error:
    sys.exit(str(error))
print("up", flush=True)
server.join()
"""


class Cluster:
    """Servers of several tasks. Ports are chosen among the free ones; if another process is quicker, again."""

    def __init__(self, ps, workers):
        self.processes = {}
        for _ in range(10):
            sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(ps + workers)]
            addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
            for s in sockets:
                s.close()
            self.spec = {"ps": addresses[:ps], "worker": addresses[ps:]}
            if all([self.start(job, i) for job in self.spec for i in range(len(self.spec[job]))]):
                return
            self.close()
        raise RuntimeError("no free ports")

    def start(self, job, task):
        """Starts a task, or starts it again; whether it is there."""
        process = subprocess.Popen([sys.executable, "-c", SERVER, json.dumps(self.spec), job, str(task)], env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.processes[job, task] = process
        return process.stdout.readline() == "up\n"

    def kill(self, job, task):
        process = self.processes.pop((job, task))
        process.kill()
        process.wait()
        process.stdout.close()

    def close(self):
        for job, task in list(self.processes):
            self.kill(job, task)

    def strategy(self, **options):
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(self.spec), rpc_layer="grpc")
        return tf.distribute.ParameterServerStrategy(resolver, **options)


class ParameterServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(ps=2, workers=2)
        cls.strategy = cls.cluster.strategy(
            variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(2))
        cls.coordinator = tf.distribute.coordinator.ClusterCoordinator(cls.strategy)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def test_variables_take_turns_on_the_servers(self):
        self.assertEqual(self.strategy.num_replicas_in_sync, 1)
        with self.strategy.scope():
            made = [tf.Variable(float(i)) for i in range(4)]
        self.assertIsInstance(made[0], tf.Variable)
        tasks = [v.device for v in made]
        self.assertEqual(tasks[:2], tasks[2:])
        self.assertEqual(sorted(tasks[:2]), [f"/job:ps/replica:0/task:{i}/device:CPU:0" for i in range(2)])
        self.assertEqual([v.numpy().item() for v in made], [0.0, 1.0, 2.0, 3.0])
        made[1].assign(5.0)
        made[1].assign_add(2.0).assign_sub(1.0)
        self.assertEqual((float(made[1]), float(made[1] + 1), made[1].is_initialized().numpy().item()), (6.0, 7.0, True))
        self.assertEqual(repr(made[2]), "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=2.0>")
        with self.assertRaises(ValueError):
            made[1].assign([1.0, 2.0])

    def test_partitioned_variables(self):
        with self.strategy.scope():
            table = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]), name="table")
        self.assertEqual([(v.name, v.numpy().tolist()) for v in table.variables],
                         [("table/part_0:0", [[0, 1], [2, 3]]), ("table/part_1:0", [[4, 5]])])
        self.assertNotEqual(table.variables[0].device, table.variables[1].device)
        self.assertEqual(tf.convert_to_tensor(table).numpy().tolist(), [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(tf.nn.embedding_lookup(table, [0, 2, 1]).numpy().tolist(), [[0, 1], [4, 5], [2, 3]])
        table.assign(table * 2)
        self.assertEqual((table[1:].numpy().tolist(), table.shape.as_list()), ([[4, 6], [8, 10]], [3, 2]))

        @tf.function
        def step(rows):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.nn.embedding_lookup(table, rows))
            for part, gradient in zip(table.variables, tape.gradient(loss, table.variables)):
                part.scatter_sub(gradient)
            return loss
        result = self.coordinator.schedule(step, args=(tf.constant([0, 2, 2]),))
        self.coordinator.join()
        self.assertEqual((float(result.fetch()), table.numpy().tolist()), (38.0, [[-1, 1], [4, 6], [6, 8]]))
        table.scatter_update(tf.IndexedSlices(tf.constant([[7.0, 7.0], [9.0, 9.0]]), tf.constant([2, 0])))
        self.assertEqual(table.numpy().tolist(), [[9, 9], [4, 6], [7, 7]])

    def test_functions_are_given_to_workers(self):
        with self.strategy.scope():
            total = tf.Variable(0.0)

        @tf.function
        def add(x, scale=1.0):
            total.assign_add(x * scale)
            return {"next": x + 1, "pair": (x, tf.constant("text"))}
        values = [self.coordinator.schedule(add, args=(tf.constant(float(i)),), kwargs={"scale": 2.0}) for i in range(20)]
        self.coordinator.join()
        self.assertTrue(self.coordinator.done())
        self.assertEqual(total.numpy(), 380.0)
        self.assertEqual(values[3].fetch(), {"next": 4.0, "pair": (3.0, b"text")})
        self.assertIsInstance(values[3].get()["next"], tf.Tensor)
        self.assertEqual(self.coordinator.fetch([1, {"a": values[4]}])[1]["a"]["next"], 5.0)
        self.assertIs(tf.distribute.coordinator.ClusterCoordinator(self.strategy), self.coordinator)
        with self.assertRaises(TypeError):
            self.coordinator.schedule(lambda: 1)

    def test_a_function_may_be_called_here(self):
        with self.strategy.scope():
            weight = tf.Variable(3.0)
        double = tf.function(lambda x: weight.assign_add(x) * 2.0)
        self.assertEqual((float(double(tf.constant(1.0))), float(weight)), (8.0, 4.0))
        self.assertEqual(float(self.strategy.run(lambda: weight + 1.0)), 5.0)

    def test_eager_gradients(self):
        with self.strategy.scope():
            weight = tf.Variable([1.0])
            weight = weight if isinstance(weight, tf.Variable) else weight.variables[0]
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weight * weight * 3.0) + tf.gather(weight, 0)
        gradient = tape.gradient(loss, weight)
        self.assertEqual(tf.convert_to_tensor(gradient).numpy().tolist(), [7.0])
        with tf.GradientTape() as tape, self.assertRaises(NotImplementedError):
            tf.function(lambda: weight * 2.0)()

    def test_tables_are_copied_to_the_workers(self):
        with self.strategy.scope():
            table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0]), -1.0)
            scale = tf.Variable(10.0)
        iterator = iter(self.coordinator.create_per_worker_dataset(
            lambda: tf.data.Dataset.from_tensor_slices(["a", "b", "c"]).map(table.lookup).batch(3).repeat()))

        @tf.function
        def step(iterator, more):
            return next(iterator), table.lookup(more) * scale
        results = [self.coordinator.schedule(step, args=(iterator, tf.constant(["b"]))) for _ in range(4)]
        self.coordinator.join()
        self.assertEqual([[a.tolist() for a in r.fetch()] for r in results], [[[1, 2, -1], [20]]] * 4)
        self.assertEqual(float(tf.function(lambda: table.lookup(tf.constant("a")) + scale)()), 11.0)

    def test_each_worker_has_its_dataset(self):
        def make(context):
            self.assertEqual((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync), (1, 0, 1))
            return tf.data.Dataset.range(6).map(lambda x: x * 10).batch(2).repeat()
        datasets = self.coordinator.create_per_worker_dataset(lambda: self.strategy.distribute_datasets_from_function(make))
        self.assertEqual(datasets.element_spec, tf.TensorSpec([None], tf.int64))
        iterator = iter(datasets)

        @tf.function
        def step(iterator):
            def one(batch):
                return tf.reduce_sum(batch)
            return self.strategy.reduce("SUM", self.strategy.run(one, args=(next(iterator),)), axis=None)
        results = [self.coordinator.schedule(step, args=(iterator,)) for _ in range(12)]
        self.coordinator.join()
        counts = collections_count(int(r.fetch()) for r in results)
        self.assertEqual(sorted(set(counts)), [10, 50, 90])  # in turn at each worker
        self.assertLessEqual(max(counts.values()) - min(counts.values()), 2)
        with self.assertRaises(NotImplementedError):
            next(iterator)
        with self.assertRaisesRegex(ValueError, "create_per_worker_dataset"):
            iter(self.strategy.experimental_distribute_dataset(tf.data.Dataset.range(3)))

    def test_the_end_of_a_dataset_is_an_error(self):
        iterator = iter(self.coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(1)))
        step = tf.function(lambda iterator: next(iterator))
        with self.assertRaises(tf.errors.OutOfRangeError):
            for _ in range(5):
                self.coordinator.schedule(step, args=(iterator,))
            self.coordinator.join()

    def test_an_error_is_raised_once(self):
        bad = tf.function(lambda x: tf.debugging.check_numerics(x, "boom"))
        good = tf.function(lambda x: x + 1)
        result = self.coordinator.schedule(bad, args=(tf.constant(float("nan")),))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "boom : Tensor had NaN values"):
            self.coordinator.join()
        with self.assertRaises(tf.errors.InvalidArgumentError):
            result.fetch()
        result = self.coordinator.schedule(good, args=(tf.constant(1.0),))
        self.coordinator.join()
        self.assertEqual(result.fetch(), 2.0)

    def test_what_a_worker_cannot_reach(self):
        here = tf.Variable(1.0)
        self.coordinator.schedule(tf.function(lambda: here + 1))
        with self.assertRaisesRegex(ValueError, "of this process"):
            self.coordinator.join()

    def test_checkpoints(self):
        with self.strategy.scope():
            weight, table = tf.Variable(4.0), tf.Variable([[1.0], [2.0], [3.0]])
        checkpoint = tf.train.Checkpoint(weight=weight, table=table)
        with tempfile.TemporaryDirectory() as folder:
            path = checkpoint.save(os.path.join(folder, "saved"))
            self.assertIn(("table/.ATTRIBUTES/VARIABLE_VALUE", [3, 1]), tf.train.list_variables(path))
            weight.assign(0.0)
            table.assign(tf.zeros([3, 1]))
            checkpoint.restore(path)
            plain = tf.train.Checkpoint(weight=tf.Variable(0.0), table=tf.Variable(tf.zeros([3, 1])))
            plain.restore(path)
        self.assertEqual((weight.numpy(), table.numpy().ravel().tolist()), (4.0, [1, 2, 3]))
        self.assertEqual(plain.table.numpy().ravel().tolist(), [1, 2, 3])

    @unittest.skipUnless(importlib.util.find_spec("keras"), "Keras is not installed: pip install keras")
    def test_a_keras_model_trains_as_in_one_process(self):
        import keras
        x = np.random.RandomState(0).normal(size=(64, 6)).astype("float32")
        y = (x[:, :1] > x[:, 1:2]).astype("float32")

        def train(strategy, run):
            keras.utils.set_random_seed(1)
            with strategy.scope():
                model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
                optimizer = keras.optimizers.Adam(0.02)
                optimizer.build(model.trainable_variables)

            @tf.function
            def step(inputs, labels):
                def one(inputs, labels):
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, model(inputs, training=True)))
                    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
                    return loss
                return strategy.run(one, args=(inputs, labels))
            losses = []
            for i in range(100):  # one after the other: asynchronous steps would differ from run to run
                begin = i % 4 * 16
                losses.append(run(step, (tf.constant(x[begin:begin + 16]), tf.constant(y[begin:begin + 16]))))
            return losses

        def remote(step, args):
            result = coordinator.schedule(step, args=args)
            coordinator.join()
            return float(result.fetch())
        strategy = self.cluster.strategy()
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        np.testing.assert_allclose(train(strategy, remote),
                                   train(tf.distribute.get_strategy(), lambda step, args: float(step(*args))), rtol=2e-5)


def collections_count(values):
    out = {}
    for value in values:
        out[value] = out.get(value, 0) + 1
    return out


class LostTasksTest(unittest.TestCase):
    def test_a_lost_worker_is_replaced_and_comes_back(self):
        with contextlib.closing(Cluster(ps=1, workers=2)) as cluster:
            strategy = cluster.strategy()
            coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
            with strategy.scope():
                total = tf.Variable(0)
            iterator = iter(coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(5).repeat()))

            @tf.function
            def step(iterator):
                total.assign_add(1)
                return next(iterator)

            def many(count):
                results = [coordinator.schedule(step, args=(iterator,)) for _ in range(count)]
                coordinator.join()
                return [int(r.fetch()) for r in results]
            many(10)
            cluster.kill("worker", 0)
            values = many(20)
            self.assertEqual(len(values), 20)
            self.assertGreaterEqual(total.numpy(), 30)  # at least once each
            self.assertTrue(cluster.start("worker", 0))
            cluster.kill("worker", 1)  # from now on it is the other one that works
            self.assertEqual(len(many(10)), 10)

    def test_a_lost_parameter_server_is_an_error(self):
        with contextlib.closing(Cluster(ps=1, workers=1)) as cluster:
            strategy = cluster.strategy()
            coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
            with strategy.scope():
                weight = tf.Variable(1.0)
            step = tf.function(lambda: weight.assign_add(1.0) * 1.0)
            coordinator.schedule(step)
            coordinator.join()
            cluster.kill("ps", 0)
            coordinator.schedule(step)
            with self.assertRaisesRegex(tf.errors.UnavailableError, "/job:ps/replica:0/task:0"):
                coordinator.join()
            with self.assertRaises(tf.errors.OpError):
                weight.numpy()


    def test_a_program_may_end_while_functions_run(self):
        code = """if True:
            import json, sys, weir as tf
            resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec(json.loads(sys.argv[1])), rpc_layer="grpc")
            strategy = tf.distribute.ParameterServerStrategy(resolver)
            coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
            with strategy.scope():
                count = tf.Variable(0)
            long = tf.function(lambda: tf.while_loop(lambda i: i >= 0, lambda i: [count.assign_add(1).read_value()], [0]))
            for _ in range(3):
                coordinator.schedule(long)
            while int(count) == 0:
                pass
        """
        with contextlib.closing(Cluster(ps=1, workers=1)) as cluster:
            done = subprocess.run([sys.executable, "-c", code, json.dumps(cluster.spec)], env=environment(),
                                  capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class SettingsTest(unittest.TestCase):
    def test_partitioners(self):
        partitioners = tf.distribute.experimental.partitioners
        shapes = [[10, 4], [1000, 3], [2], [100000, 8]]
        for partitioner, expected in (
                (partitioners.FixedShardsPartitioner(3), [[3, 1], [3, 1], [2], [3, 1]]),
                (partitioners.MinSizePartitioner(4 << 10, max_shards=2), [[1, 1], [2, 1], [1], [2, 1]]),
                (partitioners.MinSizePartitioner(), [[1, 1], [1, 1], [1], [1, 1]]),
                (partitioners.MaxSizePartitioner(4 << 10), [[1, 1], [3, 1], [1], [782, 1]]),
                (partitioners.MaxSizePartitioner(4 << 10, max_shards=2), [[1, 1], [2, 1], [1], [2, 1]])):
            self.assertEqual([partitioner(tf.TensorShape(s), tf.float32) for s in shapes], expected)

    def test_clusters_that_make_no_sense(self):
        def make(spec, **task):
            return tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec(spec), rpc_layer="grpc", **task))
        for spec in ({"worker": ["a:1"]}, {"ps": ["a:1"]}):
            with self.assertRaises(ValueError):
                make(spec)
        with self.assertRaises(ValueError):
            make({"worker": ["a:1"], "ps": ["b:1"]}, task_type="evaluator", task_id=0)
        with self.assertRaises(ValueError):
            tf.distribute.coordinator.ClusterCoordinator(tf.distribute.get_strategy())


if __name__ == "__main__":
    unittest.main()
