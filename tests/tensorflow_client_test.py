"""TensorFlow's own client against `weir server`. Usage: tensorflow_client_test.py PATH_OF_WEIR"""

import os
import signal
import subprocess
import sys
import threading
import unittest

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
