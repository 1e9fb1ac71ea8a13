"""Programs that end while threads of theirs are inside of operations."""

import subprocess
import sys
import unittest

CODE = """
import threading, weir as tf
started = threading.Event()
def work():
    x = tf.ones([600, 600])
    while True:
        tf.matmul(x, x)
        started.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
started.wait()
"""


class ExitTest(unittest.TestCase):
    def test_daemon_threads_do_not_disturb_the_end(self):
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=250)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
