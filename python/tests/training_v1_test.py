"""compat.v1: variables by scope, optimizers, savers, queues, hooks, losses and metrics. Values are TensorFlow's."""

import glob
import os
import tempfile
import unittest

import numpy as np

import weir

tf = weir.compat.v1

# Optimizer, the loss after five steps, the first row of the weights.
OPTIMIZERS = [
    (lambda: tf.train.GradientDescentOptimizer(0.5), -21.8347, [0.0549, 0.1815, 0.0636]),
    (lambda: tf.train.MomentumOptimizer(0.1, 0.9), -9.9707, [0.0671, 0.1584, 0.0745]),
    (lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), -13.6587, [0.0619, 0.168, 0.0702]),
    (lambda: tf.train.AdamOptimizer(0.1), 0.1369, [-0.0824, 0.2517, -0.0225]),
    (lambda: tf.train.AdagradOptimizer(0.1), 1.2579, [0.0676, 0.1572, 0.0743]),
    (lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5), 2.5287, [0.0973, 0.1047, 0.0979]),
    (lambda: tf.train.RMSPropOptimizer(0.01, centered=True), 2.7523, [0.0983, 0.103, 0.0987]),
    (lambda: tf.train.AdadeltaOptimizer(1.0), 3.1743, [0.0977, 0.1023, 0.0978]),
    (lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01), 0.759, [-0.0299, 0.0571, -0.0231]),
    (lambda: tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01), 1.2507, [0.0508, 0.1427, 0.0587]),
    (lambda: tf.train.ProximalGradientDescentOptimizer(0.1, l2_regularization_strength=0.1), -1.774,
     [0.0826, 0.1173, 0.0855]),
    (lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()), -0.2543, [-0.0324, 0.0566, -0.0257]),
]


