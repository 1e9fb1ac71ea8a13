"""The programs of examples/python run on weir with tiny settings; they end with the lines that they end with on TensorFlow."""

import importlib.util
import os
import subprocess
import sys
import unittest

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "examples", "python")


@unittest.skipUnless(importlib.util.find_spec("keras"), "Keras is not installed: pip install keras")
class ExamplesTest(unittest.TestCase):
    def last_line(self, program, *arguments):
        done = subprocess.run([sys.executable, "-m", "weir", os.path.join(FOLDER, program), *arguments],
                              env=dict(os.environ, MNIST_DIR=""), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout.strip().splitlines()[-1]

    def test_sequential(self):
        self.assertRegex(self.last_line("sequential.py", "--epochs", "1", "--train", "200"), r"^test loss [0-9.]+, accuracy")

    def test_functional(self):
        self.assertRegex(self.last_line("functional.py", "--epochs", "2", "--count", "200"), r"^'new large boat' of size")

    def test_custom_loop(self):
        self.assertRegex(self.last_line("custom_loop.py", "--epochs", "2", "--train", "500"),
                         r"^after 20 steps and a restored checkpoint: test accuracy [0-9.]+%$")

    def test_mirrored(self):
        self.assertRegex(self.last_line("mirrored.py", "--epochs", "1", "--train", "300"), r"^own loop: loss [0-9.]+ -> ")


if __name__ == "__main__":
    unittest.main()
