"""TensorFlow's own client against `weir server`. Usage: tensorflow_client_test.py PATH_OF_WEIR"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
WEIR = None


class Server:

  def __enter__(self):
    self.process = subprocess.Popen([WEIR, "server", "--port", "0"], stdout=subprocess.PIPE, text=True)
    self.target = self.process.stdout.readline().strip()
    return self

  def __exit__(self, *_):
    if self.process.poll() is None:
      self.process.send_signal(signal.SIGTERM)
    self.code = self.process.wait(timeout=30)
    self.process.stdout.close()


class TensorFlowClient(unittest.TestCase):

  def setUp(self):
    server = Server()
    self.server = server.__enter__()
    self.addCleanup(lambda: server.__exit__())

  def session(self, timeout_in_ms=60000):
    return tf1.Session(self.server.target, config=tf1.ConfigProto(operation_timeout_in_ms=timeout_in_ms))

  def test_linear_regression(self):
    with tf.Graph().as_default():
      x = tf1.placeholder(tf.float32, [None])
      y = tf1.placeholder(tf.float32, [None])
      slope = tf1.get_variable("slope", initializer=0.0)
      offset = tf1.get_variable("offset", initializer=0.0)
      loss = tf.reduce_mean(tf.square(slope * x + offset - y))
      gradients = tf.gradients(loss, [slope, offset])
      train = [tf1.assign_sub(v, 0.2 * g) for v, g in zip([slope, offset], gradients)]
      init = tf1.global_variables_initializer()
      xs = np.linspace(-1, 1, 64, dtype=np.float32)
      with self.session() as session:
        session.run(init)
        for _ in range(200):
          session.run(train, {x: xs, y: 3 * xs + 2})
        np.testing.assert_allclose(session.run([slope, offset]), [3, 2], atol=1e-3)

  def test_queue_runners(self):
    with tf.Graph().as_default():
      queue = tf1.FIFOQueue(10, [tf.int32], shapes=[[]])
      runner = tf1.train.QueueRunner(queue, [queue.enqueue(7)] * 2)
      tf1.train.add_queue_runner(runner)
      batch = queue.dequeue_many(20)
      with self.session() as session:
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        self.assertEqual(session.run(batch).tolist(), [7] * 20)
        coordinator.request_stop()
        session.run(queue.close(cancel_pending_enqueues=True))
        coordinator.join(threads, stop_grace_period_secs=30)

  def test_while_loop(self):
    for v2 in (False, True):
      with tf.Graph().as_default():
        (tf1.enable_control_flow_v2 if v2 else tf1.disable_control_flow_v2)()
        n = tf1.placeholder(tf.int32, [])
        _, total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)),
                                 [tf.constant(0), tf.constant(0.0)])
        with self.session() as session:
          self.assertEqual(session.run(total, {n: 100}), 4950.0)

  def test_an_error_names_the_users_line(self):
    with tf.Graph().as_default():
      x = tf1.placeholder(tf.float32, name="x")
      bad = tf.add(tf.constant([1.0, 2.0]), x, name="bad_sum")
      with self.session() as session:
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Incompatible shapes") as caught:
          session.run(bad, {x: [1.0, 2.0, 3.0]})
        self.assertEqual(caught.exception.op.name, "bad_sum")

  def elements(self, session, next_element, count=1000):
    """To the end, or as many as asked for."""
    out = []
    try:
      while len(out) < count:
        out.append(np.asarray(session.run(next_element)).tolist())
    except tf.errors.OutOfRangeError:
      pass
    return out

  def test_snapshots_are_read_by_both(self):
    def snapshot_of(folder, **options):
      return tf.data.Dataset.range(20).map(lambda x: x * 2).batch(3).snapshot(folder, **options)

    for options in {}, {"compression": "GZIP"}, {"compression": None, "shard_func": lambda x: x[0] % 2}:
      for targets in (self.server.target, ""), ("", self.server.target):
        with tempfile.TemporaryDirectory() as folder:
          results = []
          for target in targets:
            with tf.Graph().as_default(), tf1.Session(target) as session:
              iterator = tf1.data.make_initializable_iterator(snapshot_of(folder, **options))
              session.run(iterator.initializer)
              results.append(self.elements(session, iterator.get_next()))
          self.assertCountEqual(map(str, results[0]), map(str, results[1]))
          # The second found what the first wrote.
          snapshot, = os.listdir(folder)
          self.assertEqual(len(os.listdir(os.path.join(folder, snapshot))), 2)

  def test_positions_of_iterators_are_saved(self):
    data = tf.data.Dataset
    pipelines = {
        "shuffle": lambda: data.range(30).shuffle(7, seed=3).repeat(2).batch(4),
        "parallel": lambda: data.range(30).map(lambda x: x * 2, num_parallel_calls=4).prefetch(3),
        "interleave": lambda: data.range(6).interleave(
            lambda x: data.range(x * 10, x * 10 + 6), 3, 2, num_parallel_calls=2),
        "window": lambda: data.range(30).window(3, 2).flat_map(lambda w: w.batch(3)),
        "group": lambda: data.range(40).group_by_window(lambda x: x % 3, lambda _, d: d.batch(4), window_size=4),
    }
    for name, pipeline in pipelines.items():
      rest = {}
      for target in "", self.server.target:
        with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
          iterator = tf1.data.make_initializable_iterator(pipeline())
          tf1.add_to_collection(tf1.GraphKeys.SAVEABLE_OBJECTS,
                                tf1.data.experimental.make_saveable_from_iterator(iterator))
          next_element, saver = iterator.get_next(), tf1.train.Saver()
          with tf1.Session(target) as session:
            session.run(iterator.initializer)
            self.elements(session, next_element, 3)
            saver.save(session, folder + "/position")
            self.elements(session, next_element, 2)
          with tf1.Session(target) as session:
            session.run(iterator.initializer)
            saver.restore(session, folder + "/position")
            rest[target] = self.elements(session, next_element)
      self.assertEqual(rest[""], rest[self.server.target], name)

  def test_a_table_filled_from_a_dataset(self):
    with tf.Graph().as_default(), self.session() as session:
      pairs = tf.data.Dataset.range(5).map(lambda x: (x * 10, tf.strings.as_string(x)))
      table = tf.data.experimental.table_from_dataset(pairs, default_value="none", key_dtype=tf.int64)
      session.run(tf1.tables_initializer())
      self.assertEqual(session.run(table.lookup(tf.constant([30, 0, 7], tf.int64))).tolist(), [b"3", b"0", b"none"])
      self.assertEqual(session.run(table.size()), 5)

  def test_errors_of_fused_operations_name_the_node(self):
    with tf.Graph().as_default(), self.session() as session:
      x, y = tf1.placeholder(tf.float32), tf1.placeholder(tf.float32)
      wrong = tf.add(tf.exp(x), y, name="wrong_sum")
      dense = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, [[1.0], [2.0]], name="wrong_product"), [0.0]))
      for fetch, name in ((tf.nn.relu(wrong * 2.0), "wrong_sum"), (dense, "wrong_product")):
        with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
          session.run(fetch, {x: np.ones((2, 3)), y: np.ones((3, 2))})
        self.assertIn("{{node %s}}" % name, caught.exception.message)

  def results(self, dataset, count):
    """What `count` calls give: elements, or the names of errors' classes; in TensorFlow and on the server."""
    given = {}
    next_element = tf1.data.make_one_shot_iterator(dataset).get_next()
    for target in ("", self.server.target):
      given[target] = []
      with tf1.Session(target) as session:
        for _ in range(count):
          try:
            given[target].append(session.run(next_element))
          except tf.errors.OpError as error:
            given[target].append(type(error).__name__)
    self.assertEqual(given[""], given[self.server.target])
    return given[""]

  def test_files_that_cannot_be_read(self):
    data = tf.data
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
      missing, lines, packed, table = (os.path.join(folder, name) for name in ("missing", "lines", "packed", "table"))
      with open(lines, "w") as file:
        file.write("a\nb\n")
      with open(packed, "wb") as file:
        file.write(zlib.compress(b"a\nb\n") + b"garbage")
      with open(table, "w") as file:
        file.write("1,2\nx,3\n4\n5,6\n")
      for dataset in (data.TextLineDataset([missing, lines]), data.TFRecordDataset([missing, lines]),
                      data.FixedLengthRecordDataset([missing, lines], 2),
                      data.Dataset.from_tensors(missing).flat_map(data.TextLineDataset)):
        self.assertEqual(self.results(dataset, 3), ["NotFoundError"] * 3)
      self.assertEqual(self.results(data.FixedLengthRecordDataset([lines], 3), 2), ["InvalidArgumentError"] * 2)
      self.assertEqual(self.results(data.TFRecordDataset([table, table]), 3), ["DataLossError"] * 2 + ["OutOfRangeError"])
      self.assertEqual(self.results(data.TextLineDataset(packed, "ZLIB"), 3), [b"a", b"b", "OutOfRangeError"])
      rows = self.results(data.experimental.CsvDataset(table, [tf.int32, tf.int32]), 5)
      self.assertEqual(rows[1:], ["InvalidArgumentError"] * 2 + [(5, 6), "OutOfRangeError"])
      # TensorFlow tries a file that is not there for ever.
      ignored = data.TextLineDataset([missing, lines]).ignore_errors()
      next_element = tf1.data.make_one_shot_iterator(ignored).get_next()
      with self.session() as session:
        self.assertEqual([session.run(next_element) for _ in range(2)], [b"a", b"b"])

  def test_datasets_after_an_error(self):
    with tf.Graph().as_default():
      numbers = tf.data.Dataset.range(6)
      wrong = numbers.map(lambda x: 10 // (x - 2))
      for dataset in (wrong.take(4), wrong.skip(1), wrong.skip(3), wrong.batch(2).map(tf.reduce_sum), wrong.padded_batch(2).map(tf.reduce_sum),
                      wrong.batch(2).unbatch(), wrong.flat_map(lambda x: tf.data.Dataset.range(x)),
                      numbers.flat_map(lambda x: tf.data.Dataset.range(4 // (x - 1))),
                      numbers.apply(tf.data.experimental.map_and_batch(lambda x: 10 // (x - 2), 3)).unbatch()):
        self.assertIn("InvalidArgumentError", self.results(dataset, 8))

  def test_interleave_of_as_many_as_the_machine_suggests(self):
    with tf.Graph().as_default():
      parts = tf.data.Dataset.range(9)
      for options in ({}, {"num_parallel_calls": tf.data.AUTOTUNE}, {"num_parallel_calls": 1}):
        self.results(parts.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(3), deterministic=True, **options), 28)

  def test_eight_clients(self):
    failures = []

    def work(k):
      try:
        with tf.Graph().as_default():
          x = tf1.placeholder(tf.float32, [None])
          y = tf.reduce_sum(x * 2.0)
          with self.session() as session:
            for i in range(20):
              assert session.run(y, {x: np.full(10, k + i)}) == 20.0 * (k + i)
      except Exception as error:  # pylint: disable=broad-except
        failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertEqual(failures, [])

  def test_sigterm_ends_a_blocked_step(self):
    with tf.Graph().as_default():
      blocked = tf1.FIFOQueue(1, [tf.int32]).dequeue()
      session = self.session(3000)  # the client waits so long for a server that is gone
      caught = []
      ready = tf.constant(1)
      session.run(ready)

      def work():
        try:
          session.run(blocked)
        except tf.errors.OpError as error:
          caught.append(error)

      thread = threading.Thread(target=work)
      thread.start()
      self.server.__exit__()
      thread.join(timeout=30)
      self.assertFalse(thread.is_alive())
      self.assertEqual(self.server.code, 0)
      self.assertEqual(len(caught), 1)


if __name__ == "__main__":
  WEIR = sys.argv.pop(1)
  unittest.main()