class Base(unittest.TestCase):
    def setUp(self):
        try:
            import google.protobuf  # noqa: F401
        except ImportError:
            self.skipTest("the package protobuf is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        graph = tf.Graph()
        scope = graph.as_default()
        scope.__enter__()
        self.addCleanup(scope.__exit__, None, None, None)


class OptimizerTest(Base):
    def test_five_steps(self):
        rng = np.random.RandomState(0)
        inputs = rng.rand(64, 10).astype("f")
        labels = np.eye(3, dtype="f")[rng.randint(0, 3, 64)]
        for make, loss_after, row in OPTIMIZERS:
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.placeholder(tf.float32, [None, 10])
                y = tf.placeholder(tf.float32, [None, 3])
                with tf.variable_scope("model"):
                    w = tf.get_variable("w", [10, 3], initializer=tf.constant_initializer(0.1))
                    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
                rows = tf.get_variable("rows", initializer=np.linspace(0, 1, 12).reshape(6, 2).astype("f"))
                p = tf.nn.softmax(tf.matmul(x, w) + b)
                loss = -tf.reduce_mean(tf.reduce_sum(y * tf.log(p), reduction_indices=1)) + tf.reduce_sum(
                    tf.nn.embedding_lookup(rows, [1, 3, 1]))
                step = tf.train.get_or_create_global_step()
                optimizer = make()
                train = optimizer.minimize(loss, global_step=step)
                session.run(tf.global_variables_initializer())
                for _ in range(5):
                    session.run(train, {x: inputs, y: labels})
                with self.subTest(type(optimizer).__name__):
                    self.assertEqual(int(session.run(step)), 5)
                    self.assertAlmostEqual(float(session.run(loss, {x: inputs, y: labels})), loss_after, places=3)
                    np.testing.assert_allclose(session.run(w)[0], row, atol=2e-4)

    def test_slots(self):
        w = tf.get_variable("w", [2])
        optimizer = tf.train.AdamOptimizer()
        train = optimizer.minimize(tf.reduce_sum(w * w))
        self.assertEqual(train.name, "Adam")
        self.assertEqual(sorted(v.name for v in tf.global_variables()),
                         ["beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0", "w:0"])
        self.assertEqual(optimizer.get_slot_names(), ["m", "v"])
        self.assertEqual(optimizer.get_slot(w, "v").name, "w/Adam_1:0")

    def test_without_gradients(self):
        w = tf.get_variable("w", [2])
        with self.assertRaisesRegex(ValueError, "No gradients provided for any variable"):
            tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0), var_list=[w])

    def test_schedules_and_averages(self):
        v = tf.Variable(1.0, name="v")
        average = tf.train.ExponentialMovingAverage(0.9)
        update = average.apply([v])
        rates = [tf.train.exponential_decay(0.1, tf.constant(5), 10, 0.5),
                 tf.train.piecewise_constant(tf.constant(7), [5, 10], [1.0, 0.5, 0.1]),
                 tf.train.polynomial_decay(1.0, tf.constant(5), 10, 0.0, power=2.0)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(tf.assign(v, 2.0))
            session.run(update)
            self.assertAlmostEqual(float(session.run(average.average(v))), 1.1, places=6)
            self.assertEqual(average.average_name(v), "v/ExponentialMovingAverage")
            np.testing.assert_allclose(session.run(rates), [0.07071068, 0.5, 0.25], rtol=1e-6)


class ScopeTest(Base):
    def test_reuse(self):
        with tf.variable_scope("a") as scope:
            v = tf.get_variable("v", [2])
            self.assertEqual((v.name, v.op.name), ("a/v:0", "a/v"))
        with tf.variable_scope(scope, reuse=True):
            self.assertIs(tf.get_variable("v"), v)
            self.assertEqual(tf.identity(v).name, "a_1/Identity:0")
        with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
            self.assertIs(tf.get_variable("v", [2]), v)
        with tf.variable_scope("a"), self.assertRaisesRegex(ValueError, "Variable a/v already exists, disallowed"):
            tf.get_variable("v", [2])
        with self.assertRaisesRegex(ValueError, "does not exist"), tf.variable_scope("b", reuse=True):
            tf.get_variable("v", [2])
        names = []
        for _ in range(2):
            with tf.variable_scope(None, default_name="d"):
                names.append(tf.get_variable("z", [1]).name)
        self.assertEqual(names, ["d/z:0", "d_1/z:0"])

    def test_partitioned(self):
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(3)):
            whole = tf.get_variable("w", [7, 2], initializer=tf.ones_initializer())
        parts = whole._get_variable_list()
        self.assertEqual([p.name for p in parts], ["p/w/part_0:0", "p/w/part_1:0", "p/w/part_2:0"])
        self.assertEqual([p.shape.as_list() for p in parts], [[3, 2], [2, 2], [2, 2]])
        product = tf.matmul(tf.ones([1, 7]), whole)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(session.run(product).tolist(), [[7, 7]])

    def test_regularizers_and_templates(self):
        tf.get_variable("r", [2], regularizer=lambda t: tf.reduce_sum(t * t), initializer=tf.ones_initializer())
        template = tf.make_template("t", lambda q: q * tf.get_variable("v", [], initializer=tf.ones_initializer()))
        template(1.0)
        template(2.0)
        self.assertEqual([v.name for v in tf.global_variables()], ["r:0", "t/v:0"])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(float(session.run(tf.losses.get_regularization_loss())), 2.0)

    def test_devices(self):
        setter = tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
        with tf.device(setter):
            first, second, third = (tf.get_variable(f"v{i}", [2]) for i in range(3))
            total = first + second
        self.assertEqual([v.device for v in (first, second, third)], ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"])
        self.assertEqual(total.device, "/job:worker/task:1")
        from weir.compat.v1.devices import GreedyLoadBalancingStrategy, byte_size_load_fn
        setter = tf.train.replica_device_setter(ps_tasks=2, ps_strategy=GreedyLoadBalancingStrategy(2, byte_size_load_fn))
        with tf.device(setter):
            made = [tf.get_variable(f"g{i}", [size]) for i, size in enumerate((100, 10, 10, 10))]
        self.assertEqual([v.device[-6:] for v in made], ["task:0", "task:1", "task:1", "task:1"])


class SaverTest(Base):
    def test_kept_checkpoints(self):
        w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]))
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
            whole = tf.get_variable("pw", [4, 2], initializer=tf.ones_initializer())
        step = tf.train.get_or_create_global_step()
        advance = [tf.assign_add(step, 1), tf.assign(w, w * 2)]
        saver = tf.train.Saver(max_to_keep=2)
        path = os.path.join(self.folder, "m.ckpt")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(4):
                session.run(advance)
                saver.save(session, path, global_step=step)
        self.assertEqual(sorted(os.path.basename(f) for f in glob.glob(self.folder + "/*.index")),
                         ["m.ckpt-3.index", "m.ckpt-4.index"])
        self.assertEqual(tf.train.latest_checkpoint(self.folder), path + "-4")
        self.assertEqual(tf.train.list_variables(self.folder), [("global_step", []), ("p/pw", [4, 2]), ("w", [2])])
        with tf.Session() as session:
            saver.restore(session, path + "-3")
            self.assertEqual(session.run(w).tolist(), [8, 16])
            self.assertEqual(session.run(whole.as_tensor()).tolist(), [[1, 1]] * 4)
        with tf.Graph().as_default(), tf.Session() as session:
            tf.train.import_meta_graph(path + "-4.meta").restore(session, path + "-4")
            self.assertEqual(session.run(tf.global_variables()[0]).tolist(), [16, 32])
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable("other", [2])
            with self.assertRaisesRegex(tf.errors.NotFoundError, "Restoring from checkpoint failed"):
                tf.train.Saver().restore(session, path + "-4")

    def test_monitored_training(self):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        train = tf.train.GradientDescentOptimizer(0.1).minimize((w - 1) ** 2, global_step=step)
        tf.summary.scalar("w", w)
        calls = []

        class Hook(tf.train.SessionRunHook):
            def begin(self):
                calls.append("begin")

            def after_run(self, run_context, run_values):
                calls.append("step")

            def end(self, session):
                calls.append("end")
        with tf.train.MonitoredTrainingSession(
                checkpoint_dir=self.folder, hooks=[tf.train.StopAtStepHook(last_step=3), Hook()], save_checkpoint_steps=2,
                save_summaries_steps=1) as session:
            while not session.should_stop():
                session.run(train)
        self.assertEqual(calls, ["begin", "step", "step", "step", "end"])
        self.assertEqual(sorted(os.path.basename(f) for f in glob.glob(self.folder + "/*.index")),
                         ["model.ckpt-0.index", "model.ckpt-2.index", "model.ckpt-3.index"])
        self.assertAlmostEqual(float(tf.train.load_checkpoint(self.folder).get_tensor("w")), 0.488, places=5)
        with tf.train.MonitoredTrainingSession(checkpoint_dir=self.folder,
                                               hooks=[tf.train.StopAtStepHook(num_steps=2)]) as session:
            while not session.should_stop():
                session.run(train)
        self.assertEqual(os.path.basename(tf.train.latest_checkpoint(self.folder)), "model.ckpt-5")


