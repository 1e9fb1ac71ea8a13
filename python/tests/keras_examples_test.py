"""The programs of examples/python run on weir with tiny settings; they end with the lines that they end with on TensorFlow."""

import importlib.util
import os
import subprocess
import sys
import unittest

from launching import DEADLINE, environment, launch

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "examples", "python")


@unittest.skipUnless(importlib.util.find_spec("keras"), "Keras is not installed: pip install keras")
class ExamplesTest(unittest.TestCase):
    def last_line(self, program, *arguments):
        done = subprocess.run([sys.executable, "-m", "weir", os.path.join(FOLDER, program), *arguments],
                              env=environment(MNIST_DIR=""), capture_output=True, text=True, timeout=DEADLINE)
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

    def test_multi_worker(self):
        self.assertRegex(self.last_line("multi_worker.py", "--epochs", "1", "--train", "300"), r"^2 workers: loss [0-9.]+ -> ")

    def test_parameter_server(self):
        self.assertRegex(self.last_line("parameter_server.py", "--epochs", "2", "--steps", "6", "--train", "200"),
                         r"^12 steps: mean loss [0-9.]+ -> ")

    def test_horovod_digits(self):
        done = launch(2, "-m", "weir", os.path.join(FOLDER, "horovod_digits.py"), "--epochs", "1", "--train", "300", MNIST_DIR="")
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-3000:])
        self.assertRegex(done.stdout, r"\[0\] 2 processes: loss [0-9.]+ -> ")

    def test_transformer(self):
        self.assertRegex(self.last_line("transformer.py", "--steps", "3", "--width", "16", "--depth", "1"),
                         r"^test loss [0-9.]+; 'drawer' backwards: '")

    def test_resnet(self):
        self.assertRegex(self.last_line("resnet.py", "--epochs", "1", "--train", "128", "--blocks", "1", "--width", "4"),
                         r"^test accuracy [0-9.]+%$")

    def test_dqn(self):
        self.assertRegex(self.last_line("dqn.py", "--games", "4", "--batch", "16"),
                         r"^[1-9][0-9]* steps of learning; at the end the pole stood for [0-9]+ steps$")


if __name__ == "__main__":
    unittest.main()
