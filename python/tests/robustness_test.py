"""Ctrl-C while the engine waits, exceptions of callbacks with their tracebacks, and calls with wrong arguments."""

import os
import signal
import subprocess
import sys
import traceback
import unittest

import weir as tf

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "fuzz_arguments.py")

_QUEUE = "import weir as tf\nq = tf.queue.FIFOQueue(1, [tf.int64])\n"
WAITING = {
    "an op": _QUEUE + "ready()\nq.dequeue()",
    "a function": _QUEUE + "f = tf.function(lambda: q.dequeue())\nready()\nf()",
    "a dataset": _QUEUE + "it = iter(tf.data.Dataset.range(3).map(lambda x: x + q.dequeue()))\nready()\nnext(it)",
    "a dataset's threads": _QUEUE + "it = iter(tf.data.Dataset.range(3).map(lambda x: x + q.dequeue(), num_parallel_calls=2)"
                                    ".prefetch(2))\nready()\nnext(it)",
    "a session": "import weir as tf\nwith tf.Graph().as_default() as g:\n  d = tf.queue.FIFOQueue(1, [tf.int64]).dequeue()\n"
                 "s = tf.compat.v1.Session(graph=g)\nready()\ns.run(d)",
    "a callback": "import weir as tf, threading\nready()\ntf.py_function(lambda: threading.Event().wait() and 1.0, [], tf.float32)",
}
_READY = "def ready():\n  print('ready', flush=True)\n"


def _sleeps(process):
    """Waits until the main thread of a process waits for something."""
    while True:
        with open(f"/proc/{process.pid}/task/{process.pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "S":
                return
        os.sched_yield()


class Interrupts(unittest.TestCase):
    def test_ends_what_waits(self):
        for name, program in WAITING.items():
            with self.subTest(name):
                child = subprocess.Popen([sys.executable, "-c", _READY + program], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
                self.assertEqual(child.stdout.readline(), "ready\n")
                _sleeps(child)
                child.send_signal(signal.SIGINT)
                try:
                    _, text = child.communicate(timeout=60)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.communicate()
                    self.fail("Ctrl-C was not heard")
                self.assertEqual(text.strip().splitlines()[-1], "KeyboardInterrupt")

    def test_later_steps_run(self):
        program = _QUEUE + ("import os, signal, threading\n"
                            "main = os.getpid()\n"
                            "def interrupt():\n"
                            "  while open(f'/proc/{main}/task/{main}/stat').read().rpartition(')')[2].split()[0] != 'S':\n"
                            "    os.sched_yield()\n"
                            "  os.kill(main, signal.SIGINT)\n"
                            "for _ in range(2):\n"
                            "  threading.Thread(target=interrupt).start()\n"
                            "  try:\n"
                            "    q.dequeue()\n"
                            "  except KeyboardInterrupt:\n"
                            "    print('interrupted')\n"
                            "q.enqueue(5)\n"
                            "print(int(q.dequeue()))")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.stdout.split(), ["interrupted", "interrupted", "5"], done.stderr)


class Callbacks(unittest.TestCase):
    def check(self, call):
        def fails_here():
            raise ZeroDivisionError("on purpose")
        try:
            call(fails_here)
        except Exception as error:  # noqa: BLE001
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self.assertIn("on purpose", text)
            self.assertIn("fails_here", text)
        else:
            self.fail("no exception")

    def test_exceptions_come_with_tracebacks(self):
        self.check(lambda f: tf.py_function(f, [], tf.float32))
        self.check(lambda f: tf.numpy_function(f, [], tf.float32))
        self.check(lambda f: tf.function(lambda: tf.py_function(f, [], tf.float32))())

    def test_of_a_generator(self):
        def fails_here():
            yield 1
            raise ZeroDivisionError("on purpose")
        dataset = tf.data.Dataset.from_generator(fails_here, output_signature=tf.TensorSpec([], tf.int32))
        self.check(lambda _: list(dataset))


class Arguments(unittest.TestCase):
    def test_wrong_ones_end_in_exceptions(self):
        done = subprocess.run([sys.executable, TOOL, "--calls", "250", "--seed", "11", "--seconds", "120"], capture_output=True,
                              text=True, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_sparse_tensors_are_no_sequences(self):
        with self.assertRaises(TypeError):
            list(tf.sparse.from_dense([[1.0]]))


if __name__ == "__main__":
    unittest.main()