class InputTest(Base):
    def test_queues(self):
        queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], []])
        operations = [queue.enqueue((1, "a")), queue.enqueue_many(([2, 3], ["b", "c"])), queue.close()]
        one, two = queue.dequeue(), queue.dequeue_many(2)
        with tf.Session() as session:
            for operation in operations:
                session.run(operation)
            self.assertEqual(session.run(one), [1, b"a"])
            self.assertEqual(session.run(two)[0].tolist(), [2, 3])
            with self.assertRaises(tf.errors.OutOfRangeError):
                session.run(one)

    def test_pipeline(self):
        names = tf.train.string_input_producer(["f1", "f2", "f3"], shuffle=False, num_epochs=2)
        batch = tf.train.batch([names.dequeue()], batch_size=4, allow_smaller_final_batch=True)
        seen = []
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            try:
                while not coordinator.should_stop():
                    seen.append(session.run(batch).tolist())
            except tf.errors.OutOfRangeError:
                coordinator.request_stop()
            coordinator.join(threads)
        self.assertEqual(seen, [[b"f1", b"f2", b"f3", b"f1"], [b"f2", b"f3"]])

    def test_datasets(self):
        dataset = tf.data.Dataset.from_tensor_slices((np.arange(4), np.arange(4.0))).map(lambda a, b: (a + 1, b)).batch(2)
        once = tf.data.make_one_shot_iterator(dataset).get_next()
        again = tf.data.make_initializable_iterator(dataset)
        following = again.get_next()
        with tf.Session() as session:
            self.assertEqual([session.run(once)[0].tolist() for _ in range(2)], [[1, 2], [3, 4]])
            with self.assertRaises(tf.errors.OutOfRangeError):
                session.run(once)
            for _ in range(2):
                session.run(again.initializer)
                self.assertEqual(session.run(following)[1].tolist(), [0, 1])


class ValuesTest(Base):
    def test_constants_repeat_their_last_value(self):
        with tf.Graph().as_default(), tf.Session() as session:
            made = [tf.constant([1, 2], shape=[3]), tf.constant([[1.0, 2.0]], shape=[2, 2]), tf.constant([], shape=[2])]
            self.assertEqual([v.tolist() for v in session.run(made)], [[1, 2, 2], [[1, 2], [2, 2]], [0, 0]])
            with self.assertRaisesRegex(ValueError, "Too many elements provided. Takes at most 2, but got 3"):
                tf.constant([1, 2, 3], shape=[2])

    def test_variables_that_lack_a_shape_or_have_two(self):
        with tf.Graph().as_default():
            with self.assertRaisesRegex(ValueError, "did not get an initializer, so its `shape` argument must be specified"):
                tf.get_variable("a")
            with self.assertRaisesRegex(ValueError, "If initializer is a constant, do not specify shape"):
                tf.get_variable("b", [2], initializer=tf.ones([2]))

    def test_sessions_tell_what_they_do(self):
        with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
            step = tf.train.get_or_create_global_step()
            with self.assertLogs("tensorflow", "INFO") as logs:
                with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_steps=1,
                                                       log_step_count_steps=None) as session:
                    session.run(step)
            texts = [r.getMessage() for r in logs.records]
            for text in ("Create CheckpointSaverHook.", "Graph was finalized.", "Running local_init_op.",
                         "Done running local_init_op.", "Calling checkpoint listeners before saving checkpoint 0...",
                         f"Saving checkpoints for 0 into {folder}/model.ckpt."):
                self.assertIn(text, texts)
            reader = tf.train.NewCheckpointReader(os.path.join(folder, "model.ckpt-0"))
            self.assertEqual(reader.debug_string(), b"global_step (DT_INT64) []\n")

    def test_compressed_records(self):
        for number, name in enumerate(("NONE", "ZLIB", "GZIP")):
            options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, name))
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "records")
                with tf.python_io.TFRecordWriter(path, options) as writer:
                    writer.write(b"a" * 1000)
                self.assertEqual(os.path.getsize(path) < 1000, number > 0)
                self.assertEqual(list(tf.python_io.tf_record_iterator(path, options)), [b"a" * 1000])

    def test_losses(self):
        cases = {"mean_squared_error": 0.022500003, "absolute_difference": 0.125, "huber_loss": 0.011250001,
                 "log_loss": 0.1379118}
        made = {name: getattr(tf.losses, name)([[0.0], [1.0]], [[0.2], [0.9]], weights=[[1.0], [0.5]]) for name in cases}
        made["softmax"] = tf.losses.softmax_cross_entropy([[0, 1.0]], [[1.0, 2.0]], label_smoothing=0.1)
        made["sparse"] = tf.losses.sparse_softmax_cross_entropy([1], [[1.0, 2.0]])
        made["pairs"] = tf.losses.mean_pairwise_squared_error([[1.0, 2, 3]], [[1.0, 3, 2]])
        cases.update(softmax=0.36326164, sparse=0.31326166, pairs=2.0)
        with tf.Session() as session:
            values = session.run(made)
        for name, value in cases.items():
            self.assertAlmostEqual(float(values[name]), value, places=5, msg=name)
        self.assertEqual(len(tf.losses.get_losses()), len(cases))

    def test_metrics(self):
        pairs = [tf.metrics.accuracy([1, 2, 3, 4], [1, 2, 0, 0]),
                 tf.metrics.auc(tf.constant([0, 0, 1, 1]), tf.constant([0.1, 0.6, 0.4, 0.8])),
                 tf.metrics.mean_iou(tf.constant([0, 1, 1]), tf.constant([0, 1, 0]), 2),
                 tf.metrics.precision([1, 0, 1], [1, 1, 1]),
                 tf.metrics.recall_at_k(np.int64([[1], [2]]), np.float32([[0.1, 0.9, 0], [0.5, 0.3, 0.2]]), 1)]
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            session.run([update for _, update in pairs])
            np.testing.assert_allclose(session.run([value for value, _ in pairs]),
                                       [0.5, 0.74999976, 0.5, 0.6666667, 0.5], rtol=1e-5)

    def test_traces_and_partial_runs(self):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        first = a + 1
        second = first * b
        with tf.Session() as session:
            handle = session.partial_run_setup([first, second], [a, b])
            self.assertEqual(float(session.partial_run(handle, first, {a: 1})), 2)
            self.assertEqual(float(session.partial_run(handle, second, {b: 5})), 10)
            metadata = tf.RunMetadata()
            session.run(second, {a: 1, b: 2}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
            self.assertTrue(metadata.step_stats.dev_stats[0].node_stats)

    def test_server(self):
        server = tf.train.Server.create_local_server()
        with tf.Session(server.target) as session:
            self.assertEqual(int(session.run(tf.constant(2) * 3)), 6)


if __name__ == "__main__":
    unittest.main()
